"""How the values of an axis of a sweep differ, run by run; and what axes and their values are called in its report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from transorbit._numbers import on_page as number
from transorbit.report.page import Cell, Page, interval
from transorbit.sweep.differences import ALL, baseline, chosen, compared, independent, numeric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transorbit import sweep as sweeps
    from transorbit.sweep import SweepResult

# Longer lists are cut: nobody reads them.
_ROWS = 500


def add(made: Page, result: SweepResult, between: str | None, against: str | None = None) -> None:
    """A table for each metric: the values of an axis held against one, at every combination of the others.

    Raises:
        ScenarioError: `between` is no axis, or `against` no value of it.
    """
    import polars as pl

    axis, within = chosen(result, between)
    if axis is None:
        return
    base = baseline(axis, against)
    ok = result.runs.filter(pl.col("status") == "ok")
    tables = [(name, found) for name in result.metrics if (found := compared(ok, name, axis, within, base)) is not None]
    if not tables:
        return
    note = (
        f"What each value of {axis.label} changes, from {_from(base)}. Runs with the same seed are paired, so what "
        "chance does to both cancels. The 95 % are those of all intervals of a metric together (Bonferroni)."
    )
    made.section("Differences", note=note)
    for name, found in tables:
        header = [*(title(other) for other in within), title(axis)]
        header += ["From", "Mean with that"] if base == ALL else [f"Mean with {level(base)}"]
        header += ["Difference", "%", "Pairs", "More than chance"]
        cut = f"; the first {number(_ROWS)} of {number(len(found))} rows" if len(found) > _ROWS else ""
        rows = [_row(row, axis, within, every=base == ALL) for row in found.head(_ROWS).iter_rows(named=True)]
        made.table(header, rows, caption=f"{result.metrics[name].title}{cut}")


# The names that the page of a sweep uses as well.
__all__ = ["add", "independent", "level", "level_cell", "numeric", "title"]


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
    """Returns the level as a cell of a table, where numbers are sorted as such."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(level(value), sort=value if is_number else None)  # type: ignore[arg-type]


def _from(base: object) -> str:
    return "every one before it" if base == ALL else level(base)


def _row(row: Mapping[str, Any], axis: sweeps.Axis, within: Sequence[sweeps.Axis], *, every: bool) -> list[object]:
    where = [level_cell(row[one.name]) for one in (*within, axis)] + ([level_cell(row["baseline"])] if every else [])
    difference, percent = row["difference"], row["percent"]
    if not math.isfinite(difference):
        return [*where, None, None, None, row["count"], "not known"]
    one = number(difference, 4)
    told = interval(difference, row["low"], row["high"]) if row["count"] > 1 else one
    return [
        *where,
        Cell(number(row["baseline_mean"], 4), sort=row["baseline_mean"]),
        Cell(told, sort=difference, note=f"{number(row['low'], 5)} to {number(row['high'], 5)}"),
        None if percent is None else Cell(_signed(percent), sort=percent),
        row["count"],
        "yes" if row["differs"] else "no",
    ]


def _signed(percent: float) -> str:
    """Returns a percentage with its sign, also above zero."""
    return f"{'+' if percent >= 0 else ''}{number(percent, 3)}"
