"""Packet-delivery traces of mahimahi: each line is the millisecond at which a packet may leave."""

from __future__ import annotations

import math

import polars as pl

from transorbit._core import ScenarioError
from transorbit.trace.measurement import Measurement, numbers, timed

# The bytes of a delivery opportunity of mahimahi: a packet of 1500 B.
_OPPORTUNITY_BITS = 1500 * 8
_STEP_S = 0.01
# A common period of two traces is written out where it is at most so many times the longer one.
_MOST_PERIODS = 10


def is_trace(lines: list[str]) -> bool:
    """Whether the first lines are whole numbers that do not fall."""
    rows = numbers(lines, None)
    if not rows or any(len(row) != 1 for row in rows) or not all(line.strip().isdecimal() for line in lines[:50]):
        return False
    times = [row[0] for row in rows]
    return times == sorted(times)


def read(name: str, text: str, step_s: float | None) -> Measurement:
    """Mahimahi's packet-delivery traces: each line is the millisecond at which a packet of 1500 B may leave."""
    times: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if not line.strip().isdecimal() or (times and int(line) < times[-1]):
            raise ScenarioError(
                f"{name}: line {number}, column 1: {line.strip()!r} is no millisecond at or after the one before"
            )
        times.append(int(line))
    period = max(times[-1], 1)
    bins = max(round(period / 1e3 / (step_s or _STEP_S)), 1)
    width = period / bins
    counts = [0] * bins
    for at in times:
        counts[min(int(at / width), bins - 1)] += 1
    # Where a trace ends it begins anew: its last row closes the period.
    rates = [count * _OPPORTUNITY_BITS / (width / 1e3) / 1e6 for count in counts]
    table = timed([index * width / 1e3 for index in range(bins + 1)], {"rate_down_mbps": [*rates, rates[0]]})
    notes = [
        f"{len(times)} opportunities of 1500 B in {period / 1e3:g} s, counted in {width:g} ms (--step)",
        'mahimahi begins anew at the end: repeat = true; no delay: a path needs delay = "20 ms" beside it',
    ]
    return Measurement("a packet-delivery trace of mahimahi", table, notes, repeats=True)


def both_directions(down: Measurement, up: Measurement, up_name: str) -> Measurement:
    """Two traces of mahimahi as one table, in which each begins anew at its own end.

    Raises:
        ScenarioError: one of them is no trace of mahimahi.
    """
    if [*down.table.columns, *up.table.columns] != ["time_s", "rate_down_mbps"] * 2:
        raise ScenarioError(f"{up_name}: a second direction is read of mahimahi's traces alone")
    periods = [round(float(one.table["time_s"][-1]) * 1e3) for one in (down, up)]
    longer, common = max(periods), math.lcm(*periods)
    until = common if common <= _MOST_PERIODS * longer else longer
    notes = [*down.notes, f"{up_name}: {up.notes[0]}, upwards"]
    if periods[0] != periods[1]:
        cut = "" if until == common else "; the shorter one begins anew at the end of the longer one, too"
        notes.append(f"each begins anew at its own end, written out for {until / 1e3:g} s{cut}")
    tables = [_periodic(one.table, period, until) for one, period in zip((down, up), periods, strict=True)]
    both = tables[0].join(tables[1].rename({"rate_down_mbps": "rate_up_mbps"}), on="time_s", how="full", coalesce=True)
    return Measurement(down.kind, both.sort("time_s"), notes, down.repeats)


def _periodic(table: pl.DataFrame, period_ms: int, until_ms: int) -> pl.DataFrame:
    """A trace, whose last row closes its period, again and again until an instant."""
    times = pl.col("time_s")
    period = table.head(-1)
    copies = [period.with_columns(times + begin / 1e3) for begin in range(0, until_ms, period_ms)]
    closing = period.head(1).with_columns(pl.lit(until_ms / 1e3).alias("time_s"))
    return pl.concat([pl.concat(copies).filter(times < until_ms / 1e3), closing]).with_columns(times.round(9))
