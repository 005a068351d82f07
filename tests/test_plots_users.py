"""Figures of what users got: they show what is behind a score, and say how many of something they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import transorbit as to
from conftest import ROOT
from transorbit import plots

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


def test_packets_that_came_late_are_behind_the_score_of_a_call() -> None:
    edits = {"duration": "10 s", "flows.0.count": 12, "last_hop.rate": "6 Mbit/s"}
    edits |= {"flows.0.traffic.playout": {"kind": "fixed", "delay": "150 ms"}}
    result = to.Scenario.load(ROOT / "scenarios/voip.toml").replace(edits).run()
    figure = plots.voice(result)
    assert figure is not None
    lost, late = figure.axes[1].lines

    flows = result.flows.sort("mos", maintain_order=True)
    assert flows["lost_late"].max() > 0
    arrived = flows["received_packets"] / (1 - flows["loss_ratio"])
    assert late.get_label() == "late"
    assert late.get_ydata() == pytest.approx((100 * flows["lost_late"] / arrived).to_list())
    assert lost.get_ydata() == pytest.approx((100 * flows["loss_ratio"]).to_list())


# What waits for the congestion window comes after that.
LATE = {"kind": "fixed", "delay": "30 ms"}


def test_packets_of_a_call_are_its_datagrams_also_in_quic(lab: to.Scenario) -> None:
    call = {"kind": "voice", "rate": "400 kbit/s", "packet": "60 B"}
    flows = [{"transport": {"kind": "quic", "datagrams": True}, "traffic": {**call, "playout": LATE}}]
    result = lab.replace({"duration": "10 s", "last_hop.rate": "200 kbit/s", "flows": flows}).run()
    figure = plots.voice(result)
    assert figure is not None
    [lost], [late] = (line.get_ydata() for line in figure.axes[1].lines)

    [told] = result.reports("voice").to_dicts()
    assert told["received_packets"] > 2 * result.flows["received_packets"][0], "several in a packet"
    assert lost + late == pytest.approx(100 * told["loss_ratio"])
    assert min(lost, late) > 0


def test_figures_of_transfers_and_users_say_how_many_they_need(
    here: Path, command: Callable[..., Outcome], lab: to.Scenario
) -> None:
    transfer = {"duration": "5 s", "flows.0.traffic": {"kind": "bulk", "size": "100 kB"}}
    lab.replace(transfer).run().save(here / "one", plots=False)

    told = "transorbit: plot: completion: needs at least 3 ended transfers: the run has 1\n"
    done = command("plot", "one", "completion")
    assert (done.code, done.out, done.err) == (2, "", told)
    told = "transorbit: plot: goodput-by-user: needs at least 3 users who opened a flow: the run has 1\n"
    assert command("plot", "one", "goodput-by-user").err == told
    assert "completion" not in command("plot", "one").out
    lab.replace({**transfer, "flows.0.count": 3}).run().save(here / "three", plots=False)
    assert command("plot", "three", "completion").code == 0
