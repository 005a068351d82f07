"""The command `transorbit compare`: runs side by side, or the values of a sweep's axis, and how they differ."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003 - the parser of the command line reads the types
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from transorbit import _flow_kinds, _numbers, _open, _summary
from transorbit._core import ScenarioError
from transorbit._names import hint_or_all
from transorbit._numbers import NONE
from transorbit.cli import show
from transorbit.cli.common import examples, warn
from transorbit.cli.errors import UsageError
from transorbit.cli.tables import Column, facts, table, titled
from transorbit.sweep.differences import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl

    from transorbit.result import Result
    from transorbit.sweep import Axis, SweepResult

HELP = examples(
    'transorbit run leo-tcp --set duration="20 s" --out results/cubic',
    'transorbit run leo-tcp --set duration="20 s" --set flows.0.transport.congestion=reno --out results/reno',
    "transorbit compare results/cubic results/reno",
    'transorbit sweep leo-snr --set duration="5 s"',
    "transorbit compare results/leo-snr --between tcp",
    "transorbit compare results/leo-snr --between snr --against all --metric goodput_mbps",
)
# A line of the table: its name, the number of a run, how a number is written, and what stands beside it.
_Line = tuple[str, "Callable[[Result], float | None]", "Callable[[float], str]", "Callable[[Result], str] | None"]


def compare(
    folders: Annotated[list[Path], Parameter(negative="")],
    /,
    *,
    between: str | None = None,
    against: str | None = None,
    metric: Annotated[list[str] | None, Parameter(name="--metric", negative="")] = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Runs side by side with their differences, or how the values of a sweep's axis differ, with 95 % intervals.

    Args:
        folders: Two result folders or more, or the folder of a sweep.
        between: Of a sweep: the axis whose values are compared; by default the first with names.
        against: The run, or the value of the axis, that the others are held against; by default the first. With all,
            each is held against every one before it.
        metric: Of a sweep: a metric to compare; by default all. Repeatable.
        json_: Print JSON.
    """
    for folder in folders:
        _open.check_there(folder, "a result or of a sweep")
    if any((folder / "sweep.toml").is_file() for folder in folders):
        if len(folders) > 1:
            raise UsageError("compare: one sweep, or two results or more, are expected")
        _sweep(folders[0], between, against, metric, as_json=json_)
        return
    for option, given in (("--between", between), ("--metric", metric)):
        if given:
            raise UsageError(f"{option}: is for the folder of a sweep")
    if len(folders) < 2:
        raise UsageError(f"compare: {folders[0]} alone: two result folders or more are expected, or that of a sweep")
    results = {str(folder): _open.result(folder) for folder in folders}
    if len(results) < len(folders):
        raise UsageError("compare: the same folder was given twice")
    base = _base(results, against)
    print(json.dumps(_numbers_of(results), indent=2) if json_ else comparison(results, against=base), flush=True)


def comparison(results: Mapping[str, Result], *, against: str | None = None) -> str:
    """The summaries of several runs side by side, and how they differ from one of them, or all from each other."""
    names = list(results)
    pairs = [(one, other) for index, one in enumerate(names) for other in names[:index]]
    if against != ALL:
        base = against or names[0]
        pairs = [(one, base) for one in names if one != base]
    rows = []
    for name, value, write, beside in _LINES:
        numbers = {run: value(result) for run, result in results.items()}
        if all(number is None for number in numbers.values()):
            continue
        shown = [_shown(numbers[run], write) + (beside(results[run]) if beside else "") for run in names]
        rows.append([name, *shown, *(_difference(numbers[one], numbers[base], write) for one, base in pairs)])
    rows.append(["HARQ, decoded after", *(show.harq_shares(_harq(one)) for one in results.values())])
    rows[-1] += [""] * len(pairs)
    heads = ["Difference"] if len(pairs) == 1 else [f"{one} - {base}" for one, base in pairs]
    return "\n".join([*_heading(results), *table([Column("", words=True), *names, *heads], rows), "", *_notes(results)])


def _heading(results: Mapping[str, Result]) -> list[str]:
    told = [result.numbers for result in results.values()]
    titles = " / ".join(dict.fromkeys(one["title"] for one in told if one["title"]))
    spans = [f"{seconds:g} s" for seconds in dict.fromkeys(one["simulated_s"] for one in told)]
    seeds = [str(seed) for seed in dict.fromkeys(one["seed"] for one in told)]
    parts = [
        f"PARTIAL: {name}, stopped at {one.numbers['simulated_s']:g} s" for name, one in results.items() if one.partial
    ]
    return titled(titles, f"seed {' / '.join(seeds)}, {' / '.join(spans)} simulated", *parts, "")


