"""The page of the commands, from the command line's own parser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from transorbit._markdown import note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclopts import App


def page() -> str:
    """Every command with its arguments, options, defaults and examples."""
    from transorbit.cli.app import app

    generated = app.generate_docs(output_format="markdown", recursive=True)
    sections = dict(_sections(generated))
    lines = [
        note("the docstrings of the commands") + "# Command line\n",
        "`transorbit COMMAND --help` says the same in the terminal. Exit codes: 0 done; 2 something in the input is "
        "wrong, told in one line on standard error; 130 stopped with Ctrl-C; 1 a defect of the program.\n",
    ]
    for name, command in _commands(app, "transorbit"):
        lines.append(f"{'#' * (1 + name.count(' '))} `{name}`\n\n{sections[name]}\n{_examples(command)}")
    return "\n".join(lines).rstrip() + "\n"


def _sections(generated: str) -> Iterator[tuple[str, str]]:
    """Yields the parser's text on each command, by name, without its lists of contents."""
    parts = re.split(r"^#+ (transorbit .+)\n", generated, flags=re.MULTILINE)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        body = text.replace("```console\n", "```text\n").replace("\n* `", "\n- `")
        body = re.sub(r"\*\*Commands\*\*:\n\n(?:- .*\n?|    .*\n?)*", "", body)
        # The name under which this process was started is not the program's name.
        body = re.sub(rf"^{name} .*?(?=\[|--|\b[A-Z]{{2}}|$)", f"{name} ", body.strip(), count=1, flags=re.MULTILINE)
        body = body.replace(f"{name} \n", f"{name}\n")
        # Continuation lines join their item: a list of one level needs no indentation.
        yield name, re.sub(r"\n {4}(?=\S)", " ", body).strip()


def _commands(app: App, name: str) -> Iterator[tuple[str, App]]:
    """The commands by name, each followed by those below it."""
    for word in sorted(word for word in app if not word.startswith("-")):
        yield f"{name} {word}", app[word]
        yield from _commands(app[word], f"{name} {word}")


def _examples(command: App) -> str:
    text = command.help_epilogue
    before, heading, after = text.partition("Examples:\n") if isinstance(text, str) else ("", "", "")
    if not heading:
        return ""
    listed = f"\n```text\n{before.rstrip()}\n```\n" if before.strip() else ""
    lines = [line.removeprefix("    ") for line in after.splitlines()]
    return listed + "\n<!-- test: parsed only -->\n\n```sh\n" + "\n".join(lines) + "\n```\n"
