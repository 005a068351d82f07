"""Runs under satellites that move: what the summary, the series and the plots say of them."""

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

    Command = Callable[..., Outcome]

TRAIN = ROOT / "scenarios" / "leo-train.toml"
LABORATORY = ROOT / "scenarios" / "lab-fixed.toml"


@pytest.fixture(scope="module")
def train() -> to.Scenario:
    return to.Scenario.load(TRAIN).set("duration=100 s")


def test_the_train_sees_its_satellites(train: to.Scenario) -> None:
    result = train.run()
    path = result.summary["path"]
    assert path["elevation_min_deg"] >= 25
    assert 5e3 < path["doppler_max_hz"] < 50e3
    assert 100 < path["doppler_rate_max_hz_per_s"] < 1000
    series = result.series
    assert series["elevation_deg"].min() == pytest.approx(path["elevation_min_deg"], abs=0.5)
    assert series["doppler_hz"].abs().max() == pytest.approx(path["doppler_max_hz"], rel=0.01)
    assert series["doppler_hz"].min() < 0 < series["doppler_hz"].max()
    figure = plots.satellite(result)
    assert figure is not None
    assert len(figure.axes) == 2
    assert plots.satellite(to.Scenario.load(LABORATORY).set("duration=1 s").run()) is None


def test_what_a_handover_does_is_the_scenarios_to_say(train: to.Scenario) -> None:
    def run(packets: str, interruption: str) -> dict[str, object]:
        edit = {"path.at_handover": {"packets": packets, "interruption": interruption}}
        return train.replace(edit).run().summary

    smooth, forward, lose = run("deliver", "0 s"), run("forward", "500 ms"), run("lose", "500 ms")
    lost = [summary["flows"][0]["lost_handover"] for summary in (smooth, forward, lose)]  # type: ignore[index]
    assert lost[:2] == [0, 0]
    assert lost[2] > 0
    goodput = [summary["flows"][0]["goodput_bps"] for summary in (smooth, forward, lose)]  # type: ignore[index]
    # What is lost is retransmitted while what is forwarded waits: which of both costs more differs between seeds.
    assert goodput[0] > max(goodput[1:])


def test_the_summary_tells_of_the_satellite(command: Command) -> None:
    scenario = str(TRAIN)
    done = command("run", scenario, "--set", "duration=20 s", "--set", "path.at_handover.packets=lose")
    assert done.code == 0, done.err
    assert "satellites  " in done.out
    assert " handovers of the users, " in done.out
    assert "Doppler shift up to " in done.out


def test_files_are_found_beside_the_scenario_wherever_that_goes(tmp_path: Path) -> None:
    (tmp_path / "gateways.csv").write_text("name,latitude_deg,longitude_deg\nGravelines,50.98,2.13\nTurin,45.27,7.81\n")
    (tmp_path / "track.csv").write_text("time_s,latitude_deg,longitude_deg\n0,48.84,2.37\n600,48.0,3.0\n")
    (tmp_path / "rain.csv").write_text("elevation_deg,attenuation_db\n10,3\n90,1\n")
    scenario = to.Scenario.from_toml(TRAIN.read_text(), base_dir=tmp_path).replace(
        {
            "path.source": {"file": "gateways.csv"},
            "path.user": {"file": "track.csv"},
            "channel.link_budget.rain": {"kind": "by-elevation", "file": "rain.csv"},
            "duration": "5 s",
        }
    )
    resolved = scenario.to_toml()
    for name in ("gateways.csv", "track.csv", "rain.csv"):
        assert str(tmp_path / name) in resolved
    digests = [one.run().summary["digest"] for one in (scenario, to.Scenario.from_toml(resolved))]
    assert digests[0] == digests[1]
