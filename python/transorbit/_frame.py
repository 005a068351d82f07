"""Tables of the core as polars frames; polars is imported when the first one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def frame(table: Any) -> pl.DataFrame:
    """The Arrow table as a polars frame, without a copy."""
    import polars as pl

    return pl.DataFrame(table)
