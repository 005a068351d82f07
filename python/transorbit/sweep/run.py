"""The runs of one sweep: what is missing is handed out, what comes is kept at once."""

from __future__ import annotations

import math
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from transorbit import _hash
from transorbit._core import ScenarioError
from transorbit.sweep import measure, tables, work
from transorbit.sweep.identity import identity
from transorbit.sweep.plan import MOST_REPLICATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from transorbit import _core
    from transorbit.sweep.plan import Point, SweepPlan
    from transorbit.sweep.store import Store
    from transorbit.sweep.work import Outcome, Task


@dataclass
class Progress:
    """How far a sweep is.

    Attributes:
        total: runs as far as is known; `precision` may ask for more on the way.
        reused: runs that the store had.
        computed: runs that were computed now, of which `failed` failed.
        elapsed_s: since the start.
        stalled: whether nothing goes on because there is no worker.
    """

    total: int
    reused: int = 0
    computed: int = 0
    failed: int = 0
    elapsed_s: float = 0.0
    stalled: bool = False

    @property
    def done(self) -> int:
        """Runs that are there."""
        return self.reused + self.computed

    @property
    def rate(self) -> float:
        """Runs computed per second."""
        return self.computed / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """The seconds that the rest takes at the present pace."""
        return (self.total - self.done) / self.rate if self.computed else None


@dataclass
class _AtPoint:
    """The runs of a point: keys by replication as they arrive, and how many there are to be."""

    point: Point
    wanted: int
    keys: dict[int, str] = field(default_factory=dict)
    failed: bool = False
    # The resolved scenario; the error where it cannot be resolved.
    toml: str | None = None
    error: str | None = None


