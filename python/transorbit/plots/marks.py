"""How points of a table are drawn into panels: lines, bars, distributions and heat maps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import offset_copy

from transorbit import _numbers
from transorbit._core import ScenarioError
from transorbit.plots import heading, style
from transorbit.plots import labels as naming
from transorbit.plots.scales import as_it_is, at_values, few_decades, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.spec import Spec

# Lines with more points have a band instead of error bars.
_ERROR_BARS = 16
ERROR_BAR: Any = {"fmt": "none", "elinewidth": 0.9, "capsize": 2.0, "capthick": 0.9}
_BAR_WIDTH = 0.8
# Points of print between the intervals of neighbouring lines, and of the first and the last.
_DODGE_PT, _MOST_DODGED_PT = 2.5, 12.0
# Lines only: dots and rings make a file of hundreds of kilobytes.
_HATCHES = ("", "////", "----", "xxxx", "\\\\\\\\", "++++", "||||")
_PUBLISHED: Any = {"linestyle": (0, (3, 2)), "linewidth": 0.9, "markerfacecolor": "white", "markeredgewidth": 1.0}
# Cells of a heat map that have room for their number.
_CELLS_WITH_NUMBERS = 12
_COLORS = "cividis"
# On a cell, which has its colour on a dark page too: none of those that a report turns round there.
_ON_DARK, _ON_LIGHT = "#fefefe", "#212121"


@dataclass
class Panels:
    """The panels of a figure and their content.

    Attributes:
        axes: the panel of each of the levels (None where there is but one).
        levels: the values of each column that distinguishes points, in the order in which they are drawn.
        nonnegative: whether no value of the metric is below zero: then no axis goes there for an interval's sake.
        has_legend: whether these panels bring the figure's legend.
    """

    figure: Figure
    axes: dict[Any, Axes]
    spec: Spec
    levels: dict[str, list[Any]]
    nonnegative: bool
    has_legend: bool = True

    def by(self) -> list[Any]:
        """The values that have a line each; None is the only line."""
        return self.levels[self.spec.by] if self.spec.by else [None]

    def label(self, role: str) -> str:
        """The label of the column of a role."""
        column = getattr(self.spec, role)
        return self.spec.label(column) if column else ""

    def each(self) -> Iterator[tuple[Axes, Any, int, Any]]:
        """Yields for each line its panel, the panel's value, its number and its value."""
        for panel, ax in self.axes.items():
            for index, by in enumerate(self.by()):
                yield ax, panel, index, by

    def rows(self, table: pl.DataFrame, panel: Any, by: Any = None) -> pl.DataFrame:
        """The rows of a line, or of a panel. A table without the panels' column is the same in all of them."""
        for column, value in ((self.spec.panels, panel), (self.spec.by, by)):
            if value is not None and column in table.columns:
                table = table.filter(pl.col(column) == value)
        return table

    def scale(self, *tables: pl.DataFrame | None) -> tuple[str, float]:
        """The metric's label in a suitable multiple of its unit, and the divisor of its values."""
        column = self.spec.y if self.spec.kind == "cdf" else self.spec.stats[0]
        values = [abs(value) for table in tables if table is not None for value in table[column]]
        return naming.scaled(self.label("y"), max(values, default=0.0))


