"""Real programs over a simulated path: what they experience, what is left behind, and the same run again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import transorbit as to
from conftest import PROGRAM, ROOT
from transorbit import emulation

# A tenth of a second each way, beside which the machine hardly shows.
SCENARIO = """
duration = "20 s"
[path]
kind = "fixed"
delay = "100 ms"
[last_hop]
rate = "5 Mbit/s"
delay = "5 ms"
scheduler = { kind = "droptail", buffer = "50 packets" }
harq = { kind = "none" }
[[last_hop.classes]]
name = "voice"
[[flows]]
transport = { kind = "external" }
traffic = { kind = "external" }
[[flows]]
transport = { kind = "tcp" }
traffic = { kind = "bulk", size = "200 kB" }
"""
ECHO = """
import socket
sock = socket.create_server(("", 7000))
while True:
    there, _ = sock.accept()
    there.sendall(there.recv(100))
    there.close()
"""
SIX = 'create_server(("", 7000), family=socket.AF_INET6)'
ASK = """
import socket, time
since = time.monotonic()
sock = socket.create_connection(("server", 7000))
took = time.monotonic() - since
sock.sendall(b"hello")
assert sock.recv(100) == b"hello"
print(took)
"""


# Enters namespaces and opens a device by itself, so that a defect of ours skips nothing.
PROBE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
kinds = 0x20000 | 0x40000000 | 0x20000000
if libc.unshare(kinds) and libc.unshare(kinds | 0x10000000):
    raise SystemExit("network namespaces: " + os.strerror(ctypes.get_errno()))
os.open("/dev/net/tun", os.O_RDWR)
"""


def _lacks() -> str:
    """What this machine lacks to emulate; empty if nothing."""
    if sys.platform != "linux":
        return "it is not Linux"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", PROBE], capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines() or ["namespaces"])[-1] if done.returncode else ""


LACKS = _lacks()
here_only = pytest.mark.skipif(bool(LACKS), reason=f"this machine cannot emulate: {LACKS}")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "real.toml"
    file.write_text(SCENARIO)
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "ask.py").write_text(ASK)
    return file


def emulate(scenario: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, "emulate", scenario.name, *arguments]
    return subprocess.run(command, cwd=scenario.parent, capture_output=True, text=True, check=check, timeout=60)


@here_only
def test_a_connection_takes_the_round_trip_of_the_path_and_replays_with_the_same_digest(scenario: Path) -> None:
    asked = [sys.executable, "ask.py"]
    server = f"{sys.executable} echo.py"
    done = emulate(scenario, "--server", server, "--out", "result", "--set", "record.packets=pcapng", "--", *asked)
    result = scenario.parent / "result"
    summary = json.loads((result / "summary.json").read_text())

    assert 0.2 <= float(done.stdout) < 2.0, "two ways of 100 ms, and what the machine adds"
    assert summary["flows"][0]["transport"] == "external"
    assert summary["flows"][0]["delivered_bytes"] > 0
    assert summary["emulation"]["late_p99_s"] >= 0
    offers = pl.read_parquet(result / "offers.parquet")
    assert len(offers) == sum(summary["emulation"]["entered"])
    assert set(offers["from"]) == {"server", "user"}

    again = subprocess.run(
        [PROGRAM, "replay", "result", "--json"], cwd=scenario.parent, capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout)["digest"] == summary["digest"]


@here_only
def test_a_service_of_the_host_is_reached_and_its_connections_end_with_the_command(scenario: Path) -> None:
    def answer(service: socket.socket) -> None:
        there, _ = service.accept()
        with there:
            there.sendall(b"from the host to " + there.recv(100))
            # The other end never closes: what is open when the command has ended is the relay's to end.
            there.recv(100)

    ask = "import socket; s = socket.create_connection(('server', 7000)); s.send(b'you'); print(s.recv(100).decode())"
    kept = f"{ask}; import os; os.kill(os.getpid(), 9)"
    with socket.create_server(("127.0.0.1", 0)) as service, ThreadPoolExecutor() as pool:
        answered = pool.submit(answer, service)
        port = service.getsockname()[1]
        arguments = ["--serve", f"7000:127.0.0.1:{port}", "--out", "result", "--", sys.executable, "-u", "-c", kept]
        done = emulate(scenario, *arguments, check=False)
        answered.result(timeout=5)

    assert done.stdout == "from the host to you\n"
    assert "Task" not in done.stderr
    assert "Exception" not in done.stderr
    assert (scenario.parent / "result" / "plots").is_dir(), "drawn as the result of a run is"


