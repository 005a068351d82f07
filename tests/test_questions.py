"""Questions to the core from Python: a value that it does not take is told with the name of its argument."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import transorbit as to

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Command = Callable[..., Outcome]

SKY, LMS = to.constellation, {"kind": "lms", "elevation": "40 deg"}
TWO = {"A": (43.6, 1.4), "B": (-1.3, 36.8)}
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
