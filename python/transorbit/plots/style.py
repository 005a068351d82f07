"""One look for every plot."""

from __future__ import annotations

import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# Okabe and Ito's palette, told apart with any colour vision and in grey.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#222222",
)
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK)
GREY = "#777777"
# Lines differ in grey too: each has a marker, and a dash where dashes have no other meaning.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.5, 1.5)), (0, (8, 2)))
# Of a journal with two columns, and of this project's pages.
SINGLE_IN, DOUBLE_IN = 88 / 25.4, 7.2
#: The formats of a figure.
SUFFIXES = (".svg", ".pdf", ".png")
# Inches for each character of a title, a legend and the name of a vertical axis.
_TITLE_CHARACTER_IN, _LEGEND_CHARACTER_IN, _LABEL_CHARACTER_IN = 0.095, 0.066, 0.07
# Legend, ticks and the name of the horizontal axis take this much of a panel's height; no name is broken finer.
_AROUND_PANEL_IN, _LEAST_CHARACTERS = 0.9, 16
# Heights of their lines, and what a legend has around it.
_TITLE_LINE_IN, _LEGEND_LINE_IN, _LEGEND_ROOM_IN = 0.2, 0.165, 0.08
# What the handle and the space of a legend's entry take besides, in characters.
_HANDLE_CHARACTERS = 7
# The most entries of a legend that fit beside a title.
_BESIDE_TITLE = 3

_STYLE: Any = {
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=CYCLE),
    "axes.xmargin": 0,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.2,
    "lines.solid_joinstyle": "round",
    # Type 42 are fonts that remain text: journals refuse type 3.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    # The same result gives the same file.
    "svg.hashsalt": "transorbit",
}


@contextmanager
def figure(
    rows: int = 1, *, title: str, until_s: float, height: float = 3.0, **grid: Any
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of `rows` panels over one time axis that ends at `until_s`, drawn in the project's style."""
    with mpl.rc_context(_STYLE):
        fig = Figure(figsize=(7.2, height))
        axes = fig.subplots(rows, 1, sharex=True, squeeze=False, **grid)[:, 0]
        axes[0].set_title(title)
        yield fig, list(axes)
        axes[-1].set_xlabel("Time (s)")
        axes[-1].set_xlim(0, max(until_s, 1e-3))
        fig.align_ylabels()


@contextmanager
def plain(*, title: str, rows: int = 1, height: float = 3.0) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of `rows` panels over one axis that is the caller's, drawn in the project's style."""
    with mpl.rc_context(_STYLE):
        fig = Figure(figsize=(7.2, height))
        axes = fig.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
        axes[0].set_title(title)
        yield fig, list(axes)
        fig.align_ylabels()


@contextmanager
def grid(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = DOUBLE_IN,
    height: float = 3.0,
    title: str | None = None,
    **shared: Any,
) -> Iterator[tuple[Chart, list[list[Axes]]]]:
    """A figure of rows and columns of panels, drawn in the project's style; `width` and `height` in inches."""
    with mpl.rc_context(_STYLE):
        fig = Chart(figsize=(width, height))
        axes = fig.subplots(rows, columns, squeeze=False, **shared)
        if title:
            _name(fig, title)
        yield fig, [list(row) for row in axes]
        fig.align_ylabels()


class Chart(Figure):
    """A figure that knows the numbers it shows."""

    numbers: pl.DataFrame | None = None
    #: The share of its height that is below the title.
    below_title: float = 1.0


def publish(figure: Figure, path: Path) -> list[Path]:
    """Write a figure and its numbers beside it, and the folder they are to be in.

    Args:
        path: with one of the suffixes .svg, .pdf and .png; without, .svg and .pdf are written.

    Returns:
        The files, the table (.csv) last.
    """
    from transorbit.plots.numbers import numbers

    known = path.suffix.lower() in SUFFIXES
    pictures = [path] if known else [path.with_name(path.name + suffix) for suffix in (".svg", ".pdf")]
    table = path.with_suffix(".csv") if known else path.with_name(path.name + ".csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    for file in pictures:
        save(figure, file)
    numbers(figure).write_csv(table)
    return [*pictures, table]


def write(figure: Figure, stem: Path) -> None:
    """Write `stem`.svg and `stem`.png."""
    for suffix in (".svg", ".png"):
        save(figure, stem.with_name(stem.name + suffix))


def save(figure: Figure, path: Path) -> None:
    """Write one file, in the format of its suffix: .svg, .png or .pdf."""
    # The file has no date, so that the same result gives the same bytes.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    with mpl.rc_context(_STYLE):
        figure.savefig(path, metadata=metadata)


def legend(figure: Figure, handles: Sequence[Artist], *, title: str | None = None) -> None:
    """Put a legend above all panels, in as many columns as the figure has room for."""
    width, height = figure.get_size_inches()
    longest = max(len(str(handle.get_label())) for handle in handles) + _HANDLE_CHARACTERS
    columns = min(max(int(width / (longest * _LEGEND_CHARACTER_IN)), 1), len(handles))
    top = figure.below_title if isinstance(figure, Chart) else 1.0
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, top),
        ncols=columns,
        title=title,
        title_fontsize=8,
        handlelength=2.4,
        columnspacing=1.4,
        borderaxespad=0.2,
    )
    lines = -(-len(handles) // columns) + (title is not None)
    _leave(figure, top - (_LEGEND_LINE_IN * lines + _LEGEND_ROOM_IN) / height)


def name_upright(ax: Axes, label: str) -> None:
    """Name the vertical axis, in as many lines as the height of its panel asks for."""
    place: Any = ax.get_subplotspec()
    height = ax.get_figure(root=True).get_size_inches()[1] / place.get_gridspec().nrows - _AROUND_PANEL_IN  # type: ignore[union-attr]
    ax.set_ylabel("\n".join(textwrap.wrap(label, max(int(height / _LABEL_CHARACTER_IN), _LEAST_CHARACTERS))))


def above(ax: Axes, *, columns: int = 6) -> None:
    """Put the legend above the panel, at the right, out of the data's way, and below the title if it is long."""
    if len(ax.get_legend_handles_labels()[0]) > _BESIDE_TITLE:
        ax.set_title(ax.get_title(loc="left"), pad=22)
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        columnspacing=1.2,
        handletextpad=0.5,
    )


def _name(fig: Chart, title: str) -> None:
    """Write the title above everything else; a layout would put it where the legend is."""
    width, height = fig.get_size_inches()
    lines = textwrap.wrap(title, int(width / _TITLE_CHARACTER_IN))
    fig.text(0.01, 1 - 0.04 / height, "\n".join(lines), ha="left", va="top", fontsize=10, fontweight="bold")
    fig.below_title = 1 - _TITLE_LINE_IN * len(lines) / height
    _leave(fig, fig.below_title)


def _leave(figure: Figure, share: float) -> None:
    """Let the panels have this share of the height, from below."""
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, share))
