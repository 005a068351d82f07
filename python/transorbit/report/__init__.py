"""A run or a sweep as one HTML file: key numbers, warnings, charts to zoom into, tables, scenario and provenance.

The file needs nothing else, opens without a network, and is the same for the same result. It is made with
`transorbit.report.page`, which other pages can use.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transorbit.result import Result
    from transorbit.sweep import SweepResult


def of_result(result: Result) -> str:
    """The report of a run: the text of an HTML file."""
    from transorbit.report.run import page

    return page(result)


def of_sweep(result: SweepResult) -> str:
    """The report of a sweep: the text of an HTML file."""
    from transorbit.report.sweep import page

    return page(result)


def write(directory: str | Path, out: str | Path | None = None) -> Path:
    """Write the report of a result folder or of a sweep's, by default into it as report.html; gives the file's path.

    Raises:
        FileNotFoundError: the folder is not there, or holds neither a result nor a sweep.
        OSError: it cannot be read, or the report cannot be written.
    """
    directory = Path(directory)
    target = Path(out) if out else directory / "report.html"
    if (directory / "summary.json").is_file():
        from transorbit.result import Result

        text = of_result(Result.load(directory))
    elif (directory / "sweep.toml").is_file():
        from transorbit.sweep import SweepResult

        text = of_sweep(SweepResult.load(directory))
    else:
        raise FileNotFoundError(f"{directory}: {_what_is_missing(directory)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="")
    return target


def _what_is_missing(directory: Path) -> str:
    return "neither a result nor a sweep" if directory.is_dir() else "no such folder"
