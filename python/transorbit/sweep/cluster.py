"""Runs on the workers of a Dask scheduler, on this computer or on many."""

from __future__ import annotations

import queue
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from transorbit import _core, _interrupt, _numbers
from transorbit._core import ScenarioError
from transorbit.sweep import work

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from transorbit.sweep.work import Outcome, Task

# Runs that wait at each thread of the workers, so that it need not wait for the client.
_AHEAD = 4
_LEAST = 32
_LOOK_AT_WORKERS_S = 5.0
_CONNECT_S = 15
# How often a wait that nothing ends is reported: perhaps there is no worker.
_PATIENCE_S = 2.0
# How long a result may take to come here. After one that is still there they all have twice as long, up to a limit.
_TRANSFER_S = 10.0
_LONGEST_TRANSFER_S = 300.0
# How long a scheduler may be without any worker. A batch system may keep them waiting.
_WITHOUT_WORKERS_S = 3600.0


def connect(dask: Any) -> Any:
    """A client of the scheduler at this address, or of a cluster object.

    Raises:
        ScenarioError: Dask is not installed, or no scheduler answers.
    """
    distributed = _distributed()
    if isinstance(dask, str) and ":" not in dask:
        raise ScenarioError(f"dask: {dask}: HOST:PORT is expected, as in 127.0.0.1:8786")
    try:
        return distributed.Client(dask, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ScenarioError(f"dask: no scheduler answers at {dask}: {reason}") from None


def _distributed() -> Any:
    """The package of Dask's scheduler.

    Raises:
        ScenarioError: it is not installed.
    """
    try:
        import distributed
    except ImportError:
        raise ScenarioError('dask: is not installed; it comes with: pip install "transorbit[cluster]"') from None
    return distributed


def _compute(task: Task) -> Outcome:
    """Computes a task on a worker, which keeps plans and hashes for the next one."""
    import distributed

    kept = vars(distributed.get_worker()).setdefault("_transorbit", (_core.Plans(), work.Hashes()))
    return work.compute_elsewhere(task, *kept)


class Cluster:
    """Computes tasks with Dask. A worker that dies costs only the runs that it had: others take them over."""

    def __init__(self, dask: Any) -> None:
        """Connect to a scheduler, given by its address; a `distributed.Client` or a cluster object will do as well.

        Raises:
            ScenarioError: Dask is not installed, or no scheduler answers.
        """
        distributed = _distributed()
        self._own = not isinstance(dask, distributed.Client)
        self._client: Any = connect(dask) if self._own else dask
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._tasks: dict[Any, Task] = {}
        # Finished once, but the worker died before the result was here: it is computed again.
        self._lost: list[Any] = []
        self._transfer_s = _TRANSFER_S
        self._threads = 0
        self._looked = float("-inf")
        # The workers that were ever there, and since when there is none.
        self._came: set[str] = set()
        self._empty_since: float | None = None
        self._error: ScenarioError | KeyboardInterrupt | None = None

    @property
    def room(self) -> int:
        """How many more tasks it takes: workers come and go, and their threads with them."""
        if time.monotonic() - self._looked > _LOOK_AT_WORKERS_S:
            self._look()
        return max(_AHEAD * self._threads, _LEAST) - len(self._tasks)

    @property
    def stalled(self) -> bool:
        """Whether there is no worker that could compute."""
        return not self._threads

    def submit(self, task: Task) -> None:
        """Take a task.

        Raises:
            ScenarioError: it needs code that only this process has: its source cannot be had.
        """
        for plugin in task.own:
            if plugin.text is None:
                raise ScenarioError(plugin.refusal())
        future = self._client.submit(_compute, task, key=f"transorbit-{task.key}")
        self._tasks[future] = task
        future.add_done_callback(self._done.put)

    def wait(self) -> list[Outcome]:
        """The outcomes that are there; none after some seconds without any.

        Raises:
            ScenarioError: a worker runs other code, the scheduler has gone, or it has had no worker for long.
            KeyboardInterrupt: Ctrl-C.
        """
        if self._error:
            raise self._error
        futures, self._lost = self._lost, []
        with suppress(queue.Empty):
            futures.append(self._done.get(timeout=_PATIENCE_S))
        while not self._done.empty():
            futures.append(self._done.get())
        for stop in (one for one in futures if isinstance(one, KeyboardInterrupt)):
            # Whoever pressed Ctrl-C does not wait long for results.
            self._error, self._transfer_s = self._error or stop, _PATIENCE_S
        outcomes = []
        stuck = False
        for future in futures:
            if isinstance(future, KeyboardInterrupt):
                continue
            if stuck or not future.done():
                self._lost.append(future)
                continue
            task = self._tasks.pop(future)
            try:
                outcomes.append(self._outcome(future, task))
            except TimeoutError:
                self._tasks[future] = task
                self._lost.append(future)
                if future.done():
                    # The worker hangs, or has much to send: the others are asked at the next call.
                    stuck, self._transfer_s = True, min(2 * self._transfer_s, _LONGEST_TRANSFER_S)
            except ScenarioError as error:
                self._error = self._error or error
        if self._error and not outcomes:
            raise self._error
        if not outcomes:
            self._check_workers()
        # Finished runs are kept first; an error is raised by the next call.
        return outcomes

    def finished(self) -> list[Outcome]:
        """None: the workers drop what is not waited for."""
        return []

    def between_outcomes(self) -> AbstractContextManager[None]:
        """See `Pool`."""
        return _interrupt.ending(lambda: self._done.put(KeyboardInterrupt()))

    def close(self) -> None:
        """Ask for nothing more, and leave the scheduler as it was: also the same runs where another client waits."""
        if self._tasks:
            self._client.cancel(list(self._tasks))
            self._tasks.clear()
        if self._own:
            self._client.close()

    def _look(self) -> None:
        """Find out which workers are there."""
        workers, self._looked = self._client.nthreads(), time.monotonic()
        self._threads = sum(workers.values())
        self._came.update(workers)
        if self._threads:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = self._looked

    def _check_workers(self) -> None:
        """Refuse to wait longer for a worker, where there has been none for long."""
        if self._empty_since is None or (since := time.monotonic() - self._empty_since) < _WITHOUT_WORKERS_S:
            return
        asked = len(getattr(getattr(self._client, "cluster", None), "plan", ()))
        of_asked = f"of {asked} that were asked for, " if asked else ""
        raise ScenarioError(
            f"dask: the scheduler has had no worker for {_numbers.duration(since)}; {of_asked}{len(self._came)} came; "
            "what was finished is kept, and the next start goes on"
        )

    def _outcome(self, future: Any, task: Task) -> Outcome:
        """Returns the outcome of the task.

        Raises:
            TimeoutError: its worker has died meanwhile, or it takes longer to come.
            ScenarioError: there is none.
        """
        from distributed.scheduler import KilledWorker

        if future.cancelled():
            raise ScenarioError("dask: the scheduler has gone; what was finished is kept, and the next start goes on")
        error = future.exception(timeout=self._transfer_s)
        if error is None:
            try:
                outcome: Outcome = future.result(timeout=self._transfer_s)
                return outcome
            except TimeoutError:
                raise
            except Exception as late:  # the worker died before it could send, and computing it again failed
                error = late
        if isinstance(error, KilledWorker):
            text = "the workers that computed it died, one after the other; perhaps their memory did not suffice"
            return work.failed(task.key, task.scenario_sha256, task.seed, text)
        told = (
            str(error)
            if isinstance(error, work.OtherCodeError)
            else f"a worker failed: {type(error).__name__}: {error}"
        )
        raise ScenarioError(f"dask: {' '.join(told.split())}")
