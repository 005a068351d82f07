"""Every example of every `--help` runs as it is printed, in an empty folder, in the order of the page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from transorbit.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cyclopts import App

    from conftest import Outcome


def pages(of: App, *path: str) -> Iterator[tuple[str, list[str]]]:
    """The examples of each command, by its name."""
    for name in of:
        inner = of[name]
        if isinstance(inner, type(of)) and not name.startswith("-"):
            yield from pages(inner, *path, name)
    yield " ".join(path) or "transorbit", examples(of.help_epilogue or "")


def examples(epilogue: str) -> list[str]:
    lines = epilogue.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("transorbit ")]


PAGES = dict(pages(app))
# Read and not run: they begin with a reader's own measurements, need network namespaces, or serve until stopped.
READ = {"trace import", "trace show", "calibrate", "emulate", "replay", "view"}


def test_commands_with_a_scenario_have_examples() -> None:
    for name in ("transorbit", "run", "init", "scenarios", "capacity", "sweep", "plot", "report", "reproduce"):
        assert PAGES[name], name


@pytest.mark.parametrize("name", [name for name, found in PAGES.items() if found])
def test_examples_run_as_printed(name: str, here: Path, command: Callable[..., Outcome]) -> None:
    (here / "scenarios").unlink()
    for example in PAGES[name]:
        # An example that shows many lines is cut by a pipe, which is the shell's business.
        if name in READ:
            app.parse_args(shlex.split(example)[1:], exit_on_error=False, print_error=False)
            continue
        outcome = command(*shlex.split(example.partition(" | ")[0])[1:])
        assert outcome.code == 0, f"{example}: {outcome.err}"
