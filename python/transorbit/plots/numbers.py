"""The numbers that a figure shows, as a table to be written beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.patches import StepPatch

from transorbit.plots import heading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_SCHEMA = {
    "panel": pl.String,
    "series": pl.String,
    "x": pl.Float64,
    "y": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


def numbers(figure: Figure) -> pl.DataFrame:
    """The figure's own table, or else a row for each point of its lines, steps and bands.

    In the units of the axes: `panel` and `series` are their labels, `low` and `high` the limits of a band, or between
    which a step stands.
    """
    if isinstance(figure, heading.Chart) and figure.numbers is not None:
        return figure.numbers
    rows = [row for ax in figure.axes for row in _of_panel(ax)]
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return table.select(column for column in table if column.null_count() < len(column))


def _of_panel(ax: Axes) -> Iterator[dict[str, Any]]:
    panel = " ".join(ax.get_ylabel().split())
    for artist in ax.get_children():
        points: Iterator[dict[str, Any]]
        if artist in ax.lines:
            points = _of_line(ax, artist)  # type: ignore[arg-type]
        elif isinstance(artist, StepPatch):
            points = _of_steps(artist)
        elif isinstance(artist, FillBetweenPolyCollection):
            points = _of_band(artist)
        else:
            continue
        label = str(artist.get_label())
        for point in points:
            # Artists without a label have a name with an underscore in matplotlib.
            yield {"panel": panel, "series": None if label.startswith("_") else label, **point}


def _of_line(ax: Axes, line: Line2D) -> Iterator[dict[str, Any]]:
    across = line.get_transform() == ax.get_yaxis_transform()
    along = line.get_transform() == ax.get_xaxis_transform()
    points: Any = line.get_xydata()
    for x, y in points[:1] if across or along else points:
        yield {"x": None if across else float(x), "y": None if along else float(y)}


def _of_steps(steps: StepPatch) -> Iterator[dict[str, Any]]:
    data: Any = steps.get_data()
    for x, low, high in zip(data.edges, data.baseline, data.values, strict=False):
        yield {"x": float(x), "low": float(low), "high": float(high)}


def _of_band(band: FillBetweenPolyCollection) -> Iterator[dict[str, Any]]:
    for path in band.get_paths():
        # First one side forth, then the other back; where it jumps, the value after the jump counts.
        points: Any = path.vertices
        half = len(points) // 2
        forth = {float(x): float(y) for x, y in points[1:half]}
        back: dict[float, float] = {}
        for x, y in points[half + 1 : -1]:
            back.setdefault(float(x), float(y))
        for x, y in forth.items():
            low, high = sorted((y, back.get(x, y)))
            yield {"x": x, "low": low, "high": high}
