"""The page of a scenario's keys, from its JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from transorbit._markdown import cell, code, line, note
from transorbit.scenario import registries, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTRODUCTION = """\
A scenario is a TOML file with these keys. A key that is *required* has to be given, *optional* ones may be left out.
Where the type is a link, the key chooses one of several kinds with options of their own: a table with
`kind = "NAME"` and the options, or the name alone. `transorbit check` prints a scenario with every default filled in,
`transorbit schema` the JSON Schema that this page is made from.
"""


class _Types(NamedTuple):
    """The types of a scenario.

    Attributes:
        definitions: the schema of each, by its name.
        pages: the page of each definition whose kinds are those of a registry.
    """

    definitions: dict[str, Any]
    pages: dict[str, str]


def page() -> str:
    """Every table of a scenario with its keys, types and defaults, and how quantities are written."""
    whole = schema()
    types = _Types(whole["$defs"], _pages(whole["$defs"]))
    lines = [note("the doc comments of the crates") + "# Scenario\n", _INTRODUCTION]
    for path, table in _tables(whole, types):
        lines += [_heading(path, table), line(table["description"]) + "\n"]
        required = table.get("required", [])
        keys = sorted(table["properties"].items(), key=lambda item: (item[0] not in required, item[0]))
        rows = [_row(types, name, value, required=name in required) for name, value in keys if "const" not in value]
        if rows:
            lines += ["| key | type | default | what it is |", "| --- | --- | --- | --- |", *rows, ""]
    return "\n".join([*lines, *_quantities(types)]) + "\n"


def _heading(path: str, table: dict[str, Any]) -> str:
    if not path:
        return "## Top level\n"
    kind = f" of kind `{table['title']}`" if "title" in table else ""
    return f"## `{path}`{kind}\n"


def _tables(whole: dict[str, Any], types: _Types) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each table once, under the path of the key where it is first met; those that have a page are passed through."""
    met: set[str] = set()
    waiting = [("", whole, True)]
    while waiting:
        path, table, shown = waiting.pop(0)
        if shown:
            yield path, table
        for name, value in table["properties"].items():
            waiting += _within(types, value, f"{path}.{name}" if path else name, met)


def _within(
    types: _Types, value: dict[str, Any], path: str, met: set[str], *, shown: bool = True
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The tables that a value or an item of it may be: path, table, whether it is shown here."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        if name not in met:
            met.add(name)
            yield from _within(types, types.definitions[name], path, met, shown=name not in types.pages)
    elif "properties" in value:
        yield path, value, shown
    elif "items" in value:
        yield from _within(types, value["items"], f"{path}.0", met, shown=shown)
    for choice in [*value.get("anyOf", []), *value.get("oneOf", [])]:
        yield from _within(types, choice, path, met, shown=shown)


def _row(types: _Types, name: str, value: dict[str, Any], *, required: bool) -> str:
    kind = _kind(types, value)
    default = "required" if required else code(value.get("default")) or "optional"
    return f"| `{name}` | {kind} | {default} | {cell(value.get('description', ''))} |"


def _kind(types: _Types, value: dict[str, Any]) -> str:
    """Returns the type of a value in a few words."""
    if "items" in value:
        return f"list: {_kind(types, value['items'])}"
    words = []
    for target in _targets(value):
        definition = types.definitions[target]
        if target in types.pages:
            words.append(f"[{types.pages[target].removesuffix('.md')}]({types.pages[target]})")
        elif "properties" in definition:
            words.append("table")
        elif "examples" in definition:
            words.append(f'as `"{definition["examples"][0]}"`')
        else:
            words.append(_choices(types, definition))
    return ", or ".join(dict.fromkeys(words)) or _choices(types, value)


def _choices(types: _Types, definition: dict[str, Any]) -> str:
    """The names that may be written, or the kind of value."""
    choices = [*definition.get("oneOf", []), *definition.get("anyOf", [])]
    names = [
        choice.get("const", choice.get("title")) for choice in choices if "const" in choice or "properties" in choice
    ]
    words = [f"`{name}`" for name in names if name]
    words += [_kind(types, choice) for choice in choices if not {"const", "properties", "enum"} & set(choice)]
    if words:
        return ", ".join(dict.fromkeys(word for word in words if word))
    plain = {"integer": "whole number", "number": "number", "boolean": "`true`, `false`", "string": "text"}
    kinds = definition.get("type", [])
    return " or ".join(plain[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind in plain)


def _targets(value: dict[str, Any]) -> list[str]:
    """The definitions that a value may follow, itself or as an item of a list."""
    if "items" in value:
        return _targets(value["items"])
    if "$ref" in value:
        return [value["$ref"].rsplit("/", 1)[1]]
    return [target for choice in [*value.get("anyOf", []), *value.get("oneOf", [])] for target in _targets(choice)]


def _pages(definitions: dict[str, Any]) -> dict[str, str]:
    """The page of each definition whose kinds are those of a registry."""
    pages = {"AccessConfig": "return-link.md"}
    kinds = {f"{registry['name']}.md": [entry["name"] for entry in registry["entries"]] for registry in registries()}
    for name, definition in definitions.items():
        own = [kind.get("title", kind.get("const")) for kind in definition.get("oneOf", []) if "enum" not in kind]
        for page, names in kinds.items():
            if own == names:
                pages[name] = page
    return pages


def _quantities(types: _Types) -> list[str]:
    """Returns lines on how each quantity is written: from the descriptions of its type."""
    lines = ["## Quantities\n", "| example | what it is |", "| --- | --- |"]
    for definition in types.definitions.values():
        if "examples" in definition and '"orbit"' not in definition["description"]:
            lines.append(f'| `"{definition["examples"][0]}"` | {cell(definition["description"])} |')
    return lines
