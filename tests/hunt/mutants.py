"""Files that somebody damaged: bytes, lines and values of a good one changed at random."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_VALUES = (
    *("0", "-1", "1e308", "-1e308", "nan", "inf", "9" * 40, "9" * 5000, "true", '""', '"\\u0000"', "[]", "{}", "[[]]"),
    *('"x"', '"1e999999 s"', '"-1 s"', '"1 Mbit/s"', '"0 dB"', "1979-05-27", '{ kind = "x" }', '"../../etc/passwd"'),
    *('"/dev/zero"', "[" * 500 + "]" * 500, '"' + "a" * 20_000 + '"', '"é"', "0x7fffffffffffffff", "1_000", "''"),
)
_NOISE = ("\0", "\r", "\ufeff", "\x1b[31m", "'''", '"""', "[[", "]]", "=", "#", "\\", "\u202e", "<script>", ".", "seed")


def mutated(random: Random, text: str, others: Sequence[str]) -> bytes:
    """A good file with one to four changes."""
    for _ in range(random.randint(1, 4)):
        text = random.choice(_CHANGES)(random, text, others)
    data = text.encode("utf-8", "surrogatepass")
    if random.random() < 0.15 and data:
        place = random.randrange(len(data))
        data = data[:place] + bytes([random.randrange(256)]) + data[place + random.randint(0, 2) :]
    if random.random() < 0.03:
        data = text.encode(random.choice(["utf-16", "utf-32", "utf-8-sig"]), "replace")
    return data[: random.randrange(len(data) + 1)] if random.random() < 0.05 else data


def _value(random: Random, text: str, _others: Sequence[str]) -> str:
    """Another value for a key."""
    places = [*re.finditer(r"= *([^\n#]+)", text)]
    if not places:
        return text
    place = random.choice(places)
    return text[: place.start(1)] + random.choice(_VALUES) + text[place.end(1) :]


def _number(random: Random, text: str, _others: Sequence[str]) -> str:
    """Another number, within a value."""
    places = [*re.finditer(r"\d+\.?\d*", text)]
    if not places:
        return text
    place = random.choice(places)
    number = random.choice(["0", "-1", "1e9", "1e-9", "0.5", "7", "1000000", str(2**63), str(2**64)])
    return text[: place.start()] + number + text[place.end() :]


def _line(random: Random, text: str, others: Sequence[str]) -> str:
    """A line that is missing, there twice, elsewhere, or of another file."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    place = random.randrange(len(lines))
    line = lines[place]
    what = random.randrange(4)
    if what == 0:
        del lines[place]
    elif what == 1:
        lines.insert(place, line)
    elif what == 2:
        lines.insert(random.randrange(len(lines)), lines.pop(place))
    else:
        lines.insert(place, random.choice(random.choice(others).splitlines(keepends=True) or [""]))
    return "".join(lines)


def _noise(random: Random, text: str, _others: Sequence[str]) -> str:
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(_NOISE) + text[place:]


def _word(random: Random, text: str, others: Sequence[str]) -> str:
    """A word for another one, perhaps of another file."""
    words = re.findall(r"[A-Za-z_][\w-]*", text)
    donors = re.findall(r"[A-Za-z_][\w-]*", random.choice(others))
    if not words or not donors:
        return text
    return re.sub(rf"\b{re.escape(random.choice(words))}\b", random.choice(donors), text, count=1)


_CHANGES = (_value, _value, _number, _number, _line, _word, _noise)
