"""Values of the command line that are not part of a scenario."""

from __future__ import annotations

import re

from transorbit.cli import UsageError

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_LARGEST_SEED = 2**63 - 1


def seed(text: str) -> int:
    """A whole number that TOML can hold as well, zero or more."""
    if not re.fullmatch(r"[0-9]+", text) or int(text) > _LARGEST_SEED:
        raise UsageError(f"--seed: {text!r} is not a whole number between 0 and {_LARGEST_SEED}")
    return int(text)


def counts(option: str, text: str) -> list[int]:
    """Whole numbers with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise UsageError(f"{option}: {text!r} is no list of whole numbers, as in 1,10,100")
    return [int(part) for part in parts]


def seconds(option: str, text: str) -> float:
    """A duration with its unit, more than zero."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([a-zµ]+)\s*", text)
    if not match or match[2] not in _SECONDS:
        raise UsageError(f'{option}: "{text}" is not a duration: write a number and one of {", ".join(_SECONDS)}')
    value = float(match[1]) * _SECONDS[match[2]]
    if value <= 0:
        raise UsageError(f'{option}: "{text}" must be more than zero')
    return value


def place(option: str, text: str) -> tuple[float, float]:
    """Latitude and longitude in degrees."""
    try:
        latitude, longitude = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f'{option}: "{text}" is not LATITUDE,LONGITUDE in degrees, as in 43.6,1.4') from None
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 360):
        raise UsageError(f'{option}: "{text}" is out of range: latitude -90 to 90, longitude -180 to 360')
    return latitude, longitude
