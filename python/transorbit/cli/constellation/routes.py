"""Routes between all pairs of many stations: `transorbit constellation routes`."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit.cli import parse
from transorbit.cli.common import Csv, Force, examples, write_csv
from transorbit.cli.constellation.common import choice, constellation, elevation, options
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from transorbit.constellation import Routes

# A longer table of text cannot be read.
_MOST_CSV_ROWS = 1_000_000


@constellation.command(
    help_epilogue=examples(
        "transorbit constellation routes starlink-shell-1 --stations towns.csv "
        '--duration "5 s" --step "1 s" --out results/routes',
        'transorbit constellation routes leo-66 --stations towns.csv --duration "1 min" --step "1 s" --csv -',
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
    force: Force = False,
    csv: Csv = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """The routes between all pairs of many stations, at every step: delays, hops, first and last satellite.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        stations: A CSV file: name,latitude_deg,longitude_deg and perhaps altitude_m.
        duration: The length of time.
        step: Time between instants.
        metric: The quantity that a route minimises: delay or hops.
        access: Stations are reached over all satellites in view, or over the nearest.
        minimum_elevation: Elevation below which no satellite serves, as "10 deg"; by default the constellation's.
        forwarding: Also keep the next hop of every satellite and station towards every station, where it changes.
        keep_unseen: Go on with stations that never have a satellite in view; else they are an error.
        threads: The number of threads; by default the number of processors.
        out: Keep all in this folder, as Parquet; by default results/NAME-routes. Earlier routes of the same
            options there are replaced.
        json_: Print the report as JSON and nothing else.
        quiet: Print nothing.
    """
    directory = out if out or csv else Path("results") / f"{Path(name).stem}-routes"
    routes_options: dict[str, Any] = {
        "duration_s": parse.seconds("--duration", duration),
        "step_s": parse.seconds("--step", step),
        "metric": metric,
        "access": access,
        "minimum_elevation_deg": elevation(minimum_elevation),
        "forwarding": forwarding,
        "keep_unseen": keep_unseen,
        "threads": None if threads is None else parse.count("--threads", threads),
    }
    with _instants(enabled=not quiet) as progress:
        try:
            with options():
                found_routes = to.constellation.routes(
                    choice(name), stations, **routes_options, out=directory, replace=force, progress=progress
                )
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the search was stopped, and nothing of it is kept") from None
    if csv:
        if found_routes.report["route_rows"] > _MOST_CSV_ROWS:
            kept = f"; all is in {directory}" if directory else ": give --out"
            raise UsageError(
                f"--csv: {found_routes.report['route_rows']} rows, at most {_MOST_CSV_ROWS} become text{kept}"
            )
        write_csv(found_routes.routes().collect(), csv)
    for warning in [] if json_ else found_routes.report["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    if json_:
        print(json.dumps(found_routes.report, indent=2, ensure_ascii=False), flush=True)
    elif not quiet and csv != Path("-"):
        print("\n".join(_summary(name, found_routes)))
        if directory:
            print(f"Routes: {directory}")


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
    """The statistics of the pairs, in some lines."""
    report, reached = found.report, found.pairs.filter(found.pairs["reached_share"] > 0)
    lines = [f"epoch {report['epoch']} UTC: times count from then"] if report["epoch"] else []
    lines += [
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
