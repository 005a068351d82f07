"""The tables of an item in a database in memory, seen whole or for some of the seeds."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError
from transorbit.sweep import sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import polars as pl

#: The seed of a study's rows that no chance is in: they are seen with every seed.
EVERY_SEED = 0


class Tables:
    """`results`, `flows` and `published` of an item, and its views over them.

    Args:
        results: one row for each run, or what a study gave; with a column `seed`.
        flows: one row for each flow and run; with a column `seed`.
        published: the paper's values, the same whatever the seed.
        views: the text of a query for each name; one may use those before it.
        every_seed: whether rows of seed 0 belong to every seed, as a study's may.

    Raises:
        ScenarioError: a view that the database refuses.
    """

    def __init__(
        self,
        results: pl.DataFrame,
        *,
        flows: pl.DataFrame | None = None,
        published: pl.DataFrame | None = None,
        views: Mapping[str, str] | None = None,
        every_seed: bool = False,
    ) -> None:
        import polars as pl

        given = {"results": results, "flows": flows, "published": published}
        # A column without any value has a type that the database does not know.
        there = {
            name: frame.with_columns(pl.col(pl.Null).cast(pl.Float64))
            for name, frame in given.items()
            if frame is not None and frame.width
        }
        self._every_seed = every_seed
        self._by_seed: list[str] = [name for name in ("results", "flows") if name in there]
        self.seeds = self._seeds(results)
        self._open = ExitStack()
        self._connection = self._open.enter_context(
            sql.connection({f"given_{name}": frame for name, frame in there.items()})
        )
        try:
            for name in there:
                whole = name if name == "published" else f"all_{name}"
                self._connection.execute(f"CREATE TEMP TABLE {whole} AS SELECT * FROM given_{name}")  # noqa: S608
            self._seen: Sequence[int] | None = ()
            self._see(None)
            for name, text in (views or {}).items():
                self._create_view(name, text)
        except BaseException:
            self.close()
            raise

    @property
    def with_seed(self) -> list[str]:
        """The tables each of whose rows belongs to one seed."""
        return [] if self._every_seed else self._by_seed

    @property
    def has_chance(self) -> bool:
        """Whether any row is of a seed: another one might give another value."""
        return self.seeds != (EVERY_SEED,)

    def query(self, text: str, *, seeds: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
        """The rows that the query gives if only these seeds had been run; all of them by default.

        Raises:
            ScenarioError: what the database says against the query, in one line.
        """
        import duckdb

        try:
            self._see(seeds)
            return self._connection.execute(text).fetchall()
        except duckdb.Error as error:
            raise ScenarioError(sql.told(error)) from None

    def count(self, name: str, where: str) -> int:
        """Returns the number of rows of a table or view for which a condition is true, over all seeds."""
        ((found,),) = self.query(f"SELECT count(*) FROM {quoted(name)} WHERE {where}")  # noqa: S608 - quoted
        return int(found)

    def frame(self, name: str) -> pl.DataFrame:
        """A table or view, over all seeds.

        Raises:
            ScenarioError: the database refuses it.
        """
        self._see(None)
        return query_frame(self._connection, f"SELECT * FROM {quoted(name)}")  # noqa: S608 - quoted

    def close(self) -> None:
        """Let go of the memory."""
        self._open.close()

    def _create_view(self, name: str, text: str) -> None:
        import duckdb

        try:
            self._connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS {text}")
        except duckdb.Error as error:
            raise ScenarioError(f"views.{name}: {sql.told(error)}") from None

    def _see(self, seeds: Sequence[int] | None) -> None:
        """Put a window over the tables that shows the rows of these seeds."""
        if seeds == self._seen:
            return
        self._seen = seeds
        where = ""
        if seeds is not None:
            shown = [*seeds, EVERY_SEED] if self._every_seed else seeds
            where = f" WHERE seed IN ({', '.join(map(str, shown))})"
        for name in self._by_seed:
            query = f"SELECT * FROM all_{name}{where}"  # noqa: S608
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def _seeds(self, results: pl.DataFrame) -> tuple[int, ...]:
        """The seeds that every point has: a statistic of one seed compares points, and needs all of them."""
        import polars as pl

        if self._every_seed:
            seeds = sorted(set(results["seed"].to_list()) - {EVERY_SEED})
            return tuple(seeds) or (EVERY_SEED,)
        points = results["point"].n_unique()
        counts = results.group_by("seed").agg(pl.col("point").n_unique())
        return tuple(sorted(counts.filter(pl.col("point") == points)["seed"].to_list()))


def query_frame(connection: Any, text: str) -> pl.DataFrame:
    """A query's rows as a polars frame.

    Raises:
        ScenarioError: what the database says against it, in one line.
    """
    import polars as pl
    import polars.selectors as cs

    # A constant such as 0.5 is a decimal number in SQL, and a sum of whole numbers one of 128 bits.
    return sql.answer(connection, text, context="").with_columns(
        (cs.decimal() | cs.by_dtype(pl.Int128)).cast(pl.Float64)
    )


def published(text: str, folder: Path) -> pl.DataFrame:
    """The paper's values: the rows of a query whose files are relative to `folder`.

    Raises:
        ScenarioError: what the database says against it, in one line.
    """
    with sql.reading(folder) as connection:
        return query_frame(connection, text)


def quoted(name: str) -> str:
    """A column's or table's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def columns(names: Iterable[str]) -> str:
    """A list of columns in SQL."""
    return ", ".join(map(quoted, names))
