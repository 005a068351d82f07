"""Simulates TCP, voice and web users over a satellite path.

Example:
    >>> import transorbit as to
    >>> result = to.Scenario.load("scenarios/leo-tcp.toml").replace({"channel.reference_snr": "7 dB"}).run(seed=1)
    >>> result.summary["flows"][0]["goodput_bps"]  # doctest: +SKIP
    >>> result.series  # a polars table  # doctest: +SKIP
    >>> result.save("results/at-7-dB")  # doctest: +SKIP

The models are in the compiled core; this package reads scenarios, steps runs, and shows and keeps results.
"""

from __future__ import annotations

# A command begins with this file, before it can catch Ctrl-C: nothing is imported here that takes time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from transorbit import access, channel, constellation, trace
    from transorbit._capacity import Capacity, CapacityInterrupted, capacity
    from transorbit._core import ScenarioError, SimulationError
    from transorbit.controllers import Ack, Connection, Event, controller
    from transorbit.result import Result
    from transorbit.scenario import Interrupted, Scenario, registries, schema
    from transorbit.schedulers import Queue, scheduler
    from transorbit.sources import App, source
    from transorbit.sweep import Sweep, SweepInterrupted, SweepResult

    __version__: str

__all__ = [
    "Ack",
    "App",
    "Capacity",
    "CapacityInterrupted",
    "Connection",
    "Event",
    "Interrupted",
    "Queue",
    "Result",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Sweep",
    "SweepInterrupted",
    "SweepResult",
    "__version__",
    "access",
    "capacity",
    "channel",
    "constellation",
    "controller",
    "registries",
    "scheduler",
    "schema",
    "source",
    "trace",
]

# Where what is public is imported from when somebody asks for it.
_HOMES = {
    "_capacity": ("Capacity", "CapacityInterrupted", "capacity"),
    "_core": ("ScenarioError", "SimulationError"),
    "controllers": ("Ack", "Connection", "Event", "controller"),
    "result": ("Result",),
    "scenario": ("Interrupted", "Scenario", "registries", "schema"),
    "schedulers": ("Queue", "scheduler"),
    "sources": ("App", "source"),
    "sweep": ("Sweep", "SweepInterrupted", "SweepResult"),
}
_MODULES = frozenset({"access", "channel", "constellation", "plugins", "statistics", "trace", *_HOMES})


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used."""
    from importlib import import_module

    if home := next((home for home, names in _HOMES.items() if name in names), None):
        value = getattr(import_module(f"transorbit.{home}"), name)
    elif name == "__version__":
        value = import_module("transorbit._core").version()
    elif name in _MODULES:
        return import_module(f"transorbit.{name}")
    else:
        raise AttributeError(f"module 'transorbit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
