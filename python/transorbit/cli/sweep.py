"""`transorbit sweep`: runs of a scenario over a grid, on all cores or on a cluster."""

from __future__ import annotations

import json
import sys
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit import _files, _interrupt, _numbers
from transorbit._numbers import counted as _counted
from transorbit.cli import parse, tables
from transorbit.cli.common import Outside, Plugins, Settings, examples, keys, run_plugins, warn
from transorbit.cli.errors import UsageError
from transorbit.sweep.identity import differences
from transorbit.sweep.plan import LARGEST_SEED
from transorbit.sweep.result import begun, check_folder, frozen, good_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from transorbit.sweep import Progress

HELP = examples(
    'transorbit sweep leo-snr --set duration="5 s"',
    "transorbit init leo-snr",
    'transorbit sweep leo-snr.sweep.toml --set duration="5 s" --out results/short --jobs 2',
)
_SHOWN_POINTS = 60
_CHECKED_POINTS = 10_000
# From so many runs on it is said how many there are, and how long they take.
_MANY_RUNS = 10_000
_ESTIMATE_S = 5.0
_SHOWN_ERRORS = 5


def sweep(
    file: Path,
    /,
    *,
    set_: Settings = None,
    outside: Outside = False,
    plugin: Plugins = None,
    jobs: int | None = None,
    dask: str | None = None,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative="")] = False,
    seed: str | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run a scenario over a grid of changes, and keep a table of all runs.

    What has been computed is kept at once and never computed again: after an interruption, the same command goes on.

    Args:
        file: A sweep file.
        jobs: Runs at a time on this computer; by default as many as it has cores.
        dask: The address of a Dask scheduler: run on its workers instead.
        out: The sweep's folder; by default results/NAME. What an earlier start computed there is used.
        resume: Go on with a sweep that was begun; refuse to begin one.
        seed: Replaces the sweep's root seed: a whole number from 0 to 10^9.
        json_: Print means and intervals as JSON and nothing else.
        quiet: Print nothing but errors.
    """
    if jobs is not None and (jobs < 1 or dask is not None):
        raise UsageError("--jobs: does not go with --dask" if dask else f"--jobs: {jobs} must be 1 or more")
    run_plugins(plugin)
    ready = _load(file, outside=outside)
    # Options come after the file, so errors in them are reported without its name.
    ready = ready.replace(seed=None if seed is None else parse.seed(seed, most=LARGEST_SEED), set=_settings(set_))
    directory = out or Path("results") / file.name.removesuffix(".toml").removesuffix(".sweep")
    check_folder(directory)
    if file.resolve().parent == directory.resolve():
        raise UsageError(f"--out: {directory} holds {file.name} itself, which a sweep must not replace")
    if resume:
        _check_same(ready, directory)
    if (runs := len(ready.points) * ready.replications) >= _MANY_RUNS and not quiet:
        print(f"transorbit: {_counted(len(ready.points), 'point')}, {runs} runs", file=sys.stderr, flush=True)
    try:
        return _run(ready, directory, jobs=jobs, dask=dask, json_=json_, quiet=quiet)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; finished runs are kept: the same command goes on from there") from None


def _run(ready: to.Sweep, directory: Path, *, jobs: int | None, dask: str | None, json_: bool, quiet: bool) -> int:
    """Run a sweep into its folder, and tell what came out. Ctrl-C ends the runs; what came of them is still written."""
    ready.check()
    _warn_of_unfit(ready)
    stopped = None
    # All checks come before anything is written.
    with _client(dask) as client, _progress(enabled=not quiet) as progress, begun(ready, directory) as folder:

        def tell(at: Progress) -> None:
            if at.done > at.failed:
                folder.good()
            if progress:
                progress(at)

        try:
            result = ready.run(jobs=jobs, dask=client, store=directory / "store.sqlite", progress=tell)
        except to.SweepInterrupted as stop:
            result, stopped = stop.result, str(stop)
    with _interrupt.held() as interrupted:
        if folder.is_ours:
            result.save(directory)
        else:
            print(f"transorbit: no run was finished: {directory} keeps the sweep that it had", file=sys.stderr)
        at = result.progress
        partial = stopped is not None and not (at and at.done == at.total)
        report = _report(result, directory, partial=partial)
        if json_:
            print(json.dumps(report, indent=2, ensure_ascii=False), flush=True)
        elif not quiet:
            print(_text(result, report, kept=folder.is_ours), flush=True)
        warn(result.warnings)
    if partial:
        print(f"transorbit: {stopped}; the same command goes on from there", file=sys.stderr)
        return 130
    if stopped or interrupted.is_set():
        print("transorbit: stopped; all runs had been made", file=sys.stderr)
        return 130
    # As for wrong input, if no run is good.
    return 2 if report["failed"] and report["failed"] == report["runs"] else 0


def _load(file: Path, *, outside: bool) -> to.Sweep:
    try:
        return to.Sweep.load(file, outside=outside)
    except to.ScenarioError:
        given = keys(file)
        if "scenario" not in given and given & {"path", "last_hop", "flows"}:
            raise UsageError(f"{file}: this is a scenario: transorbit run {file}") from None
        raise


def _warn_of_unfit(ready: to.Sweep) -> None:
    """Warn of points whose scenario is wrong before the others are run: a line for each error."""
    unfit: dict[str, list[str]] = {}
    # Only the first of very many points are checked: the others would take longer than people wait.
    for point in ready.points[:_CHECKED_POINTS]:
        try:
            ready.scenario(point).check()
        except to.ScenarioError as error:
            where = ", ".join(axis.place(point.values[axis.name]) for axis in ready.axes)
            unfit.setdefault(str(error), []).append(where)
    for told, (first, *others) in list(unfit.items())[:_SHOWN_ERRORS]:
        more = f" (and {len(others)} {'point' if len(others) == 1 else 'points'} more)" if others else ""
        warn([f"cannot run {first}{more}: {told}"])
    if len(unfit) > _SHOWN_ERRORS:
        rest = sum(len(points) for points in list(unfit.values())[_SHOWN_ERRORS:])
        warn([f"{rest} other points cannot run either"])


def _check_same(ready: to.Sweep, directory: Path) -> None:
    if not (directory / "sweep.toml").is_file():
        raise UsageError(f"--resume: {directory} has no sweep to go on with; without --resume one is begun")
    if differ := differences(ready, frozen(directory)):
        raise UsageError(f"--resume: {directory} has another sweep, which differs in {', '.join(differ)}")


def _client(dask: str | None) -> AbstractContextManager[Any]:
    """The connection to a Dask scheduler, if one is asked for."""
    if dask is None:
        return nullcontext()
    from transorbit.sweep.cluster import connect

    try:
        return closing(connect(dask))
    except to.ScenarioError as error:
        raise UsageError(f"--{error}") from None


def _settings(assignments: list[str] | None) -> dict[str, Any]:
    """Changes as the scenario's own `--set` reads them: any value of TOML, and bare words that are none are a text."""
    settings: dict[str, Any] = {}
    for assignment in assignments or []:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not (key and equals):
            raise UsageError(f'--set: {assignment!r}: write key=value, as in channel.reference_snr="7 dB"')
        try:
            (settings[key],) = _files.toml(f"value = {text}").values()
        except (to.ScenarioError, ValueError):
            if not text or text[0] in "[{\"'":
                raise UsageError(f"--set: {key}: `{text}` is not a TOML value") from None
            settings[key] = text
    return settings


