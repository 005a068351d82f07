"""The command `transorbit plot`: figures of a result folder or of a sweep's, each with its numbers."""

from __future__ import annotations

import re
import sys
from pathlib import Path  # noqa: TC003 - the parser of the command line reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit import _figures, _folder, _open
from transorbit._names import hint
from transorbit.cli import parse
from transorbit.cli.common import Title, Width, examples, write_plot, write_text
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

_KINDS = {
    "a result": {name: kind.shows for name, kind in _figures.OF_RUN.items()},
    "a sweep": _figures.OF_SWEEP,
}


def _described(kinds: Mapping[str, str], indent: str = "") -> list[str]:
    """A line for each kind."""
    broad = max(map(len, kinds), default=0)
    return [f"{indent}{kind:<{broad}}  {shows}" for kind, shows in kinds.items()]


_LISTED = [line for of, kinds in _KINDS.items() for line in (f"Kinds of {of}:", *_described(kinds, "    "), "")]
HELP = "\n".join(_LISTED) + examples(
    "transorbit run leo-tcp --set duration='30 s' --set record.packets=pcapng",
    "transorbit plot results/leo-tcp",
    "transorbit plot results/leo-tcp timeline --from '10 s' --until '20 s'",
    "transorbit plot results/leo-tcp sequence --flow 0 --out sequence.pdf",
    "transorbit sweep leo-snr --set duration='5 s'",
    "transorbit plot results/leo-snr lines --y goodput_mbps --by tcp --width single --data goodput.csv",
    "transorbit plot results/leo-snr lines --y goodput_mbps,flows.one_way_delay_mean_s --by tcp",
    "transorbit plot results/leo-snr tradeoff --x flows.one_way_delay_mean_s --y goodput_mbps",
    "transorbit plot results/leo-snr cdf --y flows.goodput_bps --only 'snr=7 dB'",
)
_OF_RUN, _OF_SWEEP = ("flow", "place", "from", "until"), ("x", "y", "by", "panels", "along", "only", "log")
Name = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


def plot(
    folder: Path,
    kind: str | None = None,
    /,
    *,
    x: Name = None,
    y: Name = None,
    by: Name = None,
    panels: Name = None,
    along: Name = None,
    only: Annotated[list[str] | None, Parameter(name="--only", negative="", allow_leading_hyphen=True)] = None,
    log: str | None = None,
    title: Title = None,
    flow: int | None = None,
    place: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    until: str | None = None,
    width: Width = "double",
    out: Path | None = None,
    data: Path | None = None,
) -> None:
    """Draw a result or a sweep; without a kind, list what the folder can be drawn as.

    Args:
        folder: A result folder, or that of a sweep.
        kind: What to draw: one of the kinds below.
        x: Of a sweep: the axis to draw over; of a tradeoff a metric; not of a cdf.
        y: Of a sweep: a metric, a column of the runs, or one of the flows, as in flows.goodput_bps. Several
            with commas between them have a row of panels each. Not of spectral-efficiency.
        by: Of a sweep: the axis with a line or bar for each value.
        panels: Of a sweep: the axis with a panel for each value.
        along: Of a tradeoff: the axis along which lines join the points.
        only: Of a sweep: draw these values of an axis, as in snr=7,10. Repeatable.
        log: Of a sweep: logarithmic axes: x, y or xy; of bars and heatmap y alone.
        flow: Of a timeline or sequence: the number of the flow.
        place: Of a sequence: where the packets were seen: sender, gateway, satellite or receiver.
        from_: Of a timeline or sequence: when it begins, as in "10 s".
        until: Of a timeline or sequence: when it ends.
        out: Write this file, .svg, .pdf or .png. By default .svg and .pdf in the folder's plots.
        data: Write the numbers of the figure to this file, as CSV; one that has something else is not replaced.
    """
    from transorbit import plots

    if out is not None and out.suffix.lower() not in _figures.SUFFIXES:
        raise UsageError(f"--out: {out}: the name must end in {', '.join(_figures.SUFFIXES)}")
    if out:
        _folder.check_picture(out)
    if data:
        _folder.check_file(data)
    is_sweep = _is_sweep(folder)
    given: dict[str, Any] = {"x": x, "y": y, "by": by, "panels": panels, "along": along, "only": only, "log": log}
    given |= {"title": title, "flow": flow, "place": place, "from": from_, "until": until}
    given = {name: value for name, value in given.items() if value is not None}
    if kind is None:
        print(_listing(folder, is_sweep))
        return
    given["width"] = parse.width("--width", width)
    try:
        figure, stem = (_of_sweep if is_sweep else _of_run)(folder, kind, given)
    except to.ScenarioError as error:
        raise _of_options(error) from None
    if lacks := getattr(figure, "left_out", ""):
        print(f"transorbit: {lacks}", file=sys.stderr)
    if data:
        numbers = plots.numbers(figure).write_csv()
        # `write_text` would keep beside a file what took long to compute.
        _folder.check_text(data, numbers)
        write_text(numbers, data)
    for file in [out] if out else [folder / "plots" / f"{stem}{suffix}" for suffix in (".svg", ".pdf")]:
        write_plot(figure, file)
        print(f"Figure: {file}")
    if data:
        print(f"Numbers: {data}")


