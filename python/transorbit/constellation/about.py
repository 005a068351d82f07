"""Questions to the core about one constellation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transorbit._ask import as_json, ask, ask_table, ask_tables
from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl


def as_text(constellation: str | Mapping[str, Any]) -> str:
    """A name as it is; parameters or a file as JSON."""
    name_or_table = checked(constellation)
    return name_or_table if isinstance(name_or_table, str) else as_json(name_or_table, within="constellation.")


def checked(constellation: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """A name, or a table.

    Raises:
        ScenarioError: it is neither.
    """
    if not isinstance(constellation, str | Mapping):
        raise ScenarioError(f"constellation: {constellation!r} was given, a name or a table is expected")
    return constellation if isinstance(constellation, str) else dict(constellation)


class About:
    """The core's answers about a constellation, whose files lie relative to a folder.

    Its methods raise a ScenarioError that names the option which is wrong.
    """

    def __init__(self, constellation: str | Mapping[str, Any], base_dir: str | PathLike[str]) -> None:
        self._given: dict[str, Any] = {"base_dir": base_dir, "constellation": as_text(constellation)}

    def value(self, question: str, /, **options: Any) -> Any:
        """One value."""
        return ask(f"constellation.{question}", **self._given, **options)

    def table(self, question: str, /, **options: Any) -> pl.DataFrame:
        """One table."""
        return ask_table(f"constellation.{question}", **self._given, **options)

    def tables(self, question: str, /, **options: Any) -> dict[str, pl.DataFrame]:
        """Several, by name."""
        return ask_tables(f"constellation.{question}", **self._given, **options)
