"""A sweep that can be run, here or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _core, _interrupt, _notebook
from transorbit._core import ScenarioError
from transorbit.sweep.plan import SweepPlan
from transorbit.sweep.queue import compute
from transorbit.sweep.result import SweepInterrupted, SweepResult
from transorbit.sweep.run import Runs
from transorbit.sweep.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from transorbit.sweep.queue import Pool
    from transorbit.sweep.run import Progress


@dataclass(frozen=True)
class Sweep(SweepPlan):
    """Runs of a scenario over the grid of some axes, each point with the same seeds; see `SweepPlan`."""

    def run(
        self,
        *,
        jobs: int | None = None,
        dask: Any = None,
        store: str | Path | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> SweepResult:
        """Run every point as often as the sweep says, and gather the tables.

        Runs that the store has are not computed again. A run that fails is recorded with its error, and tried again
        the next time. The tables do not depend on `jobs` or `dask`.

        Args:
            jobs: threads, by default as many as there are cores. Runs do not hold on to Python meanwhile.
            dask: address of a Dask scheduler, or a `distributed.Client`: run there instead.
            store: a file that keeps every outcome as it comes; several sweeps may share it. By default nothing is kept.
            progress: called after each run, and now and then between two, with the same object; its `done` counts
                runs. By default a notebook has a bar.

        Raises:
            ScenarioError: the sweep is wrong, a metric cannot be computed, or Dask's workers run other code.
            SweepInterrupted: Ctrl-C; its `result` has what was finished.
        """
        self.check()
        kept = Store(Path(store) if store else None)
        try:
            plans = _core.Plans()
            pool = _pool(jobs, dask, plans)
            bar = None if progress else _notebook.bar()
            runs = Runs(self, kept, bar.of_sweep if bar else progress, plans)
            try:
                compute([runs], pool)
                stopped = False
            except KeyboardInterrupt:
                stopped = True
            finally:
                pool.close()
            # What has come is gathered also where Ctrl-C comes now.
            with _interrupt.held() as late:
                result = SweepResult.gather(self, kept, runs.members, runs.progress)
            if stopped or late.is_set():
                raise SweepInterrupted(result, runs.progress)
            return result
        finally:
            kept.close()


def _pool(jobs: int | None, dask: Any, plans: _core.Plans) -> Pool:
    if dask is None:
        from transorbit.sweep.local import Threads

        return Threads(jobs, plans)
    if jobs is not None:
        raise ScenarioError("jobs: does not go with dask, whose workers have threads of their own")
    from transorbit.sweep.cluster import Cluster

    return Cluster(dask)