def _is_sweep(folder: Path) -> bool:
    if not folder.is_dir():
        raise UsageError(f"plot: {folder}: no such folder: that of a result or of a sweep is expected")
    if (folder / "sweep.toml").is_file():
        return True
    if not (folder / "summary.json").is_file():
        raise UsageError(f"plot: {folder}: is neither the folder of a result nor that of a sweep")
    return False


def _of_sweep(folder: Path, kind: str, given: dict[str, Any]) -> tuple[Figure, str]:
    from transorbit import plots
    from transorbit.sweep import SweepResult

    _check_kind(kind, list(_figures.OF_SWEEP), "sweep")
    _check_options(given, _OF_RUN, "a sweep")
    result = SweepResult.load(folder)
    if lacks := result.incomplete:
        print(f"transorbit: {lacks}", file=sys.stderr)
    options = {name: value for name, value in given.items() if name != "only"}
    if "y" in options:
        names = [name.strip() for name in options["y"].split(",") if name.strip()]
        options["y"] = names if len(names) > 1 else options["y"]
    figure = plots.of_sweep(kind, result, only=_only(given.get("only", [])), **options)
    y = given.get("y") or next(iter(result.metrics))
    return figure, kind if kind == "spectral-efficiency" else f"{kind}-{re.sub(r'[^A-Za-z0-9_.-]', '_', y)}"


def _of_run(folder: Path, kind: str, given: dict[str, Any]) -> tuple[Figure, str]:
    from transorbit import plots

    _check_kind(kind, list(_figures.OF_RUN), "result")
    _check_options(given, _OF_SWEEP, "a result")
    result = _open.result(folder)
    if kind in _figures.CLOSE:
        times = {f"{name}_s": parse.start(f"--{name}", given[name]) for name in ("from", "until") if name in given}
        rest = {name: value for name, value in given.items() if name not in {"from", "until"}}
        if kind == "timeline":
            _check_options(rest, ("place",), "a timeline")
        figure = plots.draw(kind, result, **rest, **times)
    else:
        _check_options(given, _OF_RUN, kind)
        figure = plots.draw(kind, result, **given)
    if figure is None:
        raise UsageError(f"plot: {kind}: {plots.nothing_to_show(kind, result)}")
    return figure, kind


def _listing(folder: Path, is_sweep: bool) -> str:
    """The kinds that the folder has something to show in, and what they show."""
    from transorbit import plots

    if is_sweep:
        from transorbit.sweep import SweepResult

        result = SweepResult.load(folder)
        axes = ", ".join(axis.name for axis in result.axes) or "none"
        told = [f"axes: {axes}; metrics: {', '.join(result.metrics)}"]
        kinds = {
            kind: what
            for kind, what in _figures.OF_SWEEP.items()
            if (kind != "heatmap" or len(result.axes) > 1)
            and (kind != "spectral-efficiency" or "last_hop.spectral_efficiency" in result.runs.columns)
        }
    else:
        run, told = _open.result(folder), []
        shown = {kind for kind in plots.ALL if plots.draw(kind, run) is not None}
        shown |= set() if run.series.is_empty() else {"timeline"}
        shown |= {"sequence"} if run.captures else set()
        kinds = {kind: of.shows for kind, of in _figures.OF_RUN.items() if kind in shown}
    return "\n".join([*_described(kinds), *told])


def _check_kind(kind: str, known: list[str], subject: str) -> None:
    if kind not in known:
        raise UsageError(
            f"plot: there is no kind {kind!r} for a {subject}{hint(kind, known)} (all: {', '.join(known)})"
        )


def _check_options(given: dict[str, Any], foreign: tuple[str, ...], subject: str) -> None:
    for name in foreign:
        if name in given:
            raise UsageError(f"--{name}: is not for {subject}")


def _only(settings: list[str]) -> dict[str, list[str]]:
    """The values of each axis of AXIS=VALUE,VALUE."""
    only: dict[str, list[str]] = {}
    for setting in settings:
        axis, equals, values = setting.partition("=")
        if not (axis.strip() and equals and values.strip()):
            raise UsageError(f"--only: {setting!r} is not AXIS=VALUE, as in snr=7,10")
        only.setdefault(axis.strip(), []).extend(value.strip() for value in values.split(","))
    return only


def _of_options(error: to.ScenarioError) -> Exception:
    """The error with the option that it is about."""
    option, colon, message = str(error).partition(": ")
    name, _, axis = option.partition(".")
    if not colon or name not in {*_OF_RUN, *_OF_SWEEP}:
        return error
    return UsageError(f"--{name}: {axis}{': ' if axis else ''}{message}")
