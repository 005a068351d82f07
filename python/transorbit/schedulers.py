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

from collections.abc import Callable
from typing import Protocol, TypeVar

from transorbit._core import Queue

__all__ = ["Queue", "Scheduler", "find", "scheduler"]


class Scheduler(Protocol):
    """The interface of a scheduler that is written in Python."""

    def select(self, queues: list[Queue], now: float) -> int:
        """The `user` to serve at `now` (seconds), one of those in `queues`."""
        ...


_Factory = TypeVar("_Factory", bound=Callable[[], Scheduler])

_REGISTERED: dict[str, Callable[[], Scheduler]] = {}


def scheduler(name: str) -> Callable[[_Factory], _Factory]:
    """Register a class, or anything that makes a `Scheduler` when called.

    A scenario names it with `last_hop.scheduler = { kind = "external", name = NAME }`. What was registered before under
    the name is replaced, as in a notebook whose cell is run again.
    """

    def register(factory: _Factory) -> _Factory:
        _REGISTERED[name] = factory
        return factory

    return register


def registered() -> list[str]:
    """The names that a scenario may give, in order."""
    return sorted(_REGISTERED)


def find(name: str) -> Scheduler | None:
    """A new scheduler of this name; None if there is none."""
    factory = _REGISTERED.get(name)
    return factory() if factory else None
