"""Traffic sources in Python: the quick way to have an application that no model is of.

A source is a class with a method `on_timeout(app, now)`. It is called when the user's traffic starts, and then at the
time that it answered last; it acts by `app`. Register it under a name, and name it in a scenario:

    @transorbit.source("chunks")
    class Chunks:
        def on_timeout(self, app, now):
            if now == app.start:
                app.open()
            app.write(250_000)
            return now + 2.0

    scenario = transorbit.Scenario.load("leo-tcp")
    scenario = scenario.replace({"flows.0.traffic": {"kind": "script", "name": "chunks"}})
    print(scenario.run().summary["flows"][0]["delivered_bytes"])

Each user has an object of its own. Same class, scenario and seed, same result: draw chance from
`random.Random(app.seed)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from transorbit import plugins
from transorbit._core import App

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["App", "Source", "source"]


class Source(Protocol):
    """The interface of a traffic source that is written in Python.

    With `service = "exchange"` it may have a method `on_delivered(app, now, connection, end, bytes)`: the application
    at `end` ("server" or "user") has received so many bytes in order since the connection began. It may answer the time
    of the next `on_timeout`; None leaves that as it was.
    """

    def on_timeout(self, app: App, now: float) -> float | None:
        """Act; the time of the next call in seconds of the run, or None for no more."""
        ...


_Factory = TypeVar("_Factory", bound="Callable[[], Source]")


def source(name: str, *, source: str | None = None) -> Callable[[_Factory], _Factory]:
    """Register a class, or anything that makes a `Source` when called.

    A scenario names it with `traffic = { kind = "script", name = NAME }`. What was registered before under the name is
    replaced, as in a notebook whose cell is run again.

    Args:
        name: as the scenario gives it.
        source: the text of a Python file that registers it, to be kept with results; by default it is found where the
            class was defined.
    """
    return plugins.register("source", name, source=source)
