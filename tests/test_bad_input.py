"""Wrong input: one line with the key's path, exit code 2, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Outcome

Command = Callable[..., Outcome]

LEO = "scenarios/leo-tcp.toml"
LAB = "scenarios/lab-fixed.toml"

# What is set, the path that the message must begin with, and what it must mention besides.
WRONG_VALUES = [
    ("chanel.kind=clear", "chanel", ["channel"]),
    ("last_hop.sheduler={}", "last_hop.sheduler", ["scheduler"]),
    ("channel.elevaton=40 deg", "channel.elevaton", ["elevation"]),
    ("flows.0.transport.congestion=cubix", "flows.0.transport.congestion", ["cubix", "cubic"]),
    ("channel.kind=lmz", "channel", ["lmz", "lms"]),
    ("path.constellation=leo-67", "path.constellation", ["leo-67", "leo-66"]),
    ("last_hop.scheduler.kind=dropptail", "last_hop.scheduler", ["dropptail", "droptail"]),
    ("channel.environment=moon", "channel.environment", ["moon", "suburban"]),
    ("duration=600 m", "duration", ["600 m", "unit"]),
    ("duration=600", "duration", ["600"]),
    ("duration=0 s", "duration", ["0 s"]),
    ("last_hop.rate=50 Mbaud", "last_hop.rate", ["50 Mbaud", "Mbit/s"]),
    ("last_hop.rate=0 bit/s", "last_hop.rate", ["0 bit/s"]),
    ("last_hop.delay=-1 ms", "last_hop.delay", ["-1 ms"]),
    ("last_hop.delay=10", "last_hop.delay", ["10"]),
    ("last_hop.delay=2 min", "last_hop.delay", ["120 s", "60 s"]),
    ("channel.elevation=95 deg", "channel.elevation", ["95 deg", "90"]),
    ("channel.speed=-3 km/h", "channel.speed", ["-3 km/h"]),
    ("path.source.latitude=91 deg", "path.source.latitude", ["91 deg", "90"]),
    ("flows.0.count=0", "flows.0.count", ["0"]),
    ("flows.0.count=-1", "flows.0.count", ["-1"]),
    ("flows.0.count=many", "flows.0.count", ["many"]),
    ("flows.3.count=1", "flows.3", ["entries"]),
    ("flows.0.transport.mss=0 B", "flows.0.transport.mss", ["0 B"]),
    ("last_hop.harq.transmissions=0", "last_hop.harq.transmissions", ["0"]),
    ("last_hop.reordering.capacity=-5", "last_hop.reordering.capacity", ["-5"]),
    ("last_hop.scheduler.buffer=1 parsec", "last_hop.scheduler.buffer", ["1 parsec", "bdp"]),
    ('path={ kind = "fixed" }', "path", ["delay"]),
    ('path={ kind = "fixed", delay = "-40 ms" }', "path.delay", ["-40 ms"]),
    ('path={ kind = "fixed", delay = "40 ms", jitter = { probability = 2, extra = "1 ms" } }', "path.jitter", ["2"]),
    ('channel={ kind = "bernoulli", loss = "101 %" }', "channel.loss", ["101 %"]),
    ('channel={ kind = "trace", file = "missing.csv" }', "channel.file", ["missing.csv"]),
    ('channel={ kind = "outcomes", file = "missing.csv" }', "channel.file", ["missing.csv"]),
    ('path={ kind = "trace", file = "missing.csv" }', "path.file", ["missing.csv"]),
    ("seed=-4", "seed", ["-4"]),
    ("flows=[]", "flows", []),
]


def test_a_scenario_of_another_name_is_suggested(command: Command) -> None:
    refused = command("check", "leo-tcx")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("transorbit: leo-tcx: No such file or directory; did you mean leo-tcp")
    assert command("check", "qqqq").err == "transorbit: qqqq: No such file or directory\n"


@pytest.mark.parametrize(("assignment", "path", "mentions"), WRONG_VALUES, ids=[case[0] for case in WRONG_VALUES])
def test_a_wrong_value_is_named(command: Command, here: Path, assignment: str, path: str, mentions: list[str]) -> None:
    for verb in ("check", "run"):
        done = command(verb, LEO, "--set", assignment)

        line = _refused(done, here)
        assert line.startswith(f"transorbit: {path}"), line
        assert all(mention in line.removeprefix(f"transorbit: {path}") for mention in mentions), line


TRACES = {
    "time goes back": "0,0\n1,1\n0.5,2\n",
    "time stands still": "0,0\n1,1\n1,2\n",
    "not a number": "0,0\n1,deep\n",
    "one column": "0\n1\n",
    "infinite": "0,0\n1,inf\n",
    "empty": "",
    "only a header": "time,value\n",
}


@pytest.mark.parametrize("stage", ["channel", "path"])
@pytest.mark.parametrize("fault", TRACES)
def test_a_wrong_trace_is_named(command: Command, here: Path, stage: str, fault: str) -> None:
    (here / "lab.toml").write_text(Path(LAB).read_text())
    (here / "x.csv").write_text(TRACES[fault])

    line = _refused(command("run", "lab.toml", "--set", f'{stage}={{ kind = "trace", file = "x.csv" }}'), here)

    assert line.startswith(f"transorbit: {stage}.file"), line
    assert "x.csv" in line


@pytest.mark.parametrize(
    "text",
    ["title = ", "[path\n", "a = 1\na = 2\n", "flows = 3\n", "", "\x00", "[[flows]]\n[[flows.count]]\n"],
    ids=["no value", "open bracket", "twice", "wrong type", "nothing", "control character", "table for number"],
)
def test_what_is_no_scenario_is_refused(command: Command, here: Path, text: str) -> None:
    (here / "broken.toml").write_text(text)

    _refused(command("run", "broken.toml"), here)


def test_a_syntax_error_tells_its_line(command: Command, here: Path) -> None:
    (here / "broken.toml").write_text('title = "x"\nduration = \n')

    assert "line 2" in _refused(command("run", "broken.toml"), here)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "SCENARIO"),
        (["run", "missing.toml"], "missing.toml"),
        (["run", "scenarios"], "scenarios"),
        (["run", LEO, "--set", "duration"], "duration"),
        (["run", LEO, "--set", "=3"], "key"),
        (["run", LEO, "--set", "flows.x.count=3"], "flows.x"),
        (["run", LEO, "--seed", "-1"], "--seed"),
        (["run", LEO, "--seed", "1.5"], "--seed"),
        (["run", LEO, "--seed", "one"], "--seed"),
        (["run", LEO, "--seed", "99999999999999999999"], "--seed"),
        (["run", LEO, "--fast"], "--fast"),
        (["walk", LEO], "walk"),
        (["report", "one", "two"], "two: is more than the command takes"),
        (["--verison"], "--verison: is more than the command takes"),
        (["rn", "leo-tcp"], "rn: no such command; did you mean run?"),
        (["constellation", "foo"], "constellation foo: no such command: one of coverage, delay, "),
        (["list", "planets"], "schedulers"),
        (["constellation", "delay", "leo-67", "--from", "0,0", "--to", "1,1"], "leo-66"),
        (["constellation", "delay", "leo-66", "--from", "here", "--to", "1,1"], "--from"),
        (["constellation", "delay", "leo-66", "--from", "0,0", "--to", "-91,1"], "--to"),
        (["constellation", "delay", "leo-66", "--from", "0,0", "--to", "1,1", "--duration", "long"], "--duration"),
        (["constellation", "delay", "leo-66", "--from", "0,0", "--to", "1,1", "--step", "0 s"], "--step"),
        (["channel", "generate", "--elevation", "95 deg"], "elevation"),
        (["channel", "stats", "--environment", "moon"], "environment"),
        (["channel", "generate", "--plot", "x.gif"], "--plot"),
        (["run", LEO, "--out", "scenarios/leo-tcp.toml"], "leo-tcp.toml"),
        (["run", LEO, "--out", "scenarios/leo-tcp.toml/below"], "leo-tcp.toml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_is_refused(command: Command, here: Path, arguments: list[str], says: str) -> None:
    assert says in _refused(command(*arguments), here)


def test_refusals_reach_the_shell(program: Command, here: Path) -> None:
    assert "elevation" in _refused(program("run", LEO, "--set", "channel.elevation=95 deg"), here)


def _refused(done: Outcome, here: Path) -> str:
    """Checks how a refusal looks, and that it left nothing behind."""
    assert done.code == 2
    assert done.out == ""
    [line] = done.err.splitlines()
    assert line.startswith("transorbit: ")
    assert "Traceback" not in line
    written = {path.name for path in here.iterdir()} - {
        "scenarios",
        "lab.toml",
        "x.csv",
        "broken.toml",
        "it.toml",
        "it.sweep.toml",
    }
    assert not written
    return line


# Sweep files that nobody means, and what is said of them.
SWEEPS = {
    "a number of thousands of digits": (f"seed = {'9' * 5000}", "not TOML: Exceeds the limit"),
    "lists without end": (f"z = {'[' * 3000}{']' * 3000}", "not TOML: lists or tables are nested too deep"),
    "a range beyond floats": (
        '[[axes]]\nkey = "last_hop.rate"\nrange = { from = "1 Mbit/s", to = "1e999999 Mbit/s", count = 3 }',
        "axes.0.range.to: '1e999999 Mbit/s' is no number and no quantity",
    ),
    "a range of very many values": (
        '[[axes]]\nkey = "last_hop.rate"\nrange = { from = "1 Mbit/s", to = "1e290 Mbit/s", step = "1 Mbit/s" }',
        "axes.0.range: has 1.00e+290 values, at most 10000 are allowed",
    ),
    "a metric that is a list": ('[precision]\nmetric = [1]\nhalf_width = "2 %"', "precision.metric: [1] is no metric"),
}


@pytest.mark.parametrize("which", SWEEPS)
def test_a_sweep_that_nobody_means_is_refused(command: Command, here: Path, which: str) -> None:
    text, says = SWEEPS[which]
    (here / "it.sweep.toml").write_text(f'scenario = "lab-fixed"\n{text}\n')

    told = _refused(command("sweep", "it.sweep.toml"), here)

    assert told.startswith(f"transorbit: it.sweep.toml: {says}"), told


def test_a_name_with_nul_is_no_file(command: Command, here: Path) -> None:
    (here / "it.sweep.toml").write_text('scenario = "a\\u0000b"\n')

    assert "is no name of a file" in _refused(command("sweep", "it.sweep.toml"), here)


@pytest.mark.parametrize("how", [("check",), ("run",), ("sweep",)])
def test_a_file_without_end_is_refused(command: Command, here: Path, how: tuple[str, ...]) -> None:
    assert "has more than" in _refused(command(*how, "/dev/zero"), here)


def test_an_input_without_end_is_refused(command: Command, here: Path) -> None:
    (here / "it.toml").write_text((here / LAB).read_text())

    told = _refused(command("check", "it.toml", "--set", 'path={ kind = "trace", file = "/dev/zero" }'), here)

    assert "has more than 268435456 bytes" in told


def test_a_long_line_is_not_repeated(command: Command, here: Path) -> None:
    (here / "it.toml").write_text(f'duration = "{"x" * 20_000}"\n')

    told = _refused(command("check", "it.toml"), here)

    assert len(told) < 1100
    assert told.startswith("transorbit: duration: ")


def test_very_many_runs_are_told_before_they_begin(program: Command, here: Path) -> None:
    axes = "\n".join(
        f'[[axes]]\nname = "a{n}"\nkey = "{key}"\nrange = {{ from = 1, to = 100, count = 100 }}'
        for n, key in enumerate(["last_hop.reordering.capacity", "flows.0.count", "record.nothing"])
    )
    (here / "it.sweep.toml").write_text(f'scenario = "lab-fixed"\n{axes}\n')

    done = program("sweep", "it.sweep.toml")

    # The key that no scenario has ends it before a run.
    assert done.err.startswith("transorbit: 1000000 points, 1000000 runs\n")
    assert done.code == 2
