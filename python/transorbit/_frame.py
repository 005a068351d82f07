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
    """The Arrow table as a polars frame, without a copy."""
    import polars as pl

    return pl.DataFrame(table)


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
