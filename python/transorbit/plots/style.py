"""One look for every plot: `transorbit.mplstyle`, and what a style file cannot say."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import matplotlib as mpl

from transorbit import _figures
from transorbit._values import above_zero
from transorbit.plots import heading
from transorbit.plots.heading import Chart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK = CYCLE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#222222",
)
GREY = "#777777"
# Lines differ in grey too: each has a marker, and a dash where dashes have no other meaning.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.5, 1.5)), (0, (8, 2)))
SINGLE_IN, DOUBLE_IN, SUFFIXES = _figures.SINGLE_IN, _figures.DOUBLE_IN, _figures.SUFFIXES
#: The style file of all figures.
FILE = Path(__file__).with_name("transorbit.mplstyle")
# A figure that is narrower stands in a column, all of whose text has the size of the column's.
_COLUMN_IN = 5.0
_COLUMN_TEXT = 8
# The compression of pictures: it takes a third less time than the default's, for 7 % more bytes.
_COMPRESSION = 3
_SIZES = ("font.size", "figure.titlesize", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize")


class Look(TypedDict, total=False):
    """The caller's options for the look of a plot: `width` in inches, and `title`; "" is none."""

    width: float
    title: str | None


@contextmanager
def figure(
    rows: int = 1,
    *,
    title: str,
    until_s: float,
    height: float = 3.0,
    look: Look | None = None,
    **shared: Any,
) -> Iterator[tuple[Chart, list[Axes]]]:
    """A figure of `rows` panels over one time axis that ends at `until_s`, drawn in the project's style."""
    with plain(title=title, rows=rows, height=height, look=look, **shared) as (fig, axes):
        yield fig, axes
        axes[-1].set_xlabel("Time (s)")
        axes[-1].set_xlim(0, max(until_s, 1e-3))


@contextmanager
def plain(
    *, title: str, rows: int = 1, height: float = 3.0, look: Look | None = None, **shared: Any
) -> Iterator[tuple[Chart, list[Axes]]]:
    """A figure of `rows` panels over one axis that is the caller's, drawn in the project's style.

    Its title is `title`, unless `look` has another. Legends that `above` puts over a panel make the figure higher.
    """
    look = look or {}
    width = look.get("width", DOUBLE_IN)
    own = look.get("title")
    with mpl.rc_context(_style(width)):
        fig = Chart(figsize=(width, height))
        axes = list(fig.subplots(rows, 1, sharex=True, squeeze=False, **shared)[:, 0])
        yield fig, axes
        heading.settle(fig, axes, title if own is None else own)
        fig.align_ylabels()


@contextmanager
def grid(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = DOUBLE_IN,
    height: float = 3.0,
    title: str | None = None,
    note: str = "",
    **shared: Any,
) -> Iterator[tuple[Chart, list[list[Axes]]]]:
    """A figure of rows and columns of panels, drawn in the project's style; `width` and `height` in inches.

    Its title stands above everything else and `note` below.
    """
    with mpl.rc_context(_style(width)):
        fig = Chart(figsize=(width, height))
        axes = fig.subplots(rows, columns, squeeze=False, **shared)
        if note:
            heading.footnote(fig, note)
        if title:
            heading.name(fig, title)
        yield fig, [list(row) for row in axes]
        fig.align_ylabels()


@contextmanager
def like(figure: Figure) -> Iterator[None]:
    """The style of a figure that is drawn already, to add to it."""
    with mpl.rc_context(_style(figure.get_figwidth())):
        yield


def publish(figure: Figure, path: str | Path) -> list[Path]:
    """Write a figure and its numbers beside it, and the folder they are to be in.

    Args:
        path: with one of the suffixes .svg, .pdf and .png; without, .svg and .pdf are written.

    Returns:
        The files, the table (.csv) last.
    """
    from transorbit.plots.numbers import numbers

    path = Path(path)
    known = path.suffix.lower() in SUFFIXES
    pictures = [path] if known else [path.with_name(path.name + suffix) for suffix in (".svg", ".pdf")]
    table = path.with_suffix(".csv") if known else path.with_name(path.name + ".csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    for file in pictures:
        save(figure, file)
    numbers(figure).write_csv(table)
    return [*pictures, table]


def write(figure: Figure, stem: str | Path) -> None:
    """Write `stem`.svg and `stem`.png."""
    stem = Path(stem)
    for suffix in (".svg", ".png"):
        save(figure, stem.with_name(stem.name + suffix))


def save(figure: Figure, path: str | Path) -> None:
    """Write one file, in the format of its suffix: .svg, .png or .pdf."""
    path = Path(path)
    # The file has no date, so that the same result gives the same bytes.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    with mpl.rc_context(_style(figure.get_figwidth())):
        if path.suffix.lower() == ".png":
            _save_png(figure, path)
        else:
            figure.savefig(path, metadata=metadata)


def _save_png(figure: Figure, path: Path) -> None:
    """Draw once, and write what is drawn: `savefig` draws once more before, for the layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    parameters: Any = mpl.rcParams
    canvas, dpi = figure.canvas, figure.dpi
    try:
        figure.dpi = parameters["savefig.dpi"]
        agg: Any = FigureCanvasAgg(figure)
        agg.print_png(path, pil_kwargs={"compress_level": _COMPRESSION})
    finally:
        figure.dpi = dpi
        figure.set_canvas(canvas)


def _style(width: float) -> Any:
    """The parameters of matplotlib for a figure of that width.

    Raises:
        ScenarioError: the width is none.
    """
    is_column = above_zero("width", width) < _COLUMN_IN
    return _file() | heading.TEXT | (dict.fromkeys(_SIZES, _COLUMN_TEXT) if is_column else {})


def _file() -> dict[str, Any]:
    parameters: Any = mpl.rc_params_from_file(FILE, use_default_template=False)
    return dict(parameters)
