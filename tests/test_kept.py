"""Nothing of the user's is lost or written over: folders, tables beside figures, what was finished before Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from transorbit import _folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Outcome

# The command in a process of its own.
PROGRAM = (sys.executable, "-m", "transorbit")
SHORT = ("--set", "duration=200 ms", "--quiet", "--no-plots")


def test_a_run_takes_the_place_of_the_same_run_only(here: Path, command: Callable[..., Outcome]) -> None:
    for _ in range(2):
        assert command("run", "lab-fixed", *SHORT).code == 0
    assert [folder.name for folder in (here / "results").iterdir()] == ["lab-fixed"]

    assert command("run", "lab-fixed", *SHORT, "--seed", "7").code == 0
    assert command("run", "lab-fixed", *SHORT, "--set", "flows.0.count=2").code == 0
    assert command("run", "lab-fixed", *SHORT, "--seed", "7").code == 0
    assert sorted(folder.name for folder in (here / "results").iterdir()) == ["lab-fixed", "lab-fixed-2", "lab-fixed-3"]
    assert to.Result.load("results/lab-fixed").summary["seed"] == 1
    assert to.Result.load("results/lab-fixed-2").summary["seed"] == 7


def test_a_folder_that_is_named_is_replaced_by_force_only(command: Callable[..., Outcome]) -> None:
    assert command("run", "lab-fixed", *SHORT, "--out", "r").code == 0

    refused = command("run", "lab-fixed", *SHORT, "--out", "r", "--seed", "2")

    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert refused.err.startswith("transorbit: --out: r has the result of another scenario or seed")
    assert to.Result.load("r").summary["seed"] == 1
    assert command("run", "lab-fixed", *SHORT, "--out", "r", "--seed", "2", "--force").code == 0
    assert to.Result.load("r").summary["seed"] == 2


def test_a_study_and_routes_are_replaced_by_force_only(command: Callable[..., Outcome]) -> None:
    study = ("capacity", "lab-fixed", "--users", "1", "--duration", "100 ms", "--out", "c", "--quiet", "--no-plots")
    routes = ("constellation", "routes", "leo-66", "--stations", "towns.csv", "--step", "1 s", "--out", "w", "--quiet")
    for arguments, other in ((study, ("--seed", "5")), ((*routes, "--duration", "2 s"), ("--metric", "hops"))):
        assert command(*arguments).code == 0
        assert command(*arguments).code == 0
        assert command(*arguments, *other).code == 2
        assert command(*arguments, *other, "--force").code == 0


def test_a_figure_leaves_the_table_beside_it_alone(command: Callable[..., Outcome]) -> None:
    assert command("run", "lab-fixed", *SHORT, "--out", "r").code == 0
    Path("c3.csv").write_text("mine\n1\n")

    assert command("plot", "r", "goodput", "--out", "c3.png").code == 0
    assert Path("c3.csv").read_text() == "mine\n1\n"
    refused = command("plot", "r", "goodput", "--out", "c3.png", "--data", "c3.csv")
    assert (refused.code, refused.err) == (
        2,
        "transorbit: c3.csv: is there and holds something else, or has other columns; choose another name\n",
    )
    assert not Path("c3-2.csv").exists()
    for _ in range(2):
        assert command("plot", "r", "goodput", "--out", "c3.png", "--data", "d/c4.csv").code == 0
    assert pl.read_csv("d/c4.csv").height > 1
    assert Path("c3.csv").read_text() == "mine\n1\n"


ENDS = ("--from", "43.6,1.4", "--to", "-36.9,174.8", "--duration", "2 s")


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("channel", "generate", "--duration", "1 s"), "--csv"),
        (("channel", "generate", "--duration", "1 s"), "--plot"),
        (("constellation", "delay", "leo-66", *ENDS), "--csv"),
        (("constellation", "delay", "leo-66", *ENDS), "--trace"),
        (("trace", "show", "measured.csv"), "--csv"),
        (("report", "r"), "--out"),
        (("plot", "r", "goodput"), "--out"),
    ],
)
def test_a_file_of_something_else_stays_and_one_of_the_same_is_replaced(
    arguments: tuple[str, ...], option: str, command: Callable[..., Outcome]
) -> None:
    Path("measured.csv").write_text("time_s,delay_s\n0,0.04\n1,0.05\n")
    if "r" in arguments:
        assert command("run", "lab-fixed", *SHORT, "--out", "r").code == 0
    ends = {"--csv": ".csv", "--plot": ".svg", "--trace": ".csv", "--out": ".html" if "report" in arguments else ".svg"}
    mine, ours = (Path(name).with_suffix(ends[option]) for name in ("mine", "ours"))
    mine.write_text("mine\n1\n")

    refused = command(*arguments, option, str(mine))
    assert (refused.code, mine.read_text()) == (2, "mine\n1\n")
    assert f"{mine}: is there and " in refused.err
    for _ in range(2):
        assert command(*arguments, option, str(ours)).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "lab-fixed", "--out", "/proc/nothing/r"),
        ("capacity", "lab-fixed", "--out", "/proc/c"),
        ("sweep", "leo-snr", "--out", "/proc/s"),
        ("constellation", "routes", "leo-66", "--stations", "towns.csv", "--out", "/proc/w"),
        ("demo", "--out", "/proc/d"),
        ("channel", "generate", "--plot", "/proc/x.svg"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_work(
    arguments: tuple[str, ...], command: Callable[..., Outcome]
) -> None:
    started = time.process_time()

    done = command(*arguments)

    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "/proc/" in done.err
    assert time.process_time() - started < 3


def test_what_was_killed_while_it_drew_is_replaced(here: Path, command: Callable[..., Outcome]) -> None:
    assert command("run", "lab-fixed", *SHORT, "--out", "r").code == 0
    left = here / "r/.plots.abcd1234/new"
    left.mkdir(parents=True)
    (left / "goodput.svg").touch()

    assert command("run", "lab-fixed", *SHORT, "--out", "r").code == 0
    assert not left.exists()
    left.mkdir(parents=True)
    (left / "thesis.tex").touch()
    assert command("run", "lab-fixed", *SHORT, "--out", "r").code == 2
    assert (left / "thesis.tex").exists()


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from transorbit.cli import main

step, rename = int(sys.argv[1]), Path.rename
calls = 0

def killed(self, target):
    global calls
    if calls == step:
        os.kill(os.getpid(), signal.SIGKILL)
    calls += 1
    return rename(self, target)

Path.rename = killed
shutil.rmtree = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
main.run(sys.argv[2:])
"""


