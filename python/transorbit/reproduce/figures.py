"""An item's plots as files, and its tables of our values beside the published ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transorbit import statistics
from transorbit._core import ScenarioError
from transorbit._names import hint_or_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from transorbit.reproduce.database import Tables
    from transorbit.reproduce.items import Item

Row = tuple[object, ...]


@dataclass(frozen=True)
class Comparison:
    """One quantity: a line for each combination of `rows`, and for each column level ours and the paper's value.

    Attributes:
        header: names of the row columns, then the levels.
        lines: the row's values, and for each level our interval (None: not computed) and the paper's value.
    """

    label: str
    rows: Sequence[str]
    levels: Sequence[str]
    lines: Sequence[tuple[Row, Sequence[tuple[statistics.Interval | None, object]]]]
    has_published: bool


def draw(
    item: Item,
    data: Tables,
    published: pl.DataFrame | None,
    labels: Mapping[str, str],
    folder: Path,
    *,
    axes: Sequence[str] = (),
) -> tuple[list[Path], list[str]]:
    """Draw the item's plots into `folder`, ITEM-1.svg with ITEM-1.csv and so on.

    Args:
        axes: those of the item's sweep, none of which may be left over.

    Returns:
        The files, and why a plot could not be drawn.
    """
    import polars as pl

    drawn, problems = [], []
    for index, plot in enumerate(item.plots):
        path = folder / f"{item.name}-{index + 1}.svg"
        try:
            frame = data.frame(plot.get("from", "results"))
            if left := left_over(frame, keys(plot), axes):
                raise ScenarioError(_mixed(left, "x, by or panels"))
            _draw(plot, frame, published, labels, path)
        except ScenarioError as error:
            problems.append(f"plots.{index}: {error}")
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            # A plot that cannot be drawn leaves the other plots and the claims as they are.
            problems.append(
                f"plots.{index}: could not be drawn: {type(error).__name__}: {' '.join(str(error).split())}"
            )
        else:
            drawn.append(path)
    return drawn, problems


def keys(plot: Mapping[str, Any]) -> list[str]:
    """Returns the columns that distinguish the points of a plot or of a table."""
    places = () if plot.get("kind") == "cdf" else ("x",)
    columns = [plot[place] for place in (*places, "by", "panels") if place in plot]
    return list(dict.fromkeys([*columns, *plot.get("rows", ()), *plot.get("columns", ())]))


def left_over(frame: pl.DataFrame, keys: Sequence[str], axes: Sequence[str]) -> list[str]:
    """The axes with several values where the keys are the same: different conditions.

    Where rows of several points have none of the axes in the table, the answer is "point".
    """
    import polars as pl

    known = [name for name in keys if name in frame.columns]
    others = [name for name in (*axes, "point") if name in frame.columns and name not in known]
    if frame.is_empty() or not others:
        return []
    counts = pl.col(others).n_unique()
    groups = frame.group_by(known).agg(counts) if known else frame.select(counts)
    left = [name for name in others if (groups[name] > 1).any()]
    return [name for name in left if name != "point"] or left


def _mixed(left: Sequence[str], places: str) -> str:
    some = "points" if left == ["point"] else f"values of {', '.join(left)}"
    return f"several {some} in one mean: name what differs in {places}, or average for each seed in a view"


def _draw(
    plot: Mapping[str, Any],
    frame: pl.DataFrame,
    published: pl.DataFrame | None,
    labels: Mapping[str, str],
    path: Path,
) -> None:
    from transorbit.plots import style
    from transorbit.plots.table import of_table

    options = {key: value for key, value in plot.items() if key not in ("kind", "from")}
    needed = {plot[key] for key in (("y",) if plot["kind"] == "cdf" else ("x", "y"))}
    # The paper need not have all that we draw.
    comparable = published is not None and needed <= set(published.columns) and published[plot["y"]].count() > 0
    figure = of_table(plot["kind"], frame, labels=labels, published=published if comparable else None, **options)
    style.publish(figure, path)


def compare(
    table: Mapping[str, Any],
    data: Tables,
    published: pl.DataFrame | None,
    labels: Mapping[str, str],
    *,
    axes: Sequence[str] = (),
) -> list[Comparison]:
    """The item's `[table]`, one comparison for each of its values.

    Args:
        axes: those of the item's sweep, none of which may be left over.

    Raises:
        ScenarioError: a column does not exist, or different conditions would stand in one cell.
    """
    frame = data.frame(table.get("from", "results"))
    rows, columns = list(table["rows"]), list(table.get("columns", []))
    for name in (*rows, *columns, *table["values"]):
        if name not in frame.columns:
            raise ScenarioError(f"table: {name}: no such column{hint_or_all(name, frame.columns)}")
    if left := left_over(frame, keys(table), axes):
        raise ScenarioError(f"table: {_mixed(left, 'rows or columns')}")
    return [_comparison(name, rows, columns, frame, published, labels) for name in table["values"]]


def _comparison(
    name: str,
    rows: list[str],
    columns: list[str],
    frame: pl.DataFrame,
    published: pl.DataFrame | None,
    labels: Mapping[str, str],
) -> Comparison:
    apart = [*rows, *columns]
    ours: dict[Row, list[float]] = {}
    for *key, value in frame.select(*apart, name).iter_rows():
        # A run may have no value: slots used, where none are granted.
        if value is not None:
            ours.setdefault(tuple(key), []).append(value)
    theirs: dict[Row, object] = {}
    if published is not None and {*apart, name} <= set(published.columns):
        theirs = {tuple(key): value for *key, value in published.select(*apart, name).iter_rows()}
    every = [*ours, *(key for key in theirs if key not in ours)]
    levels = list(dict.fromkeys(key[len(rows) :] for key in every))

    def sides(key: Row) -> tuple[statistics.Interval | None, object]:
        interval = statistics.mean_interval(ours[key]) if key in ours else None
        # A value that is no number (0 / 0) leaves the mean unknown.
        return (interval if interval and math.isfinite(interval.mean) else None), theirs.get(key)

    heads = list(dict.fromkeys(key[: len(rows)] for key in every))
    if all(isinstance(value, int | float) for head in heads for value in head):
        # The paper may have more points than ours.
        heads.sort()
    lines = [(head, [sides((*head, *level)) for level in levels]) for head in heads]
    return Comparison(
        label=labels.get(name, name),
        rows=[labels.get(row, row) for row in rows],
        levels=[", ".join(map(str, level)) for level in levels],
        lines=lines,
        has_published=bool(theirs),
    )
