"""Plots of constellations: delays of several pairs, satellites in view by latitude, passes, maps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from transorbit.plots import heading, place_names, style
from transorbit.plots.models import unjoined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Map

# With more satellites footprints, or links, hide each other.
_MOST_FOOTPRINTS = 100
_MOST_LINKED = 300
_FULL_TURN = 360.0
# The margins of a map's axes, in inches.
_BESIDE_IN, _BELOW_IN = 0.7, 0.65


def constellation_delays(
    traces: Mapping[str, pl.DataFrame], *, title: str = "One-way delays", width: float = style.DOUBLE_IN
) -> Figure:
    """The delays of several pairs over time, as figure 3.3 of Tauran (2018); gaps where there is no route."""
    until = max(float(trace["time_s"].max() or 0.0) for trace in traces.values())  # type: ignore[arg-type]
    with style.figure(title=title, until_s=until, height=3.4, look={"width": width}) as (fig, [ax]):
        for i, (label, trace) in enumerate(traces.items()):
            ax.plot(
                *unjoined(trace),
                color=style.CYCLE[i % len(style.CYCLE)],
                linestyle=("-", "--", ":")[i // len(style.CYCLE) % 3],
                label=label,
            )
        ax.set_ylabel("Delay (ms)")
        heading.above(ax)
    return fig


def coverage(table: pl.DataFrame, *, title: str = "Coverage", width: float = style.DOUBLE_IN) -> Figure:
    """The table of `transorbit.constellation.coverage`: satellites in view, and the share of the time."""
    latitude = table["latitude_deg"]
    with style.plain(title=title, rows=2, height=4.6, look={"width": width}) as (fig, [top, low]):
        top.fill_between(latitude, table["in_view_min"], table["in_view_max"], color=style.BLUE, alpha=0.2, linewidth=0)
        top.plot(latitude, table["in_view_mean"], color=style.BLUE)
        top.set_ylabel("Satellites in view\n(mean; least to most)")
        top.set_ylim(bottom=0)
        shares = ("covered_share", "two_share", "three_share", "four_share")
        for share, name, color in zip(shares, ("one", "two", "three", "four"), style.CYCLE, strict=False):
            low.plot(latitude, table[share] * 100, color=color, label=f"{name} or more")
        low.set_ylabel("Time (%)")
        low.set_ylim(0, 102)
        low.set_xlabel("Latitude (deg)")
        low.set_xlim(-90, 90)
        low.set_xticks(range(-90, 91, 30))
        heading.above(low)
    return fig


def passes(
    table: pl.DataFrame,
    *,
    start_s: float = 0.0,
    duration_s: float,
    minimum_elevation_deg: float,
    title: str = "Passes",
    width: float = style.DOUBLE_IN,
) -> Figure:
    """The table of `transorbit.constellation.passes`: each pass as a bar at its highest elevation."""
    end_s = start_s + duration_s
    with style.figure(title=title, until_s=end_s, height=3.0, look={"width": width}) as (fig, [ax]):
        since = table["rise_s"].fill_null(start_s)
        until = table["set_s"].fill_null(end_s)
        ax.hlines(table["highest_elevation_deg"], since, until, color=style.BLUE, linewidth=1.6)
        ax.plot(
            table["culmination_s"],
            table["highest_elevation_deg"],
            color=style.ORANGE,
            marker="o",
            linestyle="none",
            markersize=3,
        )
        ax.set_ylabel("Highest elevation (deg)")
        ax.set_ylim(max(minimum_elevation_deg - 3, 0), 92)
    ax.set_xlim(start_s, end_s)
    return fig


def links_fit(chart: Map) -> bool:
    """Whether the satellites are few enough for their links to be distinguished: 300."""
    return len(chart.satellites) <= _MOST_LINKED


def world(
    chart: Map,
    *,
    title: str = "Constellation",
    links: bool | None = None,
    footprints: bool = True,
    width: float = style.DOUBLE_IN,
) -> Figure:
    """The result of `transorbit.constellation.world`, on a map with coast lines.

    Stations have their names where there is room. Links are drawn if that is asked for; if nothing is said, where they
    can be told apart (see `links_fit`).
    """
    links = links_fit(chart) if links is None else links
    drawn: dict[str, dict[str, Any]] = {}
    places = {row["satellite"]: row for row in chart.satellites.iter_rows(named=True)}
    # The world is twice as broad as high.
    with style.grid(title=title, width=width, height=0.5 * (width - _BESIDE_IN) + _BELOW_IN) as (fig, [[ax]]):
        _coasts(ax)

        def lines(label: str, pieces: Iterable[tuple[Any, Any]], **look: Any) -> None:
            for longitudes, latitudes in pieces:
                _line(ax, longitudes, latitudes, **look)
                drawn[label] = {name: look[name] for name in ("color", "linewidth")}

        tracks = chart.tracks.partition_by("satellite", maintain_order=True)
        of_tracks = ((track["longitude_deg"], track["latitude_deg"]) for track in tracks)
        lines("ground track", of_tracks, color=style.ORANGE, linewidth=0.9, zorder=4)
        if footprints and len(chart.satellites) <= _MOST_FOOTPRINTS:
            edges = chart.footprints.partition_by("satellite", maintain_order=True)
            lines("footprint", map(_closed, edges), color=style.SKY, linewidth=0.5, zorder=2)
        if links:
            ends = ([places[one], places[other]] for one, other in chart.links.iter_rows())
            lines("link", map(_of_rows, ends), color=style.GREEN, linewidth=0.4, zorder=3)
        if chart.route is not None and len(chart.route):
            points = _of_rows(chart.route.to_dicts())
            lines("route", [points], color=style.BLACK, linewidth=1.6, zorder=6)
        size = 4 if len(places) <= _MOST_FOOTPRINTS else 1.5
        dots: Any = {"marker": "o", "linestyle": "none", "label": "satellite", "zorder": 5}
        ax.plot(*_of_rows(places.values()), color=style.RED, markersize=size, **dots)
        if chart.stations is not None:
            place_names.mark(ax, chart.stations)
        # Lines are in pieces: one stands for each kind.
        kinds = [Line2D([], [], label=label, **look) for label, look in drawn.items()]
        heading.legend(fig, [*ax.get_legend_handles_labels()[0], *kinds])
        _frame(ax)
    return fig


def _of_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """The longitudes and latitudes of points."""
    points = [(row["longitude_deg"], row["latitude_deg"]) for row in rows]
    return [point[0] for point in points], [point[1] for point in points]


def _closed(edge: pl.DataFrame) -> tuple[list[float], list[float]]:
    """The points of an edge that ends where it begins."""
    return _of_rows([*edge.iter_rows(named=True), edge.row(0, named=True)])


def coastlines() -> list[list[list[float]]]:
    """Lines of (longitude, latitude) in degrees: Natural Earth, 1:110m, public domain."""
    text = Path(__file__).with_name("coastlines.json").read_text(encoding="utf-8")
    lines: list[list[list[float]]] = json.loads(text)["lines_longitude_latitude_deg"]
    return lines


def _coasts(ax: Axes) -> None:
    for line in coastlines():
        ax.plot(*zip(*line, strict=True), color=style.GREY, linewidth=0.5, zorder=1)


def _frame(ax: Axes) -> None:
    ax.set_aspect("equal")
    ax.set_xlim(-180, 180)
    ax.set_ylim(-90, 90)
    ax.set_xticks(range(-180, 181, 60))
    ax.set_yticks(range(-90, 91, 30))
    ax.set_xlabel("Longitude (deg)")
    ax.set_ylabel("Latitude (deg)")


def _line(
    ax: Axes, longitudes: Sequence[float] | pl.Series, latitudes: Sequence[float] | pl.Series, **look: object
) -> None:
    """A line on the map that goes on at the other edge where it leaves at one."""
    for piece in _pieces(zip(longitudes, latitudes, strict=True)):
        ax.plot(*zip(*piece, strict=True), **look)  # type: ignore[arg-type]


def _pieces(points: Iterable[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    pieces: list[list[tuple[float, float]]] = [[]]
    for longitude, latitude in points:
        if pieces[-1]:
            before, height = pieces[-1][-1]
            turn = _FULL_TURN if longitude < before else -_FULL_TURN
            if abs(longitude - before) > _FULL_TURN / 2:
                # To beyond the edge, which cuts it; and on from beyond the other.
                pieces[-1].append((longitude + turn, latitude))
                pieces.append([(before - turn, height)])
        pieces[-1].append((longitude, latitude))
    return pieces
