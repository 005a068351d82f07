"""Common parts of commands: options, reading a scenario, writing series and plots."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit import _figures, _folder, _interrupt
from transorbit.cli import parse
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", negative="", help="Change a key, as in flows.0.count=3; the value is TOML. Repeatable."),
]
Plugins = Annotated[
    list[Path] | None,
    Parameter(
        name="--plugin",
        negative="",
        help="Run this Python file first: it registers schedulers, controllers or sources. Repeatable.",
    ),
]
Outside = Annotated[
    bool, Parameter(name="--outside", negative="", help="Let the file name files outside of its folder: you trust it.")
]
Force = Annotated[
    bool,
    Parameter(name="--force", negative="", help="Replace what the folder of --out has, whatever it was made from."),
]
Csv = Annotated[
    Path | None,
    Parameter(name="--csv", allow_leading_hyphen=True, help="Write the series to this file; - is standard output."),
]
Plot = Annotated[Path | None, Parameter(name="--plot", help="Draw it into this file: .svg, .png or .pdf.")]


Width = Annotated[
    str,
    Parameter(
        name="--width",
        help='Of the figure: single (88 mm, a column), double (7.2 in, a page), or a length as in "120 mm".',
    ),
]
Title = Annotated[
    str | None, Parameter(name="--title", allow_leading_hyphen=True, help="Written above the figure; '' is none.")
]


# Characters of a line of an example: with what stands around it, as many as a terminal has at least.
_EXAMPLE = 72


def examples(*commands: str) -> str:
    """The end of a command's help; what is longer than a line goes on as a shell reads it."""
    return "\n".join(["Examples:", *(f"    {_broken(command)}" for command in commands)])


def _broken(command: str) -> str:
    """The command in lines of a terminal, each but the last with a backslash at its end."""
    lines = [""]
    # Text in quotes, or behind an option, is not parted from it.
    for part in re.findall(r"""(?:--?[\w-]+ (?!-))?(?:[^\s"']|"[^"]*"|'[^']*')+""", command.replace("\\\n", " ")):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > _EXAMPLE:
            lines.append("    ")
        lines[-1] += part if not lines[-1].strip() else f" {part}"
    return " \\\n    ".join(lines)


def load(path: Path, settings: list[str] | None, *, outside: bool = False) -> to.Scenario:
    """The scenario with its changes, checked."""
    try:
        scenario = to.Scenario.load(path, outside=outside).set(*(settings or []))
        scenario.check()
    except to.ScenarioError:
        if "scenario" in keys(path):
            raise UsageError(f"{path}: this is a sweep: transorbit sweep {path}") from None
        raise
    return scenario


def keys(path: Path) -> set[str]:
    """Returns the keys at the top of a file, by which a scenario given for a sweep, or the reverse, is noticed."""
    from transorbit import _content, _files

    try:
        return set(_files.toml(_files.read_text(_content.find(path))))
    except (OSError, to.ScenarioError):
        return set()


def check_out(out: Path, *, same: bool, force: bool, kind: _folder.Kind | None = _folder.RESULT) -> None:
    """Refuse to replace the result of something else, unless that is said; and what is none of its `kind` in any case.

    Without a kind the folder is that of several results.
    """
    if kind:
        _folder.check_replaceable(out, kind)
    if not (same or force):
        raise UsageError(f"--out: {out} has the result of another scenario or seed: choose another folder, or --force")


def warn(warnings: Iterable[str]) -> None:
    """Print warnings to standard error, a line each."""
    for warning in warnings:
        print(f"transorbit: warning: {warning}", file=sys.stderr, flush=True)


def records_packets(scenario: to.Scenario) -> bool:
    """Whether a scenario wants its packets written."""
    return bool(scenario.to_dict()["record"]["packets"] != "none")


def run_plugins(files: list[Path] | None) -> None:
    """Run the user's Python files; their exceptions are shown as those of a run."""
    import runpy

    from transorbit import _content, plugins

    of_file: dict[tuple[str, str], Path] = {}
    for given in dict.fromkeys(files or []):
        file = _content.find(given)
        if file.is_dir():
            raise UsageError(f"--plugin {file}: is a folder, a Python file is expected")
        if not file.is_file():
            raise UsageError(f"--plugin {file}: no such file")
        try:
            compile(file.read_bytes(), str(file), "exec")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
            told = error.msg if isinstance(error, SyntaxError) else str(error)
            raise UsageError(f"--plugin {file}: {line}is not Python: {told}") from None
        text = file.read_text(encoding="utf-8", errors="replace")
        before = plugins.REGISTRY.plugins()
        with plugins.blamed(files), plugins.running(text, file.name):
            try:
                runpy.run_path(str(file))
            except ModuleNotFoundError as error:
                _refuse_neighbour(file, str(error.name))
                raise
        for kind, name in ((own.kind, own.name) for own in plugins.REGISTRY.plugins() if own not in before):
            if first := of_file.get((kind, name)):
                told = f'registers the {kind} "{name}", as {first} does: one of them needs another name'
                raise UsageError(f"--plugin {file}: {told}")
            of_file[kind, name] = file


