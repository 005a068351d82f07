"""Common parts of pages in Markdown: a note on top, cells of tables, paragraphs."""

from __future__ import annotations

import json
import re
import textwrap


def note(source: str) -> str:
    """A comment that names the source from which the page is written."""
    return f"<!-- Written by `make reference` from {source}; changes belong there. -->\n\n"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return line(text).replace("|", "\\|")


def line(text: str) -> str:
    """Text in one line; what the crates' documentation links to becomes code."""
    return re.sub(r"\[`(?:\w+::)*(\w+)`\]", r"`\1`", " ".join(text.split()))


def code(value: object) -> str:
    """A value as code for a cell, as JSON where it is not text; nothing for nothing."""
    if value is None or value == "":
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"`{cell(text)}`"


def wrapped(text: str) -> str:
    """Paragraphs of a docstring, whose indented blocks stay code."""
    return textwrap.dedent(text).strip()
