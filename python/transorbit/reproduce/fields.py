"""Fields of the files: each is read by what it has to be, and refused in one line that begins with the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from transorbit._core import ScenarioError
from transorbit._names import hint_or_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_REQUIRED = object()
_MOST = 10**6
Default = TypeVar("Default")


def known(raw: object, keys: Iterable[str], path: Path, at: str = "") -> None:
    """Refuse a key that nothing reads."""
    if not isinstance(raw, dict):
        raise ScenarioError(f"{path}: {at.rstrip('.: ')}: a table is expected")
    keys = list(keys)
    for key in raw:
        if key not in keys:
            raise ScenarioError(f"{path}: {at}{key}: unknown key{hint_or_all(key, keys)}")


def text(raw: Mapping[str, Any], key: str, path: Path, default: Any = _REQUIRED, *, at: str = "") -> str:
    """A text; required if there is no default."""
    if key not in raw:
        if default is _REQUIRED:
            raise ScenarioError(f"{path}: {at}{key}: is missing")
        return str(default)
    value = raw[key]
    if not isinstance(value, str) or (default is _REQUIRED and not value.strip()):
        raise ScenarioError(f"{path}: {at}{key}: {value!r} was given, a text is expected")
    return value.strip()


def whole(raw: Mapping[str, Any], key: str, path: Path, default: int | None, *, at: str = "") -> int | None:
    """A whole number, one or more."""
    value = raw.get(key, default)
    if value is not None and (type(value) is not int or not 1 <= value <= _MOST):
        raise ScenarioError(f"{path}: {at}{key}: {value!r} was given, a whole number from 1 to {_MOST} is expected")
    return value


def flag(raw: Mapping[str, Any], key: str, path: Path, *, at: str = "") -> bool:
    """True or false; false if it is not given."""
    value = raw.get(key, False)
    if not isinstance(value, bool):
        raise ScenarioError(f"{path}: {at}{key}: {value!r} was given, true or false is expected")
    return value


def names(raw: Mapping[str, Any], key: str, path: Path, *, at: str = "") -> list[str]:
    """A list of texts; empty if it is not given."""
    value = raw.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ScenarioError(f"{path}: {at}{key}: {value!r} was given, a list of names is expected")
    return value


def mapping(raw: Mapping[str, Any], key: str, path: Path, *, at: str = "") -> dict[str, Any]:
    """A table; empty if it is not given."""
    value = raw.get(key, {})
    if not isinstance(value, dict):
        raise ScenarioError(f"{path}: {at}{key}: {value!r} was given, a table is expected")
    return value


def texts(raw: Mapping[str, Any], key: str, path: Path) -> dict[str, str]:
    """A table of texts; empty if it is not given."""
    table = mapping(raw, key, path)
    return {name: text(table, name, path, at=f"{key}.") for name in table}


def one_of(value: object, allowed: Iterable[str], at: str) -> str:
    """One of the names."""
    allowed = sorted(allowed)
    if value not in allowed:
        raise ScenarioError(f"{at}: {value!r} was given, one of {', '.join(allowed)} is expected")
    return str(value)
