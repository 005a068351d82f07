"""Kinds of claims, their predicates, and which of these need a reason: those wider than what is published.

What is published is a number with its digits, or several that spread. A claim that allows more says why in `reason`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

#: What a sentence of a paper says, by what it takes to judge it; in the order in which they are counted.
KINDS = {
    "direction": "more, less or no more than something else",
    "threshold": "above or below a number that the sentence names",
    "number": "a number, or that two things are the same",
    "arithmetic": "what follows from the parameters, with no model between",
    "investigation": "a sentence under another parameter than the paper's",
}
_NUMBER = re.compile(r"(?<![\w.,-])(?:(?<!\w)-)?\d+(?:,\d{3})*(?:\.\d+)?")
_SLACK = 1e-9


@dataclass(frozen=True)
class Predicate:
    """The condition of a claim on its statistic: above a bound, below one, or between two (both included)."""

    low: float | None
    high: float | None
    closed: bool = False

    def holds(self, value: float) -> bool:
        """Whether the value is one that the claim allows."""
        return self.margin(value) > 0 or (self.closed and self.margin(value) == 0)

    def margin(self, value: float) -> float:
        """Returns how far inside the value is; negative outside."""
        above = float("inf") if self.low is None else value - self.low
        below = float("inf") if self.high is None else self.high - value
        return min(above, below)

    def __str__(self) -> str:
        if self.closed:
            return f"between {self.low:g} and {self.high:g}"
        return f"below {self.high:g}" if self.low is None else f"above {self.low:g}"


class Printed(float):
    """A number of a file, with the digits in which it is written there."""

    digits: str

    def __new__(cls, digits: str) -> Printed:
        """The number that the digits are."""
        number = super().__new__(cls, digits)
        number.digits = digits
        return number


def unexplained(kind: str, predicate: Predicate, published: float | str | None, says: str) -> str:
    """In which way the predicate is wider than what is published; empty if it is not."""
    if predicate.low is not None and predicate.high is not None:
        return _wider(predicate, published)
    bound = predicate.high if predicate.low is None else predicate.low
    assert bound is not None
    if kind == "number":
        return f"{predicate} is no tolerance around a number"
    if kind != "threshold" and bound in {0, 1}:
        return ""
    named = [number for text in (_text(published), says) for number, _ in numbers(text)]
    if any(_same_digits(bound, number) for number in named):
        return ""
    return f"{predicate} is a limit that the paper does not name"


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers of a text, each with half a unit of its last digit."""
    numbers_read = []
    for match in _NUMBER.findall(text):
        number = Decimal(match.replace(",", ""))
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int)
        numbers_read.append((float(number), float(Decimal(5).scaleb(exponent - 1))))
    return numbers_read


def _wider(predicate: Predicate, published: float | str | None) -> str:
    known = numbers(_text(published))
    if not known:
        return f"{predicate} is a tolerance, and no number is published"
    assert predicate.low is not None
    assert predicate.high is not None
    low, high = min(number - half for number, half in known), max(number + half for number, half in known)
    slack = _SLACK * max(abs(low), abs(high))
    if predicate.low >= low - slack and predicate.high <= high + slack:
        return ""
    return f"{predicate} is wider than what is published, {low:g} to {high:g} with its rounding"


def _text(published: float | str | None) -> str:
    if isinstance(published, Printed):
        return published.digits
    return "" if published is None else str(published)


def _same_digits(one: float, other: float) -> bool:
    """Whether two numbers are the same but for their unit: 0.45 s and 450 ms."""
    first, second = (Decimal(repr(float(number))).normalize().as_tuple().digits for number in (one, other))
    return first == second
