"""Fits the model of Starlink's 15 s (`path.kind = "starlink"`) to measured round trips, and to rates."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import polars as pl

from transorbit import statistics
from transorbit._core import ScenarioError
from transorbit.trace.measurement import quantile

EPOCH_S = 15.0
# The median of an epoch with fewer answers says little.
_LEAST_ANSWERS = 20
# Losses so soon after the begin of an epoch belong to it: reallocation is not instantaneous, nor are clocks exact.
_NEAR_BEGIN_S = 6.0
# Tables are quantiles at even steps of a standard normal variable between these, so that tails are resolved.
_REACH = 4.0
_NORMAL = NormalDist()
_LEVELS, _DEVIATIONS, _OTHERS = 41, 101, 41


@dataclass(frozen=True)
class Fit:
    """Parameters of the model, with intervals.

    Attributes:
        parameters: as the file of a path of kind `starlink` has them.
        intervals: columns `parameter`, `value`, `low`, `high` (95 %, by resampling epochs) and `unit`.
        notes: what was found on the way, each as a sentence.
    """

    parameters: dict[str, Any]
    intervals: pl.DataFrame
    notes: list[str] = field(default_factory=list)

    def toml(self) -> str:
        """The parameters as the file that a scenario names."""
        import tomli_w

        return tomli_w.dumps(self.parameters)


def epochs(table: pl.DataFrame, first_s: float | None = None) -> tuple[pl.DataFrame, float]:
    """Answers with the epoch that they belong to, and the second of the minute (below 15) at which epochs begin.

    Args:
        table: `unix_time_s` or `time_s`, and `rtt_ms` (empty: lost).
        first_s: that second, where it is known; by default the one with which epochs are most even.
    """
    at = "unix_time_s" if "unix_time_s" in table.columns else "time_s"
    if at not in table.columns or "rtt_ms" not in table.columns:
        raise ScenarioError(
            f"columns unix_time_s (or time_s) and rtt_ms are needed, and there are {', '.join(table.columns)}"
        )
    rows = table.select(t=pl.col(at), rtt_ms=pl.col("rtt_ms"))
    if rows["t"].max() - rows["t"].min() < 4 * EPOCH_S:  # type: ignore[operator]
        raise ScenarioError("a minute or more is needed: epochs take 15 s")
    if first_s is not None and not 0 <= first_s < EPOCH_S:
        raise ScenarioError(f"first_s: {first_s:g} must be 0 or more and below {EPOCH_S:g}")
    if first_s is None:
        tried = [offset / 2 for offset in range(30)]
        first_s = min(tried, key=lambda offset: _spread_within(rows, offset))
    return rows.with_columns(epoch=((pl.col("t") - first_s) / EPOCH_S).floor().cast(pl.Int64)), first_s


def _spread_within(rows: pl.DataFrame, offset: float) -> float:
    """The mean interquartile range within epochs."""
    spreads = (
        rows.drop_nulls()
        .group_by(((pl.col("t") - offset) / EPOCH_S).floor())
        .agg(spread=pl.col("rtt_ms").quantile(0.75) - pl.col("rtt_ms").quantile(0.25), n=pl.len())
        .filter(pl.col("n") >= _LEAST_ANSWERS)
    )
    return float(spreads["spread"].mean() or math.inf)  # type: ignore[arg-type]


def levels(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns median, `level_ms`, and interquartile range / 1.349, `spread_ms`, of each epoch with enough answers."""
    return (
        rows.filter(pl.col("rtt_ms").is_not_null())
        .group_by("epoch")
        .agg(
            level_ms=pl.col("rtt_ms").median(),
            spread_ms=(pl.col("rtt_ms").quantile(0.75) - pl.col("rtt_ms").quantile(0.25)) / 1.349,
            n=pl.len(),
        )
        .filter(pl.col("n") >= _LEAST_ANSWERS)
        .sort("epoch")
        .drop("n")
    )


def deviations(rows: pl.DataFrame) -> pl.DataFrame:
    """Answers with their epoch's level and spread, and `deviation_ms` from the level."""
    joined = rows.join(levels(rows), on="epoch", how="inner", maintain_order="left")
    return joined.with_columns(deviation_ms=pl.col("rtt_ms") - pl.col("level_ms"))