def lines(p: Panels, ours: pl.DataFrame, theirs: pl.DataFrame | None) -> None:
    """Means with their intervals over an axis, joined by lines if it has numbers."""
    label, unit = p.scale(ours, theirs)
    x, values = str(p.spec.x), p.levels[str(p.spec.x)]
    numeric = not any(isinstance(value, (str, bool)) for value in values)
    at = {value: float(value) if numeric else float(index) for index, value in enumerate(values)}
    mean, low, high, _ = p.spec.stats
    for ax, panel, index, by in p.each():
        # Without a line between them, points of one category stand beside each other.
        aside = 0.0 if numeric else (index - (len(p.by()) - 1) / 2) * 0.5 / len(p.by())
        own = _placed(p.rows(ours, panel, by), x, at).with_columns(pl.col("\0at") + aside)
        look = look_of(index, dashes=theirs is None, joined=numeric)
        drawn: list[Artist] = []
        middle, bottom, top = (own[name] / unit for name in (mean, low, high))
        if len(own) > _ERROR_BARS:
            ax.fill_between(own["\0at"], bottom, top, color=look["color"], alpha=0.2, linewidth=0)
            look["markevery"] = max(len(own) // 10, 1)
        elif (top > bottom).any():
            bars = ax.errorbar(own["\0at"], middle, yerr=reach(middle, bottom, top), ecolor=look["color"], **ERROR_BAR)
            drawn += [*bars.lines[1], *bars.lines[2]]
        drawn += ax.plot(own["\0at"], middle, **look)
        if numeric and len(drawn) > 1:
            _dodge(drawn, ax, index, len(p.by()))
    for ax, points, look in _published(p, theirs):
        points = _placed(points, x, at)
        ax.plot(points["\0at"], points[mean] / unit, **look | ({} if numeric else {"linestyle": "none"}))
    for ax in p.axes.values():
        _horizontal(ax, p, values, at, numeric=numeric)
        _vertical(ax, p, label)
    legend(p, theirs is not None, lambda index: Line2D([], [], **look_of(index, dashes=theirs is None, joined=numeric)))


def bars(p: Panels, ours: pl.DataFrame, theirs: pl.DataFrame | None) -> None:
    """Means as bars with their intervals, side by side over the categories of an axis; published ones hollow."""
    label, unit = p.scale(ours, theirs)
    x, values = str(p.spec.x), p.levels[str(p.spec.x)]
    at = {value: float(index) for index, value in enumerate(values)}
    mean, low, high, _ = p.spec.stats
    # A published value has the right part of its bar's place.
    slot = _BAR_WIDTH / len(p.by())
    part = 1.0 if theirs is None else 0.55
    for ax, panel, index, by in p.each():
        # The rest of its place lies at both sides of a bar.
        left = -_BAR_WIDTH / 2 + (index + 0.03) * slot
        own = _placed(p.rows(ours, panel, by), x, at)
        middle, bottom, top = (own[name] / unit for name in (mean, low, high))
        ax.bar(own["\0at"] + left, middle, slot * part * 0.94, align="edge", **_fill(index))
        if (top > bottom).any():
            center = own["\0at"] + left + slot * part * 0.47
            ax.errorbar(center, middle, yerr=reach(middle, bottom, top), ecolor=style.BLACK, **ERROR_BAR)
        if theirs is not None:
            points = _placed(p.rows(theirs, panel, by), x, at)
            ax.bar(
                points["\0at"] + left + slot * part, points[mean] / unit, slot * 0.38, align="edge", **_hollow(index)
            )
    for ax in p.axes.values():
        _horizontal(ax, p, values, at, numeric=False)
        _vertical(ax, p, label, from_zero=True)
        ax.grid(visible=False, axis="x")
    legend(p, theirs is not None, lambda index: Patch(**_fill(index)))


def cdf(p: Panels, ours: pl.DataFrame, theirs: pl.DataFrame | None) -> None:
    """The share of the rows that have at most a value."""
    label, unit = p.scale(ours, theirs)
    dashes = theirs is None
    for ax, panel, index, by in p.each():
        own = p.rows(ours, panel, by)
        if own.is_empty():
            continue
        look = look_of(index, dashes=dashes, joined=True) | {"markevery": max(len(own) // 8, 1)}
        steps = [own[p.spec.y][0], *own[p.spec.y]], [0.0, *own["share"]]
        ax.step([value / unit for value in steps[0]], steps[1], where="post", **look)
    for ax, points, look in _published(p, theirs):
        ax.plot(points[p.spec.y] / unit, points["share"], **look | {"markevery": max(len(points) // 8, 1)})
    for ax in p.axes.values():
        ax.set_ylim(0, 101)
        ax.margins(x=0.04)
        if "x" in p.spec.log or "y" in p.spec.log:
            ax.set_xscale("log")
            plain(ax.xaxis)
        heading.name_across(ax, label)
        if ax.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            heading.name_upright(ax, p.spec.share)
    legend(p, theirs is not None, lambda index: Line2D([], [], **look_of(index, dashes=dashes, joined=True)))


def distribution(
    ax: Axes, values: Sequence[float], *, of: int | None = None, until: float | None = None, **look: Any
) -> None:
    """Steps of the share of sorted values that are at most a value, in percent; the last goes on to `until`.

    `of`: how many there are with those whose value is not known but larger, which the steps do not reach.
    """
    end = [] if until is None else [until]
    shares = [100 * n / (of or len(values)) for n in range(len(values) + 1)]
    ax.step([values[0], *values, *end], [*shares, *(shares[-1] for _ in end)], where="post", **look)
    ax.set_ylim(0, 101)


def heatmap(p: Panels, ours: pl.DataFrame, theirs: pl.DataFrame | None) -> None:
    """The mean as the colour of a cell for each pair of values; a published one in parentheses below ours."""
    label, unit = p.scale(ours, theirs)
    x, by, mean = str(p.spec.x), str(p.spec.by), p.spec.stats[0]
    across, up = p.levels[x], p.levels[by]
    known_means = [value / unit for value in ours[mean]]
    if "y" in p.spec.log and min(known_means, default=1.0) <= 0:
        raise ScenarioError(
            f"log: the colours of {p.spec.y!r} cannot be logarithmic: a value is {min(known_means) * unit:g}"
        )
    limits: Any = {"vmin": min(known_means, default=0.0), "vmax": max(known_means, default=1.0)}
    colors = LogNorm(**limits) if "y" in p.spec.log else Normalize(**limits)
    mesh = None
    for panel, ax in p.axes.items():
        cells = {(row[x], row[by]): row[mean] / unit for row in p.rows(ours, panel).to_dicts()}
        published = (
            {} if theirs is None else {(row[x], row[by]): row[mean] / unit for row in p.rows(theirs, panel).to_dicts()}
        )
        grid = [[cells.get((column, row), float("nan")) for column in across] for row in up]
        mesh = ax.pcolormesh(grid, norm=colors, cmap=_COLORS, edgecolors="white", linewidth=0.5)
        ax.grid(visible=False)
        if any(isinstance(value, str) for value in up):
            ax.set_ylim(len(up), 0)  # names are read from the top
        ax.set_xticks([index + 0.5 for index in range(len(across))], _texts(across, p.label("x")))
        ax.set_yticks([index + 0.5 for index in range(len(up))], _texts(up, p.label("by")))
        if len(across) <= _CELLS_WITH_NUMBERS:
            _write_cells(ax, across, up, cells, published, colors)
        _turn(ax, p, _texts(across, p.label("x")))
        heading.name_across(ax, p.label("x"))
        if ax.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            heading.name_upright(ax, p.label("by"))
    if mesh is not None:
        told_of = f"{label}\n({p.spec.published_name} in parentheses)" if theirs is not None else label
        ticks = few_decades(*mesh.get_clim()) if "y" in p.spec.log else None
        plain: Any = {"ticks": ticks, "format": as_it_is()} if ticks else {}
        bar = p.figure.colorbar(mesh, ax=list(p.axes.values()), label=told_of, pad=0.02, **plain)
        if ticks:
            bar.minorticks_off()
        bar.outline.set_visible(False)


def name_panels(p: Panels) -> None:
    """Write the panel's value above each panel."""
    if p.spec.panels:
        label = p.label("panels")
        for level, ax in p.axes.items():
            text = f"{naming.words(label)}: {naming.drawn(level, label)}"
            size = heading.text_size("axes.labelsize")
            ax.set_title(heading.wrapped(text, heading.breadth(ax), size), fontsize=size, fontweight="normal")


def note(specs: Sequence[Spec], tables: Sequence[pl.DataFrame]) -> str:
    """Returns a line on the figure of all these metrics: of how many runs it is, and with which interval."""
    spec = specs[0]
    counts = [] if spec.kind == "cdf" else [n for one, of in zip(specs, tables, strict=True) for n in of[one.stats[3]]]
    if not counts:
        return ""
    least, most = min(counts), max(counts)
    shape = {"bars": "Bars: ", "heatmap": "Cells: ", "tradeoff": "Points: "}.get(spec.kind, "")
    if most == 1:
        return f"{shape}one run each" if spec.kind == "bars" else ""
    runs = f"{least} runs" if least == most else f"{least} to {most} runs"
    how = {"bars": ", whiskers: ", "heatmap": "", "tradeoff": ", crosses: "}.get(spec.kind, " with their ")
    interval = f"{how}{100 * spec.confidence:g} % intervals" if how else ""
    means = f"means of {runs}{interval}"
    return shape + means if shape else means.capitalize()


def left_out(specs: Sequence[Spec], tables: Sequence[pl.DataFrame]) -> str:
    """Returns a line that counts the points of all metrics that logarithmic axes have no place for.

    Empty where there is none, and for a distribution: its shares count them.

    Raises:
        ScenarioError: an axis has a place for no point.
    """
    count = 0
    for spec, points in zip(specs, tables, strict=True):
        for drawn, column in spec.logarithmic.items():
            if len(points) and not (points[drawn] > 0).any():
                raise ScenarioError(f"log: the axis of {column!r} cannot be logarithmic: no value is above 0")
        if spec.kind != "cdf":
            places = (pl.col(drawn) <= 0 for drawn in spec.logarithmic)
            count += len(points.filter(pl.any_horizontal(pl.lit(False), *places)))
    return f"Not drawn on logarithmic axes: {_numbers.counted(count, 'point')} at 0 or below" if count else ""


#: The function of each kind.
DRAW: dict[str, Callable[[Panels, pl.DataFrame, pl.DataFrame | None], None]] = {
    "lines": lines,
    "bars": bars,
    "cdf": cdf,
    "heatmap": heatmap,
}


def _placed(points: pl.DataFrame, x: str, at: dict[Any, float]) -> pl.DataFrame:
    """The points with the place of each on the horizontal axis, from left to right."""
    places = pl.Series("\0at", [at.get(value) for value in points[x]], pl.Float64)
    return points.with_columns(places).drop_nulls("\0at").sort("\0at")


def _published(p: Panels, theirs: pl.DataFrame | None) -> Iterator[tuple[Axes, pl.DataFrame, dict[str, Any]]]:
    """The published points of each line with their look; grey where they do not name their line."""
    if theirs is None:
        return
    common = p.spec.by is None or p.spec.by not in theirs.columns
    for ax, panel, index, by in p.each():
        if common and index > 0:
            continue
        look = look_of(index, dashes=False, joined=True)
        color = style.BLACK if common else look["color"]
        points = p.rows(theirs, panel, by)
        if len(points):
            yield ax, points, look | _PUBLISHED | {"color": color}


def reach(middle: pl.Series, low: pl.Series, high: pl.Series) -> list[list[float]]:
    """How far the intervals of points go below and above their means; NaN, which is not drawn, where there is none."""
    return [side.fill_null(float("nan")).to_list() for side in (middle - low, high - middle)]


def look_of(index: int, *, dashes: bool, joined: bool) -> dict[str, Any]:
    """Colour, marker and dash of a line: each distinguishes it without the others."""
    dash = style.DASHES[index % len(style.DASHES)] if dashes else "-"
    return {
        "color": style.CYCLE[index % len(style.CYCLE)],
        "marker": style.MARKERS[index % len(style.MARKERS)],
        "markersize": 4.5,
        "linewidth": 1.2,
        "linestyle": dash if joined else "none",
    }


def _dodge(drawn: list[Artist], ax: Axes, index: int, count: int) -> None:
    """Move a line by some points of print beside its place, so that intervals at the same place are distinguished."""
    aside = (index - (count - 1) / 2) * min(_DODGE_PT, _MOST_DODGED_PT / count)
    place = offset_copy(ax.transData, fig=ax.get_figure(root=True), x=aside, units="points")
    # Not when it is drawn: the limits of the axes are those of the data.
    for artist in drawn:
        artist.set_transform(place)


def _fill(index: int) -> dict[str, Any]:
    hatch = _HATCHES[index % len(_HATCHES)]
    return {"facecolor": style.CYCLE[index % len(style.CYCLE)], "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _hollow(index: int) -> dict[str, Any]:
    color = style.CYCLE[index % len(style.CYCLE)]
    return {"facecolor": "none", "edgecolor": color, "linewidth": 1.0, "linestyle": (0, (3, 2))}


def _horizontal(ax: Axes, p: Panels, values: list[Any], at: dict[Any, float], *, numeric: bool) -> None:
    """The axis of `x`: numbers at their place, or categories side by side."""
    label = p.label("x")
    if numeric:
        scaled, unit = naming.scaled(label, max(map(abs, values), default=0.0))
        if "x" in p.spec.log:
            ax.set_xscale("log")
            at_values(ax, values, unit)
        else:
            if _are_apart(values):
                ax.xaxis.set_major_locator(FixedLocator(values))
            ax.xaxis.set_major_formatter(as_it_is(unit))
        ax.margins(x=0.04)
    else:
        scaled = label
        texts = _texts(values, label)
        ax.set_xticks(list(at.values()), texts)
        _turn(ax, p, texts)
        ax.set_xlim(-0.6, len(values) - 0.4)
    if not hides_x(ax):
        heading.name_across(ax, scaled)


def hides_x(ax: Axes) -> bool:
    """Whether the panel below shows the same axis."""
    place: Any = ax.get_subplotspec()
    return not place.is_last_row() and not ax.xaxis.get_tick_params().get("labelbottom", True)


def _vertical(ax: Axes, p: Panels, label: str, *, from_zero: bool = False) -> None:
    if "y" in p.spec.log:
        ax.set_yscale("log")
        plain(ax.yaxis)
    else:
        low, high = ax.get_ylim()
        # Bars, whose length is read, begin at zero. An axis of lines that could as well does too: differences are seen
        # in proportion.
        if from_zero or low < 0.5 * high:
            ax.set_ylim(bottom=0.0 if p.nonnegative else min(low, 0.0))
    if ax.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        heading.name_upright(ax, label)


def _are_apart(values: list[Any]) -> bool:
    """Whether all values can be written below a linear axis."""
    if len(values) < 2 or len(values) > 9:
        return False
    gap = (values[-1] - values[0]) / 14
    return all(after - before >= gap for before, after in pairwise(values))


def _texts(values: list[Any], label: str) -> list[str]:
    """The values of an axis; its unit is in its label."""
    return [naming.drawn(value, naming.words(label)) for value in values]


def _turn(ax: Axes, p: Panels, texts: list[str]) -> None:
    """Turn the names of categories that have no room side by side."""
    beside = ax.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    room = 0.85 * p.figure.get_figwidth() / beside / max(len(texts), 1)
    if max((heading.width_in(text, heading.text_size("xtick.labelsize")) for text in texts), default=0.0) > 0.92 * room:
        ax.tick_params(axis="x", labelrotation=30)
        for tick in ax.get_xticklabels():
            tick.set_horizontalalignment("right")
            tick.set_rotation_mode("anchor")


def _write_cells(
    ax: Axes, across: list[Any], up: list[Any], cells: dict[Any, float], published: dict[Any, float], colors: Normalize
) -> None:
    for column, x in enumerate(across):
        for row, y in enumerate(up):
            ours, theirs = cells.get((x, y)), published.get((x, y))
            if ours is None:
                continue
            text = _short(ours) if theirs is None else f"{_short(ours)}\n({_short(theirs)})"
            color = _ON_DARK if colors(ours) < 0.55 else _ON_LIGHT
            size = heading.text_size("xtick.labelsize")
            ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=color, fontsize=size)


def _short(number: float) -> str:
    """Three digits, or all of a number of four or five before the point: 1e+03 is harder to read."""
    return _numbers.minus(f"{number:.0f}" if 1e3 <= round(abs(number)) < 1e5 else f"{number:.3g}")


def legend(p: Panels, has_published: bool, handle: Callable[[int], Artist]) -> None:
    """Above the panels, where no data are; not needed for a single line."""
    label = p.label("by")
    handles: list[Artist] = []
    if not p.has_legend:
        return
    for index, value in enumerate(p.by()):
        if p.spec.by is not None or has_published:
            handles.append(handle(index))
            handles[-1].set_label("ours" if p.spec.by is None else naming.drawn(value, naming.words(label)))
    if has_published:
        hollow = Line2D([], [], marker="o", color=style.GREY, **_PUBLISHED)
        handles.append(Patch(**_hollow(6)) if p.spec.kind == "bars" else hollow)
        handles[-1].set_label(p.spec.published_name)
    if handles:
        heading.legend(p.figure, handles, title=label or None)
