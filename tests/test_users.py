"""Scenarios of many users, from the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import transorbit as to
from test_registries import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

ROOT = Path(__file__).parents[1]
SHORT = ("--set", "duration=3 s")


@pytest.mark.parametrize(
    ("scenario", "users"), [("scenarios/voip.toml", 75), ("scenarios/tcp-users.toml", 40)], ids=["voip", "tcp-users"]
)
@pytest.mark.parametrize(
    "edits",
    [
        (),
        ("last_hop.scheduler.kind=codes",),
        ("flows.0.count=200",),
        ("last_hop.scheduler.limit=50 ms",),
        ("last_hop.scheduler.kind=round-robin", "last_hop.scheduler.limit=50 ms", "flows.0.count=20"),
    ],
    ids=["as-it-is", "codes", "200", "limit", "several"],
)
def test_scenarios_of_users_take_edits(
    command: Callable[..., Outcome], scenario: str, users: int, edits: tuple[str, ...]
) -> None:
    arguments = [argument for edit in edits for argument in ("--set", edit)]
    summary: dict[str, Any] = json.loads(command("run", scenario, *SHORT, *arguments, "--json").out)
    counts = [int(edit.split("=")[1]) for edit in edits if edit.startswith("flows.0.count")]
    assert len(summary["flows"]) == (counts or [users])[0]
    keys = ("goodput_min_bps", "goodput_mean_bps", "goodput_max_bps", "goodput_sd_bps", "jain")
    assert all(isinstance(summary["users"][key], float) for key in keys)
    assert 0 < summary["last_hop"]["spectral_efficiency"] < 1
    for flow in summary["flows"]:
        assert {"mos", "lost_overflow", "lost_timeout", "lost_harq", "lost_late", "completion_s"} <= flow.keys()
        assert (flow["mos"] is not None) == (scenario == "scenarios/voip.toml")


def test_schedulers_and_schemes_are_listed_by_name() -> None:
    names = {registry["name"]: [entry["name"] for entry in registry["entries"]] for registry in to.registries()}
    of = {"schedulers": "SchedulerConfig", "queues": "QueueConfig", "harq": "HarqConfig", "traffic": "TrafficConfig"}
    for listed, registry in of.items():
        assert names[listed] == [kind.name for kind in kinds() if kind.registry == registry]


SCHEDULERS = [entry["name"] for r in to.registries() if r["name"] == "schedulers" for entry in r["entries"]]
SCHEMES = [entry["name"] for r in to.registries() if r["name"] == "harq" for entry in r["entries"]]


@pytest.mark.parametrize("scheduler", [name for name in SCHEDULERS if name != "external"])
def test_every_scheduler_serves_calls_and_downloads(scheduler: str) -> None:
    changes = {"duration": "2 s", "flows.0.count": 10, "last_hop.harq.padding": False}
    base = to.Scenario.load(ROOT / "scenarios/voip.toml").replace(changes)
    bulk = {"transport": "tcp", "traffic": "bulk", "count": 10, "first_user": 0}
    flows = json.loads(json.dumps([{"transport": "udp", "traffic": "voice", "count": 10}, bulk]))
    summary = base.replace({"last_hop.scheduler": {"kind": scheduler}, "flows": flows}).run().summary
    assert summary["users"]["count"] == 10
    assert not summary["warnings"]
    assert all(flow["received_packets"] > 0 for flow in summary["flows"])


@pytest.mark.parametrize("harq", SCHEMES)
def test_every_reliability_scheme_carries_downloads(harq: str) -> None:
    base = to.Scenario.load(ROOT / "scenarios/tcp-users.toml")
    changes = {"duration": "3 s", "flows.0.count": 5, "last_hop.harq": {"kind": harq}, "channel.reference_snr": "13 dB"}
    summary = base.replace(changes).run().summary
    harq_counters = summary["last_hop"]["harq"]
    undecided = harq_counters["started"] - sum(harq_counters["decoded_after"]) - harq_counters["failed"]
    assert 0 <= undecided <= summary["last_hop"]["in_flight"]
    if harq != "none":  # uncoded, whole packets hardly ever cross a shadowed channel
        assert sum(flow["delivered_bytes"] for flow in summary["flows"]) > 10_000
