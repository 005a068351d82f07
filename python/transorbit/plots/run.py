"""Plots of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from transorbit.plots import style

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.result import Result

# Up to this many flows get a line each; more become a band.
_LINES = 6
# Time bins of averages.
_BINS = 300
_HARQ_BINS = 120
# The first transmissions light to dark; the colour of failure apart.
_DECODED = ("#c6dbef", "#7fb2d9", "#3a7fb8", "#0b4a86", "#062b52", "#041c36")


def goodput(result: Result) -> Figure | None:
    """Bytes handed to the receiving application over time, each flow and all together."""
    series = _binned(result.series, _BINS, pl.col("goodput_bps").mean() / 1e6)
    with _figure("Goodput", result) as (fig, [ax]):
        flows = result.summary["flows"]
        mean = result.goodput_bps / 1e6
        if len(flows) > 1:
            total = series.group_by("time_s", maintain_order=True).agg(pl.col("goodput_bps").sum())
            ax.plot(total["time_s"], total["goodput_bps"], color=style.BLACK, label=f"all {len(flows)} flows")
        _lines(ax, series, "goodput_bps", result)
        ax.axhline(mean, color=style.GREY, linewidth=0.9, linestyle=(0, (4, 3)), label=f"mean {mean:.3g} Mbit/s")
        ax.set_ylabel("Goodput (Mbit/s)")
        ax.set_ylim(bottom=0)
        style.above(ax)
    return fig


def window(result: Result) -> Figure | None:
    """The sender's window and slow-start threshold, and the round-trip time it measures."""
    series = _binned(
        result.series,
        _BINS * 2,
        pl.col("cwnd_packets").mean(),
        pl.col("ssthresh_packets").mean(),
        pl.col("srtt_s").mean() * 1e3,
        pl.col("rto_s").mean() * 1e3,
    )
    if series["cwnd_packets"].null_count() == len(series):
        return None
    with _figure("Congestion window and round-trip time", result, rows=2, height=4.4) as (fig, [top, low]):
        _lines(top, series, "cwnd_packets", result)
        if _one(result):
            top.plot(
                series["time_s"],
                # The threshold is infinite until the first loss, and not drawn there.
                series["ssthresh_packets"].clip(upper_bound=2 * float(series["cwnd_packets"].max() or 1)),  # type: ignore[arg-type]
                color=style.ORANGE,
                linewidth=0.9,
                label="slow-start threshold",
            )
        top.set_ylabel("Window (packets)")
        top.set_ylim(0, 1.08 * float(series["cwnd_packets"].max() or 1))  # type: ignore[arg-type]
        style.above(top)
        _lines(low, series, "srtt_s", result, label="smoothed RTT")
        if _one(result):
            low.plot(
                series["time_s"], series["rto_s"], color=style.ORANGE, linewidth=0.9, label="retransmission timeout"
            )
        low.set_ylabel("Time (ms)" if _one(result) else "Smoothed RTT (ms)")
        low.set_ylim(bottom=0)
        style.above(low)
    return fig


def path_delay(result: Result) -> Figure | None:
    """The one-way propagation delay of the long path: it drifts, and jumps when a route changes."""
    series = _first_flow(result).drop_nulls("path_delay_s")
    if series.is_empty():
        return None
    delay = series["path_delay_s"] * 1e3
    with _figure("One-way delay of the path", result) as (fig, [ax]):
        ax.plot(series["time_s"], delay, color=style.BLUE)
        low, high = float(delay.min()), float(delay.max())  # type: ignore[arg-type]
        room = max(0.12 * (high - low), 1.0)
        ax.set_ylim(max(low - room, 0), high + room)
        ax.set_ylabel("Delay (ms)")
        path = result.summary["path"]
        if path["handovers"]:
            told = f"handovers: {path['user_handovers']} of the users, {path['gateway_handovers']} of the gateway"
            ax.set_title(told, loc="right", fontsize=8, fontweight="normal")
    return fig


def satellite(result: Result) -> Figure | None:
    """The elevation of the serving satellite and the Doppler shift of the carrier, as the users see them."""
    if "elevation_deg" not in result.series.columns:
        return None
    series = _first_flow(result)
    has_carrier = series["doppler_hz"].null_count() < len(series)
    rows = 2 if has_carrier else 1
    with _figure("The satellite that serves the users", result, rows=rows, height=2.2 * rows + 0.4) as (fig, axes):
        top = axes[0]
        top.plot(series["time_s"], series["elevation_deg"], color=style.BLUE)
        top.set_ylabel("Elevation (deg)")
        top.set_ylim(0, 90)
        if has_carrier:
            axes[1].plot(series["time_s"], series["doppler_hz"] / 1e3, color=style.ORANGE)
            axes[1].axhline(0, color=style.GREY, linewidth=0.6)
            axes[1].set_ylabel("Doppler shift (kHz)")
    return fig


