"""Intervals, differences and warm-up against published tables, exact results, and how often they are right."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from transorbit import plots, statistics
from transorbit.statistics import Interval

if TYPE_CHECKING:
    from collections.abc import Callable


def autoregressive(seed: int, count: int, *, memory: float, start: float = 0.0) -> list[float]:
    """A series around 0 in which each value keeps a share of the one before: x' = memory x + noise."""
    generator = random.Random(seed)
    series, value = [], start
    for _ in range(count):
        value = memory * value + generator.gauss(0.0, 1.0)
        series.append(value)
    return series


# The mean of independent values


@pytest.mark.parametrize(
    ("count", "confidence", "quantile"),
    # Law 2015, table T.1 (critical points of the t distribution).
    [(2, 0.95, 12.706), (5, 0.90, 2.132), (5, 0.95, 2.776), (10, 0.95, 2.262), (30, 0.99, 2.756), (61, 0.95, 2.000)],
)
def test_the_interval_is_students(count: int, confidence: float, quantile: float) -> None:
    values = [float(n) for n in range(count)]
    deviation = math.sqrt(sum((value - (count - 1) / 2) ** 2 for value in values) / (count - 1))

    found = statistics.mean_interval(values, confidence=confidence)

    assert found.count == count
    assert found.mean == pytest.approx((count - 1) / 2)
    assert found.half_width / (deviation / math.sqrt(count)) == pytest.approx(quantile, abs=6e-4)


def test_an_example_of_the_textbook() -> None:
    # Law 2015, example 4.26: ten observations, 90 percent: 1.34 and 0.24.
    values = [1.20, 1.50, 1.68, 1.89, 0.95, 1.49, 1.58, 1.55, 0.50, 1.09]

    found = statistics.mean_interval(values, confidence=0.90)

    assert found.mean == pytest.approx(1.34, abs=5e-3)
    assert found.half_width == pytest.approx(0.24, abs=5e-3)


def test_few_values_and_equal_ones() -> None:
    assert statistics.mean_interval([0.1]) == Interval(0.1, 0.1, 0.1, 1)
    assert statistics.mean_interval([0.1, 0.1, 0.1]) == Interval(0.1, 0.1, 0.1, 3)
    none = statistics.mean_interval([])
    assert none.count == 0
    assert math.isnan(none.mean)


def test_a_missing_value_shows() -> None:
    assert math.isnan(statistics.mean_interval(pl.Series([1.0, None, 2.0])).mean)


def test_a_missing_value_shows_in_every_statistic() -> None:
    assert math.isnan(statistics.kolmogorov_smirnov([math.nan, 1], [1]))
    assert math.isnan(statistics.kolmogorov_smirnov([1, 2], [1, math.nan]))
    assert math.isnan(statistics.batch_means([math.nan] * 40).mean)
    with pytest.raises(ValueError, match=r"^series: sample 7 is missing, a number is expected"):
        statistics.warm_up([1.0] * 7 + [math.nan] * 43)


@pytest.mark.parametrize("confidence", [95, 1, 0, -0.5, math.nan, "0.95"])
def test_a_confidence_is_a_share(confidence: Any) -> None:
    table = pl.DataFrame({"seed": [1, 1], "policy": ["a", "b"], "x": [1.0, 2.0]})
    asks: list[Callable[[], object]] = [
        lambda: statistics.mean_interval([1, 2], confidence=confidence),
        lambda: statistics.mean_interval([1], confidence=confidence),
        lambda: statistics.paired_difference([1, 2], [2, 1], confidence=confidence),
        lambda: statistics.batch_means(range(40), confidence=confidence),
        lambda: statistics.proportion(1, 2, confidence=confidence),
        lambda: statistics.compare(table, metric="x", between="policy", confidence=confidence),
        lambda: plots.of_table("lines", table, y="x", x="seed", confidence=confidence),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match=r"^confidence: .* was given, a .* is expected"):
            ask()


def test_no_order_of_the_values_changes_a_bit() -> None:
    generator = random.Random(1)
    values = [10 ** generator.uniform(-6, 6) for _ in range(100)]
    shuffled = generator.sample(values, len(values))

    assert statistics.mean_interval(values) == statistics.mean_interval(shuffled)


