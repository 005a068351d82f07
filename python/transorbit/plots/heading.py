"""The heading above panels: titles, notes and legends, in as many lines as the width of the figure asks for."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import LogFormatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from transorbit.plots.given import Result

# Inches at the left of a panel that its axis takes, in a figure over time; the least of a gap between texts.
_AXIS_IN, _GAP_IN = 0.75, 0.25
# The height of a line of text, and what a legend has around it, in sizes of its text.
_LINE, _ROOM = 1.5, 0.7
# Lengths of a legend, in sizes of its text: the handle, the space after it, and that between columns.
_HANDLE, _AFTER_HANDLE, _BETWEEN = 1.4, 0.5, 1.2
_LONG_HANDLE = 2.4
_NOTEBOOK_DPI, _NOTEBOOK_COLOURS = 100, 64
# Legend, ticks and the name of the horizontal axis take this much of a panel's height; no name is broken finer.
_AROUND_PANEL_IN, _LEAST_NAME_IN = 0.9, 1.1
#: Points of print in an inch.
POINTS_PER_IN = 72
#: Parameters of matplotlib for text: it is no formula.
TEXT: Any = {"text.parse_math": False}


class Chart(Figure):
    """A figure that knows the numbers it shows."""

    numbers: pl.DataFrame | None = None
    #: The share of its height that is below the title.
    below_title: float = 1.0
    #: A line that belongs to the title.
    note: str = ""
    #: A line on what is not drawn.
    left_out: str = ""

    def _repr_png_(self) -> bytes:
        """Returns the picture for a notebook, with few colours, because notebooks are kept with it."""
        from PIL import Image

        with io.BytesIO() as file, io.BytesIO() as small:
            self.savefig(file, format="png", dpi=_NOTEBOOK_DPI)
            picture = Image.open(file).convert("RGB").quantize(_NOTEBOOK_COLOURS, dither=Image.Dither.NONE)
            picture.save(small, format="png", optimize=True)
            return small.getvalue()

    def draw(self, renderer: Any) -> None:
        """Draw it; what users write is text, and a dollar in it begins no formula, but at a logarithmic axis."""
        for axis in (axis for ax in self.axes for axis in (ax.xaxis, ax.yaxis)):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                # Settles the limits: a logarithmic axis has no ticks before.
                axis.axes.viewLim  # noqa: B018
                for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                    tick.label1.set_parse_math(True)
                    tick.label2.set_parse_math(True)
        # Of ticks that are made while it is drawn.
        with mpl.rc_context(TEXT):
            super().draw(renderer)


def width_in(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text in inches: of its longest line."""
    font = FontProperties(family=mpl.rcParams["font.family"], size=size, weight="bold" if bold else "normal")
    widths = [text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in text.split("\n")]
    return float(max(widths)) / POINTS_PER_IN


def wrapped(text: str, room_in: float, size: float, *, bold: bool = False) -> str:
    """The text in lines that are no wider than so many inches, if no word is."""
    lines: list[str] = []
    for word in text.split():
        if lines and width_in(f"{lines[-1]} {word}", size, bold=bold) <= room_in:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def of_run(name: str, result: Result) -> str:
    """The name of a figure, and whether its run was stopped before its end."""
    return f"{name} (stopped early)" if result.partial else name


def name(fig: Chart, title: str) -> None:
    """Write the title above everything else; a layout would put it where the legend is."""
    width, height = fig.get_size_inches()
    size = text_size("axes.titlesize")
    text = wrapped(title, width - 0.15, size, bold=True)
    fig.text(0.01, 1 - 0.04 / height, text, ha="left", va="top", fontsize=size, fontweight="bold")
    lines_in = (text.count("\n") + 1) * size * 1.4 / POINTS_PER_IN + 0.05
    fig.set_size_inches(width, height + lines_in)
    fig.below_title = 1 - lines_in / (height + lines_in)
    _leave_above(fig, fig.below_title)


def legend(figure: Figure, handles: Sequence[Artist], *, title: str | None = None) -> None:
    """Put a legend above all panels, in as many columns as there is room for, and make the figure higher by it."""
    width, height = figure.get_size_inches()
    size = text_size("legend.fontsize")
    labels = [str(handle.get_label()) for handle in handles]
    columns = _columns(labels, width - 0.2, _LONG_HANDLE)
    below_title = getattr(figure, "below_title", 1.0)
    lines = -(-len(handles) // columns) + (title is not None)
    room_in = (_LINE * lines + _ROOM) * size / POINTS_PER_IN
    title_in = (1 - below_title) * height
    height += room_in
    figure.set_size_inches(width, height)
    top = 1 - title_in / height
    if title_in:
        figure.texts[0].set_y(1 - 0.04 / height)
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, top),
        ncols=columns,
        title=title,
        handlelength=_LONG_HANDLE,
        columnspacing=_BETWEEN,
        handletextpad=_AFTER_HANDLE,
        borderaxespad=0.2,
    )
    _leave_above(figure, top - room_in / height)


def footnote(figure: Figure, text: str) -> None:
    """Write a line below all panels, and make the figure higher by it; before its title and its legend."""
    width, height = figure.get_size_inches()
    size = text_size("legend.fontsize")
    lines = wrapped(text, width - 0.2, size)
    figure.set_size_inches(width, height + _LINE * size * (lines.count("\n") + 1) / POINTS_PER_IN)
    figure.supxlabel(lines, fontsize=size, color=mpl.rcParams["axes.edgecolor"])


