"""Schedulers in Python: the quick way to try an idea.

A scheduler is a class with a method `select(queues, now)`. It is called each time that the satellite may send a
packet, with a list of the users who have packets waiting and may be sent one (`Queue`, the lowest user number first)
and the simulated time in seconds, and answers the `user` to serve. Register it under a name, and name it in a scenario:

    @transorbit.scheduler("longest-queue")
    class LongestQueue:
        def select(self, queues, now):
            return max(queues, key=lambda queue: (queue.packets, queue.head_wait_s)).user

    scenario = transorbit.Scenario.load("scenarios/voip.toml")
    scenario = scenario.replace({"last_hop.scheduler": {"kind": "external", "name": "longest-queue"}})
    print(scenario.run().summary["users"])

Each run makes an object of its own, so a scheduler may remember things. The queues, their order and their limits are
the simulator's; an answer that is none of the users shown counts as the first, and the result has a warning. Same
class, scenario and seed, same result: draw chance from `random.Random` with a seed of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from transorbit import plugins
from transorbit._core import Queue

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Queue", "Scheduler", "scheduler"]


class Scheduler(Protocol):
    """The interface of a scheduler that is written in Python."""

    def select(self, queues: list[Queue], now: float) -> int:
        """The `user` to serve at `now` (seconds), one of those in `queues`."""
        ...


_Factory = TypeVar("_Factory", bound="Callable[[], Scheduler]")


def scheduler(name: str, *, source: str | None = None) -> Callable[[_Factory], _Factory]:
    """Register a class, or anything that makes a `Scheduler` when called.

    A scenario names it with `last_hop.scheduler = { kind = "external", name = NAME }`. What was registered before under
    the name is replaced, as in a notebook whose cell is run again.

    Args:
        name: as the scenario gives it.
        source: the text of a Python file that registers it, to be kept with results; by default it is found where the
            class was defined.
    """
    return plugins.register("scheduler", name, source=source)
