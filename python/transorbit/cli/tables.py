"""Tables and lists as text: `rich` sets them, to the width of the terminal; in a pipe each row stays one line."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import JustifyMethod
    from rich.table import Table
    from rich.text import Text

# The width of a table where nobody looks: no line is broken.
_ENDLESS = 10_000
# A heading is not broken into lines shorter than this.
_SHORT = 10
# Words of this length are not broken either.
_WORD = 24
# Characters between two columns.
_GAP = 2


def titled(title: str, *lines: str) -> list[str]:
    """Lines below a title, if there is one."""
    return [title, *lines] if title else [*lines]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        head: its heading, which takes several lines where its words are longer than what is below.
        words: whether it holds words, which stand left and may be broken; numbers stand right and never are.
    """

    head: str
    words: bool = False


def table(columns: Sequence[Column | str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table. A column given as text is one of numbers, but the first holds words.

    Columns for which a terminal has no room stand in a table below, beside the first column.
    """
    named = [one if isinstance(one, Column) else Column(one, words=index == 0) for index, one in enumerate(columns)]
    body = [[str(cell) for cell in row] for row in rows]
    fitted = [_fitted(column, [row[index] for row in body]) for index, column in enumerate(named)]
    lines: list[str] = []
    for part in _parts([least for _, least in fitted], _room()):
        grid = _grid(header=any(named[index].head for index in part))
        for index in part:
            head, least = fitted[index]
            words = named[index].words
            justify: JustifyMethod = "left" if words else "right"
            grid.add_column(head, justify=justify, vertical="top", no_wrap=not words, min_width=least)
        for row in body:
            grid.add_row(*(_plain(row[index]) for index in part))
        lines += [*([""] if lines else []), *_lines(grid)]
    return lines


def print_table(columns: Sequence[Column | str], rows: Iterable[Sequence[object]]) -> None:
    """Print the lines of a table."""
    print("\n".join(table(columns, rows)))


def _fitted(column: Column, cells: Sequence[str]) -> tuple[str, int]:
    """A heading in lines that suit what is below it, and how broad the column is at least."""
    broad = max(map(len, cells), default=0)
    head = _folded(column.head, broad)
    return head, max(*map(len, head.split("\n")), min(broad, _WORD) if column.words else broad)


def _parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """The indices of columns of which so many characters have room beside each other, each time after the first."""
    parts = [[0]]
    used = widths[0]
    for index, width in enumerate(widths[1:], start=1):
        if used + _GAP + width > room and len(parts[-1]) > 1:
            parts.append([0])
            used = widths[0]
        parts[-1].append(index)
        used += _GAP + width
    return parts


def facts(named: Iterable[tuple[str, str]]) -> list[str]:
    """The lines of a list: a name, and what is to be said of it."""
    known = list(named)
    if not known:
        return []
    grid = _grid(header=False)
    grid.add_column(no_wrap=True, min_width=max(len(name) for name, _ in known))
    grid.add_column()
    for name, told in known:
        grid.add_row(_plain(name), _plain(told))
    return _lines(grid)


def _grid(*, header: bool) -> Table:
    from rich.table import Table

    return Table(box=None, show_header=header, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")


def _plain(text: str) -> Text:
    """Without markup: what stands in brackets is text."""
    from rich.text import Text

    return Text(text)


def _folded(head: str, broad: int) -> str:
    """The words of a heading in lines that are no longer than what is below them, or than the longest word."""
    # A number stays beside its sign.
    words = re.split(r" (?!%)", head)
    longest = max(broad, min(len(head), _SHORT), *map(len, words))
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= longest:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def _lines(grid: Table) -> list[str]:
    from rich.console import Console
    from rich.measure import Measurement

    # Words of a fold stand at the bottom, over their numbers.
    for column in grid.columns:
        column.header = _plain(str(column.header))
    styled = _is_terminal() and not os.environ.get("NO_COLOR")
    # Numbers are whole, also where the terminal is too narrow for them.
    measuring = Console(file=StringIO(), width=_ENDLESS)
    least = Measurement.get(measuring, measuring.options, grid).minimum
    # The environment must not colour what a program reads.
    console = Console(
        file=StringIO(), width=max(_room(), least), force_terminal=styled, no_color=not styled, highlight=False
    )
    console.print(grid)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def _is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _room() -> int:
    """Returns the number of characters that a line has."""
    from rich.console import Console

    return Console().width if _is_terminal() else _ENDLESS
