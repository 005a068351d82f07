"""The result of a sweep: two tables, the metrics, and the folder that keeps them."""

from __future__ import annotations

import json
import math
import os
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _convert, _core, _files, _folder, _hash, _inputs, _notebook, _numbers, plugins
from transorbit._core import ScenarioError
from transorbit._frame import write_parquet
from transorbit.sweep import inputs, measure, sql, tables
from transorbit.sweep.identity import differences, identity
from transorbit.sweep.plan import SweepPlan
from transorbit.sweep.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from matplotlib.figure import Figure

    from transorbit.statistics import Interval
    from transorbit.sweep.axes import Axis
    from transorbit.sweep.metrics import Metric
    from transorbit.sweep.run import Progress

_IDENTITY = "transorbit_sweep"
_MARK = "# Frozen by transorbit sweep"
# The files that `Sweep.run` may have put into the folder before.
_STORE = frozenset({"store.sqlite", "store.sqlite-wal", "store.sqlite-shm"})


class SweepInterrupted(KeyboardInterrupt):
    """A sweep was stopped with Ctrl-C; `result` has the runs that were finished."""

    def __init__(self, result: SweepResult, progress: Progress) -> None:
        super().__init__(f"stopped after {progress.done} of {progress.total} runs")
        self.result = result
        self.progress = progress


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

    def __init__(
        self, sweep: SweepPlan, runs: pl.DataFrame, flows: pl.DataFrame, progress: Progress | None = None
    ) -> None:
        self.sweep = sweep
        self.runs = runs
        self.flows = flows
        self.progress = progress

    @classmethod
    def gather(
        cls, sweep: SweepPlan, store: Store, members: Sequence[tables.Member], progress: Progress | None = None
    ) -> SweepResult:
        """The tables of runs in a store.

        Raises:
            ScenarioError: a metric cannot be computed.
        """
        runs, flows = tables.build(store, members, {point.index: point for point in sweep.points}, sweep.inputs)
        # Among fewer runs than the sweep has, those with the columns of a metric may be missing.
        whole = len({(index, number) for index, number, _ in members}) >= len(sweep.points) * sweep.replications
        measured = measure.measured(runs, flows, sweep.metrics.values(), len(sweep.axes), whole=whole)
        return cls(sweep, measured, flows, progress)

    @classmethod
    def load(cls, directory: str | Path) -> SweepResult:
        """Open a folder that `save` or `transorbit sweep` wrote, also one whose sweep was killed.

        Raises:
            ScenarioError: it is not the folder of a sweep, or neither its tables nor its store can be read.
        """
        directory = Path(directory)
        sweep = frozen(directory)
        store = directory / "store.sqlite"
        unreadable = None
        if store.is_file():
            try:
                store_file = Store(store, reading=True)
            except ScenarioError as error:
                # SQLite cannot always read a folder in which nothing may be written: the tables will do.
                unreadable = error
            else:
                try:
                    return _tables(directory, sweep, store_file) or cls.gather(
                        sweep, store_file, store_file.members(identity(sweep))
                    )
                finally:
                    store_file.close()
        loaded = _tables(directory, sweep, None)
        if loaded is None:
            raise unreadable or ScenarioError(f"{directory}: has no tables of its sweep that can be read, and no store")
        return loaded

    @property
    def title(self) -> str:
        """The title of the sweep."""
        return self.sweep.title

    @property
    def axes(self) -> list[Axis]:
        """The axes that vary."""
        return self.sweep.axes

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics of each run, by name."""
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

        `runs` counts the runs that failed as well, `failed` those alone. A mean is None where there is no value, or one
        that is no number (0 / 0). The ends of an interval are None where there are less than two values.
        """
        import polars as pl

        from transorbit.statistics import mean_interval

        rows = []
        for (index,), own in self.runs.group_by("point", maintain_order=True):
            row: dict[str, Any] = {"point": index, **self.sweep.points[int(str(index))].values, "runs": len(own)}
            row["failed"] = int((own["status"] != "ok").sum())
            row["metrics"] = {}
            for name, metric in self.metrics.items():
                values = own[name].drop_nulls()
                if values.dtype.is_numeric() or values.dtype == pl.Boolean:
                    row["metrics"][name] = _of_values(mean_interval(values.cast(pl.Float64), limits=metric.limits))
            rows.append(row)
        return rows

    @property
    def warnings(self) -> list[str]:
        """The doubts about the numbers: each a line for people."""
        return [*self._failures(), *self.doubts]

    @property
    def doubts(self) -> list[str]:
        """The warnings beside those of `incomplete`, which tells of failed runs, too."""
        return [
            *self.sweep.changed_inputs,
            *self._imprecise(),
            *self._left_out(),
            *self._too_short(),
            *self._without_effect(),
        ]

    def _failures(self) -> list[str]:
        """The runs that failed, and the error of the first."""
        if self.failed.is_empty():
            return []
        failed, runs = len(self.failed), len(self.runs)
        first = self.failed.row(0, named=True)
        count = f"all {runs} runs" if failed == runs > 1 else f"{failed} of {_numbers.counted(runs, 'run')}"
        return [f"{count} failed, the first at {self._place(first)}: {first['error']}"]

    def _imprecise(self) -> list[str]:
        """The points whose interval is wider than asked for, with as many replications as allowed."""
        import polars as pl

        precision = self.sweep.precision
        if precision is None:
            return []
        missed = []
        for _, own in self.runs.filter(pl.col("status") == "ok").group_by("point", maintain_order=True):
            interval = precision.interval(own[precision.metric])
            if len(own) < precision.most or interval is None or not math.isfinite(interval.mean):
                continue
            if not precision.reached(interval):
                missed.append((own.row(0, named=True), interval))
        if not missed:
            return []
        first, interval = missed[0]
        share = f" ({100 * interval.half_width / abs(interval.mean):.2g} %)" if interval.mean else ""
        return [
            f"precision: {_numbers.counted(len(missed), 'point')} with {precision.most} replications, the most "
            f"allowed, have a wider interval than asked for, the first at {self._place(first)}: {precision.metric} is "
            f"{_numbers.number(interval.mean)} ± {_numbers.number(interval.half_width)}{share}"
        ]

    def _left_out(self) -> list[str]:
        """The metrics without a value in some runs of a point, such as the completion of what has not ended.

        A metric that each point has in all of its runs or in none is not among them.
        """
        import polars as pl

        ok = self.runs.filter(pl.col("status") == "ok")
        told = []
        for name in self.metrics:
            has = pl.col(name).is_not_null()
            without, empty = ok.filter(~has), ok.filter(~has.any().over("point"))
            if not (ok[name].dtype.is_numeric() or ok[name].dtype == pl.Boolean) or len(without) == len(empty):
                continue
            first, points = self._place(without.row(0, named=True)), empty["point"].n_unique()
            none = f"; {_numbers.counted(points, 'point has', 'points have')} none at all" if points else ""
            told.append(f"{name} ({len(without)}, the first at {first}{none})")
        if not told:
            return []
        return [
            f"of {_numbers.counted(len(ok), 'run')} some have no value: {', '.join(told)}; means and differences are "
            "of the others, which may be no fair sample"
        ]

    def _too_short(self) -> list[str]:
        """The flows whose warm-up ends too late to tell where."""
        if "steady_too_short" not in self.flows.columns:
            return []
        short = self.flows.filter(self.flows["steady_too_short"])
        if short.is_empty():
            return []
        return [
            f"warm_up: MSER-5 leaves out half the series or more of {len(short)} of {len(self.flows)} flows, "
            f"the first at {self._place(short.row(0, named=True))}: the run is too short to tell where its warm-up ends"
        ]

    def _without_effect(self) -> list[str]:
        """The axes upon which neither packets nor metrics depend: runs with the same seed have the same of both."""
        import polars as pl

        ok = self.runs.filter(pl.col("status") == "ok")
        told = []
        for axis in self.axes:
            others = ["seed", *(each.name for each in self.axes if each is not axis)]
            compared = ok.group_by(others).agg(pl.col("digest", *self.metrics).n_unique(), runs=pl.len())
            compared = compared.filter(pl.col("runs") == len(axis.values)).drop("runs", *others)
            if len(axis.values) > 1 and not compared.is_empty() and compared.max_horizontal().max() == 1:
                told.append(f"axis {axis.name} has no effect: packets and metrics are the same for all of its values")
        return told

    def _place(self, row: dict[str, Any]) -> str:
        return ", ".join(axis.place(row[axis.name]) for axis in self.axes) or "the only point"

    @property
    def incomplete(self) -> str | None:
        """What it lacks: runs that are missing or failed, and values of axes without any; None if nothing.

        With `precision` the replications that every point has are wanted.
        """
        import polars as pl

        ok = self.runs.filter(pl.col("status") == "ok")
        runs = dict(self.runs["point"].value_counts().rows())
        missing = sum(max(self.sweep.replications - runs.get(point.index, 0), 0) for point in self.sweep.points)
        failed, wanted = len(self.failed), len(self.runs) + missing
        if not missing and not failed:
            return None
        counts = [f"{count} {state}" for count, state in ((missing, "missing"), (failed, "failed")) if count]
        absent = []
        for axis in self.axes:
            there = set(ok[axis.name])
            values = [axis.written(value) for value in axis.values if value not in there]
            absent += [f"{axis.name} = {', '.join(values)}"] if values else []
        without_runs = f"; nothing for {'; '.join(absent)}" if absent else ""
        return f"of {wanted} runs {' and '.join(counts)}{without_runs}"

    def plot(self, kind: str, **options: Any) -> Figure:
        """Draw it: "lines", "bars", "cdf", "heatmap", "tradeoff" or "spectral-efficiency"; options as `plots.of_sweep`.

        Raises:
            ScenarioError: no such kind, axis or metric, or the kind does not suit them.
        """
        from transorbit import plots

        return plots.of_sweep(kind, self, **options)

    def to_pandas(self, table: str = "runs") -> Any:
        """A table as a `pandas.DataFrame`: "runs" or "flows".

        Raises:
            ValueError: there is no such table.
            ImportError: pandas is not installed.
        """
        if table not in {"runs", "flows"}:
            raise ValueError(f'table: {table!r} was given, "runs" or "flows" is expected')
        return _convert.to_pandas(self.runs if table == "runs" else self.flows)

    def to_xarray(self) -> Any:
        """The metrics as an `xarray.Dataset` over the axes and `replication`; NaN where there is no run.

        Axes that advance together are one dimension, `point`.

        Raises:
            ImportError: xarray is not installed.
        """
        names = [axis.name for axis in self.axes]
        size = math.prod(len(axis.values) for axis in self.axes)
        dims = [*names, "replication"] if size == len(self.sweep.points) else ["point", "replication"]
        table = self.runs.select(*dims, *(name for name in self.metrics if name not in dims))
        made = _convert.to_xarray(table, dims, {"title": self.title})
        for name, metric in self.metrics.items():
            if name in made:
                made[name].attrs = {"long_name": metric.label} | ({"units": metric.unit} if metric.unit else {})
        return made

    def _repr_html_(self) -> str:
        return _notebook.of_sweep(self)

    def save(self, directory: str | Path) -> Path:
        """Write a folder: the sweep and its scenario, and the tables as Parquet, which DuckDB, polars and pandas open.

        Each file appears whole or not at all. Nothing else in the folder is touched, but it must be that of a sweep.

        Raises:
            FileExistsError: `directory` holds something else.
            OSError: it cannot be written.
        """
        directory = freeze(self.sweep, directory)
        mark = {_IDENTITY: identity(self.sweep)}
        written = []
        for name, table in (("runs", self.runs), ("flows", self.flows)):
            file = directory / name / f"{name}.parquet"
            file.parent.mkdir(exist_ok=True)
            fresh = _fresh(file)
            write_parquet(table, fresh, metadata=mark)
            written.append((fresh, file))
        for fresh, file in written:
            fresh.replace(file)
        return directory

    def __repr__(self) -> str:
        return f"SweepResult({self.title!r}, {len(self.sweep.points)} points, {len(self.runs)} runs)"