def _notes(results: Mapping[str, Result]) -> list[str]:
    """The paths, once where they are the same; and what a difference of single runs is worth."""
    paths = {name: list(show.path(result.numbers["path"])) for name, result in results.items()}
    lines = []
    for name, known in paths.items():
        others = [other for other in paths if paths[other] == known]
        if others[0] == name:
            where = "" if len(others) == len(paths) else f" ({', '.join(others)})"
            lines += [(label, told + where) for label, told in known]
    worth = "one run each: a sweep over seeds tells how much of a difference is chance"
    return facts([*lines, ("note", worth)])


def _base(results: Mapping[str, Result], against: str | None) -> str | None:
    if against is None or against == ALL:
        return against
    baseline = next((name for name in results if name.rstrip("/") == against.rstrip("/")), None)
    if baseline is None:
        raise UsageError(f"--against: {against} is none of the folders{hint_or_all(against, [*results, ALL])}")
    return baseline


def _numbers_of(results: Mapping[str, Result]) -> dict[str, dict[str, float | None]]:
    return {run: {name: value(result) for name, value, _, _ in _LINES} for run, result in results.items()}


def _shown(value: float | None, write: Callable[[float], str]) -> str:
    return NONE if value is None else write(value)


def _difference(one: float | None, base: float | None, write: Callable[[float], str]) -> str:
    if one is None or base is None:
        return NONE
    if one == base:
        return "0"
    sign = "+" if one > base else "-"
    share = f" ({sign}{_numbers.number(100 * abs(one - base) / abs(base), 3)} %)" if base else ""
    told = write(abs(one - base))
    if write is _numbers.percent:
        told = told.replace("%", "points")  # beside the difference relative to the base
    return f"{sign}{told}{share}"


def _count(key: str) -> Callable[[Result], float | None]:
    return lambda result: show.total(result.flows, key)


def _share(key: str) -> Callable[[Result], str]:
    """Returns the function that writes a count's share of the packets sent under a congestion controller."""

    def told(result: Result) -> str:
        sent = show.total(result.flows.drop_nulls(_flow_kinds.CONTROLLED), "sent_packets")
        return f" ({_numbers.percent(show.total(result.flows, key) / sent)})" if sent else ""

    return told


def _mean(key: str) -> Callable[[Result], float | None]:
    def mean(result: Result) -> float | None:
        known: Any = result.flows[key].mean()
        return None if known is None else float(known)

    return mean


def _known_count(key: str) -> Callable[[Result], float | None]:
    """Of a column that only some kinds of traffic have."""
    return lambda result: show.total(result.flows, key) if result.flows[key].count() else None


def _of_transfers(value: Callable[[int | None, pl.Series], Any]) -> Callable[[Result], float | None]:
    """Of the transfers with a size; where there are none, of those without one that ended."""
    return lambda result: next((value(begun, times) for begun, times in _flow_kinds.transfers(result.flows)), None)


def _page_load(result: Result) -> float | None:
    web = result.reports("web")
    return None if web.is_empty() else _summary.mean_of_reports(web, "load_mean_s", "pages")


def _harq(result: Result) -> dict[str, Any]:
    harq: dict[str, Any] = result.numbers["last_hop"]["harq"]
    return harq


def _never_decoded(result: Result) -> float | None:
    harq = _harq(result)
    sent = sum(harq["decoded_after"]) + harq["failed"]
    return harq["failed"] / sent if sent else None