class Runs:
    """The runs of a sweep that is in progress; `queue.py` has them computed."""

    def __init__(
        self,
        sweep: SweepPlan,
        store: Store,
        tell: Callable[[Progress], None] | None = None,
        plans: _core.Plans | None = None,
    ) -> None:
        self.sweep = sweep
        self.progress = Progress(total=len(sweep.points) * sweep.replications)
        self._store = store
        self._tell = tell
        self._plans = plans
        self._hashes = work.Hashes()
        self._points = [_AtPoint(point, sweep.replications) for point in sweep.points]
        self._first = deque((at, range(sweep.replications)) for at in self._points)
        # Begun, and not yet handed out; what `precision` asks for comes here as well.
        self._next: deque[tuple[_AtPoint, int]] = deque()
        # The points that wait for a run: those of the same content share it.
        self._waiting: dict[str, list[tuple[_AtPoint, int]]] = {}
        self._arrived: list[tuple[int, int, str]] = []
        self._checked = False
        self._identity = identity(sweep)
        # Runs whose code cannot be distinguished from other code are those of this start alone.
        self._start = secrets.token_hex()
        self._started = time.perf_counter()
        # Whether an earlier start had runs; None until this one begins.
        self._again: bool | None = None

    @property
    def members(self) -> list[tables.Member]:
        """Point, replication and key of what is there."""
        return sorted((at.point.index, number, key) for at in self._points for number, key in at.keys.items())

    @property
    def complete(self) -> bool:
        """Whether no run is missing."""
        return not (self._first or self._next or self._waiting)

    def next_task(self) -> Task | None:
        """The next run that has to be computed, or None; those that the store has are passed by."""
        self._begin()
        while self._next or self._first:
            if not self._next:
                at, numbers = self._first.popleft()
                self._next.extend((at, number) for number in numbers)
            if task := self._missing(*self._next.popleft()):
                return task
        return None

    def keep(self, outcome: Outcome, *, computed: bool) -> None:
        """Take what became of a run; `computed` is False if another sweep asked for it before this one."""
        if computed:
            self._store.put(outcome)
            self.progress.computed += 1
            self.progress.failed += outcome.status != "ok"
        waiting = self._waiting.pop(outcome.key)
        if outcome.status == "ok":
            self._check_metrics(*waiting[0], outcome.key)
        for index, (at, number) in enumerate(waiting):
            self.progress.reused += index > 0 or not computed
            at.failed |= outcome.status != "ok"
            self._arrive(at, number, outcome.key)
        self.report()

    def take_what_is_there(self) -> None:
        """Join what is finished without computing anything: what had just come, and the runs of earlier starts."""
        begun = [(at, number) for waiting in self._waiting.values() for at, number in waiting]
        rest = [(at, number) for at, numbers in self._first for number in numbers]
        for at, number in [*begun, *self._next, *rest] if self._again else begun:
            if at.toml is None and at.error is None:
                self._resolve(at)
            if at.toml is not None:
                key = self._task(at, number).key
                if self._store.finished(key):
                    self.progress.reused += 1
                    at.keys[number] = key
                    self._arrived.append((at.point.index, number, key))
        self.join()

    def join(self) -> None:
        """Note what has arrived as part of this sweep."""
        if self._arrived:
            self._store.join(self._identity, self._arrived)
            self._arrived.clear()

    def report(self, *, stalled: bool = False) -> None:
        """Tell how far the sweep is."""
        self.progress.elapsed_s = time.perf_counter() - self._started
        self.progress.stalled = stalled
        if self._tell:
            self._tell(self.progress)

    def tell_no_more(self) -> None:
        """Report no more progress: who ended the sweep could end it once more, before what came is kept."""
        self._tell = None

    def _begin(self) -> None:
        """Part the sweep from runs of an earlier start that are of other code, or of files that have changed since."""
        if self._again is None:
            before = self._store.members(self._identity)
            self._again = bool(before)
            if others := [member for member in before if not self._is_present(*member)]:
                self._store.part(self._identity, others)
            self._started = time.perf_counter()

    def _is_present(self, point: int, number: int, key: str) -> bool:
        """Whether a run is of the present code and files."""
        at = self._points[point]
        if at.toml is None and at.error is None:
            self._resolve(at)
        return at.toml is not None and self._task(at, number).key == key

    def _missing(self, at: _AtPoint, number: int) -> Task | None:
        """The task of a run; None if it is there, is waited for, or cannot be."""
        if at.toml is None and at.error is None:
            self._resolve(at)
        if at.toml is None:
            self._refuse(at, number)
            return None
        task = self._task(at, number)
        if task.key in self._waiting:
            self._waiting[task.key].append((at, number))
        elif self._store.finished(task.key):
            self.progress.reused += 1
            self._check_metrics(at, number, task.key)
            self._arrive(at, number, task.key)
            self.report()
        else:
            self._waiting[task.key] = [(at, number)]
            return task
        return None

    def _task(self, at: _AtPoint, number: int) -> Task:
        assert at.toml is not None
        return work.task(
            at.toml, seed=self._seed(number), warm_up=self.sweep.warm_up, start=self._start, hashes=self._hashes
        )

    def _seed(self, number: int) -> int:
        return MOST_REPLICATIONS * self.sweep.seed + number

    def _resolve(self, at: _AtPoint) -> None:
        try:
            at.toml = self.sweep.scenario(at.point)._core.resolved_toml(self._plans)
        except ScenarioError as error:
            at.error = str(error)

    def _refuse(self, at: _AtPoint, number: int) -> None:
        """The point is no scenario: that is recorded, and there is nothing to compute."""
        seed = self._seed(number)
        content = _hash.sha256(f"{self._identity} {at.point.index}")
        key = _hash.sha256(f"{content} {seed} {work.build()}")
        self._waiting[key] = [(at, number)]
        self.keep(work.failed(key, content, seed, str(at.error)), computed=True)

    def _check_metrics(self, at: _AtPoint, number: int, key: str) -> None:
        """Raise the error on a column that no run has at the first good run, not after all of them."""
        if not self._checked:
            self._checked = True
            runs, flows = tables.build(self._store, [(at.point.index, number, key)], {at.point.index: at.point})
            measure.check(runs, flows, self.sweep.metrics.values())

    def _arrive(self, at: _AtPoint, number: int, key: str) -> None:
        at.keys[number] = key
        self._arrived.append((at.point.index, number, key))
        if len(at.keys) == at.wanted:
            at.wanted = max(at.wanted, self._enough(at))
            self.progress.total += at.wanted - len(at.keys)
            # In front: a point is finished before the next begins.
            self._next.extendleft((at, more) for more in reversed(range(len(at.keys), at.wanted)))

    def _enough(self, at: _AtPoint) -> int:
        """Returns how many replications the point needs, by those that are there. Their order does not matter."""
        precision = self.sweep.precision
        if not precision or at.failed or at.wanted >= precision.most:
            return at.wanted
        metric = self.sweep.metrics[precision.metric]
        members = [(at.point.index, number, at.keys[number]) for number in range(at.wanted)]
        runs, flows = tables.build(self._store, members, {at.point.index: at.point})
        values = measure.measured(runs, flows, [metric], len(at.point.values), whole=False)[metric.name]
        interval = precision.interval(values)
        if interval is None:
            raise ScenarioError(f"precision.metric: {metric.name} is a {_kind(values)}, of which there is no mean")
        # A value that is no number leaves the mean unknown, however many others there are.
        unknown = interval.count > 0 and not math.isfinite(interval.mean)
        if unknown or precision.reached(interval):
            return at.wanted
        return precision.more(interval, at.wanted)


def _kind(values: pl.Series) -> str:
    import polars as pl

    return "text" if values.dtype == pl.String else f"value of type {values.dtype}"