def good_runs(row: Mapping[str, Any]) -> int:
    """The runs of a row of `SweepResult.means` that did not fail."""
    return int(row["runs"] - row["failed"])


def _of_values(interval: Interval) -> dict[str, Any]:
    """Mean, interval and count of a metric as `SweepResult.means` has them."""
    low, high = interval.ends
    told = {"mean": interval.mean, "low": low, "high": high}
    known = {name: value if value is not None and math.isfinite(value) else None for name, value in told.items()}
    return {**known, "count": interval.count}


def freeze(sweep: SweepPlan, directory: str | Path) -> Path:
    """Make `directory` that of the sweep: write down what is run, before anything is.

    Raises:
        FileExistsError: it holds something that is no sweep.
        OSError: it cannot be written.
    """
    directory = Path(directory)
    check_folder(directory)
    directory.mkdir(parents=True, exist_ok=True)
    copies = sweep.inputs
    names = {name: kept for name, kept in inputs.names(sweep.tables).items() if name in {each.file for each in copies}}
    text = sweep.to_toml(
        scenario="scenario.toml" if sweep.base.text is not None else None,
        files=_inputs.FOLDER if copies else "",
        names=names,
    )
    # First: the file marks the folder as ours.
    _write(directory / "sweep.toml", f"{_MARK}: what was run here. It is written anew by each start.\n{text}")
    if sweep.base.text is not None:
        _write(directory / "scenario.toml", inputs.scenario_text(sweep.base.text, names))
    _keep(copies, directory)
    plugins.write(plugins.mentioned([_files.toml(text), _files.toml(sweep.base.text or "")]), directory)
    return directory


