"""Sweeps as a command: stopped, killed, resumed, shown."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

import transorbit as to
from conftest import PROGRAM, Outcome
from sweeps import ORIGIN, SCENARIOS, SWEEP, keys
from transorbit import _numbers
from transorbit.statistics import mean_interval
from transorbit.sweep import metrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def begin(here: Path, at_least: int, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """A sweep as a process, once it has finished so many runs: long ones, not over before it is stopped."""
    (here / "small.toml").write_text(SWEEP.replace('"5 s"', '"600 s"'))
    process = subprocess.Popen(
        [PROGRAM, "sweep", "small.toml", "--jobs", "2", *options],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    store = here / "results/small/store.sqlite"
    end = time.monotonic() + 60
    while not (store.exists() and (here / "results/small/sweep.toml").exists() and len(_quietly(store)) >= at_least):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    return process


def _quietly(store: Path) -> dict[str, str]:
    try:
        return keys(store)
    except sqlite3.OperationalError:
        return {}


def test_a_sweep_that_is_killed_goes_on_where_it_was(here: Path, program: Callable[..., Outcome]) -> None:
    process = begin(here, at_least=5)
    process.kill()
    process.communicate()
    before = keys(here / "results/small/store.sqlite")
    assert 5 <= len(before) < 30
    partial = to.SweepResult.load(here / "results/small")
    assert set(partial.runs["key"]) <= set(before)
    assert len(before) - 2 <= len(partial.runs)

    done = program("sweep", "small.toml", "--resume", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["runs"], report["reused"], report["computed"]) == (30, len(before), 30 - len(before))
    after = keys(here / "results/small/store.sqlite")
    assert {key: after[key] for key in before} == before
    with sqlite3.connect(here / "results/small/store.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()

    whole = to.Sweep.load(here / "small.toml").run()
    resumed = to.SweepResult.load(here / "results/small")
    assert resumed.runs.drop(ORIGIN).equals(whole.runs.drop(ORIGIN))
    assert resumed.flows.equals(whole.flows)
    assert not list((here / "results/small").rglob(".*"))


def test_ctrl_c_keeps_what_is_finished(here: Path) -> None:
    process = begin(here, at_least=3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.startswith("transorbit: stopped after ")
    assert err.endswith(" of 30 runs; the same command goes on from there\n")
    assert "A small one" in out
    runs = pl.read_parquet(here / "results/small/runs/runs.parquet")
    assert set(runs["key"]) == set(keys(here / "results/small/store.sqlite"))
    assert 3 <= len(runs) < 30

    process = begin(here, at_least=len(runs) + 1, options=("--json",))
    process.send_signal(signal.SIGINT)
    report = json.loads(process.communicate(timeout=60)[0])
    assert (process.returncode, report["partial"], report["wanted"]) == (130, True, 30)
    assert len(runs) < report["runs"] < 30


# The command.


def test_the_command_shows_means_and_keeps_tables(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "small.toml").write_text(SWEEP.replace("15", "3"))
    short = ("--set", "duration=1 s")
    done = command("sweep", "small.toml", *short, "--jobs", "2", "--out", "out", "--seed", "4")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "A small one"
    assert lines[1].startswith("2 points, 6 runs: 6 computed in ")
    assert [*lines[3].split(), *lines[4].split()] == ["goodput_mbps", "snr", "(dB)", "runs", "(Mbit/s)"]
    assert "Tables: out/runs and out/flows (Parquet)" in lines

    again = command("sweep", "small.toml", *short, "--out", "out", "--seed", "4", "--json")
    report = json.loads(again.out)
    assert (report["points"], report["runs"], report["computed"], report["reused"], report["failed"]) == (2, 6, 0, 6, 0)
    runs = pl.read_parquet(here / "out/runs/runs.parquet")
    assert runs["seed"].to_list() == [4000, 4001, 4002] * 2
    for row, (_, own) in zip(report["rows"], runs.group_by("point", maintain_order=True), strict=True):
        interval = mean_interval(own["goodput_mbps"], limits=(0, None))
        expected = {"mean": interval.mean, "low": interval.low, "high": interval.high, "count": 3}
        assert row["metrics"]["goodput_mbps"] == pytest.approx(expected)
        assert row["snr"] == own["snr"][0]
    assert command("sweep", "small.toml", *short, "--out", "quiet", "--quiet") == Outcome(0, "", "")


def test_the_command_refuses_in_one_line(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "small.toml").write_text(SWEEP)

    def refused(*arguments: str) -> str:
        done = command("sweep", "small.toml", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert not (here / "results").exists()
        return done.err.removeprefix("transorbit: ").rstrip()

    assert refused("--resume").startswith("--resume: results/small has no sweep to go on with")
    assert refused("--jobs", "0") == "--jobs: 0 must be 1 or more"
    assert refused("--jobs", "2", "--dask", "tcp://127.0.0.1:1") == "--jobs: does not go with --dask"
    assert refused("--dask", "nonsense://x").startswith("--dask: no scheduler answers at nonsense://x")
    assert refused("--set", "x").startswith("--set: 'x': write key=value")
    assert refused("--set", "duration={").startswith("--set: duration: `{` is not a TOML value")
    assert refused("--set", "channel.reference_snr=3 dB") == "set: channel.reference_snr is what the axis snr varies"
    assert refused("--seed", "x").startswith("--seed: 'x' is not a whole number")
    assert refused("--seed", "9999999999") == "--seed: '9999999999' is not a whole number between 0 and 1000000000"
    assert refused("--set", "duraton=3 s").startswith("duraton: is an unknown key")
    (here / "small.toml").write_text("scenario = ")
    assert refused().startswith("small.toml: not TOML")
    (here / "small.toml").unlink()
    assert refused() == "small.toml: No such file or directory"


def test_a_folder_keeps_its_sweep_where_a_metric_cannot_be_computed(
    here: Path, command: Callable[..., Outcome]
) -> None:
    text = SWEEP.replace("15", "1").replace('"5 s"', '"1 s"').partition("[metrics]")[0]
    (here / "small.toml").write_text(text)
    assert command("sweep", "small.toml", "--quiet").code == 0
    files = ["sweep.toml", "scenario.toml", "runs/runs.parquet", "flows/flows.parquet"]
    before = [(here / "results/small" / name).read_bytes() for name in files]
    # The first is told by the first run, the second when no run at all has the column.
    for expression in ("avg(goodput)", 'avg("web.x")'):
        (here / "small.toml").write_text(f"{text}\n[metrics]\ng = '{expression}'\n")
        refused = command("sweep", "small.toml")
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert refused.err.startswith("transorbit: metrics.g: no column ")
        assert [(here / "results/small" / name).read_bytes() for name in files] == before
        assert len(to.SweepResult.load(here / "results/small").runs) == 2


def test_a_scenario_is_no_sweep_and_a_sweep_no_scenario(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "small.toml").write_text(SWEEP)
    told = "transorbit: scenarios/leo-tcp.toml: this is a scenario: transorbit run scenarios/leo-tcp.toml\n"
    assert command("sweep", "scenarios/leo-tcp.toml") == Outcome(2, "", told)
    told = "transorbit: small.toml: this is a sweep: transorbit sweep small.toml\n"
    assert command("run", "small.toml") == Outcome(2, "", told)


def test_the_folder_of_a_sweep_takes_no_result(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "small.toml").write_text(SWEEP.replace("15", "1").replace('"5 s"', '"1 s"'))
    assert command("sweep", "small.toml", "--quiet", "--out", "out").code == 0
    before = sorted(here.rglob("*"))

    told = "transorbit: out: is the folder of a sweep; choose another folder\n"
    for options in ((), ("--force",)):
        assert command("run", "lab-fixed", "--set", "duration=1 s", "--out", "out", *options) == Outcome(2, "", told)
        assert command("capacity", "lab-fixed", "--out", "out", *options) == Outcome(2, "", told)
    assert sorted(here.rglob("*")) == before
    (here / "mine").mkdir()
    (here / "mine/thesis.tex").write_text("years")
    told = "transorbit: mine: exists and is not a result folder; choose another folder\n"
    assert command("run", "lab-fixed", "--out", "mine") == Outcome(2, "", told)


@pytest.mark.parametrize(
    ("setting", "key"), [("replications=3", "replications"), ("precision.most=9", "precision"), ("axes=[]", "axes")]
)
def test_a_key_of_the_sweep_is_none_of_its_scenario(
    here: Path, command: Callable[..., Outcome], setting: str, key: str
) -> None:
    (here / "small.toml").write_text(SWEEP)
    told = f"transorbit: set: {key} is the sweep's own key and stands in its file: set changes the scenario\n"
    assert command("sweep", "small.toml", "--set", setting) == Outcome(2, "", told)
    assert not (here / "results").exists()


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (339.4, 230.0, "339 ± 230"),
        (2.983, 3.0, "3.0 ± 3.0"),
        (9.1234, 0.021, "9.123 ± 0.021"),
        (9.1234567, 0.000012, "9.123457 ± 0.000012"),
        (0.02, 1500.0, "0 ± 1500"),
        (123456.0, 2.6, "123456.0 ± 2.6"),
        (-0.02, 1.5, "0.0 ± 1.5"),
        (7.0, 0.0, "7 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (-2.5e-7, 1e-8, "(-2.50 ± 0.10)e-07"),
        (2.5e12, 1e11, "(2.50 ± 0.10)e+12"),
    ],
)
def test_an_interval_is_rounded_to_the_second_digit_of_its_width(mean: float, half: float, shown: str) -> None:
    assert _numbers.interval(mean, mean - half, mean + half) == shown


def test_an_interval_ends_with_the_scale() -> None:
    found = mean_interval([4.1, 4.4, 4.5, 4.5], limits=(1.0, 4.5))
    assert (found.high, found.low > 1) == (4.5, True)
    assert _numbers.interval(found.mean, found.low, found.high) == "4.38 (4.07 to 4.50)"
    assert metrics.scale_of("avg(mos)") == (1.0, 5.0), "that of video"
    assert metrics.scale_of('avg("voice.mos")') == (1.0, 4.5)
    assert metrics.scale_of('max("voice.burst_ratio")') == (0.0, None), "no share"
    assert metrics.scale_of("100 * avg(loss_ratio)") == (0.0, 100.0)
    assert metrics.scale_of('max("access.plr")') == (0.0, 1.0)
    assert metrics.scale_of("avg(rebuffers)") == (0.0, None), "a count"
    assert metrics.scale_of("avg(steady_goodput_bps) / 1e6") == (0.0, None), "of the series"
    assert metrics.scale_of("avg(steady_attenuation_db)") == (None, None), "a gain is below 0"
    assert metrics.scale_of("avg(qoe)") == (None, None)
    assert metrics.scale_of("sum(goodput_bps) / 1e6") == (0.0, None)
    assert metrics.scale_of("avg(mos) - 1") == (None, None)
    assert metrics.scale_of("sum(mos)") == (0.0, None)
    read = metrics.read({"m": {"sql": "avg(mos) - 1", "limits": [0, 3.5]}}, {})
    assert read["m"].limits == (0.0, 3.5)
    for wrong in ([1], [2, 1], "1 to 5", [True, 2]):
        with pytest.raises(to.ScenarioError, match=r"metrics\.m\.limits: "):
            metrics.read({"m": {"sql": "avg(mos) - 1", "limits": wrong}}, {})


def test_resuming_insists_on_the_same_sweep(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "base.toml").write_text((SCENARIOS / "leo-tcp.toml").read_text())
    text = SWEEP.replace("15", "1").replace('"5 s"', '"1 s"')
    (here / "small.toml").write_text(text.replace("scenarios/leo-tcp.toml", "base.toml"))
    assert command("sweep", "small.toml", "--quiet").code == 0
    before = (here / "results/small/sweep.toml").read_bytes()
    assert command("sweep", "small.toml", "--resume", "--quiet") == Outcome(0, "", "")
    other = command("sweep", "small.toml", "--resume", "--seed", "5", "--set", "duration=2 s")
    told = "transorbit: --resume: results/small has another sweep, which differs in seed, set\n"
    assert other == Outcome(2, "", told)
    with (here / "base.toml").open("a") as file:
        file.write("# A remark\n")
    other = command("sweep", "small.toml", "--resume")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "has another sweep, which differs in the text of its scenario" in other.err
    assert (here / "results/small/sweep.toml").read_bytes() == before
    assert command("sweep", "small.toml", "--quiet").code == 0


def test_failed_runs_are_told_loudly(here: Path, command: Callable[..., Outcome]) -> None:
    text = SWEEP.replace("15", "1").replace('"5 s"', '"1 s"')
    (here / "small.toml").write_text(text.replace('"10 dB"', '"10 parsec"'))
    done = command("sweep", "small.toml")
    assert done.code == 0
    before, after = done.err.splitlines()
    assert before.startswith("transorbit: warning: cannot run snr = 10 parsec: channel.reference_snr: ")
    told = "transorbit: warning: 1 of 2 runs failed, the first at snr = 10 parsec: channel.reference_snr: "
    assert after.startswith(told)
    good, bad = (line.split() for line in done.out.splitlines()[5:7])
    assert (good[:4], bad) == (["7", "dB", "1", "0"], ["10", "parsec", "1", "1", "-"])
    (here / "small.toml").write_text('warm_up = "2 s"\n' + text)
    done = command("sweep", "small.toml", "--out", "cold")
    assert done.code == 2
    assert done.err.startswith("transorbit: warning: all 2 runs failed, the first at snr = 7 dB: warm_up: ")
    assert (here / "cold/runs/runs.parquet").exists()
