"""Plots of what applications had over time: a player's buffer, bit rate and latency, a game's delays."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from matplotlib.ticker import MaxNLocator

from transorbit import _flow_kinds
from transorbit.plots import heading, run, scales, style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

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
# The states of a video player, and those of a game.
_VIDEO, _GAME = (BITRATE, BUFFER, LATENCY), (DOWN, UP)


def says(result: Result, state: State) -> bool:
    """Whether a run has such a state."""
    series = result.series
    return state.column in series.columns and series[state.column].null_count() < len(series)


def video(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """Draws the state of video players over time: the bit rate played, the media in the buffer, the latency to live."""
    states = [state for state in _VIDEO if says(result, state)]
    if not states:
        return None
    height = 1.5 + 1.4 * len(states)
    with run.figure("Video", result, look, rows=len(states), height=height) as (fig, axes):
        for state, ax in zip(states, axes, strict=True):
            panel(ax, result, state)
        heading.above(axes[0], axes[1:])
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
    """A state over time: a line for each flow that has it, or the median and the range of most of them.

    All states of a video player are drawn in the same way, and so are those of a game. A flow has its colour in all
    panels.
    """
    value = pl.col(state.column)
    series = run.instants(result.series, _BINS).drop_nulls(state.column)
    at = "bin" if state.step else "centre"
    of_bins = series.group_by("flow", at, maintain_order=True)
    one = value.last() if state.step else value.mean()
    binned = of_bins.agg((one * state.scale).alias("value"))
    look: dict[str, Any] = {"drawstyle": "steps-post"} if state.step else {}
    if len(_with_states(result, _VIDEO if state in _VIDEO else _GAME)) <= run.LINES:
        colours = _colours(result)
        drawn = result.flows.filter(pl.col("id").is_in(binned["flow"].implode()))
        for flow in drawn.sort("id").iter_rows(named=True):
            own = binned.filter(pl.col("flow") == flow["id"]).sort(at)
            name = f"flow {flow['id']} ({flow['traffic']}, {_flow_kinds.of_transport(flow)})"
            ax.plot(own[at], own["value"], label=name, color=colours[flow["id"]], **look)
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


def _with_states(result: Result, states: Sequence[State]) -> list[int]:
    """The flows that have a value of one of these states."""
    known = [pl.col(state.column).is_not_null() for state in states if says(result, state)]
    return result.series.filter(pl.any_horizontal(known))["flow"].unique().sort().to_list() if known else []


def _colours(result: Result) -> dict[int, str]:
    """The colour of each flow: that of panels with a line for each, or its own among the flows with states."""
    few = len(result.flows) <= run.LINES
    flows = result.flows["id"] if few else [*_with_states(result, _VIDEO), *_with_states(result, _GAME)]
    return dict(zip(flows, cycle(style.CYCLE), strict=False))


def _experience(result: Result) -> str:
    """Stalls of all viewers together."""
    flows = result.flows.drop_nulls(_flow_kinds.VIDEO)
    stalls, stalled_s = int(flows["rebuffers"].sum()), flows["rebuffer_s"].sum()
    viewers = f" of {len(flows)} viewers" if len(flows) > 1 else ""
    return f"{stalls} stalls{viewers}, {stalled_s:.3g} s in all"