def _keep(copies: Sequence[_inputs.Input], directory: Path) -> None:
    """Put the copies of inputs into the folder; those of another sweep go, unless somebody has changed them."""
    if (directory / _inputs.FOLDER).is_symlink():
        raise FileExistsError(f"{directory / _inputs.FOLDER}: is a link; choose another folder")
    before = _inputs.recorded(directory)
    kept = {each.kept for each in copies}
    for each in copies:
        target = directory / each.kept
        if not target.is_file() or target.read_bytes() != each.contents:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, each.contents)
    for name in before.keys() - kept:
        file = directory / name
        if file.is_file() and _hash.sha256(file.read_bytes()) == before[name]:
            file.unlink()
    described = {"transorbit": _core.version(), "inputs": _inputs.described(copies)}
    _write(directory / "provenance.json", json.dumps(described, indent=2, ensure_ascii=False) + "\n")


class Begun:
    """A folder that is to become that of a sweep; `is_ours`: whether it is already."""

    def __init__(self, sweep: SweepPlan, directory: Path, *, is_ours: bool) -> None:
        self.is_ours = is_ours
        self._sweep = sweep
        self._directory = directory

    def good(self) -> None:
        """Removes what the folder had before, because there is a good run."""
        if not self.is_ours:
            self.is_ours = True
            freeze(self._sweep, self._directory)