@pytest.mark.parametrize(("step", "seed"), [(0, 1), (1, 1), (2, 1), (3, 2)])
def test_who_is_killed_while_a_result_is_replaced_loses_none(
    step: int, seed: int, here: Path, command: Callable[..., Outcome]
) -> None:
    """Before the old one is found and taken away, between the two renames, and when the new one is there."""
    run = ("run", "lab-fixed", *SHORT, "--out", "r")
    assert command(*run).code == 0
    other = subprocess.run([sys.executable, "-c", KILLED, str(step), *run, "--seed", "2", "--force"], check=False)
    assert other.returncode == -signal.SIGKILL
    assert (here / "r").exists() == (step != 2)
    assert [*here.glob(".r.*")], "it left something"

    # Whoever comes next finds a whole result: of the first or the second run, and never neither.
    assert to.Result.load("r").summary["seed"] == seed
    refused = command(*run, "--seed", "3")
    assert (refused.code, "r has the result of another" in refused.err) == (2, True)
    assert to.Result.load("r").summary["seed"] == seed
    assert not [*here.glob(".r.*")], "and nothing beside it"


def test_what_somebody_is_writing_is_left_alone(here: Path) -> None:
    with _folder.replacing(here / "r") as fresh:
        _folder.put_back(here / "r")
        (fresh / "summary.json").touch()
    assert (here / "r/summary.json").is_file()


