"""A result read from its folder whole, so that the error on a damaged file is one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transorbit import _files, _folder
from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from transorbit.result import Result

# The keys that every summary has.
_OF_A_SUMMARY = ("title", "flows", "last_hop", "path")


def result(folder: str | Path) -> Result:
    """The result in a folder, its tables read.

    Raises:
        ScenarioError: it is no folder of a result, or a file is damaged: which.
        OSError: one is not there.
    """
    from transorbit.result import Result

    folder = Path(folder)
    _check(folder)
    loaded = Result.load(folder)
    try:
        _files.toml(loaded.scenario_toml)
    except ScenarioError as error:
        raise ScenarioError(f"{folder / 'scenario.toml'}: is damaged: {error}") from None
    missing = [name for name in _OF_A_SUMMARY if name not in loaded.summary]
    if missing:
        raise ScenarioError(f"{folder / 'summary.json'}: is damaged: has no {missing[0]}")
    # They are read when they are first looked at.
    _ = loaded.flows, loaded.series
    return loaded


def check_there(folder: Path, of: str = "a result") -> None:
    """Raise unless there is such a folder; `of` says what it is that of.

    Raises:
        ScenarioError: there is none.
    """
    if not folder.exists():
        # A run that was killed while it replaced it may have left it elsewhere.
        _folder.put_back(folder)
    if not folder.is_dir():
        raise ScenarioError(f"{folder}: no such folder: that of {of} is expected")


def _check(folder: Path) -> None:
    """Raise unless a folder is that of a result.

    Raises:
        ScenarioError: it is not there, or is none.
    """
    check_there(folder)
    if not (folder / "summary.json").is_file():
        raise ScenarioError(f"{folder}: has no summary.json: the folder of a result is expected")
