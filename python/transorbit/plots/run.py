"""Plots of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit import _numbers
from transorbit._flow_kinds import of_transport
from transorbit.plots import heading, scales, style

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

# Up to this many flows get a line each; more become a band.
LINES = 6
# Time bins of averages, at most and at least.
_BINS = 300
_FEWEST_BINS = 40
_HARQ_BINS = 120
# The first transmissions light to dark; the colour of failure apart.
_DECODED = ("#c6dbef", "#7fb2d9", "#3a7fb8", "#0b4a86", "#062b52", "#041c36")


def goodput(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """Bytes handed to the receiving application over time, all together and each flow."""
    flows = len(result.flows)
    samples = _goodput_samples(result)
    series = _of_flows(samples, pl.col("goodput_bps").mean())
    spread = _spread(series, "goodput_bps")
    # Where most flows rest at every instant, a panel of their range would be empty.
    moving = flows > LINES and _highest(spread, "median") > 0
    highest = _highest(spread, "high") if moving else 0.0
    rows = 2 if highest else 1
    with figure("Goodput", result, look, rows=rows, height=1.5 + 1.5 * rows) as (fig, axes):
        goodput_panel(axes[0], result, samples, each=flows <= LINES)
        axes[0].set_ylabel("Goodput (Mbit/s)" if rows == 1 else "All flows (Mbit/s)")
        if highest:
            # In the panel of the sum they would lie on the axis.
            scale, unit = (1.0, "Mbit/s") if highest >= 1 else (1e3, "kbit/s")
            _lines(axes[1], series.with_columns(pl.col("goodput_bps") * scale), "goodput_bps", result)
            axes[1].set_ylabel(f"A flow ({unit})")
            axes[1].set_ylim(bottom=0)
            heading.above(axes[1])
        heading.above(axes[0])
        fig.note = at_once(result, samples)
    return fig


def at_once(result: Result, samples: pl.DataFrame | None = None) -> str:
    """A note where the goodput of the downloads exceeds what the last hop carries, and empty elsewhere."""
    samples = _goodput_samples(result) if samples is None else samples
    down = result.flows.filter(pl.col("direction") == "down")["id"]
    total = _together(samples.filter(pl.col("flow").is_in(down.implode())))
    rate = _highest(result.series, "coded_bps") / 1e6
    exceeds = rate and _highest(total, "goodput_bps") > 1.02 * rate
    return "Goodput above the link's rate: bytes that waited behind a loss arrive at once" if exceeds else ""


def window(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The sender's window and slow-start threshold, and the smoothed round-trip time."""
    series = _window_series(result)
    if series["cwnd_packets"].null_count() == len(series):
        return None
    with figure("Congestion window and round-trip time", result, look, rows=2, height=4.4) as (fig, [top, low]):
        highest = _lines(top, series, "cwnd_packets", result)
        if _one(result):
            top.plot(
                series["time_s"],
                # The threshold is infinite until the first loss, and not drawn there.
                series["ssthresh_packets"].clip(upper_bound=2 * highest),
                color=style.ORANGE,
                linewidth=0.9,
                label="slow-start threshold",
            )
        top.set_ylabel("Window (packets)")
        scales.from_zero(top, highest)
        heading.above(top)
        round_trip_panel(low, result, series)
        heading.above(low)
    return fig


