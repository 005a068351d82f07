"""Video and games from Python and from the command line: figures, plots, and a path that loses both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import transorbit as to
from transorbit import plots, report

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

ROOT = Path(__file__).parents[1]
LOSSY = """
title    = "a path that loses both ways"
duration = "60 s"
[path]
kind = "trace"
file = "path.csv"
[last_hop]
rate  = "10 Mbit/s"
delay = "1 ms"
[[flows]]
transport = "udp"
traffic   = "game"
"""


def run(name: str, **edits: Any) -> to.Result:
    scenario = to.Scenario.load(ROOT / "scenarios" / f"{name}.toml")
    return scenario.replace(edits).run() if edits else scenario.run()


@pytest.mark.parametrize(("name", "drawn"), [("video", "video"), ("live", "video"), ("game", "game")])
def test_scenarios_answer_their_question(name: str, drawn: str) -> None:
    result = run(name, duration="20 s")

    flows = [flow for flow in result.summary["flows"] if flow["traffic"] != "bulk"]
    figure = plots.draw(drawn, result)
    assert figure is not None
    assert len(figure.axes) == {"video": 2, "live": 2, "game": 3}[name]
    assert all(flow["mos"] is not None or flow["late_ratio"] > 0 for flow in flows)
    if name == "game":
        assert all(flow["response_p95_s"] <= flow["response_p99_s"] for flow in flows)
    else:
        assert all(0 < flow["startup_s"] < 10 and flow["rebuffers"] >= 0 for flow in flows)
    assert {"dash": "video", "live": "live", "game": "game"}[flows[0]["traffic"]] in flows[0]
    assert plots.draw("voice", result) is None, "nobody listens"
    assert plots.draw("overview", result) is not None
    assert "Time in stalls" in report.of_result(result) or name == "game"


def test_many_viewers_are_a_band() -> None:
    result = run("video", **{"duration": "15 s", "flows.0.count": 8, "channel": {"kind": "clear"}})

    figure = plots.draw("video", result)
    assert figure is not None
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels == ["10 to 90 % of flows", "median flow"]


def test_losses_of_a_game_are_counted_each_way(tmp_path: Path) -> None:
    (tmp_path / "path.csv").write_text("time_s,rtt_ms,loss_percent\n0,60,10\n1000,60,10\n")
    (tmp_path / "game.toml").write_text(LOSSY)

    flow = to.Scenario.load(tmp_path / "game.toml").run().summary["flows"][0]

    game = flow["game"]
    assert game["down_received"] == flow["received_packets"]
    for way, rate in (("down", 17), ("up", 23)):
        lost = game[f"{way}_loss_ratio"]
        assert game[f"{way}_sent"] > rate * 0.9 * 60
        assert abs(lost - 0.1) < 4 * (0.09 / game[f"{way}_sent"]) ** 0.5
        known = game[f"{way}_received"] / (1 - lost)
        assert abs(known - round(known)) < 1e-6
        assert 0 <= game[f"{way}_sent"] - round(known) <= 3, "the rest is in flight"
    assert flow["late_ratio"] >= 0.05


def test_results_name_what_viewers_got(command: Callable[..., Outcome]) -> None:
    done = command("run", "scenarios/live.toml", "--set", "duration=5 s", "--json")

    flows = json.loads(done.out)["flows"]
    assert [flow["transport"] for flow in flows] == ["udp", "tcp"]
    assert all(flow["latency_mean_s"] >= 0.999 for flow in flows)
    shown = command("run", "scenarios/game.toml", "--set", "duration=5 s", "--out", "r").out
    assert "Response" in shown


def test_a_wrong_rule_is_told_with_its_near_hit(command: Callable[..., Outcome]) -> None:
    edit = "flows.0.traffic.adaptation.kind=rate-base"
    done = command("check", "scenarios/video.toml", "--set", edit)

    assert done.code == 2
    assert "rate-based" in done.err
