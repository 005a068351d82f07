"""Constellations written for other programs: the scene that Cesium reads, and tables."""

from __future__ import annotations

import json
import math
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import transorbit as to

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Command = Callable[..., Outcome]

TOWNS = {"Toulouse": (43.6, 1.4), "Nairobi": (-1.3, 36.8, 1700.0)}
TLE = """ONE
1 90001U 25001A   25161.00000000  .00000000  00000-0  25000-4 0    03
2 90001  86.4000   0.0000 0002000   5.0000   3.0000 14.34000000    00
"""


# Properties of the CZML Guide (github.com/AnalyticalGraphicsInc/czml-writer/wiki), of the kinds that our scenes have.
GUIDE = {
    "packet": {"id", "name", "version", "clock", "availability", "position", "point", "path", "polyline", "label"},
    "clock": {"interval", "currentTime", "multiplier", "range", "step"},
    "position": {
        *("interpolationAlgorithm", "interpolationDegree", "referenceFrame", "epoch", "cartesian"),
        *("cartographicDegrees",),
    },
    "point": {"show", "pixelSize", "color", "outlineColor", "outlineWidth"},
    "path": {"show", "leadTime", "trailTime", "relativeTo", "width", "resolution", "material"},
    "polyline": {"show", "positions", "arcType", "width", "material"},
    "positions": {"cartesian", "references"},
    "label": {"show", "text", "font", "horizontalOrigin", "pixelOffset", "fillColor"},
    "material": {"solidColor"},
    "solidColor": {"color"},
    "color": {"rgba"},
    "fillColor": {"rgba"},
    "pixelOffset": {"cartesian2"},
}


def read(packets: list[dict[str, Any]]) -> None:
    """As a reader does: a document first, no property that the guide does not know, references that lead somewhere."""

    def check(kind: str, value: dict[str, Any]) -> None:
        assert set(value) <= GUIDE[kind], kind
        for key, part in value.items():
            if isinstance(part, dict):
                check(key, part)
            if key == "rgba":
                assert len(part) == 4
                assert all(0 <= shade <= 255 for shade in part)

    assert json.loads(json.dumps(packets, allow_nan=False)) == packets
    assert (packets[0]["id"], packets[0]["version"]) == ("document", "1.0")
    ids = [packet["id"] for packet in packets]
    assert len(set(ids)) == len(ids)
    for packet in packets:
        check("packet", packet)
        for reference in packet.get("polyline", {}).get("positions", {}).get("references", []):
            name, _, part = reference.partition("#")
            assert (name in ids, part) == (True, "position")
        for interval in [packet.get("availability"), packet.get("clock", {}).get("interval")]:
            if interval:
                begin, end = (datetime.fromisoformat(text) for text in interval.split("/"))
                assert begin < end


def interpolated(samples: np.ndarray, degree: int, at: float) -> np.ndarray:
    """Lagrange's polynomial through the `degree + 1` samples around an instant, as Cesium takes them."""
    first = int(np.searchsorted(samples[:, 0], at)) - (degree + 1) // 2
    first = min(max(first, 0), len(samples) - degree - 1)
    times, places = samples[first : first + degree + 1, 0], samples[first : first + degree + 1, 1:]
    weights = [math.prod((at - other) / (time - other) for other in times if other != time) for time in times]
    result: np.ndarray = np.array(weights) @ places
    return result


