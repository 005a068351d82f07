"""Random access by itself: packet loss against load, and the equations beside dedicated access."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.figure
import polars as pl
import pytest

import transorbit as to
from conftest import PROGRAM, ROOT, Outcome
from transorbit import plots

Command = Callable[..., Outcome]

TRANSFER = "scenarios/dvbrcs2-transfer.toml"
SHORT = ("--packets", "30,70", "--bursts", "2e4")
CRDSA_2 = '{kind="crdsa", replicas=2}'
FILES = {"plr.json", "plr.parquet", "plr.svg", "plr.png", "provenance.json"}
ROW_KEYS = {
    "method", "packets_per_block", "load", "blocks", "packets", "bursts", "lost_packets", "plr", "plr_low", "plr_high",
    "throughput",
}  # fmt: skip
REPORT_KEYS = {
    "seed", "block_slots", "timeslots", "one_amplifier", "es_n0_db", "power_spread_db", "iterations",
    "bursts_per_point", "warnings", "methods", "rows",
}  # fmt: skip


@pytest.fixture(scope="module")
def study() -> to.access.PlrCurves:
    methods = ["crdsa", {"kind": "crdsa", "replicas": 2}, "musca"]
    return to.access.plr(methods=methods, packets=[95, 30, 70, 140], bursts=500_000)


def row(study: to.access.PlrCurves, method: str, packets: int) -> dict[str, Any]:
    return next(row for row in study.rows if (row["method"], row["packets_per_block"]) == (method, packets))


def test_the_curves_have_the_published_shape(study: to.access.PlrCurves) -> None:
    """Figure 3: CRDSA-3 next to loss-free at 30 packets of a block, MuSCA-3 at 95, and steep above."""
    assert row(study, "crdsa", 30)["plr"] < 1e-3
    assert row(study, "crdsa", 95)["plr"] > 0.6
    assert row(study, "musca", 95)["lost_packets"] == 0
    assert row(study, "musca", 140)["plr"] > 0.02
    assert row(study, "crdsa", 70)["throughput"] == pytest.approx(0.68, abs=0.01), "near its published peak"


def test_two_copies_lose_what_was_computed_otherwise(study: to.access.PlrCurves) -> None:
    """The same receiver in a few lines of numpy, 3,000 blocks each: 1.3 % at 30 packets, 25.3 % at 70."""
    assert row(study, "crdsa-2", 30)["plr"] == pytest.approx(0.013, rel=0.1)
    assert row(study, "crdsa-2", 70)["plr"] == pytest.approx(0.253, rel=0.03)
    assert row(study, "crdsa", 70)["plr"] == pytest.approx(0.032, rel=0.25)


def test_the_numbers_agree_with_each_other(study: to.access.PlrCurves) -> None:
    assert study.methods == ["crdsa", "crdsa-2", "musca"]
    for entry in study.rows:
        assert entry["load"] == entry["packets_per_block"] / 100
        assert entry["packets"] == entry["blocks"] * entry["packets_per_block"]
        assert entry["bursts"] == entry["packets"] * (2 if entry["method"] == "crdsa-2" else 3) >= 500_000
        assert entry["plr"] == entry["lost_packets"] / entry["packets"]
        assert entry["plr_low"] <= entry["plr"] <= entry["plr_high"]
        assert entry["throughput"] == pytest.approx(entry["load"] * (1 - entry["plr"]))


def test_table_and_plot(study: to.access.PlrCurves) -> None:
    assert set(study.table.columns) == ROW_KEYS
    assert study.table.to_dicts() == study.rows
    assert study.table["packets_per_block"].to_list() == [30, 70, 95, 140] * 3
    figure = study.plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    top, low = figure.axes
    assert all((low.get_xlabel(), low.get_ylabel(), top.get_ylabel()))
    assert (top.get_yscale(), low.get_yscale()) == ("log", "linear")
    assert [text.get_text() for text in top.get_legend().get_texts()] == study.methods


def test_a_point_without_loss_is_drawn_at_its_bound(study: to.access.PlrCurves) -> None:
    clean = [entry for entry in study.rows if entry["method"] == "musca" and entry["lost_packets"] == 0]
    drawn = [
        (x, y)
        for line in study.plot().axes[0].get_lines()
        if line.get_linestyle() == "None"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]

    assert clean
    assert {(entry["packets_per_block"], entry["plr_high"]) for entry in clean} <= set(drawn)


def test_the_command_prints_a_table(command: Command, here: Path) -> None:
    done = command("access", "plr", *SHORT)

    assert (done.code, done.err) == (0, "")
    assert all(word in done.out for word in ("crdsa", "musca", "< ", "throughput", "at most", "5 dB"))
    assert {path.name for path in here.iterdir()} == {"scenarios"}, "a folder only with --out"


def test_json_is_the_report_and_nothing_else(program: Command) -> None:
    done = program("access", "plr", *SHORT, "--method", CRDSA_2, "--method", "aloha", "--json")

    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert set(report) == REPORT_KEYS
    assert [set(entry) for entry in report["rows"]] == [ROW_KEYS] * 4
    assert [(entry["method"], entry["replicas_mean"]) for entry in report["methods"]] == [("crdsa-2", 2), ("aloha", 1)]
    assert report["methods"][0]["options"]["replicas"] == 2


def test_the_same_again_is_the_same_and_another_seed_is_not(command: Command) -> None:
    first, again, other = (command("access", "plr", *SHORT, "--json", "--seed", seed).out for seed in ("1", "1", "2"))

    assert first == again
    assert json.loads(first)["rows"] != json.loads(other)["rows"]


def test_ranges_of_packets(command: Command) -> None:
    done = command("access", "plr", "--packets", "10:30:10,25,20", "--bursts", "1", "--json", "--method", "dsa")

    assert [entry["packets_per_block"] for entry in json.loads(done.out)["rows"]] == [10, 20, 25, 30]


def test_options_are_short_for_keys(command: Command) -> None:
    short = ("--es-n0", "7 dB", "--power-spread", "2 dB", "--slots", "64")
    keys = ("random.es_n0=7 dB", "random.power_spread=2 dB", "frame.block_slots=64")
    long = [word for key in keys for word in ("--set", f"access.{key}")]
    first, second = (command("access", "plr", *SHORT, *options, "--json") for options in (short, long))

    assert first.out == second.out
    report = json.loads(first.out)
    assert (report["es_n0_db"], report["power_spread_db"], report["block_slots"]) == (7, 2, 64)


def test_a_scenario_brings_its_method(command: Command) -> None:
    setting = ("--set", 'access.method={kind="musca", margin=0.3}', "--json")
    own = json.loads(command("access", "plr", TRANSFER, *SHORT, *setting).out)
    among = json.loads(command("access", "plr", TRANSFER, *SHORT, *setting, "--method", "dsa", "--method", "musca").out)

    assert [entry["method"] for entry in own["methods"]] == ["musca (margin=0.3)"]
    assert [entry["method"] for entry in among["methods"]] == ["dsa", "musca (margin=0.3)"]
    assert among["rows"][2:] == own["rows"], "what else is studied moves no point"


def test_a_table_of_losses_is_a_method(command: Command, here: Path) -> None:
    (here / "curve.csv").write_text("packets_per_block,plr\n10,0\n50,0.4\n")
    method = '{kind="table", plr="curve.csv"}'
    report = json.loads(
        command("access", "plr", "--method", method, "--packets", "30", "--bursts", "3e5", "--json").out
    )

    assert report["methods"][0]["method"] == "table (plr=curve.csv)"
    assert report["rows"][0]["plr"] == pytest.approx(0.2, rel=0.03)


def test_series_and_plots_are_written(command: Command, here: Path) -> None:
    done = command("access", "plr", *SHORT, "--csv", "made/plr.csv", "--plot", "made/plr.svg", "--quiet")

    assert (done.code, done.out, done.err) == (0, "", "")
    assert set(pl.read_csv(here / "made/plr.csv").columns) == ROW_KEYS
    assert (here / "made/plr.svg").read_text().startswith("<?xml")
    assert command("access", "plr", *SHORT, "--csv", "-").out == (here / "made/plr.csv").read_text()


def test_a_folder_appears_whole_and_is_replaced(command: Command, here: Path) -> None:
    for _ in range(2):
        done = command("access", "plr", *SHORT, "--out", "kept")
        assert (done.code, done.err) == (0, "")
        assert "Study: kept" in done.out
        assert {path.name for path in (here / "kept").iterdir()} == FILES
    report = json.loads((here / "kept/plr.json").read_text())
    assert pl.read_parquet(here / "kept/plr.parquet").to_dicts() == report["rows"]
    assert json.loads((here / "kept/provenance.json").read_text())["seed"] == report["seed"]
    assert command("access", "plr", *SHORT, "--out", "bare", "--no-plots", "--quiet").out == ""
    assert {path.name for path in (here / "bare").iterdir()} == FILES - {"plr.svg", "plr.png"}


@pytest.mark.parametrize("name", ["notes.md", "kept/notes.md"])
def test_what_is_somebodys_is_left_alone(command: Command, here: Path, name: str) -> None:
    command("access", "plr", *SHORT, "--out", "kept", "--no-plots")
    (here / name).write_text("mine")
    done = command("access", "plr", *SHORT, "--out", str(Path(name).parent))

    assert done.code == 2
    assert (here / name).read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--method", "crsda"), '--method crsda: kind: "crsda" is unknown, did you mean "crdsa"?'),
        (("--method", "musca", "--method", '{kind="crdsa", replicas=101}'), '--method {kind="crdsa", replicas=101}: '),
        (("--method", '{kind="crdsa", copies=2}'), '--method {kind="crdsa", copies=2}: copies: is an unknown key'),
        (("--method", '{kind="crdsa"'), '--method {kind="crdsa": '),
        (("--method", "dedicated"), '--method dedicated: "dedicated" has no random access'),
        (("--method", '{kind="table", plr="none.csv"}'), '--method {kind="table", plr="none.csv"}: plr: '),
        (("--packets", "10:5"), "--packets: '10:5' holds no number"),
        (("--packets", "10:20:0"), "--packets: '10:20:0' holds no number"),
        (("--packets", "ten"), "--packets: 'ten' is no whole number"),
        (("--packets", "0"), "--packets: 0 was given"),
        (("--packets", "1:100000"), "--packets: '1:100000' holds more than 10000 numbers"),
        (("--bursts", "0"), "--bursts: 0 was given"),
        (("--bursts", "1.5"), "--bursts: '1.5' is no whole number"),
        (("--bursts", "1e30"), "--bursts: '1e30' is no whole number"),
        (("--es-n0", "loud"), "access.random.es_n0: "),
        (("--es-n0", "99 dB"), "access.random.es_n0: 99 dB is not between"),
        (("--slots", "0"), "access.frame.block_slots: 0 was given"),
        (("--slots", "2"), "--method crdsa: replicas: 3 replicas of a packet"),
        (("--set", "access.random.iteration=1"), "access.random.iteration: is an unknown key"),
        (("--seed", "-1"), "--seed: "),
        (("--plot", "curve.txt"), "--plot: curve.txt"),
    ],
)
def test_what_is_wrong_is_named(command: Command, here: Path, arguments: tuple[str, ...], expected: str) -> None:
    method = () if "--method" in arguments else ("--method", "crdsa")
    done = command("access", "plr", *arguments, *method, "--out", "kept")

    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith(f"transorbit: {expected}"), done.err
    assert not (here / "kept").exists()


def test_a_scenario_without_a_return_link_is_refused(command: Command) -> None:
    done = command("access", "plr", "scenarios/leo-tcp.toml")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("transorbit: access: is missing")


def test_options_of_the_function_are_named_too() -> None:
    for options, expected in (
        ({"packets": [1, 0]}, r"^packets\.1: 0 was given"),
        ({"packets": [2.5]}, r"^packets\.0: 2\.5 was given"),
        ({"packets": []}, r"^packets: "),
        ({"methods": []}, r"^methods: "),
        ({"methods": "crdsa"}, r"^methods: 'crdsa' was given, a list"),
        ({"methods": ["crdsa", {"kind": "crdsa", "replicas": 1}]}, r"^methods\.1\.replicas: 1 was given"),
        ({"bursts": 0}, r"^bursts: "),
        ({"seed": -1}, r"^seed: "),
        ({"block_slots": 0}, r"^access\.frame\.block_slots: "),
    ):
        with pytest.raises(to.ScenarioError, match=expected):
            to.access.plr(**options)  # type: ignore[arg-type]


def test_progress_goes_from_nothing_to_all() -> None:
    shares: list[float] = []
    to.access.plr(methods=["crdsa"], packets=[20, 40], bursts=500_000, progress=shares.append)

    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) > 3


def test_ctrl_c_ends_a_study_and_keeps_nothing(here: Path) -> None:
    leader, follower = pty.openpty()
    arguments = [PROGRAM, "access", "plr", "--bursts", "1e12", "--out", "kept"]
    with subprocess.Popen(arguments, cwd=here, stdout=subprocess.PIPE, stderr=follower) as process:
        os.close(follower)
        shown = os.read(leader, 1)  # the progress bar: it has begun
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    os.close(leader)

    assert shown
    assert (process.returncode, out) == (130, b"")
    assert not (here / "kept").exists()


def test_equations_1_and_2() -> None:
    assert to.access.break_even_users() == 477
    assert to.access.break_even_users(random_bits=597) == 475
    assert to.access.break_even_users(dedicated_bits=200) == 104
    assert to.access.break_even_users(dedicated_bits=100) == 1, "a packet train carries more than a whole carrier"
    with pytest.raises(to.ScenarioError, match=r"^replicas: 41 replicas"):
        to.access.break_even_users(replicas=41)
    with pytest.raises(to.ScenarioError, match=r"^carriers: 0"):
        to.access.break_even_users(carriers=0)


# Table 5: users, method, then what was printed for 1, 2 … retransmissions of 3 datagrams. One entry is not what its
# neighbours give: 0.02067 was printed for CRDSA, 300 users and 2 retransmissions.
TABLE_5 = {
    0.0404: (0.11148, 0.00469, 0.00019),
    0.0873: (0.21701, 0.02070, 0.00182),
    0.27597: (0.40893, 0.14980, 0.04445, 0.01251),
    0.0053: (0.01573, 0.00008, 4.44e-7),
    0.139: (0.30487, 0.04882, 0.00692, 0.00096),
}


def test_equations_3_to_6_give_table_5() -> None:
    for loss, printed in TABLE_5.items():
        for times, value in enumerate(printed, start=1):
            ours = to.access.retransmission_probability(loss, times, datagrams=3)
            assert ours == pytest.approx(value, rel=2e-3, abs=1e-5 if value > 1e-5 else 1e-9)
    assert to.access.loss_from_retransmissions(0.11148, 1, datagrams=3) == pytest.approx(0.0404, abs=5e-5)
    assert to.access.retransmission_probability(0.25, 2) == pytest.approx(0.75 * 0.25**2)
    with pytest.raises(to.ScenarioError, match=r"^loss: 1\.5"):
        to.access.retransmission_probability(1.5, 1)
    with pytest.raises(to.ScenarioError, match=r"^probability: 0\.9 .* at most"):
        to.access.loss_from_retransmissions(0.9, 1)


def test_a_packet_loss_becomes_that_of_a_datagram() -> None:
    assert to.access.datagram_loss(0.002, 21) == pytest.approx(1 - 0.998**21)
    assert to.access.added_delay(3, "500 ms") == 1.5
    with pytest.raises(to.ScenarioError, match=r"^round_trip: "):
        to.access.added_delay(3, "a while")


def test_the_analysis_of_the_published_return_link(command: Command) -> None:
    arguments = ("--method", "musca", "--users", "100,477", "--loss", "0.276", "--retransmissions", "2")
    report = json.loads(command("access", "analysis", TRANSFER, *arguments, "--json").out)

    assert (report["timeslots"], report["carriers"], report["dedicated_bits"]) == (40, 100, 920)
    [musca] = report["methods"]
    assert (musca["packets_per_frame"], musca["random_frame_bits"], musca["break_even_users"]) == (13, 7722, 477)
    assert int(musca["break_even_packets_per_block"]) == 155
    few, many = report["users"]
    assert (few["dedicated_slots"], few["dedicated_frame_bits"], few["packets_per_block"]) == (40, 36_800, 32.5)
    assert many["dedicated_frame_bits"] <= many["random_frame_bits"]
    assert [entry["added_delay_s"] for entry in report["retransmissions"]] == [0.5, 1.0]
    assert report["retransmissions"][1]["probability"] == pytest.approx(0.1498, abs=1e-4)


def test_the_analysis_in_words(command: Command) -> None:
    done = command("access", "analysis", "--round-trip", "600 ms")

    assert (done.code, done.err) == (0, "")
    assert all(word in done.out for word in ("477 users", "475 users", "155.0 packets per block", "0.6 s", "musca"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--users", "0"), "--users: 0 was given"),
        (("--loss", "2"), "--loss: 2 was given"),
        (("--loss", "few"), "--loss: 'few' is no list"),
        (("--datagrams", "0"), "--datagrams: 0 was given"),
        (("--retransmissions", "0"), "--retransmissions: 0 was given"),
        (("--round-trip", "soon"), "--round-trip: "),
        (("--method", '{kind="dsa", replicas=41}'), '--method {kind="dsa", replicas=41}: 41 replicas'),
    ],
)
def test_what_is_wrong_with_an_analysis_is_named(command: Command, arguments: tuple[str, ...], expected: str) -> None:
    done = command("access", "analysis", *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"transorbit: {expected}"), done.err


def test_times_of_flows_are_drawn_by_what_they_carry() -> None:
    scenario = to.Scenario.load(ROOT / TRANSFER).replace({"duration": "6 s", "flows.0.count": 2})
    flow = {"count": 5, "direction": "up", "transport": "tcp", "traffic": {"kind": "bulk", "size": "4500 B"}}
    result = scenario.replace({"flows": [flow], "access.method": "dedicated"}).run()
    figure = plots.access_times(result)

    assert figure is not None
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["bulk up, first packet", "bulk up, all"]
    first, last = (line.get_xdata()[-1] for line in figure.axes[0].get_lines())
    assert 0.5 < first < last, "a request and a way of the data before the first packet is there"


def test_the_return_link_is_drawn_over_time() -> None:
    scenario = to.Scenario.load(ROOT / TRANSFER).replace({"duration": "4 s", "flows.0.count": 20})
    for method, panels in (("crdsa", 2), ("dedicated", 2), ("switch", 3)):
        figure = plots.return_link(scenario.replace({"access.method": method}).run())
        assert figure is not None
        assert len(figure.axes) == panels, method
        sent = figure.axes[0].get_lines()[0].get_ydata()
        assert max(sent) > 0


def test_a_run_without_a_return_link_has_no_such_plot(leo: to.Scenario) -> None:
    result = leo.replace({"duration": "1 s"}).run()
    assert plots.access_times(result) is None
    assert plots.return_link(result) is None
