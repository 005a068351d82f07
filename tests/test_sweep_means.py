"""What a sweep says of its points: means, intervals, counts, and the doubts about them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sweeps import RATES, SWEEP, lab
from transorbit import plots

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

# A metric that no run has at 5 Mbit/s, and the first two of four replications at 20 Mbit/s.
SOME = "CASE WHEN rate = 20 AND seed < 1002 THEN seed END"


def test_one_value_has_no_interval() -> None:
    once = lab(metrics={"rates": "rate"}).run()
    assert [row["metrics"]["rates"] for row in once.means()] == [
        {"mean": rate, "low": None, "high": None, "count": 1} for rate in (5.0, 20.0)
    ]

    one_of_two = lab(axes=[], replications=2, metrics={"m": "nullif(seed, 1001)"}).run()
    assert one_of_two.means()[0]["metrics"]["m"] == {"mean": 1000.0, "low": None, "high": None, "count": 1}
    assert "1000" in one_of_two._repr_html_()


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_one_value_is_drawn_without_an_interval(kind: str) -> None:
    """Also beside points that have one."""
    some = "CASE WHEN rate = 5 OR seed = 1000 THEN seed END"
    result = lab(replications=2, metrics={"m": some}).run()

    numbers = plots.numbers(figure := result.plot(kind))

    (five, twenty) = numbers.select("low", "high", "count").rows()
    assert five[0] < 1000.5 < five[1]
    assert twenty == (None, None, 1)
    (whiskers,) = figure.axes[0].collections
    assert [bool(np.isfinite(path.vertices).all()) for path in whiskers.get_paths()] == [True, False]


def test_a_value_that_is_no_number_leaves_the_mean_unknown() -> None:
    rule = {"metric": "m", "half_width": "2 %", "most": 9}
    broken = {"m": "CASE WHEN seed = 1001 THEN 'nan'::DOUBLE ELSE 2 END", "missing": "nullif(seed, 1001)"}
    result = lab(axes=[], metrics=broken, precision=rule, replications=3).run()
    assert len(result.runs) == 3, "more replications would not help"
    (row,) = result.means()
    assert row["metrics"]["m"] == {"mean": None, "low": None, "high": None, "count": 3}
    assert (row["metrics"]["missing"]["mean"], row["metrics"]["missing"]["count"]) == (1001.0, 2)


def test_runs_that_a_mean_leaves_out_are_told() -> None:
    """All of them are counted, also at a point where no run has a value."""
    never = "CASE WHEN seed < 0 THEN 1.0 END"
    only_there = "CASE WHEN rate = 20 THEN 1.0 END"
    result = lab(replications=4, metrics={"done": SOME, "never": never, "there": only_there}).run()

    assert [row["metrics"]["done"]["count"] for row in result.means()] == [0, 2]
    assert result.warnings == [
        "of 8 runs some have no value: done (6, the first at rate = 5 Mbit/s; 1 point has none at all); means and "
        "differences are of the others, which may be no fair sample"
    ]
    (told,) = lab(axes=[], replications=4, metrics={"done": "CASE WHEN seed > 1001 THEN 1.0 END"}).run().warnings
    assert told.startswith("of 4 runs some have no value: done (2, the first at the only point); means ")


def test_the_table_says_of_how_many_runs_a_mean_is(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "some.toml").write_text(lab(replications=4, metrics={"done": SOME, "all": "1"}).to_toml())
    done = command("sweep", "some.toml", "--outside")

    five, twenty, note = done.out.splitlines()[5:8]
    assert five.split() == ["5", "4", "-", "1", "±", "0"]
    assert twenty.split(maxsplit=2)[2].split("  ") == ["1000.5 ± 6.4 (2)", "1 ± 0"]
    assert note == "in parentheses: how many runs have a value, where others of the point have none"


def test_an_axis_without_effect_is_warned_of() -> None:
    """Also where some runs failed; not where a metric depends on it, and not where no two runs can be compared."""
    interval = {"name": "step", "key": "record.interval", "values": ["100 ms", "50 ms"]}
    told = "axis step has no effect: packets and metrics are the same for all of its values"
    assert lab(axes=[RATES, interval]).run().warnings == [told]
    congestion = {"name": "tcp", "key": "flows.0.transport.congestion", "values": ["cubic", "nonsense"]}
    assert lab(axes=[congestion, interval]).run().warnings[1:] == [told]

    steps = {"steps": "1000 / step"}
    assert lab(axes=[interval], metrics=steps).run().warnings == []
    assert lab(axes=[{**interval, "values": ["50 ms"]}]).run().warnings == []


def test_a_run_that_failed_is_warned_of() -> None:
    congestion = {"name": "tcp", "key": "flows.0.transport.congestion", "values": ["cubic", "nonsense"]}
    result = lab(axes=[RATES, congestion], replications=2).run()

    (told,) = result.warnings
    assert told.startswith("4 of 8 runs failed, the first at rate = 5 Mbit/s, tcp = nonsense: flows.0.transport.conges")
    assert [(row["runs"], row["failed"]) for row in result.means()] == [(2, 0), (2, 2)] * 2
    (told,) = lab(warm_up="1 s").run().warnings
    assert told.startswith("all 2 runs failed, the first at rate = 5 Mbit/s: warm_up: ")


def test_table_and_json_count_the_same_runs(here: Path, command: Callable[..., Outcome]) -> None:
    text = SWEEP.replace("15", "2").replace('"5 s"', '"1 s"').replace('"10 dB"', '"10 parsec"')
    (here / "small.toml").write_text(text)
    shown = command("sweep", "small.toml").out.splitlines()
    report = json.loads(command("sweep", "small.toml", "--json").out)

    assert [*shown[3].split(), *shown[4].split()] == ["goodput_mbps", "snr", "runs", "failed", "(Mbit/s)"]
    assert [line.split()[2:4] for line in shown[5:7]] == [["2", "0"], ["2", "2"]]
    assert [(row["runs"], row["failed"]) for row in report["rows"]] == [(2, 0), (2, 2)]
    assert (report["runs"], report["failed"], len(report["warnings"])) == (4, 2, 1)
