"""Questions to the core from Python: a value that it does not take is told with the name of its argument."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import transorbit as to
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Command = Callable[..., Outcome]

SKY, LMS = to.constellation, {"kind": "lms", "elevation": "40 deg"}
LAB = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml")
TWO = {"A": (43.6, 1.4), "B": (-1.3, 36.8)}
SWEEP = to.Sweep.from_dict({"scenario": "lab-fixed.toml"}, base_dir=ROOT / "scenarios")
WHOLE = "a whole number from 0 to 18446744073709551615 is expected"


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: SKY.positions("leo-66", duration_s="5"), "duration: '5' was given, a number is expected"),
        (lambda: SKY.positions("leo-66", start_s="5"), "start: '5' was given, a number is expected"),
        (lambda: SKY.positions("leo-66", step_s=None), "step: None was given, a number is expected"),
        (lambda: SKY.positions("leo-66", step_s=math.nan), "step: nan was given, a finite number is expected"),
        (lambda: SKY.positions(5), "constellation: 5 was given, a name or a table is expected"),
        (
            lambda: SKY.positions({"preset": "leo-66", "altitude": math.inf}),
            "constellation.altitude: inf was given, a finite number is expected",
        ),
        (lambda: SKY.passes("leo-66", ("a", 0)), 'at: "a" was given, a number is expected'),
        (lambda: SKY.passes("leo-66", (91, 0)), "at.latitude: 91 deg must be between -90 deg and 90 deg"),
        (lambda: SKY.best_elevation("leo-66", (0, 500)), "at.longitude: 500 deg must be between -180 deg and 360"),
        (lambda: SKY.passes("leo-66", (1,)), "at: (1,) was given, 2 values are expected"),
        (lambda: SKY.passes("leo-66", (1, 2, 3)), "at: (1, 2, 3) was given, fewer values are expected"),
        (lambda: SKY.look("leo-66", station=(1,)), "station: (1,) is not (latitude, longitude) nor with an altitude"),
        (lambda: SKY.routes("leo-66", TWO, threads=-1), f"threads: -1 was given, {WHOLE}"),
        (lambda: SKY.routes("leo-66", TWO, metric=3), "metric: 3 was given, a text is expected"),
        (lambda: SKY.routes("leo-66", TWO, forwarding=3), "forwarding: 3 was given, True or False is expected"),
        (lambda: SKY.delay("leo-66", source=5, user=(3, 4)), "source: 5 is not (latitude, longitude)"),
        (lambda: SKY.delay("leo-66", source=(1, 2), user=(3, "b")), "user: 'b' was given, a number is expected"),
        (lambda: SKY.delay("leo-66", source=(1, 2), user=(3, 4), step_s="a"), "step: 'a' was given, a number is"),
        (lambda: SKY.delay("leo-66", source=(1, 2), user=(3, 4), path=5), "path: 5 was given, a table is expected"),
        (lambda: to.channel.generate(LMS, duration_s=1, seed=-1), f"seed: -1 was given, {WHOLE}"),
        (lambda: to.channel.generate(LMS, duration_s=1, seed=2**70), f"seed: {2**70} was given, {WHOLE}"),
        (lambda: to.channel.generate(5, duration_s=1), "channel: 5 was given, a table with `kind`"),
        (lambda: to.channel.generate({"kind": {1}}, duration_s=1), "channel: {'kind': {1}} was given, numbers, texts"),
        (lambda: to.access.datagram_loss("a", 3), "packet_loss: 'a' was given, a number is expected"),
        (lambda: to.access.plr(packets=10), "packets: 10 was given, a list is expected"),
        (lambda: to.access.analysis(losses=[0.1, "a"]), "losses.1: 'a' was given, a number is expected"),
        (lambda: to.capacity(None), "scenario: None was given, a scenario or its file is expected"),
        (lambda: to.capacity(LAB, users=3), "users: 3 was given, a list is expected"),
        (lambda: to.capacity(LAB, schedulers="pf"), "schedulers: 'pf' was given, a list is expected"),
        (lambda: LAB.replace(None), "changes: None was given, a table with texts as keys is expected"),
        (lambda: LAB.replace([("seed", 1)]), "changes: [('seed', 1)] was given, a table with texts as keys is"),
        (lambda: LAB.replace({3: 4}), "changes: {3: 4} was given, a table with texts as keys is expected"),
        (lambda: SWEEP.run(jobs="x"), "jobs: 'x' was given, a whole number from 1 on is expected"),
        (lambda: SWEEP.replace(set=3), "set: must be a table of changes"),
        (lambda: to.Sweep.from_dict(None), "sweep: None was given, a table with texts as keys is expected"),
    ],
)
def test_a_value_of_a_wrong_type_is_told_with_its_name(ask: Callable[[], Any], says: str) -> None:
    with pytest.raises(to.ScenarioError) as refused:
        ask()
    assert str(refused.value).startswith(says)
    assert "line 1 column" not in str(refused.value)


@pytest.mark.parametrize(
    ("carrier_hz", "says"),
    [
        (-12e9, "-1.2e+10 Hz was given, more than 0 Hz is expected"),
        (0, "0 Hz was given, more than 0 Hz is expected"),
        (math.inf, "inf was given, a finite number is expected"),
        ("12 GHz", "'12 GHz' was given, a number is expected"),
    ],
)
def test_a_carrier_is_a_positive_number(carrier_hz: Any, says: str) -> None:
    with pytest.raises(to.ScenarioError) as refused:
        SKY.delay("leo-66", source=(1, 2), user=(3, 4), carrier_hz=carrier_hz)
    assert str(refused.value) == f"carrier: {says}"


def test_numbers_of_numpy_are_numbers() -> None:
    own = SKY.positions("leo-66", duration_s=10, step_s=5)
    assert SKY.positions("leo-66", duration_s=np.int64(10), step_s=np.float32(5)).equals(own)
    assert SKY.passes("leo-66", np.array([0.0, 0.0])).equals(SKY.passes("leo-66", (0, 0)))
    curves = to.access.plr(packets=np.arange(10, 30, 10), bursts=np.int64(100), methods=["crdsa"])
    assert [row["packets_per_block"] for row in curves.rows] == [10, 20]
    study = to.capacity(LAB, users=np.array([1, 2]), duration=0.1, schedulers=("pf",))
    assert sorted({row["users"] for row in study.rows}) == [1, 2]
    changed = LAB.replace({"flows.0.count": np.int64(3), "seed": np.uint8(7)})
    assert changed.to_dict()["flows"][0]["count"] == 3
    assert changed.to_dict()["seed"] == 7


def test_a_path_is_the_name_of_its_file(here: Path) -> None:
    (here / "fades.csv").write_text("0,3\n")
    channel = {"kind": "trace", "file": here / "fades.csv", "reference_snr": "15 dB"}
    assert LAB.replace({"channel": channel}).to_dict()["channel"]["file"] == str(here / "fades.csv")
    assert to.channel.generate(channel, duration_s=1)["attenuation_db"][0] == 3
    with pytest.raises(to.ScenarioError, match=r"^constellation.file: .*none.tle: "):
        SKY.positions({"file": here / "none.tle"}, duration_s=1)


@pytest.mark.parametrize("seed", [2**63, 2**64, -1, 1.5, "3", True])
def test_a_seed_that_is_none_is_told_with_what_is_allowed(seed: Any) -> None:
    says = f"seed: {seed!r} was given, a whole number from 0 to {2**63 - 1} is expected"
    asks: list[Callable[[], Any]] = [
        lambda: LAB.replace({"seed": seed}),
        lambda: LAB.run(seed=seed),
        lambda: LAB.identity(seed),
        lambda: to.capacity(LAB, seed=seed),
        lambda: to.access.plr(seed=seed),
    ]
    for ask in asks:
        with pytest.raises(to.ScenarioError) as refused:
            ask()
        assert str(refused.value) == says


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (2**63, f"flows.0.count: {2**63} was given: a whole number is at most {2**63 - 1}"),
        ({"sizes": [1, 10**30]}, f"flows.0.count.sizes.1: {10**30} was given: a whole number is at most {2**63 - 1}"),
        (-(10**30), f"flows.0.count: {-(10**30)} was given: a whole number is at least {-(2**63)}"),
    ],
)
def test_a_whole_number_without_room_is_told(value: Any, says: str) -> None:
    with pytest.raises(to.ScenarioError) as refused:
        LAB.replace({"flows.0.count": value})
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ({1: (0, 0)}, "1 was given, a name in one line is expected"),
        ({"": (0, 0)}, "'' was given, a name in one line is expected"),
        ({"A\n": (0, 0)}, "'A\\n' was given, a name in one line is expected"),
        ({"A": ("x", 0)}, "A: 'x' was given, a number is expected"),
        ({"A": (math.nan, 2)}, "A: nan was given, a finite number is expected"),
        ({"A": 5}, "A: 5 is not (latitude, longitude) nor with an altitude"),
        ({"A": (1, 2), "B": (95, 2)}, "B: latitude_deg: 95.0 must be between -90 and 90"),
        ([(1, 2)], "[(1, 2)] was given, a file or names with places are expected"),
    ],
)
def test_a_station_that_is_none_is_told_with_its_name(places: Any, says: str) -> None:
    for ask in (SKY.stations, lambda given: SKY.routes("leo-66", given)):
        with pytest.raises(to.ScenarioError) as refused:
            ask(places)
        assert str(refused.value) == f"stations: {says}"


def test_a_file_of_stations_is_told_with_its_line(here: Path, command: Command) -> None:
    (here / "s.csv").write_text("name,latitude_deg,longitude_deg\nA,1,2\nB,x,2\n")
    says = 's.csv: line 3: latitude_deg: "x" is not a number'
    with pytest.raises(to.ScenarioError, match=f"^stations: {says}$"):
        SKY.stations("s.csv")
    for question in (("routes",), ("show", "--csv", "-"), ("export", "--czml", "-")):
        done = command("constellation", question[0], "leo-66", "--stations", "s.csv", *question[1:])
        assert (done.code, done.err) == (2, f"transorbit: --stations: {says}\n")


def test_a_file_that_is_no_utf_8_is_told_once_with_its_line(here: Path, command: Command) -> None:
    (here / "lat.csv").write_bytes("name,latitude_deg,longitude_deg\nA,1,2\nOrléans,47.9,1.9\n".encode("latin-1"))
    says = "lat.csv: line 3: not a text file in UTF-8 (invalid continuation byte)"
    for question in (("routes",), ("show", "--csv", "-"), ("delay", "--from", "A", "--to", "1,2")):
        done = command("constellation", question[0], "leo-66", "--stations", "lat.csv", *question[1:])
        assert (done.code, done.err) == (2, f"transorbit: --stations: {says}\n")


@pytest.mark.parametrize("route", [("A",), "AB", 5, ("A", "B", "A")])
def test_a_route_has_two_ends(route: Any) -> None:
    with pytest.raises(to.ScenarioError, match=r"^route: .* was given, the names of two stations are expected"):
        SKY.world("leo-66", stations=TWO, route=route)
