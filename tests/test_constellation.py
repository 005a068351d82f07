"""Routes between many stations, delays, coverage, passes and maps, against plain arithmetic of the test's own."""

from __future__ import annotations

import itertools
import json
import math
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from towns import CSV, TOWNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Command = Callable[..., Outcome]

# WGS 84.
MU, RADIUS, FLATTENING, ROTATION, LIGHT = 3.986004418e14, 6378137.0, 1 / 298.257223563, 7.292115e-5, 299792458.0


def satellite(number: int, seconds: float) -> tuple[float, ...]:
    """Where a satellite of leo-66 is, fixed to the Earth."""
    a = RADIUS + 800e3
    plane, k = divmod(number, 11)
    u = math.tau * (k + 0.5 * (plane % 2)) / 11 + math.sqrt(MU / a**3) * seconds
    node = math.radians(LEO_66["first_node"] + LEO_66["spacing"] * plane) - ROTATION * seconds
    i = math.radians(LEO_66["inclination"])
    x, y, z = math.cos(u), math.sin(u) * math.cos(i), math.sin(u) * math.sin(i)
    return tuple(a * c for c in (x * math.cos(node) - y * math.sin(node), x * math.sin(node) + y * math.cos(node), z))


def ground(latitude: float, longitude: float, height: float = 0.0) -> tuple[float, ...]:
    lat, lon = math.radians(latitude), math.radians(longitude)
    e2 = FLATTENING * (2 - FLATTENING)
    n = RADIUS / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    flat = (n + height) * math.cos(lat)
    return (flat * math.cos(lon), flat * math.sin(lon), (n * (1 - e2) + height) * math.sin(lat))


LEO_66: dict[str, float] = {}


@pytest.fixture(autouse=True, scope="module")
def parameters() -> None:
    """The preset's own parameters, from its file."""
    import tomllib

    from conftest import ROOT

    text = (ROOT / "crates/orbit/presets/leo-66.toml").read_text()
    table = tomllib.loads(text)["constellation"]
    assert (table["planes"], table["satellites_per_plane"], table["altitude"]) == (6, 11, "800 km")
    assert table.get("phasing", 0.5) == 0.5
    keys = {"first_node": "first_node", "spacing": "node_spacing", "inclination": "inclination"}
    LEO_66.update({name: float(table[key].removesuffix("deg")) for name, key in keys.items()})


@pytest.mark.parametrize("metric", ["delay", "hops"])
def test_the_delay_of_a_route_is_its_length_over_the_speed_of_light(metric: str) -> None:
    found = to.constellation.routes(
        "leo-66", TOWNS, duration_s=600, step_s=20, metric=metric, forwarding=True, threads=2
    )
    nodes = {station["name"]: station["node"] for station in found.report["stations"]}
    names = {node: name for name, node in nodes.items()}
    changes = found.forwarding().collect().rows_by_key("time_s", named=True)
    table: dict[tuple[int, str], int | None] = {}
    checked = 0
    for row in found.routes().collect().iter_rows(named=True):
        for change in changes.pop(row["time_s"], []):
            table[change["node"], change["to"]] = change["next_hop"]
        for one, other in ((row["from"], row["to"]), (row["to"], row["from"])):
            way = [nodes[one]]
            while way[-1] != nodes[other]:
                step = table[way[-1], other]
                assert step is not None
                way.append(step)
            places = [ground(*TOWNS[names[node]]) if node in names else satellite(node, row["time_s"]) for node in way]
            length = sum(math.dist(a, b) for a, b in itertools.pairwise(places))
            assert abs(length / LIGHT - row["one_way_delay_s"]) < 1e-6
            assert len(way) - 3 == row["hops"]
            checked += 1
    assert checked == 31 * 6 * 2
    assert not changes


