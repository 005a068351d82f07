"""Sweeps: a scenario over a grid of changes, many times, to two tables.

Example:
    >>> import transorbit as to
    >>> sweep = to.Sweep.load("scenarios/leo-snr.sweep.toml")
    >>> result = sweep.run(store="results/leo-snr/store.sqlite")  # doctest: +SKIP
    >>> result.query("SELECT snr, avg(goodput_mbps) FROM runs GROUP BY snr")  # doctest: +SKIP
    >>> result.save("results/leo-snr")  # doctest: +SKIP
"""

from transorbit.sweep.axes import Axis
from transorbit.sweep.metrics import Metric, Precision
from transorbit.sweep.plan import Point
from transorbit.sweep.result import SweepInterrupted, SweepResult
from transorbit.sweep.run import Progress
from transorbit.sweep.sweep import Sweep

__all__ = ["Axis", "Metric", "Point", "Precision", "Progress", "Sweep", "SweepInterrupted", "SweepResult"]
