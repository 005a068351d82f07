"""What the tests share: where the project is, and a command line in an empty folder."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import reported
import transorbit as to
from transorbit import report
from transorbit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
PROGRAM = Path(sys.executable).with_name("transorbit")

# A shell starts what runs in its background with Ctrl-C ignored, and the programs under test would ignore it, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the project's scenarios in reach, and the process in it."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `transorbit …` within this process."""

    def run(*arguments: str) -> Outcome:
        assert Path.cwd() == here
        capsys.readouterr()
        code = main.run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def program(here: Path) -> Callable[..., Outcome]:
    """Run `transorbit …` as a process of its own."""

    def run(*arguments: str) -> Outcome:
        done = subprocess.run([PROGRAM, *arguments], cwd=here, capture_output=True, text=True, check=False, timeout=120)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def leo() -> to.Scenario:
    """The main scenario, a minute of it."""
    return to.Scenario.load(ROOT / "scenarios/leo-tcp.toml").replace({"duration": "60 s"})


@pytest.fixture
def lab() -> to.Scenario:
    """A fixed path with a clear channel."""
    return to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace({"duration": "10 s"})


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of one flow, of many, of voice, and of a sweep."""
    folder = tmp_path_factory.mktemp("results")
    reported.save(folder, ROOT / "scenarios")
    return folder


@pytest.fixture(scope="session")
def written(results: Path) -> Callable[[str], Path]:
    """The report of one of them, written once."""

    @cache
    def write(name: str) -> Path:
        return report.write(results / name, results / f"{name}.html")

    return write
