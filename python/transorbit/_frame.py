"""Tables as polars frames: those of the core, and their files. Polars is imported when the first one is made."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


def frame(table: Any) -> pl.DataFrame:
    """The Arrow table as a polars frame, with signed whole numbers; columns of other kinds are no copies."""
    import polars as pl

    return signed(pl.DataFrame(table))


def signed(table: pl.DataFrame) -> pl.DataFrame:
    """The table with all whole numbers as Int64: a difference of two counts without a sign would wrap around."""
    import polars as pl
    from polars import selectors

    return table.with_columns(selectors.integer().cast(pl.Int64))


def write_parquet(table: pl.DataFrame, file: Path, **options: Any) -> None:
    """Write a table as Parquet, with `options` of polars' method of this name.

    Raises:
        OSError: it cannot be written. Polars reports a disk that is full by an error of its own.
    """
    from polars.exceptions import ComputeError

    try:
        table.write_parquet(file, **options)
    except ComputeError as error:
        if of_system := re.search(r"\(os error (\d+)\)", str(error)):
            number = int(of_system[1])
            raise OSError(number, os.strerror(number), str(file)) from None
        if "transport error" in str(error):  # of the end of a file, without the system's error
            raise OSError(errno.EIO, "The end of the table cannot be written: is the disk full?", str(file)) from None
        raise
