"""Congestion controllers in Python: the quick way to try an idea.

A controller is a class with a method `on_ack(ack)`. It is called for each acknowledgment that brings news (`Ack`), and
answers the congestion window in segments, or None to leave it. Register it under a name, and name it in a scenario:

    @transorbit.controller("aimd")
    class Aimd:
        def on_ack(self, ack):
            if ack.window_limited:
                return ack.window + (ack.delivered if ack.window < ack.threshold else ack.delivered / ack.window)

        def on_congestion(self, event):
            return event.reduce_from / 2

    scenario = transorbit.Scenario.load("leo-tcp")
    scenario = scenario.replace({"flows.0.transport.congestion": {"kind": "external", "name": "aimd"}})
    print(scenario.run().summary["flows"][0]["goodput_bps"])

Each end of each connection makes an object of its own, so a controller may remember things. What is lost, when a
reduction begins and ends, and what it does to the window meanwhile is the sender's part. Same class, scenario and seed,
same result: draw chance from `random.Random` with the seed of `on_start`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from transorbit import plugins
from transorbit._core import Ack, Connection, Event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ack", "Connection", "Controller", "Event", "controller"]


class Controller(Protocol):
    """The interface of a controller that is written in Python; only `on_ack` is asked of it.

    Attributes that a class may set: `drives = True` (it alone moves the window, also in recovery), `rates = True`
    (samples carry delivery rates), `sent = True` (each segment sent is an event).

    Further methods that it may have: `on_start(connection)`, once; `on_congestion(event)`, which answers the slow start
    threshold in segments (without it half), or the window if it drives; `on_event(event)`, which answers as `on_ack`
    does; `pacing_rate()` in bit/s, asked after each call; `poll_timeout()`, when the event "timeout" is to come, in
    seconds of the run.
    """

    def on_ack(self, ack: Ack) -> float | tuple[float | None, float | None] | None:
        """The window in segments, or the window and the slow start threshold; None leaves them."""
        ...


_Factory = TypeVar("_Factory", bound="Callable[[], Controller]")


def controller(name: str, *, source: str | None = None) -> Callable[[_Factory], _Factory]:
    """Register a class, or anything that makes a `Controller` when called.

    A scenario names it with `transport.congestion = { kind = "external", name = NAME }`. What was registered before
    under the name is replaced, as in a notebook whose cell is run again.

    Args:
        name: as the scenario gives it.
        source: the text of a Python file that registers it, to be kept with results; by default it is found where the
            class was defined.
    """
    return plugins.register("controller", name, source=source)
