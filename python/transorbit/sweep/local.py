"""Runs on the cores of this computer: threads of one process, which the core lets run side by side."""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from transorbit import _core, _interrupt
from transorbit._values import whole
from transorbit.sweep import work

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from transorbit.sweep.work import Outcome, Task


class Threads:
    """Computes tasks on as many threads, which share plans."""

    stalled = False

    def __init__(self, jobs: int | None, plans: _core.Plans | None = None) -> None:
        jobs = _cores() if jobs is None else whole("jobs", jobs, 1)
        # Before there are threads: two first imports at once, or one that Ctrl-C ends, would leave half a module.
        import duckdb  # noqa: F401
        import polars  # noqa: F401

        # Queues and not an executor, whose futures cost more than some runs.
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._done: SimpleQueue[Outcome | BaseException] = SimpleQueue()
        self._stop = threading.Event()
        self._plans = plans or _core.Plans()
        self._open = 0
        # The exception that a thread raised, or Ctrl-C.
        self._raised: BaseException | None = None
        # Enough that no thread waits for the next task while outcomes are kept.
        self._most = 3 * jobs
        self._threads = [
            threading.Thread(target=self._work, name=f"run-{number}", daemon=True) for number in range(jobs)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def room(self) -> int:
        """How many more tasks it takes."""
        return self._most - self._open

    def submit(self, task: Task) -> None:
        """Take a task."""
        self._open += 1
        self._tasks.put(task)

    def wait(self) -> list[Outcome]:
        """The outcomes that are there, at least one."""
        if self._raised:
            raise self._raised
        outcomes = self._taken(self._done.get())
        if self._raised and not outcomes:
            raise self._raised
        # Finished runs are kept first; the next call raises.
        return outcomes

    def finished(self) -> list[Outcome]:
        """The outcomes that came until the pool was closed and that nobody has waited for."""
        return self._taken()

    def _taken(self, *found: Outcome | BaseException) -> list[Outcome]:
        """These and what else is there, without the errors."""
        outcomes = []
        more = [*found]
        while more or not self._done.empty():
            one = more.pop() if more else self._done.get()
            if isinstance(one, BaseException):
                self._raised = self._raised or one
            else:
                outcomes.append(one)
                self._open -= 1
        return outcomes

    def interrupt(self) -> None:
        """Have the thread that waits raise KeyboardInterrupt."""
        self._done.put(KeyboardInterrupt())

    def between_outcomes(self) -> AbstractContextManager[None]:
        """See `Pool`."""
        return _interrupt.ending(self.interrupt)

    def close(self) -> None:
        """End what is running, at once."""
        self._stop.set()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._stop.is_set():
            try:
                self._done.put(work.compute(task, self._stop.is_set, self._plans))
            except work.StoppedError:
                return
            # The thread that waits is woken, else it would wait for ever.
            except BaseException as error:
                self._done.put(error)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
