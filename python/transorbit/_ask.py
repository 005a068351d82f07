"""Questions to the core: a name and options go there as JSON, values and tables come back."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from transorbit import _core
from transorbit._frame import frame
from transorbit._values import NOT_FINITE, plain

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
    with given(options) as text:
        return json.loads(_core.ask(question, text, base_dir)[0])


def ask_tables(question: str, /, *, base_dir: str | PathLike[str] = ".", **options: object) -> dict[str, pl.DataFrame]:
    """The tables that answer a question, by name.

    Raises:
        ScenarioError: names the option that is wrong.
    """
    with given(options) as text:
        _, tables = _core.ask(question, text, base_dir)
    return {name: frame(table) for name, table in tables.items()}


def ask_table(question: str, /, *, base_dir: str | PathLike[str] = ".", **options: object) -> pl.DataFrame:
    """The table that answers a question.

    Raises:
        ScenarioError: names the option that is wrong.
    """
    return ask_tables(question, base_dir=base_dir, **options)["table"]


def as_json(options: Mapping[str, object], *, within: str = "") -> str:
    """The options of a question.

    Raises:
        ScenarioError: a number is not finite, or a value is of a type, which JSON cannot say.
    """
    try:
        return json.dumps(plain(options), allow_nan=False)
    except (TypeError, ValueError):
        raise _core.ScenarioError(f"{within}{_unsayable(options)}") from None


@contextmanager
def given(options: Mapping[str, object]) -> Iterator[str]:
    """The options as JSON while the core reads them: what it says of a type names the option.

    Raises:
        ScenarioError: that is so.
    """
    text = as_json(options)
    try:
        yield text
    except _core.ScenarioError as error:
        if (place := _PLACE.fullmatch(str(error))) is None:
            raise
        name = _option_at(int(place["column"]), options)
        raise _core.ScenarioError(f"{_told(name)}: {_expected(place['what'], options[name])}") from None


def _unsayable(options: Mapping[str, object]) -> str:
    """The complaint about the first value that JSON cannot say."""
    name, value = next((name, value) for name, value in options.items() if not _is_sayable(value))
    wrong = next((one for one in _leaves(plain(value)) if isinstance(one, float) and one - one != 0), None)
    if wrong is not None:
        return f"{_told(name)}: {wrong} {NOT_FINITE}"
    return f"{_told(name)}: {reprlib.repr(value)} was given, numbers, texts, lists and tables are expected"


def _is_sayable(value: object) -> bool:
    try:
        json.dumps(plain(value), allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _leaves(value: object) -> Iterator[object]:
    """Every value in lists and tables."""
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(inner, str) or not isinstance(inner, Iterable):
        yield inner
    else:
        for one in inner:
            yield from _leaves(one)


def _told(name: str) -> str:
    """The name of an option as messages have it."""
    told = str(name)
    for unit in _UNITS:
        told = told.removesuffix(unit)
    return told


def _option_at(column: int, options: Mapping[str, object]) -> str:
    """The option in which a column of `as_json` lies."""
    before: dict[str, object] = {}
    for name, value in options.items():
        before[name] = value
        if len(as_json(before)) >= column:
            break
    return name


def _expected(what: str, value: object) -> str:
    """The complaint of the core's reader of JSON about a value, in words of Python."""
    kinds = _KINDS.fullmatch(what)
    if kinds is None:
        wanted = ", fewer values are expected" if what == "trailing characters" else f": {what}"
        return f"{reprlib.repr(value)} was given{wanted}"
    scalar = _SCALAR.fullmatch(kinds["found"])
    # Of a list the entry that is wrong.
    told = scalar["value"] if scalar and isinstance(plain(value), list) else reprlib.repr(value)
    if size := re.search(r"(?:size|length) (\d+)$", kinds["wanted"]):
        return f"{told} was given, {size[1]} values are expected"
    return f"{told} was given, {_WANTED.get(kinds['wanted'], kinds['wanted'])} is expected"


# What serde_json says where a value does not fit.
_PLACE = re.compile(r"(?P<what>(?!missing field|unknown field).+) at line 1 column (?P<column>\d+)", re.DOTALL)
_KINDS = re.compile(r"invalid (?:type: |value: |length )(?P<found>.+), expected (?P<wanted>.+)", re.DOTALL)
_SCALAR = re.compile(r"(?:string|integer|floating point|boolean) `?(?P<value>.+?)`?", re.DOTALL)
_WANTED = {
    "f64": "a number",
    "u32": f"a whole number from 0 to {2**32 - 1}",
    "u64": f"a whole number from 0 to {2**64 - 1}",
    "usize": f"a whole number from 0 to {2**64 - 1}",
    "a boolean": "True or False",
    "a string": "a text",
    "a sequence": "a list",
    "a map": "a table",
}
