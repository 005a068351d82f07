"""Inputs of a run: a result folder has what it needs to be run again, anywhere, and tells what has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest

import transorbit as to
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

PLACES = "name,latitude_deg,longitude_deg\nToulouse,43.6,1.4\nNairobi,-1.3,36.8\n"
FADES = "0,0\n0.5,3\n1.25,9\n2,1\n"
DELAYS = "0,0.02\n2,0.03\n4,0.025\n"


def scenario(here: Path, path: str, *, name: str = "mine.toml") -> Path:
    """A scenario with a trace channel and this path."""
    text = f"""
title    = "inputs"
duration = "5 s"
path     = {path}
channel  = {{ kind = "trace", file = "fades/trace.csv", reference_snr = "15 dB" }}
[last_hop]
rate       = "5 Mbit/s"
delay      = "10 ms"
[[flows]]
transport = "tcp"
traffic   = "bulk"
"""
    (here / "fades").mkdir(exist_ok=True)
    (here / "fades/trace.csv").write_text(FADES)
    (here / "delays").mkdir(exist_ok=True)
    (here / "delays/trace.csv").write_text(DELAYS)
    (here / "gateways.csv").write_text(PLACES)
    (here / name).write_text(text)
    return here / name


TRACE = '{ kind = "trace", file = "delays/trace.csv" }'
GATEWAYS = (
    '{ kind = "constellation", constellation = "leo-66", source = { file = "gateways.csv" }, '
    'user = { latitude = "-36.9 deg", longitude = "174.8 deg" } }'
)


def told(outcome: Outcome) -> dict[str, object]:
    assert outcome.code == 0, outcome.err
    summary: dict[str, object] = json.loads(outcome.out)
    return summary


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (TRACE, {"delays/trace.csv": "inputs/trace.csv", "fades/trace.csv": "inputs/trace-2.csv"}),
        (GATEWAYS, {"gateways.csv": "inputs/gateways.csv", "fades/trace.csv": "inputs/trace.csv"}),
    ],
)
def test_a_moved_result_runs_the_same(
    command: Callable[..., Outcome], here: Path, path: str, names: dict[str, str]
) -> None:
    scenario(here, path)
    first = told(command("run", "mine.toml", "--seed", "7", "--out", "made/result", "--json"))
    provenance = json.loads((here / "made/result/provenance.json").read_text())
    kept = {each["file"]: each["kept"] for each in provenance["inputs"]}

    assert kept == names
    assert first["flows"][0]["delivered_bytes"] > 0  # type: ignore[index]
    for each in first["inputs"]:  # type: ignore[attr-defined]
        contents = (here / "made/result" / names[each["file"]]).read_bytes()
        assert each == {
            "file": each["file"],
            "sha256": hashlib.sha256(contents).hexdigest(),
            "bytes": len(contents),
        }
    # Whatever happens to what it was made from.
    (here / "elsewhere").mkdir()
    shutil.move(here / "made/result", here / "elsewhere/moved")
    shutil.rmtree(here / "delays")
    (here / "fades/trace.csv").write_text("0,300\n")
    (here / "gateways.csv").unlink()

    again = told(command("run", "elsewhere/moved/scenario.toml", "--json"))

    assert again["digest"] == first["digest"]
    assert again["warnings"] == first["warnings"]
    result = to.Result.load(here / "elsewhere/moved")
    assert to.Scenario.of(result).run().summary["digest"] == first["digest"]
    # Over itself, which reads its inputs first.
    assert command("run", "elsewhere/moved/scenario.toml", "--out", "elsewhere/moved", "--no-plots").code == 0
    assert to.Result.load(here / "elsewhere/moved").summary["digest"] == first["digest"]


def test_an_input_that_has_changed_is_told(command: Callable[..., Outcome], here: Path) -> None:
    scenario(here, TRACE)
    first = told(command("run", "mine.toml", "--out", "result", "--json"))
    copy = here / "result/inputs/trace.csv"
    before = hashlib.sha256(copy.read_bytes()).hexdigest()
    copy.write_text("0,0.05\n")
    after = hashlib.sha256(copy.read_bytes()).hexdigest()

    again = told(command("run", "result/scenario.toml", "--json"))

    warning = again["warnings"][0]  # type: ignore[index]
    assert again["digest"] != first["digest"]
    assert "inputs/trace.csv" in warning
    assert before in warning
    assert after in warning
    assert to.Scenario.of(to.Result.load(here / "result")).run().summary["warnings"] == again["warnings"]
    assert warning in command("run", "result/scenario.toml", "--out", "other", "--no-plots").out.replace("\n", " ")
    # The new result is of the input as it is now.
    later = told(command("run", "other/scenario.toml", "--json"))
    assert not [warning for warning in later["warnings"] if "inputs/" in warning]  # type: ignore[attr-defined]


def test_an_input_out_of_reach_is_told_before_the_run(command: Callable[..., Outcome], here: Path) -> None:
    scenario(here, TRACE)
    command("run", "mine.toml", "--out", "result", "--no-plots", "--quiet")
    (here / "result/inputs/trace.csv").unlink()
    for arguments in (("run", "result/scenario.toml", "--out", "other"), ("check", "result/scenario.toml")):
        refused = command(*arguments)

        assert refused.code == 2
        assert "path.file: inputs/trace.csv: cannot be read" in refused.err
    assert not (here / "other").exists()


def test_what_is_in_a_folder_of_inputs_by_hand_is_not_replaced(command: Callable[..., Outcome], here: Path) -> None:
    scenario(here, TRACE)
    assert command("run", "mine.toml", "--out", "result", "--no-plots").code == 0
    assert command("run", "mine.toml", "--out", "result", "--no-plots").code == 0
    (here / "result/inputs/mine.csv").write_text("1\n")

    refused = command("run", "mine.toml", "--out", "result", "--no-plots")

    assert refused.code == 2
    assert "inputs/mine.csv" in refused.err


def test_a_provenance_leads_to_no_file_outside(command: Callable[..., Outcome], here: Path) -> None:
    scenario(here, TRACE)
    command("run", "mine.toml", "--out", "result", "--no-plots", "--quiet")
    provenance = json.loads((here / "result/provenance.json").read_text())
    provenance["inputs"][0]["kept"] = "../mine.toml"
    (here / "result/provenance.json").write_text(json.dumps(provenance))

    with pytest.raises(to.ScenarioError, match="no copy of an input"):
        _ = to.Result.load(here / "result").inputs


def test_files_in_memory_are_as_good_as_those_in_a_folder(here: Path) -> None:
    file = scenario(here, TRACE)
    text = file.read_text()
    from_disk = to.Scenario.load(file).run(seed=2)

    files = {"delays/trace.csv": DELAYS.encode(), "fades/trace.csv": FADES.encode()}
    from_memory = to.Scenario.from_toml(text, files=files).run(seed=2)

    assert from_memory.summary == from_disk.summary
    assert from_memory.scenario_toml == from_disk.scenario_toml
    with pytest.raises(to.ScenarioError, match=r"delays/trace\.csv: cannot be read"):
        to.Scenario.from_toml(text, files={}).check()


def test_a_study_of_capacity_has_its_inputs(command: Callable[..., Outcome], here: Path) -> None:
    scenario(here, TRACE)
    arguments = ("capacity", "mine.toml", "--users", "1", "--duration", "1 s", "--out")
    assert command(*arguments, "kept").code == 0
    assert (here / "kept/inputs/trace-2.csv").read_text() == FADES
    shutil.rmtree(here / "fades")

    assert command("check", "kept/scenario.toml").code == 0
    assert command("capacity", "kept/scenario.toml", *arguments[2:], "again").code == 0
    one, other = (json.loads((here / name / "capacity.json").read_text()) for name in ("kept", "again"))
    assert one == other


def test_a_sweep_tells_the_hashes_of_its_inputs(here: Path) -> None:
    scenario(here, TRACE)
    sweep = {"scenario": "mine.toml", "replications": 2, "set": {"duration": "1 s"}}
    found = to.Sweep.from_dict(sweep, base_dir=here).run(jobs=2)

    files = ["delays/trace.csv", "fades/trace.csv"]
    told = [f"{hashlib.sha256((here / file).read_bytes()).hexdigest()} {file}" for file in files]
    assert found.runs["inputs"].to_list() == [told, told]


SWEEP = """
scenario = "mine.toml"
set = { duration = "1 s" }
replications = 2
[[axes]]
name = "fades"
key = "channel.file"
values = ["fades/trace.csv", "fades/other.csv"]
"""


def digests(folder: Path) -> list[str]:
    found: list[str] = to.SweepResult.load(folder).runs["digest"].to_list()
    return found


def test_a_moved_sweep_runs_the_same(command: Callable[..., Outcome], here: Path) -> None:
    scenario(here, TRACE)
    (here / "fades/other.csv").write_text("0,2\n2,0\n")
    (here / "it.sweep.toml").write_text(SWEEP)
    assert command("sweep", "it.sweep.toml", "--out", "made").code == 0
    first = digests(here / "made")

    recorded = json.loads((here / "made/provenance.json").read_text())["inputs"]
    kept = {each["file"]: each["kept"] for each in recorded}
    names = ("delays/trace.csv", "fades/trace.csv", "fades/other.csv")
    assert kept == {name: f"inputs/{name}" for name in names}
    for each in recorded:
        assert each["sha256"] == hashlib.sha256((here / "made" / each["kept"]).read_bytes()).hexdigest()
    for file in ("sweep.toml", "scenario.toml", "provenance.json"):
        assert str(here) not in (here / "made" / file).read_text()
    assert str(here) not in str(to.SweepResult.load(here / "made").runs["inputs"].to_list())
    # Whatever happens to what it was made from.
    (here / "elsewhere").mkdir()
    shutil.move(here / "made", here / "elsewhere/moved")
    shutil.rmtree(here / "delays")
    (here / "fades/trace.csv").write_text("0,300\n")

    assert digests(here / "elsewhere/moved") == first
    again = command("sweep", "elsewhere/moved/sweep.toml", "--out", "again", "--json")
    assert again.code == 0
    assert json.loads(again.out)["warnings"] == []
    assert digests(here / "again") == first
    # What was computed is known, wherever the copies are.
    shutil.copy(here / "elsewhere/moved/store.sqlite", here / "third.sqlite")
    sweep = to.Sweep.load(here / "again/sweep.toml")
    assert sweep.run(store=here / "third.sqlite").progress.computed == 0  # type: ignore[union-attr]

    copy = here / "again/inputs/fades/other.csv"
    before = hashlib.sha256(copy.read_bytes()).hexdigest()
    copy.write_text("0,30\n")
    told = command("sweep", "again/sweep.toml", "--out", "other")
    assert "again/inputs/fades/other.csv has changed since the result was made: its SHA-256 is " in told.err
    assert before in told.err
    assert digests(here / "other") != first


def test_a_sweep_keeps_inputs_from_outside_under_names_within(command: Callable[..., Outcome], here: Path) -> None:
    scenario(here, TRACE)
    shutil.move(here / "fades", here.parent / f"{here.name}-fades")
    text = (here / "mine.toml").read_text().replace("fades/", f"../{here.name}-fades/")
    (here / "mine.toml").write_text(text)
    (here / "it.sweep.toml").write_text(SWEEP.partition("[[axes]]")[0])
    assert command("sweep", "it.sweep.toml", "--out", "made").code == 2
    assert command("sweep", "it.sweep.toml", "--out", "made", "--outside", "--quiet").code == 0
    first = digests(here / "made")
    assert len(first) == 2
    assert command("sweep", "it.sweep.toml", "--out", "made", "--outside", "--resume", "--quiet").code == 0
    shutil.rmtree(here.parent / f"{here.name}-fades")

    assert command("sweep", "made/sweep.toml", "--out", "again", "--quiet").code == 0
    assert digests(here / "again") == first


def test_a_scenario_of_the_project_names_no_input() -> None:
    result = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace({"duration": "1 s"}).run()

    assert result.summary["inputs"] == result.provenance["inputs"] == []
    assert result.inputs == ()
