"""Places with names: read from a CSV file, or given in Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from transorbit import _content, _files
from transorbit._ask import ask_table
from transorbit._core import ScenarioError
from transorbit._values import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl


def stations(places: str | Path | Mapping[str, Sequence[float]]) -> pl.DataFrame:
    """Places with names, checked.

    Args:
        places: a CSV file with the header `name,latitude_deg,longitude_deg` and perhaps `altitude_m`; or names with
            (latitude, longitude) or (latitude, longitude, altitude) in degrees and metres.

    Returns:
        Columns `name`, `latitude_deg`, `longitude_deg`, `altitude_m`, in the order given.

    Raises:
        ScenarioError: names the file with its line, or the place, and what is wrong with it.
        OSError: the file cannot be read.
    """
    text = as_csv(places)
    with told(places):
        return ask_table("constellation.stations", csv=text)


def as_csv(places: str | Path | Mapping[str, Sequence[float]]) -> str:
    """The places as text of a CSV file."""
    if isinstance(places, str | Path):
        try:
            return _files.read_text(_content.find(places))
        except ScenarioError as error:
            raise ScenarioError(f"stations: {error}") from None
    if not isinstance(places, Mapping):
        raise ScenarioError(f"stations: {places!r} was given, a file or names with places are expected")
    lines = ["name,latitude_deg,longitude_deg,altitude_m"]
    for name, place in places.items():
        if not isinstance(name, str) or name.splitlines() != [name]:
            raise ScenarioError(f"stations: {name!r} was given, a name in one line is expected")
        quoted = name.replace('"', '""')
        lines.append(",".join([f'"{quoted}"', *map(repr, with_altitude(f"stations: {name}", place))]))
    return "\n".join(lines) + "\n"


@contextmanager
def told(places: str | Path | Mapping[str, Sequence[float]]) -> Iterator[None]:
    """The core's errors about lines of `as_csv` name the file as well, or the place where there is none."""
    try:
        yield
    except ScenarioError as error:
        if (found := re.fullmatch(r"stations(?:\.line (\d+))?: (.*)", str(error), re.DOTALL)) is None:
            raise
        line, message = found.groups()
        if isinstance(places, str | Path):
            where = f"{places}: line {line}" if line else str(places)
        elif line:
            # The first is the header.
            where = list(places)[int(line) - 2]
        else:
            raise
        raise ScenarioError(f"stations: {where}: {message}") from None


def with_altitude(name: str, place: Sequence[float]) -> tuple[float, float, float]:
    """Latitude, longitude and altitude, which is 0 where there is none.

    Raises:
        ScenarioError: that is no place; the message begins with the name.
    """
    values = list(place) if isinstance(place, Iterable) and not isinstance(place, str) else []
    if len(values) not in {2, 3}:
        raise ScenarioError(f"{name}: {place!r} is not (latitude, longitude) nor with an altitude")
    latitude, longitude, altitude = (number(name, value) for value in (*values, 0.0)[:3])
    return latitude, longitude, altitude
