"""Every example of every `--help` runs as it is printed, in an empty folder, in the order of the page."""

from __future__ import annotations

import _thread
import http.server
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import threading
import urllib.request
import webbrowser
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import PROGRAM, Outcome
from test_emulate import LACKS
from transorbit import view
from transorbit.cli import common
from transorbit.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cyclopts import App


def pages(of: App, *path: str) -> Iterator[tuple[str, list[str]]]:
    """The examples of each command, by its name."""
    for name in of:
        inner = of[name]
        if isinstance(inner, type(of)) and not name.startswith("-"):
            yield from pages(inner, *path, name)
    yield " ".join(path) or "transorbit", examples(of.help_epilogue or "")


def examples(epilogue: str) -> list[str]:
    lines = epilogue.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("transorbit ")]


PAGES = dict(pages(app))


def test_every_command_has_examples_of_its_own() -> None:
    for name, found in PAGES.items():
        own = [example for example in found if example.startswith(f"transorbit {name}".removesuffix(" transorbit"))]
        assert own, name
    assert "transorbit" in PAGES


def test_examples_fit_a_terminal_and_go_on_with_a_backslash() -> None:
    told = common.examples("transorbit a --first 'one two' " + "--other " * 20)

    lines = told.splitlines()[1:]
    assert max(map(len, lines)) < 80
    assert [line.endswith(" \\") for line in lines] == [True] * (len(lines) - 1) + [False]
    assert shlex.split(told.partition("\n")[2].replace("\\\n", " ")) == [
        "transorbit",
        "a",
        "--first",
        "one two",
        *["--other"] * 20,
    ]


@pytest.mark.parametrize("name", PAGES)
def test_examples_run_as_printed(
    name: str, here: Path, command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "scenarios").unlink()
    measurements(here)
    for example in PAGES[name]:
        # An example that shows many lines is cut by a pipe, which is the shell's business.
        arguments = shlex.split(example.partition(" | ")[0])[1:]
        if arguments[0] == "emulate":
            outcome = emulated(arguments)
        elif arguments[0] == "view":
            outcome = viewed(arguments, command, monkeypatch)
        else:
            outcome = command(*arguments)
        assert outcome.code == 0, f"{example}: {outcome.err}"


def measurements(here: Path) -> None:
    """What a reader has measured."""
    draw = random.Random(1)
    rows = [(second / 50, 30 + 4 * ((second // 750) % 5) + draw.expovariate(0.5)) for second in range(50 * 240)]
    table = "\n".join(f"{at:.3f},{rtt:.3f}" for at, rtt in rows)
    (here / "rtt.csv").write_text(f"unix_time_s,rtt_ms\n{table}\n")
    (here / "mine.csv").write_text("when,ping avg\n0,40\n1,41\n2,45\n")
    (here / "path.csv").write_text("time_s,rtt_ms\n0,40\n1,41\n2,45\n")
    (here / "iperf.csv").write_text(
        "unix_time_s,rate_down_mbps\n" + "\n".join(f"{at / 10},{draw.gauss(200, 30):.1f}" for at in range(2400)) + "\n"
    )
    ping = [f"[{1.7e9 + at:.6f}] 64 bytes from 10.0.0.1: icmp_seq={at} ttl=64 time=4{at}.0 ms" for at in range(1, 9)]
    (here / "ping.log").write_text("PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n" + "\n".join(ping) + "\n")
    interval = {"start": 0.0, "end": 0.1, "bits_per_second": 3e7, "lost_percent": 0.5}
    start = {"timestamp": {"timesecs": 1700000000}, "test_start": {"protocol": "UDP", "reverse": 1}}
    later = {"sum": {**interval, "start": 0.1, "end": 0.2}}
    (here / "iperf3.json").write_text(json.dumps({"start": start, "intervals": [{"sum": interval}, later]}))
    for name in ("home.down", "home.up"):
        (here / name).write_text("1\n1\n12\n20\n")


def emulated(arguments: list[str]) -> Outcome:
    """In a process of its own, whose shell has nothing to read; a machine that cannot is told."""
    if LACKS:
        pytest.skip(f"this machine cannot emulate: {LACKS}")
    for program in arguments[arguments.index("--") + 1 :][:1] if "--" in arguments else []:
        if not shutil.which(program):
            pytest.skip(f"this machine has no {program}")
    environment = {**os.environ, "SHELL": "/bin/sh"}
    with served(8080) if "8080" in arguments else threading.Lock():
        done = subprocess.run(
            [PROGRAM, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    return Outcome(done.returncode, done.stdout, done.stderr)


@contextmanager
def served(port: int) -> Iterator[None]:
    """A service of this host, ours or another's."""
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), http.server.SimpleHTTPRequestHandler)
    except OSError:
        pytest.skip(f"port {port} of this machine is taken")
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def viewed(arguments: list[str], command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """A browser that reads the page once, and then Ctrl-C; of a page that is not built a stand-in is shown."""
    page = Path("page")
    page.mkdir(exist_ok=True)
    (page / "index.html").write_text("the page")
    read: list[bytes] = []

    def look(address: str) -> None:
        with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - our own
            read.append(answer.read())
        _thread.interrupt_main()

    def browse(address: str) -> bool:
        threading.Thread(target=look, args=(address,), daemon=True).start()
        return True

    monkeypatch.setattr(view, "built", lambda: page)
    monkeypatch.setattr(webbrowser, "open", browse)
    # A process in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        outcome = command(*arguments)
    finally:
        signal.signal(signal.SIGINT, before)
    assert read == [b"the page"]
    return outcome
