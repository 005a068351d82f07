"""L4S from Python: the scenario of the guide, waits for each flow, their plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import transorbit as to
from conftest import ROOT

if TYPE_CHECKING:
    from transorbit import Result


@pytest.fixture(scope="module")
def dual() -> Result:
    return to.Scenario.load(ROOT / "scenarios/l4s.toml").set("duration=20 s").run()


def test_the_low_latency_queue_keeps_waits_short(dual: Result) -> None:
    prague, cubic, call = dual.summary["flows"]

    assert prague["queue_delay_p99_s"] < 0.003 < 0.005 < cubic["queue_delay_p50_s"]
    assert call["queue_delay_p50_s"] > 0.003  # not ECT: beside CUBIC
    assert 0.5 < prague["goodput_bps"] / cubic["goodput_bps"] < 2
    assert prague["marked_packets"] > 0 == cubic["marked_packets"]


def test_waits_are_a_column_and_a_plot_where_they_are_noted(dual: Result) -> None:
    waits = dual.series.filter(flow=0)["queue_delay_s"].drop_nulls().drop_nans()

    assert 0 <= waits.median() < 0.003  # type: ignore[operator]
    [axes] = dual.plot("queue-delay").axes
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "Wait (ms)"
    assert len(axes.lines) == len(dual.summary["flows"])

    without = to.Scenario.load(ROOT / "scenarios/l4s.toml").set("duration=2 s", "record.queue_delays=false").run()
    assert "queue_delay_s" not in without.series.columns
    assert without.summary["flows"][0]["queue_delay_p99_s"] is None
    with pytest.raises(ValueError, match="nothing to show"):
        without.plot("queue-delay")


@pytest.mark.parametrize(
    ("assignment", "told"),
    [
        ("flows.0.transport.ecn=sometimes", '"sometimes" was given, true, false or "accurate" is expected'),
        ("last_hop.queue.coupling=0", "last_hop.queue.coupling: 0 given, 1 to 100 allowed"),
        ("last_hop.scheduler=fq-codel", "last_hop.queue"),
        ('flows.0.transport.congestion={kind="prague", gain=0}', "gain"),
    ],
)
def test_what_cannot_be_is_named(assignment: str, told: str) -> None:
    with pytest.raises(to.ScenarioError) as error:
        to.Scenario.load(ROOT / "scenarios/l4s.toml").set(assignment).check()

    assert told in str(error.value)
