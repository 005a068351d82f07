"""The commands of constellations: `transorbit constellation delay`, `routes`, `coverage`, `passes`, `show`."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

import transorbit as to
from transorbit.cli import UsageError, parse, show
from transorbit.cli.common import Csv, Plot, check_plot, examples, write_csv, write_plot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from transorbit.constellation import Routes

constellation = App(name="constellation", help="Satellite constellations: delays and routes, what they cover.")

Places = Annotated[list[str], Parameter(allow_leading_hyphen=True, negative="")]

# A table of text with more rows is for nobody's eyes.
_MOST_CSV_ROWS = 1_000_000


@constellation.command(
    help_epilogue=examples(
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8 \\",
        '    --duration "2 h" --step "1 s" --csv delay.csv --plot delay.svg',
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8 --to 40.7,-74 --plot delays.svg",
    )
)
def delay(
    name: str,
    /,
    *,
    from_: Annotated[Places, Parameter(name="--from")],
    to_: Annotated[Places, Parameter(name="--to")],
    duration: str = "600 s",
    step: str = "1 s",
    handover: str | None = None,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """The one-way delay between two places over a constellation, or between several pairs.

    Args:
        name: A constellation of `transorbit list constellations`.
        from_: Latitude,longitude of one end in degrees, north and east positive. Repeatable: once for
            all pairs, or once for each --to.
        to_: The other end. Repeatable.
        duration: How long.
        step: Time between samples.
        handover: How the satellite that serves an end is chosen, as `path.handover` of a scenario; its default.
    """
    check_plot(plot)
    pairs = _pairs_of(from_, to_)
    places = [(parse.place("--from", one), parse.place("--to", other)) for one, other in pairs]
    traces: dict[str, pl.DataFrame] = {}
    for (one, other), (source, user) in zip(pairs, places, strict=True):
        try:
            traces[f"{one} to {other}"] = to.constellation.delay(
                name,
                source=source,
                user=user,
                duration_s=parse.seconds("--duration", duration),
                step_s=parse.seconds("--step", step),
                handover=handover,
            )
        except to.ScenarioError as error:
            raise _of_options(error) from None
    if csv != Path("-"):
        print("\n".join(_delays(traces)))
    if csv:
        write_csv(_side_by_side(traces, pairs), csv)
    if plot:
        from transorbit import plots

        [first, *others] = traces
        if others:
            figure = plots.constellation_delays(traces, title=f"One-way delays over {name}")
        else:
            figure = plots.constellation_delay(traces[first], title=f"{name}, {first}")
        write_plot(figure, plot)


@constellation.command(
    help_epilogue=examples(
        "transorbit constellation routes starlink-shell-1 --stations cities.csv \\",
        '    --duration "200 s" --step "100 ms" --out results/routes',
        'transorbit constellation routes leo-66 --stations cities.csv --duration "1 min" --step "1 s" --csv -',
    )
)
def routes(
    name: str,
    /,
    *,
    stations: Path,
    duration: str = "200 s",
    step: str = "100 ms",
    metric: str = "delay",
    access: str = "all",
    minimum_elevation: str | None = None,
    forwarding: Annotated[bool, Parameter(negative="")] = False,
    keep_unseen: Annotated[bool, Parameter(negative="")] = False,
    threads: str | None = None,
    out: Path | None = None,
    csv: Csv = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """The routes between all pairs of many stations, at every step: delays, hops, first and last satellite.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        stations: A CSV file: name,latitude_deg,longitude_deg and perhaps altitude_m.
        duration: How long.
        step: Time between instants.
        metric: What a route has least of: delay or hops.
        access: Stations are reached over all satellites in view, or over the nearest.
        minimum_elevation: Elevation below which a satellite is not used, as "10 deg"; by default the constellation's.
        forwarding: Also keep the next hop of every satellite and station towards every station, where it changes.
        keep_unseen: Go on with stations that never have a satellite in view; else they are an error.
        threads: How many work; by default as many as there are processors.
        out: Keep all in this folder, as Parquet; by default results/NAME-routes. Earlier routes there are replaced.
        json_: Print the report as JSON and nothing else.
        quiet: Print nothing.
    """
    directory = out if out or csv else Path("results") / f"{Path(name).stem}-routes"
    options: dict[str, Any] = {
        "duration_s": parse.seconds("--duration", duration),
        "step_s": parse.seconds("--step", step),
        "metric": metric,
        "access": access,
        "minimum_elevation_deg": _elevation(minimum_elevation),
        "forwarding": forwarding,
        "keep_unseen": keep_unseen,
        "threads": None if threads is None else parse.count("--threads", threads),
    }
    with _instants(enabled=not quiet) as progress:
        try:
            found = to.constellation.routes(_choice(name), stations, **options, out=directory, progress=progress)
        except to.ScenarioError as error:
            raise _of_options(error, stations) from None
        except KeyboardInterrupt:
            print("transorbit: the search was stopped, and nothing of it is kept", file=sys.stderr)
            raise
    if csv:
        if found.report["route_rows"] > _MOST_CSV_ROWS:
            kept = f"; all is in {directory}" if directory else ": give --out"
            raise UsageError(f"--csv: {found.report['route_rows']} rows, at most {_MOST_CSV_ROWS} become text{kept}")
        write_csv(found.routes().collect(), csv)
    for warning in [] if json_ else found.report["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    if json_:
        print(json.dumps(found.report, indent=2, ensure_ascii=False), flush=True)
    elif not quiet and csv != Path("-"):
        print("\n".join(_summary(name, found)))
        if directory:
            print(f"Routes: {directory}")


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
) -> None:
    """Satellites in view by latitude, and the share of the time with one or more.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        minimum_elevation: Elevation from which a satellite is in view; by default the constellation's.
        duration: How long.
        step: Time between instants.
        latitude_step: Between rows.
    """
    check_plot(plot)
    try:
        table = to.constellation.coverage(
            _choice(name),
            minimum_elevation_deg=_elevation(minimum_elevation),
            duration_s=parse.seconds("--duration", duration),
            step_s=parse.seconds("--step", step),
            latitude_step_deg=parse.degrees("--latitude-step", latitude_step),
        )
    except to.ScenarioError as error:
        raise _of_options(error) from None
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
        header = ["latitude (deg)", "in view", "from", "1 or more", "2 or more", "4 or more", "highest (deg)"]
        print("\n".join(show.table(header, rows)))
    write_csv(table, csv)
    if plot:
        from transorbit import plots

        write_plot(plots.coverage(table, title=f"{name}, by latitude"), plot)


@constellation.command(
    help_epilogue=examples(
        'transorbit constellation passes leo-66 --at 43.6,1.4 --duration "2 h"',
    )
)
def passes(
    name: str,
    /,
    *,
    at: Annotated[str, Parameter(allow_leading_hyphen=True)],
    minimum_elevation: str | None = None,
    duration: str = "100 min",
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """The passes of satellites over a place: rise, culmination, set, highest elevation.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        at: Latitude,longitude in degrees, north and east positive.
        minimum_elevation: What a pass rises above and sets below; by default the constellation's.
        duration: How long.
    """
    check_plot(plot)
    place, duration_s = parse.place("--at", at), parse.seconds("--duration", duration)
    lowest = _elevation(minimum_elevation)
    try:
        table = to.constellation.passes(_choice(name), place, minimum_elevation_deg=lowest, duration_s=duration_s)
    except to.ScenarioError as error:
        raise _of_options(error) from None
    if csv != Path("-"):
        rows = [
            [
                row["name"],
                _instant(row["rise_s"]),
                _instant(row["culmination_s"]),
                _instant(row["set_s"]),
                f"{row['highest_elevation_deg']:.2f}",
                f"{row['range_m'] / 1e3:.1f}",
            ]
            for row in table.iter_rows(named=True)
        ]
        print("\n".join(show.table(["satellite", "rise (s)", "highest (s)", "set (s)", "at (deg)", "from (km)"], rows)))
        print(f"\n{len(rows)} passes")
    write_csv(table, csv)
    if plot:
        from transorbit import plots

        title = f"{name}, passes over {at}"
        figure = plots.passes(table, duration_s=duration_s, minimum_elevation_deg=lowest or 0.0, title=title)
        write_plot(figure, plot)


@constellation.command(
    name="show",
    help_epilogue=examples(
        "transorbit constellation show leo-66 --plot leo-66.svg",
        'transorbit constellation show starlink-shell-1 --tracks 0,22 --track-time "96 min" --plot starlink.png',
    ),
)
def show_(
    name: str,
    /,
    *,
    at: str | None = None,
    minimum_elevation: str | None = None,
    tracks: str = "0",
    track_time: str = "100 min",
    links: bool = True,
    footprints: bool = True,
    csv: Csv = None,
    plot: Plot = None,
) -> None:
    """Draw a constellation on a map: satellites, links, footprints, and the ground tracks of some.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        at: When, after the constellation's epoch, as "10 min"; by default at the epoch.
        minimum_elevation: Elevation at the edge of a footprint; by default the constellation's.
        tracks: Satellites whose ground tracks are drawn: their numbers.
        track_time: How long the tracks are.
        links: Draw the links between satellites.
        footprints: Draw the footprints, of at most 100 satellites.
    """
    plot = plot or (None if csv else Path(f"{Path(name).stem}.png"))
    check_plot(plot)
    try:
        chart = to.constellation.world(
            _choice(name),
            minimum_elevation_deg=_elevation(minimum_elevation),
            at_s=0.0 if at is None else parse.seconds("--at", at),
            track_s=parse.seconds("--track-time", track_time),
            tracks=parse.counts("--tracks", tracks),
        )
    except to.ScenarioError as error:
        raise _of_options(error) from None
    if csv != Path("-"):
        print(f"{name}: {len(chart.satellites)} satellites, {len(chart.links)} links")
    write_csv(chart.satellites, csv)
    if plot:
        from transorbit import plots

        title = name if at is None else f"{name}, {at} after its epoch"
        write_plot(plots.world(chart, title=title, links=links, footprints=footprints), plot)
        if csv != Path("-"):
            print(f"Map: {plot}")


def _choice(name: str) -> str | dict[str, Any]:
    """The preset with this name; or the satellites of a file, if there is one."""
    return {"file": name} if Path(name).is_file() else name


def _elevation(text: str | None) -> float | None:
    return None if text is None else parse.degrees("--minimum-elevation", text)


def _instant(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


def _pairs_of(ones: list[str], others: list[str]) -> list[tuple[str, str]]:
    if len(ones) == 1:
        ones = ones * len(others)
    elif len(others) == 1:
        others = others * len(ones)
    if len(ones) != len(others):
        raise UsageError(f"--to: given {len(others)} times for {len(ones)} times --from: as often, or one of them once")
    return list(dict.fromkeys(zip(ones, others, strict=True)))


def _delays(traces: dict[str, pl.DataFrame]) -> list[str]:
    if len(traces) == 1:
        return [show.delay(trace) for trace in traces.values()]
    return [f"{pair}\n{show.delay(trace)}\n" for pair, trace in traces.items()]


def _side_by_side(traces: dict[str, pl.DataFrame], pairs: list[tuple[str, str]]) -> pl.DataFrame:
    """One table; with several pairs, two columns more say which a row is of."""
    import polars as pl

    if len(traces) == 1:
        return next(iter(traces.values()))
    tables = zip(traces.values(), pairs, strict=True)
    return pl.concat(table.with_columns(pl.lit(a).alias("from"), pl.lit(b).alias("to")) for table, (a, b) in tables)


@contextmanager
def _instants(*, enabled: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on standard error, if that is a terminal: instants that are done, and how fast."""
    if not (enabled and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rate="")

        def update(done: int, instants: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=instants, rate=f"{speed:.0f} instants/s" if speed else "")

        yield update


