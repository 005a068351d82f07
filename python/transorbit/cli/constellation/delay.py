"""The delay between places: `transorbit constellation delay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit.cli import parse
from transorbit.cli.common import Csv, Plot, Title, Width, check_plot, examples, write_csv, write_plot, write_text
from transorbit.cli.constellation.common import choice, constellation, known_places, options, place, tell_dates
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

# As `path.format` of a scenario; the first is the default.
_FORMATS = ("csv", "hypatia", "milliseconds", "ping")
# Decimals in a file of what the core keeps to seven digits.
_DIGITS = {"elevation_deg": 4, "range_m": 1, "range_rate_mps": 3, "doppler_hz": 2, "doppler_rate_hz_per_s": 3}

Places = Annotated[list[str], Parameter(negative="")]


@constellation.command(
    help_epilogue=examples(
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8 "
        '--duration "1 h" --step "1 s" --csv delay.csv --plot delay.svg',
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8 --to 40.7,-74 --plot delays.svg",
        "transorbit constellation delay iridium-next --stations towns.csv --from Toulouse --to Nairobi "
        "--handover shortest-path --csv delay.csv",
        "transorbit constellation delay starlink-shell-1 --from 48.8,2.3 --to 45.8,4.9 "
        '--handover \'{ kind = "fixed-epochs", every = "15 s" }\' --plot delay.svg',
        "transorbit constellation delay starlink-shell-1 --from 48.8,2.3 --to 45.8,4.9 --handover highest "
        '--carrier "12 GHz" --csv doppler.csv --trace delay.txt --format milliseconds',
    )
)
def delay(
    name: str,
    /,
    *,
    from_: Annotated[Places, Parameter(name="--from")],
    to_: Annotated[Places, Parameter(name="--to")],
    stations: Path | None = None,
    start: str | None = None,
    duration: str = "600 s",
    step: str = "1 s",
    handover: str | None = None,
    source_handover: str | None = None,
    metric: str | None = None,
    carrier: str | None = None,
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
    trace: Path | None = None,
    format_: Annotated[str | None, Parameter(name="--format")] = None,
) -> None:
    """The one-way delay between two places over a constellation, or between several pairs.

    Args:
        name: A constellation of `transorbit list constellations`, or a file of two-line elements or OMM.
        from_: Latitude,longitude of one end in degrees, north and east positive, or its name in --stations. Repeatable:
            once for all pairs, or once for each --to.
        to_: The other end. Repeatable.
        stations: A CSV file of places: name,latitude_deg,longitude_deg and perhaps altitude_m.
        start: When, after the constellation's epoch, as "10 min"; by default at the epoch.
        duration: The length of time.
        step: Time between samples.
        handover: How the serving satellite of an end is chosen, as `path.handover` of a scenario; its default. A name,
            or an inline table of TOML.
        source_handover: The same for --from, as `path.source_handover`; by default as --handover.
        metric: The quantity that a route minimises: delay or hops.
        carrier: A carrier, as "2 GHz", whose Doppler shift is wanted.
        trace: Write the delay of the one pair as a delay trace, for other tools or for `path.file` of a scenario.
        format_: The format of the trace: csv, hypatia, milliseconds or ping; by default csv.
    """
    look = check_plot(plot, width, title)
    _check_format(trace, format_)
    pairs = _pairs_of(from_, to_)
    known = known_places(stations)
    ends = [(place("--from", one, known), place("--to", other, known)) for one, other in pairs]
    duration_s = parse.seconds("--duration", duration)
    carrier_hz = None if carrier is None else parse.hertz("--carrier", carrier)
    start_s = 0.0 if start is None else parse.start("--start", start)
    path: dict[str, Any] = {"start": f"{start_s} s"}
    path |= {} if metric is None else {"metric": metric}
    path |= {} if source_handover is None else {"source_handover": parse.choice("--source-handover", source_handover)}
    asked: dict[str, Any] = {
        "duration_s": duration_s,
        "step_s": parse.seconds("--step", step),
        "handover": None if handover is None else parse.choice("--handover", handover),
        "path": path,
    }
    sky = choice(name)
    if trace and len(pairs) > 1:
        raise UsageError(f"--trace: {len(pairs)} pairs were given, and a trace is that of one")
    traces: dict[str, pl.DataFrame] = {}
    for (one, other), (source, user) in zip(pairs, ends, strict=True):
        with options():
            table = to.constellation.delay(sky, source=source, user=user, carrier_hz=carrier_hz, **asked)
            traces[f"{one} to {other}"] = table
    with options():
        tell_dates(sky, start_s, duration_s, quiet=csv == Path("-"))
    if csv != Path("-"):
        several = len(traces) > 1
        print("\n\n".join((f"{pair}\n" if several else "") + _summary(table) for pair, table in traces.items()))
    if csv:
        write_csv(_rounded(_side_by_side(traces, pairs)), csv)
    if trace:
        [(source, user)] = ends
        with options():
            text = to.constellation.delay_trace(
                sky, source=source, user=user, trace_format=format_ or _FORMATS[0], **asked
            )
        write_text(text, trace)
    if plot:
        write_plot(_figure(name, traces, look), plot)


def _figure(name: str, traces: dict[str, pl.DataFrame], look: dict[str, Any]) -> Any:
    """The delays of several pairs, or of one with what happened on it."""
    from transorbit import plots

    [first, *others] = traces
    if others:
        return plots.constellation_delays(traces, **{"title": f"One-way delays over {name}"} | look)
    table = traces[first]
    usual = {"title": f"{name}, {first}", "note": ", ".join([*_changes(table), *_outage(table)])}
    return plots.constellation_delay(table, **usual | look)


def _pairs_of(ones: list[str], others: list[str]) -> list[tuple[str, str]]:
    if len(ones) == 1:
        ones = ones * len(others)
    elif len(others) == 1:
        others = others * len(ones)
    if len(ones) != len(others):
        raise UsageError(f"--to: given {len(others)} times for {len(ones)} times --from: as often, or one of them once")
    return list(dict.fromkeys(zip(ones, others, strict=True)))


def _check_format(trace: Path | None, trace_format: str | None) -> None:
    """Refuse a format before anything is computed for it."""
    if trace_format is None:
        return
    if trace_format not in _FORMATS:
        raise UsageError(f'--format: "{trace_format}" is none of {", ".join(_FORMATS)}')
    if trace is None:
        raise UsageError("--format: is that of a delay trace: give a file to --trace")


def _summary(table: pl.DataFrame) -> str:
    """The range of a path's delay, and what happened on it."""
    delays = table["one_way_delay_s"].drop_nulls() * 1e3
    if delays.is_empty():
        return "no route at any time"
    values: Any = (delays.min(), delays.mean(), delays.max())
    low, mean, high = (float(value or 0.0) for value in values)
    lines = [f"one-way delay  {low:.2f} / {mean:.2f} / {high:.2f} ms (min / mean / max)", ", ".join(_changes(table))]
    return "\n".join([*lines, *_outage(table)])


def _changes(table: pl.DataFrame) -> list[str]:
    """The number of changes, by kind."""
    counted = to.constellation.changes(table)
    names = {"user-handover": "user handover", "gateway-handover": "gateway handover", "route-change": "route change"}
    return [f"{counted[event]} {name}{'' if counted[event] == 1 else 's'}" for event, name in names.items()]


def _outage(table: pl.DataFrame) -> list[str]:
    """The share of the time without a route, if there is any."""
    missing = table["one_way_delay_s"].null_count()
    return [f"no route {100 * missing / len(table):.3g} % of the time"] if missing else []


def _rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Without the digits that the core does not keep."""
    import polars as pl

    return table.with_columns(pl.col(name).round(digits) for name, digits in _DIGITS.items() if name in table.columns)


def _side_by_side(traces: dict[str, pl.DataFrame], pairs: list[tuple[str, str]]) -> pl.DataFrame:
    """One table; with several pairs, two columns more say which a row is of."""
    import polars as pl

    if len(traces) == 1:
        return next(iter(traces.values()))
    tables = zip(traces.values(), pairs, strict=True)
    return pl.concat(table.with_columns(pl.lit(a).alias("from"), pl.lit(b).alias("to")) for table, (a, b) in tables)