@contextmanager
def begun(sweep: SweepPlan, directory: Path) -> Iterator[Begun]:
    """Make `directory` that of the sweep while it is run.

    A new one is at once; one that has another sweep keeps it until there is a good run, and gets it back where a metric
    cannot be computed after all: its tables are still those of that sweep.

    Raises:
        FileExistsError: it holds something that is no sweep.
        OSError: it cannot be written.
    """
    own = ("sweep.toml", "scenario.toml", "provenance.json")
    files = [directory / name for name in (*own, *_inputs.recorded(directory))]
    before = {file: file.read_bytes() if file.is_file() else None for file in files}
    is_new = before[files[0]] is None
    folder = Begun(sweep, directory, is_ours=not is_new and _is_same(sweep, directory))
    if is_new:
        folder.good()
    elif folder.is_ours:
        # The inputs may have changed since the last start.
        freeze(sweep, directory)
    try:
        yield folder
    except ScenarioError:
        for file, text in before.items():
            if folder.is_ours and before[files[0]] is not None and text is not None:
                _write(file, text)
        raise


def _is_same(sweep: SweepPlan, directory: Path) -> bool:
    try:
        return not differences(sweep, frozen(directory))
    except ScenarioError:
        return False


def check_folder(directory: Path) -> None:
    """Raise unless a sweep can be kept in `directory`: it is new, empty but for a store, or has one already.

    Raises:
        FileExistsError: it holds something else, such as a sweep file that somebody wrote.
        NotADirectoryError: a file stands where a folder above it would be.
    """
    file = directory / "sweep.toml"
    if not file.is_file():
        if directory.is_dir() and {entry.name for entry in directory.iterdir()} <= _STORE:
            return
        _folder.check_replaceable(directory, _folder.SWEEP)
    elif not file.read_bytes().startswith(_MARK.encode()):
        raise FileExistsError(
            f"{file}: was not written by `transorbit sweep` and is not replaced; choose another folder"
        )


def frozen(directory: Path) -> SweepPlan:
    """The sweep of a folder.

    Raises:
        ScenarioError: it has none.
    """
    if not (directory / "sweep.toml").is_file():
        raise ScenarioError(f"{directory}: is not the folder of a sweep: it has no sweep.toml")
    file = directory / "sweep.toml"
    try:
        table = _files.toml(_files.read_text(file))
        if _files.is_outside(str(table.get("files", ""))):
            raise ScenarioError(f"files: {table['files']!r} leads out of the folder")
        return SweepPlan.from_dict(table, base_dir=directory, confined=True, files=True)
    except ScenarioError as error:
        raise ScenarioError(f"{file}: {str(error).removeprefix(f'{file}: ')}") from None


def _fresh(file: Path) -> Path:
    """The place of a file until it is whole: another start may write the same file at the same time."""
    return file.with_name(f".{file.name}.{os.getpid()}.new")


def _write(file: Path, contents: str | bytes) -> None:
    fresh = _fresh(file)
    fresh.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    fresh.replace(file)


def _tables(directory: Path, sweep: SweepPlan, store: Store | None) -> SweepResult | None:
    """The tables as they were written, if they are those of this sweep, whole, and the store says nothing else."""
    import polars as pl

    files = [directory / name / f"{name}.parquet" for name in ("runs", "flows")]
    if not all(file.is_file() for file in files):
        return None
    try:
        if any(pl.read_parquet_metadata(file).get(_IDENTITY) != identity(sweep) for file in files):
            return None
        runs, flows = (pl.read_parquet(file) for file in files)
    except (pl.exceptions.PolarsError, OSError):
        # The tables are damaged; they are made again from the store.
        return None
    # A process that was killed between both writes left a new table beside an old one.
    if len(flows) and set(flows["key"]) != set(runs.filter(pl.col("status") == "ok")["key"]):
        return None
    # A run that failed may have ended well since, under the same key.
    if store and runs.select("key", "status", "error").rows() != store.states(identity(sweep)):
        return None
    return SweepResult(sweep, runs, flows)
