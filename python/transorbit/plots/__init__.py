"""Plots of a result, ready to print: colour-blind safe, units on every axis, the same bytes for the same result.

Each function returns a matplotlib `Figure`, or None where the run has nothing to show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transorbit.plots.compare import compare_goodput
from transorbit.plots.models import channel, constellation_delay
from transorbit.plots.run import goodput, harq, path_delay, queue, window
from transorbit.plots.style import save, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from transorbit.result import Result

#: The plots of a run, by the name of their file.
ALL: dict[str, Callable[[Result], Figure | None]] = {
    "goodput": goodput,
    "window": window,
    "path-delay": path_delay,
    "harq": harq,
    "queue": queue,
}

__all__ = [
    "ALL",
    "channel",
    "compare_goodput",
    "constellation_delay",
    "goodput",
    "harq",
    "path_delay",
    "queue",
    "save",
    "window",
    "write",
]