def _summary(name: str, found: Routes) -> list[str]:
    """What the pairs met, in some lines."""
    report, reached = found.report, found.pairs.filter(found.pairs["reached_share"] > 0)
    lines = [
        f"{name}: {report['satellites']} satellites, {len(report['stations'])} stations, "
        f"{len(found.pairs)} pairs, {report['instants']} instants in {found.provenance['wall_s']:.2f} s",
    ]
    if len(reached):
        quick = reached.row(int(reached["delay_min_s"].arg_min() or 0), named=True)
        slow = reached.row(int(reached["delay_max_s"].arg_max() or 0), named=True)
        extremes = (reached["hops_min"].min(), reached["hops_max"].max(), reached["route_changes"].max())
        fewest, most, changes = (int(value or 0) for value in extremes)  # type: ignore[arg-type]
        lines += [
            f"one-way delay  {quick['delay_min_s'] * 1e3:.3f} ms ({quick['from']} to {quick['to']}) to "
            f"{slow['delay_max_s'] * 1e3:.3f} ms ({slow['from']} to {slow['to']}), "
            f"median of the means {_median(reached, 'delay_mean_s') * 1e3:.3f} ms",
            f"hops           {fewest} to {most}",
            f"route changes  {_median(reached, 'route_changes'):g} for a pair (median), at most {changes}",
        ]
    broken = found.pairs.filter(found.pairs["reached_share"] < 1)
    if len(broken):
        never = len(found.pairs) - len(reached)
        lines.append(f"no route       {len(broken)} pairs at times, {never} of them at all instants")
    return lines


def _median(table: pl.DataFrame, column: str) -> float:
    return float(table[column].median() or 0.0)  # type: ignore[arg-type]


_OPTIONS = {
    "constellation": "constellation",
    "source": "--from",
    "user": "--to",
    "minimum_elevation": "--minimum-elevation",
    "handover": "--handover",
    "metric": "--metric",
    "access": "--access",
    "duration": "--duration",
    "step": "--step",
    "threads": "--threads",
    "latitude_step": "--latitude-step",
    "station": "--at",
    "out": "--out",
}


def _of_options(error: to.ScenarioError, stations: Path | None = None) -> Exception:
    """The error with the option that it is about."""
    path, _, message = str(error).partition(": ")
    first, _, rest = path.partition(".")
    if first == "stations":
        return UsageError(": ".join(part for part in ("--stations", str(stations), rest, message) if part))
    return UsageError(f"{_OPTIONS[first]}: {message}") if first in _OPTIONS else error
