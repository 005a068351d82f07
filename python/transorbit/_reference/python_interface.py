"""The page of the Python package, from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

import transorbit
from transorbit._markdown import cell, line, note, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

# In the order in which a new user needs them.
_MODULES = (
    "transorbit",
    "transorbit.statistics",
    "transorbit.plots",
    "transorbit.constellation",
    "transorbit.channel",
    "transorbit.access",
    "transorbit.rain",
)
_SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields", "Example", "Examples")


def page() -> str:
    """Every public class, method and function with its parameters."""
    lines = [
        note("the docstrings of the package") + "# Python\n",
        "`import transorbit as to`. Arguments after `*` are given by name.\n",
    ]
    for name in _MODULES:
        module = importlib.import_module(name)
        lines += [f"## `{name}`\n", _first_paragraph(module) + "\n"]
        if not _prefix(module).startswith("to"):
            lines.append(f"`from transorbit import {_prefix(module)}`.\n")
        for path, member in _members(module):
            lines += _entry(path, member)
    return "\n".join(lines).rstrip() + "\n"


def _members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public classes, each with its methods, and functions, by the name under which they are called."""
    prefix = _prefix(module)
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    for name in sorted(names):
        value = getattr(module, name)
        if inspect.isclass(value):
            yield f"{prefix}.{name}", value
            for method, member in vars(value).items():
                if not method.startswith("_") and (callable(member) or isinstance(member, property | classmethod)):
                    yield f"{prefix}.{name}.{method}", _function(member)
        elif callable(value):
            yield f"{prefix}.{name}", value


def _prefix(module: ModuleType) -> str:
    """Under which name members are called: what imports much is no attribute of the package until asked for."""
    if module is transorbit:
        return "to"
    name = module.__name__.rsplit(".", 1)[1]
    return f"to.{name}" if name in transorbit.__all__ else name


def _function(member: Any) -> Any:
    if isinstance(member, classmethod | staticmethod):
        return member.__func__
    return member


def _entry(path: str, member: Any) -> list[str]:
    text = inspect.getdoc(member) or ""
    prose, sections = _split(text)
    lines = [f"### `{path}{_signature(member)}`\n"]
    if prose:
        lines.append(prose + "\n")
    told = _items(sections.get("Args", "") or sections.get("Attributes", ""))
    if rows := _parameters(member, told):
        lines += [*rows, ""]
    if "Returns" in sections:
        lines.append(f"Returns: {line(sections['Returns'])}\n")
    for name, meaning in _items(sections.get("Raises", "")).items():
        lines.append(f"Raises `{name}`: {meaning}\n")
    return lines


def _signature(member: Any) -> str:
    """Names of the parameters alone: types and defaults stand in the table."""
    if isinstance(member, property) or inspect.isclass(member) or not callable(member):
        return ""
    given = []
    starred = False
    for parameter in inspect.signature(member).parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            given.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        starred = starred or bool(star)
        given.append(star + parameter.name)
    return f"({', '.join(given)})"


def _parameters(member: Any, told: dict[str, str]) -> list[str]:
    """The table of parameters, or of a class its attributes."""
    if inspect.isclass(member):
        rows = [f"| `{name}` | {cell(text)} |" for name, text in told.items()]
        return ["| attribute | what it is |", "| --- | --- |", *rows] if rows else []
    if isinstance(member, property) or not callable(member):
        return []
    rows = []
    for parameter in inspect.signature(member).parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        default = "" if parameter.default is parameter.empty else f"`{cell(repr(parameter.default))}`"
        kind = None if parameter.annotation is parameter.empty else _plain(parameter.annotation)
        rows.append(f"| `{parameter.name}` | {_type(kind)} | {default} | {cell(told.get(parameter.name, ''))} |")
    return ["| name | type | default | what it is |", "| --- | --- | --- | --- |", *rows] if rows else []


def _plain(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _type(kind: str | None) -> str:
    return f"`{cell(kind)}`" if kind else ""


def _first_paragraph(module: ModuleType) -> str:
    return line((module.__doc__ or "").split("\n\n")[0])


def _split(text: str) -> tuple[str, dict[str, str]]:
    """The prose of a docstring, and its sections by name."""
    docstring_parts = re.split(rf"^({'|'.join(_SECTIONS)}):\n", text, flags=re.MULTILINE)
    return wrapped(docstring_parts[0]), dict(zip(docstring_parts[1::2], docstring_parts[2::2], strict=True))


def _items(section: str) -> dict[str, str]:
    """`name: text` items of a section, whose text may go on in deeper lines."""
    items = re.findall(r"^    (\S[^:\n]*): ((?:.*\n?)(?:^(?:     +.*)?\n?)*)", section, flags=re.MULTILINE)
    return {name: line(text) for name, text in items}
