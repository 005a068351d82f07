"""Writes the reference pages from the registries, so that they cannot say anything else: `make reference`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from transorbit.scenario import registries

_NOTE = (
    "<!-- Written by `make reference` from the registries; changes belong into the doc comments of the crates. -->\n\n"
)


def write(directory: Path) -> None:
    """Write a page for each registry, and one that lists them."""
    directory.mkdir(parents=True, exist_ok=True)
    index = [_NOTE + "# Reference: what a scenario can choose from\n", "| key | choices |", "| --- | --- |"]
    for registry in registries():
        name = registry["name"]
        (directory / f"{name}.md").write_text(_page(registry), encoding="utf-8")
        choices = ", ".join(f"`{entry['name']}`" for entry in registry["entries"])
        index.append(f"| [`{registry['key']}`]({name}.md) | {choices} |")
    (directory / "README.md").write_text("\n".join(index) + "\n", encoding="utf-8")


def _page(registry: dict[str, Any]) -> str:
    lines = [_NOTE + f"# {registry['name'].capitalize()}\n", f"Chosen with `{registry['key']}`.\n"]
    if not any(entry["options"] for entry in registry["entries"]):
        lines += ["| name | what it is |", "| --- | --- |"]
        lines += [f"| `{entry['name']}` | {_cell(entry['summary'])} |" for entry in registry["entries"]]
        return "\n".join(lines) + "\n"
    if _shares_options(registry):
        return "\n".join(lines + _side_by_side(registry)) + "\n"
    for entry in registry["entries"]:
        lines += [f"## `{entry['name']}`\n", " ".join(entry["summary"].split()) + "\n"]
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
    lines = [f"- {name}: {' '.join(entry['summary'].split())}" for name, entry in zip(names, entries, strict=True)]
    lines += ["", f"| option | {' | '.join(names)} | what it does |", "| --- |" + " --- |" * (len(names) + 1)]
    for options in zip(*(entry["options"] for entry in entries), strict=True):
        values = " | ".join(f"`{_cell(str(option['default']))}`" for option in options)
        lines.append(f"| `{options[0]['name']}` | {values} | {_cell(options[0]['description'])} |")
    return lines


def _row(option: dict[str, Any]) -> str:
    default = "" if option.get("default") is None else f"`{_cell(str(option['default']))}`"
    return f"| `{option['name']}` | {_cell(option['type'])} | {default} | {_cell(option['description'])} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