@here_only
def test_ipv6_crosses_blocks_that_are_smaller_than_its_packets(scenario: Path) -> None:
    (scenario.parent / "ask6.py").write_text(ASK.replace('"server"', '"fd66::1"'))
    scenario.write_text(scenario.read_text().replace('kind = "none"', 'kind = "fec"'))
    (scenario.parent / "echo.py").write_text(ECHO.replace('create_server(("", 7000))', SIX))
    server = f"{sys.executable} echo.py"
    short = emulate(scenario, "--json", "--", "true")
    cut = emulate(
        scenario, "--set", "last_hop.segmentation={}", "--server", server, "--json", "--", sys.executable, "ask6.py"
    )
    summary = json.loads(cut.stdout[cut.stdout.index("{") :])

    assert "the programs had IPv4 only: packets of at most 1115 B fit" in short.stdout
    assert summary["last_hop"]["cut_packets"] > 0, "of the simulated flow, and of those of the program that are long"
    assert summary["flows"][0]["delivered_bytes"] > 0
    assert "IPv4" not in str(summary["warnings"])


@here_only
def test_the_exit_code_is_that_of_the_command_wherever_it_runs(scenario: Path) -> None:
    for at in ("user", "user-0", "users", "server"):
        assert emulate(scenario, "--at", at, "--quiet", "--", "sh", "-c", "exit 7", check=False).returncode == 7
    assert emulate(scenario, "--quiet", "--", "sh", "-c", "kill -9 $$", check=False).returncode == 128 + 9


@here_only
def test_each_end_has_names_for_the_other(scenario: Path) -> None:
    ask = "import socket; print(*(socket.gethostbyname(name) for name in ('server', 'user', 'user-0')))"
    done = emulate(scenario, "--at", "server", "--", sys.executable, "-c", ask)
    server, user, first = done.stdout.split("\n")[0].split()
    assert user == first != server


KILLS = 20


