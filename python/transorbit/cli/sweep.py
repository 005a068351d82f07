"""`transorbit sweep`: runs of a scenario over a grid, on all cores or on a cluster."""

from __future__ import annotations

import json
import sys
import tomllib
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit.cli import UsageError, parse, show
from transorbit.cli.common import Plugins, Settings, examples, run_plugins
from transorbit.sweep.result import check_folder, freeze, frozen
from transorbit.sweep.run import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from transorbit.sweep import Progress

HELP = examples(
    "transorbit sweep scenarios/leo-snr.sweep.toml",
    'transorbit sweep scenarios/leo-snr.sweep.toml --set duration="30 s" --out results/short',
    "transorbit sweep scenarios/leo-snr.sweep.toml --dask tcp://127.0.0.1:8786",
)
_SHOWN_POINTS = 60


def sweep(
    file: Path,
    /,
    *,
    set_: Settings = None,
    plugin: Plugins = None,
    jobs: int | None = None,
    dask: str | None = None,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative="")] = False,
    seed: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run a scenario over a grid of changes, and keep a table of all runs.

    What has been computed is kept at once and never computed again: after an interruption, the same command goes on.

    Args:
        file: A sweep file.
        jobs: Runs at a time on this machine; by default as many as it has cores.
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
    ready = to.Sweep.load(file)
    # Options come after the file, so what is wrong with them is told without its name.
    ready = ready.replace(seed=None if seed is None else parse.seed(seed), set=_settings(set_))
    directory = out or Path("results") / file.name.removesuffix(".toml").removesuffix(".sweep")
    check_folder(directory)
    if file.resolve().parent == directory.resolve():
        raise UsageError(f"--out: {directory} holds {file.name} itself, which a sweep must not replace")
    if resume:
        _check_same(ready, directory)
    ready.check()
    stopped = None
    # Whatever is wrong is told before anything is written.
    with _client(dask) as client, _progress(enabled=not quiet) as progress:
        freeze(ready, directory)
        try:
            result = ready.run(jobs=jobs, dask=client, store=directory / "store.sqlite", progress=progress)
        except to.SweepInterrupted as stop:
            result, stopped = stop.result, str(stop)
    result.save(directory)
    report = _report(result, directory)
    if json_:
        print(json.dumps(report, indent=2, ensure_ascii=False), flush=True)
    elif not quiet:
        print(_text(result, report), flush=True)
    for warning in result.warnings:
        print(f"transorbit: warning: {warning}", file=sys.stderr)
    if stopped:
        print(f"transorbit: {stopped}; the same command goes on from there", file=sys.stderr)
        return 130
    return _failures(result, report)


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
            (settings[key],) = tomllib.loads(f"value = {text}").values()
        except (tomllib.TOMLDecodeError, ValueError):
            if not text or text[0] in "[{\"'":
                raise UsageError(f"--set: {key}: `{text}` is not a TOML value") from None
            settings[key] = text
    return settings


def _report(result: to.SweepResult, directory: Path) -> dict[str, Any]:
    progress = result.progress
    assert progress is not None, "the sweep was run here"
    return {
        "title": result.title,
        "folder": str(directory),
        "points": len(result.sweep.points),
        "runs": len(result.runs),
        "computed": progress.computed,
        "reused": progress.reused,
        "failed": len(result.failed),
        "warnings": result.warnings,
        "elapsed_s": round(progress.elapsed_s, 3),
        "axes": {axis.name: {"label": axis.label, "unit": axis.unit} for axis in result.axes},
        "metrics": {metric.name: {"label": metric.label, "unit": metric.unit} for metric in result.metrics.values()},
        "rows": result.means(),
    }


def _text(result: to.SweepResult, report: dict[str, Any]) -> str:
    """A line for each point: its values, and each metric's mean and half the width of its interval."""
    axes = [f"{axis.name} ({axis.unit})" if axis.unit else axis.name for axis in result.axes]
    metrics = [
        metric for metric in result.metrics.values() if any(metric.name in row["metrics"] for row in report["rows"])
    ]
    header = [*axes, "runs", *(f"{metric.name} ({metric.unit})" if metric.unit else metric.name for metric in metrics)]
    rows = [
        [
            *(
                f"{value:g}" if isinstance(value, float) else str(value)
                for value in (row[axis.name] for axis in result.axes)
            ),
            str(row["runs"]),
            *(_cell(row["metrics"][metric.name]) for metric in metrics),
        ]
        for row in report["rows"][:_SHOWN_POINTS]
    ]
    more = len(report["rows"]) - _SHOWN_POINTS
    return "\n".join(
        [
            result.title,
            f"{report['points']} points, {report['runs']} runs: {report['computed']} computed in "
            f"{_time(report['elapsed_s'])}, {report['reused']} were there",
            "",
            *show.table(header, rows),
            *([f"and {more} points more, in the tables"] if more > 0 else []),
            "",
            f"Tables: {report['folder']}/runs and {report['folder']}/flows (Parquet)",
        ]
    )


def _cell(interval: dict[str, Any]) -> str:
    if interval["mean"] is None:
        return "-"
    spread = f" ± {(interval['high'] - interval['low']) / 2:.2g}" if interval["count"] > 1 else ""
    return f"{interval['mean']:.4g}{spread}"


def _failures(result: to.SweepResult, report: dict[str, Any]) -> int:
    """Tell of runs that failed; the code is that of wrong input if there are no others."""
    if not report["failed"]:
        return 0
    first = result.failed.row(0, named=True)
    where = ", ".join(f"{axis.name} = {first[axis.name]}" for axis in result.axes)
    all_of = report["failed"] == report["runs"]
    count = f"all {report['failed']} runs" if all_of else f"{report['failed']} of {report['runs']} runs"
    print(f"transorbit: {count} failed, the first at {where or 'the only point'}: {first['error']}", file=sys.stderr)
    return 2 if all_of else 0


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
    """Without a terminal: one line if nothing goes on for want of a worker."""

    def __init__(self) -> None:
        self._told = False

    def __call__(self, at: Progress) -> None:
        if at.stalled and not self._told:
            print("transorbit: --dask: the scheduler has no workers; waiting for one", file=sys.stderr, flush=True)
        self._told = at.stalled


def _how_far(at: Progress) -> str:
    failed = f", {at.failed} failed" if at.failed else ""
    if at.stalled:
        return f"{at.done}/{at.total} runs{failed}, waiting for a worker"
    left = f", {at.rate:.3g} runs/s, {_time(at.left_s)} left" if at.left_s is not None else ""
    return f"{at.done}/{at.total} runs{failed}{left}"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
