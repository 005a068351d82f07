"""Questions to the core about one constellation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from transorbit._ask import ask, ask_table, ask_tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    import polars as pl


def as_text(constellation: str | Mapping[str, Any]) -> str:
    """A name as it is; parameters or a file as JSON."""
    return constellation if isinstance(constellation, str) else json.dumps(dict(constellation))


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
