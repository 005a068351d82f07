"""The contents of a figure of a table: its columns, the numbers of its points, and its panels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit import statistics
from transorbit._core import ScenarioError
from transorbit._names import hint
from transorbit.plots import labels as naming

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

#: The kinds of figures of `of_table`.
KINDS = ("lines", "bars", "cdf", "heatmap", "tradeoff")
# A panel is at least so broad, and there are at most so many beside each other.
_PANEL_IN, _MOST_BESIDE = 2.2, 3


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The specification of a figure: columns, labels and scales.

    Attributes:
        x, y, by, panels: the columns of the horizontal axis, of the metric, of the lines (or of a heat map's vertical
            axis) and of the panels. A trade-off's `x` is a metric too, and its points are joined `along` a column.
        labels: of columns, with their units in parentheses.
        log: the axes with logarithmic scales: "", "x", "y" or "xy".
        confidence: of the intervals.
        limits: the ends of a metric's scale, which no interval leaves; None where it has no end.
        published_name: the name of published values in the legend.
        share: the label of a distribution's vertical axis.
    """

    kind: str
    y: str
    x: str | None = None
    by: str | None = None
    panels: str | None = None
    along: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    confidence: float = 0.95
    limits: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    published_name: str = "published"
    share: str = "Share with at most this (%)"

    @property
    def keys(self) -> list[str]:
        """The columns that distinguish the points."""
        columns = (self.panels, self.by, self.along, None if self.kind in ("cdf", "tradeoff") else self.x)
        return list(dict.fromkeys(name for name in columns if name is not None))

    @property
    def stats(self) -> list[str]:
        """The columns of mean, limits and count; an axis may have such a name already."""
        plain = ["mean", "low", "high", "count"]
        return [f"{self.y}_{name}" for name in plain] if set(plain) & set(self.keys) else plain

    @property
    def logarithmic(self) -> dict[str, str]:
        """The columns of points that are drawn on logarithmic axes, each with the column that it comes from."""
        if self.kind == "cdf":
            return {self.y: self.y} if self.log else {}
        across = {"lines": self.x, "tradeoff": "x_mean"}.get(self.kind) if "x" in self.log else None
        upright = self.stats[0] if "y" in self.log and self.kind != "heatmap" else None
        columns = {across: self.x, upright: self.y}
        return {drawn: str(column) for drawn, column in columns.items() if drawn is not None}

    def label(self, column: str) -> str:
        """The label of a column."""
        return self.labels.get(column) or naming.label(column)


def check_options(kind: str, *, x: object = None, y: object = None, along: object = None) -> None:
    """Check that the kind has the options that are given.

    Raises:
        ScenarioError: one of them is not for this kind.
    """
    if kind == "cdf" and x is not None:
        raise ScenarioError("x: is not for cdf, whose horizontal axis is the metric: y is expected")
    if kind == "spectral-efficiency" and y is not None:
        raise ScenarioError("y: is not for spectral-efficiency, which has metrics of its own")
    if kind != "tradeoff" and along is not None:
        raise ScenarioError(f"along: is for a tradeoff, not for {kind}")


def check(spec: Spec, frame: pl.DataFrame, published: pl.DataFrame | None) -> None:
    """Check that the figure can be drawn.

    Raises:
        ScenarioError: no such kind or column, or one without numbers.
    """
    if spec.kind not in KINDS:
        raise ScenarioError(f"kind: {spec.kind!r} is not one of {', '.join(KINDS)}{hint(spec.kind, KINDS)}")
    if set(spec.log) - {"x", "y"}:
        raise ScenarioError(f'log: {spec.log!r} is not "x", "y" or "xy"')
    if spec.kind in ("bars", "heatmap") and "x" in spec.log:
        raise ScenarioError(f"log: {spec.log!r} is not for {spec.kind}, which has no scale in x: 'y' is expected")
    if spec.kind != "cdf" and spec.x is None:
        needs = "needs another metric" if spec.kind == "tradeoff" else "need a column"
        raise ScenarioError(f"x: {spec.kind} {needs} for the horizontal axis")
    if spec.kind == "heatmap" and spec.by is None:
        raise ScenarioError("by: a heatmap needs a column for the vertical axis")
    named = {"x": spec.x, "y": spec.y, "by": spec.by, "panels": spec.panels, "along": spec.along}
    for option, column in named.items():
        if column is not None and column not in frame.columns:
            raise ScenarioError(f"{option}: there is no column {column!r}{hint(column, frame.columns)}")
        if column is not None and frame.schema[column].is_nested():
            raise ScenarioError(f"{option}: the column {column!r} holds lists, which no axis has a place for")
        needed = option == "y" or (option == "x" and spec.kind != "cdf")
        if published is not None and needed and column not in published.columns:
            raise ScenarioError(f"published: there is no column {column!r}{hint(str(column), published.columns)}")
    if spec.kind == "lines" and "x" in spec.log and not frame.schema[str(spec.x)].is_numeric():
        raise ScenarioError(f"log: the axis of {spec.x!r} cannot be logarithmic: it has no numbers")
    if spec.kind == "cdf" and "share" in spec.keys:
        raise ScenarioError("by, panels: a distribution has a column 'share' of its own; give this one another name")
    for option, metric in (("y", spec.y), *((("x", spec.x),) if spec.kind == "tradeoff" else ())):
        if not (frame.schema[str(metric)].is_numeric() or frame.schema[str(metric)] in (pl.Boolean, pl.Null)):
            raise ScenarioError(f"{option}: the column {metric!r} holds no numbers")


