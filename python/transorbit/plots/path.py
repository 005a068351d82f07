"""Plots of the path, of the satellite that serves, and of the return link, over the time of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._jumps import DRIFT_S_PER_S, JITTERS, jumps
from transorbit.plots import heading, scales, style
from transorbit.plots.run import figure, first_flow, instants, intervals

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

_BINS = 300
# More than a satellite turns in a second, seen from below. The series does not say which satellite serves.
_TURN_DEG_PER_S = 1.5
_DASHED = (0, (3, 2))
_JITTER_BINS = 120


def path_delay(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The one-way propagation delay of the long path: it drifts, and jumps when a route changes."""
    series = first_flow(result).drop_nulls("path_delay_s")
    if series["path_delay_s"].n_unique() < 2:
        return None
    with figure("One-way delay of the path", result, look) as (fig, [ax]):
        path_panel(ax, result)
        heading.above(ax)
        path = result.numbers["path"]
        if path["handovers"]:
            fig.note = f"handovers: {path['user_handovers']} of the users, {path['gateway_handovers']} of the gateway"
    return fig


def path_panel(ax: Axes, result: Result) -> None:
    """The delay, with the instants at which it jumps."""
    series = first_flow(result).drop_nulls("path_delay_s")
    series = series.with_columns(pl.col("path_delay_s") * 1e3)
    ax.set_ylabel("Delay (ms)")
    if len(jumps(series, "path_delay_s", DRIFT_S_PER_S * 1e3)) > JITTERS * len(series):
        _range(ax, first_flow(result))
        return
    _broken(ax, series, "path_delay_s", DRIFT_S_PER_S * 1e3, style.BLUE)
    delay = series["path_delay_s"]
    low, high = float(delay.min()), float(delay.max())  # type: ignore[arg-type]
    room = max(0.12 * (high - low), 1.0)
    ax.set_ylim(max(low - room, 0), high + room)
    of_delay = jumps(series, "path_delay_s", DRIFT_S_PER_S * 1e3)
    of_elevation = jumps(series, "elevation_deg", _TURN_DEG_PER_S) if "elevation_deg" in series.columns else []
    _mark(ax, of_elevation, style.ORANGE, "the elevation jumps")
    alone = [time for time in of_delay if time not in of_elevation]
    _mark(ax, alone, style.GREY, "only the delay jumps" if of_elevation else "the delay jumps")


def _range(ax: Axes, series: pl.DataFrame) -> None:
    """The median and the range of most samples of a delay that jitters: no jump of it is an event."""
    value = pl.col("path_delay_s") * 1e3
    ends = [value.quantile(share).alias(name) for name, share in (("low", 0.05), ("middle", 0.5), ("high", 0.95))]
    binned = instants(series, _JITTER_BINS).group_by("bin", maintain_order=True).agg(ends)
    look: Any = {"color": style.SKY, "alpha": 0.4, "linewidth": 0, "label": "5 to 95 %"}
    ax.fill_between(binned["bin"], binned["low"], binned["high"], step="post", **look)
    ax.step(binned["bin"], binned["middle"], where="post", color=style.BLUE, label="median")
    scales.from_zero(ax, float(binned["high"].max() or 0.0))  # type: ignore[arg-type]


def satellite(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The elevation of the serving satellite and the Doppler shift of the carrier, as the users see them."""
    if "elevation_deg" not in result.series.columns:
        return None
    series = first_flow(result)
    has_carrier = series["doppler_hz"].null_count() < len(series)
    rows = 2 if has_carrier else 1
    with figure("The satellite that serves the users", result, look, rows=rows, height=2.2 * rows + 0.4) as (fig, axes):
        turns = jumps(series, "elevation_deg", _TURN_DEG_PER_S)
        _broken(axes[0], series, "elevation_deg", _TURN_DEG_PER_S, style.BLUE)
        axes[0].set_ylabel("Elevation (deg)")
        axes[0].set_ylim(0, 90)
        if has_carrier:
            shift = pl.when(pl.col("time_s").is_in(turns)).then(None).otherwise(pl.col("doppler_hz") / 1e3)
            axes[1].plot(series["time_s"], series.select(shift).to_series(), color=style.PURPLE)
            axes[1].axhline(0, color=style.GREY, linewidth=0.6)
            axes[1].set_ylabel("Doppler shift (kHz)")
        for ax in axes:
            _mark(ax, turns, style.ORANGE, "the elevation jumps" if ax is axes[0] else None)
        if turns:
            heading.above(axes[0])
    return fig


def return_link(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The return link over time: load and losses of random access, granted and used slots, waiting datagrams."""
    series = result.series
    if "waiting_datagrams" not in series.columns:
        return None
    waiting = (
        instants(first_flow(result), _BINS).group_by("centre", maintain_order=True).agg(pl.mean("waiting_datagrams"))
    )
    binned = (
        intervals(first_flow(result), _BINS)
        .group_by("centre", maintain_order=True)
        .agg(
            pl.sum("random_packets", "random_lost", "random_slots", "granted_slots", "used_slots"),
            # The last bin may not be full.
            lasts_s=pl.max("time_s") - pl.first("bin"),
        )
        .with_columns(
            load=(pl.col("random_packets") / pl.col("random_slots")).fill_nan(0.0),
            lost=(pl.col("random_lost") / pl.col("random_slots")).fill_nan(0.0),
        )
    )
    random, dedicated = (binned[name].sum() > 0 for name in ("random_packets", "granted_slots"))
    if not (random or dedicated):
        return None
    rows = 1 + random + dedicated
    with figure("Return link", result, look, rows=rows, height=0.4 + 1.6 * rows) as (fig, axes):
        panels = iter(axes)
        if random:
            ax = next(panels)
            ax.plot(binned["centre"], binned["load"], color=style.BLUE, label="sent")
            ax.plot(binned["centre"], binned["lost"], color=style.RED, label="lost")
            ax.set_ylabel("Random access\n(packets per slot)")
            heading.above(ax)
        if dedicated:
            ax = next(panels)
            ax.plot(binned["centre"], binned["granted_slots"] / binned["lasts_s"], color=style.SKY, label="granted")
            ax.plot(binned["centre"], binned["used_slots"] / binned["lasts_s"], color=style.BLUE, label="used")
            ax.set_ylabel("Dedicated access\n(slots per s)")
            heading.above(ax)
        ax = next(panels)
        ax.plot(waiting["centre"], waiting["waiting_datagrams"], color=style.GREEN)
        ax.set_ylabel("Waiting\n(datagrams)")
        for ax in axes:
            ax.set_ylim(bottom=0)
    return fig


def _broken(ax: Axes, series: pl.DataFrame, column: str, per_s: float, color: str) -> None:
    """A line that is interrupted where the column jumps."""
    value = pl.when(pl.col("time_s").is_in(jumps(series, column, per_s))).then(None).otherwise(pl.col(column))
    ax.plot(series["time_s"], series.select(value).to_series(), color=color)


def _mark(ax: Axes, times: list[float], color: str, label: str | None) -> None:
    for index, time in enumerate(times):
        name = label if index == 0 else None
        ax.axvline(time, color=color, linewidth=0.9, linestyle=_DASHED, label=name)
