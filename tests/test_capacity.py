"""The capacity study: what the last hop carries if everybody always has something to send."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import matplotlib.figure
import polars as pl
import pytest

import transorbit as to
from conftest import ROOT, Outcome

if TYPE_CHECKING:
    from pathlib import Path

Command = Callable[..., Outcome]

USERS = "scenarios/tcp-users.toml"
SHORT = ("--users", "1,4", "--duration", "2 s")
FILES = {"scenario.toml", "capacity.json", "capacity.parquet", "provenance.json", "capacity.svg", "capacity.png"}
REPORT_KEYS = {
    "title", "seed", "simulated_s", "rate_bps", "packet_bytes", "packet_information_bits", "feedback_rtt_s",
    "warnings", "one_user", "rows", "partial",
}  # fmt: skip
ROW_KEYS = {
    "policy", "users", "started_pps", "decoded_pps", "useful_bps", "coded_bps", "spectral_efficiency",
    "decoded_after_share", "failed_share", "bits_per_packet_mean", "packet_time_mean_s", "spacing_users",
    "given_up_packets", "user_useful_min_bps", "user_useful_mean_bps", "user_useful_max_bps", "jain",
    "mean_limit_bps", "mean_limit_pps", "best_limit_bps", "best_limit_pps",
}  # fmt: skip


@pytest.fixture(scope="module")
def study() -> to.Capacity:
    return to.capacity(ROOT / USERS, users=[1, 20, 5], schedulers=["pf", "round-robin"], duration="30 s")


def row(study: to.Capacity, policy: str, users: int) -> dict[str, Any]:
    return next(row for row in study.rows if (row["policy"], row["users"]) == (policy, users))


def test_a_look_at_the_channels_pays(study: to.Capacity) -> None:
    def packets(policy: str) -> float:
        return float(row(study, policy, 20)["decoded_pps"])

    assert packets("max-rate") > packets("pf") > 1.1 * packets("random")
    assert packets("round-robin") == pytest.approx(packets("random"), rel=0.05)


def test_one_user_is_one_user_whoever_chooses(study: to.Capacity) -> None:
    one = study.report["one_user"]
    assert (one["policy"], one["users"], one["jain"]) == ("random", 1, 1.0)
    for policy in ("random", "max-rate", "pf", "round-robin"):
        mine = row(study, policy, 1)
        assert mine | {"policy": "random"} == one


def test_the_limits_hold(study: to.Capacity) -> None:
    best = [row(study, "random", users)["best_limit_pps"] for users in (1, 5, 20)]
    assert best == sorted(best)
    for entry in study.rows:
        assert entry["mean_limit_pps"] == pytest.approx(best[0]), "of one user the best is the mean"
    for users in (5, 20):
        assert row(study, "random", users)["decoded_pps"] < row(study, "random", users)["mean_limit_pps"]
        assert row(study, "max-rate", users)["decoded_pps"] < row(study, "max-rate", users)["best_limit_pps"]


def test_the_numbers_agree_with_each_other(study: to.Capacity) -> None:
    for entry in study.rows:
        assert sum(entry["decoded_after_share"]) + entry["failed_share"] == pytest.approx(1)
        assert entry["coded_bps"] == pytest.approx(study.report["rate_bps"], rel=1e-3), "the transmitter never rests"
        assert entry["useful_bps"] == pytest.approx(entry["decoded_pps"] * 8 * study.report["packet_bytes"])
        assert entry["users"] * entry["user_useful_mean_bps"] == pytest.approx(entry["useful_bps"])
        packet_s = entry["bits_per_packet_mean"] / study.report["rate_bps"]
        assert entry["packet_time_mean_s"] == pytest.approx(packet_s)
        assert entry["spacing_users"] == pytest.approx(study.report["feedback_rtt_s"] / 3 / packet_s)


def test_the_thesis_counts_nineteen_users(study: to.Capacity) -> None:
    """Equation 6.9, at random as there, with the mean bits of equation 6.6 for the same channel."""
    assert row(study, "random", 20)["bits_per_packet_mean"] == pytest.approx(16_890, rel=0.25)
    assert row(study, "random", 20)["spacing_users"] == pytest.approx(19, abs=4)


def test_tables_and_plots(study: to.Capacity) -> None:
    assert set(study.table.columns) == ROW_KEYS
    assert len(study.table) == 4 * 3
    assert study.table["users"].to_list()[:3] == [1, 5, 20]
    figure = study.plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    axes = figure.axes[0]
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["at random", "best channel (max-rate)", "pf", "round-robin"]


def test_the_command_prints_a_table(command: Command, here: Path) -> None:
    done = command("capacity", USERS, *SHORT)

    assert (done.code, done.err) == (0, "")
    assert all(word in done.out for word in ("random", "max-rate", "pf", "Limit", "one user"))
    assert {path.name for path in here.iterdir()} == {"scenarios"}, "a folder only with --out"


def test_json_is_the_report_and_nothing_else(program: Command) -> None:
    done = program("capacity", USERS, *SHORT, "--scheduler", "codes", "--json")

    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert set(report) == REPORT_KEYS
    assert {frozenset(entry) for entry in [*report["rows"], report["one_user"]]} == {frozenset(ROW_KEYS)}
    assert [(entry["policy"], entry["users"]) for entry in report["rows"]] == [
        (policy, users) for policy in ("random", "max-rate", "codes") for users in (1, 4)
    ]


def test_the_same_again_is_the_same_and_another_seed_is_not(command: Command) -> None:
    first, again, other = (command("capacity", USERS, *SHORT, "--json", "--seed", seed).out for seed in ("1", "1", "2"))

    assert first == again
    assert json.loads(first)["rows"][1] != json.loads(other)["rows"][1]


def test_settings_change_the_study(command: Command) -> None:
    clear = ("--set", 'channel={ kind = "clear" }', "--set", "last_hop.harq=none", "--json")
    rows = json.loads(command("capacity", USERS, *SHORT, *clear).out)["rows"]

    assert all(entry["useful_bps"] == pytest.approx(50e6, rel=0.01) for entry in rows)


def test_a_folder_appears_whole_and_is_replaced(command: Command, here: Path) -> None:
    for _ in range(2):
        done = command("capacity", USERS, *SHORT, "--out", "kept")
        assert (done.code, done.err) == (0, "")
        assert "Study: kept" in done.out
        assert {path.name for path in (here / "kept").iterdir()} == FILES
    report = json.loads((here / "kept/capacity.json").read_text())
    table = pl.read_parquet(here / "kept/capacity.parquet")
    assert table["decoded_pps"].to_list() == [entry["decoded_pps"] for entry in report["rows"]]
    assert json.loads(command("capacity", "kept/scenario.toml", *SHORT, "--json").out) == report
    assert command("capacity", USERS, *SHORT, "--out", "bare", "--no-plots", "--quiet").out == ""
    assert {path.name for path in (here / "bare").iterdir()} == FILES - {"capacity.svg", "capacity.png"}


@pytest.mark.parametrize("name", ["notes.md", "kept/notes.md"])
def test_what_is_somebodys_is_left_alone(command: Command, here: Path, name: str) -> None:
    if name.startswith("kept"):
        command("capacity", USERS, *SHORT, "--out", "kept", "--no-plots", "--quiet")
    (here / "kept").mkdir(exist_ok=True)
    mine = here / "kept" / name.rsplit("/", maxsplit=1)[-1]
    mine.write_text("mine")

    done = command("capacity", USERS, *SHORT, "--out", "kept")

    assert (done.code, done.out) == (2, "")
    assert "kept" in done.err
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--users", "0"), "--users: 0 was given"),
        (("--users", "1,200000"), "--users: 200000 was given"),
        (("--users", "1,,2"), "--users: '1,,2'"),
        (("--users", "many"), "--users: 'many'"),
        (("--users", "-3"), "--users"),
        (("--scheduler", "round-robbin"), '--scheduler: "round-robbin" is unknown, did you mean "round-robin"?'),
        (("--duration", "0 s"), "--duration: must be more than 0 s"),
        (("--duration", "60"), "--duration: "),
        (("--seed", "one"), "--seed: 'one'"),
        (("--set", "last_hop.rate=fast"), "last_hop.rate: "),
        (("--set", "last_hop.scheduler=external"), "last_hop.scheduler.name: "),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_option(
    command: Command, here: Path, arguments: tuple[str, ...], expected: str
) -> None:
    done = command("capacity", USERS, *arguments, "--out", "kept")

    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith(f"transorbit: {expected}")
    assert not (here / "kept").exists()


def test_options_of_the_function_are_named_too() -> None:
    for options, expected in (
        ({"users": [1, 0]}, r"^users\.1: 0 was given"),
        ({"users": [2.5]}, r"^users\.0: 2\.5 was given"),
        ({"users": [2**40]}, r"^users\.0: "),
        ({"users": []}, r"^users: "),
        ({"schedulers": ["pf", "fp"]}, r"^schedulers\.1: "),
        ({"duration": "soon"}, r"^duration: "),
        ({"duration": float("nan")}, r"^duration: "),
        ({"seed": -1}, r"^seed: "),
    ):
        with pytest.raises(to.ScenarioError, match=expected):
            to.capacity(ROOT / USERS, **options)  # type: ignore[arg-type]


def test_a_scheduler_in_python_can_be_studied() -> None:
    @to.scheduler("first-comer")
    class FirstComer:
        def select(self, queues: list[Any], _now: float) -> int:
            return int(queues[0].user)

    scenario = to.Scenario.load(ROOT / USERS).replace(
        {"last_hop.scheduler": {"kind": "external", "name": "first-comer"}}
    )
    study = to.capacity(scenario, users=[3], duration=1.0)

    assert row(study, "external", 3)["user_useful_min_bps"] == 0, "only user 0 is ever served"
    assert row(study, "external", 3)["jain"] == pytest.approx(1 / 3)


def test_progress_goes_from_nothing_to_all() -> None:
    shares: list[float] = []
    to.capacity(ROOT / USERS, users=[2], schedulers=[], duration=1, progress=shares.append)

    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) > 3


def test_a_study_that_was_stopped_after_its_first_row_is_drawn(tmp_path: Path) -> None:
    whole = to.capacity(ROOT / USERS, users=[2], schedulers=[], duration=1)
    report = whole.report | {"rows": whole.rows[:1], "partial": True}
    study = to.Capacity(report=report, scenario_toml=whole.scenario_toml, provenance=whole.provenance)

    assert (study.save(tmp_path / "study") / "capacity.png").is_file()
