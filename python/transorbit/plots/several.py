"""Several metrics in one figure: a row of panels for each, over the same axis."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._core import ScenarioError
from transorbit.plots import marks, style
from transorbit.plots import spec as columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The height of a row of panels and the least width of a panel, in inches.
_ROW_IN, _PANEL_IN = 2.1, 1.4
_KINDS = ("lines", "bars", "cdf")


def draw(
    spec: columns.Spec,
    metrics: Sequence[str],
    frame: pl.DataFrame,
    *,
    title: str | None,
    width: float,
    height: float | None = None,
) -> Figure:
    """The metrics one below another; the values of `spec.panels` beside each other.

    Raises:
        ScenarioError: a kind that has no room for several, no such column, or nothing to draw.
    """
    if spec.kind not in _KINDS:
        raise ScenarioError(f"y: several metrics are for {', '.join(_KINDS)}, not for a {spec.kind}")
    specs = [replace(spec, y=metric) for metric in metrics]
    for one in specs:
        columns.check(one, frame, None)
    points = [columns.summary(one, frame) for one in specs]
    if all(one.is_empty() for one in points):
        raise ScenarioError(f"{', '.join(metrics)}: no run has a value in these columns")
    levels = columns.levels(spec.panels, frame) if spec.panels else [None]
    beside = max(min(len(levels), int(width / _PANEL_IN)), 1)
    # Panels that have no room beside each other go on below, metric by metric.
    deep = -(-len(levels) // beside)
    size = {"width": width, "height": height or 0.6 + _ROW_IN * deep * len(metrics)}
    shared: dict[str, Any] = {"sharex": "none" if spec.kind == "cdf" else "all", "sharey": "none"}
    lacks = marks.left_out(specs, points)
    note = ". ".join(filter(None, ["" if title == "" else marks.note(specs, points), lacks]))
    with style.grid(deep * len(metrics), beside, title=title, note=note, **size, **shared) as (fig, rows):
        for number, (one, means) in enumerate(zip(specs, points, strict=True)):
            cells = columns.shown(rows[deep * number : deep * (number + 1)], len(levels))
            _share(cells, across=spec.kind == "cdf")
            panels = _panels(fig, one, frame, dict(zip(levels, cells, strict=True)), first=number == 0)
            marks.DRAW[spec.kind](panels, means, None)
            if number == 0 or deep > 1:
                marks.name_panels(panels)
        fig.left_out = lacks
        fig.numbers = together(specs, points, {one.y: one.label(one.y) for one in specs})
    return fig


def _share(cells: Sequence[Axes], *, across: bool) -> None:
    """Let the panels of a metric have its axis: the vertical one or, of a distribution, both."""
    for ax in cells[1:]:
        ax.sharey(cells[0])
        if across:
            ax.sharex(cells[0])
        if not ax.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            ax.tick_params(labelleft=False)


def _panels(
    figure: Any, spec: columns.Spec, frame: pl.DataFrame, axes: dict[Any, Axes], *, first: bool
) -> marks.Panels:
    """The panels of one metric; the first one's bring the figure's legend."""
    order = {key: columns.levels(key, frame) for key in spec.keys}
    return marks.Panels(figure, axes, spec, order, not columns.is_negative(frame, spec.y), has_legend=first)


def together(specs: Sequence[columns.Spec], points: Sequence[pl.DataFrame], names: Mapping[str, str]) -> pl.DataFrame:
    """Returns the numbers of all metrics in one table, with a column for the metric."""
    tables = []
    for spec, means in zip(specs, points, strict=True):
        plain = dict(zip(spec.stats, ("mean", "low", "high", "count"), strict=True)) if spec.kind != "cdf" else {}
        value = {spec.y: "value"} if spec.kind == "cdf" else {}
        alike = {key: f"{key} (axis)" for key in spec.keys if key in (plain | value).values() or key == "metric"}
        renamed = means.rename(alike).rename({old: new for old, new in (plain | value).items() if old in means.columns})
        tables.append(renamed.with_columns(pl.lit(names[spec.y]).alias("metric")))
    return pl.concat(tables)
