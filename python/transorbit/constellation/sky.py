"""Where the satellites of a constellation are, and where to look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit.constellation.about import About
from transorbit.constellation.places import with_altitude

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    import polars as pl


def positions(
    constellation: str | Mapping[str, Any],
    *,
    start_s: float = 0.0,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """The Earth-fixed positions of a constellation's satellites.

    Args:
        constellation: a name of `transorbit list constellations`, or what a scenario's `path.constellation` may be:
            `{"preset": "leo-66", "j2": True}`, Walker parameters, or `{"file": "iridium.tle"}`.
        start_s: the first instant, in seconds after the reference instant (see `epoch`); below zero before it.
        duration_s: how long.
        step_s: time between instants; the last one is the end.
        base_dir: the folder to which names of files are relative.

    Returns:
        One row for each instant and satellite, by instant and then by satellite (for `n` instants of `m` satellites,
        `frame["x_m"].to_numpy().reshape(n, m)` is a matrix): `time_s` in seconds after the reference instant,
        `satellite` (number, from 0), `name`, and `x_m`, `y_m`, `z_m` in metres from the centre of the Earth, x
        through the equator at Greenwich, z through the north pole.

    Raises:
        ScenarioError: a value, a file or a satellite in it is wrong, or a satellite comes down before the end.
    """
    return About(constellation, base_dir).table("positions", start_s=start_s, duration_s=duration_s, step_s=step_s)


def look(
    constellation: str | Mapping[str, Any],
    *,
    station: tuple[float, float] | tuple[float, float, float],
    start_s: float = 0.0,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """The look angles from a station to a constellation's satellites, above and below the horizon.

    Args:
        constellation: as for `positions`.
        station: geodetic latitude and longitude in degrees (WGS 84, north and east positive), and height above the
            ellipsoid in metres if it is not 0.
        start_s: as for `positions`, and so are the other arguments.
        duration_s: how long.
        step_s: time between instants.
        base_dir: the folder to which names of files are relative.

    Returns:
        Rows as those of `positions`: `time_s`, `satellite`, `name`, `azimuth_deg` (from north over east, 0 to 360),
        `elevation_deg` (-90 to 90, without refraction) and `range_m`.

    Raises:
        ScenarioError: as for `positions`, or there is no such place.
    """
    place = with_altitude("station", station)
    return About(constellation, base_dir).table(
        "look", station=place, start_s=start_s, duration_s=duration_s, step_s=step_s
    )


def epoch(constellation: str | Mapping[str, Any], *, base_dir: str | PathLike[str] = ".") -> str | None:
    """The reference instant, from which a constellation's times count.

    Args:
        constellation: as for `positions`.
        base_dir: the folder to which names of files are relative.

    Returns:
        UTC in ISO 8601 for satellites from a file; None for a pattern, which belongs to no date.

    Raises:
        ScenarioError: a value or the file is wrong.
    """
    epoch_utc: str | None = About(constellation, base_dir).value("epoch")
    return epoch_utc


def age_warning(
    constellation: str | Mapping[str, Any],
    *,
    start_s: float = 0.0,
    duration_s: float = 0.0,
    base_dir: str | PathLike[str] = ".",
) -> str | None:
    """The warning about elements that are more than two weeks from their epoch during a time.

    Args:
        constellation: as for `positions`.
        start_s: when the time begins, in seconds after the reference instant; below zero before it.
        duration_s: how long it is.
        base_dir: the folder to which names of files are relative.

    Returns:
        A sentence that names the satellite whose elements are the oldest; None if all are fresh, or for a pattern.

    Raises:
        ScenarioError: a value or the file is wrong.
    """
    about = About(constellation, base_dir)
    age: str | None = about.value("warning", start_s=start_s, duration_s=duration_s)
    return age


def links(
    constellation: str | Mapping[str, Any],
    *,
    start_s: float = 0.0,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """When which satellites are linked: `from`, `to` (numbers, the lower one first), `begin_s`, `end_s`.

    A link that is on at an instant of the grid is taken to be on until the next.

    Args:
        constellation: as for `positions`, and so are the others.
        start_s: the first instant.
        duration_s: how long.
        step_s: time between instants.
        base_dir: the folder to which names of files are relative.

    Raises:
        ScenarioError: as for `positions`.
    """
    return About(constellation, base_dir).table("links", start_s=start_s, duration_s=duration_s, step_s=step_s)
