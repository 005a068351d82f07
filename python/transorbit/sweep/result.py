"""What a sweep gives: two tables, the metrics, and the folder that keeps them."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _folder
from transorbit._core import ScenarioError
from transorbit.sweep import sql, tables
from transorbit.sweep.plan import Sweep
from transorbit.sweep.run import Progress, identity
from transorbit.sweep.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from transorbit.sweep.axes import Axis
    from transorbit.sweep.metrics import Metric

_IDENTITY = "transorbit_sweep"


class SweepResult:
    """The tables of a sweep.

    Attributes:
        sweep: what was run.
        runs: one row for each run, in the order of `point` and `replication`: the axes, the metrics, `status` ("ok" or
            "failed") and `error`, where it comes from, and every number of the run's summary under its dotted name.
            `docs/definitions.md` has their meaning and units.
        flows: one row for each flow and run: the axes, and the columns of the summary's `flows`; with `warm_up` also
            averages of the series, as `steady_…`.
        progress: what was computed and what was there; None of a result that was loaded.
    """

    def __init__(self, sweep: Sweep, runs: pl.DataFrame, flows: pl.DataFrame, progress: Progress | None = None) -> None:
        self.sweep = sweep
        self.runs = runs
        self.flows = flows
        self.progress = progress

    @classmethod
    def gather(
        cls, sweep: Sweep, store: Store, members: Sequence[tables.Member], progress: Progress | None = None
    ) -> SweepResult:
        """The tables of runs in a store.

        Raises:
            ScenarioError: a metric cannot be computed.
        """
        runs, flows = tables.build(store, members, {point.index: point for point in sweep.points})
        measured = tables.measured(runs, flows, sweep.metrics.values(), len(sweep.axes))
        return cls(sweep, measured, flows, progress)

    @classmethod
    def load(cls, directory: str | Path) -> SweepResult:
        """Open a folder that `save` or `transorbit sweep` wrote, also one whose sweep was killed.

        Raises:
            ScenarioError: it is not the folder of a sweep.
        """
        directory = Path(directory)
        sweep = _frozen(directory)
        store = directory / "store.sqlite"
        if store.is_file():
            kept = Store(store)
            try:
                members = kept.members(identity(sweep))
                return _tables(directory, sweep, members) or cls.gather(sweep, kept, members)
            finally:
                kept.close()
        loaded = _tables(directory, sweep, None)
        if loaded is None:
            raise ScenarioError(f"{directory}: has neither the tables of its sweep nor a store of runs")
        return loaded

    @property
    def title(self) -> str:
        """What the sweep calls itself."""
        return self.sweep.title

    @property
    def axes(self) -> list[Axis]:
        """What varies."""
        return self.sweep.axes

    @property
    def metrics(self) -> dict[str, Metric]:
        """What is read off each run, by name."""
        return self.sweep.metrics

    @cached_property
    def failed(self) -> pl.DataFrame:
        """The runs that have an error instead of numbers."""
        import polars as pl

        return self.runs.filter(pl.col("status") != "ok")

    def query(self, sql_text: str) -> pl.DataFrame:
        """The answer of DuckDB to a query over the tables `runs` and `flows`.

        Raises:
            ScenarioError: DuckDB refuses the query.
        """
        return sql.query(sql_text, {"runs": self.runs, "flows": self.flows})

    def means(self) -> list[dict[str, Any]]:
        """For each point: `point`, its axes, `runs`, `failed`, and `metrics`: mean, 95 % interval and count by name.

        A mean is None where there is no value, or one that is no number (0 / 0).
        """
        import polars as pl

        from transorbit.statistics import mean_interval

        rows = []
        for (index,), own in self.runs.group_by("point", maintain_order=True):
            row: dict[str, Any] = {"point": index, **self.sweep.points[int(str(index))].values, "runs": len(own)}
            row["failed"] = int((own["status"] != "ok").sum())
            row["metrics"] = {}
            for name in self.metrics:
                values = own[name].drop_nulls()
                if values.dtype.is_numeric() or values.dtype == pl.Boolean:
                    interval = mean_interval(values.cast(pl.Float64))
                    numbers = {"mean": interval.mean, "low": interval.low, "high": interval.high}
                    known = {key: number if math.isfinite(number) else None for key, number in numbers.items()}
                    row["metrics"][name] = {**known, "count": interval.count}
            rows.append(row)
        return rows

    def plot(self, kind: str, **options: Any) -> Figure:
        """Draw it: "lines", "bars", "cdf", "heatmap" or "spectral-efficiency"; options as `plots.of_sweep` has them.

        Raises:
            ScenarioError: no such kind, axis or metric, or the kind does not suit them.
        """
        from transorbit import plots

        return plots.of_sweep(kind, self, **options)

    def save(self, directory: str | Path) -> Path:
        """Write a folder: the sweep and its scenario, and the tables as Parquet, which DuckDB, polars and pandas open.

        Each file appears whole or not at all. Nothing else in the folder is touched, but it must be that of a sweep.

        Raises:
            FileExistsError: `directory` holds something else.
            OSError: it cannot be written.
        """
        directory = freeze(self.sweep, directory)
        mark = {_IDENTITY: identity(self.sweep)}
        for name, table in (("runs", self.runs), ("flows", self.flows)):
            file = directory / name / f"{name}.parquet"
            file.parent.mkdir(exist_ok=True)
            fresh = file.with_name(f".{file.name}.new")
            table.write_parquet(fresh, metadata=mark)
            fresh.replace(file)
        return directory

    def __repr__(self) -> str:
        return f"SweepResult({self.title!r}, {len(self.sweep.points)} points, {len(self.runs)} runs)"


def freeze(sweep: Sweep, directory: str | Path) -> Path:
    """Make `directory` that of the sweep: write down what is run, before anything is.

    Raises:
        FileExistsError: it holds something that is no sweep.
        OSError: it cannot be written.
    """
    directory = Path(directory)
    check_folder(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if sweep.base.text is not None:
        _write(directory / "scenario.toml", sweep.base.text)
    _write(directory / "sweep.toml", sweep.to_toml(scenario="scenario.toml" if sweep.base.text is not None else None))
    return directory


def check_folder(directory: Path) -> None:
    """Raise unless a sweep can be kept in `directory`: it is new or empty, or has one already.

    Raises:
        FileExistsError: it holds something else.
        NotADirectoryError: a file stands where a folder above it would be.
    """
    if not (directory / "sweep.toml").is_file():
        _folder.check_replaceable(directory, _folder.SWEEP)


def _write(file: Path, text: str) -> None:
    fresh = file.with_name(f".{file.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


def _frozen(directory: Path) -> Sweep:
    if not (directory / "sweep.toml").is_file():
        raise ScenarioError(f"{directory}: is not the folder of a sweep: it has no sweep.toml")
    return Sweep.load(directory / "sweep.toml")


def _tables(directory: Path, sweep: Sweep, members: Sequence[tables.Member] | None) -> SweepResult | None:
    """The tables as they were written, if they are those of this sweep and the store has no more runs."""
    import polars as pl

    files = [directory / name / f"{name}.parquet" for name in ("runs", "flows")]
    if not all(file.is_file() for file in files):
        return None
    if members is not None and any(pl.read_parquet_metadata(file).get(_IDENTITY) != identity(sweep) for file in files):
        return None
    runs, flows = (pl.read_parquet(file) for file in files)
    if members is not None and runs["key"].to_list() != [key for _, _, key in members]:
        return None
    return SweepResult(sweep, runs, flows)
