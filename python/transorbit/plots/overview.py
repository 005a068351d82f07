"""The course of a run in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit.plots import application, heading, run, style, users
from transorbit.plots.path import path_panel

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result


def overview(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """Goodput, smoothed RTT, queue, path delay, HARQ outcome and states of applications, each if it says something.

    The smoothed RTT is the sender's estimate, `srtt_s` of the series; the mean of what was measured is `rtt_mean_s` of
    the flows. Of a run without series: what its users got.
    """
    if result.series.is_empty():
        kinds = (users.voice, application.game, users.goodput_by_user, users.completion)
        return next((drawn for kind in kinds if (drawn := kind(result, **look)) is not None), None)
    known = (_goodput, *_states, _round_trip, _queue, _path, _harq)
    panels = [panel for panel in known if panel.says_something(result)]
    with run.figure(result.title, result, look, rows=len(panels), height=0.6 + 1.35 * len(panels)) as (fig, axes):
        for panel, ax in zip(panels, axes, strict=True):
            panel.draw(ax, result)
            if panel is _goodput:
                fig.note = run.at_once(result)
            if ax.get_legend_handles_labels()[0] and ax.get_legend() is None:
                heading.above(ax)
    return fig


class _Panel:
    """A panel, and whether a run has something to show in it."""

    def __init__(self, draw: Callable[[Axes, Result], Any], says_something: Callable[[Result], bool]) -> None:
        self.draw = draw
        self.says_something = says_something


def _draw_goodput(ax: Axes, result: Result) -> None:
    run.goodput_panel(ax, result)
    ax.set_ylabel("Goodput\n(Mbit/s)")


def _draw_round_trip(ax: Axes, result: Result) -> None:
    run.round_trip_panel(ax, result)
    # Of one flow the legend names it, beside the timeout.
    ax.set_ylabel("Round trip\n(ms)" if len(result.flows) == 1 else "Smoothed RTT\n(ms)")


def _draw_queue(ax: Axes, result: Result) -> None:
    run.queue_panel(ax, result)
    ax.set_ylabel("Queue\n(packets)")


def _draw_path(ax: Axes, result: Result) -> None:
    path_panel(ax, result)
    ax.set_ylabel("Path delay\n(ms)")


def _draw_harq(ax: Axes, result: Result) -> None:
    run.harq_panel(ax, result)
    ax.set_ylabel("Decoded after\n(% of packets)")


def _state(state: application.State) -> _Panel:
    return _Panel(
        lambda ax, result: application.panel(ax, result, state), lambda result: application.says(result, state)
    )


def _has(column: str) -> Callable[[Result], bool]:
    return lambda result: result.series[column].null_count() < len(result.series)


_goodput = _Panel(_draw_goodput, lambda _: True)
_round_trip = _Panel(_draw_round_trip, _has("srtt_s"))
_states = [
    _state(state)
    for state in (application.BITRATE, application.BUFFER, application.LATENCY, application.DOWN, application.UP)
]
_queue = _Panel(_draw_queue, lambda result: bool(result.series["queue_packets"].max()))
_path = _Panel(_draw_path, lambda result: result.series["path_delay_s"].drop_nulls().n_unique() > 1)
_harq = _Panel(_draw_harq, lambda result: "decoded_after_2" in result.series.columns)
