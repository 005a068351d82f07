"""All items: their runs by one pool over one store, and beside them their claims, tables and plots."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from transorbit._core import ScenarioError
from transorbit.reproduce import claims, database, figures, study
from transorbit.sweep import Sweep, SweepResult
from transorbit.sweep.axes import quantity
from transorbit.sweep.local import Threads
from transorbit.sweep.queue import compute
from transorbit.sweep.run import Runs
from transorbit.sweep.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    import polars as pl

    from transorbit.reproduce.claims import Judgement
    from transorbit.reproduce.figures import Comparison
    from transorbit.reproduce.items import Claim, Item, Paper
    from transorbit.sweep.run import Progress
    from transorbit.sweep.tables import Member

    # Point, replication and key of the runs of a sweep, or what is wrong with it.
    _Members = Sequence[Member] | ScenarioError


# The weight of judging and drawing an item, in runs.
_JUDGING = 5
# Units that the core writes.
_SCALES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0} | {
    f"{prefix}bit/s": scale for prefix, scale in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of an item.

    Attributes:
        judgements: one for each claim, in the item's order.
        comparisons: our values beside the published ones.
        figures: files of the plots (SVG).
        problems: why the item or a part of it could not be computed.
        runs: how many runs are behind it; 0 for a study.
        seeds: those that the claims' statistics are computed for.
        published: whether the paper's values are there to compare with.
        scenario: that of the first point, every default filled in; empty for a study.
    """

    item: Item
    judgements: tuple[Judgement, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    figures: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()
    runs: int = 0
    seeds: tuple[int, ...] = ()
    published: bool = False
    scenario: str = ""


class Runner:
    """Computes items side by side; what two have in common is computed once.

    The runs of all sweeps go through one pool, so that no core waits for the last run of an item. Studies are called
    beside it, in this thread, which Ctrl-C reaches; a third thread judges and draws the items whose runs are there.

    Args:
        out: the folder of the runs (`store.sqlite`), of what studies gave (`studies`) and of the plots (`figures`).
        quick: compute what each item calls quick.
        seed: the root seed.
        jobs: how many runs at once; None for one on each processor.
        progress: called with the share that is done.
    """

    def __init__(
        self, *, out: Path, quick: bool, seed: int, jobs: int | None, progress: Callable[[float], None] | None
    ) -> None:
        self._out = out
        self._quick = quick
        self._seed = seed
        self._jobs = jobs
        self._progress = _Progress(progress)

    def run(self, papers: Sequence[Paper]) -> list[tuple[Paper, list[Outcome]]]:
        """Every item of the papers. All sweeps and published values are read before the first run.

        Raises:
            ScenarioError: a sweep or the query of published values is wrong.
            KeyboardInterrupt: finished runs are in the store.
        """
        items = [item for paper in papers for item in paper.items]
        shared = self._sweeps(items)
        published = {item.id: _published(item) for item in items}
        studies = [item for item in items if item.sweep is None]
        self._progress.total = sum(_weight(sweep) for sweep, _ in shared) + len(studies) + _JUDGING * len(items)
        judged: dict[str, Future[Outcome]] = {}
        pool = Threads(self._jobs)
        with ThreadPoolExecutor(1) as judging, ThreadPoolExecutor(1) as feeding:

            def judge(item: Item, how: Callable[[], Outcome]) -> None:
                judged[item.id] = judging.submit(self._told, item, how)

            def judge_all(sweep: Sweep, sharing: Sequence[Item], members: _Members) -> None:
                result = _Once(partial(self._gathered, sweep, members))
                for item in sharing:
                    judge(item, partial(self._of_sweep, item, sweep, result, published[item.id]))

            runs = feeding.submit(self._compute, shared, pool, judge_all)
            try:
                for item in studies:
                    judge(item, self._studied(item, published[item.id]))
                runs.result()
                outcomes = {name: future.result() for name, future in judged.items()}
            except BaseException:
                pool.interrupt()
                judging.shutdown(cancel_futures=True)
                raise
        return [(paper, [outcomes[item.id] for item in paper.items]) for paper in papers]

    def _compute(
        self,
        shared: Sequence[tuple[Sweep, Sequence[Item]]],
        pool: Threads,
        there: Callable[[Sweep, Sequence[Item], _Members], None],
    ) -> None:
        """Compute the runs of all sweeps, the longest first; `there` is called with each sweep that has all."""
        store = Store(self._out / "store.sqlite")
        try:
            of: dict[int, tuple[Sweep, Sequence[Item]]] = {}
            runs = []
            for sweep, sharing in sorted(shared, key=lambda one: -_bits(one[0])):
                one = Runs(sweep, store, self._progress.of(_weight(sweep)))
                of[id(one)] = (sweep, sharing)
                runs.append(one)

            def ended(one: Runs, error: ScenarioError | None) -> None:
                there(*of[id(one)], error or one.members)

            compute(runs, pool, ended=ended)
        finally:
            pool.close()
            store.close()

    def _sweeps(self, items: Sequence[Item]) -> list[tuple[Sweep, list[Item]]]:
        """The items' sweeps, each checked once, with the items that share it."""
        shared: dict[str, tuple[Sweep, list[Item]]] = {}
        for item in items:
            if item.sweep is not None:
                sweep = _sweep(item, seed=self._seed, quick=self._quick)
                key = sweep.to_toml()
                if key not in shared:
                    _check(item, sweep)
                    shared[key] = (sweep, [])
                shared[key][1].append(item)
        return list(shared.values())

    def _studied(self, item: Item, published: pl.DataFrame | None) -> Callable[[], Outcome]:
        """Call the study; what comes back judges and draws it."""
        try:
            rows = study.rows(item, root=self._seed, quick=self._quick, keep=self._out / "studies")
        except ScenarioError as error:
            return partial(_failed, item, str(error))
        finally:
            self._progress.add(1)
        return partial(self._of_study, item, rows, published)

    def _gathered(self, sweep: Sweep, members: _Members) -> SweepResult:
        """The tables of a sweep, read in the thread that judges it."""
        if isinstance(members, ScenarioError):
            raise members
        store = Store(self._out / "store.sqlite")
        try:
            return SweepResult.gather(sweep, store, members)
        finally:
            store.close()

    def _told(self, item: Item, judge: Callable[[], Outcome]) -> Outcome:
        try:
            return judge()
        except ScenarioError as error:
            return _failed(item, str(error))
        finally:
            self._progress.add(_JUDGING)

    def _of_sweep(self, item: Item, sweep: Sweep, once: _Once, published: pl.DataFrame | None) -> Outcome:
        result = once()
        count = result.runs.height
        if (failed := result.failed).height:
            why = f"{failed.height} of {count} runs failed, the first with: {failed['error'][0]}"
            return replace(_failed(item, why), runs=count)
        data = database.Tables(result.runs, flows=result.flows, published=published, views=item.views)
        outcome = self._judged(item, data, published, _labels(item, result), [axis.name for axis in result.axes])
        return replace(outcome, runs=count, scenario=sweep.scenario(sweep.points[0]).to_toml())

    def _of_study(self, item: Item, rows: pl.DataFrame, published: pl.DataFrame | None) -> Outcome:
        data = database.Tables(rows, published=published, views=item.views, every_seed=True)
        return self._judged(item, data, published, item.labels, [])

    def _judged(
        self,
        item: Item,
        data: database.Tables,
        published: pl.DataFrame | None,
        labels: Mapping[str, str],
        axes: Sequence[str],
    ) -> Outcome:
        """The claims' verdicts and what is drawn; a table or a plot that is wrong does not take away the rest."""
        import polars as pl

        try:
            drawn, problems = figures.draw(item, data, published, labels, self._out / "figures" / item.paper, axes=axes)
            compared: list[Comparison] = []
            try:
                compared = figures.compare(item.table, data, published, labels, axes=axes) if item.table else []
            except ScenarioError as error:
                problems.append(str(error))
            except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
                problems.append(f"table: {type(error).__name__}: {' '.join(str(error).split())}")
            return Outcome(
                item=item,
                judgements=tuple(claims.judge(claim, data) for claim in self._computed(item, data)),
                comparisons=tuple(compared),
                figures=tuple(drawn),
                problems=tuple(problems),
                seeds=data.seeds,
                published=published is not None,
            )
        finally:
            data.close()

    def _computed(self, item: Item, data: database.Tables) -> list[Claim]:
        """The claims whose rows are there: a quick reproduction leaves out cells of tables."""
        if not self._quick:
            return list(item.claims)
        return [claim for claim in item.claims if not claim.only_where or data.count(claim.table, claim.only_where)]


class _Once:
    """A result that several items share: made when the first asks."""

    def __init__(self, make: Callable[[], SweepResult]) -> None:
        self._make = make
        self._made: SweepResult | None = None

    def __call__(self) -> SweepResult:
        if self._made is None:
            self._made = self._make()
        return self._made


class _Progress:
    """How much is done, of what several threads do."""

    def __init__(self, tell: Callable[[float], None] | None) -> None:
        self.total = 1.0
        self._done = 0.0
        self._tell = tell
        self._lock = threading.Lock()

    def add(self, weight: float) -> None:
        """Adds a weight to what is done."""
        with self._lock:
            self._done += weight
            if self._tell:
                self._tell(min(self._done / self.total, 1.0))

    def of(self, weight: float) -> Callable[[Progress], None]:
        """Returns the function to which a sweep of this weight reports its progress."""
        before = 0.0

        def report(now: Progress) -> None:
            nonlocal before
            share = weight * now.done / max(now.total, 1)
            # More replications on the way make the share smaller.
            if share > before:
                self.add(share - before)
                before = share

        return report


def _sweep(item: Item, *, seed: int, quick: bool) -> Sweep:
    assert item.sweep is not None
    assert item.sweep_folder
    try:
        sweep = Sweep.from_dict(item.sweep, base_dir=item.sweep_folder).replace(seed=seed)
    except ScenarioError as error:
        raise ScenarioError(f"{item.path}: sweep: {error}") from None
    try:
        return sweep.replace(**item.quick) if quick else sweep
    except ScenarioError as error:
        raise ScenarioError(f"{item.path}: quick: {error}") from None


def _check(item: Item, sweep: Sweep) -> None:
    try:
        sweep.check()
    except ScenarioError as error:
        raise ScenarioError(f"{item.path}: sweep: {error}") from None


def _published(item: Item) -> pl.DataFrame | None:
    if item.published is None:
        return None
    assert item.published_folder
    try:
        return database.published(item.published, item.published_folder)
    except ScenarioError as error:
        raise ScenarioError(f"{item.path}: published.sql: {error}") from None


def _weight(sweep: Sweep) -> int:
    """Returns the weight of a sweep: its runs."""
    return len(sweep.points) * sweep.replications


def _bits(sweep: Sweep) -> float:
    """Returns a measure of how long a run takes: the bits that the last hop sends in the simulated time."""
    most = 0.0
    for point in (sweep.points[0], sweep.points[-1]):
        try:
            table = sweep.scenario(point).to_dict()
        except ScenarioError:
            continue  # a point that is no scenario takes no time
        seconds, rate = quantity(table["duration"]), quantity(table["last_hop"]["rate"])
        if seconds and rate:
            most = max(most, float(seconds[0]) * _SCALES[seconds[1]] * float(rate[0]) * _SCALES[rate[1]])
    return most


def _failed(item: Item, why: str) -> Outcome:
    return Outcome(item=item, judgements=tuple(claims.failed(claim, why) for claim in item.claims), problems=(why,))


def _labels(item: Item, result: SweepResult) -> dict[str, str]:
    """Returns the labels of the sweep's columns, with units; the item's own names win."""
    from transorbit.plots import labels as naming

    labels = {axis.name: naming.of_axis(axis) for axis in result.axes}
    labels |= {metric.name: metric.title for metric in result.metrics.values() if metric.label != metric.name}
    return labels | dict(item.labels)
