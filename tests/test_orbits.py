"""Where satellites are and how long light takes to them, against Skyfield, SGP4's own code and an integration."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sgp4
from scipy.integrate import solve_ivp
from sgp4.api import WGS72, Satrec
from sgp4.exporter import export_omm, export_tle
from skyfield.api import EarthSatellite, load, wgs84
from skyfield.framelib import itrs

import transorbit as to
from transorbit import constellation

if TYPE_CHECKING:
    from collections.abc import Callable

TIMESCALE = load.timescale(builtin=True)
STATIONS = [
    (43.6, 1.44, 150.0),
    (-36.85, 174.76, 0.0),
    (64.15, -21.94, 61.0),
    (0.0, -78.5, 2850.0),
    (-77.85, 166.67, 10.0),
]

# Made up, one for each kind of orbit: name, revolutions per day, eccentricity, inclination, B*.
ORBITS = [
    ("LEO NEAR-POLAR", 14.34, 0.0002, 86.4, 2.5e-5),
    ("LEO INCLINED", 15.05, 0.00015, 53.05, 4e-4),
    ("STATION", 15.5, 0.0005, 51.64, 1e-4),
    ("RETROGRADE", 14.2, 0.001, 98.6, 5e-5),
    ("MEO EQUATORIAL", 5.0007, 0.0004, 0.04, 0.0),
    ("GPS", 2.0056, 0.006, 55.1, 0.0),
    ("MOLNIYA", 2.006, 0.72, 63.4, 1e-4),
    ("GEO", 1.0027, 0.0003, 0.03, 0.0),
]
# 2025-06-10T00:00:00, in days since 1949-12-31.
DAY = 27_555.0


def satellites() -> list[Satrec]:
    made = []
    for i, (_, motion, eccentricity, inclination, drag) in enumerate(ORBITS):
        record = Satrec()
        per_minute = motion * math.tau / 1440.0
        record.sgp4init(
            WGS72, "i", 90_001 + i, DAY + 0.1 * i, drag, 0.0, 0.0, eccentricity,
            math.radians(40.0 * i), math.radians(inclination), math.radians(77.0 * i + 5.0) % math.tau, per_minute,
            math.radians(50.0 * i + 3.0) % math.tau,
        )  # fmt: skip
        made.append(record)
    # As whoever reads the file will know them, with the digits that fit.
    for record in made:
        record.intldesg = "25001A"
    return [Satrec.twoline2rv(*export_tle(record)) for record in made]


def write_tle(folder: Path, records: list[Satrec], names: list[str]) -> dict[str, Any]:
    lines = [line for name, record in zip(names, records, strict=True) for line in (name, *export_tle(record))]
    (folder / "sky.tle").write_text("\n".join(lines) + "\n")
    return {"file": "sky.tle"}


@pytest.fixture
def sky(tmp_path: Path) -> dict[str, Any]:
    return write_tle(tmp_path, satellites(), [orbit[0] for orbit in ORBITS])


def skyfield_times(epoch: str, seconds: np.ndarray) -> Any:
    date, clock = epoch.split("T")
    year, month, day = map(int, date.split("-"))
    hour, minute, second = clock.split(":")
    return TIMESCALE.utc(year, month, day, int(hour), int(minute), float(second) + seconds)


def matrix(table: Any, columns: list[str], count: int) -> np.ndarray:
    """Instant, satellite, column."""
    values: np.ndarray = table.select(columns).to_numpy().reshape(-1, count, len(columns))
    return values


def test_positions_are_within_a_kilometre_of_skyfield(sky: dict[str, Any], tmp_path: Path) -> None:
    """Over a day, fixed to the Earth: SGP4 is the same, and Skyfield knows UT1. What is left are tens of metres."""
    table = constellation.positions(sky, duration_s=86_400.0, step_s=600.0, base_dir=tmp_path)
    found = matrix(table, ["x_m", "y_m", "z_m"], len(ORBITS))
    times = skyfield_times(constellation.epoch(sky, base_dir=tmp_path) or "", np.arange(145) * 600.0)

    assert table.columns == ["time_s", "satellite", "name", "x_m", "y_m", "z_m"]
    assert table["name"].to_list()[: len(ORBITS)] == [orbit[0] for orbit in ORBITS]
    assert found.shape == (145, len(ORBITS), 3)
    for i, record in enumerate(satellites()):
        expected = EarthSatellite.from_satrec(record, TIMESCALE).at(times).frame_xyz(itrs).m.T
        off = np.linalg.norm(found[:, i] - expected, axis=1).max()
        # 40 ms of UT1 turn the Earth by 3 microradians: 120 m at the geostationary distance.
        assert off < (300.0 if ORBITS[i][1] < 3.0 else 100.0), ORBITS[i][0]


def test_every_case_of_the_verification_set_is_followed(tmp_path: Path) -> None:
    """SGP4's published cases, each at its epoch and after 0 to 6 h: to a centimetre, but for the turn of the Earth."""
    lines = [line[:69] for line in (Path(sgp4.__file__).parent / "SGP4-VER.TLE").read_text().splitlines()]
    pairs = [pair for pair in pairwise(lines) if pair[0].startswith("1 ") and pair[1].startswith("2 ")]
    assert len(pairs) > 30
    followed = 0
    for first, second in pairs:
        record = Satrec.twoline2rv(first, second)
        minutes = np.arange(7) * 60.0
        states = [record.sgp4_tsince(float(minute)) for minute in minutes]
        if record.error or any(code or np.linalg.norm(place) < 6_478.0 for code, place, _ in states):
            continue  # those that are there to fail, or come down
        (tmp_path / "one.tle").write_text(f"{first}\n{second}\n")
        try:
            table = constellation.positions({"file": "one.tle"}, duration_s=21_600.0, step_s=3_600.0, base_dir=tmp_path)
        except to.ScenarioError as error:
            # The lines of a few are not those of a catalogue: no checksum, or an angle out of its range.
            assert "checksum" in str(error) or "must be" in str(error)  # noqa: PT017
            continue
        found = matrix(table, ["x_m", "y_m", "z_m"], 1)[:, 0]
        expected = np.array([place for _, place, _ in states]) * 1e3
        # Distances from the axis and above the equator do not turn.
        off_axis = np.abs(np.hypot(*found[:, :2].T) - np.hypot(*expected[:, :2].T))
        assert max(off_axis.max(), np.abs(found[:, 2] - expected[:, 2]).max()) < 1e-2, first
        followed += 1
    assert followed > 20


