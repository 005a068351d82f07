"""Writes the reference pages from the program itself, so that they always agree with it.

Each choice of a scenario comes from the registries, the scenario's keys from its JSON Schema, the commands from the
command line's parser, the Python interface from its docstrings, the definitions from the core's table of columns.
`make reference` writes them, a test compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transorbit._reference import choices, command_line, definitions, keys, python_interface

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["definitions", "pages", "write"]


def write(directory: Path) -> None:
    """Write every page into `directory`, over what is there, and the definitions beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8")
    (directory.parent / "definitions.md").write_text(definitions.page(), encoding="utf-8")


def pages() -> dict[str, str]:
    """The pages by file name: an index, the scenario, each registry, the command line and the Python interface."""
    return {
        "README.md": choices.index(),
        "scenario.md": keys.page(),
        **choices.pages(),
        "command-line.md": command_line.page(),
        "python.md": python_interface.page(),
    }