def _refuse_neighbour(file: Path, module: str) -> None:
    """Say what to do where a plugin imports what stands beside it: results keep the one file alone."""
    if (file.parent / f"{module}.py").is_file() or (file.parent / module).is_dir():
        told = f"imports {module}, which stands beside it, but a plugin is one file, as results keep it"
        raise UsageError(f"--plugin {file}: {told}: make them one, or set PYTHONPATH={file.parent}") from None


def write_csv(table: Any, path: Path | None) -> None:
    """Write a table to a file, or to standard output."""
    if path:
        write_text(table.write_csv(), path)


def write_text(text: str, path: Path) -> None:
    """Write a text to a file and the folder it is to be in, or to standard output.

    What is there and is something else stays. As the work is done by then, the text goes into a file beside it.

    Raises:
        FileExistsError: that is so.
    """
    if path == Path("-"):
        sys.stdout.write(text)
        return
    try:
        _folder.check_text(path, text)
    except FileExistsError as error:
        beside = _folder.numbered(path, lambda name: not name.exists(), path.suffix)
        beside.write_text(text, encoding="utf-8", newline="")
        raise FileExistsError(f"{error}; what was computed is in {beside}") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def check_plot(path: Path | None, width: str, title: str | None) -> dict[str, Any]:
    """The look of a plot as `plots` takes it: `width`, and `title` if one is given.

    Raises:
        UsageError: the name or the width is wrong: raised before anything is computed.
    """
    if path and path.suffix.lower() not in _figures.SUFFIXES:
        raise UsageError(f"--plot: {path}: the name must end in .svg, .png or .pdf")
    if path:
        _folder.check_picture(path)
    return {"width": parse.width("--width", width)} | ({} if title is None else {"title": title})


def write_plot(figure: Any, path: Path) -> None:
    """Write a plot, and the folder it is to be in."""
    from transorbit import plots

    path.parent.mkdir(parents=True, exist_ok=True)
    plots.save(figure, path)


def keep(result: to.Result, directory: Path, *, plots: bool | None, tell: Callable[[], None] | None = None) -> None:
    """Write a result, print it by `tell`, then draw it, as `written` and `told_and_drawn` do."""
    with _interrupt.held() as interrupted:
        kept = written(result, directory)
    told_and_drawn(result, kept, plots=plots, tell=tell, stop=interrupted.is_set())


def written(result: to.Result, directory: Path, choose: Callable[[], Path] | None = None) -> Path:
    """Write a result into its folder: the one that `choose` says once it is written, if not that one.

    Whoever calls holds Ctrl-C meanwhile (`_interrupt.held`), from the end of the run: a second one alone ends it.

    Returns:
        The folder.
    """
    kept = directory

    def chosen() -> Path:
        nonlocal kept
        kept = choose() if choose else directory
        return kept

    try:
        result._write(directory, chosen)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped while the result was written; {kept} is as it was") from None
    return kept


def told_and_drawn(
    result: to.Result,
    directory: Path,
    *,
    plots: bool | None,
    tell: Callable[[], None] | None = None,
    stop: bool = False,
) -> None:
    """Tell of a result that is written, then draw it: Ctrl-C leaves it without plots.

    Args:
        result: the result.
        directory: its folder.
        plots: as of `Result.save`.
        tell: prints. What is written by then stays where the reader of the output has gone.
        stop: whether Ctrl-C came while it was written.

    Raises:
        KeyboardInterrupt: what is kept.
    """
    try:
        if tell:
            tell()
        if stop:
            raise KeyboardInterrupt
        _draw(result, directory, plots=plots)
    except KeyboardInterrupt:
        lacks = "" if plots is False else ", without its plots"
        raise KeyboardInterrupt(f"stopped; {directory} has the result{lacks}") from None


def _draw(result: to.Result, directory: Path, *, plots: bool | None) -> None:
    """Draw into a result folder; once more where another process has put the same result in its place meanwhile."""
    try:
        result._draw(directory, plots=plots)
    except FileNotFoundError:
        result._draw(directory, plots=plots)
