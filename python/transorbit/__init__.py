"""Simulates TCP, voice and web users over a satellite path.

Example:
    >>> import transorbit as to
    >>> result = to.Scenario.load("scenarios/leo-tcp.toml").replace({"channel.reference_snr": "7 dB"}).run(seed=1)
    >>> result.summary["flows"][0]["goodput_bps"]  # doctest: +SKIP
    >>> result.series  # a polars table  # doctest: +SKIP
    >>> result.save("results/at-7-dB")  # doctest: +SKIP

The models are in the compiled core; this package reads scenarios, steps runs, and shows and keeps results.
"""

from transorbit import access, channel, constellation, trace
from transorbit._capacity import Capacity, CapacityInterrupted, capacity
from transorbit._core import ScenarioError, SimulationError, version
from transorbit.controllers import Ack, Connection, Event, controller
from transorbit.result import Result
from transorbit.scenario import Interrupted, Scenario, registries, schema
from transorbit.schedulers import Queue, scheduler
from transorbit.sources import App, source
from transorbit.sweep import Sweep, SweepInterrupted, SweepResult

__version__ = version()

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
