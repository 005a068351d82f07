"""Scenarios as values: changing, resolving, running."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import transorbit as to
from conftest import ROOT
from transorbit import _core

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "path",
    sorted(set((ROOT / "scenarios").glob("*.toml")) - set((ROOT / "scenarios").glob("*.sweep.toml"))),
    ids=lambda path: path.name,
)
def test_every_scenario_of_the_project_is_valid(path: Path) -> None:
    scenario = to.Scenario.load(path)
    scenario.check()

    assert scenario.title
    again = to.Scenario.from_toml(scenario.to_toml())
    assert again.to_toml() == scenario.to_toml()


VARIANTS = [
    'path={ kind = "fixed", delay = "40 ms" }',
    'path={ kind = "fixed", delay = "40 ms", jitter = { probability = 0.2, extra = "20 ms" } }',
    'path={ kind = "trace", file = "x.csv" }',
    'channel={ kind = "clear" }',
    'channel={ kind = "bernoulli", loss = "0.5 %" }',
    'channel={ kind = "trace", file = "x.csv" }',
    'last_hop.harq={ kind = "none" }',
    "last_hop.reordering={ enabled = false }",
    'last_hop.scheduler={ kind = "droptail", buffer = "100 packets" }',
    'last_hop.scheduler={ kind = "droptail", buffer = "64 kB" }',
    'last_hop.scheduler={ kind = "droptail", buffer = "20 ms" }',
    'flows.0.transport={ kind = "tcp", congestion = "reno", delayed_ack = true }',
    'flows.0.transport={ kind = "tcp", congestion = "newreno", mss = "536 B" }',
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_laboratory_variants_run(tmp_path: Path, variant: str) -> None:
    (tmp_path / "x.csv").write_text("time,delay\n0,0.04\n1,0.05\n2,0.03\n")
    (tmp_path / "leo.toml").write_text((ROOT / "scenarios/leo-tcp.toml").read_text())

    result = to.Scenario.load(tmp_path / "leo.toml").set("duration=5 s", variant).run()

    # Uncoded packets do not survive this channel; the others do.
    assert (result.summary["flows"][0]["received_packets"] > 100) == ('"none"' not in variant)


def test_replace_changes_a_copy(leo: to.Scenario) -> None:
    changed = leo.replace({"channel.reference_snr": "7 dB", "flows.0.count": 3, "last_hop.reordering.enabled": False})

    table = changed.to_dict()
    assert table["channel"]["reference_snr"] == "7 dB"
    assert table["flows"][0]["count"] == 3
    assert table["last_hop"]["reordering"]["enabled"] is False
    assert table["last_hop"]["reordering"]["capacity"] == 125, "its neighbour stays"
    assert leo.to_dict()["flows"][0]["count"] == 1


def test_a_table_replaces_a_table(leo: to.Scenario) -> None:
    changed = leo.replace({"channel": {"kind": "clear"}, "path": {"kind": "fixed", "delay": "40 ms"}})

    assert "elevation" not in changed.to_dict()["channel"]
    assert "constellation" not in changed.to_dict()["path"]
    changed.check()


def test_set_takes_what_the_command_line_takes(leo: to.Scenario) -> None:
    changed = leo.set(
        "channel.reference_snr=7 dB",
        'title="quoted"',
        "flows.0.count = 2",
        "last_hop.reordering.enabled=false",
        'last_hop.harq={ kind = "none" }',
    )

    table = changed.to_dict()
    assert table["channel"]["reference_snr"] == "7 dB"
    assert table["title"] == "quoted"
    assert table["flows"][0]["count"] == 2
    assert table["last_hop"]["reordering"]["enabled"] is False
    assert table["last_hop"]["harq"]["kind"] == "none"


def test_a_wrong_key_offers_the_nearest(leo: to.Scenario) -> None:
    with pytest.raises(to.ScenarioError, match=r"^channel\.elevaton: .*elevation"):
        leo.replace({"channel.elevaton": "40 deg"}).check()


def test_scenario_errors_are_value_errors_of_one_line(leo: to.Scenario) -> None:
    with pytest.raises(ValueError, match=r"^last_hop\.rate: ") as caught:
        leo.replace({"last_hop.rate": "0 Mbit/s"}).run()
    assert "\n" not in str(caught.value)


def test_a_scenario_is_made_by_its_methods() -> None:
    with pytest.raises(TypeError, match=r"Scenario\.load"):
        to.Scenario("leo-tcp")  # type: ignore[arg-type]


def test_a_wrong_scenario_can_be_looked_at(leo: to.Scenario) -> None:
    assert repr(leo) == "Scenario('TCP to a mobile user over LEO')"
    assert "last_hop.rate" in repr(leo.replace({"last_hop.rate": "0 Mbit/s"}))


def test_what_json_cannot_hold_is_refused(leo: to.Scenario) -> None:
    with pytest.raises(ValueError, match="JSON"):
        leo.replace({"flows.0.count": float("nan")})


def test_a_trace_is_found_beside_the_scenario(tmp_path: Path, lab: to.Scenario) -> None:
    (tmp_path / "delay.csv").write_text("time,delay\n0,0.040\n5,0.060\n")
    text = lab.replace({"path": {"kind": "trace", "file": "delay.csv"}}).set("duration=10 s")
    (tmp_path / "traced.toml").write_text((ROOT / "scenarios/lab-fixed.toml").read_text())
    traced = to.Scenario.load(tmp_path / "traced.toml").set(
        'path={ kind = "trace", file = "delay.csv" }', "duration=10 s"
    )

    path = traced.run().summary["path"]

    assert path["one_way_delay_min_s"] == pytest.approx(0.040, abs=0.0101)
    assert path["one_way_delay_max_s"] > path["one_way_delay_min_s"] + 0.015
    with pytest.raises(to.ScenarioError, match=r"^path\.file"):
        text.check()


def test_the_seed_comes_from_the_scenario_or_the_call(leo: to.Scenario) -> None:
    assert leo.run().summary["seed"] == 1
    assert leo.run(seed=9).summary["seed"] == 9
    assert leo.replace({"seed": 9}).run().summary["digest"] == leo.run(seed=9).summary["digest"]
    assert leo.run(seed=0).summary["seed"] == 0
    with pytest.raises(to.ScenarioError, match="seed: '1' was given, a whole number"):
        leo.run(seed="1")  # type: ignore[arg-type]


def test_same_seed_same_result_other_seed_another(leo: to.Scenario) -> None:
    first = leo.run(seed=1)

    assert leo.run(seed=1).summary == first.summary
    assert leo.run(seed=1).series.equals(first.series)
    assert leo.run(seed=2).summary["digest"] != first.summary["digest"]


def test_same_digest_in_another_process(leo: to.Scenario) -> None:
    script = "import sys, transorbit as to;print(to.Scenario.from_toml(sys.stdin.read()).run(seed=1).summary['digest'])"
    digests = {
        subprocess.run(
            [sys.executable, "-c", script], input=leo.to_toml(), capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    }

    assert digests == {str(leo.run(seed=1).summary["digest"])}


def test_same_digest_on_two_threads_at_once(leo: to.Scenario) -> None:
    alone = {seed: leo.run(seed=seed).summary for seed in (1, 2)}

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda seed: leo.run(seed=seed).summary, [1, 2, 1, 2]))

    assert together == [alone[1], alone[2], alone[1], alone[2]]


def test_steps_do_not_change_the_result(leo: to.Scenario) -> None:
    core = _core.Scenario.from_toml(leo.to_toml(), ".")
    at_once, in_steps = core.simulation(1), core.simulation(1)

    at_once.advance(at_once.duration_s)
    for step in range(1, 1000):
        in_steps.advance(step * in_steps.duration_s / 999)

    assert in_steps.finish().summary_json() == at_once.finish().summary_json()


def test_a_finished_run_is_over_and_knows_what_it_was_of(leo: to.Scenario) -> None:
    run = _core.Scenario.from_toml(leo.replace({"duration": "1 s"}).to_toml(), ".").simulation(7)
    run.advance(1.0)
    run.finish()

    assert (run.seed, run.duration_s, run.kept()[0].count("seed = 7")) == (7, 1.0, 1)
    for ask in (lambda: run.now_s, lambda: run.advance(1.0), run.finish):
        with pytest.raises(RuntimeError, match="the run is finished"):
            ask()


def test_recording_does_not_steer(leo: to.Scenario) -> None:
    digests = {
        leo.replace({"record": record}).run().summary["digest"]
        for record in ({"series": False}, {"interval": "10 ms"}, {"interval": "1 s", "samples": 16})
    }

    assert digests == {leo.run().summary["digest"]}


def test_other_threads_run_during_a_simulation(leo: to.Scenario) -> None:
    simulation = _core.Scenario.from_toml(leo.replace({"duration": "1200 s"}).to_toml(), ".").simulation(1)
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    simulation.advance(simulation.duration_s)
    ended = time.perf_counter()
    stop.set()
    thread.join()

    during = [at for at in ticks if started + 0.01 < at < ended - 0.01]
    assert len(during) > 10, f"{len(during)} ticks in {ended - started:.2f} s"


def test_progress_rises_to_one(leo: to.Scenario) -> None:
    shares: list[float] = []

    leo.run(progress=shares.append)

    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) >= 100


def test_an_interrupt_carries_the_partial_result(leo: to.Scenario) -> None:
    def stop(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(to.Interrupted) as caught:
        leo.run(progress=stop)

    result = caught.value.result
    assert result.partial
    assert 30 <= result.summary["simulated_s"] < 60
    assert result.summary["warnings"]
    assert not leo.run().partial


def test_registries_and_schema_agree() -> None:
    names = {entry["name"] for registry in to.registries() for entry in registry["entries"]}
    text = json.dumps(to.schema())

    for name in names:
        assert re.search(rf'"{re.escape(name)}"', text), f"{name} is not in the schema"