def test_all_pairs_are_the_pairs_one_by_one() -> None:
    places = {name: place[:2] for name, place in TOWNS.items()}
    found = to.constellation.routes("starlink-shell-1", places, duration_s=30, step_s=2)
    for one, source in places.items():
        for other, user in places.items():
            if one == other:
                continue
            alone = to.constellation.delay(
                "starlink-shell-1", source=source, user=user, duration_s=30, step_s=2, handover="shortest-path"
            )
            together = found.between(one, other)
            assert together.height == 16
            assert (alone["one_way_delay_s"] - together["one_way_delay_s"]).abs().max() <= 1e-9
            for mine, theirs in (
                ("hops", "hops"),
                ("first_satellite", "source_satellite"),
                ("last_satellite", "user_satellite"),
            ):
                assert together[mine].equals(alone[theirs])
    back = found.between("Auckland", "Toulouse")
    assert back["one_way_delay_s"].equals(found.between("Toulouse", "Auckland")["one_way_delay_s"])


def test_delays_of_routes_with_the_nearest_satellites_are_no_shorter() -> None:
    kept = {
        access: to.constellation.routes("starlink-shell-1", TOWNS, duration_s=20, step_s=1, access=access).pairs
        for access in ("all", "nearest")
    }
    assert (kept["nearest"]["delay_mean_s"] >= kept["all"]["delay_mean_s"]).all()
    assert (kept["nearest"]["delay_mean_s"] > kept["all"]["delay_mean_s"]).any()


def test_a_folder_is_the_same_for_any_number_of_threads(command: Command, here: Path) -> None:
    (here / "towns.csv").write_text(CSV)
    for threads in ("1", "3"):
        done = command(
            *("constellation", "routes", "leo-66", "--stations", "towns.csv", "--duration", "20 s", "--step", "250 ms"),
            *("--threads", threads, "--forwarding", "--out", f"by-{threads}"),
        )
        assert done.code == 0, done.err
        assert "6 pairs, 81 instants" in done.out
    files = sorted(path.relative_to(here / "by-1") for path in (here / "by-1").rglob("*") if path.is_file())
    assert [str(file) for file in files] == [
        "forwarding/part-00000.parquet",
        "pairs.parquet",
        "provenance.json",
        "routes/part-00000.parquet",
        "routes.json",
    ]
    for file in files:
        if file.name != "provenance.json":
            assert (here / "by-1" / file).read_bytes() == (here / "by-3" / file).read_bytes(), file
    loaded = to.constellation.Routes.load("by-1")
    memory = to.constellation.routes("leo-66", "towns.csv", duration_s=20, step_s=0.25, forwarding=True)
    assert loaded.routes().collect().equals(memory.routes().collect())
    assert loaded.forwarding().collect().equals(memory.forwarding().collect())
    assert loaded.pairs.equals(memory.pairs)
    plain = pl.read_parquet("by-1/routes/*.parquet")
    assert plain.columns == [
        *("time_s", "from", "to", "one_way_delay_s", "hops", "first_satellite", "last_satellite"),
    ]
    assert plain.height == loaded.report["route_rows"] == 81 * 6


def test_a_folder_replaces_routes_and_nothing_else(command: Command, here: Path) -> None:
    (here / "towns.csv").write_text(CSV)
    arguments = ("constellation", "routes", "leo-66", "--stations", "towns.csv", "--duration", "1 s", "--out", "kept")
    assert command(*arguments, "--forwarding").code == 0
    other = command(*arguments, "--quiet")
    assert (other.code, other.out) == (2, "")
    assert "--force" in other.err
    assert (here / "kept/forwarding").exists()
    replaced = command(*arguments, "--quiet", "--force")
    assert (replaced.code, replaced.out) == (0, "")
    assert not (here / "kept/forwarding").exists()
    (here / "kept/mine.txt").write_text("mine")
    refused = command(*arguments)
    assert refused.code == 2
    assert "holds mine.txt" in refused.err


