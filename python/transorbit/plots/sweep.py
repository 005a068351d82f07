"""Figures of a sweep; axes that are not given are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit import _columns, _figures
from transorbit._core import ScenarioError
from transorbit._names import hint
from transorbit._values import listed
from transorbit.plots import labels as naming
from transorbit.plots import style
from transorbit.plots.spec import check_options
from transorbit.plots.spectral import spectral_efficiency
from transorbit.plots.table import of_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from transorbit.plots.given import SweepResult
    from transorbit.sweep.axes import Axis

#: The kinds of figures of `of_sweep`, each with its description.
KINDS = _figures.OF_SWEEP
_OF_FLOWS = "flows."
_TIMES = ("s", "ms")
_DELAY = "flows.one_way_delay_mean_s"


def of_sweep(
    kind: str,
    result: SweepResult,
    *,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | None = None,
    panels: str | None = None,
    along: str | None = None,
    only: Mapping[str, Sequence[object]] | None = None,
    log: str = "",
    title: str | None = None,
    width: float = style.DOUBLE_IN,
) -> Figure:
    """Draw a sweep.

    Args:
        kind: one of `KINDS`.
        result: the sweep's result.
        x, by, panels: axes. By default `x` is the first with numbers (for bars the first with names), `by` and `panels`
            the next; an axis that follows from those chosen is none of its own. A `cdf` has no `x`. Of a `tradeoff` `x`
            is a metric, by default the first that is a time, else the flows' one-way delay, and `by` the first axis
            with names.
        y: a metric, by default the first, another column of the runs ("last_hop.harq.failed"), or one of the flows
            ("flows.goodput_bps"). Over the flows a `cdf` is of all flows of all runs; elsewhere a run counts with the
            mean of its flows, for those of one run are not independent. Several have a row of panels each.
            `spectral-efficiency` has none.
        along: of a `tradeoff`: the axis along which points are joined, by default the first with numbers.
        only: the values of axes to draw, others are left out: {"snr": [7, 10]}.
        log, title, width: see `of_table`.

    Raises:
        ScenarioError: no such kind, axis or column, an option that is not for the kind, nothing to draw, or an axis
            with several values that is left over.
    """
    if kind not in KINDS:
        raise ScenarioError(f"kind: {kind!r} is not one of {', '.join(KINDS)}{hint(kind, KINDS)}")
    check_options(kind, x=x, y=y, along=along)
    is_spectral, is_tradeoff = kind == "spectral-efficiency", kind == "tradeoff"
    y = y or next(iter(result.metrics))
    metrics = [y] if isinstance(y, str) else list(dict.fromkeys(listed("y", y)))
    across = x or _second(result, metrics[0]) if is_tradeoff else None
    read = ["last_hop.spectral_efficiency"] if is_spectral else [*metrics, *([across] if across else [])]
    frame, columns = _frame(result, read, distribution=kind == "cdf")
    frame = _only(frame, result.axes, only or {})
    places = {"x": None if is_tradeoff else x, "by": by, "panels": panels, "along": along}
    chosen: dict[str, Any] = _axes("lines" if is_spectral else kind, frame, result.axes, places)
    labels = {axis.name: naming.of_axis(axis) for axis in result.axes}
    labels |= {name: metric.title for name, metric in result.metrics.items()}
    look: Any = {"labels": labels, "log": log, "title": title, "width": width}
    if is_spectral:
        del chosen["along"]
        return spectral_efficiency(frame, **chosen, **look)
    of_flows = all(name.startswith(_OF_FLOWS) and name not in result.runs.columns for name in metrics)
    look["share"] = f"{'Flows' if of_flows else 'Runs'} with at most this (%)"
    drawn = [columns[name] for name in metrics]
    look["limits"] = {column: _limits(result, name) for name, column in columns.items()}
    if across:
        chosen["x"] = columns[across]
    return of_table(kind, frame, y=drawn if len(drawn) > 1 else drawn[0], **chosen, **look)


def _second(result: SweepResult, first: str) -> str:
    """Returns the default second metric of a trade-off: a metric that is a time, else the delay of the flows."""
    others = (name for name, metric in result.metrics.items() if name != first and metric.unit in _TIMES)
    return next(others, _DELAY)


def _limits(result: SweepResult, name: str) -> tuple[float | None, float | None]:
    """The ends of the scale of a metric, or of another column."""
    return result.metrics[name].limits if name in result.metrics else _columns.limits(name)


def _frame(result: SweepResult, metrics: Sequence[str], *, distribution: bool) -> tuple[pl.DataFrame, dict[str, str]]:
    """The rows to draw, and the column of each metric."""
    metric_tables = {name: _of_metric(result, name, distribution=distribution) for name in metrics}
    columns = {name: column for name, (_, column) in metric_tables.items()}
    [frame, *others] = [table for table, _ in metric_tables.values()]
    if distribution and len({name in result.runs.columns for name in metrics}) > 1:
        raise ScenarioError("y: a distribution is over the runs or over the flows: not both in one figure")
    keys = ["point", "replication"]
    for column, other in zip([*columns.values()][1:], others, strict=True):
        if column not in frame.columns:
            frame = frame.join(other.select(*keys, column), on=keys, how="left", maintain_order="left")
    return frame, columns


def _of_metric(result: SweepResult, y: str, *, distribution: bool) -> tuple[pl.DataFrame, str]:
    """The rows of runs or flows, and the column of a metric."""
    axes = [axis.name for axis in result.axes]
    if y in result.runs.columns:
        return result.runs.filter(pl.col("status") == "ok"), y
    column = y.removeprefix(_OF_FLOWS)
    if not y.startswith(_OF_FLOWS) or column not in result.flows.columns:
        known = [*result.metrics, *result.runs.columns, *(f"{_OF_FLOWS}{name}" for name in result.flows.columns)]
        raise ScenarioError(f"y: there is no column {y!r} in runs and flows{hint(y, known)}")
    if distribution:
        return result.flows, column
    if not result.flows.schema[column].is_numeric():
        raise ScenarioError(f"y: the column {y!r} holds no numbers")
    keys = list(dict.fromkeys(["point", "replication", *axes]))
    return result.flows.group_by(keys, maintain_order=True).agg(pl.mean(column)), column


def _only(frame: pl.DataFrame, axes: Sequence[Axis], only: Mapping[str, Sequence[object]]) -> pl.DataFrame:
    known = {axis.name: axis for axis in axes}
    for name, wanted in only.items():
        if name not in known:
            raise ScenarioError(f"only: there is no axis {name!r}{hint(name, known)}")
        kept = [known[name].find(one) for one in listed(f"only.{name}", wanted)]
        frame = frame.filter(pl.col(name).is_in(kept))
    return frame


def _axes(kind: str, frame: pl.DataFrame, axes: Sequence[Axis], given: Mapping[str, str | None]) -> dict[str, Any]:
    """The axes of a figure: those given, and for the other places the first that say something besides."""
    names = [axis.name for axis in axes]
    for place, name in given.items():
        if name is not None and name not in frame.columns:
            raise ScenarioError(f"{place}: there is no axis {name!r}{hint(name, names)}")
        if name is not None and frame.schema[name].is_nested():
            raise ScenarioError(f"{place}: the column {name!r} holds lists, which no axis has a place for")
    numeric = [name for name in names if frame.schema[name].is_numeric()]
    named = [name for name in names if name not in numeric]
    wanted = named if kind == "bars" else numeric
    chosen = dict(given)
    if kind == "tradeoff":
        return _of_tradeoff(frame, [*named, *numeric], [*numeric, *named], chosen)
    if kind == "cdf":
        chosen["x"] = None
    elif chosen["x"] is None:
        axes_taken = set(given.values())
        varied = [name for name in [*wanted, *names] if name not in axes_taken]
        several = [name for name in varied if frame[name].n_unique() > 1]
        chosen["x"] = next(iter([*several, *varied]), None)
    for place in ("by", "panels"):
        free = [name for name in names if name not in chosen.values()]
        if chosen[place] is None:
            chosen[place] = next((name for name in free if _varies(frame, name, chosen)), None)
    _check_left(frame, names, chosen)
    return chosen


def _of_tradeoff(
    frame: pl.DataFrame, colours: Sequence[str], joined: Sequence[str], given: Mapping[str, str | None]
) -> dict[str, Any]:
    """The axes of a trade-off: a colour for each of the first names, lines along the first numbers."""
    chosen = dict(given)
    for place, names in (("by", colours), ("along", joined), ("panels", colours)):
        free = [name for name in names if name not in chosen.values()]
        if chosen[place] is None:
            chosen[place] = next((name for name in free if _varies(frame, name, chosen)), None)
    _check_left(frame, colours, chosen)
    return chosen


def _check_left(frame: pl.DataFrame, names: Sequence[str], chosen: Mapping[str, str | None]) -> None:
    """Refuse an axis with several values that has no place: nothing is averaged over it in silence."""
    left = [name for name in names if name not in chosen.values() and _varies(frame, name, chosen)]
    if left:
        some = naming.value(frame[left[0]][0], "")
        raise ScenarioError(f"only: the axis {left[0]!r} has several values too: choose one, as in {left[0]}={some}")


def _varies(frame: pl.DataFrame, name: str, chosen: Mapping[str, str | None]) -> bool:
    """Whether an axis has several values where those chosen are the same."""
    keys = list(dict.fromkeys(key for key in chosen.values() if key is not None))
    counts = frame.group_by(keys).agg(pl.col(name).n_unique())[name] if keys else [frame[name].n_unique()]
    return any(count > 1 for count in counts)
