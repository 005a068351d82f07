"""Scenarios and results as values: equal ones, copies, pickles."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pytest
from polars.testing import assert_frame_equal

import transorbit as to

if TYPE_CHECKING:
    from pathlib import Path

TRACED = {"path": {"kind": "trace", "file": "x.csv"}, "duration": "1 s"}


@pytest.fixture
def traced(here: Path, lab: to.Scenario) -> to.Scenario:
    """A scenario over a file in this folder."""
    (here / "x.csv").write_text("time,delay\n0,0.04\n1,0.05\n")
    return to.Scenario.from_toml(lab.to_toml()).replace(TRACED)


def unpickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 (our own)


def digest(scenario: to.Scenario) -> str:
    return str(scenario.run().numbers["digest"])


def test_scenarios_are_equal_if_they_describe_the_same_run(lab: to.Scenario) -> None:
    assert lab == to.Scenario.from_toml(lab.to_toml())
    assert lab.replace({"seed": 5, "duration": "2000 ms"}) == lab.set("duration=2 s", "seed=5")
    assert lab != lab.replace({"seed": 5})
    assert lab != lab.to_dict()
    with pytest.raises(TypeError, match="unhashable"):
        hash(lab)


def test_files_are_compared_by_what_they_hold(here: Path, traced: to.Scenario) -> None:
    text = traced.to_toml().replace(f"{here}/", "")
    assert to.Scenario.from_toml(text) == traced
    assert to.Scenario.from_toml(text, files={"x.csv": (here / "x.csv").read_bytes()}) == traced
    assert to.Scenario.from_toml(text, files={"x.csv": b"time,delay\n0,0.04\n1,0.06\n"}) != traced
    assert to.Scenario.of(traced.run()) == traced


def test_wrong_scenarios_are_equal_if_they_are_written_alike(lab: to.Scenario) -> None:
    wrong = lab.replace({"duration": "long"})
    assert wrong == lab.replace({"duration": "long"}) == unpickled(wrong)
    assert wrong != lab.replace({"duration": "longer"})
    assert (wrong == lab, lab == wrong) == (False, False)


def test_a_scenario_is_its_own_copy(lab: to.Scenario) -> None:
    assert copy.copy(lab) is lab
    assert copy.deepcopy([lab])[0] is lab


def test_a_pickled_scenario_runs_the_same_elsewhere(
    here: Path, traced: to.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = traced.replace({"seed": 3}).set("flows.0.count=2")
    expected, pickled = digest(changed), pickle.dumps(changed)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    again = pickle.loads(pickled)  # noqa: S301 (our own)
    assert digest(again) == expected
    assert digest(again.replace({"duration": "2 s"})) != expected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(to.Scenario.to_toml, again).result() == again.to_toml()


def test_a_pickle_has_files_in_memory_and_recorded_hashes(traced: to.Scenario, here: Path) -> None:
    result = traced.run()
    of = to.Scenario.of(result)
    (here / "x.csv").unlink()
    assert unpickled(of) == of
    assert digest(unpickled(of)) == result.numbers["digest"]

    result.save("kept", plots=False)
    copied = next((here / "kept/inputs").iterdir())
    copied.write_text("time,delay\n0,0.03\n")
    again = unpickled(to.Scenario.load("kept/scenario.toml"))
    assert "has changed" in " ".join(again.run().numbers["warnings"])


def test_a_pickled_result_is_what_was_kept(here: Path, traced: to.Scenario) -> None:
    result = traced.run(watch=(0, 0.5))
    for again in (unpickled(result), copy.deepcopy(result)):
        assert (again.summary, again.scenario_toml) == (result.summary, result.scenario_toml)
        assert (again.provenance, again.inputs) == (result.provenance, result.inputs)
        for name in ("flows", "series", "events", "packets"):
            assert_frame_equal(getattr(again, name), getattr(result, name))
    result.save("kept", plots=False)
    loaded = unpickled(to.Result.load("kept"))
    loaded.save("again", plots=False)
    for file in ("summary.json", "scenario.toml", "provenance.json"):
        assert (here / "again" / file).read_bytes() == (here / "kept" / file).read_bytes()
    with pytest.raises(ValueError, match="are kept where somebody asks"):
        _ = loaded.events


def test_packets_that_are_not_saved_have_no_pickle(here: Path, lab: to.Scenario) -> None:
    result = lab.replace({"duration": "100 ms", "record.packets": "pcapng"}).run()
    with pytest.raises(TypeError, match=r"Result\.save and Result\.load"):
        pickle.dumps(result)
    result.save("kept", plots=False)
    again = unpickled(to.Result.load("kept"))
    assert {file.name for file in again.captures.values()} == {file.name for file in (here / "kept").glob("*.pcapng")}
