"""Questions to the core: a name and options go there as JSON, values and tables come back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from transorbit import _core
from transorbit._frame import frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    import polars as pl

# The units at the end of an option's name, which messages leave out.
_UNITS = ("_s", "_deg", "_hz")


def ask(question: str, /, *, base_dir: str | PathLike[str] = ".", **options: object) -> Any:
    """The value that answers a question of `crates/studies/src/ask.rs`.

    Raises:
        ScenarioError: names the option that is wrong.
    """
    return json.loads(_core.ask(question, as_json(options), base_dir)[0])


def ask_tables(question: str, /, *, base_dir: str | PathLike[str] = ".", **options: object) -> dict[str, pl.DataFrame]:
    """The tables that answer a question, by name.

    Raises:
        ScenarioError: names the option that is wrong.
    """
    _, tables = _core.ask(question, as_json(options), base_dir)
    return {name: frame(table) for name, table in tables.items()}


def ask_table(question: str, /, *, base_dir: str | PathLike[str] = ".", **options: object) -> pl.DataFrame:
    """The table that answers a question.

    Raises:
        ScenarioError: names the option that is wrong.
    """
    return ask_tables(question, base_dir=base_dir, **options)["table"]


def as_json(options: dict[str, object]) -> str:
    """The options of a question.

    Raises:
        ScenarioError: a number is not finite, which JSON cannot say.
    """
    try:
        return json.dumps(options, allow_nan=False)
    except ValueError:
        name, value = next((name, value) for name, value in _numbers(options) if value - value != 0)
        for unit in _UNITS:
            name = name.removesuffix(unit)
        raise _core.ScenarioError(f"{name}: {value} was given, a finite number is expected") from None


def _numbers(options: dict[str, object]) -> Iterator[tuple[str, float]]:
    """Every number with the option that it belongs to."""
    for name, value in options.items():
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, float):
                yield name, one
