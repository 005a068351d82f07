"""Common parts of commands: options, reading a scenario, writing series and plots."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import transorbit as to
from transorbit.cli.errors import UsageError

Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", negative="", help="Change a key, as in flows.0.count=3; the value is TOML. Repeatable."),
]
Plugins = Annotated[
    list[Path] | None,
    Parameter(name="--plugin", negative="", help="Run this Python file first: it registers schedulers. Repeatable."),
]
Csv = Annotated[
    Path | None,
    Parameter(name="--csv", allow_leading_hyphen=True, help="Write the series to this file; - is standard output."),
]
Plot = Annotated[Path | None, Parameter(name="--plot", help="Draw it into this file: .svg, .png or .pdf.")]


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "\n".join(["Examples:", *(f"    {command}" for command in commands)])


def load(path: Path, settings: list[str] | None) -> to.Scenario:
    """The scenario with its changes, checked."""
    try:
        scenario = to.Scenario.load(path).set(*(settings or []))
        scenario.check()
    except to.ScenarioError:
        if "scenario" in keys(path):
            raise UsageError(f"{path}: this is a sweep: transorbit sweep {path}") from None
        raise
    return scenario


def keys(path: Path) -> set[str]:
    """The keys at the top of a file, to tell a scenario from a sweep where one is given for the other."""
    import tomllib

    try:
        return set(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return set()


def run_plugins(files: list[Path] | None) -> None:
    """Run the user's Python files; their exceptions are shown with a traceback."""
    import runpy

    for file in files or []:
        if not file.is_file():
            raise UsageError(f"--plugin {file}: no such file")
        runpy.run_path(str(file))


def write_csv(table: Any, path: Path | None) -> None:
    """Write a table to a file, or to standard output."""
    if path:
        write_text(table.write_csv(), path)


def write_text(text: str, path: Path) -> None:
    """Write a text to a file and the folder it is to be in, or to standard output."""
    if path == Path("-"):
        sys.stdout.write(text)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def check_plot(path: Path | None) -> None:
    """Refuse a name of a plot before anything is computed for it."""
    if path and path.suffix.lower() not in {".svg", ".png", ".pdf"}:
        raise UsageError(f"--plot: {path}: the name must end in .svg, .png or .pdf")


def write_plot(figure: Any, path: Path) -> None:
    """Write a plot, and the folder it is to be in."""
    from transorbit import plots

    path.parent.mkdir(parents=True, exist_ok=True)
    plots.save(figure, path)
