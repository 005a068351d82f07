"""Figures from a table with a row for each run: lines, bars, distributions, heat maps, and published values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._core import ScenarioError
from transorbit._values import above_zero, listed
from transorbit.plots import marks, several, style, tradeoff
from transorbit.plots.spec import Spec, beside_in, check, check_options, height_of, is_negative, levels, shown, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

_SOURCE = "source"


def of_table(
    kind: str,
    frame: pl.DataFrame,
    *,
    y: str | Sequence[str],
    x: str | None = None,
    by: str | None = None,
    panels: str | None = None,
    along: str | None = None,
    labels: Mapping[str, str] | None = None,
    published: pl.DataFrame | None = None,
    published_name: str = "published",
    share: str = "Share with at most this (%)",
    log: str = "",
    confidence: float = 0.95,
    limits: Mapping[str, tuple[float | None, float | None]] | None = None,
    title: str | None = None,
    width: float = style.DOUBLE_IN,
    height: float | None = None,
) -> Figure:
    """Draw a column of a table over others.

    What is drawn is the mean of the rows with the same `x`, `by` and `panels`, with Student's interval if there are two
    or more. Rows without a value in `y` are left out; of a point one of whose values is no number (0 / 0)
    the mean is not known, and it is not drawn. A distribution is that of the numbers. A line below the panels says what
    bars, points and intervals are, unless the title is "": then it is for the caption to say. It always says how many
    points at 0 or below a logarithmic axis has no place for.

    Args:
        kind: `lines` (mean and interval over `x`), `bars` (the same over categories), `cdf` (the distribution of `y`;
            no `x`), `heatmap` (the mean of `y` in the cells of `x` and `by`) or `tradeoff` (the mean of `y` over that
            of `x`, both metrics, with both intervals).
        frame: one row for each run, or flow.
        y: the metric; several have a row of panels each (not for a heat map or a trade-off).
        x: the horizontal axis.
        by: a line, or a bar in each group, for each value of this column.
        panels: a panel for each value of this column.
        along: of a trade-off: a line joins the points along this column, from a hollow one at its first value.
        labels: of columns, with the unit in parentheses: {"snr": "Es/N0 (dB)"}; by default the column's name.
        published: values to compare with, in the same columns: hollow and dashed. Without the column `by` they are one
            black line, without that of `panels` the same in each. For a `cdf` a column `share`, in percent, makes its
            rows points of the published curve. Not for several metrics, nor for a trade-off.
        published_name: their name in the legend.
        share: the label of a distribution's vertical axis.
        log: axes with logarithmic scales: "x" (not of bars and heat maps), "y" (of a heat map: the colours) or "xy".
        confidence: of the intervals.
        limits: of metrics: the ends of the scale, which no interval leaves, None where there is none: {"mos": (1, 5)}.
        title: above the figure.
        width, height: in inches; 7.2 is the width of a page, 88 mm that of a column.

    Returns:
        The figure; its `numbers` are a table with the columns above and `mean`, `low`, `high`, `count` (of a `cdf`:
        the values and `share`; of a trade-off `x_mean`, `x_low`, `x_high` besides), `metric` if there are several, and
        `source` ("ours", "published") if there are published values.

    Raises:
        ScenarioError: no such kind or column, an option that is not for the kind, or nothing to draw.
    """
    metrics = [y] if isinstance(y, str) else list(dict.fromkeys(listed("y", y)))
    check_options(kind, x=x, along=along)
    if published is not None and (kind == "tradeoff" or len(metrics) > 1):
        raise ScenarioError("published: is for lines, bars, cdf and heatmap of one metric")
    spec = Spec(
        kind=kind,
        x=x,
        y=metrics[0],
        by=by,
        panels=panels,
        along=along,
        labels=labels or {},
        log=log,
        confidence=confidence,
        limits=limits or {},
        published_name=published_name,
        share=share,
    )
    look: Any = {"title": title, "width": above_zero("width", width), "height": height}
    if len(metrics) > 1:
        return several.draw(spec, metrics, frame, **look)
    check(spec, frame, published)
    if kind == "tradeoff":
        return tradeoff.draw(spec, frame, **look)
    return _of_one(spec, frame, published, **look)


def _of_one(
    spec: Spec,
    frame: pl.DataFrame,
    published: pl.DataFrame | None,
    *,
    title: str | None,
    width: float,
    height: float | None,
) -> Figure:
    """The figure of one metric."""
    ours = summary(spec, frame)
    theirs = None if published is None else summary(spec, published, has_shares=True)
    if ours.is_empty() and (theirs is None or theirs.is_empty()):
        raise ScenarioError(f"{spec.y}: no run has a value in this column")
    order = {name: levels(name, frame, published) for name in spec.keys}
    panel_levels = order[spec.panels] if spec.panels else [None]
    beside = beside_in(width, len(panel_levels))
    rows = -(-len(panel_levels) // beside)
    shared = {"sharex": spec.kind != "bars", "sharey": True}
    size = {"width": width, "height": height or height_of(spec.kind, rows, width / beside)}
    lacks = marks.left_out([spec], [ours])
    note = ". ".join(filter(None, ["" if title == "" else marks.note([spec], [ours]), lacks]))
    with style.grid(rows, beside, title=title, note=note, **size, **shared) as (fig, axes):
        cells = shown(axes, len(panel_levels))
        drawn = marks.Panels(
            figure=fig,
            axes=dict(zip(panel_levels, cells, strict=True)),
            spec=spec,
            levels=order,
            nonnegative=not any(is_negative(one, spec.y) for one in (frame, published) if one is not None),
        )
        marks.DRAW[spec.kind](drawn, ours, theirs)
        marks.name_panels(drawn)
        fig.left_out = lacks
        fig.numbers = ours if theirs is None else _together(ours, theirs)
    return fig


def _together(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Returns both tables in one, with a column that distinguishes them."""
    tables = [ours.with_columns(pl.lit("ours").alias(_SOURCE)), theirs.with_columns(pl.lit("published").alias(_SOURCE))]
    return pl.concat(tables, how="diagonal_relaxed")