@here_only
def test_nothing_is_left_when_it_or_its_command_is_killed_at_any_instant(scenario: Path) -> None:
    chance = random.Random(17)
    mark = f"TRANSORBIT_TEST={os.getpid()}-{chance.random()}"
    name, value = mark.split("=")
    routes, devices = Path("/proc/net/route").read_text(), _devices()
    scratch = scenario.parent / "scratch"
    scratch.mkdir()
    sleeper = "trap '' INT; echo runs; sleep 60 & sleep 60"
    command = [PROGRAM, "emulate", scenario.name, "--quiet", "--server", "sleep 60", "--", "sh", "-c", sleeper]

    def kill(number: int, wait_s: float, signal_number: signal.Signals) -> None:
        begins, at_command = number % 4 == 0, number % 2 == 1
        own = {**os.environ, name: f"{value}-{number};", "TMPDIR": str(scratch)}
        process = subprocess.Popen(
            command, cwd=scenario.parent, env=own, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout
        if not begins:
            assert process.stdout.readline() == b"runs\n"
        time.sleep(wait_s)
        for aim in _marked(f"{mark}-{number};", b"TRANSORBIT_PLACE") if at_command else [process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(aim, signal_number)
        # A command that does not heed the signal goes on: then its end is ours to ask for.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=20)
        process.stdout.close()

    kinds = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    # Some while it begins, the others once the command runs.
    tasks = [(n, chance.uniform(0.05, 3.0 if n % 4 == 0 else 0.5), kinds[n % 3]) for n in range(KILLS)]
    with ThreadPoolExecutor(KILLS // 2) as pool:
        list(pool.map(lambda task: kill(*task), tasks))
    until = time.monotonic() + 5
    while _marked(mark) and time.monotonic() < until:
        time.sleep(0.05)

    assert _marked(mark) == [], "a process is left, and with it its namespaces and devices"
    assert Path("/proc/net/route").read_text() == routes
    assert _devices() == devices
    assert list(scratch.iterdir()) == []


def _devices() -> list[str]:
    return [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]


def _marked(mark: str, also: bytes = b"") -> list[int]:
    """Processes in whose environment this stands: it is handed on to all that they start."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = file.read_bytes()
        except OSError:
            continue
        if mark.encode() in text and also in text:
            found.append(int(file.parent.name))
    return found


@here_only
def test_the_scenarios_duration_ends_the_command(scenario: Path) -> None:
    done = emulate(scenario, "--set", "duration=1 s", "--", "sleep", "30", check=False)

    assert done.returncode == 124
    assert "1 s are over" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "one of COMMAND (after --) and --shell"),
        (["--dscp", "voice", "--", "true"], "CODEPOINT=CLASS is expected"),
        (["--dscp", "46=video", "--", "true"], "last_hop.classes has voice"),
        (["--dscp", "64=voice", "--", "true"], "a code point is 0 to 63"),
        (["--dscp", "\N{SUPERSCRIPT TWO}=voice", "--", "true"], "CODEPOINT=CLASS is expected"),
        (["--dscp", "46=voice", "--dscp", "46=voice", "--", "true"], "code point 46 was given twice"),
        (["--serve", "x", "--", "true"], "PORT, PORT:HOST or PORT:HOST:PORT is expected"),
        (["--serve", "80", "--serve", "80:localhost:8080", "--", "true"], "port 80 was given twice"),
        (["--", "no-such-program"], "no-such-program: there is no such program"),
        (
            [
                "--set",
                'last_hop.harq={ kind = "fec", block = "60 B" }',
                "--set",
                'flows.1={ transport = { kind = "external" }, traffic = { kind = "external" } }',
                "--",
                "true",
            ],
            "packets of at most 60 B fit, IPv4 needs 68 B",
        ),
        (["--spin", "soon", "--", "true"], '--spin: "soon" is not a duration'),
        (["--flow", "0", "--", "true"], "flow: 0 was given, and an entry of flows has the transport external already"),
        (["--at", "moon", "--", "true"], "one of server, user, users, user-0 is expected"),
    ],
)
def test_what_is_wrong_with_a_command_line_is_said_in_a_line(scenario: Path, arguments: list[str], said: str) -> None:
    done = emulate(scenario, *arguments, check=False)

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").set("duration=1 s").run().save(tmp_path / "run", plots=False)
    with pytest.raises(FileNotFoundError, match="not the result of an emulation"):
        emulation.replay(tmp_path / "run")


def test_a_damaged_log_is_told_in_a_line(tmp_path: Path) -> None:
    to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").set("duration=1 s").run().save(tmp_path / "run", plots=False)
    (tmp_path / "run" / "offers.parquet").write_bytes(b"PAR1")
    with pytest.raises(to.ScenarioError, match=r"offers\.parquet: is damaged: "):
        emulation.replay(tmp_path / "run")


def test_a_result_is_replaced_by_force_only(scenario: Path) -> None:
    to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").set("duration=1 s").run().save(
        scenario.parent / "result", plots=False
    )
    done = emulate(scenario, "--out", "result", "--", "true", check=False)

    assert done.returncode == 2
    assert done.stderr == "transorbit: --out: result has a result already: choose another folder, or --force\n"


@pytest.mark.parametrize("command", ["emulate", "replay"])
def test_a_scenario_names_nothing_outside(scenario: Path, command: str) -> None:
    folder = scenario.parent / "result"
    folder.mkdir()
    leads_out = scenario.read_text().replace('kind = "fixed"\ndelay = "100 ms"', 'kind = "trace"\nfile = "/etc/passwd"')
    (folder / "scenario.toml").write_text(leads_out)
    to.Scenario.load(scenario).set("duration=1 s").run().save(scenario.parent / "run", plots=False)
    for name in ("summary.json", "provenance.json"):
        (folder / name).write_text((scenario.parent / "run" / name).read_text())
    pl.DataFrame({"time_ns": [1]}).write_parquet(folder / "offers.parquet")
    given = ["emulate", "result/scenario.toml", "--", "true"] if command == "emulate" else ["replay", "result"]
    done = subprocess.run(
        [PROGRAM, *given[:2], *given[2:]], cwd=scenario.parent, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "leads out of the folder of its file: --outside allows it" in done.stderr
    allowed = subprocess.run(
        [PROGRAM, *given[:2], "--outside", *given[2:]], cwd=scenario.parent, capture_output=True, text=True, check=False
    )
    assert allowed.returncode == 2
    assert "path.file: " in allowed.stderr


@here_only
def test_a_replay_takes_the_place_of_the_same_replay_only(scenario: Path) -> None:
    emulate(scenario, "--out", "result", "--quiet", "--", "true")

    def replay(*arguments: str) -> int:
        command = [PROGRAM, "replay", "result", "--quiet", *arguments]
        return subprocess.run(command, cwd=scenario.parent, capture_output=True, check=False).returncode

    assert replay("--out", "again") == 0
    assert replay("--out", "again") == 0
    assert replay("--out", "again", "--set", "record.series=false") == 2
    assert replay("--out", "again", "--set", "record.series=false", "--force") == 0
    assert replay("--out", "result") == 2, "the emulation stays"
