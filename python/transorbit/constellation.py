"""Satellite constellations: where the satellites are, what the ground sees of them, delays and routes over them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transorbit import _core
from transorbit._czml import czml
from transorbit._frame import frame
from transorbit._routes import Routes, routes
from transorbit._stations import stations
from transorbit._view import Map, as_text, best_elevation, coverage, passes, world

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import polars as pl

    # A place in degrees (and metres), or what a scenario says.
    _Ends = Sequence[float] | Sequence[Mapping[str, Any]] | Mapping[str, Any]

# Columns of small whole numbers, which the core hands out as real ones.
_NUMBERS = ("hops", "gateway", "source_satellite", "user_satellite")

__all__ = [
    "Map",
    "Routes",
    "age_warning",
    "best_elevation",
    "changes",
    "coverage",
    "czml",
    "delay",
    "delay_trace",
    "epoch",
    "look",
    "passes",
    "positions",
    "routes",
    "stations",
    "world",
]


def delay(
    constellation: str | Mapping[str, Any],
    *,
    source: _Ends,
    user: _Ends,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    handover: str | Mapping[str, Any] | None = None,
    carrier_hz: float | None = None,
    path: Mapping[str, Any] | None = None,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """The one-way delay between two ends over a constellation.

    Args:
        constellation: a name of `transorbit list constellations`, such as "leo-66", or what a scenario's
            `path.constellation` may be: `{"preset": "leo-66", "j2": True}`, `{"file": "iridium.tle"}`.
        source: latitude and longitude in degrees, north and east positive, and perhaps altitude in metres; or what a
            scenario's `path.source` may be: `{"file": "gateways.csv"}`, a list of places.
        user: the same for the other end, `path.user`, which may move.
        duration_s: how long, from the constellation's epoch.
        step_s: time between rows; the last one is the end.
        handover: how the satellite that serves an end is chosen: as a scenario's `path.handover`, with its default.
        carrier_hz: a carrier whose Doppler shift is wanted.
        path: further keys of a scenario's `path`, such as `{"start": "10 min", "metric": "hops"}`.
        base_dir: the folder that names of files start from.

    Returns:
        Columns `time_s`, `one_way_delay_s` (null where there is no route), `hops` (links between satellites),
        `gateway` (its number among the source's), `source_satellite`, `user_satellite` (whole numbers, null where
        there is none); how the user sees its satellite: `elevation_deg`, `range_m`, `range_rate_mps`, to seven digits;
        with a carrier `doppler_hz` and `doppler_rate_hz_per_s`; and `event`: what changed since the row before (see
        `changes`), with a `+` between several.

    Raises:
        ScenarioError: names the key of the path that is wrong, or `duration`.
    """
    import polars as pl

    text = _path(constellation, source, user, step_s, handover, path)
    table = frame(_core.constellation_delay(text, base_dir, duration_s, carrier_hz))
    return table.with_columns(pl.col(_NUMBERS).cast(pl.UInt32))


def changes(delay: pl.DataFrame) -> dict[str, int]:
    """In how many rows of a table of `delay` something changed.

    Returns:
        By event: `user-handover`, `gateway-handover` (another satellite serves that end), `route-change` (another way
        between the same satellites, or over another gateway), `outage`, `route-again`. Several of a kind within a step
        count once.
    """
    events = ("user-handover", "gateway-handover", "route-change", "outage", "route-again")
    told = delay["event"].fill_null("").str.split("+")
    return {event: int(told.list.contains(event).sum()) for event in events}


def delay_trace(
    constellation: str | Mapping[str, Any],
    *,
    source: _Ends,
    user: _Ends,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    handover: str | Mapping[str, Any] | None = None,
    trace_format: str = "csv",
    path: Mapping[str, Any] | None = None,
    base_dir: str | PathLike[str] = ".",
) -> str:
    """The one-way delay as the text of a delay trace, for other tools, or for a scenario's `path.file`.

    Args:
        constellation: as for `delay`, and so are the others.
        source: one end.
        user: the other.
        duration_s: how long.
        step_s: time between rows.
        handover: how a satellite is chosen.
        trace_format: as `path.format` of a scenario: "csv", "milliseconds", and of round trips "hypatia" and "ping".
        path: further keys of a scenario's `path`.
        base_dir: the folder that names of files start from.

    Raises:
        ScenarioError: as for `delay`, or the format is unknown.
    """
    text = _path(constellation, source, user, step_s, handover, path)
    return _core.constellation_trace(text, base_dir, duration_s, trace_format)


def _path(
    constellation: str | Mapping[str, Any],
    source: _Ends,
    user: _Ends,
    step_s: float,
    handover: str | Mapping[str, Any] | None,
    path: Mapping[str, Any] | None,
) -> str:
    """A scenario's path as JSON."""
    table = {
        "kind": "constellation",
        "constellation": constellation if isinstance(constellation, str) else dict(constellation),
        "source": _end(source),
        "user": _end(user),
        "step": f"{float(step_s)} s",
        **({} if handover is None else {"handover": handover}),
        **(path or {}),
    }
    return json.dumps(table)


def _end(place: _Ends) -> Any:
    """A place, or several, as a scenario says it."""
    if isinstance(place, Mapping):
        return dict(place)
    if not all(isinstance(number, float | int) for number in place):
        return list(place)
    if len(place) not in {2, 3}:
        raise _core.ScenarioError(f"{place!r} is not (latitude, longitude) nor with an altitude")
    latitude, longitude, altitude = (*place, 0.0)[:3]
    return {"latitude": f"{latitude:.9f} deg", "longitude": f"{longitude:.9f} deg", "altitude": f"{altitude:.3f} m"}


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
        start_s: the first instant, in seconds after the reference instant (see `epoch`); below zero before it.
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
    text = as_text(constellation)
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
    return frame(_core.constellation_look(as_text(constellation), str(base_dir), place, start_s, duration_s, step_s))


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
    return _core.constellation_epoch(as_text(constellation), str(base_dir))


def age_warning(
    constellation: str | Mapping[str, Any],
    *,
    start_s: float = 0.0,
    duration_s: float = 0.0,
    base_dir: str | PathLike[str] = ".",
) -> str | None:
    """That elements are old: more than two weeks from their epoch at some instant of a time.

    Args:
        constellation: as for `positions`.
        start_s: when the time begins, in seconds after the reference instant; below zero before it.
        duration_s: how long it is.
        base_dir: the folder that names of files start from.

    Returns:
        A sentence that names the satellite whose elements are the oldest; None if all are fresh, or for a pattern.

    Raises:
        ScenarioError: a value or the file is wrong.
    """
    return _core.constellation_warning(as_text(constellation), str(base_dir), start_s, duration_s)
