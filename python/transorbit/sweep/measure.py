"""The values of a sweep's metrics for each run: SQL over the tables of its runs and flows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from transorbit._core import ScenarioError
from transorbit._names import hint
from transorbit.sweep import sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import duckdb
    import polars as pl

    from transorbit.sweep.metrics import Metric


def measured(
    runs: pl.DataFrame, flows: pl.DataFrame, metrics: Iterable[Metric], axes: int, *, whole: bool
) -> pl.DataFrame:
    """The table `runs` with a column for each metric, after its `axes` axes; null for runs that failed.

    Unless these are the `whole` sweep and all ended well, a quoted column that none of them has is null: other runs may
    have it.

    Raises:
        ScenarioError: a metric cannot be computed.
    """
    import polars as pl

    numbered, good, own = _good(runs, flows)
    if good.is_empty():
        columns = [pl.Series(metric.name, [None] * len(runs), dtype=pl.Float64) for metric in metrics]
    else:
        with sql.connection({"_runs": good, "_flows": own}) as db:
            whole = whole and len(good) == len(runs)
            columns = [_measure(db, metric, numbered, own, whole=whole) for metric in metrics]
    first = 3 + axes
    return runs.select(*runs.columns[:first], *columns, *runs.columns[first:])


def check(runs: pl.DataFrame, flows: pl.DataFrame, metrics: Iterable[Metric]) -> None:
    """Raise `ScenarioError` for a metric that cannot be computed of any run, as far as one that is good shows.

    That is one with a column or function that does not exist, or a column of the flows without an aggregate. Types are
    not judged: a column without values has none.
    """
    import duckdb

    numbered, good, own = _good(runs, flows)
    with sql.connection({"_runs": good, "_flows": own}) as db:
        for metric in metrics:
            expression = _with_nulls(metric.sql, {*numbered.columns, *own.columns}, only=_of_some_runs)
            try:
                db.sql(_query(expression, numbered, own))
            except duckdb.Error as error:
                told = _slip(error, metric.sql, numbered, own)
                if told or isinstance(error, duckdb.CatalogException):
                    raise ScenarioError(f"metrics.{metric.name}: {told or sql.told(error)}") from None


def _good(runs: pl.DataFrame, flows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The runs with a number, `_run`; those that ended well; and their flows, with what only flows have."""
    import polars as pl

    numbered = runs.with_row_index("_run")
    good = numbered.filter(pl.col("status") == "ok")
    if good.is_empty():
        # Where no run has flows, what they have in common with runs has no type.
        return numbered, good, flows.clear()
    own = flows.join(good.select("_run", "point", "replication"), on=["point", "replication"])
    return numbered, good, own.drop([name for name in own.columns if name in runs.columns])


def _measure(
    db: duckdb.DuckDBPyConnection, metric: Metric, runs: pl.DataFrame, flows: pl.DataFrame, *, whole: bool
) -> pl.Series:
    import polars as pl

    try:
        table = _answer(db, metric, metric.sql, runs, flows)
    except ScenarioError:
        expression = _with_nulls(metric.sql, {*runs.columns, *flows.columns})
        if whole or expression == metric.sql:
            raise
        table = _answer(db, metric, expression, runs, flows)
    good = int((runs["status"] == "ok").sum())
    if len(table) != good or table["_run"].n_unique() != good:
        raise ScenarioError(f"metrics.{metric.name}: gives {len(table)} values for {good} runs, must be one of each")
    dtype = table["_value"].dtype
    if isinstance(dtype, pl.Decimal) or dtype in (pl.Null, pl.Int128):
        # The type that SQL gives to sums of whole numbers.
        table = table.with_columns(pl.col("_value").cast(pl.Float64))
    elif dtype.is_nested():
        raise ScenarioError(f"metrics.{metric.name}: is no number, text or truth value of a run but {dtype}")
    return runs.select("_run").join(table, on="_run", how="left", maintain_order="left")["_value"].alias(metric.name)


def _answer(
    db: duckdb.DuckDBPyConnection, metric: Metric, expression: str, runs: pl.DataFrame, flows: pl.DataFrame
) -> pl.DataFrame:
    """`_value` by `_run`."""
    return sql.answer(
        db,
        _query(expression, runs, flows),
        context=f"metrics.{metric.name}",
        say=lambda error: _slip(error, metric.sql, runs, flows) or sql.told(error),
    )


def _query(expression: str, runs: pl.DataFrame, flows: pl.DataFrame) -> str:
    # Columns of the run are grouped by, so that they may stand bare beside aggregates: only those that are named.
    text = expression.casefold()
    bare = "".join(f', "{name}"' for name in runs.columns if name != "_run" and name.casefold() in text)
    names = "".join(f', "{name}"' for name in flows.columns if name != "_run" and name.casefold() in text)
    return (
        f"SELECT _run, ({expression}\n) AS _value FROM (SELECT _run{bare} FROM _runs) "  # noqa: S608 - the user's own
        f"LEFT JOIN (SELECT _run{names} FROM _flows) USING (_run) GROUP BY _run{bare}"
    )


def _slip(error: duckdb.Error, expression: str, runs: pl.DataFrame, flows: pl.DataFrame) -> str | None:
    """Returns the error in the columns of an expression; None where the error is another."""
    text = sql.told(error)
    if found := re.match(r'column "(.+?)" must appear in the GROUP BY', text):
        name = next((one for one in flows.columns if one.casefold() == found[1].casefold()), None)
        if name is None:
            return None
        shown = _written(name)
        aggregate = "avg" if flows[name].dtype.is_numeric() else "first"
        return f"{shown}: give an aggregate over the flows, as in {aggregate}({shown})"
    columns = [name for name in dict.fromkeys([*flows.columns, *runs.columns]) if name != "_run"]
    if found := re.match(r'Referenced column "(.+?)" not found', text):
        name = found[1]
        return f'no column "{name}"{hint(_written(name), map(_written, columns))}'
    if found := re.match(r'Referenced table "(.+?)" not found', text):
        # SQL takes the name before a dot for a table.
        dotted = re.search(rf"(?<![\w.]){re.escape(found[1])}\.\w+", expression, re.IGNORECASE)
        name = dotted[0] if dotted else found[1]
        if name in columns or not dotted:
            return f'a column with a dot in its name is written in quotation marks, as in "{name}"'
        quoted = "; one that only some runs have is written in quotation marks"
        return f'no column "{name}"{hint(_written(name), map(_written, columns)) or quoted}'
    return None


def _written(name: str) -> str:
    """A column as SQL has it."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f'"{name}"'


def _of_some_runs(name: str) -> bool:
    """Whether it may be a column that only some runs have: a group of the summary, or an average of the series."""
    return "." in name or name.startswith("steady_")


def _with_nulls(expression: str, columns: Iterable[str], *, only: Callable[[str], bool] = lambda _: True) -> str:
    """The expression with NULL for each quoted name that is no column, or `only` for those."""
    known = {name.casefold() for name in columns}

    def replaced(match: re.Match[str]) -> str:
        name = match["name"]
        return "NULL" if name and name.casefold() not in known and only(name) else match[0]

    return _QUOTED.sub(replaced, expression)


# Texts and comments are matched as well, so that a quotation mark in one begins no name.
_QUOTED = re.compile(r"""'[^']*'|--[^\n]*|/\*.*?\*/|"(?P<name>[^"]+)\"""", re.DOTALL)
