"""Hints in errors about names that do not exist."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 3
_ALIKE = 0.5


def hint(given: str, known: Iterable[str], *, most: int = _MOST) -> str:
    """The end of the message: the names that are most like the given one, or contain it; empty if there is none."""
    names = list(dict.fromkeys(known))
    # A name that differs in its case alone is the nearest.
    lower = {name.casefold(): name for name in reversed(names)}
    text = given.casefold()
    alike = [lower[one] for one in difflib.get_close_matches(text, lower, most, _ALIKE)]
    near = alike or [one for one in names if text and text in one.casefold()]
    return f"; did you mean {' or '.join(near[:most])}?" if near else ""


def hint_or_all(given: str, known: Iterable[str]) -> str:
    """Returns the hint of `hint`, or all names where none is alike."""
    names = sorted(known)
    return hint(given, names) or (f": one of {', '.join(names)}" if names else "")