def test_what_took_the_place_of_a_killed_one_stays(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part in ("old", "new"):
        (here / ".r.abcd1234" / part).mkdir(parents=True)
    (here / ".r.abcd1234/lock").touch()
    (here / "r").mkdir()

    _folder.put_back(here / "r")

    assert (here / ".r.abcd1234/old").is_dir()
    assert ".r.abcd1234/old: what" in capsys.readouterr().err


def test_numbers_of_folders_go_up(tmp_path: Path) -> None:
    taken = {tmp_path / "r", tmp_path / "r-2"}

    assert _folder.numbered(tmp_path / "r", lambda folder: folder not in taken) == tmp_path / "r-3"


SWEEP = """
scenario = "lab-fixed"
set = { duration = "10 s" }
replications = 50

[[axes]]
key = "last_hop.rate"
range = { from = "20 Mbit/s", to = "90 Mbit/s", count = 8 }
"""


@pytest.mark.parametrize("after_s", [None, 0.3])
def test_a_sweep_that_is_stopped_keeps_and_counts_what_is_finished(here: Path, after_s: float | None) -> None:
    """Ctrl-C with the first run, when the first table is about to be made, and later."""
    (here / "it.sweep.toml").write_text(SWEEP)
    sweep = [sys.executable, "-m", "transorbit", "sweep", "it.sweep.toml", "--jobs", "2", "--json"]
    with subprocess.Popen(sweep, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        store = here / "results/it/store.sqlite"
        while kept(store) < 1 and process.poll() is None:
            time.sleep(0.005)
        time.sleep(after_s or 0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert "Traceback" not in err
    report = json.loads(out)
    assert report["partial"]
    assert (report["reused"], report["computed"]) == (0, kept(store))
    assert report["runs"] == kept(store)
    assert to.sweep.SweepResult.load("results/it").runs.height == kept(store)
    assert f"stopped after {kept(store)} of 400 runs" in err


def kept(store: Path) -> int:
    if not store.is_file():
        return 0
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM outcomes").fetchone()[0])
    except sqlite3.Error:
        return 0


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("moment", ["gather", "save"])
def test_ctrl_c_after_the_last_run_of_a_sweep_waits_until_it_is_written(
    moment: str, command: Callable[..., Outcome], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "it.sweep.toml").write_text(SWEEP.replace("replications = 50", "replications = 1"))
    own = getattr(to.sweep.SweepResult, moment)

    def interrupted(*given: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return own(*given)

    monkeypatch.setattr(to.sweep.SweepResult, moment, interrupted)
    done = command("sweep", "it.sweep.toml", "--quiet")

    assert done.code == 130
    assert done.err == "transorbit: stopped; all runs had been made\n"
    assert to.sweep.SweepResult.load("results/it").runs.height == 8


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches this process, also where it was started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("here", "interruptible")
def test_a_study_of_capacity_that_is_stopped_keeps_its_rows() -> None:
    def stop(share: float) -> None:
        if share > 0.5:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(to.CapacityInterrupted) as stopped:
        to.capacity("lab-fixed", users=[1, 2, 4, 8], duration="2 s", progress=stop)

    study = stopped.value.study
    assert study.report["partial"]
    assert 0 < len(study.rows) < 12
    study.save("c")
    assert json.loads(Path("c/capacity.json").read_text())["rows"] == study.rows


def test_a_part_does_not_replace_the_whole(command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("run", "lab-fixed", *SHORT, "--out", "r")
    assert command(*arguments).code == 0
    whole = to.Result.load("r").summary["digest"]
    from transorbit import scenario

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scenario, "_advance", stopped)
    assert command(*arguments).code == 130
    assert to.Result.load("r").summary["digest"] == whole
    assert to.Result.load("r-2").partial


def test_a_part_of_a_demo_does_not_replace_the_whole(
    command: Callable[..., Outcome], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "short.toml").write_text((here / "scenarios/leo-tcp.toml").read_text().replace('"600 s"', '"2 s"'))
    assert command("demo", "short.toml", "--out", "d").code == 0
    from transorbit import scenario

    monkeypatch.setattr(scenario, "_advance", _stopped)
    done = command("demo", "short.toml", "--out", "d")
    assert done.code == 130
    assert done.err.endswith("; d/with-reordering keeps its result\n")
    assert not to.Result.load("d/with-reordering").partial


def _stopped(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "patched", "said"),
    [
        (("access", "plr", "--bursts", "1e3"), "access.plr", "the study was stopped, and nothing of it is kept"),
        (("run", "lab-fixed", "--set", "duration=1 s", "--out", "r"), "result._save_overview",
         "stopped; r has the result, without its plots"),
        (("run", "lab-fixed", "--set", "duration=1 s", "--out", "r"), "_inputs.write",
         "stopped while the result was written; r is as it was"),
        (("check", "lab-fixed"), "Scenario.to_toml", "stopped; nothing is kept"),
    ],
)  # fmt: skip
def test_who_is_stopped_is_told_what_is_kept(
    arguments: tuple[str, ...],
    patched: str,
    said: str,
    command: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"transorbit.{patched}", _stopped)
    done = command(*arguments)

    assert (done.code, done.err) == (130, f"transorbit: {said}\n")
    assert Path("r/summary.json").exists() == ("has the result" in said)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("moment", ["scenario.provenance", "result._captures", "_inputs.write", "_folder._become"])
def test_ctrl_c_after_the_end_of_a_run_waits_until_it_is_written(
    moment: str, command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the result is made of what was recorded, and while its folder is written."""
    with monkeypatch.context() as patched:
        _pressed_before(f"transorbit.{moment}", patched)
        done = command("run", "lab-fixed", "--set", "duration=200 ms", "--set", "record.packets=pcapng", "--out", "r")

    assert (done.code, done.err) == (130, "transorbit: stopped; r has the result, without its plots\n")
    result = to.Result.load("r")
    assert (result.summary["simulated_s"], result.partial) == (0.2, False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_after_the_end_of_a_run_without_a_folder_waits_until_it_is_told(
    command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    _pressed_before("transorbit.scenario.provenance", monkeypatch)
    done = command("run", "lab-fixed", "--set", "duration=200 ms", "--json")
    assert (done.code, done.err) == (130, "transorbit: stopped; the result is whole\n")
    assert json.loads(done.out)["simulated_s"] == 0.2


@pytest.mark.usefixtures("here", "interruptible")
def test_an_interrupt_after_the_end_of_a_run_carries_the_whole_result(
    lab: to.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pressed_before("transorbit.scenario.provenance", monkeypatch)
    with pytest.raises(to.Interrupted) as stopped:
        lab.replace({"duration": "200 ms"}).run()
    assert stopped.value.result.summary["simulated_s"] == 0.2
    assert not stopped.value.result.partial


def _pressed_before(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Ctrl-C come whenever a function is called."""
    place, _, attribute = name.rpartition(".")
    function = getattr(import_module(place), attribute)

    def pressed(*given: object, **named: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        return function(*given, **named)

    monkeypatch.setattr(name, pressed)


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.2])
def test_a_sweep_that_is_stopped_in_its_first_moments_is_stopped(here: Path, after_s: float) -> None:
    """Whether Ctrl-C comes while its libraries are imported, or with the first runs: no traceback, no half a module."""
    (here / "it.sweep.toml").write_text(f'warm_up = "500 ms"\n{SWEEP}')
    sweep = [sys.executable, "-m", "transorbit", "sweep", "it.sweep.toml", "--jobs", "2", "--json"]
    with subprocess.Popen(sweep, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (here / "results/it/sweep.toml").is_file() and process.poll() is None:
            time.sleep(0.002)
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert err.startswith("transorbit: stopped")
    assert err.count("\n") == 1
    again = to.Sweep.load("it.sweep.toml").replace(replications=1)
    result = again.run(store="results/it/store.sqlite")
    assert result.runs.height == 8


def test_runs_side_by_side_lose_no_result(here: Path) -> None:
    begun = [
        subprocess.Popen(
            [*PROGRAM, "run", "lab-fixed", "--set", "duration=20 s", "--quiet", "--no-plots", "--seed", seed]
        )
        for seed in "123"
    ]
    assert [process.wait(120) for process in begun] == [0, 0, 0]
    folders = list((here / "results").iterdir())
    assert sorted(to.Result.load(folder).summary["seed"] for folder in folders) == [1, 2, 3]


def test_a_folder_that_another_process_has_filled_meanwhile_is_left(tmp_path: Path) -> None:
    def choose() -> Path:
        return _folder.numbered(tmp_path / "r", lambda folder: not folder.exists())

    with _folder.replacing(tmp_path / "r", choose=choose) as mine:
        (mine / "summary.json").write_text("mine")
        with _folder.replacing(tmp_path / "r") as other:
            (other / "summary.json").write_text("the other's")
    texts = {folder.name: (folder / "summary.json").read_text() for folder in tmp_path.iterdir()}
    assert texts == {"r": "the other's", "r-2": "mine"}


def test_a_folder_of_somebody_else_is_never_chosen(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "results/lab-fixed-2").mkdir(parents=True)
    (here / "results/lab-fixed-2/thesis.txt").write_text("mine")
    assert command("run", "lab-fixed", *SHORT).code == 0
    assert command("run", "lab-fixed", *SHORT, "--seed", "7").code == 0
    assert (here / "results/lab-fixed-2/thesis.txt").read_text() == "mine"
    assert to.Result.load("results/lab-fixed-3").summary["seed"] == 7

    with (
        pytest.raises(FileExistsError, match=r"thesis|is not a result folder"),
        _folder.replacing(here / "r", choose=lambda: here / "results/lab-fixed-2"),
    ):
        pass
    assert (here / "results/lab-fixed-2/thesis.txt").read_text() == "mine"


@pytest.mark.usefixtures("here")
def test_a_result_is_kept_though_nobody_reads_what_is_printed() -> None:
    arguments = [*PROGRAM, "run", "lab-fixed", "--set", "duration=200 ms", "--out"]
    with subprocess.Popen([*arguments, "gone"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.close()
        assert process.wait(60) == 0
    assert to.Result.load("gone").summary["simulated_s"] == 0.2

    for number, closed in enumerate((">&-", "2>&-", ">&- 2>&-")):
        line = " ".join([*arguments, f"closed-{number}", "--no-plots", closed])
        assert subprocess.run(["sh", "-c", line.replace("200 ms", "200ms")], timeout=60, check=False).returncode == 0
        assert to.Result.load(f"closed-{number}").summary["simulated_s"] == 0.2


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (["capacity", "lab-fixed", "--users", "2", "--duration", "1 s"], "capacity.json"),
        (["access", "plr", "--method", "aloha", "--packets", "10", "--bursts", "1000"], "provenance.json"),
    ],
)
def test_a_study_is_kept_though_nobody_reads_what_is_printed(arguments: list[str], file: str) -> None:
    with subprocess.Popen([*PROGRAM, *arguments, "--no-plots", "--out", "gone"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.close()
        assert process.wait(60) == 0
    assert Path("gone", file).is_file()


@pytest.mark.usefixtures("here")
def test_ctrl_c_waits_until_a_study_is_written(
    command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    save = to.Capacity.save

    def late(study: to.Capacity, *arguments: Any, **options: Any) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return save(study, *arguments, **options)

    monkeypatch.setattr(to.Capacity, "save", late)
    outcome = command("capacity", "lab-fixed", "--users", "2", "--duration", "1 s", "--no-plots", "--out", "late")

    assert (outcome.code, outcome.err) == (130, "transorbit: stopped; the study is whole\n")
    assert Path("late", "capacity.json").is_file()


EARLY = """
import os, signal, sys

class Stop:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Stop())
before = set(sys.modules)
import transorbit.cli.main
mine = {name for name in set(sys.modules) - before if name.startswith(("transorbit", "typing"))}
assert mine <= {"transorbit", "transorbit.cli", "transorbit.cli.main"}, mine
transorbit.cli.main.main(["check", "lab-fixed"])
"""


@pytest.mark.parametrize(
    "module", ["transorbit._core", "transorbit.scenario", "transorbit.sweep", "transorbit.cli.app", "cyclopts"]
)
def test_who_is_stopped_while_a_command_begins_sees_no_traceback(module: str, here: Path) -> None:
    """Ctrl-C comes when the module is imported; what is imported before it is caught is next to nothing."""
    done = subprocess.run([sys.executable, "-c", EARLY, module], cwd=here, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (130, "transorbit: stopped; nothing is kept\n")
