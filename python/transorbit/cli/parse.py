"""Values of the command line that are not part of a scenario."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cyclopts import UNSET

from transorbit import _figures, _files, _place, _values
from transorbit._core import ScenarioError
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App, ArgumentCollection

# How a number below zero begins.
_NEGATIVE = re.compile(r"-\s*(\.?[0-9]|inf|nan)", re.IGNORECASE)
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_MOST_DIGITS = 18
_LONGEST_S = 1e10  # the core counts nanoseconds in 64 bits
_MOST_IN_RANGES = 10_000


def joined(app: App, arguments: Sequence[str]) -> list[str]:
    """The arguments, but `--start=-1 s` for `--start` and `-1 s`.

    The parser takes a text that begins with a hyphen for an option, so that `--start` had no value.
    """
    given = list(arguments)
    # What stands after -- belongs to another command.
    own = given.index("--") if "--" in given else len(given)
    if not any(_NEGATIVE.match(each) for each in given[:own]):
        return given
    command = app.parse_commands(given)[1][-1]
    if command.default_command is None:
        return given
    options = command.assemble_argument_collection()
    found: list[str] = []
    for each in given[:own]:
        if found and _NEGATIVE.match(each) and _takes_value(options, found[-1]):
            found[-1] += f"={each}"
        else:
            found.append(each)
    return found + given[own:]


def _takes_value(options: ArgumentCollection, name: str) -> bool:
    """Whether `name` is an option of a command, and no flag."""
    try:
        flag = options.match(name)[2]
    except ValueError:
        return False
    return name.startswith("--") and flag is UNSET


def seed(text: str, *, least: int = 0, most: int = _values.LARGEST_SEED) -> int:
    """A whole number; by default one that a run takes as its seed."""
    if not re.fullmatch(r"[0-9]+", text) or not least <= int(text) <= most:
        raise UsageError(f"--seed: {text!r} is not a whole number between {least} and {most}")
    return int(text)


def counts(option: str, text: str) -> list[int]:
    """Whole numbers with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise UsageError(f"{option}: {text!r} is no list of whole numbers, as in 1,10,100")
    return [int(part) for part in parts]


def ranges(option: str, text: str) -> list[int]:
    """Whole numbers and ranges FIRST:LAST:STEP, with commas between them."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})(?::([0-9]{1,9})(?::([0-9]{1,9}))?)?\s*", part)
        if not match:
            raise UsageError(
                f"{option}: {part.strip()!r} is no whole number and no range FIRST:LAST:STEP, as in 10:160:10"
            )
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step == 0:
            raise UsageError(
                f"{option}: {part.strip()!r} holds no number: FIRST:LAST:STEP goes upward, in steps of 1 or more"
            )
        between = range(first, last + 1, step)
        if len(numbers) + len(between) > _MOST_IN_RANGES:
            raise UsageError(f"{option}: {text!r} holds more than {_MOST_IN_RANGES} numbers")
        numbers += between
    return numbers


def count(option: str, text: str) -> int:
    """One whole number, perhaps written as 1e6."""
    match = re.fullmatch(r"\s*([0-9]+)(\.[0-9]+)?(?:[eE]\+?([0-9]{1,2}))?\s*", text)
    fraction, exponent = ((match[2] or ".").rstrip("0")[1:], int(match[3] or 0)) if match else ("", 0)
    if not match or len(fraction) > exponent or len(match[1]) + exponent > _MOST_DIGITS:
        raise UsageError(f"{option}: {text!r} is no whole number, as in 1000 or 1e6")
    return int(match[1] + fraction + "0" * (exponent - len(fraction)))


def numbers(option: str, text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option}: {text!r} is no list of numbers, as in 0.01,0.1") from None


def seconds(option: str, text: str) -> float:
    """A duration with its unit, more than zero."""
    value = instant(option, text)
    if value <= 0:
        raise UsageError(f'{option}: "{text}" must be more than zero')
    return value


def start(option: str, text: str) -> float:
    """When something begins, with its unit: zero or more."""
    value = instant(option, text)
    if value < 0:
        raise UsageError(f'{option}: "{text}" must be 0 s or more')
    return value


def instant(option: str, text: str) -> float:
    """Returns the seconds after an instant, or before it, of a text with a unit."""
    match = re.fullmatch(r"\s*(-?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([a-zµ]+)\s*", text)
    if not match or match[2] not in _SECONDS:
        raise UsageError(f'{option}: "{text}" is not a duration: write a number and one of {", ".join(_SECONDS)}')
    value = float(match[1]) * _SECONDS[match[2]]
    if abs(value) > _LONGEST_S:
        raise UsageError(f'{option}: "{text}" is too long: at most {_LONGEST_S:g} s')
    return value


def choice(option: str, text: str) -> str | dict[str, Any]:
    """A name, or an inline table of TOML with its parameters."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        found: dict[str, Any] = _files.toml(f"it = {text}")["it"]
    except ScenarioError as error:
        told = str(error).removeprefix("not TOML: ")
        raise UsageError(f'{option}: {text} is no inline table of TOML, as in {{ kind = "NAME" }}: {told}') from None
    return found


def degrees(option: str, text: str) -> float:
    """An angle with its unit."""
    match = re.fullmatch(r"\s*(-?[0-9]*\.?[0-9]+)\s*deg\s*", text)
    if not match:
        raise UsageError(f'{option}: "{text}" is not an angle: write a number and deg, as in "10 deg"')
    return float(match[1])


def place(option: str, text: str) -> tuple[float, float]:
    """Latitude and longitude in degrees."""
    try:
        latitude, longitude = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f'{option}: "{text}" is not LATITUDE,LONGITUDE in degrees, as in 43.6,1.4') from None
    if not _place.is_on_earth(latitude, longitude):
        raise UsageError(f'{option}: "{text}" is out of range: {_place.ALLOWED}')
    return latitude, longitude


def hertz(option: str, text: str) -> float:
    """A frequency with its unit, more than zero."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([kMG]?Hz)\s*", text)
    if not match or float(match[1]) == 0:
        raise UsageError(f'{option}: "{text}" is not a frequency above zero: write a number and a unit, as in "20 GHz"')
    return float(match[1]) * {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}[match[2]]


def share(option: str, text: str) -> float:
    """A percentage, or a number from 0 to 1."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*", text)
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= value <= 1:
        raise UsageError(f'{option}: "{text}" is not a share: write a percentage, as in "0.1 %"')
    return value


def width(option: str, text: str) -> float:
    """The width of a figure in inches: single, double or a length."""
    named = {"single": _figures.SINGLE_IN, "double": _figures.DOUBLE_IN}
    if text in named:
        return named[text]
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*(mm|cm|in)\s*", text)
    inches = float(match[1]) / _INCHES[match[2]] if match else 0.0
    if not _WIDTH_IN[0] <= inches <= _WIDTH_IN[1]:
        raise UsageError(f'{option}: {text!r} is not single, double, or a length from 38 to 508 mm, as in "88 mm"')
    return inches


_INCHES = {"mm": 25.4, "cm": 2.54, "in": 1.0}
_WIDTH_IN = (1.5, 20.0)