def test_csv_and_json(command: Command, here: Path) -> None:
    (here / "towns.csv").write_text(CSV)
    arguments = (
        "constellation",
        "routes",
        "leo-66",
        "--stations",
        "towns.csv",
        "--duration",
        "100 ms",
        "--step",
        "50 ms",
    )
    lines = command(*arguments, "--csv", "-").out.splitlines()
    assert lines[0] == "time_s,from,to,one_way_delay_s,hops,first_satellite,last_satellite"
    assert len(lines) == 1 + 3 * 6
    report = json.loads(command(*arguments, "--csv", "x.csv", "--json").out)
    assert (report["instants"], report["satellites"], report["stations"][3]["node"]) == (3, 66, 69)
    assert not (here / "results").exists()


def test_memory_holds_a_batch_and_not_the_duration(here: Path) -> None:
    code = (
        "import resource, sys, transorbit as to\n"
        "towns = {str(i): (-50 + i, (i * 137.5) % 360) for i in range(60)}\n"
        "to.constellation.routes('leo-66', towns, duration_s=float(sys.argv[1]), step_s=1, out=sys.argv[1])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    short, long = (
        float(subprocess.run([sys.executable, "-c", code, seconds], capture_output=True, text=True, check=True).stdout)
        for seconds in ("700", "7000")
    )
    # Ten times the rows, 12.4 millions of them; they would take 700 MB. Two files' worth may be held at once.
    assert long < short + 150, (short, long)
    assert len(list((here / "7000/routes").iterdir())) > 10


def test_ctrl_c_leaves_nothing(here: Path) -> None:
    (here / "towns.csv").write_text(CSV)
    code = "import sys; from transorbit.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for arguments in (
        ("routes", "starlink-shell-1", "--stations", "towns.csv", "--duration", "10 h", "--out", "kept"),
        ("delay", "starlink-shell-1", "--from", "0,0", "--to", "40,90", "--duration", "170 h", "--step", "1 s"),
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", code, "constellation", *arguments], stderr=subprocess.PIPE, text=True
        )
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 130
    assert {path.name for path in here.iterdir()} == {"scenarios", "towns.csv"}


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("name,latitude_deg,longitude_deg\nA,1,2\nB,x,3\n", [], 'line 3: latitude_deg: "x" is not a number'),
        ("name,latitude_deg,longitude_deg\nA,1,2\nB,95,3\n", [], "line 3: latitude_deg: 95 must be between"),
        ("name,latitude_deg,longitude_deg\nA,1,2\nA,2,3\n", [], 'line 3: "A" is already in line 2'),
        ("name,latitude_deg,longitude_deg\nA,1,2\nB,2\n", [], "line 3: 2 columns where 3 are expected"),
        ("A,1,2\n", [], "no column name"),
        ("", [], "the file is empty"),
        ("name,latitude_deg,longitude_deg\nA,1,2\n", [], "1 given, 2 to 5000 are expected"),
        (CSV, ["--step", "0 s"], "--step"),
        (CSV, ["--step", "1 ns"], "--step"),
        (CSV, ["--step", "1 ms", "--duration", "1000000 h"], "is too short for"),
        (CSV, ["--step", "1 ms", "--duration", "10000000 h"], "is too long"),
        (CSV, ["--step", "-1 s"], '--step: "-1 s" must be more than zero'),
        (CSV, ["--duration", "nan s"], '"nan s" is not a duration'),
        ("name,latitude_deg\nA,1\n", [], 'line 1: the header "name,latitude_deg" has no column longitude_deg'),
        (CSV.replace("43.6", "nan"), [], 'line 2: latitude_deg: "nan" is not a number'),
        (CSV, ["--duration", "long"], "--duration"),
        (CSV, ["--metric", "jitter"], '--metric: "jitter" was given, delay or hops is expected'),
        (CSV, ["--access", "some"], "--access"),
        (CSV, ["--threads", "0"], "--threads"),
        (CSV, ["--minimum-elevation", "10"], "--minimum-elevation"),
        (CSV, ["--minimum-elevation", "91 deg"], "--minimum-elevation: 91 deg must be between"),
        (CSV.replace("-1.3", "89.9"), ["--duration", "1 s"], '"Nairobi" never has a satellite in view: the highest'),
    ],
)
def test_what_is_wrong_is_said(command: Command, here: Path, text: str, options: list[str], says: str) -> None:
    (here / "towns.csv").write_text(text)
    done = command("constellation", "routes", "starlink-shell-1", "--stations", "towns.csv", *options)
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1
    assert {path.name for path in here.iterdir()} <= {"scenarios", "towns.csv", "results"}


