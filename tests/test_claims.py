"""Claims: statistics of seeds, their intervals and verdicts, and conditions that must not be mixed."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from transorbit.reproduce import claims, figures, items
from transorbit.reproduce.database import Tables
from transorbit.reproduce.items import Claim
from transorbit.reproduce.tolerance import Predicate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Student's t, 97.5 %, for 1, 2 and 3 degrees of freedom (any table).
T1, T2, T3 = 12.7062, 4.30265, 3.18245
# The same for two groups: 98.75 %, 2 degrees of freedom.
T2_OF_TWO = 6.20535

MINUS = "\N{MINUS SIGN}"
ABOVE_ZERO = Predicate(0.0, None)


def tables(values: Sequence[float | None], **columns: list[Any]) -> Tables:
    """One point with a run for each value; seeds are 1000, 1001 and so on."""
    seeds = [1000 + index for index in range(len(values))]
    return Tables(pl.DataFrame({"point": 0, "seed": seeds, "x": values, **columns}))


def claim(statistic: str, predicate: Predicate = ABOVE_ZERO, **options: Any) -> Claim:
    return Claim(name="c", kind="direction", says="It is so", statistic=statistic, predicate=predicate, **options)


# ---- predicates and verdicts


@pytest.mark.parametrize(
    ("predicate", "inside", "outside"),
    [
        (Predicate(2.0, None), [2.1, 1e9], [2.0, 1.9]),
        (Predicate(None, 2.0), [1.9, -1e9], [2.0, 2.1]),
        (Predicate(1.0, 2.0, closed=True), [1.0, 1.5, 2.0], [0.9, 2.1]),
    ],
)
def test_a_predicate_excludes_a_single_bound_and_includes_two(
    predicate: Predicate, inside: list[float], outside: list[float]
) -> None:
    assert all(predicate.holds(value) for value in inside)
    assert not any(predicate.holds(value) for value in outside)


@pytest.mark.parametrize(
    ("values", "predicate", "verdict"),
    [
        # Mean 10, interval 10 ± 2.48.
        ([9.0, 10.0, 11.0], Predicate(7.5, None), "holds"),
        ([9.0, 10.0, 11.0], Predicate(7.6, None), "holds weakly"),
        ([9.0, 10.0, 11.0], Predicate(10.1, None), "does not hold"),
        ([9.0, 10.0, 11.0], Predicate(None, 12.5), "holds"),
        ([9.0, 10.0, 11.0], Predicate(None, 12.4), "holds weakly"),
        ([9.0, 10.0, 11.0], Predicate(None, 9.9), "does not hold"),
        ([9.0, 10.0, 11.0], Predicate(7.0, 13.0, closed=True), "holds"),
        ([9.0, 10.0, 11.0], Predicate(8.0, 13.0, closed=True), "holds weakly"),
        ([9.0, 10.0, 11.0], Predicate(7.0, 12.0, closed=True), "holds weakly"),
        ([9.0, 10.0, 11.0], Predicate(10.5, 13.0, closed=True), "does not hold"),
        # Of one seed nothing is known but the estimate; of two without a spread the interval is the value.
        ([10.0], Predicate(9.9, None), "holds weakly"),
        ([10.0], Predicate(10.1, None), "does not hold"),
        ([10.0, 10.0], Predicate(9.9, None), "holds"),
    ],
)
def test_the_verdict_is_where_the_interval_lies(values: list[float], predicate: Predicate, verdict: str) -> None:
    assert claims.judge(claim("avg(x)", predicate), tables(values)).verdict == verdict


@pytest.mark.parametrize("test", ["paired", "pooled"])
def test_what_no_chance_is_in_is_exact_and_one_seed_is_not(test: str) -> None:
    def judged(seed: int) -> str:
        rows = Tables(pl.DataFrame({"seed": [seed], "x": [10.0]}), every_seed=True)
        return claims.judge(claim("avg(x)", Predicate(9.9, None), test=test), rows).verdict

    assert (judged(0), judged(1000)) == ("holds", "holds weakly")


def test_a_paired_statistic_is_computed_for_each_seed() -> None:
    runs = pl.DataFrame(
        {"point": [0, 0, 1, 1], "seed": [1, 2, 1, 2], "place": [0, 0, 1, 1], "x": [1.0, 100.0, 2.0, 300.0]}
    )
    ratio = "avg(x) FILTER (place = 1) / avg(x) FILTER (place = 0)"

    judged = claims.judge(claim(ratio), Tables(runs))

    # Within the seeds 2 and 3; the ratio of the means would be 2.99.
    assert judged.interval
    assert judged.interval.mean == pytest.approx(2.5)
    assert judged.interval.high - 2.5 == pytest.approx(T1 * math.sqrt(0.5) / math.sqrt(2), rel=1e-4)
    assert judged.interval.count == 2


def test_a_pooled_statistic_has_the_interval_of_the_jackknife() -> None:
    hits, trials = [1.0, 4.0, 2.0, 3.0], [10.0, 20.0, 30.0, 40.0]
    data = tables(hits, trials=trials)

    judged = claims.judge(claim("sum(x) / sum(trials)", test="pooled"), data)

    without = [(sum(hits) - hit) / (sum(trials) - trial) for hit, trial in zip(hits, trials, strict=True)]
    middle = statistics.mean(without)
    error = math.sqrt(3 / 4 * sum((value - middle) ** 2 for value in without))
    assert judged.interval
    assert judged.interval.mean == pytest.approx(0.1)
    assert judged.interval.low == pytest.approx(0.1 - T3 * error, rel=1e-4)
    assert judged.interval.high == pytest.approx(0.1 + T3 * error, rel=1e-4)
    assert judged.verdict == "holds"


@pytest.mark.parametrize("by", [(), ("point",)])
def test_what_a_single_seed_alone_tells_holds_weakly(by: tuple[str, ...]) -> None:
    data = tables([1.0, 2.0, 4.0])

    judged = claims.judge(claim("avg(x) FILTER (seed = 1001)", test="pooled", for_each=by), data)

    assert judged.interval
    assert (judged.interval.mean, judged.interval.count) == (2.0, 1)
    assert judged.verdict == "holds weakly"


def test_of_a_mean_the_jackknife_is_students_interval() -> None:
    values = [3.0, 5.0, 4.0, 8.0]
    paired = claims.judge(claim("avg(x)"), tables(values)).interval
    pooled = claims.judge(claim("avg(x)", test="pooled"), tables(values)).interval

    assert paired
    assert pooled
    assert (pooled.mean, pooled.low, pooled.high) == pytest.approx((paired.mean, paired.low, paired.high))


def test_for_each_takes_the_worst_group_with_wider_intervals() -> None:
    runs = pl.DataFrame(
        {
            "point": [0, 0, 0, 1, 1, 1],
            "seed": [1, 2, 3] * 2,
            "snr": [7.0] * 3 + [13.0] * 3,
            "x": [99.0, 100.0, 101.0, 9.0, 10.0, 11.0],
        }
    )
    judged = claims.judge(claim("avg(x)", for_each=("snr",)), Tables(runs))

    assert judged.interval
    assert judged.interval.mean == 10
    assert judged.interval.half_width == pytest.approx(T2_OF_TWO / math.sqrt(3), rel=1e-4)
    assert (judged.group, judged.groups) == ("snr = 13", 2)
    assert "snr = 13" in judged.note

    # Alone the group would hold; as one of two it does so only weakly.
    bound = Predicate(10 - 5.0 / math.sqrt(3), None)
    assert claims.judge(claim("avg(x) FILTER (snr = 13)", bound), Tables(runs)).verdict == "holds"
    assert claims.judge(claim("avg(x)", bound, for_each=("snr",)), Tables(runs)).verdict == "holds weakly"


def test_for_each_does_not_hold_if_one_group_does_not() -> None:
    runs = pl.DataFrame({"point": [0, 1, 2], "seed": [1, 1, 1], "snr": [7, 10, 13], "x": [5.0, -1.0, 3.0]})

    judged = claims.judge(claim("avg(x)", for_each=("snr",)), Tables(runs))

    assert (judged.verdict, judged.group) == ("does not hold", "snr = 10")


@pytest.mark.parametrize(
    ("statistic", "values", "options", "message"),
    [
        ("avg(x) FILTER (seed = 1)", [1.0], {}, "is NULL with seed 1000"),
        ("avg(x) FILTER (seed <> 1001)", [1.0, 2.0], {}, "is NULL with seed 1001"),
        ("sum(x) / sum(x)", [0.0], {}, "is nan with seed 1000"),
        ("1 / sum(x)", [0.0], {}, "is inf with seed 1000"),
        ("any_value('much')", [1.0], {}, "'much' with seed 1000, a number is expected"),
        ("avg(y)", [1.0], {}, '"y"'),
        ("x", [1.0, 2.0], {"test": "pooled"}, "gives 2 values"),
        ("avg(x)", [None], {"for_each": ("point",)}, "is NULL with seed 1000 at point = 0"),
        ("avg(x)", [1.0, 2.0], {"for_each": ("seed",)}, "some seeds have groups that others have not"),
    ],
)
def test_a_statistic_without_a_value_is_an_error_and_no_verdict(
    statistic: str, values: list[float | None], options: dict[str, Any], message: str
) -> None:
    judged = claims.judge(claim(statistic, **options), tables(values))

    assert judged.verdict == "error"
    assert judged.interval is None
    assert message in judged.error
    assert message in judged.note


def test_paired_uses_the_seeds_that_all_points_have() -> None:
    runs = pl.DataFrame({"point": [0, 0, 0, 1, 1], "seed": [1, 2, 3, 1, 2], "x": [1.0, 1.0, 50.0, 3.0, 3.0]})

    judged = claims.judge(claim("avg(x)"), Tables(runs))

    assert judged.interval
    assert (judged.interval.mean, judged.interval.count) == (2, 2)


def test_views_show_what_the_tables_show() -> None:
    views = {"means": "SELECT seed, avg(x) AS mean FROM results GROUP BY seed, place", "one": "SELECT * FROM means"}
    runs = pl.DataFrame({"point": [0, 1, 0, 1], "seed": [1, 1, 2, 2], "place": [0, 1, 0, 1], "x": [1.0, 2.0, 3.0, 6.0]})

    judged = claims.judge(claim("max(mean)", table="one"), Tables(runs, views=views))

    assert judged.interval
    assert judged.interval.mean == 4
    with pytest.raises(to.ScenarioError, match=r"^views\.bad: "):
        Tables(runs, views={"bad": "SELECT nope FROM results"})


def test_rows_of_no_chance_are_seen_with_every_seed() -> None:
    rows = pl.DataFrame({"seed": [0, 1000, 1001], "x": [10.0, 1.0, 3.0]})

    data = Tables(rows, every_seed=True)

    assert data.seeds == (1000, 1001)
    judged = claims.judge(claim("sum(x)"), data)
    assert judged.interval
    assert judged.interval.mean == 12
    assert Tables(rows[:1], every_seed=True).seeds == (0,)


# ---- conditions that are mixed


def mixed(**frame: list[Any]) -> Tables:
    """Two points: with the policy a and b."""
    rows = {"point": [0, 0, 1, 1], "seed": [1, 2, 1, 2], "policy": ["a", "a", "b", "b"], "x": [1.0, 2.0, 3.0, 4.0]}
    views = {
        "some": "SELECT * FROM results WHERE policy = 'a'",
        "means": "SELECT seed, avg(x) AS x, 7 AS snr FROM results GROUP BY seed",
        "no_point": "SELECT seed, policy, x, snr FROM results",
        "no_axis": "SELECT point, seed, x, snr FROM results",
    }
    return Tables(pl.DataFrame(rows | {"snr": [7] * 4} | frame), views=views)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, "several values of policy in one mean"),
        ({"by": "policy"}, ""),
        ({"panels": "policy"}, ""),
        ({"from": "some"}, ""),
        ({"from": "means"}, ""),
        ({"from": "no_point"}, "several values of policy in one mean"),
        ({"from": "no_axis"}, "several points in one mean"),
        ({"kind": "cdf"}, "several values of policy in one mean"),
        ({"kind": "cdf", "by": "policy"}, ""),
    ],
)
def test_a_plot_takes_no_conditions_for_repetitions(tmp_path: Path, options: dict[str, str], left: str) -> None:
    plot = {"kind": "lines", "x": "snr", "y": "x", **options}
    if plot["kind"] == "cdf":
        del plot["x"]
    one = items.Item(paper="p", name="one", path=tmp_path / "one.toml", title="One", plots=(plot,))

    drawn, problems = figures.draw(one, mixed(), None, {}, tmp_path, axes=["policy", "snr"])

    assert (len(drawn), len(problems)) == ((0, 1) if left else (1, 0))
    assert not left or problems[0].startswith(f"plots.0: {left}: name what differs in x, by or panels")


def test_a_table_takes_no_conditions_for_repetitions() -> None:
    table = {"rows": ["snr"], "values": ["x"]}
    axes = ["policy", "snr"]

    with pytest.raises(to.ScenarioError, match=r"^table: several values of policy in one mean: .* in rows or columns"):
        figures.compare(table, mixed(), None, {}, axes=axes)
    (found,) = figures.compare(table | {"columns": ["policy"]}, mixed(), None, {}, axes=axes)
    assert [interval and interval.mean for interval, _ in found.lines[0][1]] == [1.5, 3.5]


def test_a_table_leaves_out_what_is_missing_and_does_not_know_what_is_no_number() -> None:
    table = {"rows": ["snr"], "columns": ["policy"], "values": ["x"]}

    (found,) = figures.compare(table, mixed(x=[1.0, None, 3.0, math.nan]), None, {})

    ((_, ((known, _), (unknown, _))),) = found.lines
    assert known
    assert (known.mean, known.count, unknown) == (1.0, 1, None)
