"""Names of places on a map, each beside its place where it meets no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.patheffects import withStroke

from transorbit.plots import heading, style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

# From a place to its name, and around a name, in points; what is left and right of a map of the world, in inches.
_ASIDE_PT, _AROUND_PT, _BESIDE_MAP_IN = 4.0, 1.5, 0.85
_POINTS_PER_IN = 72
# The side of a name's box that is at the place.
_SIDES = (("left", "center"), ("right", "center"), ("center", "bottom"), ("center", "top"))
_SHIFT = {"left": 1, "right": -1, "bottom": 1, "top": -1, "center": 0}
_Box = tuple[float, float, float, float]


def mark(ax: Axes, stations: pl.DataFrame) -> None:
    """Draw places, and their names as far as they have room, the first ones first."""
    label = "station"
    look: Any = {"marker": "^", "linestyle": "none", "markersize": 5, "zorder": 7, "color": style.BLUE}
    ax.plot(stations["longitude_deg"], stations["latitude_deg"], markeredgecolor="white", label=label, **look)
    figure: Any = ax.get_figure(root=True)
    # Of the whole world, which is as broad as the panel.
    per_degree = (figure.get_figwidth() - _BESIDE_MAP_IN) * _POINTS_PER_IN / 360
    size = heading.text_size("legend.fontsize")
    points = [(row["longitude_deg"] * per_degree, row["latitude_deg"] * per_degree) for row in stations.to_dicts()]
    taken_boxes: list[_Box] = [(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    for (x, y), name in zip(points, stations["name"], strict=True):
        width = heading.width_in(name, size) * _POINTS_PER_IN
        own = taken_boxes.index((x - 3, y - 3, x + 3, y + 3))
        for across, up in _SIDES:
            box = _box(x, y, width, size, across, up)
            others = (other for index, other in enumerate(taken_boxes) if index != own)
            if _is_on_map(box, per_degree) and not any(_meet(box, other) for other in others):
                taken_boxes.append(box)
                offset = (_SHIFT[across] * _ASIDE_PT, _SHIFT[up] * _ASIDE_PT)
                place = (x / per_degree, y / per_degree)
                how: Any = {"textcoords": "offset points", "ha": across, "va": up, "fontsize": size, "zorder": 8}
                how["path_effects"] = [withStroke(linewidth=1.5, foreground="white")]
                ax.annotate(name, place, offset, **how)
                break


def _box(x: float, y: float, width: float, size: float, across: str, up: str) -> _Box:
    """Left, bottom, right and top of a name."""
    left = x + {"left": _ASIDE_PT, "right": -_ASIDE_PT - width, "center": -width / 2}[across]
    bottom = y + {"bottom": _ASIDE_PT, "top": -_ASIDE_PT - size, "center": -size / 2}[up]
    return left - _AROUND_PT, bottom - _AROUND_PT, left + width + _AROUND_PT, bottom + size + _AROUND_PT


def _is_on_map(box: _Box, per_degree: float) -> bool:
    left, bottom, right, top = box
    return left > -180 * per_degree and right < 180 * per_degree and bottom > -90 * per_degree and top < 90 * per_degree


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
