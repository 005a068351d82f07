"""One flow over time in one figure: window, round-trip time, queue and signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._core import ScenarioError
from transorbit._flow_kinds import named
from transorbit.plots import heading, style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

# More points of time than a page can show are averaged.
_POINTS = 700


def timeline(
    result: Result,
    *,
    flow: int | None = None,
    from_s: float | None = None,
    until_s: float | None = None,
    width: float = style.DOUBLE_IN,
    title: str | None = None,
) -> Figure | None:
    """The congestion window, the smoothed round-trip time, the queue and the signal over the same time.

    None if the run kept no series. Ticks below the window are retransmissions. The signal is the SNR where the channel
    has one reference for the whole run, else the attenuation. A panel that has nothing to show is left out.

    Args:
        flow: the flow with this window and round-trip time; by default the first.
        from_s, until_s: the time shown; by default all.
        width: in inches.
        title: by default the scenario's, and the flow; "" is none.

    Raises:
        ScenarioError: no such flow, or nothing in this time.
    """
    if result.series.is_empty():
        return None
    chosen = _flow(result, flow)
    begin, end = from_s or 0.0, result.numbers["simulated_s"] if until_s is None else until_s
    own = result.series.filter((pl.col("flow") == chosen["id"]) & pl.col("time_s").is_between(begin, end))
    if len(own) < 2:
        raise ScenarioError(f"timeline: the series has nothing between {begin:g} s and {end:g} s")
    series = _averaged(own)
    panels: list[Callable[[Axes, pl.DataFrame], None]] = [
        panel for column, panel in _PANELS.items() if column in series.columns and _says_something(series[column])
    ]
    if not panels:
        return None
    channel = result.numbers.get("channel") or {}
    reference = None if channel.get("reference_varies") else channel.get("reference_snr_db")
    if reference is not None and "attenuation_db" in series.columns:
        series = series.with_columns(snr_db=reference - pl.col("attenuation_db"))
    usual = heading.of_run(f"{result.title}: {named(chosen)}", result)
    title = usual if title is None else title
    with style.grid(len(panels), width=width, height=0.4 + 1.2 * len(panels), sharex=True, title=title) as (fig, axes):
        for panel, [ax] in zip(panels, axes, strict=True):
            panel(ax, series)
        axes[-1][0].set_xlabel("Time (s)")
        axes[-1][0].set_xlim(begin, end)
        fig.numbers = series
    return fig


def _flow(result: Result, wanted: int | None) -> dict[str, Any]:
    flows = result.summary["flows"]
    candidate_flows = [flow for flow in flows if wanted is None or flow["id"] == wanted]
    if not candidate_flows:
        raise ScenarioError(f"flow: there is no flow {wanted}: 0 to {len(flows) - 1}")
    return dict(candidate_flows[0])


def _says_something(column: pl.Series) -> bool:
    """Whether a column is worth a panel: a queue with a value above zero, an attenuation with two values."""
    if column.name == "queue_packets":
        return bool(column.max())
    return column.null_count() < len(column) and (column.name != "attenuation_db" or column.n_unique() > 1)


def _averaged(own: pl.DataFrame) -> pl.DataFrame:
    """Neighbouring rows averaged where there are more than a page shows; what is counted is added up."""
    rows = -(-len(own) // _POINTS)
    groups = own.with_row_index("\0bin").group_by(pl.col("\0bin") // rows, maintain_order=True)
    means = [
        name for name in ("cwnd_packets", "ssthresh_packets", "in_flight_packets", "srtt_s", "rto_s") if name in own
    ]
    means += [name for name in ("queue_packets", "attenuation_db") if name in own.columns]
    counted = [name for name in ("retransmitted_packets",) if name in own.columns]
    largest = pl.max("queue_packets").alias("queue_packets_max")
    return groups.agg(pl.first("time_s"), pl.mean(*means), pl.sum(*counted), largest).drop("\0bin")


def _window(ax: Axes, series: pl.DataFrame) -> None:
    times, top = series["time_s"], 1.1 * float(series["cwnd_packets"].max() or 1)  # type: ignore[arg-type]
    # The threshold is unbounded until the first loss.
    ax.plot(
        times,
        series["ssthresh_packets"].clip(upper_bound=2 * top),
        color=style.ORANGE,
        label="slow-start threshold",
        **_THIN,
    )
    ax.plot(times, series["cwnd_packets"], color=style.BLUE, linewidth=2.0, label="congestion window")
    # It follows the window closely: on top and dashed, both are seen.
    ax.plot(times, series["in_flight_packets"], color=style.SKY, linestyle=(0, (3, 1.5)), label="in flight", **_THIN)
    again = series.filter(pl.col("retransmitted_packets") > 0)["time_s"]
    if len(again):
        ax.plot(again, [0.02] * len(again), transform=ax.get_xaxis_transform(), label="retransmitted", **_MARK)
    ax.set_ylim(0, top)
    ax.set_ylabel("Window\n(packets)")
    heading.legend(ax.figure, ax.get_legend_handles_labels()[0])  # type: ignore[arg-type]


def _round_trip(ax: Axes, series: pl.DataFrame) -> None:
    ax.plot(series["time_s"], 1e3 * series["srtt_s"], color=style.GREEN)
    ax.set_ylabel("Smoothed RTT\n(ms)")


def _queue(ax: Axes, series: pl.DataFrame) -> None:
    ax.fill_between(series["time_s"], 0, series["queue_packets_max"], color=style.SKY, alpha=0.4, linewidth=0)
    ax.plot(series["time_s"], series["queue_packets"], color=style.BLUE)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("Queue\n(packets)")


def _signal(ax: Axes, series: pl.DataFrame) -> None:
    if "snr_db" in series.columns:
        ax.plot(series["time_s"], series["snr_db"], color=style.PURPLE)
        ax.set_ylabel("SNR (dB)")
        return
    ax.plot(series["time_s"], series["attenuation_db"], color=style.PURPLE)
    ax.invert_yaxis()
    ax.set_ylabel("Attenuation\n(dB)")


_THIN: Any = {"linewidth": 0.8}
_MARK: Any = {"linestyle": "none", "marker": "|", "markersize": 5, "color": style.RED, "clip_on": False}
# A panel, if its column has different values.
_PANELS = {"cwnd_packets": _window, "srtt_s": _round_trip, "queue_packets": _queue, "attenuation_db": _signal}