def test_unknown_names_and_files(command: Command, here: Path) -> None:
    (here / "towns.csv").write_text(CSV)
    near = command("constellation", "routes", "starlink-shell1", "--stations", "towns.csv")
    assert near.code == 2
    assert "starlink-shell-1" in near.err
    missing = command("constellation", "routes", "leo-66", "--stations", "no.csv")
    assert missing.code == 2
    assert "no.csv" in missing.err
    (here / "binary.csv").write_bytes(b"\xff\xfe\x00")
    assert command("constellation", "routes", "leo-66", "--stations", "binary.csv").code == 2


def test_stations_without_any_satellite_can_be_kept(command: Command, here: Path) -> None:
    (here / "towns.csv").write_text(CSV.replace("-1.3", "89.9"))
    done = command(
        *(
            "constellation",
            "routes",
            "starlink-shell-1",
            "--stations",
            "towns.csv",
            "--duration",
            "1 s",
            "--keep-unseen",
        ),
        *("--out", "kept"),
    )
    assert done.code == 0
    assert 'warning: "Nairobi" never has a satellite in view' in done.err
    pairs = to.constellation.Routes.load("kept").pairs
    assert pairs.filter(pairs["to"] == "Nairobi")["reached_share"].to_list() == [0, 0, 0]
    assert pairs["delay_mean_s"].null_count() == 3
    assert "3 of them at all instants" in done.out


def test_delays_of_several_pairs(command: Command, here: Path) -> None:
    done = command(
        *("constellation", "delay", "leo-66", "--from", "43.6,1.4", "--to", "-36.9,174.8", "--to", "40.7,-74"),
        *("--duration", "60 s", "--step", "10 s", "--csv", "delays.csv", "--plot", "delays.svg"),
    )
    assert done.code == 0, done.err
    table = pl.read_csv(here / "delays.csv")
    assert table.columns[:2] == ["time_s", "one_way_delay_s"]
    assert table["to"].value_counts().sort("to")["count"].to_list() == [7, 7]
    alone = to.constellation.delay("leo-66", source=(43.6, 1.4), user=(40.7, -74), duration_s=60, step_s=10)
    assert table.filter(pl.col("to") == "40.7,-74")["one_way_delay_s"].equals(alone["one_way_delay_s"])
    assert "43.6,1.4 to 40.7,-74" in (here / "delays.svg").read_text() or (here / "delays.svg").stat().st_size > 5000
    odd = command("constellation", "delay", "leo-66", *["--from", "0,0"] * 2, *["--to", "1,1"] * 3)
    assert odd.code == 2
    assert "--to: given 3 times for 2 times --from" in odd.err


