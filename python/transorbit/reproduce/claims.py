"""Verdicts: a claim's statistic for each seed, the interval of its mean, and where that lies.

The seeds of two points are the same, so a difference or ratio of points is of pairs that chance treated alike: it is
computed within each seed, and Student's interval is that of the seeds' values. A statistic that a single run is too
short for (a ratio of rare events, a crossing) is computed over all seeds at once, and its interval is the jackknife's:
what leaving out one seed at a time moves it (Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transorbit import statistics
from transorbit._core import ScenarioError
from transorbit.reproduce.database import columns, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transorbit.reproduce.database import Tables
    from transorbit.reproduce.items import Claim
    from transorbit.reproduce.tolerance import Predicate

HOLDS, WEAKLY, DOES_NOT, ERROR = "holds", "holds weakly", "does not hold", "error"
#: From the best to the worst.
VERDICTS = (HOLDS, WEAKLY, DOES_NOT, ERROR)
_CONFIDENCE = 0.95

Group = tuple[object, ...]


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim.

    Attributes:
        interval: of the statistic, in its unit; None if it could not be computed. With `for_each`, that of the group
            which speaks most against the claim.
        group: which one that is, as text; empty without groups.
        groups: how many there are; the confidence of their intervals is 1 - 0.05 / groups.
        error: why there is no verdict; empty if there is one.
    """

    claim: Claim
    verdict: str
    interval: statistics.Interval | None = None
    group: str = ""
    groups: int = 1
    error: str = ""

    @property
    def note(self) -> str:
        """The claim's own note, the group of the numbers, or the error."""
        group = f"The numbers are of {self.group}, the least favourable of {self.groups}." if self.group else ""
        return " ".join(part for part in (self.error, group, self.claim.note) if part)


def judge(claim: Claim, tables: Tables) -> Judgement:
    """The verdict on a claim; one of `ERROR` where its statistic cannot be computed."""
    try:
        intervals = _INTERVALS[claim.test](claim, tables)
    except ScenarioError as error:
        return failed(claim, str(error))
    judged = {
        group: verdict(interval, claim.predicate, exact=not tables.has_chance) for group, interval in intervals.items()
    }

    def favourable(group: Group) -> tuple[int, float]:
        return -VERDICTS.index(judged[group]), claim.predicate.margin(intervals[group].mean)

    worst = min(intervals, key=favourable)
    return Judgement(
        claim=claim,
        verdict=judged[worst],
        interval=intervals[worst],
        group=_named(claim, worst),
        groups=len(intervals),
    )


def failed(claim: Claim, why: str) -> Judgement:
    """A claim that cannot be judged."""
    return Judgement(claim=claim, verdict=ERROR, error=why)


def verdict(interval: statistics.Interval, predicate: Predicate, *, exact: bool = False) -> str:
    """`holds` if the whole interval is what the claim allows, `holds weakly` if the estimate is.

    Of a single seed nothing is known but the estimate, unless it is exact: no chance is in it.
    """
    if not predicate.holds(interval.mean):
        return DOES_NOT
    if interval.count < 2 and not exact:
        return WEAKLY
    return HOLDS if predicate.holds(interval.low) and predicate.holds(interval.high) else WEAKLY


def _paired(claim: Claim, tables: Tables) -> dict[Group, statistics.Interval]:
    """Student's interval of one value for each seed."""
    if not tables.seeds:
        raise ScenarioError("statistic: no seed has all points")
    by_seed = _by_seed(claim, tables)
    groups = _groups(list(by_seed.values()))
    confidence = 1 - (1 - _CONFIDENCE) / len(groups)
    return {
        group: statistics.mean_interval([values[group] for values in by_seed.values()], confidence=confidence)
        for group in groups
    }


def _pooled(claim: Claim, tables: Tables) -> dict[Group, statistics.Interval]:
    """The value over all seeds at once, with the interval of the jackknife that leaves out one seed at a time."""
    seeds = tables.seeds
    if not seeds:
        raise ScenarioError("statistic: no seed has all points")
    whole = _values(claim, tables, seeds, "")
    if len(seeds) == 1:
        return {group: statistics.Interval(value, value, value, 1) for group, value in whole.items()}
    without = [_left_out(claim, tables, [seed for seed in seeds if seed != left_out], left_out) for left_out in seeds]
    confidence = 1 - (1 - _CONFIDENCE) / len(whole)
    intervals = {}
    for group, value in whole.items():
        others = [values.get(group) for values in without]
        known_values = [other for other in others if other is not None]
        # What is not there without a seed is known from that seed alone.
        single = len(known_values) < len(others)
        intervals[group] = (
            statistics.Interval(value, value, value, 1)
            if single
            else jackknife(value, known_values, confidence=confidence)
        )
    return intervals


