"""Values that somebody gave: numpy's and paths become Python's own, and what does not fit is refused by its name."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from transorbit._core import ScenarioError

_LEAST_WHOLE, _LARGEST_WHOLE = -(2**63), 2**63 - 1
#: The largest seed of a run.
LARGEST_SEED = _LARGEST_WHOLE
NOT_FINITE = "was given, a finite number is expected"


def plain(value: Any) -> Any:
    """Returns what JSON and TOML know in the place of numbers, arrays, ranges, tables and paths of other classes.

    Lists and tables are new ones, whose values are such too; what has no such place stays.
    """
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(inner) for inner in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    # Numbers and arrays of numpy, and of what is like it.
    if callable(own := getattr(value, "tolist", None)):
        return own()
    if isinstance(value, Integral):
        return value if isinstance(value, int) else int(value)
    return float(value) if isinstance(value, Real) else value


def number(name: str, value: object) -> float:
    """A number of Python or of numpy.

    Raises:
        ScenarioError: it is none, or not finite.
    """
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise _refused(name, value, "a number")
    if found - found != 0:
        raise ScenarioError(f"{name}: {value} {NOT_FINITE}")
    return float(found)


def numbers(name: str, values: object) -> list[float]:
    """Several numbers.

    Raises:
        ScenarioError: they are none.
    """
    return [number(f"{name}.{place}", value) for place, value in enumerate(listed(name, values))]


def above_zero(name: str, value: object) -> float:
    """A number above zero.

    Raises:
        ScenarioError: it is none.
    """
    found = number(name, value)
    if found <= 0:
        raise _refused(name, value, "a number above 0")
    return found


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number of Python or of numpy; None is no upper limit.

    Raises:
        ScenarioError: it is none, or out of its range.
    """
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= (found if most is None else most):
        raise _refused(name, value, f"a whole number from {least} {'on' if most is None else f'to {most}'}")
    return found


def wholes(name: str, values: object, most: int) -> list[int]:
    """Several whole numbers from 0 on.

    Raises:
        ScenarioError: they are none, or one is out of range.
    """
    return [whole(f"{name}.{place}", value, 0, most) for place, value in enumerate(listed(name, values))]


def seed(value: object) -> int | None:
    """The seed of a run; None stays.

    Raises:
        ScenarioError: it is none.
    """
    return None if value is None else whole("seed", value, 0, LARGEST_SEED)


def bounded(name: str, value: Any) -> None:
    """Refuses a whole number that a scenario has no room for, in lists and tables too.

    Raises:
        ScenarioError: there is one.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            bounded(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            bounded(f"{name}.{place}", inner)
    elif isinstance(value, int) and not _LEAST_WHOLE <= value <= _LARGEST_WHOLE:
        limit = f"at least {_LEAST_WHOLE}" if value < 0 else f"at most {_LARGEST_WHOLE}"
        raise ScenarioError(f"{name}: {value} was given: a whole number is {limit}")


def listed(name: str, values: object) -> list[Any]:
    """Several values as a list: not a text, whose letters nobody means.

    Raises:
        ScenarioError: they are none.
    """
    found = plain(values)
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        raise _refused(name, values, "a list")
    return [plain(value) for value in found]


def text(name: str, value: object) -> str:
    """A text.

    Raises:
        ScenarioError: it is none.
    """
    if not isinstance(value, str):
        raise _refused(name, value, "a text")
    return value


def table(name: str, value: object) -> dict[str, Any]:
    """Values by name.

    Raises:
        ScenarioError: it is no such table.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _refused(name, value, "a table with texts as keys")
    found: dict[str, Any] = plain(value)
    return found


def _refused(name: str, value: object, wanted: str) -> ScenarioError:
    return ScenarioError(f"{name}: {reprlib.repr(value)} was given, {wanted} is expected")