def _report(result: to.SweepResult, directory: Path, *, partial: bool) -> dict[str, Any]:
    progress = result.progress
    assert progress is not None, "the sweep was run here"
    return {
        "title": result.title,
        "folder": str(directory),
        "points": len(result.sweep.points),
        "runs": len(result.runs),
        "wanted": progress.total,
        "partial": partial,
        "computed": progress.computed,
        "reused": progress.reused,
        "failed": len(result.failed),
        "warnings": result.warnings,
        "elapsed_s": round(progress.elapsed_s, 3),
        "axes": {axis.name: {"label": axis.label, "unit": axis.unit} for axis in result.axes},
        "metrics": {
            metric.name: {"label": metric.label, "unit": metric.unit or None} for metric in result.metrics.values()
        },
        "rows": result.means(),
    }


def _text(result: to.SweepResult, report: dict[str, Any], *, kept: bool) -> str:
    """A line for each point: its values, and each metric's mean and half the width of its interval."""
    axes = [tables.Column(f"{axis.name} ({axis.unit})" if axis.unit else axis.name, words=True) for axis in result.axes]
    metrics = [
        metric for metric in result.metrics.values() if any(metric.name in row["metrics"] for row in report["rows"])
    ]
    heads = (f"{metric.name} ({metric.unit})" if metric.unit else metric.name for metric in metrics)
    counts = ["runs", "failed"] if report["failed"] else ["runs"]
    header: list[tables.Column | str] = [*axes, *counts, *heads]
    shown = report["rows"][:_SHOWN_POINTS]
    rows = [
        [
            *(axis.plain(row[axis.name]) for axis in result.axes),
            *(str(row[name]) for name in counts),
            *(_cell(row, metric.name) for metric in metrics),
        ]
        for row in shown
    ]
    more = len(report["rows"]) - _SHOWN_POINTS
    were = "was" if report["reused"] == 1 else "were"
    spread = any(found["count"] > 1 for row in report["rows"] for found in row["metrics"].values())
    how = "; means ± half of their 95 % interval" if spread else ""
    fewer = any(_is_of_fewer(row, metric.name) for row in shown for metric in metrics)
    return "\n".join(
        [
            *tables.titled(
                result.title,
                f"{_counted(report['points'], 'point')}, {_counted(report['runs'], 'run')}: {report['computed']} "
                f"computed in {_numbers.duration(report['elapsed_s'])}, {report['reused']} {were} there{how}",
            ),
            "",
            *tables.table(header, rows),
            *([f"and {_counted(more, 'point')} more, in the tables"] if more > 0 else []),
            *(["in parentheses: how many runs have a value, where others of the point have none"] if fewer else []),
            *(["", f"Tables: {report['folder']}/runs and {report['folder']}/flows (Parquet)"] if kept else []),
        ]
    )


