"""The page of a sweep."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

from transorbit import _inputs, plugins
from transorbit._numbers import counted
from transorbit._numbers import on_page as number
from transorbit.report import differences, text
from transorbit.report.page import Axis, Cell, Explorer, Measure, Page, Tile, interval
from transorbit.sweep.result import good_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transorbit import sweep as sweeps
    from transorbit.sweep import SweepResult

# Longer lists are cut; the Parquet files have all rows.
_ROWS, _WARNINGS, _FAILED = 1000, 12, 200
# Beyond so many bars or cells a drawing says less than the table.
_MOST_DRAWN = 120
_FIGURES = 6
_VALUES_SHOWN = 12

# A row of `SweepResult.means`.
_Row = dict[str, Any]


def page(result: SweepResult, *, between: str | None = None, against: str | None = None) -> str:
    """The report of a sweep; its differences are those between the values of an axis."""
    runs, failed = len(result.runs), len(result.failed)
    points = len(result.sweep.points)
    rows = result.means()
    versions = ", ".join(_told(result, "transorbit"))
    sweep_page = Page(
        result.title or "A sweep without a title",
        f"{_count(points, 'point')}, {_count(runs, 'run')}" + (f", {number(failed)} of them failed" if failed else ""),
        footer=f"Transorbit {versions}; definitions of all numbers: docs/definitions.md.",
    )
    sweep_page.warnings(list(_warnings(result)))
    sweep_page.section("Key numbers")
    sweep_page.tiles(list(_tiles(result, rows)))
    if result.axes:
        sweep_page.section("Axes")
        sweep_page.table(["Axis", "Column", "Values", ""], [_axis(axis) for axis in result.axes], sortable=False)
    _charts(sweep_page, result, rows)
    _means(sweep_page, result, rows)
    differences.add(sweep_page, result, between, against)
    _failed(sweep_page, result)
    sweep_page.section(
        "Metrics", note="Each is SQL over one run: aggregates over its flows, columns of the run as they are."
    )
    named = [[metric.label, metric.unit, name, metric.sql] for name, metric in result.metrics.items()]
    sweep_page.table(["Metric", "Unit", "Column", "SQL"], named, sortable=False)
    _scenario(sweep_page, result)
    sweep_page.section("Provenance")
    sweep_page.pairs(list(_provenance(result)))
    return sweep_page.html()


def _warnings(result: SweepResult) -> Iterator[str]:
    """Failed and missing runs, and the warnings of the others."""
    runs = len(result.runs)
    if lacking := result.incomplete:
        yield f"{lacking}; means are those of the others"
    yield from result.doubts
    if "partial" in result.runs.columns and (partial := int(result.runs["partial"].sum() or 0)):
        yield f"{_count(partial, 'run')} stopped before the end"
    if "warnings" not in result.runs.columns:
        return
    told = Counter(line for lines in result.runs["warnings"].drop_nulls().to_list() for line in set(lines))
    ranked = sorted(told.items(), key=lambda item: (-item[1], item[0]))
    for line, count in ranked[:_WARNINGS]:
        yield f"{line} (in {number(count)} of {_count(runs, 'run')})"
    if len(ranked) > _WARNINGS:
        yield f"and {number(len(ranked) - _WARNINGS)} other warnings: column warnings of the table of runs"


def _tiles(result: SweepResult, rows: list[_Row]) -> Iterator[Tile]:
    counts = sorted({good_runs(row) for row in rows})
    each = f"{counts[0]} to {counts[-1]} each" if len(counts) > 1 else f"{counts[0] if counts else 0} each"
    yield Tile("Points", number(len(result.sweep.points)), "", f"{_count(len(result.axes), 'axis', 'axes')}")
    failed = len(result.failed)
    yield Tile("Runs", number(len(result.runs) - failed), "", each)
    if failed:
        yield Tile("Failed", number(failed), "runs", kind="bad")
    took = float(result.runs["wall_s"].sum() or 0.0)
    yield Tile("Computing time", number(took, 3), "s", "of all runs together")
    for name, metric in list(result.metrics.items())[:4]:
        known = [row for row in rows if _mean(row, name) is not None]
        if not known:
            continue
        best = max(known, key=lambda row: row["metrics"][name]["mean"])
        least = min(row["metrics"][name]["mean"] for row in known)
        where = ", ".join(f"{axis.label} {axis.written(best[axis.name])}" for axis in result.axes)
        note = f"{where}; from {number(least, 4)}" if len(known) > 1 else ""
        yield Tile(f"{metric.label}, greatest mean", number(best["metrics"][name]["mean"], 4), metric.unit, note)


def _axis(axis: sweeps.Axis) -> list[object]:
    shown = [differences.level(value) for value in axis.values[:_VALUES_SHOWN]]
    more = [f"… {differences.level(axis.values[-1])}"] if len(axis.values) > _VALUES_SHOWN else []
    return [differences.title(axis), axis.name, ", ".join(shown + more), _count(len(axis.values), "value")]


def _charts(made: Page, result: SweepResult, rows: list[_Row]) -> None:
    """Metrics as curves over an axis with numbers; as bars or a map over others."""
    axes, tied = differences.independent(result)
    names = [name for name in result.metrics if any(_mean(row, name) is not None for row in rows)]
    numeric = [axis for axis in axes if differences.numeric(axis)]
    drawings = list(_drawings(result, axes, names))
    if not names or not (numeric or drawings):
        return
    made.section("Results", note="Means over the replications; the bars are their 95 % intervals (Student).")
    for axis, other in tied:
        made.text(f"{axis.label} goes with {other.label}: each of its values stands for one of these.", kind="muted")
    if numeric:
        made.explorer(_explorer(result, axes, names, rows))
    for drawing, caption, numbers in drawings:
        made.figure(drawing, caption, numbers=numbers)


def _explorer(result: SweepResult, axes: list[sweeps.Axis], names: list[str], rows: list[_Row]) -> Explorer:
    indices = [{value: index for index, value in enumerate(axis.values)} for axis in axes]
    points = []
    for row in rows:
        at = [index[row[axis.name]] for axis, index in zip(axes, indices, strict=True)]
        told = [row["metrics"].get(name, {}) for name in names]
        values = [None if one.get("mean") is None else _with_ends(one) for one in told]
        points.append((at, values))
    return Explorer(
        axes=[Axis(axis.name, differences.title(axis), _values(axis), differences.numeric(axis)) for axis in axes],
        measures=[Measure(name, result.metrics[name].title) for name in names],
        points=points,
    )


def _with_ends(metric: dict[str, Any]) -> tuple[float, float, float]:
    """Mean and interval; without one, as of a single run, the mean stands for its ends."""
    mean, low, high = metric["mean"], metric["low"], metric["high"]
    return mean, mean if low is None else low, mean if high is None else high


def _drawings(result: SweepResult, axes: list[sweeps.Axis], names: list[str]) -> Iterator[tuple[str, str, str]]:
    """Bars where no axis is a number, a map where two are."""
    numeric = [axis for axis in axes if differences.numeric(axis)]
    size = 1
    for axis in axes:
        size *= len(axis.values)
    if not axes or len(axes) > 3 or size > _MOST_DRAWN:
        return
    if not numeric:
        yield from (_drawing("bars", result, axes, name) for name in names[:_FIGURES])
    elif len(numeric) >= 2:
        ordered = [*numeric, *(axis for axis in axes if axis not in numeric)]
        yield from (_drawing("heatmap", result, ordered, name) for name in names[:_FIGURES])


def _drawing(kind: str, result: SweepResult, axes: list[sweeps.Axis], name: str) -> tuple[str, str, str]:
    import polars as pl

    from transorbit import plots

    columns: dict[str, Any] = dict(zip(("x", "by", "panels"), (axis.name for axis in axes), strict=False))
    labels = {axis.name: differences.title(axis) for axis in axes} | {name: result.metrics[name].title}
    frame = result.runs.filter(pl.col("status") == "ok")
    figure = plots.of_table(kind, frame, y=name, labels=labels, **columns)
    return text.svg(figure), result.metrics[name].title, text.numbers(figure)


def _means(made: Page, result: SweepResult, rows: list[_Row]) -> None:
    names = [name for name in result.metrics if any(name in row["metrics"] for row in rows)]
    made.section(
        "Means",
        note="Mean ± half of the 95 % interval of it (Student), or its limits; of a single run nothing is known.",
    )
    header = (
        [differences.title(axis) for axis in result.axes] + ["Runs"] + [result.metrics[name].title for name in names]
    )
    table: list[list[object]] = [
        [
            *(differences.level_cell(row[axis.name]) for axis in result.axes),
            good_runs(row),
            *(_interval(row, name) for name in names),
        ]
        for row in rows[:_ROWS]
    ]
    cut = f"The first {number(_ROWS)} of {_count(len(rows), 'point')}." if len(rows) > _ROWS else ""
    made.table(header, table, caption=cut)


def _interval(row: _Row, name: str) -> Cell | None:
    told = row["metrics"].get(name)
    if told is None or told["mean"] is None:
        return None
    mean = told["mean"]
    if told["count"] < 2:
        return Cell(number(mean, 4), sort=mean, note="one run")
    note = f"{number(told['low'], 5)} to {number(told['high'], 5)}, {_count(told['count'], 'run')}"
    return Cell(interval(mean, told["low"], told["high"]), sort=mean, note=note)


def _failed(made: Page, result: SweepResult) -> None:
    if result.failed.is_empty():
        return
    made.section("Failed runs", note="The same sweep, run again, tries them again.")
    axes = [axis.name for axis in result.axes]
    # Every replication of a point mostly fails for the same reason.
    told = result.failed.group_by("point", *axes, "error", maintain_order=True).agg("seed").rows(named=True)
    header = ["Point", *(differences.title(axis) for axis in result.axes), "Seeds", "Error"]
    rows: list[list[object]] = [
        [
            row["point"],
            *(differences.level_cell(row[name]) for name in axes),
            str(row["seed"][0]) if len(row["seed"]) == 1 else f"{len(row['seed'])} from {min(row['seed'])}",
            str(row["error"]),
        ]
        for row in told[:_FAILED]
    ]
    cut = f"The first {_FAILED} of {number(len(told))}." if len(told) > _FAILED else ""
    made.table(header, rows, caption=cut)


def _scenario(made: Page, result: SweepResult) -> None:
    made.section("Sweep and scenario")
    base = result.sweep.base.text
    # No folder of this machine; what the sweep reads is copied beside it.
    inputs = _inputs.FOLDER if result.sweep.inputs else ""
    told = result.sweep.to_toml(scenario=None if base is None else "scenario.toml", files=inputs)
    made.code(told, label="The sweep (TOML)", folded=True)
    if base is not None:
        made.code(base, label="Its scenario (TOML)", folded=True)
    files = "sweep.toml" if base is None else "sweep.toml and scenario.toml"
    files += f", beside its folder {inputs}" if inputs else ""
    own = plugins.options([tomllib.loads(told), tomllib.loads(base or "")])
    made.code(f"transorbit sweep sweep.toml{own}", label=f"Save this as {files}, and this runs it again:")


def _provenance(result: SweepResult) -> Iterator[tuple[str, object]]:
    """The provenance that all runs share, and the values in which they differ."""
    yield "Transorbit", ", ".join(_told(result, "transorbit"))
    yield "Build (SHA-256 of the core)", ", ".join(_told(result, "build"))
    if len(result.runs):
        seeds = sorted(result.runs["seed"].to_list())
        yield (
            "Seeds",
            f"{seeds[0]} to {seeds[-1]}: replication r of each point has 1000 times {result.sweep.seed}, plus r",
        )
        scenarios = result.runs["scenario_sha256"].drop_nulls().n_unique()
        yield "Scenarios", f"{number(scenarios)} different ones; their SHA-256 are in the table of runs"
        made = sorted(_told(result, "created"))
        yield "When", f"{made[0]} to {made[-1]}" if len(made) > 1 else "".join(made)
        yield "Hosts", ", ".join(_told(result, "host"))


def _mean(row: _Row, name: str) -> float | None:
    told: float | None = row["metrics"].get(name, {}).get("mean")
    return told


def _values(axis: sweeps.Axis) -> list[float | str]:
    """Numbers to draw over, or text to choose from."""
    numbers = [value for value in axis.values if differences.numeric(axis) and not isinstance(value, str)]
    return [*numbers] if numbers else [differences.level(value) for value in axis.values]


def _told(result: SweepResult, column: str) -> list[str]:
    """The different values of a column of text."""
    if column not in result.runs.columns:
        return []
    return [str(value) for value in result.runs[column].drop_nulls().unique(maintain_order=True)]


def _count(count: int, one: str, many: str = "") -> str:
    return counted(count, one, many, write=number)
