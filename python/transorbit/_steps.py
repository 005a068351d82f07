"""A run in steps, between which Ctrl-C, a progress bar and whoever waits for it have their turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transorbit import _core

# A step takes about so long, and the first is so short a part of the run that it cannot take much longer.
_WALL_S = 0.1
_FIRST = 2**-14


def taken(simulation: _core.Simulation, *, largest: float = 1.0) -> Iterator[float]:
    """Step to the end: gives, after each step, the share of the simulated time that has passed.

    A step is at most the share `largest` of the run. There are as few as answer in time, for each has to take Python
    back from other threads.
    """
    duration = simulation.duration_s
    shortest = 1e-9  # of the clock of a run
    longest = max(duration * largest, shortest)
    step = min(max(duration * _FIRST, shortest), longest)
    while (now := simulation.now_s) < duration:
        started = time.perf_counter()
        simulation.advance(min(now + step, duration))
        took = time.perf_counter() - started
        if took > _WALL_S:
            step = max(step / 2, shortest)
        elif took < _WALL_S / 4:
            step = min(step * 2, longest)
        yield simulation.now_s / duration