def _cell(row: dict[str, Any], metric: str) -> str:
    metric_interval = row["metrics"][metric]
    told = _numbers.interval(metric_interval["mean"], metric_interval["low"], metric_interval["high"])
    return f"{told} ({metric_interval['count']})" if _is_of_fewer(row, metric) else told


def _is_of_fewer(row: dict[str, Any], metric: str) -> bool:
    """Whether a point's mean is that of some of its good runs: the others have no value."""
    return 0 < int(row["metrics"][metric]["count"]) < good_runs(row)


@contextmanager
def _progress(*, enabled: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Runs done, rate and time left on standard error, if that is a terminal."""
    if not enabled:
        yield None
        return
    if not sys.stderr.isatty():
        yield _Patience()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=40), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda at: bar.update(task, total=at.total, completed=at.done, description=_how_far(at))


class _Patience:
    """Without a terminal: a line if nothing goes on for want of a worker, and one for how long very many runs take."""

    def __init__(self) -> None:
        self._told = False
        self._estimated = False

    def __call__(self, at: Progress) -> None:
        if at.total >= _MANY_RUNS and not self._estimated and at.elapsed_s > _ESTIMATE_S and at.left_s is not None:
            self._estimated = True
            print(f"transorbit: {_how_far(at)}; Ctrl-C keeps what is finished", file=sys.stderr, flush=True)
        if at.stalled and not self._told:
            print("transorbit: --dask: the scheduler has no workers; waiting for one", file=sys.stderr, flush=True)
        self._told = at.stalled


def _how_far(at: Progress) -> str:
    failed = f", {at.failed} failed" if at.failed else ""
    if at.stalled:
        return f"{at.done}/{at.total} runs{failed}, waiting for a worker"
    left = f", {at.rate:.3g} runs/s, {_numbers.duration(at.left_s)} left" if at.left_s is not None else ""
    return f"{at.done}/{at.total} runs{failed}{left}"
