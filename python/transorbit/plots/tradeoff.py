"""One metric against another: points with the intervals of both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.lines import Line2D

from transorbit._core import ScenarioError
from transorbit.plots import heading, marks, scales, style
from transorbit.plots import labels as naming
from transorbit.plots import spec as columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_JOINED: Any = {"linewidth": 0.8, "markersize": 5.0}
_X = ("x_mean", "x_low", "x_high")


def draw(
    spec: columns.Spec, frame: pl.DataFrame, *, title: str | None, width: float, height: float | None = None
) -> Figure:
    """The mean of `spec.y` over that of `spec.x`, with Student's interval of each by itself.

    A colour and a marker for each value of `spec.by`; a line joins the points along `spec.along`.

    Raises:
        ScenarioError: no run has a value of both.
    """
    points = summary(spec, frame)
    if points.is_empty():
        raise ScenarioError(f"{spec.y}, {spec.x}: no run has a value in both columns")
    order = {name: columns.levels(name, frame) for name in spec.keys}
    panels = order[spec.panels] if spec.panels else [None]
    beside = columns.beside_in(width, len(panels))
    rows = -(-len(panels) // beside)
    size = {"width": width, "height": height or columns.height_of("lines", rows, width / beside)}
    lacks = marks.left_out([spec], [points])
    below = [_joined(spec, order), "" if title == "" else marks.note([spec], [points]), lacks]
    note = ". ".join(text for text in below if text)
    with style.grid(rows, beside, title=title, note=note, sharex=True, sharey=True, **size) as (fig, axes):
        cells = columns.shown(axes, len(panels))
        drawn = marks.Panels(fig, dict(zip(panels, cells, strict=True)), spec, order, nonnegative=True)
        _points(drawn, points)
        for ax in cells:
            _limit(ax, x=not columns.is_negative(frame, str(spec.x)), y=not columns.is_negative(frame, spec.y))
        marks.name_panels(drawn)
        fig.left_out = lacks
        fig.numbers = points
    return fig


def summary(spec: columns.Spec, frame: pl.DataFrame) -> pl.DataFrame:
    """A row for each point: its keys, mean, interval and count of `y`, and mean and interval of `x`."""
    x = str(spec.x)
    rows_with_both = frame.with_columns(pl.col(x).cast(pl.Float64)).drop_nulls([x, spec.y])
    ours = columns.summary(spec, rows_with_both)
    theirs = columns.summary(replace(spec, y=x), rows_with_both)
    names = dict(zip(replace(spec, y=x).stats, (*_X, "\0count"), strict=True))
    other = theirs.rename(names).drop("\0count")
    return ours.join(other, on=spec.keys, nulls_equal=True) if spec.keys else ours.hstack(other)


def _points(p: marks.Panels, points: pl.DataFrame) -> None:
    mean, low, high, _ = p.spec.stats
    label_y, unit_y = p.scale(points)
    largest = max(abs(value) for value in points["x_mean"])
    label_x, unit_x = naming.scaled(p.label("x"), largest)
    for ax, panel, index, by in p.each():
        own = p.rows(points, panel, by)
        if p.spec.along:
            own = own.sort(p.spec.along)
        look = marks.look_of(index, dashes=False, joined=bool(p.spec.along))
        x, y = own["x_mean"] / unit_x, own[mean] / unit_y
        reach: Any = {
            "xerr": marks.reach(x, own["x_low"] / unit_x, own["x_high"] / unit_x),
            "yerr": marks.reach(y, own[low] / unit_y, own[high] / unit_y),
        }
        ax.errorbar(x, y, **reach, ecolor=look["color"], **marks.ERROR_BAR)
        ax.plot(x, y, **look | _JOINED)
        if p.spec.along and len(own) > 1:
            ax.plot(x[:1], y[:1], **look | _JOINED | {"markerfacecolor": "white", "linestyle": "none"})
    for ax in p.axes.values():
        _axes(ax, p, label_x, label_y)
    marks.legend(
        p, False, lambda index: Line2D([], [], **marks.look_of(index, dashes=False, joined=bool(p.spec.along)))
    )


def _axes(ax: Axes, p: marks.Panels, label_x: str, label_y: str) -> None:
    ax.margins(x=0.06, y=0.06)
    for letter, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if letter in p.spec.log:
            (ax.set_xscale if letter == "x" else ax.set_yscale)("log")
            scales.plain(axis)
    if not marks.hides_x(ax):
        heading.name_across(ax, label_x)
    if ax.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        heading.name_upright(ax, label_y)


def _limit(ax: Axes, *, x: bool, y: bool) -> None:
    """No axis of a metric that is never negative goes below zero, also where an interval would."""
    if x and ax.get_xlim()[0] < 0:
        ax.set_xlim(left=0)
    if y and ax.get_ylim()[0] < 0:
        ax.set_ylim(bottom=0)


def _joined(spec: columns.Spec, order: dict[str, list[Any]]) -> str:
    """Along what the points are joined, and where the line begins."""
    if not spec.along or len(order[spec.along]) < 2:
        return ""
    label = spec.label(spec.along)
    first, last = (naming.drawn(order[spec.along][end], label) for end in (0, -1))
    return f"Lines: {naming.words(label)} from {first} (hollow) to {last}"
