"""Statistics of a few runs or a long one: means with intervals, differences, and the end of a transient.

Values are sequences or arrays of numbers in any unit; results are in the same. A NaN or None among them makes the
result NaN, so a missing value shows; `warm_up`, which counts, refuses it. An interval holds the true mean in
`confidence` of all repetitions of the study: a share between 0 and 1, others are a ValueError.

Law, A. M. (2015). Simulation Modeling and Analysis, 5th ed., McGraw-Hill: sections 4.5, 9.4, 9.5, 10.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from transorbit._names import hint
from transorbit._values import listed, number, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# Samples that MSER-5 averages before it looks.
_MSER_BATCH = 5
# The probability that independent batches are called correlated.
_CORRELATION_LEVEL = 0.05


@dataclass(frozen=True)
class Interval:
    """A mean and the limits between which it lies; `count` values are behind it.

    With one value nothing is known of its spread: the limits are the value, which does not mean that it is exact.
    """

    mean: float
    low: float
    high: float
    count: int

    @property
    def half_width(self) -> float:
        """Half the distance of the limits."""
        return (self.high - self.low) / 2

    @property
    def ends(self) -> tuple[float, float] | tuple[None, None]:
        """The limits where something is known of them: None of less than two values."""
        return (self.low, self.high) if self.count > 1 else (None, None)


@dataclass(frozen=True)
class BatchMeans(Interval):
    """The interval of a time average; `count` is the number of batches.

    Attributes:
        size: samples in each batch.
        correlation: of neighbouring batches, -1 to 1. Above 0 the true interval is wider than this one.
        correlated: whether it is too much for chance (one-sided, 5 %): the batches are too short to trust the interval.
    """

    size: int
    correlation: float
    correlated: bool


def mean_interval(
    values: ArrayLike, *, confidence: float = 0.95, limits: tuple[float | None, float | None] = (None, None)
) -> Interval:
    """The mean of independent values, such as one of each replication, with Student's interval.

    Without values the mean is NaN and the count 0. An interval ends with the scale of the values, whose ends are
    `limits`: what is known of them beforehand, as 1 and 4.5 of a mean opinion score.
    """
    interval = _student(_floats(values).tolist(), confidence)
    least, most = limits
    low = interval.low if least is None else max(interval.low, min(least, interval.mean))
    high = interval.high if most is None else min(interval.high, max(most, interval.mean))
    return Interval(interval.mean, low, high, interval.count)


def paired_difference(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """The mean of `a - b`, pair by pair, with Student's interval.

    With common random numbers (pair r is two systems with the same seed) what chance does to both cancels, and the
    interval is narrower than that of two separate means.

    Raises:
        ValueError: the two are not equally long.
    """
    import numpy as np

    first, second = _floats(a), _floats(b)
    if len(first) != len(second):
        raise ValueError(f"pairs need as many values on both sides, not {len(first)} and {len(second)}")
    with np.errstate(invalid="ignore"):  # the difference of two infinities is not known
        return _student((first - second).tolist(), confidence)


def batch_means(series: ArrayLike, *, warm_up: int = 0, batches: int = 20, confidence: float = 0.95) -> BatchMeans:
    """The time average of one run's equally spaced samples, with an interval that allows for their correlation.

    Averages over long batches are nearly independent, which the samples are not. What does not fill a batch is left
    out at the beginning, where a rest of the transient would be.

    Args:
        series: samples, in the order of time.
        warm_up: samples to leave out before; see `warm_up`.
        batches: 10 to 30 serve best (Schmeiser 1982, doi:10.1287/opre.30.3.556).

    Raises:
        ValueError: fewer than two batches, fewer samples than batches, or a warm-up below 0.
    """
    samples = _floats(series)[whole("warm_up", warm_up, 0) :]
    if batches < 2:
        raise ValueError(f"an interval needs two batches or more, not {batches}")
    if len(samples) < batches:
        raise ValueError(f"{batches} batches need as many samples after the warm-up, which leaves {len(samples)}")
    size = len(samples) // batches
    means = samples[len(samples) - size * batches :].reshape(batches, size).mean(axis=1).tolist()
    interval = _student(means, confidence)
    correlation = _neighbours_correlation(means, interval.mean)
    # That of independent normal batches is nearly normal with this deviation, also of few batches (von Neumann 1941).
    deviation = math.sqrt((batches - 2) / (batches**2 - 1))
    return BatchMeans(
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        count=batches,
        size=size,
        correlation=correlation,
        correlated=correlation > _normal_quantile(1 - _CORRELATION_LEVEL) * deviation > 0,
    )


def warm_up(series: ArrayLike) -> int:
    """The samples to leave out so that the rest tells the mean best: MSER-5.

    The cut that minimizes the standard error of what remains, over averages of five samples (White 1997,
    doi:10.1177/003754979706900601; White, Cobb, Spratt, Winter Simulation Conference 2000, pp. 755-760). It is looked
    for in the first half: an answer of about half the series says that the series is too short.

    Raises:
        ValueError: a value is missing.
    """
    import numpy as np

    samples = _floats(series)
    if np.isnan(samples).any():
        raise ValueError(f"series: sample {int(np.isnan(samples).argmax())} is missing, a number is expected")
    count = len(samples) // _MSER_BATCH
    if count < 2:
        return 0
    means = samples[: count * _MSER_BATCH].reshape(count, _MSER_BATCH).mean(axis=1)
    # Around the last value, so that a constant tail has exactly no variance.
    means = means - means[-1]
    left = np.arange(count, 0, -1)
    total, squares = (np.cumsum(x[::-1])[::-1] for x in (means, means**2))
    error = np.maximum(squares - total**2 / left, 0) / left**2
    return _MSER_BATCH * int(np.argmin(error[: count // 2 + 1]))


def too_short(samples: int, cut: int) -> bool:
    """Whether `warm_up` cut so many samples at the last place where it looks: they have hardly settled."""
    return cut > 0 and cut == _MSER_BATCH * (samples // _MSER_BATCH // 2)


def proportion(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """The share of trials that succeeded, with Wilson's interval, which also serves for none and for all.

    Wilson (1927), doi:10.1080/01621459.1927.10502953. Without trials the share is NaN and lies anywhere in 0 to 1.

    Raises:
        ValueError: more successes than trials, or fewer than none.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    confidence = _checked(confidence)
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    z, share = _normal_quantile((1 + confidence) / 2), successes / trials
    middle = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    # At the ends the limit is exact, and rounding must not leave 0 to 1.
    low = 0.0 if successes == 0 else max(middle - half, 0.0)
    high = 1.0 if successes == trials else min(middle + half, 1.0)
    return Interval(share, low, high, trials)