def as_kvn(entries: list[dict[str, Any]]) -> str:
    messages = [[("CCSDS_OMM_VERS", "2.0"), *entry.items()] for entry in entries]
    return "\n".join(f"{key} = {value}" for message in messages for key, value in message)


def as_csv(entries: list[dict[str, Any]]) -> str:
    return "\n".join([",".join(entries[0]), *(",".join(map(str, entry.values())) for entry in entries)])


def as_xml(entries: list[dict[str, Any]]) -> str:
    bodies = ["".join(f"<{key}>{value}</{key}>" for key, value in entry.items()) for entry in entries]
    return f"<ndm>{''.join(f'<omm><body>{body}</body></omm>' for body in bodies)}</ndm>"


@pytest.mark.parametrize("write", [json.dumps, as_csv, as_kvn, as_xml])
@pytest.mark.usefixtures("sky")
def test_every_form_of_the_message_puts_satellites_in_the_same_place(
    write: Callable[[list[dict[str, Any]]], str], tmp_path: Path
) -> None:
    entries = [export_omm(record, orbit[0]) for record, orbit in zip(satellites(), ORBITS, strict=True)]
    (tmp_path / "sky.omm").write_text(write(entries))
    found, expected = (
        matrix(
            constellation.positions({"file": name}, duration_s=3_600.0, step_s=600.0, base_dir=tmp_path),
            ["x_m", "y_m", "z_m"],
            len(ORBITS),
        )
        for name in ("sky.omm", "sky.tle")
    )

    # Epochs are to a microsecond in one and to 1e-8 days in the other, 0.9 ms.
    assert np.linalg.norm(found - expected, axis=2).max() < 10.0


@pytest.mark.parametrize("station", STATIONS)
def test_look_angles_are_those_of_skyfield(
    station: tuple[float, float, float], sky: dict[str, Any], tmp_path: Path
) -> None:
    """To 0.01 degree wherever a satellite is above the horizon, over a day."""
    table = constellation.look(sky, station=station, duration_s=86_400.0, step_s=300.0, base_dir=tmp_path)
    found = matrix(table, ["azimuth_deg", "elevation_deg", "range_m"], len(ORBITS))
    times = skyfield_times(constellation.epoch(sky, base_dir=tmp_path) or "", np.arange(289) * 300.0)
    place = wgs84.latlon(station[0], station[1], elevation_m=station[2])
    seen = 0
    for i, record in enumerate(satellites()):
        elevation, azimuth, distance = (EarthSatellite.from_satrec(record, TIMESCALE) - place).at(times).altaz()
        up = elevation.degrees > 0.0
        seen += up.sum()
        around = (found[:, i, 0] - azimuth.degrees + 180.0) % 360.0 - 180.0
        # Near the zenith azimuth means little: it counts as far as it moves the antenna.
        across = around * np.cos(elevation.radians)
        assert np.abs(across[up]).max(initial=0.0) < 0.01
        assert np.abs(found[up, i, 1] - elevation.degrees[up]).max(initial=0.0) < 0.01
        assert np.abs(found[up, i, 2] - distance.m[up]).max(initial=0.0) < 300.0
    assert seen > 200


