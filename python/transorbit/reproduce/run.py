"""All items: their runs over one shared store, then their claims, tables and plots."""

from __future__ import annotations

from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from transorbit._core import ScenarioError
from transorbit.reproduce import claims, figures, study, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    import polars as pl

    from transorbit.reproduce.claims import Judgement
    from transorbit.reproduce.figures import Comparison
    from transorbit.reproduce.items import Item, Paper
    from transorbit.sweep import Sweep, SweepResult


# What judging and drawing an item counts as, in runs; and how many computed items may wait for it, in memory.
_JUDGING, _AHEAD = 5, 6


@dataclass(frozen=True)
class Outcome:
    """What an item came to.

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
    """Runs items one after the other; what two have in common is computed once.

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
        self._progress = progress
        self._results: dict[str, SweepResult] = {}
        self._uses: Counter[str] = Counter()
        self._done, self._total = 0.0, 1.0

    def run(self, papers: Sequence[Paper]) -> list[tuple[Paper, list[Outcome]]]:
        """Every item of the papers. All sweeps and published values are read before the first run.

        Raises:
            ScenarioError: a sweep or the query of published values is wrong.
            KeyboardInterrupt: finished runs are in the store.
        """
        items = [item for paper in papers for item in paper.items]
        sweeps = self._sweeps(items)
        published = {item.id: _published(item) for item in items}
        weights = {item.id: _weight(sweeps.get(item.id)) for item in items}
        self._total = sum(weights.values()) + _JUDGING * len(items)
        self._done = 0.0
        outcomes: dict[str, Outcome] = {}
        waiting: deque[tuple[str, Future[Outcome]]] = deque()

        def take(most: int) -> None:
            """Take what is judged, until at most so many items wait for it."""
            while waiting and (len(waiting) > most or waiting[0][1].done()):
                name, outcome = waiting.popleft()
                outcomes[name] = outcome.result()
                self._advance(_JUDGING)

        # Beside the runs, which leave Python's lock alone: judging and drawing takes as long as some of them.
        with ThreadPoolExecutor(1) as beside:
            try:
                for item in items:
                    judge = self._computed(item, sweeps.get(item.id), published[item.id], weights[item.id])
                    waiting.append((item.id, beside.submit(_told, item, judge)))
                    self._advance(weights[item.id])
                    take(_AHEAD)
                take(0)
            except BaseException:
                beside.shutdown(cancel_futures=True)
                raise
        return [(paper, [outcomes[item.id] for item in paper.items]) for paper in papers]

    def _sweeps(self, items: Sequence[Item]) -> dict[str, Sweep]:
        """The items' sweeps, each checked once however many share it."""
        sweeps: dict[str, Sweep] = {}
        self._uses.clear()
        for item in items:
            if item.sweep is not None:
                sweep = sweeps[item.id] = _sweep(item, seed=self._seed, quick=self._quick)
                key = sweep.to_toml()
                if key not in self._uses:
                    _check(item, sweep)
                self._uses[key] += 1
        return sweeps

    def _computed(
        self, item: Item, sweep: Sweep | None, published: pl.DataFrame | None, weight: float
    ) -> Callable[[], Outcome]:
        """Compute the item; what comes back judges and draws it."""
        try:
            if sweep is not None:
                return partial(self._of_sweep, item, sweep, self._result(sweep, weight), published)
            rows = study.rows(item, root=self._seed, quick=self._quick, keep=self._out / "studies")
        except ScenarioError as error:
            return partial(_failed, item, str(error))
        return partial(self._of_study, item, rows, published)

    def _of_sweep(self, item: Item, sweep: Sweep, result: SweepResult, published: pl.DataFrame | None) -> Outcome:
        count = result.runs.height
        if (failed := result.failed).height:
            why = f"{failed.height} of {count} runs failed, the first with: {failed['error'][0]}"
            return replace(_failed(item, why), runs=count)
        data = tables.Tables(result.runs, flows=result.flows, published=published, views=item.views)
        outcome = self._judged(item, data, published, _labels(item, result), [axis.name for axis in result.axes])
        return replace(outcome, runs=count, scenario=sweep.scenario(sweep.points[0]).to_toml())

    def _of_study(self, item: Item, rows: pl.DataFrame, published: pl.DataFrame | None) -> Outcome:
        data = tables.Tables(rows, published=published, views=item.views, every_seed=True)
        return self._judged(item, data, published, item.labels, [])

    def _judged(
        self,
        item: Item,
        data: tables.Tables,
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
                judgements=tuple(claims.judge(claim, data) for claim in item.claims),
                comparisons=tuple(compared),
                figures=tuple(drawn),
                problems=tuple(problems),
                seeds=data.seeds,
                published=published is not None,
            )
        finally:
            data.close()

    def _result(self, sweep: Sweep, weight: float) -> SweepResult:
        """The sweep's result. It stays in memory until the last item that shares the sweep has it."""
        key = sweep.to_toml()
        self._uses[key] -= 1
        if key not in self._results:
            self._results[key] = sweep.run(
                jobs=self._jobs,
                store=self._out / "store.sqlite",
                progress=lambda now: self._tell(self._done + weight * now.done / max(now.total, 1)),
            )
        return self._results[key] if self._uses[key] else self._results.pop(key)

    def _advance(self, weight: float) -> None:
        self._done += weight
        self._tell(self._done)

    def _tell(self, done: float) -> None:
        if self._progress:
            self._progress(done / self._total)


def _sweep(item: Item, *, seed: int, quick: bool) -> Sweep:
    from transorbit.sweep import Sweep

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
        return tables.published(item.published, item.published_folder)
    except ScenarioError as error:
        raise ScenarioError(f"{item.path}: published.sql: {error}") from None


def _weight(sweep: Sweep | None) -> int:
    """How much of the whole an item is: its runs, or one for a study."""
    return len(sweep.points) * sweep.replications if sweep else 1


def _told(item: Item, judge: Callable[[], Outcome]) -> Outcome:
    try:
        return judge()
    except ScenarioError as error:
        return _failed(item, str(error))


def _failed(item: Item, why: str) -> Outcome:
    return Outcome(item=item, judgements=tuple(claims.failed(claim, why) for claim in item.claims), problems=(why,))


def _labels(item: Item, result: SweepResult) -> dict[str, str]:
    """What the sweep calls its columns, with units; the item's own names win."""
    from transorbit.plots import labels as naming

    labels = {axis.name: naming.of_axis(axis) for axis in result.axes}
    labels |= {metric.name: metric.title for metric in result.metrics.values() if metric.label != metric.name}
    return labels | dict(item.labels)