def harq(result: Result) -> Figure | None:
    """How many transmissions the packets of each moment needed, under the channel's attenuation where it has one."""
    attenuation = _first_flow(result).drop_nulls("attenuation_db")
    counts = [name for name in result.series.columns if name.startswith("decoded_after_")]
    fades = attenuation["attenuation_db"].n_unique() > 1
    if not counts or not (fades or len(counts) > 1):
        return None
    shares = _shares(_first_flow(result), [*counts, "harq_failed"])
    if not fades:
        with _figure("HARQ outcome", result) as (fig, [low]):
            _stack(low, shares)
        return fig
    with _figure("Attenuation and HARQ outcome", result, rows=2, height=4.8) as (fig, [top, low]):
        _attenuation(top, attenuation)
        _stack(low, shares)
    return fig


def queue(result: Result) -> Figure | None:
    """The queue before the last hop, and the coded rate that leaves it."""
    series = (
        _bins(_first_flow(result), _BINS * 2)
        .group_by("bin", maintain_order=True)
        .agg(
            pl.col("queue_packets").mean().alias("mean"),
            pl.col("queue_packets").max().alias("max"),
            pl.col("coded_bps").mean() / 1e6,
        )
    )
    if series["mean"].null_count() == len(series):
        return None
    with _figure("Queue and load of the last hop", result, rows=2, height=4.4) as (fig, [top, low]):
        top.fill_between(series["bin"], 0, series["max"], color=style.SKY, alpha=0.35, linewidth=0, label="largest")
        top.plot(series["bin"], series["mean"], color=style.BLUE, label="mean")
        top.set_ylabel("Queue (packets)")
        top.set_ylim(bottom=0)
        style.above(top)
        low.plot(series["bin"], series["coded_bps"], color=style.GREEN)
        low.set_ylabel("Coded rate sent (Mbit/s)")
        low.set_ylim(bottom=0)
    return fig


def return_link(result: Result) -> Figure | None:
    """The return link over time: load and losses of random access, granted and used slots, waiting datagrams."""
    series = result.series
    if "waiting_datagrams" not in series.columns:
        return None
    binned = (
        _bins(_first_flow(result), _BINS)
        .group_by("bin", maintain_order=True)
        .agg(
            pl.sum("random_packets", "random_lost", "random_slots", "granted_slots", "used_slots"),
            pl.mean("waiting_datagrams"),
        )
        .with_columns(
            load=(pl.col("random_packets") / pl.col("random_slots")).fill_nan(0.0),
            lost=(pl.col("random_lost") / pl.col("random_slots")).fill_nan(0.0),
        )
    )
    starts = binned["bin"]
    width = (starts[1] - starts[0] if len(starts) > 1 else result.summary["simulated_s"]) or 1.0
    random, dedicated = (binned[name].sum() > 0 for name in ("random_packets", "granted_slots"))
    if not (random or dedicated):
        return None
    with _figure("Return link", result, rows=1 + random + dedicated, height=2.0 + 1.6 * (random + dedicated)) as (
        fig,
        axes,
    ):
        panels = iter(axes)
        if random:
            ax = next(panels)
            ax.plot(binned["bin"], binned["load"], color=style.BLUE, label="sent")
            ax.plot(binned["bin"], binned["lost"], color=style.RED, label="lost")
            ax.set_ylabel("Random access\n(packets per slot)")
            style.above(ax)
        if dedicated:
            ax = next(panels)
            ax.plot(binned["bin"], binned["granted_slots"] / width, color=style.SKY, label="granted")
            ax.plot(binned["bin"], binned["used_slots"] / width, color=style.BLUE, label="used")
            ax.set_ylabel("Dedicated access\n(slots per s)")
            style.above(ax)
        ax = next(panels)
        ax.plot(binned["bin"], binned["waiting_datagrams"], color=style.GREEN)
        ax.set_ylabel("Waiting\n(datagrams)")
        for ax in axes:
            ax.set_ylim(bottom=0)
    return fig


