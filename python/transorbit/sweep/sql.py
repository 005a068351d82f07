"""DuckDB over polars tables."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import duckdb
    import polars as pl


# A stranger's expression only computes. It reads and writes no file, loads no extension, cannot say otherwise.
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "2GB",
    "temp_directory": "",
    "lock_configuration": "true",
}
_LONGEST_S = 120.0


def query(sql: str, tables: Mapping[str, pl.DataFrame], *, context: str = "query") -> pl.DataFrame:
    """The answer to a query over these tables, by name.

    Raises:
        ScenarioError: DuckDB refuses the query; the message begins with `what`.
    """
    with connection(tables) as db:
        return answer(db, sql, context=context)


def check(expression: str, *, context: str) -> None:
    """Raise `ScenarioError` unless this can be the expression of a query, as far as that shows without tables."""
    import duckdb

    try:
        statements = _database().extract_statements(f"SELECT ({expression}\n)")
    except duckdb.Error as error:
        bare = re.sub(r"'[^']*'", "", expression)
        unclosed = ", where a bracket is not closed" if bare.count("(") > bare.count(")") else ""
        raise ScenarioError(f"{context}: {told(error)}{unclosed}") from None
    if len(statements) != 1:
        raise ScenarioError(f"{context}: must be one expression")


@contextmanager
def connection(tables: Mapping[str, pl.DataFrame]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that sees these tables and no variables of Python."""
    db = _database().cursor()
    try:
        for name, table in tables.items():
            db.register(name, _Stream(table))
        yield db
    except RuntimeError as error:
        # Ctrl-C during a query is what it is elsewhere, and no error.
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise
    finally:
        db.close()


@contextmanager
def reading(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that finds files by names relative to a folder: for papers, whose Python is run as well."""
    import duckdb

    free = {**_LOCKED, "enable_external_access": "true", "file_search_path": str(folder.absolute())}
    with duckdb.connect(config=free) as db:
        yield db


def answer(
    db: duckdb.DuckDBPyConnection, sql: str, *, context: str, say: Callable[[duckdb.Error], str] | None = None
) -> pl.DataFrame:
    """The answer to a query; `say` puts DuckDB's error into words, by default its own.

    Args:
        context: what the message begins with, if it is not empty.

    Raises:
        ScenarioError: DuckDB refuses the query.
    """
    import duckdb
    import polars as pl

    try:
        with _limited(db):
            relation = db.sql(sql)
            if relation is None:
                raise ScenarioError(f"{context}: is no query: begin with SELECT")
            return pl.DataFrame(_Stream(relation))
    except duckdb.InterruptException:
        raise ScenarioError(f"{context}: takes longer than {_LONGEST_S:g} s") from None
    except duckdb.Error as error:
        raise ScenarioError(f"{context}: {(say or told)(error)}" if context else (say or told)(error)) from None


@contextmanager
def _limited(db: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """End a query that takes too long."""
    timer = threading.Timer(_LONGEST_S, db.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def told(error: duckdb.Error) -> str:
    """Returns DuckDB's error in one line and without the query."""
    text = str(error).split("\n\nLINE ")[0]
    text = re.sub(r"^\w+(?: \w+)? Error: ", "", text)
    return " ".join(text.split())


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """The one database: to open another takes longer than most queries. Each cursor sees its own tables only."""
    import atexit

    import duckdb

    # A database that is open when Python ends gives a message on standard error.
    atexit.register(_database.cache_clear)
    return duckdb.connect(config=_LOCKED)


class _Stream:
    """A table as nothing but an Arrow stream: what both read without a further library.

    Polars also remembers the type of what it reads for as long as Python runs: DuckDB's own, seen by it, would be
    reported as leaked at the end.
    """

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)
