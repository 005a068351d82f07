"""How the values of an axis differ, run by run: which axis, in which combinations of the others, in which metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit import statistics
from transorbit._core import ScenarioError
from transorbit._names import hint_or_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from transorbit.sweep.axes import Axis
    from transorbit.sweep.plan import Point
    from transorbit.sweep.result import SweepResult

# The word for every pair of values, where one of them is asked for.
ALL = "all"


def independent(result: SweepResult) -> tuple[list[Axis], list[tuple[Axis, Axis]]]:
    """The axes without those that only go along with another one, and these with the one that they go with."""
    kept: list[Axis] = []
    tied = []
    points = result.sweep.points
    for axis in result.axes:
        along = next((other for other in kept if _pairs(points, axis.name, other.name)), None)
        if along:
            tied.append((axis, along))
        else:
            kept.append(axis)
    return kept, tied


def numeric(axis: Axis) -> bool:
    """Whether the values are several numbers."""
    values = axis.values
    return len(values) > 1 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def chosen(result: SweepResult, between: str | None) -> tuple[Axis | None, list[Axis]]:
    """The axis that is compared, by default the first with names, and those in whose combinations it is.

    Raises:
        ScenarioError: `between` is no axis.
    """
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


def baseline(axis: Axis, against: str | None) -> Any:
    """The value of an axis that a text names, its first without one; `ALL` for every pair.

    Raises:
        ScenarioError: the axis has no such value.
    """
    if against is None or not axis.values:
        return axis.values[0] if axis.values else None
    if against == ALL:
        return ALL
    try:
        return axis.find(against)
    except ScenarioError as error:
        raise ScenarioError(f"against: {str(error).partition(': ')[2].rstrip(')')}, and {ALL})") from None


def compared(ok: pl.DataFrame, metric: str, axis: Axis, within: Sequence[Axis], base: Any) -> pl.DataFrame | None:
    """The differences in a metric; None where there is nothing to compare ([`reason`]), or the spread is not known."""
    if reason(ok, metric, axis, base):
        return None
    names = [one.name for one in within]
    pairs = {"every_pair": True} if base == ALL else {"baseline": base}
    comparison = statistics.compare(ok, metric=metric, between=axis.name, within=names, **pairs)
    return comparison if (comparison["count"] > 1).any() else None


def reason(ok: pl.DataFrame, metric: str, axis: Axis, base: Any) -> str | None:
    """Why a metric cannot be compared, as a sentence; None if it can."""
    import polars as pl

    if not (ok.schema[metric].is_numeric() or ok.schema[metric] == pl.Boolean):
        return f"{metric} holds no numbers"
    known = ok.drop_nulls(metric)[axis.name]
    if known.n_unique() < 2:
        return f"{metric} has values at one value of {axis.name} at most"
    if base != ALL and base not in known:
        return f"{metric} has no value where {axis.name} is {axis.written(base)}: choose another with --against"
    return None


def _pairs(points: list[Point], name: str, other: str) -> bool:
    """Whether each value of one axis comes with one of the other only, and the other way round."""
    seen = {(_key(point.values, name), _key(point.values, other)) for point in points}
    return len(seen) > 1 and len(seen) == len({a for a, _ in seen}) == len({b for _, b in seen})


def _key(values: Mapping[str, Any], name: str) -> tuple[str, Any]:
    return type(values[name]).__name__, values[name]
