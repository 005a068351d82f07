"""The page of definitions: every key of a summary and every column of the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit._markdown import cell, note

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOP = """# Definitions

Every key of `summary.json` and every column of the tables. Units are in the names: `_s` seconds, `_bps` bits per
second, `_db` decibels, `_packets` and `_bytes` counts, `_ratio` a share between 0 and 1. A value that was never
observed is `null`. The key `emulation` of [emulations](how-to/emulate.md#what-is-kept) is defined there.

## The run
"""
_TITLES = {
    "inputs": "Input files",
    "flows": "Flows",
    "users": "Users",
    "last_hop": "Last hop",
    "access": "Return link",
    "path": "Path",
    "channel": "Channel",
    "conservation": "Conservation",
}
_REASONS = """
The keys of `dropped_by_reason`, and the columns of the flows that count the same for packets with data that go in the
flow's direction:

| reason | what happened | column |
| --- | --- | --- |"""
_SERIES = """
## Time series

`series.parquet` and `result.series`: one row for each instant and flow. Rates and counts are those of the interval
that ends at the instant; the rest is the state at that instant. What belongs to the path, the last hop and the return
link is the same in the rows of all flows. The interval is `record.interval`; where a run has more than `record.samples`
instants, every other one is dropped and the interval doubles, so that memory does not grow with the duration. No count
is lost by that, but what comes after the last instant is in no row: where the interval does not divide the duration,
the rows have less than the summary.
"""


def page() -> str:
    """The page."""
    groups = [line for line in _columns.table()["summary"] if line["below"]]
    lines = [note("the reports and tables of the crates") + _TOP]
    lines += _rows(line for line in _columns.table()["summary"] if not line["below"])
    for group in groups:
        name = group["name"]
        lines += [f"\n## {_TITLES[name]}\n", f"`{name}`: {group['meaning']}\n", *_rows(group["below"])]
    lines.append(_REASONS)
    for reason in _columns.table()["reasons"]:
        lines.append(f"| `{reason['name']}` | {cell(reason['words'])} | `{reason['column']}` |")
    lines += [_SERIES, *_rows(_columns.of("series"))]
    return "\n".join(lines) + "\n"


def _rows(keys: Any) -> Iterator[str]:
    yield from ("| key | definition |", "| --- | --- |")
    yield from _below("", keys)


def _below(path: str, keys: Any) -> Iterator[str]:
    for key in keys:
        yield f"| `{path}{key['name']}` | {cell(key['meaning'])} |"
        yield from _below(f"{path}{key['name']}.", key["below"])