@pytest.mark.parametrize("name", ["leo-66", "starlink-shell-1", "o3b", "geo"])
def test_a_scene_is_where_the_satellites_are(name: str) -> None:
    """At the samples to a millimetre, between them to less than a metre, the first and the last ones included."""
    packets = to.constellation.czml(name, start_s=60.0, duration_s=1800.0, links=False)
    read(packets)
    fine = to.constellation.positions(name, start_s=60.0, duration_s=1800.0, step_s=15.0)
    satellites = [packet for packet in packets if packet["id"].startswith("satellite/")]
    assert len(satellites) == fine["satellite"].n_unique()
    for packet in satellites[:: max(len(satellites) // 7, 1)]:
        position = packet["position"]
        assert (position["referenceFrame"], position["epoch"]) == ("FIXED", "2000-01-01T12:00:00Z")
        assert position["interpolationAlgorithm"] == "LAGRANGE"
        samples = np.array(position["cartesian"]).reshape(-1, 4)
        assert (samples[0, 0], samples[-1, 0], len(samples)) == (60.0, 1860.0, 31)
        mine = fine.filter(pl.col("satellite") == int(packet["id"].removeprefix("satellite/")))
        for time, *place in mine.select("time_s", "x_m", "y_m", "z_m").iter_rows():
            off = np.linalg.norm(interpolated(samples, position["interpolationDegree"], time) - place)
            assert off < (2e-3 if time % 60 == 0 else 1.0), (name, time)


def test_a_scene_has_one_clock() -> None:
    packets = to.constellation.czml("leo-66", start_s=30.5, duration_s=600.0, epoch="2026-06-21T14:00:00+02:00")
    clock = packets[0]["clock"]
    assert clock["interval"] == "2026-06-21T12:00:30.500000Z/2026-06-21T12:10:30.500000Z"
    assert clock["currentTime"] == clock["interval"].split("/")[0]
    assert {packet.get("availability") for packet in packets[1:]} == {clock["interval"]}


def test_links_are_shown_while_they_are_on() -> None:
    """As the map of the same instants has them; switched off near the poles, not when the scene begins or ends."""
    packets = to.constellation.czml("leo-66", duration_s=1200.0, step_s=60.0)
    read(packets)
    links = {packet["id"]: packet for packet in packets if packet["id"].startswith("link/")}

    def on(packet: dict[str, Any], seconds: float) -> bool:
        shown = packet["polyline"].get("show", [{"interval": packet["availability"], "boolean": True}])
        for piece in reversed(shown):
            begin, end = (
                datetime.fromisoformat(text).timestamp() - 946728000.0 for text in piece["interval"].split("/")
            )
            if begin <= seconds < end:
                return bool(piece["boolean"])
        raise AssertionError(f"nothing is said of {seconds} s")

    for at in (0.0, 300.0, 1140.0):
        chart = to.constellation.world("leo-66", at_s=at)
        expected = {f"link/{one}-{other}" for one, other in chart.links.iter_rows()}
        assert {name for name, packet in links.items() if on(packet, at + 1.0)} == expected
    assert any(len(packet["polyline"].get("show", [])) > 1 for packet in links.values())
    for packet in links.values():
        assert packet["polyline"]["arcType"] == "NONE"
        for first, second in pairwise(packet["polyline"].get("show", [])):
            assert first["interval"].split("/")[1] == second["interval"].split("/")[0]
            assert first["boolean"] != second["boolean"]


def test_satellites_of_a_file_have_their_date(here: Path) -> None:
    line = TLE.splitlines()
    for i in (1, 2):
        digits = sum(int(c) if c.isdigit() else c == "-" for c in line[i][:68])
        line[i] = line[i][:68] + str(digits % 10)
    (here / "one.tle").write_text("\n".join(line) + "\n")
    packets = to.constellation.czml({"file": "one.tle"}, stations=TOWNS, duration_s=600.0)
    read(packets)
    assert packets[0]["clock"]["interval"] == "2025-06-10T00:00:00Z/2025-06-10T00:10:00Z"
    assert [packet["name"] for packet in packets] == ["constellation", "ONE", "Toulouse", "Nairobi"]
    assert packets[-1]["position"] == {"cartographicDegrees": [36.8, -1.3, 1700.0]}
    with pytest.raises(to.ScenarioError, match="epoch: the satellites of a file have their own, 2025-06-10"):
        to.constellation.czml({"file": "one.tle"}, epoch="2026-01-01")


def test_the_command_writes_both(command: Command, here: Path) -> None:
    (here / "towns.csv").write_text("name,latitude_deg,longitude_deg\nToulouse,43.6,1.4\n")
    done = command(
        *("constellation", "export", "leo-66", "--czml", "out/sky.czml", "--csv", "out/sky.csv"),
        *("--stations", "towns.csv", "--duration", "10 min", "--step", "2 min", "--start", "1 min"),
    )
    assert (done.code, done.err) == (0, "")
    table = pl.read_csv(here / "out/sky.csv", schema_overrides={"name": pl.String})
    whole = to.constellation.positions("leo-66", start_s=60.0, duration_s=600.0, step_s=120.0)
    assert table.columns == ["time_s", "satellite", "name", "x_m", "y_m", "z_m"]
    assert table["x_m"].to_list() == whole["x_m"].to_list()
    packets = json.loads((here / "out/sky.czml").read_text())
    read(packets)
    assert packets[-1]["label"]["text"] == "Toulouse"
    # Fewer samples than the polynomial would like.
    assert {packet["position"]["interpolationDegree"] for packet in packets[1:67]} == {5}
    bare = command(
        "constellation", "export", "leo-66", "--czml", "-", "--no-paths", "--no-links", "--duration", "1 min"
    )
    assert [set(packet) for packet in json.loads(bare.out)[1:3]] == [
        {"id", "name", "availability", "position", "point"},
    ] * 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--czml, --csv: give a file to one of them"),
        (("--czml", "-", "--epoch", "tomorrow"), '--epoch: "tomorrow" is no instant in ISO 8601'),
        (("--csv", "-", "--epoch", "2026-01-01"), "--epoch: is of the scene, which --czml writes"),
        (("--csv", "-", "--stations", "towns.csv"), "--stations: is of the scene, which --czml writes"),
        (("--csv", "-", "--step", "-1 s"), '--step: "-1 s" must be more than zero'),
        (("--csv", "-", "--duration", "0 s"), '--duration: "0 s" must be more than zero'),
        (("--csv", "-", "--duration", "nan s"), '--duration: "nan s" is not a duration'),
        (("--csv", "-", "--duration", "1e30 s"), '--duration: "1e30 s" is too long'),
        (("--csv", "-", "--duration", "1e9 s", "--step", "1 ms"), "--duration: 1000000000 s in steps of 1 ms"),
        (("--czml", "-", "--stations", "none.csv"), "none.csv: No such file"),
    ],
)
def test_what_is_wrong_is_said(command: Command, arguments: tuple[str, ...], says: str) -> None:
    done = command("constellation", "export", "leo-66", *arguments)
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1
