"""Processes that are killed, and disks that refuse: what was finished is there, and what is there is whole."""

from __future__ import annotations

import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl

import transorbit as to
from hunt.cases import Finding

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

_SWEEP = """
scenario = "lab-fixed"
set = { duration = "400 ms" }
replications = 4

[[axes]]
key = "last_hop.rate"
range = { from = "1 Mbit/s", to = "12 Mbit/s", count = 12 }
"""
_TIMEOUT_S = 120
_KILLED = -signal.SIGKILL


def command(*arguments: str, cwd: Path, most_bytes: int | None = None) -> subprocess.Popen[str]:
    """The program, in a folder; `most_bytes` is how long a file may become before the disk refuses."""

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.Popen(
        [sys.executable, "-m", "transorbit", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )


class Killed:
    """A sweep that is killed again and again; each `once` is a kill."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "it.sweep.toml").write_text(_SWEEP, encoding="utf-8")
        started = time.perf_counter()
        self._finish("whole")
        self._took_s = time.perf_counter() - started
        self._wanted = self._digests("whole")

    def once(self, random: Random, number: int) -> None:
        """Begin a sweep anew, kill it, look at what is there, and let it go on to its end.

        Raises:
            Finding: a run is lost, the store is damaged, or the end differs.
        """
        out = f"killed-{number}"
        started = command("sweep", "it.sweep.toml", "--out", out, "--quiet", "--jobs", "2", cwd=self._folder)
        try:
            started.wait(random.uniform(0.1, 1.0) * self._took_s)
        except subprocess.TimeoutExpired:
            started.kill()
        started.communicate(timeout=_TIMEOUT_S)
        before = self._kept(out)
        told = self._finish(out)
        if before and not re.search(rf"\b{before} (was|were) there", told):
            raise Finding(f"{before} runs were kept before the kill, and then: {told}")
        if self._digests(out) != self._wanted:
            raise Finding("a sweep that was killed has other runs at its end")

    def _finish(self, out: str) -> str:
        done = command("sweep", "it.sweep.toml", "--out", out, "--jobs", "2", cwd=self._folder)
        told, errors = done.communicate(timeout=_TIMEOUT_S)
        if done.returncode != 0:
            raise Finding(f"a sweep ended with {done.returncode}: {errors[-500:]}")
        return told

    def _kept(self, out: str) -> int:
        store = self._folder / out / "store.sqlite"
        if not store.is_file():
            return 0
        db = sqlite3.connect(store)
        try:
            if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                raise Finding("the store is damaged")
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'outcomes'").fetchone():
                return 0
            return int(db.execute("SELECT count(*) FROM outcomes WHERE status = 'ok'").fetchone()[0])
        finally:
            db.close()

    def _digests(self, out: str) -> list[object]:
        return pl.read_parquet(self._folder / out / "runs/runs.parquet")["digest"].to_list()


def killed_run(folder: Path, random: Random, took_s: float) -> None:
    """Kill a run into a folder that has a result, then run again: the result is whole at any time.

    Raises:
        Finding: it is not, or the folder is refused.
    """
    arguments = ("run", "voip", "--set", "duration=500 ms", "--out", "result", "--quiet", "--plots")
    started = command(*arguments, cwd=folder)
    try:
        started.wait(random.uniform(0.2, 1.0) * took_s)
    except subprocess.TimeoutExpired:
        started.kill()
    started.communicate(timeout=_TIMEOUT_S)
    if (folder / "result").exists():
        check_whole(folder / "result")
    again = command(*(one for one in arguments if one != "--plots"), "--no-plots", cwd=folder)
    _, errors = again.communicate(timeout=_TIMEOUT_S)
    if again.returncode != 0:
        raise Finding(f"after a kill: exit code {again.returncode}: {errors[-500:]}")


def full_disk(folder: Path, random: Random) -> str:
    """Run on a disk that refuses long files: an error of one line, and what was there before is whole.

    Raises:
        Finding: a traceback, or half a result.
    """
    most = int(10 ** random.uniform(1, 6))
    what, *arguments = random.choice(
        [
            ("run", "voip", "--set", "duration=500 ms", "--out", "result", "--quiet"),
            ("capacity", "lab-fixed", "--users", "1,2", "--duration", "1 s", "--out", "capacity", "--quiet"),
            ("sweep", "it.sweep.toml", "--out", "full", "--quiet"),
            ("init", "voip", "--force"),
        ]
    )
    (folder / "it.sweep.toml").write_text(_SWEEP, encoding="utf-8")
    done = command(what, *arguments, cwd=folder, most_bytes=most)
    _, errors = done.communicate(timeout=_TIMEOUT_S)
    if done.returncode not in (0, 2) or "Traceback" in errors:
        raise Finding(f"{what} with files of at most {most} bytes: exit code {done.returncode}: {errors[-700:]}")
    if (folder / "result").exists():
        check_whole(folder / "result")
    return "refused" if done.returncode else "ran"


def check_whole(result: Path) -> None:
    """Raise `Finding` unless a result folder can be read and its scenario run."""
    try:
        loaded = to.Result.load(result)
        if loaded.flows.is_empty():
            raise Finding(f"{result}: has no flows")
        to.Scenario.of(loaded).check()
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise Finding(f"{result}: is not whole: {error}") from None
