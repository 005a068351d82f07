"""Where a column of the series jumps, as the delay of a path does to another route or satellite."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: More than a satellite's motion makes of a delay in a second: twice its speed, over ground and link.
DRIFT_S_PER_S = 1e-4
#: A delay that jumps at more than this share of its samples jitters.
JITTERS = 0.1


def jumps(series: pl.DataFrame, column: str, per_s: float) -> list[float]:
    """Returns the instants at which a column changed by more than it drifts since the instant before."""
    import polars as pl

    step = series.select("time_s", by=pl.col(column).diff().abs(), after=pl.col("time_s").diff())
    return step.filter(pl.col("by") > per_s * pl.col("after") + per_s / 10)["time_s"].to_list()


def unjoined(series: pl.DataFrame, column: str, values: pl.Series) -> pl.Series:
    """The values without those at which the delay of `column` jumps, so that no line joins them; all if it jitters."""
    import polars as pl

    times = jumps(series, column, DRIFT_S_PER_S)
    if len(times) > JITTERS * len(series):
        return values
    return values.set(series["time_s"].is_in(pl.Series(times, dtype=pl.Float64)), None)