# Differences


def test_pairs_tell_what_separate_means_do_not() -> None:
    """Two systems that the same chance moves much and that differ little."""
    generator = random.Random(2)
    chance = [generator.gauss(10.0, 3.0) for _ in range(12)]
    a = [value + 0.5 + generator.gauss(0.0, 0.1) for value in chance]

    together = statistics.paired_difference(a, chance)
    apart = statistics.mean_interval(a).half_width + statistics.mean_interval(chance).half_width

    assert together.low < 0.5 < together.high
    assert together.low > 0
    assert together.half_width < apart / 10


def test_pairs_need_two_equal_sides() -> None:
    with pytest.raises(ValueError, match="not 2 and 1"):
        statistics.paired_difference([1.0, 2.0], [1.0])


def runs(number: int = 0, *, pf: float = 2.0) -> pl.DataFrame:
    """Three policies at two levels of noise, each with the same five seeds; one gains something."""
    generator = random.Random(number)
    chance = {(snr, seed): generator.gauss(10.0, 3.0) for snr in (7, 13) for seed in range(5)}
    gain = {"dt": 0.0, "pf": pf, "codes": 0.0}
    return pl.DataFrame(
        [
            {"seed": seed, "snr": snr, "policy": policy, "goodput": luck + gain[policy] + generator.gauss(0.0, 0.2)}
            for policy in gain
            for (snr, seed), luck in chance.items()
        ]
    )


def test_levels_are_compared_pair_by_pair() -> None:
    found = statistics.compare(runs(), metric="goodput", between="policy", within=["snr"])

    assert found.columns[:3] == ["snr", "policy", "baseline"]
    assert found.select("snr", "policy").rows() == [(7, "pf"), (13, "pf"), (7, "codes"), (13, "codes")]
    assert found["baseline"].unique().to_list() == ["dt"]
    assert found["count"].to_list() == [5] * 4
    assert found["differs"].to_list() == [True, True, False, False]
    of_pf = found.row(0, named=True)
    assert of_pf["low"] < 2.0 < of_pf["high"]
    assert of_pf["percent"] == pytest.approx(100 * of_pf["difference"] / of_pf["baseline_mean"])


def test_several_comparisons_share_the_confidence() -> None:
    """Bonferroni: four intervals at 95 percent together are four at 98.75 percent each."""
    table = runs()
    found = statistics.compare(table, metric="goodput", between="policy", within=["snr"]).row(0, named=True)
    pick = {name: table.filter(pl.col("policy") == name, pl.col("snr") == 7)["goodput"] for name in ("pf", "dt")}

    alone = statistics.paired_difference(pick["pf"], pick["dt"], confidence=1 - 0.05 / 4)

    assert (found["low"], found["high"]) == (alone.low, alone.high)


def test_few_studies_find_a_difference_where_there_is_none() -> None:
    tables = [runs(number, pf=0.0) for number in range(300)]
    wrong = [
        table for table in tables
        if statistics.compare(table, metric="goodput", between="policy", within=["snr"])["differs"].any()
    ]  # fmt: skip

    # At most one in twenty, within three standard deviations.
    assert 1 <= len(wrong) <= 15 + 3 * 3.8


def test_runs_without_a_partner_are_left_out_and_repeated_ones_refused() -> None:
    table = runs()
    holed = table.filter(~((pl.col("policy") == "dt") & (pl.col("seed") == 0)))
    assert statistics.compare(holed, metric="goodput", between="policy", within=["snr"])["count"].to_list() == [4] * 4
    with pytest.raises(ValueError, match="name more axes in within"):
        statistics.compare(table, metric="goodput", between="policy")
    with pytest.raises(ValueError, match=r"^metric: there is no column 'zz'$"):
        statistics.compare(table, metric="zz", between="policy")
    with pytest.raises(ValueError, match="no level 'fifo'"):
        statistics.compare(table, metric="goodput", between="policy", within=["snr"], baseline="fifo")


def test_a_missing_value_is_no_difference() -> None:
    holed = runs().with_columns(
        goodput=pl.when((pl.col("policy") == "pf") & (pl.col("seed") == 0)).then(math.nan).otherwise("goodput")
    )

    found = statistics.compare(holed, metric="goodput", between="policy", within=["snr"]).filter(policy="pf")

    assert found["difference"].is_nan().all()
    assert found["differs"].to_list() == [False, False]