def runs(rows: pl.DataFrame) -> pl.DataFrame:
    """Runs of lost probes: `t` (of the first), `length` and `lasts_s`.

    A program that waits for each answer sends late after a loss, so a run lasts as many ordinary intervals as it has
    probes.
    """
    interval = float(rows["t"].diff().median() or 0.0)  # type: ignore[arg-type]
    lost = rows.with_columns(lost=pl.col("rtt_ms").is_null(), run=pl.col("rtt_ms").is_null().rle_id())
    return (
        lost.filter(pl.col("lost"))
        .group_by("run")
        .agg(t=pl.col("t").min(), length=pl.len())
        .with_columns(lasts_s=pl.col("length") * interval)
        .drop("run")
        .sort("t")
    )


def fit(
    table: pl.DataFrame,
    *,
    rates: pl.DataFrame | None = None,
    first_s: float | None = None,
    single_losses: bool = False,
    resamples: int = 100,
    summary: str = "",
    source: str = "",
) -> Fit:
    """Fit the model to round trips.

    Args:
        table: `unix_time_s` or `time_s`, and `rtt_ms` (empty: lost), a probe each.
        rates: `time_s` or `unix_time_s`, as `table`, and `rate_down_mbps`, in short intervals; without it the model
            has no rate.
        first_s: the second of the minute (below 15) at which epochs begin; by default the one that fits best.
        single_losses: whether data are lost by themselves as often as single probes. Mostly not: a gateway that has
            much to do leaves probes without an answer, and data lost as often would leave TCP a tenth of its rate.
        resamples: for the intervals.
        summary: what is fitted, in a line.
        source: where the measurements are from, and their licence.

    Raises:
        ScenarioError: a column is missing, there is too little, or `rates` counts time from another beginning.
    """
    rows, first_s = epochs(table, first_s)
    parts = _parts(rows)
    if rates is not None and ("unix_time_s" in rates.columns) != ("unix_time_s" in table.columns):
        own, other = ("unix_time_s", "time_s") if "unix_time_s" in rates.columns else ("time_s", "unix_time_s")
        raise ScenarioError(f"rates: have {own} where the round trips have {other}: both must count from one beginning")
    values = {**_scalars(parts), **({} if rates is None else _rates(rates, first_s))}
    whole, bursts = parts["deviations"], parts["bursts"]
    parameters = {
        "summary": summary or "fitted by transorbit calibrate",
        "source": source or "not said",
        "epoch_s": EPOCH_S,
        "first_s": first_s,
        "least_ms": float(rows["rtt_ms"].min()),  # type: ignore[arg-type]
        "level_ms": _quantiles(parts["levels"]["level_ms"], _LEVELS),
        "level_correlation": values["level_correlation"],
        "deviation": _quantiles((whole["deviation_ms"] / whole["spread_ms"].clip(0.1)).drop_nulls(), _DEVIATIONS),
        "spread_ms": _quantiles(parts["levels"]["spread_ms"].clip(0.1), _OTHERS),
        "deviation_correlation_ms": values["deviation_correlation_ms"],
        "burst_at_epoch": values["burst_at_epoch"],
        "burst_after_s": values["burst_after_s"],
        "bursts_per_s": values["bursts_per_s"],
        "burst_ms": _quantiles(bursts["lasts_s"] * 1e3, _OTHERS, bursts["weight"]) if bursts.height > 1 else [0.0, 0.0],
        "loss": values["single_losses"] if single_losses else 0.0,
        "rate_mbps": values.get("rate_mbps", []),
        "rate_correlation": values.get("rate_correlation", 0.0),
    }
    epoch_count = parts["levels"].height
    lost = parts["rows"]["rtt_ms"].null_count()
    alone, near, others = (round(parts[name]["weight"].sum()) for name in ("alone", "of_epochs", "others"))
    notes = [
        f"{rows.height} probes in {epoch_count} epochs of 15 s, which begin at :{first_s:04.1f} and every 15 s "
        "after it",
        f"{lost} probes lost: about {alone} of them alone, the others in {near} bursts that come with epochs and "
        f"{others} at any time",
    ]
    return Fit(_rounded(parameters), _intervals(rows, _scalars(parts), resamples), notes)