def above(ax: Axes, others: Sequence[Axes] = ()) -> None:
    """Put the legend of a panel above it, out of the data's way; it is placed when the figure is finished.

    It also has what `others` draw under names that the panel does not have.
    """
    handles, labels = ax.get_legend_handles_labels()
    for other in others:
        for handle, label in zip(*other.get_legend_handles_labels(), strict=True):
            if label not in labels:
                handles.append(handle)
                labels.append(label)
    room = _room(ax)
    ax.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=_columns(labels, room, _HANDLE),
        borderaxespad=0.2,
        borderpad=0.2,
        columnspacing=_BETWEEN,
        handlelength=_HANDLE,
        handletextpad=_AFTER_HANDLE,
    )


def name_upright(ax: Axes, label: str) -> None:
    """Name the vertical axis, in as many lines as the height of its panel asks for."""
    place: Any = ax.get_subplotspec()
    figure: Any = ax.get_figure(root=True)
    height = figure.get_size_inches()[1] / place.get_gridspec().nrows - _AROUND_PANEL_IN
    ax.set_ylabel(wrapped(label, max(height, _LEAST_NAME_IN), text_size("axes.labelsize")))


def name_across(ax: Axes, label: str) -> None:
    """Name the horizontal axis, in as many lines as the width of its panel asks for."""
    ax.set_xlabel(wrapped(label, breadth(ax), text_size("axes.labelsize")))


def breadth(ax: Axes) -> float:
    """Inches that a panel in a grid is broad, at least: about, for it is laid out when it is drawn."""
    place: Any = ax.get_subplotspec()
    beside = int(place.get_gridspec().ncols)
    between = 0.0 if beside == 1 else _GAP_IN * beside
    return (_room(ax) - between) / beside


def settle(fig: Chart, axes: Sequence[Axes], title: str) -> None:
    """Write the title and the figure's note above the first panel, beside its legend if there is room, else above it.

    The figure becomes as much higher as its legends and the lines of its title take.
    """
    first = axes[0]
    room, size, small = _room(first), text_size("axes.titlesize"), text_size("legend.fontsize")
    title_in = width_in(title, size, bold=True) if title else 0.0
    beside = room - title_in - _GAP_IN
    rows = [_rows(ax) for ax in axes]
    pad = mpl.rcParams["axes.titlepad"]
    one_line = (
        rows[0] == 1 and not fig.note and _legend_width(_widths(_labels(first)), len(_labels(first)), _HANDLE) <= beside
    )
    if rows[0] and not one_line:
        pad += (_LINE * rows[0] + 0.3) * small
    if fig.note:
        if width_in(fig.note, small) <= beside:
            first.set_title(fig.note, loc="right", fontsize=small, fontweight="normal", pad=pad)
        else:
            text = wrapped(fig.note, room, small)
            first.annotate(text, (0, 1), (0, pad), xycoords="axes fraction", textcoords="offset points", fontsize=small)
            pad += _LINE * small * (text.count("\n") + 1)
    lines = 0
    if title:
        text = wrapped(title, room, size, bold=True)
        lines = text.count("\n") + 1
        first.set_title(text, pad=pad)
    higher = pad - mpl.rcParams["axes.titlepad"] + _LINE * size * max(lines - 1, 0)
    higher += sum(_LINE * small * (count - 1) for count in rows[1:] if count > 1)
    width, height = fig.get_size_inches()
    fig.set_size_inches(width, height + higher / POINTS_PER_IN)


def text_size(key: str) -> float:
    """The size of a kind of text in points, from the style."""
    parameters: Any = mpl.rcParams
    size = parameters[key]
    return float(size if isinstance(size, int | float) else parameters["font.size"])


def _room(ax: Axes) -> float:
    """Inches that a panel is broad: about, for it is laid out when it is drawn."""
    figure: Any = ax.get_figure(root=True)
    return float(figure.get_size_inches()[0]) - _AXIS_IN


def _labels(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def _rows(ax: Axes) -> int:
    """The lines of the legend above a panel."""
    labels = _labels(ax)
    return -(-len(labels) // _columns(labels, _room(ax), _HANDLE)) if labels else 0


def _columns(labels: Sequence[str], room_in: float, handle: float) -> int:
    """Returns the number of columns of a legend: as many as there is room for, no more than as many lines need."""
    widths = _widths(labels)
    for most in range(len(labels), 1, -1):
        count = -(-len(labels) // -(-len(labels) // most))
        if count * min(widths) <= room_in and _legend_width(widths, count, handle) <= room_in:
            return count
    return 1


def _widths(labels: Sequence[str]) -> list[float]:
    """The inches that the texts of a legend take."""
    size = text_size("legend.fontsize")
    return [width_in(label, size) for label in labels]


def _legend_width(widths: Sequence[float], count: int, handle: float) -> float:
    """The inches that a legend of so many columns takes; they are filled one after the other."""
    size = text_size("legend.fontsize")
    deep, longer = divmod(len(widths), count)
    ends = [deep * (column + 1) + min(column + 1, longer) for column in range(count)]
    columns = [widths[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    texts = sum(map(max, columns))
    around = len(columns) * (handle + _AFTER_HANDLE) + (len(columns) - 1) * _BETWEEN + 0.6
    return texts + around * size / POINTS_PER_IN


def _leave_above(figure: Figure, share: float) -> None:
    """Let the panels have this share of the height, from below."""
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, share))
