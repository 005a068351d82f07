"""A run's averages over time, with intervals that one run can give: batch means after the warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transorbit import statistics
from transorbit._flow_kinds import named
from transorbit._numbers import on_page as number
from transorbit.report import series as over_time
from transorbit.report.page import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from transorbit.report.page import Page
    from transorbit.report.series import Quantity
    from transorbit.result import Result

# Fewer samples make batches in which nothing averages out.
_LEAST = 100
_HEADER = ("Average of", "Mean", "± (95 %)", "From (s)", "Batches of (s)", "The interval")
_CAPTION = (
    "One long run tells its own spread: 20 batches of its time, and Student's interval of their means. What MSER-5 "
    "takes for the warm-up is left out. Where neighbouring batches are alike, or the run has not settled in its first "
    "half, the true interval is wider: run longer, or with more seeds."
)


def add(page: Page, result: Result) -> None:
    """Add the table of what the run has enough samples of."""
    table = [[Cell(name), *_row(*samples)] for name, samples in _quantities(result)]
    if table:
        page.table(_HEADER, table, sortable=False, caption=_CAPTION)


def _quantities(result: Result) -> Iterator[tuple[str, tuple[pl.Series, pl.Series]]]:
    """Yields each quantity that is averaged, with its instants and its samples."""
    import polars as pl

    series = result.series
    if series.is_empty():
        return
    flows = result.summary["flows"]
    own = [(named(flow), series.filter(pl.col("flow") == flow["id"])) for flow in flows]
    each: Sequence[Quantity] = over_time.OF_FLOWS
    if len(flows) > over_time.EACH:
        each = each[:1]
        own = [("all flows", series.group_by("time_s", maintain_order=True).agg(pl.col(each[0].column).sum()))]
    for quantity in each:
        for name, table in own:
            yield from _known(quantity, table, f", {name}")
    # The path follows the satellites: its variation is not random.
    one = series.filter(pl.col("flow") == series["flow"].min())
    for quantity in over_time.OF_LINK:
        yield from _known(quantity, one, "")


def _known(quantity: Quantity, table: pl.DataFrame, suffix: str) -> Iterator[tuple[str, tuple[pl.Series, pl.Series]]]:
    """The quantity, if it is one to average, varies, and is sampled without a gap from some instant on."""
    # The first row is the state at the start, which no interval ends at.
    samples = table.select("time_s", quantity.column).slice(1).drop_nulls()
    gapless = samples["time_s"].equals(table["time_s"].tail(len(samples)))
    if not quantity.summed and gapless and len(samples) >= _LEAST and samples[quantity.column].n_unique() > 1:
        yield (
            f"{quantity.title}{suffix} ({quantity.unit})",
            (samples["time_s"], samples[quantity.column] * quantity.scale),
        )


def _row(times: pl.Series, samples: pl.Series) -> tuple[object, ...]:
    start = statistics.warm_up(samples)
    batches = statistics.batch_means(samples, warm_up=start)
    interval_s = (times[-1] - times[0]) / (len(times) - 1)
    unsettled = statistics.too_short(len(samples), start)
    trust = "not settled" if unsettled else "too narrow: batches alike" if batches.correlated else "sound"
    return (
        batches.mean,
        Cell(number(batches.half_width, 2), sort=batches.half_width),
        round(times[start] - interval_s, 6),
        round(batches.size * interval_s, 6),
        Cell(trust, kind="" if trust == "sound" else "weak"),
    )