def _left_out(claim: Claim, tables: Tables, seeds: Sequence[int], left_out: int) -> dict[Group, float | None]:
    """The statistic of these seeds in each group; None where no row of theirs matches."""
    which = f" without seed {left_out}"
    rows = _rows(claim, tables, seeds, claim.for_each)
    return {
        tuple(group): None if value is None else _number(value, f"{which}{_at(claim, tuple(group))}")
        for *group, value in rows
    }


def jackknife(whole: float, without: Sequence[float], *, confidence: float = 0.95) -> statistics.Interval:
    """The interval around a statistic of n samples, given what it is without each of them; Student's, n - 1 degrees.

    The standard error is that of the mean of the pseudo-values n whole - (n - 1) without_i (Tukey 1958).
    """
    count = len(without)
    pseudo = [count * whole - (count - 1) * value for value in without]
    half_width = statistics.mean_interval(pseudo, confidence=confidence).half_width
    return statistics.Interval(whole, whole - half_width, whole + half_width, count)


_INTERVALS = {"paired": _paired, "pooled": _pooled}


def _by_seed(claim: Claim, tables: Tables) -> dict[int, dict[Group, float]]:
    """The statistic of each seed in each group."""
    whole_table = claim.table in tables.with_seed and "seed" not in claim.for_each
    if not whole_table or "select" in claim.statistic.lower():
        # Views and queries within the statistic must see the rows of one seed only.
        return {seed: _values(claim, tables, [seed], f" with seed {seed}") for seed in tables.seeds}
    by_seed: dict[int, list[tuple[object, ...]]] = {seed: [] for seed in tables.seeds}
    for seed, *row in _rows(claim, tables, tables.seeds, ("seed", *claim.for_each)):
        by_seed[seed].append(tuple(row))
    return {seed: _numbers(claim, rows, f" with seed {seed}") for seed, rows in by_seed.items()}


def _values(claim: Claim, tables: Tables, seeds: Sequence[int], which: str) -> dict[Group, float]:
    """The statistic over all of these seeds in each group; `()` is the group of all."""
    return _numbers(claim, _rows(claim, tables, seeds, claim.for_each), which)


def _rows(claim: Claim, tables: Tables, seeds: Sequence[int], by: Sequence[str]) -> list[tuple[Any, ...]]:
    names = columns(by)
    sql = f"SELECT {names}{', ' if by else ''}({claim.statistic}\n) FROM {quoted(claim.table)}"  # noqa: S608
    return tables.query(f"{sql} GROUP BY {names} ORDER BY {names}" if by else sql, seeds=seeds)


def _numbers(claim: Claim, rows: Sequence[tuple[object, ...]], which: str) -> dict[Group, float]:
    """The statistic, which is the last column, by what is before it."""
    if not rows:
        raise ScenarioError(f"statistic: {claim.table} has no rows{which}")
    if not claim.for_each and len(rows) != 1:
        raise ScenarioError(f"statistic: gives {len(rows)} values{which}, one is expected: an aggregate")
    values: dict[Group, float] = {}
    for *group, value in rows:
        values[tuple(group)] = _number(value, which + _at(claim, tuple(group)))
    return values


def _number(value: object, where: str) -> float:
    if value is None:
        raise ScenarioError(f"statistic: is NULL{where}: no rows match, or a value is missing")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ScenarioError(f"statistic: is {value!r}{where}, a number is expected") from None
    if not math.isfinite(number):
        raise ScenarioError(f"statistic: is {number}{where}: a division by zero, or a value is missing")
    return number


def _groups(parts: Sequence[dict[Group, float]]) -> list[Group]:
    """The groups, which have to be the same whatever the seeds."""
    first, *others = parts
    if any(values.keys() != first.keys() for values in others):
        raise ScenarioError("for_each: some seeds have groups that others have not")
    return list(first)


def _at(claim: Claim, group: Group) -> str:
    return f" at {_named(claim, group)}" if group else ""


def _named(claim: Claim, group: Group) -> str:
    return ", ".join(f"{name} = {_plain(value)}" for name, value in zip(claim.for_each, group, strict=True))


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
