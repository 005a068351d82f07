"""Figures of a sweep; axes that are not given are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit import _figures
from transorbit._core import ScenarioError
from transorbit._names import hint
from transorbit.plots import labels as naming
from transorbit.plots import style
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


def of_sweep(
    kind: str,
    result: SweepResult,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    panels: str | None = None,
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
            the next; an axis that follows from those chosen is none of its own. A `cdf` has no `x`.
        y: a metric, by default the first, another column of the runs ("last_hop.harq.failed"), or one of the flows
            ("flows.goodput_bps"). Over the flows a `cdf` is of all flows of all runs; elsewhere a run counts with the
            mean of its flows, for those of one run are not independent.
        only: the values of axes to draw, others are left out: {"snr": [7, 10]}.
        log, title, width: see `of_table`.

    Raises:
        ScenarioError: no such kind, axis or column, nothing to draw, or an axis with several values that is left over.
    """
    if kind not in KINDS:
        raise ScenarioError(f"kind: {kind!r} is not one of {', '.join(KINDS)}{hint(kind, KINDS)}")
    is_spectral = kind == "spectral-efficiency"
    y = y or next(iter(result.metrics))
    frame, column = _frame(result, "last_hop.spectral_efficiency" if is_spectral else y, distribution=kind == "cdf")
    frame = _only(frame, result.axes, only or {})
    chosen = _axes("lines" if is_spectral else kind, frame, result.axes, {"x": x, "by": by, "panels": panels})
    labels = {axis.name: naming.of_axis(axis) for axis in result.axes}
    labels |= {name: metric.title for name, metric in result.metrics.items()}
    if is_spectral:
        return spectral_efficiency(frame, **chosen, labels=labels, log=log, title=title, width=width)
    of_flows = y.startswith(_OF_FLOWS) and y not in result.runs.columns
    share = f"{'Flows' if of_flows else 'Runs'} with at most this (%)"
    options: dict[str, Any] = {**chosen, "log": log, "title": title, "width": width, "labels": labels, "share": share}
    return of_table(kind, frame, y=column, **options)


def _frame(result: SweepResult, y: str, *, distribution: bool) -> tuple[pl.DataFrame, str]:
    """The rows to draw, and the column of the metric."""
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
        kept = [known[name].find(one) for one in wanted]
        frame = frame.filter(pl.col(name).is_in(kept))
    return frame


def _axes(
    kind: str, frame: pl.DataFrame, axes: Sequence[Axis], given: Mapping[str, str | None]
) -> dict[str, str | None]:
    """The axes of a figure: those given, and for the other places the first that say something besides."""
    names = [axis.name for axis in axes]
    for place, name in given.items():
        if name is not None and name not in frame.columns:
            raise ScenarioError(f"{place}: there is no axis {name!r}{hint(name, names)}")
        if name is not None and frame.schema[name].is_nested():
            raise ScenarioError(f"{place}: the column {name!r} holds lists, which no axis has a place for")
    numeric = [name for name in names if frame.schema[name].is_numeric()]
    wanted = [name for name in names if name not in numeric] if kind == "bars" else numeric
    chosen = dict(given)
    if kind == "cdf":
        chosen["x"] = None
    elif chosen["x"] is None:
        taken = set(given.values())
        varied = [name for name in [*wanted, *names] if name not in taken]
        several = [name for name in varied if frame[name].n_unique() > 1]
        chosen["x"] = next(iter([*several, *varied]), None)
    for place in ("by", "panels"):
        free = [name for name in names if name not in chosen.values()]
        if chosen[place] is None:
            chosen[place] = next((name for name in free if _varies(frame, name, chosen)), None)
    left = [name for name in names if name not in chosen.values() and _varies(frame, name, chosen)]
    if left:
        some = naming.value(frame[left[0]][0], "")
        raise ScenarioError(f"only: the axis {left[0]!r} has several values too: choose one, as in {left[0]}={some}")
    return chosen


def _varies(frame: pl.DataFrame, name: str, chosen: Mapping[str, str | None]) -> bool:
    """Whether an axis has several values where those chosen are the same."""
    keys = list(dict.fromkeys(key for key in chosen.values() if key is not None))
    counts = frame.group_by(keys).agg(pl.col(name).n_unique())[name] if keys else [frame[name].n_unique()]
    return any(count > 1 for count in counts)