MU, EARTH, OBLATENESS = 3.986004418e14, 6_378_137.0, 1.082626173852e-3
RATE = 7.292115e-5


def disturbed(radius: float, inclination: float, node: float, latitude: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of a circular mean orbit with the oscillation that J2 adds.

    The short-period terms for an eccentricity of zero, as in Spacetrack Report #3 (section 6) with k2 = J2 R^2 / 2.
    """
    k = 0.5 * OBLATENESS * EARTH**2 / radius
    sin, cos = math.sin(inclination), math.cos(inclination)
    motion = math.sqrt(MU / radius**3)
    r = radius - 1.5 * k * (3 * cos**2 - 1) + 0.5 * k * sin**2 * math.cos(2 * latitude)
    u = latitude - 0.25 * k / radius * (7 * cos**2 - 1) * math.sin(2 * latitude)
    node += 1.5 * k / radius * cos * math.sin(2 * latitude)
    inclination += 1.5 * k / radius * sin * cos * math.cos(2 * latitude)
    up = -motion * k * sin**2 * math.sin(2 * latitude)
    ahead = motion * radius + motion * k * (sin**2 * math.cos(2 * latitude) + 1.5 * (3 * cos**2 - 1))
    along = np.array([math.cos(node), math.sin(node), 0.0])
    across = np.array(
        [-math.sin(node) * math.cos(inclination), math.cos(node) * math.cos(inclination), math.sin(inclination)]
    )
    radial = along * math.cos(u) + across * math.sin(u)
    return r * radial, up * radial + ahead * (across * math.cos(u) - along * math.sin(u))


def pull(_: float, state: np.ndarray) -> np.ndarray:
    """Newton's law with the second zonal harmonic."""
    x, y, z = state[:3]
    r = math.sqrt(x * x + y * y + z * z)
    flat = 1.5 * OBLATENESS * (EARTH / r) ** 2
    k, s = -MU / r**3, 5 * (z / r) ** 2
    return np.array(
        [*state[3:], k * x * (1 + flat * (1 - s)), k * y * (1 + flat * (1 - s)), k * z * (1 + flat * (3 - s))]
    )


@pytest.mark.parametrize("name", ["leo-66", "starlink-shell-1", "o3b"])
def test_drift_is_that_of_an_integration_with_j2(name: str) -> None:
    """Walker positions with J2 against a numerical integration over a day.

    The secular terms leave the oscillation within a revolution out. Its amplitudes are at most 3 k towards the centre
    and 1.5 k along the orbit with k = J2 R^2 / 2a, together less than 4 k: 12 km low above the Earth. With the
    oscillation put in by hand, what remains is of second order: J2^2 is a millionth of the day's 650,000 km. Without
    the drift it would be hundreds of km.
    """
    step = 1200.0
    places = {}
    for j2 in (True, False):
        table = constellation.positions({"preset": name, "j2": j2}, duration_s=86_400.0, step_s=step)
        count = int(table["satellite"].max()) + 1
        places[j2] = matrix(table, ["x_m", "y_m", "z_m"], count)
    turn = RATE * step * np.arange(places[True].shape[0])
    zero, cos, sin = 0 * turn, np.cos(turn), np.sin(turn)
    rotation = np.array([[cos, -sin, zero], [sin, cos, zero], [zero, zero, 1 + zero]])
    inertial = {j2: np.einsum("abt,tsb->tsa", rotation, place) for j2, place in places.items()}
    for satellite in (0, count // 3):
        ours = inertial[True][:, satellite]
        radius = float(np.linalg.norm(ours[0]))
        # The mean elements at each instant, from where we say it is.
        following = np.cross(inertial[False][0, satellite], velocity_of(inertial[False][:, satellite], step, radius))
        normal = following / np.linalg.norm(following)
        inclination = math.acos(min(1.0, normal[2]))
        node = math.atan2(normal[0], -normal[1]) if inclination > 1e-6 else 0.0
        ahead = np.array(
            [-math.sin(node) * math.cos(inclination), math.cos(node) * math.cos(inclination), math.sin(inclination)]
        )
        latitude = math.atan2(ours[0] @ ahead, ours[0] @ np.array([math.cos(node), math.sin(node), 0.0]))
        start = np.concatenate(disturbed(radius, inclination, node, latitude))
        times = step * np.arange(len(ours))
        path = solve_ivp(pull, (0.0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-4).y[:3].T

        off = np.linalg.norm(ours - path, axis=1)
        assert off.max() < 2 * OBLATENESS * EARTH**2 / radius
        without = np.linalg.norm(inertial[False][:, satellite] - path, axis=1)
        assert without.max() > 200_000.0
        # The drift itself: with the oscillation taken out, at the end.
        k = 1.5 * OBLATENESS * (EARTH / radius) ** 2 * math.sqrt(MU / radius**3)
        drifted = (
            node - k * math.cos(inclination) * times[-1],
            latitude + (math.sqrt(MU / radius**3) + k * (4 * math.cos(inclination) ** 2 - 1)) * times[-1],
        )
        mean = disturbed(radius, inclination, *drifted)[0]
        assert np.linalg.norm(mean - path[-1]) < 1_000.0


def velocity_of(places: np.ndarray, step: float, radius: float) -> np.ndarray:
    """The velocity at the first of several places on an undisturbed circle."""
    angle = math.sqrt(MU / radius**3) * step
    velocity: np.ndarray = (places[1] - places[0] * math.cos(angle)) / math.sin(angle)
    return velocity


LIGHT = 299_792_458.0


@pytest.mark.parametrize(("name", "handover"), [("leo-66", "keep-until-mask"), ("o3b", "shortest-path")])
def test_a_route_takes_as_long_as_light(name: str, handover: str) -> None:
    """Up, over at most one link and down: the sum of the distances over c, to 1 microsecond."""
    ends = [(43.6, 1.44), (30.0, 31.2)]
    delays = constellation.delay(name, source=ends[0], user=ends[1], duration_s=7_200.0, step_s=60.0, handover=handover)
    table = constellation.positions(name, duration_s=7_200.0, step_s=60.0)
    places = matrix(table, ["x_m", "y_m", "z_m"], int(table["satellite"].max()) + 1)
    stations = [wgs84.latlon(*end).itrs_xyz.m for end in ends]
    checked = set()
    for row, place in zip(delays.iter_rows(named=True), places, strict=True):
        if row["hops"] is not None and row["hops"] <= 1:
            way = [stations[0], place[int(row["source_satellite"])], place[int(row["user_satellite"])], stations[1]]
            expected = sum(np.linalg.norm(b - a) for a, b in pairwise(way)) / LIGHT
            assert abs(row["one_way_delay_s"] - expected) < 1e-6
            checked.add(row["hops"])
    assert checked == ({0.0, 1.0} if name == "leo-66" else {0.0})


SCENARIO = """
title    = "a file of elements"
duration = "60 s"

[path]
kind          = "constellation"
constellation = { file = "geo.tle", minimum_elevation = "5 deg" }
handover      = "shortest-path"
source        = { latitude = "43.6 deg", longitude = "1.44 deg" }
user          = { latitude = "30 deg", longitude = "31.2 deg" }

[channel]
kind = "clear"

[last_hop]
rate       = "1 Mbit/s"
delay      = "orbit"
scheduler  = { kind = "droptail", buffer = "1 bdp" }
harq       = { kind = "none" }
reordering = { enabled = false }

[[flows]]
count     = 1
transport = { kind = "tcp", congestion = "cubic" }
traffic   = { kind = "bulk" }
"""


def above_africa() -> Satrec:
    """A geostationary satellite that both ends see."""
    record = Satrec()
    record.sgp4init(
        WGS72, "i", 99_999, DAY, 0.0, 0.0, 0.0, 0.0003, 0.0, math.radians(0.05), 0.0, 1.0027 * math.tau / 1440.0,
        (TIMESCALE.utc(2025, 6, 10).gmst / 24.0 * math.tau + math.radians(13.0)) % math.tau,
    )  # fmt: skip
    return Satrec.twoline2rv(*export_tle(record))


def test_a_run_over_a_file_has_the_delay_of_skyfield(tmp_path: Path) -> None:
    record = above_africa()
    write_tle(tmp_path, [record], ["AFRICA"])
    (tmp_path / "sky.tle").rename(tmp_path / "geo.tle")
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    result = to.Scenario.load(tmp_path / "scenario.toml").run()
    assert constellation.epoch({"file": "geo.tle"}, base_dir=tmp_path) == "2025-06-10T00:00:00"

    times = skyfield_times("2025-06-10T00:00:00", np.array([0.0, 60.0]))
    satellite = EarthSatellite.from_satrec(record, TIMESCALE)
    ranges = [(satellite - wgs84.latlon(*end)).at(times).distance().m for end in [(43.6, 1.44), (30.0, 31.2)]]
    delays = sorted(sum(ranges) / LIGHT)
    assert abs(result.summary["path"]["one_way_delay_min_s"] - delays[0]) < 1e-6
    assert abs(result.summary["path"]["one_way_delay_max_s"] - delays[1]) < 1e-6
    assert result.summary["warnings"] == []

    near = to.Scenario.load(tmp_path / "scenario.toml").set("last_hop.delay=10 ms").run()
    assert near.summary["warnings"][0].startswith("last_hop.delay: packets take 10 ms")

    late = SCENARIO.replace('file = "geo.tle"', 'file = "geo.tle", epoch = "2025-06-30T00:00:00"')
    (tmp_path / "scenario.toml").write_text(late)
    warnings = to.Scenario.load(tmp_path / "scenario.toml").run().summary["warnings"]
    assert warnings == ["the elements of AFRICA are used up to 20 days from their epoch: trust them for 14"]


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (("geo.tle", "none.tle"), "path.constellation.file: none.tle: cannot be read"),
        (
            ("geo.tle", "bad.tle"),
            "path.constellation.file: bad.tle: line 2: the checksum is 0, but the line adds up to",
        ),
        (("geo.tle", "text.txt"), "path.constellation.file: text.txt: holds neither two-line elements nor an OMM"),
        (('file = "geo.tle"', 'file = "geo.tle", epoc = "2025-06-10"'), "path.constellation.epoc: is an unknown key"),
        (('file = "geo.tle"', 'file = "geo.tle", links = "mesh"'), "path.constellation.links: "),
        (
            ('file = "geo.tle"', 'file = "geo.tle", links = "plus-grid"'),
            'path.constellation.links: "plus-grid" needs planes',
        ),
        (('{ file = "geo.tle", minimum_elevation = "5 deg" }', '"leo66"'), "did you mean"),
        (('file = "geo.tle"', 'preset = "geo", planet = 3'), "path.constellation.planet: is an unknown key"),
        (('file = "geo.tle"', 'geometry = "delta", planet = 3'), "path.constellation.planet: is an unknown key"),
        (('file = "geo.tle"', 'file = "geo.tle", epoch = "tomorrow"'), "must be an instant of UTC"),
    ],
)
def test_what_is_wrong_with_a_constellation_is_told(edit: tuple[str, str], complaint: str, tmp_path: Path) -> None:
    write_tle(tmp_path, [above_africa()], ["AFRICA"])
    text = (tmp_path / "sky.tle").read_text()
    (tmp_path / "sky.tle").rename(tmp_path / "geo.tle")
    lines = text.splitlines()
    spoilt = lines[1][:20] + str((int(lines[1][20]) + 1) % 10) + lines[1][21:68] + "0"
    (tmp_path / "bad.tle").write_text("\n".join([lines[0], spoilt, lines[2]]))
    (tmp_path / "text.txt").write_text("not\nthis\n")
    (tmp_path / "scenario.toml").write_text(SCENARIO.replace(*edit))

    with pytest.raises(to.ScenarioError) as told:
        to.Scenario.load(tmp_path / "scenario.toml").run()
    assert complaint in str(told.value)


def test_a_satellite_that_comes_down_is_named(tmp_path: Path) -> None:
    record = Satrec()
    record.sgp4init(
        WGS72, "i", 99_998, DAY, 0.01, 0.0, 0.0, 0.001, 0.0, math.radians(51.0), 0.0, 16.3 * math.tau / 1440.0, 0.0
    )
    write_tle(tmp_path, [record], ["FALLING"])
    week = {"duration_s": 7 * 86_400.0, "step_s": 3_600.0, "base_dir": tmp_path}

    with pytest.raises(to.ScenarioError, match=r"constellation\.file: FALLING: .* at 2025-06-1\dT.*: take it out"):
        constellation.positions({"file": "sky.tle"}, **week)


def test_users_pairs_are_linked(tmp_path: Path, sky: dict[str, Any]) -> None:
    """A file of pairs is read beside the scenario, and its errors name the line."""
    (tmp_path / "pairs.csv").write_text("from,to\nGEO,GPS\nGPS,MOLNYA\n")
    with pytest.raises(to.ScenarioError, match=r"links\.pairs: pairs\.csv: line 3: .*MOLNYA.*did you mean MOLNIYA"):
        constellation.positions({**sky, "links": {"pairs": "pairs.csv"}}, duration_s=0.0, base_dir=tmp_path)