def test_delays_between_stations_by_name(command: Command, here: Path) -> None:
    (here / "towns.csv").write_text(CSV)
    arguments = ("--stations", "towns.csv", "--from", "Toulouse", "--to", "New York, NY", "--to", "Nairobi")
    done = command(
        "constellation", "delay", "leo-66", *arguments, "--start", "90 s", "--duration", "30 s", "--csv", "-"
    )
    assert done.code == 0, done.err
    table = pl.read_csv(done.out.encode())
    assert table["to"].unique(maintain_order=True).to_list() == ["New York, NY", "Nairobi"]
    later = to.constellation.delay("leo-66", source=TOWNS["Toulouse"], user=TOWNS["Nairobi"], duration_s=120)
    mine = table.filter(pl.col("to") == "Nairobi")["one_way_delay_s"]
    # The satellites that serve are chosen at the start: those of a run that began earlier may be others.
    nearest = {"handover": "shortest-path", "source": TOWNS["Toulouse"], "user": TOWNS["Nairobi"]}
    early = to.constellation.delay("leo-66", **nearest, duration_s=120)
    late = to.constellation.delay("leo-66", **nearest, duration_s=30, path={"start": "90 s"})
    assert (late["one_way_delay_s"] - early["one_way_delay_s"][90:]).abs().max() < 1e-8  # type: ignore[operator]
    assert mine.len() == 31
    assert (mine - later["one_way_delay_s"][90:]).abs().max() < 0.03  # type: ignore[operator]
    typo = command("constellation", "delay", "leo-66", *arguments[:2], "--from", "Toulous", "--to", "Nairobi")
    assert (typo.code, typo.err) == (
        2,
        'transorbit: --from: "Toulous" is no place of --stations; did you mean Toulouse?\n',
    )
    nobody = command("constellation", "delay", "leo-66", "--from", "Toulouse", "--to", "0,0")
    assert "is not LATITUDE,LONGITUDE" in nobody.err


def test_delays_over_the_satellites_of_a_file(command: Command, here: Path) -> None:
    """One geostationary satellite: the delay is the way up and down, and it is told which line of the file is wrong."""
    (here / "geo.csv").write_text(
        "OBJECT_NAME,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,"
        "NORAD_CAT_ID,BSTAR\nBIRD,2025-06-10T00:00:00,1.00273,0.0001,0.02,10,20,230,90001,0\n"
    )
    arguments = ("--from", "43.6,1.4", "--to", "0,0", "--handover", "shortest-path", "--duration", "60 s")
    sub = to.constellation.positions({"file": "geo.csv"}, duration_s=1, step_s=1)
    longitude = math.degrees(math.atan2(sub["y_m"][0], sub["x_m"][0]))
    arguments = ("--from", f"43.6,{longitude:.3f}", "--to", f"0,{longitude:.3f}", *arguments[4:])
    done = command("constellation", "delay", "geo.csv", *arguments, "--csv", "-")
    assert done.code == 0, done.err
    delays = pl.read_csv(done.out.encode())["one_way_delay_s"]
    assert delays.is_between(0.243, 0.247).all()
    (here / "bad.tle").write_text("SAT\n1 00005U\n")
    bad = command("constellation", "delay", "bad.tle", *arguments)
    assert (bad.code, bad.err.count("\n")) == (2, 1)
    assert "bad.tle: line 2: a line that begins with" in bad.err
    none = command("constellation", "delay", "none.tle", *arguments)
    assert "constellation: none.tle: there is no such file, nor a preset with this name: leo-66, " in none.err


def test_no_pass_is_told_with_the_best_elevation(command: Command) -> None:
    done = command("constellation", "passes", "orbcomm-og2", "--at", "89,0")
    assert done.code == 0
    elevation, when = to.constellation.best_elevation("orbcomm-og2", (89, 0))
    assert f"no pass: the highest satellite reaches {elevation:.1f} deg, after {when:g} s" in done.out
    assert "rise (s)" not in done.out, "a table without rows"
    looks = to.constellation.look("orbcomm-og2", station=(89, 0), duration_s=6000, step_s=10)
    assert 0 <= elevation - looks["elevation_deg"].max() < 0.1, "looks of every 10 s miss the highest point"


def test_tracks_of_no_satellite(command: Command) -> None:
    done = command("constellation", "show", "leo-66", "--tracks", "0,66")
    assert (done.code, done.err) == (2, "transorbit: --tracks: there is no satellite 66: 0 to 65\n")