def _attenuation(ax: Axes, series: pl.DataFrame) -> None:
    """The median as a line inside most of the range, upside down: a deep fade points down."""
    binned = (
        _bins(series, _HARQ_BINS)
        .group_by("bin", maintain_order=True)
        .agg(
            pl.col("attenuation_db").median().alias("median"),
            pl.col("attenuation_db").quantile(0.05).alias("low"),
            pl.col("attenuation_db").quantile(0.95).alias("high"),
        )
    )
    ax.fill_between(
        binned["bin"],
        binned["low"],
        binned["high"],
        step="post",
        color=style.SKY,
        alpha=0.4,
        linewidth=0,
        label="5 to 95 %",
    )
    ax.step(binned["bin"], binned["median"], where="post", color=style.BLUE, label="median")
    ax.invert_yaxis()
    ax.set_ylabel("Attenuation (dB)")
    style.above(ax)


def _shares(series: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Percent of the packets of each time bin by outcome; 0 where there was none."""
    counts = _bins(series, _HARQ_BINS).group_by("bin", maintain_order=True).agg(pl.col(names).sum())
    return counts.with_columns((pl.col(names) / pl.sum_horizontal(names) * 100).fill_nan(0))


def _stack(ax: Axes, shares: pl.DataFrame) -> None:
    """Shares on top of each other, the first transmission below, failure at the top."""
    bins = shares["bin"]
    edges = [*bins, float(bins[-1]) + (float(bins[1] - bins[0]) if len(bins) > 1 else 1.0)]
    bottom = [0.0] * len(bins)
    for index, name in enumerate(shares.columns[1:]):
        failed = name == "harq_failed"
        top = [start + share for start, share in zip(bottom, shares[name], strict=True)]
        color = style.RED if failed else _DECODED[min(index, len(_DECODED) - 1)]
        ax.stairs(top, edges, baseline=bottom, fill=True, color=color, label="never" if failed else f"{index + 1}")
        bottom = top
    ax.set_ylim(0, 100)
    ax.set_ylabel("Packets decoded after\nn transmissions (%)")
    ax.grid(visible=False)
    style.above(ax)


def _lines(ax: Axes, series: pl.DataFrame, column: str, result: Result, *, label: str | None = None) -> None:
    """A line for each flow, or the median and the range of most of them."""
    flows = result.summary["flows"]
    if len(flows) <= _LINES:
        for flow in flows:
            own = series.filter(pl.col("flow") == flow["id"])
            name = (
                label
                if label and len(flows) == 1
                else f"flow {flow['id']} ({flow.get('congestion') or flow['transport']})"
            )
            ax.plot(own["time_s"], own[column], label=name)
        return
    spread = series.group_by("time_s", maintain_order=True).agg(
        pl.col(column).median().alias("median"),
        pl.col(column).quantile(0.1).alias("low"),
        pl.col(column).quantile(0.9).alias("high"),
    )
    ax.fill_between(
        spread["time_s"],
        spread["low"],
        spread["high"],
        color=style.SKY,
        alpha=0.4,
        linewidth=0,
        label="10 to 90 % of flows",
    )
    ax.plot(spread["time_s"], spread["median"], color=style.BLUE, label="median flow")


def _binned(series: pl.DataFrame, bins: int, *columns: pl.Expr) -> pl.DataFrame:
    """Each flow's columns, averaged in time bins when there are more rows than a plot can show."""
    return (
        _bins(series, bins)
        .group_by("flow", "bin", maintain_order=True)
        .agg(*columns)
        .rename({"bin": "time_s"})
        .sort("flow", "time_s")
    )


def _bins(series: pl.DataFrame, bins: int) -> pl.DataFrame:
    """Adds `bin`, the start of each row's time bin; at most `bins` of them. A row stands for the interval before it."""
    times = series["time_s"]
    span = float(times.max() or 0) - float(times.min() or 0)  # type: ignore[arg-type]
    rows = times.n_unique()
    width = span / min(bins, max(rows - 1, 1)) or 1.0
    # A bin is a whole number of rows: uneven counts would show as ripples.
    width = max(round(width / (span / max(rows - 1, 1) or 1.0)), 1) * (span / max(rows - 1, 1) or 1.0)
    number = ((pl.col("time_s") / width - 1e-9).ceil() - 1).clip(lower_bound=0)
    return series.with_columns((number * width).alias("bin"))


def _first_flow(result: Result) -> pl.DataFrame:
    """The rows of the first flow: the columns of link and path are the same for all flows."""
    return result.series.filter(pl.col("flow") == pl.col("flow").min())


def _one(result: Result) -> bool:
    return len(result.summary["flows"]) == 1


def _figure(
    what: str, result: Result, *, rows: int = 1, height: float = 3.0
) -> AbstractContextManager[tuple[Figure, list[Axes]]]:
    title = f"{what}{' (stopped early)' if result.partial else ''}"
    return style.figure(rows, title=title, until_s=result.summary["simulated_s"], height=height)
