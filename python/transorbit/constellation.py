"""Satellite constellations: where the satellites are, what the ground sees of them, delays and routes over them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from transorbit import _core
from transorbit._frame import frame
from transorbit._routes import Routes, routes
from transorbit._view import Map, coverage, passes, world

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    import polars as pl

__all__ = ["Map", "Routes", "coverage", "delay", "epoch", "look", "passes", "positions", "routes", "world"]


def delay(
    constellation: str,
    *,
    source: tuple[float, float],
    user: tuple[float, float],
    duration_s: float = 600.0,
    step_s: float = 1.0,
    handover: str | None = None,
) -> pl.DataFrame:
    """The one-way delay between two places over a constellation.

    Args:
        constellation: a name of `transorbit list constellations`, such as "leo-66".
        source: latitude and longitude in degrees, north and east positive.
        user: the same, for the other end.
        duration_s: how long, from the constellation's epoch.
        step_s: time between rows.
        handover: how the satellite that serves an end is chosen: as a scenario's `path.handover`, with its default.

    Returns:
        Columns `time_s`, `one_way_delay_s` (null where there is no route), `hops`, `source_satellite`,
        `user_satellite` and `event` (what changed since the row before).
    """
    return frame(_core.constellation_delay(constellation, source, user, duration_s, step_s, handover))


def positions(
    constellation: str | Mapping[str, Any],
    *,
    start_s: float = 0.0,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """Where the satellites of a constellation are, fixed to the Earth.

    Args:
        constellation: a name of `transorbit list constellations`, or what a scenario's `path.constellation` may be:
            `{"preset": "leo-66", "j2": True}`, Walker parameters, or `{"file": "iridium.tle"}`.
        start_s: the first instant, in seconds after the reference instant (see `epoch`).
        duration_s: how long.
        step_s: time between instants; the last one is the end.
        base_dir: the folder that names of files start from.

    Returns:
        One row for each instant and satellite, by instant and then by satellite (for `n` instants of `m` satellites,
        `frame["x_m"].to_numpy().reshape(n, m)` is a matrix): `time_s` in seconds after the reference instant,
        `satellite` (number, from 0), `name`, and `x_m`, `y_m`, `z_m` in metres from the centre of the Earth, x
        through the equator at Greenwich, z through the north pole.

    Raises:
        ScenarioError: a value, a file or a satellite in it is wrong, or a satellite comes down before the end.
    """
    text = _text(constellation)
    return frame(_core.constellation_positions(text, str(base_dir), start_s, duration_s, step_s))


def look(
    constellation: str | Mapping[str, Any],
    *,
    station: tuple[float, float] | tuple[float, float, float],
    start_s: float = 0.0,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """Where a station has to look for the satellites of a constellation, whether they are above its horizon or not.

    Args:
        constellation: as for `positions`.
        station: geodetic latitude and longitude in degrees (WGS 84, north and east positive), and height above the
            ellipsoid in metres if it is not 0.
        start_s: as for `positions`, and so are the other arguments.
        duration_s: how long.
        step_s: time between instants.
        base_dir: the folder that names of files start from.

    Returns:
        Rows as those of `positions`: `time_s`, `satellite`, `name`, `azimuth_deg` (from north over east, 0 to 360),
        `elevation_deg` (-90 to 90, without refraction) and `range_m`.

    Raises:
        ScenarioError: as for `positions`, or there is no such place.
    """
    latitude, longitude, height = (*station, 0.0)[:3]
    place = (latitude, longitude, height)
    return frame(_core.constellation_look(_text(constellation), str(base_dir), place, start_s, duration_s, step_s))


def epoch(constellation: str | Mapping[str, Any], *, base_dir: str | PathLike[str] = ".") -> str | None:
    """The reference instant, from which a constellation's times count.

    Args:
        constellation: as for `positions`.
        base_dir: the folder that names of files start from.

    Returns:
        UTC in ISO 8601 for satellites from a file; None for a pattern, which belongs to no date.

    Raises:
        ScenarioError: a value or the file is wrong.
    """
    return _core.constellation_epoch(_text(constellation), str(base_dir))


def _text(constellation: str | Mapping[str, Any]) -> str:
    return constellation if isinstance(constellation, str) else json.dumps(dict(constellation))