def test_coverage_is_that_of_savi() -> None:
    """SaVi's map of Iridium, figure 3.1 of the thesis: as many satellites over every point, at the start and later.

    Its Earth is a sphere and its map is drawn in pixels of half a degree: a point may differ where a satellite is
    within a degree of the mask.
    """
    from conftest import ROOT

    maps: list[list[str]] = []
    for line in (ROOT / "tests/fixtures/savi-iridium-66.txt").read_text().splitlines():
        if line.startswith("# after"):
            maps.append([])
        elif not line.startswith("#"):
            maps[-1].append(line)
    assert [len(rows) for rows in maps] == [37, 37]
    for rows, at in zip(maps, (0.0, 1800.0), strict=True):
        table = to.constellation.positions("iridium-66", start_s=at, duration_s=1, step_s=1)
        places = table.filter(table["time_s"] == at).select("x_m", "y_m", "z_m").rows()
        compared, near = 0, 0
        for i, row in enumerate(rows):
            for j, digit in enumerate(row):
                latitude, longitude = math.radians(90 - 5 * i), math.radians(-177.75 + 5 * j)
                flat = math.cos(latitude)
                up = (flat * math.cos(longitude), flat * math.sin(longitude), math.sin(latitude))
                elevations = []
                for place in places:
                    way = [a - RADIUS * b for a, b in zip(place, up, strict=True)]
                    sine = sum(a * b for a, b in zip(way, up, strict=True)) / math.hypot(*way)
                    elevations.append(math.degrees(math.asin(sine)))
                if digit == "?" or any(abs(elevation - 8.2) < 1.0 for elevation in elevations):
                    near += 1
                    continue
                assert min(sum(elevation > 8.2 for elevation in elevations), 7) == int(digit), (at, latitude, longitude)
                compared += 1
        assert compared > 2 * near


def test_handover_of_delays(command: Command) -> None:
    places: Any = {"source": (43.6, 1.4), "user": (-36.9, 174.8), "duration_s": 600.0, "step_s": 5.0}
    means = {
        handover: to.constellation.delay("leo-66", **places, handover=handover)["one_way_delay_s"].mean()
        for handover in (None, "keep-until-mask", "highest", "shortest-path")
    }
    assert means[None] == means["keep-until-mask"]
    assert means["shortest-path"] < min(means["keep-until-mask"], means["highest"])  # type: ignore[operator,type-var]
    wrong = command("constellation", "delay", "leo-66", "--from", "0,0", "--to", "1,1", "--handover", "never")
    assert wrong.code == 2
    assert "--handover" in wrong.err
    assert "shortest-path" in wrong.err


def test_passes_are_those_of_plain_arithmetic(command: Command) -> None:
    table = to.constellation.passes("leo-66", (43.6, 1.4), minimum_elevation_deg=10.0, duration_s=3000)
    station = ground(43.6, 1.4)
    lat, lon = math.radians(43.6), math.radians(1.4)
    up = (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))

    def elevation(number: int, seconds: float) -> float:
        line = [a - b for a, b in zip(satellite(number, seconds), station, strict=True)]
        return math.degrees(math.asin(sum(a * b for a, b in zip(line, up, strict=True)) / math.hypot(*line)))

    assert table.height > 10
    for row in table.iter_rows(named=True):
        for at in (row["rise_s"], row["set_s"]):
            assert at is None or abs(elevation(row["satellite"], at) - 10) < 1e-3
        highest = row["highest_elevation_deg"]
        assert abs(elevation(row["satellite"], row["culmination_s"]) - highest) < 0.01
        assert all(
            elevation(row["satellite"], row["culmination_s"] + late) <= highest + 1e-6
            for late in (-30, -1, 1, 30)
            if 0 <= row["culmination_s"] + late <= 3000
        )
    shown = command("constellation", "passes", "leo-66", "--at", "43.6,1.4", "--duration", "50 min", "--plot", "p.png")
    assert shown.code == 0
    assert "passes" in shown.out
    assert command("constellation", "passes", "leo-66", "--at", "nowhere").code == 2


