"""The commands of measured paths: `transorbit trace import`, `trace show`, and `transorbit calibrate`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

import transorbit as to
from transorbit import _numbers
from transorbit.cli import parse
from transorbit.cli.common import Csv, Plot, Title, Width, check_plot, examples, write_csv, write_plot, write_text
from transorbit.cli.errors import UsageError
from transorbit.cli.tables import Column, facts, print_table
from transorbit.cli.tables import table as _table

if TYPE_CHECKING:
    import polars as pl

trace = App(
    name="trace",
    help="Measured paths: read somebody's measurement, look at it.",
    help_epilogue=examples(
        "transorbit trace import ping.log --out pings.csv",
        "transorbit trace show path.csv",
    ),
)

Columns = Annotated[
    list[str] | None,
    Parameter(name="--column", negative="", help="What a column is, as rtt_ms=ping_avg or time_s=when. Repeatable."),
]

CALIBRATE_HELP = examples(
    "transorbit calibrate rtt.csv --out mine.toml",
    "transorbit calibrate rtt.csv --rates iperf.csv --summary 'Oslo, one hour' --source 'ours' --out mine.toml",
)


@trace.command(
    name="import",
    help_epilogue=examples(
        "transorbit trace import ping.log --out pings.csv",
        "transorbit trace import iperf3.json --out rates.csv",
        "transorbit trace import home.down --up home.up --step '10 ms' --out home.csv",
        "transorbit trace import mine.csv --column time_s=when --column rtt_ms='ping avg' --out path.parquet",
    ),
)
def import_(
    file: Path,
    /,
    *,
    up: Path | None = None,
    column: Columns = None,
    step: str | None = None,
    out: Path | None = None,
    force: bool = False,
) -> None:
    """Turn a measurement into the file of a path, and print what was understood of it.

    Read are logs of ping (also as LENS has them), the JSON of irtt and iperf3, mahimahi's packet-delivery traces,
    Hypatia's round trips, the status of a Starlink dish, and tables (CSV, Parquet) whose header names quantities and
    units.

    Args:
        file: The measurement; its contents show which of these it is.
        up: The trace of mahimahi for the other direction.
        step: The time in which mahimahi's packets are counted, by default 10 ms; and between the probes of a ping
            without timestamps, by default the value in its last lines, or 1 s.
        out: Where the path goes: .csv or .parquet; by default nothing is written.
        force: Replace a file that is there.
    """
    from transorbit.trace.measurement import quantile

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--out: {out}: the name of a path's file ends with .csv or .parquet")
    if out is not None and out.exists() and not force:
        raise UsageError(f"--out: {out} is there already: choose another name, or --force")
    measurement = to.trace.read(
        file, up=up, columns=_columns(column), step_s=parse.seconds("--step", step) if step else None
    )
    table = measurement.table
    at = table.columns[0]
    lasts = float(table[at].max() or 0.0) - float(table[at].min() or 0.0)  # type: ignore[arg-type]
    print(f"{file}: {measurement.kind}, {_numbers.counted(table.height, 'row')} over {_numbers.number(lasts)} s")
    for note in measurement.notes:
        print(f"  {note}")
    rows = []
    for name in table.columns[1:]:
        values = table[name].drop_nulls()
        empty = table.height - len(values)
        least, middle, most = (_numbers.number(quantile(values, share)) for share in (0.0, 0.5, 1.0))
        told = f"median {middle}, {least} to {most}" if len(values) else "nothing"
        rows.append((f"  {name}", told + (f"; {empty} empty" if empty else "")))
    print("\n".join(facts(rows)))
    _check(measurement, file)
    if out is None:
        print("nothing written: --out FILE.csv writes the file of a path")
        return
    to.trace.write(measurement, out)
    print(f"written: {out}\n  path = {_as_path(measurement, out)}")


def _check(found: to.trace.Measurement, file: Path) -> None:
    """Refuse what no run would take, with the line of the table as it would be written."""
    delays = [name for name in found.table.columns if "rtt" in name or "delay" in name]
    path: dict[str, Any] = {"kind": "trace", "file": "path.csv"} | ({} if delays else {"delay": "20 ms"})
    with tempfile.TemporaryDirectory() as folder:
        to.trace.write(found, Path(folder) / "path.csv")
        try:
            to.trace.course(path, base_dir=folder)
        except to.ScenarioError as error:
            told = str(error).removeprefix("path.file: ").replace(str(Path(folder) / "path.csv"), str(file))
            raise to.ScenarioError(f"{file}: {told.removeprefix(f'{file}: ').removeprefix('path.csv: ')}") from None


def _as_path(found: to.trace.Measurement, out: Path) -> str:
    """Returns the lines by which a scenario names the table."""
    table = found.table
    has_delay = any("rtt" in name or "delay" in name for name in table.columns)
    delay = "" if has_delay else ', delay = "20 ms"'
    rate = (
        '\n  last_hop.rate = "path"'
        if any(name.startswith(("rate_down", "download")) for name in table.columns)
        else ""
    )
    repeat = ", repeat = true" if found.repeats else ""
    return f'{{ kind = "trace", file = "{out}"{delay}{repeat} }}{rate}'


def _first(option: str, text: str) -> float:
    from transorbit.trace.calibrate import EPOCH_S

    first_s = parse.start(option, text)
    if first_s >= EPOCH_S:
        raise UsageError(f'{option}: "{text}" must be below {EPOCH_S:g} s')
    return first_s


def _columns(given: list[str] | None) -> dict[str, str]:
    columns = {}
    for each in given or []:
        meaning, separator, name = each.partition("=")
        if not separator or not meaning or not name:
            raise UsageError(f"--column: {each!r}: write what it is and its name, as rtt_ms=ping_avg")
        columns[meaning.strip()] = name.strip()
    return columns


@trace.command(
    help_epilogue=examples(
        "transorbit trace show path.csv",
        "transorbit trace show path.csv --plot path.svg",
        "transorbit trace show mine.csv --column time_s=when --column rtt_ms='ping avg'",
        "transorbit trace show ping.log --path '{ format = \"ping\" }' --csv points.csv",
        "transorbit trace show --path '{ kind = \"starlink\" }' --duration '10 min' --plot starlink.svg",
        "transorbit trace show --path '{ kind = \"starlink\" }' --duration '1 h' --step '20 ms' --csv probes.csv",
    )
)
def show(
    file: Path | None = None,
    /,
    *,
    path: str | None = None,
    column: Columns = None,
    duration: str | None = None,
    step: str | None = None,
    seed: str = "1",
    csv: Csv = None,
    plot: Plot = None,
    width: Width = "double",
    title: Title = None,
) -> None:
    """Print what a path over time has, as a run would: round trips, rates and losses. --plot draws it.

    Args:
        file: The file of a path of kind trace; without one, the path that --path gives.
        path: More of a scenario's path, as an inline table of TOML.
        duration: The length of time; by default to the end of the file.
        step: The time between two instants, as between probes; by default there is one where a value changes.
        seed: Of the run, for a path that chance makes.
    """
    look = check_plot(plot, width, title)
    if column and file is None:
        raise UsageError("--column: names a column of the file, and none is given")
    asked: dict[str, Any] = parse.choice("--path", path) if path else {}  # type: ignore[assignment]
    if file is not None:
        columns = {"columns": _columns(column)} if column else {}
        asked = {"kind": "trace", "file": str(file), **columns, **asked}
    if not isinstance(asked, dict) or "kind" not in asked:
        raise UsageError("give the file of a path, or --path with its kind")
    seconds = None if duration is None else parse.seconds("--duration", duration)
    every = None if step is None else parse.seconds("--step", step)
    table = to.trace.course(asked, duration_s=seconds, step_s=every, seed=parse.seed(seed))
    write_csv(table, csv)
    if csv != Path("-"):
        print(_shown(table))
    if plot:
        from transorbit import plots

        write_plot(plots.course(table, **{"title": str(file or asked["kind"])} | look), plot)


def _shown(table: pl.DataFrame) -> str:
    over = _numbers.number(float(table["time_s"].max() or 0.0))  # type: ignore[arg-type]
    rows = [
        [
            row["quantity"],
            *(_numbers.number(row[name]) for name in ("least", "p5", "median", "p95", "most")),
            f"none for {100 * row['absent_share']:.3g} % of the time" if row["absent_share"] else "",
        ]
        for row in to.trace.summary(table).iter_rows(named=True)
    ]
    heads: list[Column | str] = ["", "least", "5 %", "median", "95 %", "most", Column("", words=True)]
    return "\n".join([f"{_numbers.counted(table.height, 'instant')} over {over} s", *_table(heads, rows)])


def calibrate(
    file: Path,
    /,
    *,
    rates: Path | None = None,
    column: Columns = None,
    first: str | None = None,
    single_losses: Annotated[bool, Parameter(negative="")] = False,
    summary: str = "",
    source: str = "",
    out: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Fit the model of Starlink's 15 s (path.kind = "starlink") to measured round trips, with 95 % intervals.

    Args:
        file: Round trips: a file of `transorbit trace import`, or what that command reads. Each row is a probe, one
            without a value a lost one.
        rates: Rates towards the user in short intervals, as iperf3's JSON; without them the model has no rate.
        first: The second of the minute at which epochs begin, below 15 s; by default the one that fits best.
        single_losses: Data are lost by themselves as often as single probes; by default only bursts are losses of data.
        summary: What is fitted, in a line; it stands in the file.
        source: Where the measurements are from, and their licence; it stands in the file.
        out: The file of parameters, for path.file of a scenario.
        json_: Print the parameters as JSON.
    """
    columns = _columns(column)
    measured = to.trace.read(file, columns=columns).table
    of_rates = to.trace.read(rates).table if rates else None
    fit = to.trace.fit(
        _with_round_trips(file, measured),
        rates=of_rates,
        first_s=None if first is None else _first("--first", first),
        single_losses=single_losses,
        summary=summary,
        source=source,
    )
    if out:
        write_text(fit.toml(), out)
    if json_:
        print(json.dumps(fit.parameters, indent=2))
        return
    for note in fit.notes:
        print(note)
    rows = [
        [row["parameter"], *(_numbers.number(row[name]) for name in ("value", "low", "high")), row["unit"]]
        for row in fit.intervals.iter_rows(named=True)
    ]
    print_table(["", "value", "95 % from", "to", Column("unit", words=True)], rows)
    if out:
        print(f'written: {out}\n  path = {{ kind = "starlink", file = "{out}" }}')


def _with_round_trips(file: Path, table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    if "rtt_ms" in table.columns:
        return table
    for name, factor in (
        ("rtt_s", 1e3),
        ("one_way_delay_ms", 2.0),
        ("one_way_delay_s", 2e3),
        ("delay_s", 2e3),
        ("delay_ms", 2.0),
    ):
        if name in table.columns:
            return table.with_columns(rtt_ms=pl.col(name) * factor)
    raise UsageError(f"{file}: has no round trips, but {', '.join(table.columns)}")