def _parts(rows: pl.DataFrame) -> dict[str, Any]:
    epoch_levels = levels(rows)
    if epoch_levels.height < 4:
        raise ScenarioError(f"{epoch_levels.height} epochs with {_LEAST_ANSWERS} answers or more: 4 are needed")
    begin = rows.select((pl.col("t") - pl.col("epoch") * EPOCH_S).min()).item()
    lost = _weighed(runs(rows).with_columns(since=(pl.col("t") - begin) % EPOCH_S))
    of_epochs, others = lost.filter(pl.col("is_of_epoch")), lost.filter(~pl.col("is_of_epoch"))
    return {
        "rows": rows,
        "levels": epoch_levels,
        "deviations": deviations(rows.drop_nulls()),
        "of_epochs": of_epochs,
        "bursts": pl.concat([of_epochs, others.filter(pl.col("length") > 1)]),
        "alone": others.filter(pl.col("length") == 1),
        "others": others.filter(pl.col("length") > 1),
    }


def _weighed(lost: pl.DataFrame) -> pl.DataFrame:
    """Runs of losses with `is_of_epoch`, whether they come with epochs, and `weight`, how many each stands for.

    Losses that come at any time come soon after the begin of an epoch, too: of each length as many as in the rest of
    it. Where more are near than by chance, a near one stands for a burst of the epoch by the share of its length that
    is not chance, so that all together are as many as are not; one of the rest stands for those of all the time.
    """
    is_near = pl.col("since") < _NEAR_BEGIN_S
    rest = (EPOCH_S - _NEAR_BEGIN_S) / EPOCH_S
    near, far = lost.filter(is_near), lost.filter(~is_near)
    by_chance = far.height * (1 - rest) / rest
    # Twice the deviation of a count more is no chance.
    if near.height <= by_chance + 2 * math.sqrt(by_chance + 1):
        return lost.with_columns(is_of_epoch=False, weight=1.0)
    of_length = pl.len().over("length")
    far_of_length = (~is_near).sum().over("length")
    near_of_length = of_length - far_of_length
    share = (1 - far_of_length * (1 - rest) / rest / near_of_length).clip(0.0)
    # Lengths with fewer near ones than by chance have taken nothing off the others.
    scaled = share / pl.when(is_near).then(share).sum() * (near.height - by_chance)
    return lost.with_columns(is_of_epoch=is_near, weight=pl.when(is_near).then(scaled).otherwise(1 / rest))


def _scalars(parts: dict[str, Any]) -> dict[str, float]:
    """The parameters that are numbers, and the medians of those that are tables."""
    rows, found, near = parts["rows"], parts["levels"], parts["of_epochs"]
    seconds = found.height * EPOCH_S
    return {
        "level_median_ms": float(found["level_ms"].median()),
        "level_correlation": _correlation(found, "level_ms"),
        "spread_median_ms": float(found["spread_ms"].median()),
        "deviation_correlation_ms": _correlation_time(parts["deviations"]),
        "burst_at_epoch": min(near["weight"].sum() / max(found.height, 1), 1.0),
        "burst_after_s": _quantile(near["since"], near["weight"], 0.5),
        "bursts_per_s": parts["others"]["weight"].sum() / seconds,
        "single_losses": parts["alone"]["weight"].sum() / max(rows.height, 1),
    }


def _correlation(found: pl.DataFrame, column: str) -> float:
    """The normal correlation of a value with that of the epoch before, by that of their ranks (Pearson 1907)."""
    pairs = found.join(found.with_columns(epoch=pl.col("epoch") + 1), on="epoch", suffix="_before")
    if pairs.height < 8:
        return 0.0
    ranks = pairs.select(pl.corr(column, f"{column}_before", method="spearman")).item()
    return max(-0.99, min(0.99, 2 * math.sin(math.pi / 6 * ranks))) if ranks == ranks else 0.0


def _correlation_time(table: pl.DataFrame) -> float:
    """The time in ms over which the rank correlation of successive deviations would fall to 1/e."""
    pairs = table.with_columns(
        before=pl.col("deviation_ms").shift(1), gap=pl.col("t").diff(), same=pl.col("epoch").diff() == 0
    ).filter(pl.col("same") & (pl.col("gap") < 1.0))
    step = float(pairs["gap"].median() or 0.1) * 1e3  # type: ignore[arg-type]
    spearman = pairs.select(pl.corr("deviation_ms", "before", method="spearman")).item()
    correlation = 2 * math.sin(math.pi / 6 * spearman) if spearman == spearman else 0.0
    return (
        max(-step / math.log(correlation), 1.0) if 0.01 < correlation < 0.999 else (1.0 if correlation <= 0.01 else 1e4)
    )