def summary(spec: Spec, frame: pl.DataFrame, *, has_shares: bool = False) -> pl.DataFrame:
    """A row for each point that is drawn: the keys, then its numbers. One value has no interval: its ends are null.

    Args:
        has_shares: whether the frame has a column `share`: the percent of a distribution with at most a value.
    """
    keys = [name for name in spec.keys if name in frame.columns]
    rows_with_y = frame.with_columns(pl.col(spec.y).cast(pl.Float64)).drop_nulls(spec.y)
    if spec.kind == "cdf":
        return _distribution(rows_with_y.filter(pl.col(spec.y).is_finite()), keys, spec.y, has_shares=has_shares)
    value = pl.col(spec.y)
    groups = rows_with_y.group_by(keys, maintain_order=True).agg(value.alias("\0values"))
    limits = spec.limits.get(spec.y, (None, None))
    intervals = [
        statistics.mean_interval(values, confidence=spec.confidence, limits=limits)
        for values in groups["\0values"].to_list()
    ]
    mean, low, high, count = spec.stats
    points = groups.drop("\0values").with_columns(
        pl.Series(mean, [one.mean for one in intervals], pl.Float64),
        pl.Series(low, [one.ends[0] for one in intervals], pl.Float64),
        pl.Series(high, [one.ends[1] for one in intervals], pl.Float64),
        pl.Series(count, [one.count for one in intervals], pl.Int64),
    )
    return points.filter(pl.col(mean).is_finite())


def _distribution(known: pl.DataFrame, keys: list[str], y: str, *, has_shares: bool) -> pl.DataFrame:
    """Each value, and the percent of the rows of its line that have at most that."""
    if has_shares and "share" in known.columns:
        return known.select(*keys, y, pl.col("share").cast(pl.Float64))
    rank = (pl.col(y).rank("max") / pl.len()).over(keys) if keys else pl.col(y).rank("max") / pl.len()
    ordered = known.with_columns((100 * rank).alias("share")).sort(y, maintain_order=True)
    return ordered.select(*keys, y, "share").unique(maintain_order=True)


def levels(column: str, *tables: pl.DataFrame | None) -> list[Any]:
    """The values of a column in all tables: numbers by size, text as it first comes."""
    cells = [value for table in tables if table is not None and column in table.columns for value in table[column]]
    values = list(dict.fromkeys(value for value in cells if value is not None))
    return values if any(isinstance(value, str) for value in values) else sorted(values)


def beside_in(width: float, panels: int) -> int:
    """Returns the number of panels that stand beside each other."""
    return max(min(panels, _MOST_BESIDE, int(width / _PANEL_IN)), 1)


def height_of(kind: str, rows: int, panel_width: float) -> float:
    """Inches: a panel is a little broader than high."""
    each = min(0.72 * panel_width, 3.0) if kind != "heatmap" else min(0.8 * panel_width, 3.4)
    return rows * max(each, 1.9) + 0.4


def shown(axes: list[list[Axes]], count: int) -> list[Axes]:
    """The first so many panels of a grid, the others hidden; what stands above a hidden one shows its own axis."""
    beside = len(axes[0])
    cells = [ax for row in axes for ax in row]
    for index, ax in enumerate(cells):
        ax.set_visible(index < count)
        if index < count <= index + beside < len(cells):
            ax.tick_params(labelbottom=True)
    return cells[:count]


def is_negative(frame: pl.DataFrame, y: str) -> bool:
    """Whether a metric has values below zero."""
    return bool((frame[y].cast(pl.Float64) < 0).any())
