"""A page for each registry, with its entries and their options, and an index of all pages."""

from __future__ import annotations

from typing import Any

from transorbit._markdown import cell, code, line, note
from transorbit.scenario import registries

_NOTE = note("the doc comments of the crates")


def index() -> str:
    """The page that lists all others."""
    lines = [
        _NOTE + "# Reference\n",
        "- [Scenario](scenario.md): every key of a scenario file",
        "- [Command line](command-line.md): every command and option",
        "- [Python](python.md): every class and function",
        "- [Definitions](../definitions.md): every key and column of a result\n",
        "## What a scenario can choose from\n",
        "| key | choices |",
        "| --- | --- |",
    ]
    for registry in registries():
        names = ", ".join(f"`{entry['name']}`" for entry in registry["entries"])
        lines.append(f"| [`{registry['key']}`]({registry['name']}.md) | {names} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """A page for each registry, by file name."""
    return {f"{registry['name']}.md": _page(registry) for registry in registries()}


def _page(registry: dict[str, Any]) -> str:
    title = registry["name"].replace("-", " ").capitalize()
    lines = [_NOTE + f"# {title}\n", f"Chosen with `{registry['key']}`.\n"]
    if not any(entry["options"] for entry in registry["entries"]):
        lines += ["| name | what it is |", "| --- | --- |"]
        lines += [f"| `{entry['name']}` | {cell(entry['summary'])} |" for entry in registry["entries"]]
        return "\n".join(lines) + "\n"
    if _shares_options(registry):
        return "\n".join(lines + _side_by_side(registry)) + "\n"
    for entry in registry["entries"]:
        lines += [f"## `{entry['name']}`\n", line(entry["summary"]) + "\n"]
        if entry["options"]:
            lines += ["| option | type | default | what it does |", "| --- | --- | --- | --- |"]
            lines += [_row(option) for option in entry["options"]] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _shares_options(registry: dict[str, Any]) -> bool:
    """Whether the entries have the same options and differ in their values only."""
    names = [[option["name"] for option in entry["options"]] for entry in registry["entries"]]
    return len(names) > 1 and all(other == names[0] for other in names)


def _side_by_side(registry: dict[str, Any]) -> list[str]:
    entries = registry["entries"]
    names = [f"`{entry['name']}`" for entry in entries]
    lines = [f"- {name}: {line(entry['summary'])}" for name, entry in zip(names, entries, strict=True)]
    lines += ["", f"| option | {' | '.join(names)} | what it does |", "| --- |" + " --- |" * (len(names) + 1)]
    for options in zip(*(entry["options"] for entry in entries), strict=True):
        values = " | ".join(f"`{cell(str(option['default']))}`" for option in options)
        lines.append(f"| `{options[0]['name']}` | {values} | {cell(options[0]['description'])} |")
    return lines


def _row(option: dict[str, Any]) -> str:
    default = code(option.get("default"))
    return f"| `{option['name']}` | {cell(option['type'])} | {default} | {cell(option['description'])} |"
