"""Satellites as the ground sees them: coverage, passes, maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transorbit._ask import ask, ask_table, ask_tables
from transorbit._core import ScenarioError
from transorbit.constellation.sky import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import polars as pl


def coverage(
    constellation: str | Mapping[str, Any],
    *,
    minimum_elevation_deg: float | None = None,
    duration_s: float = 6000.0,
    step_s: float = 60.0,
    latitude_step_deg: float = 5.0,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """Satellites in view by latitude, over 36 longitudes and the instants of a grid.

    Args:
        constellation: a name of `transorbit list constellations`, or what a scenario's `path.constellation` may be.
        minimum_elevation_deg: elevation from which a satellite is in view; by default the constellation's.
        duration_s: the length of time.
        step_s: time between instants.
        latitude_step_deg: between rows.
        base_dir: the folder to which names of files are relative.

    Returns:
        Columns `latitude_deg`, `in_view_min`, `in_view_mean`, `in_view_max` (numbers of satellites), `covered_share`,
        `two_share`, `three_share`, `four_share` (of the time with so many or more) and `highest_elevation_mean_deg`.
    """
    return ask_table(
        "constellation.coverage",
        base_dir=base_dir,
        constellation=as_text(constellation),
        minimum_elevation_deg=minimum_elevation_deg,
        duration_s=duration_s,
        step_s=step_s,
        latitude_step_deg=latitude_step_deg,
    )


def passes(
    constellation: str | Mapping[str, Any],
    at: tuple[float, float],
    *,
    minimum_elevation_deg: float | None = None,
    start_s: float = 0.0,
    duration_s: float = 6000.0,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """The passes of satellites over a place, in the order of their rise. Shorter ones than 10 s may be missed.

    Args:
        constellation: a name of `transorbit list constellations`, or what a scenario's `path.constellation` may be.
        at: latitude and longitude in degrees, north and east positive.
        minimum_elevation_deg: the elevation at rise and set; by default the constellation's.
        start_s: when it begins, in seconds after the reference instant (see `epoch`); below zero before it.
        duration_s: the length of time.
        base_dir: the folder to which names of files are relative.

    Returns:
        Columns `satellite`, `name`, `rise_s` (null if it is up at the start), `culmination_s`, `set_s` (null if it is
        up at the end), `highest_elevation_deg` and `range_m` (distance when it is highest). Seconds after the
        reference instant.
    """
    return ask_table(
        "constellation.passes",
        base_dir=base_dir,
        constellation=as_text(constellation),
        at=at,
        minimum_elevation_deg=minimum_elevation_deg,
        start_s=start_s,
        duration_s=duration_s,
    )


def best_elevation(
    constellation: str | Mapping[str, Any],
    at: tuple[float, float],
    *,
    start_s: float = 0.0,
    duration_s: float = 6000.0,
    base_dir: str | PathLike[str] = ".",
) -> tuple[float, float]:
    """The highest elevation that any satellite reaches over a place, whether in view or not; looked for every 10 s.

    Args:
        constellation: as for `passes`.
        at: latitude and longitude in degrees, north and east positive.
        start_s: when it begins, in seconds after the reference instant; below zero before it.
        duration_s: the length of time.
        base_dir: the folder to which names of files are relative.

    Returns:
        The elevation in degrees (below zero: under the horizon), and when, in seconds after the reference instant.
    """
    elevation_deg, at_s = ask(
        "constellation.best_elevation",
        base_dir=base_dir,
        constellation=as_text(constellation),
        at=at,
        start_s=start_s,
        duration_s=duration_s,
    )
    return elevation_deg, at_s


@dataclass(frozen=True)
class Map:
    """A map of a constellation; positions are geocentric latitudes and longitudes in degrees, -180 to 180.

    Attributes:
        satellites: `satellite`, `name`, `latitude_deg`, `longitude_deg` of the point below.
        footprints: `satellite`, `latitude_deg`, `longitude_deg`: the edge of each footprint, 72 points.
        links: `from`, `to`: satellites that are linked.
        tracks: `satellite`, `time_s`, `latitude_deg`, `longitude_deg`: the points below over the following time.
    """

    satellites: pl.DataFrame
    footprints: pl.DataFrame
    links: pl.DataFrame
    tracks: pl.DataFrame


def world(
    constellation: str | Mapping[str, Any],
    *,
    minimum_elevation_deg: float | None = None,
    at_s: float = 0.0,
    track_s: float = 0.0,
    tracks: Sequence[int] | None = None,
    base_dir: str | PathLike[str] = ".",
) -> Map:
    """Satellites, footprints, links and ground tracks, to be drawn on a map.

    Args:
        constellation: a name of `transorbit list constellations`, or what a scenario's `path.constellation` may be.
        minimum_elevation_deg: elevation at the edge of a footprint; by default the constellation's.
        at_s: when, seconds after the reference instant; below zero before it.
        track_s: the length of the ground tracks in time.
        tracks: the satellites with ground tracks; by default all.
        base_dir: the folder to which names of files are relative.

    Raises:
        ScenarioError: names what is wrong; also if there is no such satellite.
    """
    found = Map(
        **ask_tables(
            "constellation.map",
            base_dir=base_dir,
            constellation=as_text(constellation),
            minimum_elevation_deg=minimum_elevation_deg,
            at_s=at_s,
            track_s=track_s,
        )
    )
    if tracks is None:
        return found
    count = len(found.satellites)
    if missing := [number for number in tracks if not 0 <= number < count]:
        raise ScenarioError(f"tracks: there is no satellite {missing[0]}: 0 to {count - 1}")
    return replace(found, tracks=found.tracks.filter(found.tracks["satellite"].is_in(list(tracks))))
