"""Satellites as the ground sees them: `transorbit constellation coverage`, `passes`, `show`."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit._numbers import counted, decimals
from transorbit.cli import parse, tables
from transorbit.cli.common import Csv, Plot, Title, Width, check_plot, examples, write_csv, write_plot
from transorbit.cli.constellation.common import (
    Place,
    choice,
    constellation,
    elevation,
    known_places,
    options,
    place,
    tell_dates,
)
from transorbit.cli.errors import UsageError


@constellation.command(
    help_epilogue=examples(
        "transorbit constellation coverage oneweb --plot coverage.svg",
        'transorbit constellation coverage leo-66 --minimum-elevation "20 deg" --csv -',
    )
)
def coverage(
    name: str,
    /,
    *,
    minimum_elevation: str | None = None,
    duration: str = "100 min",
    step: str = "1 min",
    latitude_step: str = "5 deg",
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
) -> None:
    """Satellites in view by latitude, and the share of the time with one or more.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        minimum_elevation: Elevation from which a satellite is in view; by default the constellation's.
        duration: The length of time.
        step: Time between instants.
        latitude_step: Between rows.
    """
    look = check_plot(plot, width, title)
    duration_s = parse.seconds("--duration", duration)
    with options():
        sky = choice(name)
        table = to.constellation.coverage(
            sky,
            minimum_elevation_deg=elevation(minimum_elevation),
            duration_s=duration_s,
            step_s=parse.seconds("--step", step),
            latitude_step_deg=parse.degrees("--latitude-step", latitude_step),
        )
    tell_dates(sky, 0.0, duration_s, quiet=csv == Path("-"))
    if csv != Path("-"):
        rows = [
            [
                f"{row['latitude_deg']:g}",
                f"{row['in_view_mean']:.2f}",
                f"{row['in_view_min']:.0f} to {row['in_view_max']:.0f}",
                *(f"{100 * row[share]:.1f} %" for share in ("covered_share", "two_share", "four_share")),
                f"{row['highest_elevation_mean_deg']:.1f}",
            ]
            for row in table.iter_rows(named=True)
        ]
        header = ["latitude (deg)", "in view", "from", "1 or more", "2 or more", "4 or more", "highest, mean (deg)"]
        tables.print_table(header, rows)
    write_csv(table, csv)
    if plot:
        from transorbit import plots

        write_plot(plots.coverage(table, **{"title": f"{name}, by latitude"} | look), plot)


@constellation.command(
    help_epilogue=examples(
        'transorbit constellation passes leo-66 --at 43.6,1.4 --duration "2 h"',
        'transorbit constellation passes iridium-next --at 43.6,1.4 --start "24 h" --csv passes.csv',
    )
)
def passes(
    name: str,
    /,
    *,
    at: str,
    minimum_elevation: str | None = None,
    start: str = "0 s",
    duration: str = "100 min",
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
) -> None:
    """The passes of satellites over a place: rise, culmination, set, highest elevation.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        at: Latitude,longitude in degrees, north and east positive.
        minimum_elevation: The elevation at rise and set; by default the constellation's.
        start: When, after the constellation's epoch, as "10 min", or before it.
        duration: The length of time.
    """
    look = check_plot(plot, width, title)
    where, lowest = parse.place("--at", at), elevation(minimum_elevation)
    start_s, duration_s = parse.instant("--start", start), parse.seconds("--duration", duration)
    with options():
        sky = choice(name)
        table = to.constellation.passes(
            sky, where, minimum_elevation_deg=lowest, start_s=start_s, duration_s=duration_s
        )
        epoch = to.constellation.epoch(sky)
    tell_dates(sky, start_s, duration_s, quiet=csv == Path("-"))
    if csv != Path("-"):
        rows = [
            [
                row["name"],
                *([_utc(epoch, row["culmination_s"])] if epoch else []),
                decimals(row["rise_s"], 1),
                decimals(row["culmination_s"], 1),
                decimals(row["set_s"], 1),
                f"{row['highest_elevation_deg']:.2f}",
                f"{row['range_m'] / 1e3:.1f}",
            ]
            for row in table.iter_rows(named=True)
        ]
        header = ["satellite", "rise (s)", "highest (s)", "set (s)", "at (deg)", "from (km)"]
        header[1:1] = ["highest (UTC)"] if epoch else []
        if rows:
            tables.print_table(header, rows)
            print(f"\n{counted(len(rows), 'pass', 'passes')}")
        else:
            highest, at_s = to.constellation.best_elevation(sky, where, start_s=start_s, duration_s=duration_s)
            print(f"no pass: the highest satellite reaches {highest:.1f} deg, after {at_s:g} s")
    write_csv(table, csv)
    if plot:
        from transorbit import plots

        shown: Any = {"start_s": start_s, "duration_s": duration_s, "minimum_elevation_deg": lowest or 0.0}
        figure = plots.passes(table, **shown, **{"title": f"{name}, passes over {at}"} | look)
        write_plot(figure, plot)


@constellation.command(
    name="show",
    help_epilogue=examples(
        "transorbit constellation show leo-66 --plot leo-66.svg",
        'transorbit constellation show leo-66 --stations towns.csv --from Toulouse --to Auckland --at "10 min"',
        'transorbit constellation show starlink-shell-1 --tracks 0,22 --track-time "96 min" --plot starlink.png',
    ),
)
def show_(
    name: str,
    /,
    *,
    at: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to_: Annotated[str | None, Parameter(name="--to")] = None,
    stations: Path | None = None,
    minimum_elevation: str | None = None,
    tracks: str = "0",
    track_time: str = "100 min",
    links: bool | None = None,
    footprints: bool = True,
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
) -> None:
    """Draw a constellation on a map: satellites, links, footprints, ground tracks of some, stations and a route.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        at: When, after the constellation's epoch, as "10 min", or before it; by default at the epoch.
        from_: One end of a route that is shown: latitude,longitude in degrees, or its name in --stations.
        to_: The other end.
        stations: Show the places of this CSV file: name,latitude_deg,longitude_deg and perhaps altitude_m.
        minimum_elevation: Elevation at the edge of a footprint; by default the constellation's.
        tracks: Satellites whose ground tracks are drawn: their numbers.
        track_time: The length of the tracks in time.
        links: Draw the links between satellites; by default of at most 300 satellites.
        footprints: Draw the footprints, of at most 100 satellites.
    """
    plot = plot or (None if csv else Path(f"{Path(name).stem}.png"))
    look = check_plot(plot, width, title)
    at_s = 0.0 if at is None else parse.instant("--at", at)
    track_s = parse.seconds("--track-time", track_time)
    places, route = _stations(stations, from_, to_)
    with options():
        sky = choice(name)
        chart = to.constellation.world(
            sky,
            minimum_elevation_deg=elevation(minimum_elevation),
            at_s=at_s,
            track_s=track_s,
            tracks=parse.counts("--tracks", tracks),
            stations=places,
            route=route,
        )
        epoch = to.constellation.epoch(sky)
    tell_dates(sky, at_s, track_s, quiet=csv == Path("-"))
    if csv != Path("-"):
        print(f"{name}: {len(chart.satellites)} satellites, {len(chart.links)} links")
        if route:
            print(_way(route, chart))
    write_csv(chart.satellites, csv)
    if plot:
        from transorbit import plots
        from transorbit.plots.constellation import links_fit

        when = f"{_utc(epoch, at_s)} UTC" if epoch else f"{at} after its epoch" if at else "at its epoch"
        titles = {"title": f"{name}, {when}" + (f"; {_way(route, chart, short=True)}" if route else "")}
        write_plot(plots.world(chart, links=links, footprints=footprints, **titles | look), plot)
        if csv != Path("-"):
            print(f"Map: {plot}")
            if links is None and len(chart.links) and not links_fit(chart):
                print("links between so many satellites are left out: --links draws them")


def _stations(
    file: Path | None, one: str | None, other: str | None
) -> tuple[dict[str, Place] | None, tuple[str, str] | None]:
    """The places that are shown, and the names of the ends of the route."""
    known = known_places(file)
    if (one is None) != (other is None):
        raise UsageError(f"{'--from' if one is None else '--to'}: a route has two ends: --from and --to")
    if one is None or other is None:
        return known or None, None
    ends = {text: place(option, text, known) for option, text in (("--from", one), ("--to", other))}
    return ends | known, (one, other)


def _way(route: tuple[str, str], chart: to.constellation.Map, *, short: bool = False) -> str:
    """Returns a route in words: its ends, its delay and its satellites."""
    if chart.route is None or chart.delay_s is None:
        return f"{' to '.join(route)}: no route"
    over = [] if short else [f"over {', '.join(chart.route['name'].to_list()[1:-1])}"]
    return ", ".join([f"{' to '.join(route)}: {1e3 * chart.delay_s:.2f} ms one way", *over])


def _utc(epoch: str, seconds: float) -> str:
    """Returns an instant after the epoch as text, to a second."""
    return f"{datetime.fromisoformat(epoch) + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}"
