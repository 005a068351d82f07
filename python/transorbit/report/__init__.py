"""A run or a sweep as one HTML file: key numbers, warnings, charts to zoom into, tables, scenario and provenance.

The file needs nothing else, opens without a network, and is the same for the same result. It is made with
`transorbit.report.page`, which other pages can use.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transorbit import _folder, _open
from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from transorbit.result import Result
    from transorbit.sweep import SweepResult


def of_result(result: Result) -> str:
    """The report of a run: the text of an HTML file."""
    from transorbit.report.run import page

    return page(result)


def of_sweep(result: SweepResult, *, between: str | None = None, against: str | None = None) -> str:
    """The report of a sweep: the text of an HTML file.

    Args:
        between: the axis whose values are held against one of them, run by run; by default the first with names.
        against: that value, by default the first; "all" holds every value against each one before it.

    Raises:
        ScenarioError: there is no such axis or value.
    """
    from transorbit.report.sweep import page

    return page(result, between=between, against=against)


def write(
    directory: str | Path, out: str | Path | None = None, *, between: str | None = None, against: str | None = None
) -> Path:
    """Write the report of a result folder or of a sweep's, by default into it as report.html; gives the file's path.

    Raises:
        ScenarioError: a file of the folder is damaged, or `between` is no axis of a sweep, or `against` no value of it.
        FileNotFoundError: the folder is not there, or holds neither a result nor a sweep.
        OSError: it cannot be read, or the report cannot be written, or something else is there under its name.
    """
    directory = Path(directory)
    target = Path(out) if out else directory / "report.html"
    if (directory / "summary.json").is_file():
        for name, given in (("between", between), ("against", against)):
            if given is not None:
                raise ScenarioError(f"{name}: {given}: is for a sweep, and {directory} is a result")
        text = of_result(_open.result(directory))
    elif (directory / "sweep.toml").is_file():
        from transorbit.sweep import SweepResult

        text = of_sweep(SweepResult.load(directory), between=between, against=against)
    else:
        raise FileNotFoundError(f"{directory}: {_what_is_missing(directory)}")
    _folder.check_text(target, text)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="")
    return target


def _what_is_missing(directory: Path) -> str:
    return (
        "neither a result nor a sweep"
        if directory.is_dir()
        else "no such folder: that of a result or of a sweep is expected"
    )