def test_coverage(command: Command, here: Path) -> None:
    done = command(
        *("constellation", "coverage", "starlink-shell-1", "--latitude-step", "30 deg", "--duration", "10 min"),
        *("--csv", "c.csv", "--plot", "c.svg"),
    )
    assert done.code == 0, done.err
    table = pl.read_csv(here / "c.csv")
    assert table["latitude_deg"].to_list() == [-90, -60, -30, 0, 30, 60, 90]
    share = dict(zip(table["latitude_deg"], table["covered_share"], strict=True))
    assert share[90] == share[-90] == 0.0
    assert share[30] == 1.0
    assert command("constellation", "coverage", "leo-66", "--latitude-step", "0 deg").code == 2


def test_maps(command: Command, here: Path) -> None:
    done = command("constellation", "show", "leo-66", "--plot", "map.svg", "--tracks", "0,11", "--csv", "points.csv")
    assert done.code == 0, done.err
    assert (here / "map.svg").stat().st_size > 50_000
    again = command("constellation", "show", "leo-66", "--plot", "again.svg", "--tracks", "0,11")
    assert again.code == 0
    assert (here / "again.svg").read_bytes() == (here / "map.svg").read_bytes()
    chart = to.constellation.world("leo-66", at_s=300, track_s=600, tracks=[5])
    assert (chart.satellites.height, chart.footprints.height, chart.tracks.height) == (66, 66 * 72, 200)
    for row in chart.satellites.iter_rows(named=True):
        x, y, z = satellite(row["satellite"], 300)
        assert abs(row["latitude_deg"] - math.degrees(math.atan2(z, math.hypot(x, y)))) < 1e-6
        assert abs((row["longitude_deg"] - math.degrees(math.atan2(y, x)) + 180) % 360 - 180) < 1e-6
    assert command("constellation", "show", "leo-66", "--tracks", "first").code == 2


def test_lines_on_a_map_go_on_at_the_other_edge() -> None:
    from transorbit.plots.constellation import _pieces, coastlines

    assert _pieces([(170, 0), (-170, 10), (-160, 20)]) == [[(170, 0), (190, 10)], [(-190, 0), (-170, 10), (-160, 20)]]
    assert _pieces([(-170, 0), (170, 10)]) == [[(-170, 0), (-190, 10)], [(190, 0), (170, 10)]]
    points = [point for line in coastlines() for point in line]
    assert len(points) > 4000
    assert all(abs(longitude) <= 180 and abs(latitude) <= 90 for longitude, latitude in points)


def test_the_doppler_shift_follows_the_range(command: Command, here: Path) -> None:
    done = command(
        *("constellation", "delay", "starlink-shell-1", "--from", "48.8,2.3", "--to", "45.8,4.9"),
        *("--handover", "highest", "--carrier", "2 GHz", "--duration", "2 min", "--csv", "delay.csv"),
    )
    assert done.code == 0, done.err
    table = pl.read_csv(here / "delay.csv", null_values="")
    shift = -table["range_rate_mps"] / 299_792_458.0 * 2e9
    # The file has millimetres per second, which are 0.0033 Hz each way, and hundredths of a hertz.
    assert (table["doppler_hz"] - shift).abs().max() < 0.0085
    assert 1e3 < table["doppler_hz"].abs().max() < 50e3
    same = table.filter(
        (pl.col("user_satellite") == pl.col("user_satellite").shift(1))
        & (pl.col("user_satellite") == pl.col("user_satellite").shift(-1))
    )
    assert len(same) > 60
    # The range's own slope, over two seconds.
    slope = table.with_columns(slope=(pl.col("range_m").shift(-1) - pl.col("range_m").shift(1)) / 2).join(
        same.select("time_s"), on="time_s"
    )
    assert (slope["slope"] - slope["range_rate_mps"]).abs().max() < 1.0
    assert table["elevation_deg"].min() >= 25.0


