"""The delay between places: `transorbit constellation delay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

import transorbit as to
from transorbit.cli import UsageError, parse, show
from transorbit.cli.common import Csv, Plot, check_plot, examples, write_csv, write_plot, write_text
from transorbit.cli.constellation.common import Span, choice, constellation, known_places, options, place

if TYPE_CHECKING:
    import polars as pl

Places = Annotated[list[str], Parameter(allow_leading_hyphen=True, negative="")]


@constellation.command(
    help_epilogue=examples(
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8 \\",
        '    --duration "2 h" --step "1 s" --csv delay.csv --plot delay.svg',
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8 --to 40.7,-74 --plot delays.svg",
        "transorbit constellation delay iridium.tle --stations towns.csv --from Toulouse --to Nairobi \\",
        "    --handover shortest-path --csv delay.csv",
        "transorbit constellation delay starlink-shell-1 --from 48.8,2.3 --to 45.8,4.9 --handover highest \\",
        '    --carrier "12 GHz" --csv doppler.csv --trace delay.txt --format milliseconds',
    )
)
def delay(
    name: str,
    /,
    *,
    from_: Annotated[Places, Parameter(name="--from")],
    to_: Annotated[Places, Parameter(name="--to")],
    stations: Path | None = None,
    start: Span | None = None,
    duration: Span = "600 s",
    step: Span = "1 s",
    handover: str | None = None,
    metric: str | None = None,
    carrier: str | None = None,
    csv: Csv = None,
    plot: Plot = None,
    trace: Path | None = None,
    format_: Annotated[str, Parameter(name="--format")] = "csv",
) -> None:
    """The one-way delay between two places over a constellation, or between several pairs.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        from_: Latitude,longitude of one end in degrees, north and east positive, or its name in --stations. Repeatable:
            once for all pairs, or once for each --to.
        to_: The other end. Repeatable.
        stations: A CSV file of places: name,latitude_deg,longitude_deg and perhaps altitude_m.
        start: When, after the constellation's epoch, as "10 min"; by default at the epoch.
        duration: How long.
        step: Time between samples.
        handover: How the satellite that serves an end is chosen, as `path.handover` of a scenario; its default.
        metric: What a route has least of: delay or hops.
        carrier: A carrier, as "2 GHz", whose Doppler shift is wanted.
        trace: Write the delay of the one pair as a delay trace, for other tools or for `path.file` of a scenario.
        format_: The format of the trace: csv, hypatia, milliseconds or ping.
    """
    check_plot(plot)
    pairs = _pairs_of(from_, to_)
    known = known_places(stations)
    ends = [(place("--from", one, known), place("--to", other, known)) for one, other in pairs]
    duration_s, step_s = parse.seconds("--duration", duration), parse.seconds("--step", step)
    carrier_hz = None if carrier is None else parse.hertz("--carrier", carrier)
    path = {} if start is None else {"start": f"{parse.seconds('--start', start)} s"}
    path |= {} if metric is None else {"metric": metric}
    if trace and len(pairs) > 1:
        raise UsageError(f"--trace: {len(pairs)} pairs were given, and a trace is that of one")
    traces: dict[str, pl.DataFrame] = {}
    for (one, other), (source, user) in zip(pairs, ends, strict=True):
        with options():
            traces[f"{one} to {other}"] = to.constellation.delay(
                choice(name),
                source=source,
                user=user,
                duration_s=duration_s,
                step_s=step_s,
                handover=handover,
                carrier_hz=carrier_hz,
                path=path,
            )
    if csv != Path("-"):
        print("\n".join(_delays(traces)))
    if csv:
        write_csv(_side_by_side(traces, pairs), csv)
    if trace:
        [(source, user)] = ends
        with options():
            text = to.constellation.delay_trace(
                choice(name),
                source=source,
                user=user,
                duration_s=duration_s,
                step_s=step_s,
                handover=handover,
                trace_format=format_,
                path=path,
            )
        write_text(text, trace)
    if plot:
        from transorbit import plots

        [first, *others] = traces
        if others:
            figure = plots.constellation_delays(traces, title=f"One-way delays over {name}")
        else:
            figure = plots.constellation_delay(traces[first], title=f"{name}, {first}")
        write_plot(figure, plot)


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
