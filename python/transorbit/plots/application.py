"""Plots of what applications had over time: a player's buffer, bit rate and latency, a game's delays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from matplotlib.ticker import MaxNLocator

from transorbit import _flow_kinds
from transorbit.plots import heading, run, scales, style

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

# Up to this many flows get a line each; more become a band.
_LINES = 6
_BINS = 600


class State(NamedTuple):
    """A column of the series, and how it is drawn."""

    column: str
    label: str
    scale: float = 1.0
    step: bool = False


BUFFER = State("buffer_s", "Buffer (s)")
BITRATE = State("bitrate_bps", "Bit rate played\n(Mbit/s)", 1e-6, step=True)
LATENCY = State("latency_s", "Latency to live\n(s)")
DOWN = State("down_delay_s", "Updates\n(ms)", 1e3)
UP = State("up_delay_s", "Commands\n(ms)", 1e3)


def says(result: Result, state: State) -> bool:
    """Whether a run has such a state."""
    series = result.series
    return state.column in series.columns and series[state.column].null_count() < len(series)


def video(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """Draws the state of video players over time: the bit rate played, the media in the buffer, the latency to live."""
    states = [state for state in (BITRATE, BUFFER, LATENCY) if says(result, state)]
    if not states:
        return None
    height = 1.5 + 1.4 * len(states)
    with run.figure("Video", result, look, rows=len(states), height=height) as (fig, axes):
        for state, ax in zip(states, axes, strict=True):
            panel(ax, result, state)
        heading.above(axes[0])
        fig.note = _experience(result)
    return fig


def game(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The delays of a game, player by player: median, 95th and 99th percentile each way, and of the response."""
    games = result.reports("game")
    if games.is_empty():
        return None
    games = games.sort("response_p95_s", nulls_last=True, maintain_order=True)
    rank = range(1, len(games) + 1)
    title = heading.of_run("Games, player by player", result)
    with style.plain(title=title, rows=3, height=5.2, look=look) as (fig, axes):
        delays = (("down_delay", "Updates\n(ms)"), ("up_delay", "Commands\n(ms)"), ("response", "Response\n(ms)"))
        for (key, label), ax in zip(delays, axes, strict=True):
            for index, (share, marker) in enumerate((("p50", "o"), ("p95", "s"), ("p99", "^"))):
                times = zip(rank, games[f"{key}_{share}_s"], strict=True)
                points = {n: 1e3 * time for n, time in times if time is not None}
                color = (style.BLUE, style.SKY, style.RED)[index]
                name = f"{'median' if share == 'p50' else share[1:] + ' %'}"
                ax.plot([*points], [*points.values()], linestyle="none", marker=marker, color=color, label=name)
            ax.set_ylabel(label)
            scales.from_zero(ax, ax.dataLim.y1)
        axes[-1].set_xlabel("Players, the quickest response first")
        axes[-1].set_xlim(0.5, len(games) + 0.5)
        axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        heading.above(axes[0])
        late = games["late_ratio"].drop_nulls()
        fig.note = f"late or lost: {100 * sum(late) / len(late):.3g} %" if len(late) else ""
    return fig


def panel(ax: Axes, result: Result, state: State) -> None:
    """A state over time: a line for each flow that has it, or the median and the range of most of them."""
    value = pl.col(state.column)
    series = run.instants(result.series, _BINS).drop_nulls(state.column)
    at = "bin" if state.step else "centre"
    of_bins = series.group_by("flow", at, maintain_order=True)
    one = value.last() if state.step else value.mean()
    binned = of_bins.agg((one * state.scale).alias("value"))
    look: dict[str, Any] = {"drawstyle": "steps-post"} if state.step else {}
    flows = binned["flow"].unique().sort()
    if len(flows) <= _LINES:
        drawn = result.flows.filter(pl.col("id").is_in(flows.implode()))
        names = {flow["id"]: _name(flow) for flow in drawn.iter_rows(named=True)}
        for flow in flows:
            own = binned.filter(pl.col("flow") == flow).sort(at)
            ax.plot(own[at], own["value"], label=names[flow], **look)
    else:
        of_all = pl.col("value")
        spread = binned.group_by(at).agg(
            of_all.median().alias("median"), of_all.quantile(0.1).alias("low"), of_all.quantile(0.9).alias("high")
        )
        spread = spread.sort(at)
        band: dict[str, Any] = {"color": style.SKY, "alpha": 0.4, "linewidth": 0, "label": "10 to 90 % of flows"}
        ax.fill_between(spread[at], spread["low"], spread["high"], **band)
        ax.plot(spread[at], spread["median"], color=style.BLUE, label="median flow")
    ax.set_ylabel(state.label)
    scales.from_zero(ax, ax.dataLim.y1)


def _name(flow: dict[str, Any]) -> str:
    return f"flow {flow['id']} ({flow['traffic']}, {flow['congestion'] or flow['transport']})"


def _experience(result: Result) -> str:
    """Stalls of all viewers together."""
    flows = result.flows.drop_nulls(_flow_kinds.VIDEO)
    stalls, stalled_s = int(flows["rebuffers"].sum()), flows["rebuffer_s"].sum()
    viewers = f" of {len(flows)} viewers" if len(flows) > 1 else ""
    return f"{stalls} stalls{viewers}, {stalled_s:.3g} s in all"