# Time averages


def test_batch_means_are_right_as_often_as_they_say() -> None:
    """AR(1) with memory 0.9: the mean is 0, and the samples are far from independent."""
    series = [autoregressive(seed, 4000, memory=0.9) for seed in range(400)]

    batches = sum(found.low <= 0 <= found.high for found in map(statistics.batch_means, series))
    samples = sum(found.low <= 0 <= found.high for found in map(statistics.mean_interval, series))

    # 95 percent of 400 are 380, with a standard deviation of 4.4. Intervals of the samples as if they were independent
    # are shorter by the square root of (1 + 0.9) / (1 - 0.9) and right in 35 percent.
    assert 380 - 3 * 4.4 <= batches <= 380 + 3 * 4.4
    assert abs(samples - 0.347 * 400) < 3 * 9.5


def test_short_batches_are_told_by_their_correlation() -> None:
    short = [statistics.batch_means(autoregressive(seed, 200, memory=0.9), batches=40) for seed in range(200)]
    long = [statistics.batch_means(autoregressive(seed, 8000, memory=0.9), batches=20) for seed in range(200)]

    assert sum(found.correlated for found in short) > 160
    # Of independent batches one in twenty would be called correlated.
    assert sum(found.correlated for found in long) < 30


def test_batches_are_equal_and_the_beginning_makes_room() -> None:
    found = statistics.batch_means([99.0, 99.0, 1.0, 1.0, 3.0, 3.0], batches=2, warm_up=1)

    assert (found.mean, found.count, found.size) == (2.0, 2, 2)
    with pytest.raises(ValueError, match="20 batches"):
        statistics.batch_means([1.0] * 19)
    with pytest.raises(ValueError, match=r"^warm_up: -50 was given, a whole number from 0 on"):
        statistics.batch_means(range(100), warm_up=-50, batches=10)
    with pytest.raises(ValueError, match="two batches"):
        statistics.batch_means([1.0] * 19, batches=1)


# Warm-up


def test_the_end_of_a_step_is_found() -> None:
    assert statistics.warm_up([10.0] * 40 + [3.0] * 160) == 40
    # The batch of five that is partly transient goes too.
    assert statistics.warm_up([10.0] * 42 + [3.0] * 160) == 45


def test_what_is_steady_from_the_start_keeps_everything() -> None:
    assert statistics.warm_up([3.0] * 200) == 0
    assert statistics.warm_up([1.0, 2.0]) == 0


def test_a_transient_that_decays_is_cut_where_the_noise_hides_it() -> None:
    """A start of 50 standard deviations with memory 0.98 has decayed to one of them after 194 samples."""
    cuts = [
        statistics.warm_up(autoregressive(seed, 4000, memory=0.98, start=50 / math.sqrt(1 - 0.98**2)))
        for seed in range(40)
    ]

    assert 150 <= sorted(cuts)[20] <= 250
    biased = [statistics.mean_interval(autoregressive(seed, 4000, memory=0.98, start=251.0)).mean for seed in range(40)]
    cleaned = [
        statistics.mean_interval(autoregressive(seed, 4000, memory=0.98, start=251.0)[cut:]).mean
        for seed, cut in enumerate(cuts)
    ]
    assert abs(sum(cleaned)) / 40 < abs(sum(biased)) / 40 / 5


def test_a_series_that_is_all_transient_is_cut_at_half() -> None:
    assert statistics.warm_up([float(n) for n in range(1000)]) == 500


# Shares


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe 1998, doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_of_a_share_is_wilsons(successes: int, trials: int, low: float, high: float) -> None:
    found = statistics.proportion(successes, trials)

    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    opposite = statistics.proportion(trials - successes, trials)
    assert (opposite.low, opposite.high) == (pytest.approx(1 - high, abs=5e-5), pytest.approx(1 - low, abs=5e-5))


def test_shares_without_trials_or_sense() -> None:
    assert statistics.proportion(0, 0).low == 0
    assert statistics.proportion(0, 0).high == 1
    with pytest.raises(ValueError, match="3 successes in 2"):
        statistics.proportion(3, 2)
