"""Places with names: read from a CSV file, or given in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transorbit import _content, _files
from transorbit._ask import ask_table
from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl


def stations(places: str | Path | Mapping[str, Sequence[float]]) -> pl.DataFrame:
    """Places with names, checked.

    Args:
        places: a CSV file with the header `name,latitude_deg,longitude_deg` and perhaps `altitude_m`; or names with
            (latitude, longitude) or (latitude, longitude, altitude) in degrees and metres.

    Returns:
        Columns `name`, `latitude_deg`, `longitude_deg`, `altitude_m`, in the order given.

    Raises:
        ScenarioError: names the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    return ask_table("constellation.stations", csv=as_csv(places))


def as_csv(places: str | Path | Mapping[str, Sequence[float]]) -> str:
    """The places as text of a CSV file."""
    if isinstance(places, str | Path):
        try:
            return _files.read_text(_content.find(places))
        except ScenarioError as error:
            raise ScenarioError(f"stations: {error}") from None
    lines = ["name,latitude_deg,longitude_deg,altitude_m"]
    for name, place in places.items():
        if len(place) not in {2, 3}:
            raise ScenarioError(f"stations: {name}: {place!r} is not (latitude, longitude) nor with an altitude")
        quoted = name.replace('"', '""')
        lines.append(",".join([f'"{quoted}"', *(repr(float(value)) for value in (*place, 0.0)[:3])]))
    return "\n".join(lines) + "\n"
