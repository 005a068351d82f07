"""One look for every plot."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


def write(figure: Figure, stem: Path) -> None:
    """Write `stem`.svg and `stem`.png."""
    for suffix in (".svg", ".png"):
        save(figure, stem.with_name(stem.name + suffix))


def save(figure: Figure, path: Path) -> None:
    """Write one file, in the format of its suffix: .svg, .png or .pdf."""
    # Nothing in the file tells when it was made: the same result gives the same bytes.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    with mpl.rc_context(_STYLE):
        figure.savefig(path, metadata=metadata)


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
