"""Satellites as the ground sees them: coverage, passes, maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError
from transorbit._names import hint
from transorbit.constellation.about import About
from transorbit.constellation.all_pairs import routes
from transorbit.constellation.places import stations as read_stations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    import polars as pl

    from transorbit.constellation.all_pairs import Routes


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
    return About(constellation, base_dir).table(
        "coverage",
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
    """The passes of satellites over a place, in the order of their rise.

    Args:
        constellation: a name of `transorbit list constellations`, or what a scenario's `path.constellation` may be.
        at: latitude and longitude in degrees, north and east positive.
        minimum_elevation_deg: the elevation at rise and set; by default the constellation's.
        start_s: when it begins, in seconds after the reference instant (see `epoch`); below zero before it.
        duration_s: the length of time.
        base_dir: the folder to which names of files are relative.

    Returns:
        Columns `satellite`, `name`, `rise_s` (null if it is up at the start), `culmination_s` (when it is highest; of a
        pass that the window cuts that may be the window's end), `set_s` (null if it is up at the end),
        `highest_elevation_deg` and `range_m` (distance when it is highest). Seconds after the reference instant.
    """
    return About(constellation, base_dir).table(
        "passes", at=at, minimum_elevation_deg=minimum_elevation_deg, start_s=start_s, duration_s=duration_s
    )


def best_elevation(
    constellation: str | Mapping[str, Any],
    at: tuple[float, float],
    *,
    start_s: float = 0.0,
    duration_s: float = 6000.0,
    base_dir: str | PathLike[str] = ".",
) -> tuple[float, float]:
    """The highest elevation that any satellite reaches over a place, whether in view or not.

    Args:
        constellation: as for `passes`.
        at: latitude and longitude in degrees, north and east positive.
        start_s: when it begins, in seconds after the reference instant; below zero before it.
        duration_s: the length of time.
        base_dir: the folder to which names of files are relative.

    Returns:
        The elevation in degrees (below zero: under the horizon), and when, in seconds after the reference instant.
    """
    elevation_deg, at_s = About(constellation, base_dir).value(
        "best_elevation", at=at, start_s=start_s, duration_s=duration_s
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
        stations: `name`, `latitude_deg`, `longitude_deg`, `altitude_m` (geodetic), or None.
        route: `name`, `latitude_deg`, `longitude_deg` of a route's stations and satellites in their order, or None;
            empty where there is no route.
        delay_s: the one-way delay of the route, None without.
    """

    satellites: pl.DataFrame
    footprints: pl.DataFrame
    links: pl.DataFrame
    tracks: pl.DataFrame
    stations: pl.DataFrame | None = None
    route: pl.DataFrame | None = None
    delay_s: float | None = None


def world(
    constellation: str | Mapping[str, Any],
    *,
    minimum_elevation_deg: float | None = None,
    at_s: float = 0.0,
    track_s: float = 0.0,
    tracks: Sequence[int] | None = None,
    stations: str | Path | Mapping[str, Sequence[float]] | None = None,
    route: tuple[str, str] | None = None,
    base_dir: str | PathLike[str] = ".",
) -> Map:
    """Satellites, footprints, links, ground tracks, stations and a route, to be drawn on a map.

    Args:
        constellation: a name of `transorbit list constellations`, or what a scenario's `path.constellation` may be.
        minimum_elevation_deg: elevation at the edge of a footprint; by default the constellation's.
        at_s: when, seconds after the reference instant; below zero before it.
        track_s: the length of the ground tracks in time.
        tracks: the satellites with ground tracks; by default all.
        stations: places to be shown: as for `stations`.
        route: the names of two of them, between which the route with the least delay is shown.
        base_dir: the folder to which names of files are relative.

    Raises:
        ScenarioError: names what is wrong; also if there is no such satellite.
    """
    tables: Any = About(constellation, base_dir).tables(
        "map", minimum_elevation_deg=minimum_elevation_deg, at_s=at_s, track_s=track_s
    )
    map_tables = Map(**tables)
    if stations is not None:
        map_tables = _with_stations(map_tables, constellation, stations, route, at_s, minimum_elevation_deg, base_dir)
    elif route is not None:
        raise ScenarioError("route: its ends are names of stations, and none were given")
    if tracks is None:
        return map_tables
    count = len(map_tables.satellites)
    if missing := [number for number in tracks if number not in range(count)]:
        raise ScenarioError(f"tracks: there is no satellite {missing[0]!r}: 0 to {count - 1}")
    return replace(map_tables, tracks=map_tables.tracks.filter(map_tables.tracks["satellite"].is_in(list(tracks))))


def _with_stations(
    map_tables: Map,
    constellation: str | Mapping[str, Any],
    stations: str | Path | Mapping[str, Sequence[float]],
    route: tuple[str, str] | None,
    at_s: float,
    minimum_elevation_deg: float | None,
    base_dir: str | PathLike[str],
) -> Map:
    """The map with stations, and perhaps the route between two of them at that instant."""
    import polars as pl

    places = read_stations(stations)
    map_tables = replace(map_tables, stations=places)
    if route is None:
        return map_tables
    station_places = {name: (latitude, longitude, height) for name, latitude, longitude, height in places.iter_rows()}
    if not isinstance(route, list | tuple) or len(route) != 2:
        raise ScenarioError(f"route: {route!r} was given, the names of two stations are expected")
    for name in route:
        if name not in station_places:
            raise ScenarioError(f"route: there is no station {name!r}{hint(name, station_places)}")
    if route[0] == route[1]:
        raise ScenarioError(f"route: {route[0]!r} is both of its ends")
    if at_s < 0:
        raise ScenarioError(f"at: {at_s:g} s: a route is known from the reference instant on")
    # A grid with that instant at its end.
    until_s = at_s or 1.0
    ways = routes(
        constellation,
        {name: station_places[name] for name in route},
        duration_s=until_s,
        step_s=until_s,
        minimum_elevation_deg=minimum_elevation_deg,
        forwarding=True,
        keep_unseen=True,
        base_dir=base_dir,
    )
    now = ways.between(*route).filter(pl.col("time_s") == at_s)
    delay_s = now["one_way_delay_s"][0]
    nodes = [] if delay_s is None else _nodes(ways, route, at_s)
    below = {row["satellite"]: row for row in map_tables.satellites.iter_rows(named=True)}
    columns = ("name", "latitude_deg", "longitude_deg")
    ends = [
        {"name": name, "latitude_deg": station_places[name][0], "longitude_deg": station_places[name][1]}
        for name in route
    ]
    hops = [ends[0], *(below[node] for node in nodes), ends[1]] if nodes else []
    schema = {"name": pl.String, "latitude_deg": pl.Float64, "longitude_deg": pl.Float64}
    way = pl.DataFrame([{column: hop[column] for column in columns} for hop in hops], schema=schema)
    return replace(map_tables, route=way, delay_s=delay_s)


def _nodes(ways: Routes, route: tuple[str, str], at_s: float) -> list[int]:
    """The satellites of a route, from the next hops of the nodes on it."""
    import polars as pl

    number = {station["name"]: station["node"] for station in ways.report["stations"]}
    hops = ways.forwarding().filter((pl.col("to") == route[1]) & (pl.col("time_s") <= at_s)).collect()
    following = dict(hops.sort("time_s", maintain_order=True).select("node", "next_hop").iter_rows())
    nodes, node = [], following[number[route[0]]]
    while node != number[route[1]]:
        nodes.append(node)
        node = following[node]
    return nodes
