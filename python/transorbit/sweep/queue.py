"""One queue for the runs of several sweeps, computed by one pool."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from transorbit.sweep.run import Runs
    from transorbit.sweep.work import Outcome, Task


class Pool(Protocol):
    """A pool of workers that computes tasks."""

    @property
    def room(self) -> int:
        """How many more tasks it takes."""
        ...

    @property
    def stalled(self) -> bool:
        """Whether no worker is there that could compute."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task."""
        ...

    def wait(self) -> list[Outcome]:
        """The outcomes that are there, perhaps after a while."""
        ...

    def finished(self) -> list[Outcome]:
        """After the end: the outcomes that came and that nobody has waited for."""
        ...

    def between_outcomes(self) -> AbstractContextManager[None]:
        """Have Ctrl-C end `wait` alone: what has come is kept and counted first. A second one ends at once."""
        ...

    def close(self) -> None:
        """End what is running, at once."""
        ...


def compute(
    sweeps: Sequence[Runs], pool: Pool, *, ended: Callable[[Runs, ScenarioError | None], None] | None = None
) -> None:
    """Compute what is missing of all sweeps.

    Runs are handed out in the order of the sweeps; while the last of a sweep are computed, those of the next begin.
    A run that two sweeps have is computed once.

    Args:
        ended: called for each sweep when its last run is there, or with the error that ended it. Without this an error
            is raised.

    Raises:
        KeyboardInterrupt: the pool is closed, and what had come is kept.
        ScenarioError: the same, where the pool cannot compute, or `ended` was not given and a sweep is wrong.
    """
    queue = _Queue(sweeps, pool, ended)
    try:
        with pool.between_outcomes():
            queue.to_the_end()
    except KeyboardInterrupt:
        queue.stop()
        for runs in sweeps:
            runs.take_what_is_there()
        raise
    except ScenarioError:
        queue.stop()
        raise
    finally:
        for runs in sweeps:
            runs.join()


class _Queue:
    def __init__(
        self, sweeps: Sequence[Runs], pool: Pool, ended: Callable[[Runs, ScenarioError | None], None] | None
    ) -> None:
        self._sweeps = sweeps
        self._left = list(sweeps)
        self._pool = pool
        self._ended = ended
        # The sweeps that wait for each run, by its key.
        self._asked: dict[str, list[Runs]] = {}
        # Outcomes that have come and are not kept yet: whoever gets one may end the sweep before the next.
        self._come: deque[Outcome] = deque()
        # The first error of a sweep that `ended` does not report: raised when all that came with it is kept.
        self._error: ScenarioError | None = None

    def to_the_end(self) -> None:
        self._fill()
        while self._asked:
            touched = self._keep_all(self._pool.wait())
            for runs in dict.fromkeys(touched):
                runs.join()
            if self._error:
                raise self._error
            self._fill()
            for runs in dict.fromkeys(touched) if touched else self._left[:1]:
                runs.report(stalled=bool(self._asked) and self._pool.stalled)

    def stop(self) -> None:
        """Close the pool, and keep what had come."""
        self._pool.close()
        for runs in self._sweeps:
            runs.tell_no_more()
        self._keep_all(self._pool.finished())

    def _keep_all(self, outcomes: Iterable[Outcome]) -> list[Runs]:
        """Hand outcomes to the sweeps that asked for them, and return these."""
        self._come.extend(outcomes)
        touched = []
        while self._come:
            touched += self._keep(self._come.popleft())
        return touched

    def _keep(self, outcome: Outcome) -> list[Runs]:
        askers = self._asked.pop(outcome.key)
        for index, runs in enumerate(askers):
            try:
                runs.keep(outcome, computed=index == 0)
            except ScenarioError as error:
                self._end(runs, error)
        return askers

    def _fill(self) -> None:
        """Hand out runs while there is room."""
        for runs in tuple(self._left):
            try:
                while self._pool.room > 0 and (task := runs.next_task()):
                    if task.key in self._asked:
                        self._asked[task.key].append(runs)
                    else:
                        self._pool.submit(task)
                        self._asked[task.key] = [runs]
            except ScenarioError as error:
                self._end(runs, error)
                if not self._ended:
                    raise
                continue
            if runs.complete:
                self._end(runs, None)

    def _end(self, runs: Runs, error: ScenarioError | None) -> None:
        if error and not self._ended:
            self._error = self._error or error
            runs.tell_no_more()
        if runs in self._left:
            self._left.remove(runs)
            runs.join()
            if self._ended:
                self._ended(runs, error)