@pytest.mark.parametrize(
    ("trace_format", "precision_s"), [("csv", 1e-9), ("hypatia", 1e-9), ("milliseconds", 1e-6), ("ping", 1e-3)]
)
def test_a_delay_trace_goes_out_and_comes_in(
    command: Command, here: Path, trace_format: str, precision_s: float
) -> None:
    ends = ["--from", "43.6,1.4", "--to", "-36.9,174.8", "--duration", "20 s", "--csv", "delay.csv"]
    done = command("constellation", "delay", "leo-66", *ends, "--trace", "delay.txt", "--format", trace_format)
    assert done.code == 0, done.err
    scenario = to.Scenario.load(here / "scenarios" / "lab-fixed.toml").replace(
        {
            "path": {"kind": "trace", "file": str(here / "delay.txt"), "format": trace_format},
            "duration": "20 s",
            "record.interval": "1 s",
            "flows.0.traffic": {"kind": "voice"},
            "flows.0.transport": "udp",
        }
    )
    series = scenario.run().series
    asked = pl.read_csv(here / "delay.csv")["one_way_delay_s"]
    played = series.sort("time_s")["path_delay_s"]
    assert (asked[: len(played)] - played[: len(asked)]).abs().max() < precision_s + 1e-7


def test_several_pairs_make_no_trace(command: Command) -> None:
    ends = ["--from", "43.6,1.4", "--to", "40,0", "--to", "30,0"]
    done = command("constellation", "delay", "leo-66", *ends, "--trace", "delay.txt")
    assert (done.code, "--trace: 2 pairs" in done.err) == (2, True), done.err
    # At once: that of ten hours over Starlink would take minutes.
    long = ("constellation", "delay", "starlink-shell-1", *ends[:4], "--duration", "1000 h", "--step", "1 s")
    done = command(*long, "--trace", "delay.txt", "--format", "pcap")
    assert done.code == 2
    assert done.err == 'transorbit: --format: "pcap" is none of csv, hypatia, milliseconds, ping\n'
    done = command(*long, "--format", "ping")
    assert (done.code, done.err) == (2, "transorbit: --format: is that of a delay trace: give a file to --trace\n")


def test_all_formats_of_traces_are_known() -> None:
    from transorbit.cli.constellation.delay import _FORMATS

    formats = to.schema()["$defs"]["TraceFormat"]
    names = formats.get("enum") or [one["const"] for one in formats["oneOf"]]
    assert sorted(names) == sorted(_FORMATS)


def test_a_pattern_has_a_past() -> None:
    table = to.constellation.positions("leo-66", start_s=-30.5, duration_s=60.0, step_s=30.5)
    assert table["time_s"].unique(maintain_order=True).to_list() == [-30.5, 0.0, 29.5]
    for number in (0, 37):
        row = table.filter((pl.col("satellite") == number) & (pl.col("time_s") == -30.5)).row(0, named=True)
        assert math.dist(satellite(number, -30.5), (row["x_m"], row["y_m"], row["z_m"])) < 1.0


@pytest.mark.usefixtures("here")
def test_maps_have_a_legend_and_links_that_can_be_told_apart(command: Command) -> None:
    from transorbit import plots

    few, many = (to.constellation.world(name, track_s=600.0, tracks=[0]) for name in ("leo-66", "starlink-shell-1"))

    def legend(chart: to.constellation.Map, **options: Any) -> set[str]:
        [drawn] = plots.world(chart, **options).legends
        return {text.get_text() for text in drawn.get_texts()}

    assert legend(few) == {"satellite", "ground track", "footprint", "link"}
    assert legend(few, links=False, footprints=False) == {"satellite", "ground track"}
    assert legend(many) == {"satellite", "ground track"}
    assert legend(many, links=True) == {"satellite", "ground track", "link"}
    told = command("constellation", "show", "starlink-shell-1", "--plot", "map.png")
    assert "links between so many satellites are left out: --links draws them" in told.out
    assert "left out" not in command("constellation", "show", "leo-66", "--plot", "map.png").out