def resamples(count: int, times: int, *, seed: int = 1) -> list[list[int]]:
    """For the bootstrap: `times` draws of `count` indices with replacement, the same ones for the same seed.

    Efron (1979), doi:10.1214/aos/1176344552.
    """
    import numpy as np

    drawn = np.random.default_rng(seed).integers(0, count, size=(times, count))
    return [[int(index) for index in row] for row in drawn]


def kolmogorov_smirnov(a: ArrayLike, b: ArrayLike) -> float:
    """The largest distance between the distribution functions of two samples, 0 to 1 (Smirnov 1939).

    Raises:
        ValueError: a sample is empty.
    """
    import numpy as np

    first, second = np.sort(_floats(a)), np.sort(_floats(b))
    if not len(first) or not len(second):
        raise ValueError("a sample is empty")
    # NaN are sorted to the end.
    if np.isnan(first[-1]) or np.isnan(second[-1]):
        return math.nan
    at = np.concatenate([first, second])
    below = [np.searchsorted(each, at, side="right") / len(each) for each in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def compare(
    frame: pl.DataFrame,
    *,
    metric: str,
    between: str,
    baseline: Any = None,
    every_pair: bool = False,
    within: Sequence[str] = (),
    pair: str = "seed",
    confidence: float = 0.95,
) -> pl.DataFrame:
    """How the levels of an axis differ from one of them, or all from each other, pair by pair on common random numbers.

    Args:
        frame: one row for each run, such as `SweepResult.runs`.
        metric: the column that is compared.
        between: the column whose levels are compared.
        baseline: the level that the others are held against; by default the first.
        every_pair: each level is held against every one before it, and `baseline` is not asked for.
        within: columns of other axes: compared separately in each of their combinations.
        pair: the column that tells which runs belong together. Runs without a partner are left out.
        confidence: of all intervals together (Bonferroni): each of n is one of 1 - (1 - confidence) / n.

    Returns:
        One row for each combination and level but the baseline: the columns of `within`, `between`, `baseline`,
        `baseline_mean`, `difference` (level minus baseline, in the metric's unit), `low`, `high`, `percent` (the
        difference, of the baseline's mean), `count` of pairs, `differs` (whether the interval leaves out 0).

    Raises:
        ValueError: no such column or level, or a run twice in the same pair and level.
    """
    import polars as pl

    within = listed("within", within)
    for option, columns in {"metric": [metric], "between": [between], "within": within, "pair": [pair]}.items():
        for column in columns:
            if column not in frame.columns:
                raise ValueError(f"{option}: there is no column {column!r}{hint(str(column), frame.columns)}")
    complete_rows = frame.drop_nulls([metric, between, pair])
    levels = complete_rows[between].unique(maintain_order=True).to_list()
    baseline = levels[0] if baseline is None and levels else baseline
    if baseline not in levels:
        raise ValueError(f"{between}: no level {baseline!r}, but {', '.join(map(repr, levels))}")
    keys = [*within, pair]
    if complete_rows.select(*keys, between).is_duplicated().any():
        raise ValueError(
            f"{metric}: several rows with the same {', '.join([*keys, between])}; name more axes in within"
        )
    value = pl.col(metric).cast(pl.Float64)
    comparisons = []
    for index, first in enumerate(levels[:-1] if every_pair else [baseline]):
        base = complete_rows.filter(pl.col(between) == first).select(*keys, value.alias("_base"))
        held = levels[index + 1 :] if every_pair else [level for level in levels if level != first]
        others = complete_rows.filter(pl.col(between).is_in(held)).select(*keys, between, value.alias("_value"))
        pairs = others.join(base, on=keys, how="inner", nulls_equal=True, maintain_order="left")
        groups = pairs.partition_by(*within, between, maintain_order=True, as_dict=True)
        comparisons += [
            (dict(zip([*within, between], key, strict=True)), first, group) for key, group in groups.items()
        ]
    each = 1 - (1 - _checked(confidence)) / max(len(comparisons), 1)
    rows = [where | {"baseline": first} | _difference(group, each) for where, first, group in comparisons]
    schema = {name: frame.schema[name] for name in [*within, between]} | {"baseline": frame.schema[between]}
    numbers = dict.fromkeys(["baseline_mean", "difference", "low", "high", "percent"], pl.Float64())
    return pl.DataFrame(rows, schema=schema | numbers | {"count": pl.Int64(), "differs": pl.Boolean()})


def _difference(pairs: pl.DataFrame, confidence: float) -> dict[str, Any]:
    difference = paired_difference(pairs["_value"], pairs["_base"], confidence=confidence)
    base = _mean(pairs["_base"].to_list())
    return {
        "baseline_mean": base,
        "difference": difference.mean,
        "low": difference.low,
        "high": difference.high,
        "percent": 100 * difference.mean / abs(base) if base else None,
        "count": difference.count,
        # One pair has no interval, and proves nothing; nor does a value that is missing.
        "differs": difference.count > 1 and (difference.low > 0 or difference.high < 0),
    }


def _student(values: list[float], confidence: float) -> Interval:
    confidence = _checked(confidence)
    count = len(values)
    mean = _mean(values)
    if count < 2:
        return Interval(mean, mean, mean, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = _student_quantile((1 + confidence) / 2, count - 1) * math.sqrt(variance / count)
    return Interval(mean, mean - half, mean + half, count)


def _checked(confidence: float) -> float:
    """Returns the confidence.

    Raises:
        ValueError: it is no share between 0 and 1.
    """
    level = number("confidence", confidence)
    if not 0 < level < 1:
        raise ValueError(f"confidence: {confidence!r} was given, a share between 0 and 1 is expected, as 0.95")
    return level


def _mean(values: list[float]) -> float:
    # An exact sum around the least: the mean of equal values is that value, and no order of the runs changes a bit.
    least = min(values, default=math.nan)
    return least + math.fsum(value - least for value in values) / max(len(values), 1)


def _neighbours_correlation(values: list[float], mean: float) -> float:
    """One less half of von Neumann's ratio: the correlation with lag 1, corrected for the ends; 0 of constants."""
    around = math.fsum((value - mean) ** 2 for value in values)
    steps = math.fsum((after - before) ** 2 for before, after in pairwise(values))
    return 1 - steps / (2 * around) if around else 0.0


def _student_quantile(share: float, degrees: int) -> float:
    # `scipy.stats` has the same and takes seconds to import.
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(degrees, share))


def _normal_quantile(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))


def _floats(values: ArrayLike) -> Floats:
    import numpy as np

    return np.asarray(values, dtype=np.float64).ravel()