def _rates(rates: pl.DataFrame, first_s: float) -> dict[str, Any]:
    """Returns for each epoch the rate that a tenth of its seconds exceed: traffic fills a link only at times.

    Shorter intervals than a second exceed the link's rate where what was delayed arrives together.
    """
    at = "unix_time_s" if "unix_time_s" in rates.columns else "time_s"
    if "rate_down_mbps" not in rates.columns:
        raise ScenarioError(f"rates: a column rate_down_mbps is needed, and there are {', '.join(rates.columns)}")
    epoch_rates = (
        rates.with_columns(since=pl.col(at) - first_s)
        .with_columns(epoch=(pl.col("since") / EPOCH_S).floor().cast(pl.Int64), second=pl.col("since").floor())
        .group_by("epoch", "second")
        .agg(rate=pl.col("rate_down_mbps").mean())
        .group_by("epoch")
        .agg(rate=pl.col("rate").quantile(0.9), n=pl.len())
        # Of the first and the last epoch there may be little, in which a download begins or ends.
        .filter(pl.col("n") >= 5, 2 * pl.col("n") >= pl.col("n").max())
        .sort("epoch")
    )
    if epoch_rates.height < 2:
        raise ScenarioError("rates: two epochs or more are needed")
    return {
        "rate_mbps": _quantiles(epoch_rates["rate"], _OTHERS),
        "rate_correlation": _correlation(epoch_rates, "rate"),
    }


def _quantiles(values: pl.Series, count: int, weights: pl.Series | None = None) -> list[float]:
    shares = [_NORMAL.cdf(_REACH * (2 * index / (count - 1) - 1)) for index in range(count)]
    if weights is not None:
        return [_quantile(values, weights, share) for share in shares]
    return [quantile(values, share) for share in shares]


def _quantile(values: pl.Series, weights: pl.Series, share: float) -> float:
    """A quantile of weighted values, linear between the middles of their weights; 0 without a value."""
    table = pl.DataFrame({"value": values, "weight": weights}).filter(pl.col("weight") > 0).sort("value")
    if table.height < 2:
        return float(table["value"].sum())
    middles = table["weight"].cum_sum() - table["weight"] / 2
    at = middles[0] + share * (middles[-1] - middles[0])
    above = min(max(int((middles < at).sum()), 1), table.height - 1)
    left, right = middles[above - 1], middles[above]
    low, high = table["value"][above - 1], table["value"][above]
    return float(low + (high - low) * (at - left) / (right - left))


def _rounded(parameters: dict[str, Any]) -> dict[str, Any]:
    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(each) for each in value]
        return float(f"{value:.5g}") if isinstance(value, float) else value

    return {name: short(value) for name, value in parameters.items()}


_PARAMETER_UNITS = {
    "level_median_ms": "ms",
    "spread_median_ms": "ms",
    "deviation_correlation_ms": "ms",
    "bursts_per_s": "1/s",
    "burst_after_s": "s",
}


def _intervals(rows: pl.DataFrame, values: dict[str, float], resamples: int) -> pl.DataFrame:
    """Percentiles over resampled stretches of a minute, so that neighbours stay neighbours."""
    blocks = rows.with_columns(block=pl.col("epoch") // 4).partition_by("block", maintain_order=True)
    resampled: dict[str, list[float]] = {name: [] for name in values}
    for chosen in statistics.resamples(len(blocks), resamples):
        drawn = pl.concat([_moved(blocks[index], 5 * number) for number, index in enumerate(chosen)])
        try:
            parts = _parts(drawn)
        except ScenarioError:
            continue
        for name, value in _scalars(parts).items():
            resampled[name].append(value)
    return pl.DataFrame(
        [
            (
                name,
                value,
                *(quantile(pl.Series(resampled[name]), share) for share in (0.025, 0.975)),
                _PARAMETER_UNITS.get(name, ""),
            )
            for name, value in values.items()
        ],
        schema=["parameter", "value", "low", "high", "unit"],
        orient="row",
    )


def _moved(block: pl.DataFrame, epoch: int) -> pl.DataFrame:
    """A stretch of four epochs that begins with another one."""
    by = epoch - 4 * pl.col("block")
    return block.with_columns(epoch=pl.col("epoch") + by, t=pl.col("t") + EPOCH_S * by)
