"""Averages of a run's series after its warm-up: one number for each flow and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError

if TYPE_CHECKING:
    import polars as pl

# The series in which the end of the warm-up is searched: that of most sweeps' metric.
_LOOKED_AT = "goodput_bps"


def averages(series: pl.DataFrame, warm_up: float | str) -> list[dict[str, Any]]:
    """Returns for each flow, in their order, `steady_from_s` and the mean of each column of the series from there on.

    Rates and counts of the series are those of the interval that ends at the instant; only intervals that begin at the
    end of the warm-up or later are averaged. With "auto" each flow's warm-up ends where MSER-5 says, from its goodput,
    and `too_short` says whether that is the last place where it looks: half the series.

    Raises:
        ScenarioError: the warm-up leaves nothing of the run.
    """
    return [_of_flow(own.drop("flow"), warm_up) for own in series.partition_by("flow", maintain_order=True)]


def _of_flow(series: pl.DataFrame, warm_up: float | str) -> dict[str, Any]:
    from transorbit import statistics

    extra: dict[str, Any] = {}
    times = series["time_s"].to_list()
    if isinstance(warm_up, str):
        # The first row is the state at the start, which no interval ends at.
        samples = series[_LOOKED_AT].to_numpy()[1:]
        cut = statistics.warm_up(samples)
        left_out = 1 + cut
        extra = {"too_short": statistics.too_short(len(samples), cut)}
    else:
        # A sum of intervals may end a rounding error below the number that was written.
        left_out = 1 + sum(1 for time in times if time < warm_up - 1e-9)
    rest = series.slice(left_out)
    if rest.is_empty():
        end = times[-1] if times else 0.0
        raise ScenarioError(f"warm_up: {warm_up} s leaves nothing of a run whose series ends at {end:g} s")
    means = rest.drop("time_s").mean().row(0, named=True)
    return {"from_s": times[left_out - 1], **extra, **means}