_LINES: list[_Line] = [
    ("Goodput of all flows", lambda result: result.goodput_bps, _numbers.rate, None),
    ("Packets sent", _count("sent_packets"), str, None),
    ("Fast retransmits", _count("dupack_events"), str, _share("dupack_events")),
    ("Timeouts", _count("rto_events"), str, _share("rto_events")),
    ("Retransmitted packets", _count("retransmitted_packets"), str, _share("retransmitted_packets")),
    ("  of them spurious", _count("spurious_retransmissions"), str, _share("spurious_retransmissions")),
    ("Mean window", _mean("cwnd_mean_packets"), lambda value: f"{value:.1f} packets", None),
    ("Mean RTT", _mean("rtt_mean_s"), _numbers.delay, None),
    ("Mean one-way delay", _mean("one_way_delay_mean_s"), _numbers.delay, None),
    ("One-way delay, 95 %", _mean("one_way_delay_p95_s"), _numbers.delay, None),
    ("Transfers begun", _of_transfers(lambda begun, _: begun), str, None),
    ("Transfers ended", _of_transfers(lambda _, times: len(times)), str, None),
    ("Median transfer time", _of_transfers(lambda _, times: times.median()), _numbers.delay, None),
    ("Mean page load time", _page_load, _numbers.delay, None),
    ("Stalls", _known_count("rebuffers"), str, None),
    ("Time in stalls", _mean("rebuffer_ratio"), _numbers.percent, None),
    ("MOS", _mean("mos"), lambda value: f"{value:.2f}", None),
    ("HARQ, never decoded", _never_decoded, _numbers.percent, None),
    (
        "Reordering, mean wait",
        lambda result: result.numbers["last_hop"]["reordering"]["wait_mean_s"],
        _numbers.delay,
        None,
    ),
]


def _sweep(
    folder: Path, between: str | None, against: str | None, metrics: Sequence[str] | None, *, as_json: bool
) -> None:
    import polars as pl

    from transorbit.sweep import SweepResult, differences

    result = SweepResult.load(folder)
    for name in metrics or ():
        if name not in result.metrics:
            raise UsageError(f"--metric: the sweep has no {name!r}{hint_or_all(name, result.metrics)}")
    try:
        axis, within = differences.chosen(result, between)
        if axis is None:
            raise UsageError(f"compare: {folder} has no axis with two values")
        base = differences.baseline(axis, against)
    except ScenarioError as error:
        raise UsageError(f"--{error}") from None
    ok = result.runs.filter(pl.col("status") == "ok")
    tables_by_metric = {name: differences.compared(ok, name, axis, within, base) for name in metrics or result.metrics}
    known = {name: one for name, one in tables_by_metric.items() if one is not None}
    if not known:
        reasons = [differences.reason(ok, name, axis, base) for name in tables_by_metric]
        told = "; ".join(dict.fromkeys(one for one in reasons if one))
        spread = "nothing is known of chance: give the sweep two replications or more"
        raise UsageError(f"compare: {folder}: {told or spread}")
    if lacks := result.incomplete:
        print(f"transorbit: {lacks}", file=sys.stderr)
    warn(result.doubts)
    if as_json:
        print(json.dumps({name: _rows(one) for name, one in known.items()}, indent=2, allow_nan=False), flush=True)
    else:
        print("\n".join(_blocks(result, known, axis, within)), flush=True)


def _rows(found: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of differences; a number that is not known or not finite is None."""
    import polars as pl
    from polars import selectors

    numbers = selectors.float()
    return found.with_columns(pl.when(numbers.is_finite()).then(numbers)).to_dicts()


def _blocks(result: SweepResult, found: Mapping[str, Any], axis: Axis, within: Sequence[Axis]) -> Iterator[str]:
    about = "runs with the same seed are paired; the 95 % are those of all intervals of a metric together (Bonferroni)"
    yield from titled(result.title, about)
    heads = [*(_named(one) for one in within), _named(axis), "against", "mean of that", "difference", "%", "pairs"]
    for name, rows in found.items():
        cells = [
            [
                *(one.plain(row[one.name]) for one in (*within, axis)),
                axis.plain(row["baseline"]),
                _shown(row["baseline_mean"], _numbers.number),
                _told(row),
                NONE if row["percent"] is None else f"{row['percent']:+.1f}",
                row["count"],
                "not known" if row["difference"] is None else "yes" if row["differs"] else "no",
            ]
            for row in _rows(rows)
        ]
        words = [Column(head, words=index <= len(within) + 1) for index, head in enumerate(heads)]
        yield f"\n{result.metrics[name].title}"
        yield from table([*words, "more than chance"], cells)


def _told(row: Mapping[str, Any]) -> str:
    difference = row["difference"]
    return NONE if difference is None else _numbers.interval(difference, row["low"], row["high"], signed=True)


def _named(axis: Axis) -> str:
    return f"{axis.name} ({axis.unit})" if axis.unit else axis.name
