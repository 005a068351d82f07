"""A measured path as a table over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Times since 1970 are larger, those since the start of a measurement smaller.
CALENDAR_S = 1e8


@dataclass
class Measurement:
    """A path over time, as somebody measured it.

    Attributes:
        kind: the format, in words.
        table: `time_s` (or `unix_time_s`) and quantities with their units, as a path of kind `trace` reads them.
        notes: what was understood, and what was left out, each as a sentence.
        repeats: whether it begins anew at its end, as who measured it means it.
    """

    kind: str
    table: pl.DataFrame
    notes: list[str] = field(default_factory=list)
    repeats: bool = False


def numbers(lines: list[str], separator: str | None) -> list[list[float]] | None:
    """The first rows of a table of numbers; None where it is none."""
    try:
        return [[float(cell) for cell in line.split(separator)] for line in lines[:50]]
    except ValueError:
        return None


def quantile(values: pl.Series, share: float) -> float:
    """The value that a share of the values do not exceed, linear between two neighbours; 0 without a value."""
    return float(values.quantile(share, "linear") or 0.0)


def timed(seconds: list[float], columns: Mapping[str, list[float | None]]) -> pl.DataFrame:
    """Rows in the order of time, of several at one instant the first. Times since 1970 stay so, by their name.

    Raises:
        ScenarioError: time runs back.
    """
    at = "unix_time_s" if seconds and seconds[0] > CALENDAR_S else "time_s"
    table = pl.DataFrame({at: seconds, **columns}, strict=False).with_columns(pl.all().cast(pl.Float64).fill_nan(None))
    back = (table[at].diff() < 0).fill_null(value=False)
    if back.any():
        row = back.arg_max() or 0
        raise ScenarioError(
            f"row {row + 1}: time {table[at][row]!r} s is before {table[at][row - 1]!r} s, that of the row before"
        )
    table = table.unique(at, keep="first", maintain_order=True)
    # To the nanosecond since the start, to the microsecond since 1970: more digits a float does not have.
    return table.with_columns(pl.col(at).round(6 if at == "unix_time_s" else 9))