def harq(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """How many transmissions the packets of each moment needed, under the channel's attenuation where it has one.

    The packets are those of all users, and the attenuation that of the user of the first flow.
    """
    one, counts = first_flow(result), _decoded(result)
    fades = one["attenuation_db"].drop_nulls().n_unique() > 1
    if not counts or not (fades or len(counts) > 1):
        return None
    if not fades:
        with figure("HARQ outcome", result, look) as (fig, [low]):
            harq_panel(low, result)
        return fig
    with figure("Attenuation and HARQ outcome", result, look, rows=2, height=4.8) as (fig, [top, low]):
        _attenuation(top, one)
        users = result.flows["user"]
        if users.n_unique() > 1:
            top.set_ylabel(f"Attenuation of\nuser {users[0]} (dB)")
            fig.note = "The packets are those of all users"
        harq_panel(low, result)
    return fig


def queue(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The queue before the last hop, and the coded rate that leaves it."""
    waiting, load = _queue_series(result), _load_series(result)
    if not (waiting["max"].max() or load["coded_bps"].max()):
        return None
    with figure("Queue and load of the last hop", result, look, rows=2, height=4.4) as (fig, [top, low]):
        queue_panel(top, result)
        heading.above(top)
        low.plot(load["centre"], load["coded_bps"], color=style.GREEN)
        low.set_ylabel("Coded rate sent (Mbit/s)")
        low.set_ylim(bottom=0)
    return fig


def queue_delay(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """How long each flow's packets waited in the queue of the last hop, on a scale of decades."""
    if "queue_delay_s" not in result.series.columns:
        return None
    # A wait below 10 µs is none to see.
    waited = pl.col("queue_delay_s").fill_nan(None).mean().clip(lower_bound=1e-5) * 1e3
    series = _of_flows(instants(result.series, _BINS), waited).drop_nulls("queue_delay_s")
    if series.is_empty():
        return None
    with figure("Wait in the queue of the last hop", result, look) as (fig, [ax]):
        _lines(ax, series, "queue_delay_s", result)
        ax.set_yscale("log")
        ax.set_ylabel("Wait (ms)")
        heading.above(ax)
    return fig


def goodput_panel(ax: Axes, result: Result, samples: pl.DataFrame | None = None, *, each: bool = False) -> None:
    """The goodput of all flows together and its mean, perhaps of `each` too.

    The mean of a single flow is that of the summary, over the time of the flow.
    """
    samples = _goodput_samples(result) if samples is None else samples
    flows = len(result.flows)
    total = _together(samples)
    if flows > 1 or not each:
        label = f"all {flows} flows" if flows > 1 else "goodput"
        ax.plot(total["time_s"], total["goodput_bps"], color=style.BLACK if each else style.BLUE, label=label)
    if each:
        _lines(ax, _of_flows(samples, pl.col("goodput_bps").mean()), "goodput_bps", result)
    until, mean, life = result.numbers["simulated_s"], result.goodput_bps / 1e6, {}
    if flows == 1 and until:
        mean = (result.flows["goodput_bps"][0] or 0.0) / 1e6
        _, begin, end = _lives(result).row(0)
        # As shares of the time axis, which ends with the run.
        life = {"xmin": begin / until, "xmax": min(end / until, 1.0)}
    name = f"mean {_numbers.number(mean, 3)} Mbit/s"
    ax.axhline(mean, **life, color=style.GREY, linewidth=0.9, linestyle=(0, (4, 3)), label=name)
    ax.set_ylim(bottom=0)


def round_trip_panel(ax: Axes, result: Result, series: pl.DataFrame | None = None) -> None:
    """The smoothed round-trip time; of a single flow the timeout too."""
    series = _window_series(result) if series is None else series
    highest = _lines(ax, series, "srtt_s", result, label="smoothed RTT")
    if _one(result):
        ax.plot(series["time_s"], series["rto_s"], color=style.ORANGE, linewidth=0.9, label="retransmission timeout")
        # Before the first sample it is a second, which would press the rest down.
        highest = max(highest, float(series["rto_s"].quantile(0.99) or 0.0))
    ax.set_ylabel("Time (ms)" if _one(result) else "Smoothed RTT (ms)")
    scales.from_zero(ax, highest)


def queue_panel(ax: Axes, result: Result) -> None:
    """The queue before the last hop: its mean, and its largest."""
    series = _queue_series(result)
    ax.fill_between(series["centre"], 0, series["max"], color=style.SKY, alpha=0.35, linewidth=0, label="largest")
    ax.plot(series["centre"], series["mean"], color=style.BLUE, label="mean")
    ax.set_ylabel("Queue (packets)")
    ax.set_ylim(bottom=0)


def harq_panel(ax: Axes, result: Result) -> None:
    """How many transmissions the packets of each moment needed."""
    _stack(ax, _shares(first_flow(result), [*_decoded(result), "harq_failed"]))


def _decoded(result: Result) -> list[str]:
    """The columns that count decoded packets, by their transmissions."""
    return [name for name in result.series.columns if name.startswith("decoded_")]


def _goodput_samples(result: Result) -> pl.DataFrame:
    """Each flow's goodput in Mbit/s, with the time bin of each sample; of a few flows until each has ended.

    Of many the flows that rest are part of the range. A bin lasts two round trips at least, for a loss holds back as
    much.
    """
    seconds = result.numbers["simulated_s"]
    least = min(2 * _highest(result.flows, "rtt_mean_s"), seconds / _FEWEST_BINS)
    bins = int(min(_BINS, seconds / least)) if least > 0 else _BINS
    samples = intervals(result.series, bins).with_columns(pl.col("goodput_bps") / 1e6)
    if len(result.flows) > LINES:
        return samples
    begun, lives = pl.col("time_s").shift(1, fill_value=0.0).over("flow"), _lives(result)
    # Not the interval that begins where a flow ends, but for the rounding of its end.
    return samples.join(lives, on="flow", maintain_order="left").filter(begun < pl.col("ended_s") - 1e-9)


def _lives(result: Result) -> pl.DataFrame:
    """`flow`, `opened_s` and `ended_s`: the time that its goodput is over; one that got nothing has no end."""
    # Results of an earlier version lack the column.
    opened_s = pl.col("opened_s").fill_null(0.0) if "opened_s" in result.flows.columns else pl.lit(0.0)
    life_s = 8 * pl.col("delivered_bytes") / pl.col("goodput_bps")
    ended_s = (opened_s + life_s).fill_nan(None).fill_null(float("inf"))
    return result.flows.select(pl.col("id").alias("flow"), opened_s.alias("opened_s"), ended_s.alias("ended_s"))


def _together(samples: pl.DataFrame) -> pl.DataFrame:
    """The goodput of all flows together in each bin: one that has ended adds nothing to it."""
    total = pl.col("goodput_bps").sum() / pl.col("time_s").n_unique()
    return samples.group_by("centre").agg(total).rename({"centre": "time_s"}).sort("time_s")


def _window_series(result: Result) -> pl.DataFrame:
    means = [pl.col("cwnd_packets").mean(), pl.col("ssthresh_packets").mean()]
    times = (pl.col("srtt_s").mean() * 1e3, pl.col("rto_s").mean() * 1e3)
    return _of_flows(instants(result.series, _BINS * 2), *means, *times)


def _queue_series(result: Result) -> pl.DataFrame:
    queue = pl.col("queue_packets")
    binned = instants(first_flow(result), _BINS * 2).group_by("centre", maintain_order=True)
    return binned.agg(queue.mean().alias("mean"), queue.max().alias("max"))


def _load_series(result: Result) -> pl.DataFrame:
    binned = intervals(first_flow(result), _BINS * 2).group_by("centre", maintain_order=True)
    return binned.agg(pl.col("coded_bps").mean() / 1e6)


def _attenuation(ax: Axes, series: pl.DataFrame) -> None:
    """The median as a line inside most of the range, upside down: a deep fade points down."""
    binned = (
        instants(series, _HARQ_BINS)
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
    heading.above(ax)


def _shares(series: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Percent of the packets of each time bin by outcome; 0 where there was none."""
    counts = intervals(series, _HARQ_BINS).group_by("bin", maintain_order=True).agg(pl.col(names).sum())
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
        label = "never" if failed else "later" if name == "decoded_later" else f"{index + 1}"
        ax.stairs(top, edges, baseline=bottom, fill=True, color=color, label=label)
        bottom = top
    ax.set_ylim(0, 100)
    ax.set_ylabel("Packets decoded after\nn transmissions (%)")
    ax.grid(visible=False)
    heading.above(ax)


def _lines(ax: Axes, series: pl.DataFrame, column: str, result: Result, *, label: str | None = None) -> float:
    """A line for each flow, or the median and the range of most of them; gives the highest value drawn, 1 without."""
    flows = result.flows
    if len(flows) <= LINES:
        for index, flow in enumerate(flows.iter_rows(named=True)):
            own = series.filter(pl.col("flow") == flow["id"])
            if own[column].is_null().all() or own[column].is_nan().all():
                continue
            name = f"flow {flow['id']} ({of_transport(flow)})"
            # A flow has its colour in all panels, also in one that has nothing of those before it.
            ax.plot(
                own["time_s"], own[column], color=style.CYCLE[index], label=label if label and len(flows) == 1 else name
            )
        return _highest(series, column) or 1.0
    spread = _spread(series, column)
    look: dict[str, Any] = {"color": style.SKY, "alpha": 0.4, "linewidth": 0, "label": "10 to 90 % of flows"}
    ax.fill_between(spread["time_s"], spread["low"], spread["high"], **look)
    ax.plot(spread["time_s"], spread["median"], color=style.BLUE, label="median flow")
    return _highest(spread, "high") or 1.0


def _highest(table: pl.DataFrame, column: str) -> float:
    """The highest value of a column, 0 without any."""
    return float(table[column].max() or 0.0)  # type: ignore[arg-type]


def _spread(series: pl.DataFrame, column: str) -> pl.DataFrame:
    value = pl.col(column)
    spread = series.group_by("time_s", maintain_order=True).agg(
        value.median().alias("median"), value.quantile(0.1).alias("low"), value.quantile(0.9).alias("high")
    )
    return spread.sort("time_s")


def _of_flows(binned: pl.DataFrame, *columns: pl.Expr) -> pl.DataFrame:
    """Each flow's columns in each bin."""
    of_bins = binned.group_by("flow", "centre", maintain_order=True).agg(*columns)
    return of_bins.rename({"centre": "time_s"}).sort("flow", "time_s")


def intervals(series: pl.DataFrame, bins: int) -> pl.DataFrame:
    """Adds the time bin of each row, for what is told of the interval before a row; at most `bins` of them.

    `bin` is its start, where a step begins, and `centre` the place of a point. The first row is left out: it has no
    interval.
    """
    return _in_bins(series, bins, 1)


def instants(series: pl.DataFrame, bins: int) -> pl.DataFrame:
    """As `intervals` for what is told of the instant of a row; about `bins` at most."""
    return _in_bins(series, bins, 0)


def _in_bins(series: pl.DataFrame, bins: int, first: int) -> pl.DataFrame:
    """The rows from the `first` instant on, in bins of as many instants each: uneven counts would show as ripples."""
    times = series["time_s"].unique().sort()
    length = max(-(-(len(times) - 1) // bins), 1)
    index = pl.int_range(min(first, len(times) - 1), len(times), eager=True)
    begins = (index - index.min()) // length * length
    starts, ends = times.gather(begins), times.gather((begins + length - 1 + first).clip(upper_bound=len(times) - 1))
    of_instants = pl.DataFrame({"time_s": times.gather(index), "bin": starts, "centre": (starts + ends) / 2})
    return series.join(of_instants, on="time_s", maintain_order="left")


def first_flow(result: Result) -> pl.DataFrame:
    """The rows of the first flow: the columns of link and path are the same for all flows."""
    return result.series.filter(pl.col("flow") == pl.col("flow").min())


def _one(result: Result) -> bool:
    return len(result.flows) == 1


def figure(
    name: str, result: Result, look: style.Look, *, rows: int = 1, height: float = 3.0
) -> AbstractContextManager[tuple[heading.Chart, list[Axes]]]:
    """A figure over the time of a run."""
    title = heading.of_run(name, result)
    return style.figure(rows, title=title, until_s=result.numbers["simulated_s"], height=height, look=look)
