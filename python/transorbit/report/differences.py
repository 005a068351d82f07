"""How the values of an axis of a sweep differ, run by run; and what axes and their values are called in its report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from transorbit import statistics
from transorbit._core import ScenarioError
from transorbit._names import hint_or_all
from transorbit.report.page import Cell, Page, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from transorbit import sweep as sweeps
    from transorbit.sweep import SweepResult

# Longer lists are cut: nobody reads them.
_ROWS = 500


def add(made: Page, result: SweepResult, between: str | None) -> None:
    """A table for each metric: the values of an axis held against its first one, at every combination of the others.

    Raises:
        ScenarioError: `between` is no axis.
    """
    import polars as pl

    axis, within = _chosen(result, between)
    if axis is None:
        return
    ok = result.runs.filter(pl.col("status") == "ok")
    tables = [(name, found) for name in result.metrics if (found := _compared(ok, name, axis, within)) is not None]
    if not tables:
        return
    note = (
        f"What each value of {axis.label} changes, from the first. Runs with the same seed are paired, so what chance "
        "does to both cancels. The 95 % are those of all intervals of a metric together (Bonferroni)."
    )
    made.section("Differences", note=note)
    for name, found in tables:
        header = [*(title(other) for other in within), title(axis), f"Mean with {level(found['baseline'][0])}"]
        header += ["Difference", "%", "Pairs", "More than chance"]
        cut = f"; the first {number(_ROWS)} of {number(len(found))} rows" if len(found) > _ROWS else ""
        rows = [_row(row, axis, within) for row in found.head(_ROWS).iter_rows(named=True)]
        made.table(header, rows, caption=f"{result.metrics[name].title}{cut}")


def independent(result: SweepResult) -> tuple[list[sweeps.Axis], list[tuple[sweeps.Axis, sweeps.Axis]]]:
    """The axes without those that only go along with another one, and these with the one that they go with."""
    kept: list[sweeps.Axis] = []
    tied = []
    points = result.sweep.points
    for axis in result.axes:
        along = next((other for other in kept if _pairs(points, axis.name, other.name)), None)
        if along:
            tied.append((axis, along))
        else:
            kept.append(axis)
    return kept, tied


def _pairs(points: list[sweeps.Point], name: str, other: str) -> bool:
    """Whether each value of one axis comes with one of the other only, and the other way round."""
    seen = {(_key(point.values, name), _key(point.values, other)) for point in points}
    return len(seen) > 1 and len(seen) == len({a for a, _ in seen}) == len({b for _, b in seen})


def _key(values: Mapping[str, Any], name: str) -> tuple[str, Any]:
    return type(values[name]).__name__, values[name]


def numeric(axis: sweeps.Axis) -> bool:
    """Whether the values are several numbers."""
    values = axis.values
    return len(values) > 1 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def title(axis: sweeps.Axis) -> str:
    """The label of an axis with its unit, as in its figures."""
    from transorbit.plots import labels

    return labels.of_axis(axis)


def level(value: object) -> str:
    """A value of an axis as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value, 6) if isinstance(value, int | float) else str(value)


def level_cell(value: object) -> Cell:
    """The same in a table, where numbers are sorted as such."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(level(value), sort=value if is_number else None)  # type: ignore[arg-type]


def _chosen(result: SweepResult, between: str | None) -> tuple[sweeps.Axis | None, list[sweeps.Axis]]:
    """The axis that is compared, and those in whose combinations it is."""
    axes, tied = independent(result)
    several = [axis for axis in axes if len(axis.values) > 1]
    axis = next(iter([*(one for one in several if not numeric(one)), *several]), None)
    if between is not None:
        known = {one.name: one for one in result.axes}
        if between not in known:
            raise ScenarioError(f"between: there is no axis {between!r}{hint_or_all(between, known)}")
        axis = known[between]
    # An axis that goes along with the one compared has no second value to compare at.
    along = next((other for one, other in tied if one is axis), axis)
    return axis, [one for one in axes if one is not along]


def _compared(ok: pl.DataFrame, metric: str, axis: sweeps.Axis, within: Sequence[sweeps.Axis]) -> pl.DataFrame | None:
    """The differences in a metric; None where there is nothing to compare, or nothing is known of the spread."""
    first = axis.values[0]
    known = ok.drop_nulls(metric)[axis.name]
    if not ok.schema[metric].is_numeric() or known.n_unique() < 2 or first not in known:
        return None
    within_names = [one.name for one in within]
    found = statistics.compare(ok, metric=metric, between=axis.name, baseline=first, within=within_names)
    return found if (found["count"] > 1).any() else None


def _row(row: Mapping[str, Any], axis: sweeps.Axis, within: Sequence[sweeps.Axis]) -> list[object]:
    where = [level_cell(row[one.name]) for one in (*within, axis)]
    difference, half, percent = row["difference"], (row["high"] - row["low"]) / 2, row["percent"]
    if not math.isfinite(difference):
        return [*where, None, None, None, row["count"], "not known"]
    told = f"{number(difference, 4)} ± {number(half, 2)}" if row["count"] > 1 else number(difference, 4)
    return [
        *where,
        Cell(number(row["baseline_mean"], 4), sort=row["baseline_mean"]),
        Cell(told, sort=difference, note=f"{number(row['low'], 5)} to {number(row['high'], 5)}"),
        None if percent is None else Cell(_signed(percent), sort=percent),
        row["count"],
        "yes" if row["differs"] else "no",
    ]


def _signed(percent: float) -> str:
    """With its sign, also above zero."""
    return f"{'+' if percent >= 0 else ''}{number(percent, 3)}"
