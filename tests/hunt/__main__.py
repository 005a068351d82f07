"""`make hunt`: cases for a given time, side by side, and the figures at the end.

Worlds and mutants run in processes of their own, which have so much memory and so much time for a case. A finding is
written to `results/hunt` with what makes it again: `PYTHONPATH=tests .venv/bin/python -m hunt --case worlds 123`.
"""

from __future__ import annotations

import argparse
import json
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_GIB = 2**30
MOST_MEMORY = 4 * _GIB
LONGEST_S = 30.0
_BATCH = 500
_FOLDER = Path("results/hunt")


def main() -> int:
    """Hunt, and print the figures; 1 if there was a finding."""
    parser = argparse.ArgumentParser(prog="hunt", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long, in all")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first case")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", help="worlds, mutants, kills or disks")
    parser.add_argument("--case", nargs=2, metavar=("KIND", "NUMBER"), help="one case again")
    parser.add_argument("--work", nargs=3, metavar=("KIND", "FIRST", "COUNT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        return _work(given.work[0], int(given.work[1]), int(given.work[2]))
    if given.case:
        from hunt import cases

        print(cases.KINDS[given.case[0]](int(given.case[1])))
        return 0
    hunt = Hunt(given.seed)
    parts: dict[str, Callable[[float], None]] = {
        "worlds": lambda until: hunt.cases("worlds", until, given.jobs),
        "mutants": lambda until: hunt.cases("mutants", until, given.jobs),
        "kills": hunt.kills,
        "disks": hunt.disks,
    }
    chosen = [given.only] if given.only else [*parts]
    for name in chosen:
        parts[name](time.monotonic() + given.seconds / len(chosen))
        print(hunt.line(name), flush=True)
    return 1 if hunt.findings else 0


class Hunt:
    """What was tried and what was found."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.counts: Counter[tuple[str, str]] = Counter()
        self.findings: list[str] = []

    def line(self, name: str) -> str:
        """The figures of a part."""
        counted = {what: count for (part, what), count in sorted(self.counts.items()) if part == name}
        return f"{name}: {sum(counted.values())} tried: " + ", ".join(f"{n} {what}" for what, n in counted.items())

    def cases(self, kind: str, until: float, jobs: int) -> None:
        """Random cases in `jobs` processes."""
        first = iter(range(self._seed, 2**62, _BATCH))
        lock = threading.Lock()

        def one() -> None:
            while time.monotonic() < until:
                with lock:
                    batch = next(first)
                self._batch(kind, batch, until)

        threads = [threading.Thread(target=one) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def kills(self, until: float) -> None:
        """Sweeps and runs that are killed."""
        from hunt import killing

        with tempfile.TemporaryDirectory(prefix="transorbit-hunt-") as name:
            folder, random = Path(name), Random(self._seed)
            sweep = killing.Killed(folder)
            number = 0
            while time.monotonic() < until:
                number += 1
                self._count("kills", number, partial(sweep.once, random, number))
                if number % 4 == 0:
                    self._count("kills", number, partial(killing.killed_run, folder, random, 5.0))

    def disks(self, until: float) -> None:
        """Disks that are full."""
        from hunt import killing

        with tempfile.TemporaryDirectory(prefix="transorbit-hunt-") as name:
            folder, random, number = Path(name), Random(self._seed), 0
            while time.monotonic() < until:
                number += 1
                self._count("disks", number, partial(killing.full_disk, folder, random))

    def _count(self, part: str, number: int, case: Callable[[], str | None]) -> None:
        try:
            self.counts[part, case() or "survived"] += 1
        # Whatever it is, the hunt goes on.
        except Exception:
            self._found(part, number, traceback.format_exc())

    def _batch(self, kind: str, first: int, until: float) -> None:
        """Some cases in a process of their own, begun again behind a case that ended it."""
        last = first + _BATCH
        while first < last and time.monotonic() < until:
            work = [sys.executable, "-m", "hunt", "--work", kind, str(first), str(last - first)]
            with subprocess.Popen(work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                first = self._follow(kind, process, first, until)
                process.kill()

    def _follow(self, kind: str, process: subprocess.Popen[str], first: int, until: float) -> int:
        """Take what a process tells; the number of the case to go on with."""
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        assert process.stdout

        def read() -> None:
            for line in process.stdout or ():
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()
        while time.monotonic() < until:
            try:
                line = lines.get(timeout=LONGEST_S + 10)
            except queue.Empty:
                self._found(kind, first, f"takes longer than {LONGEST_S:g} s")
                return first + 1
            if not line:
                if process.wait() == 0:
                    return first + _BATCH
                errors = process.stderr.read() if process.stderr else ""
                self._found(kind, first, f"the process ended with {process.returncode}: {errors[-2000:]}")
                return first + 1
            told = json.loads(line)
            if "error" in told:
                self._found(kind, told["case"], told["error"])
            else:
                self.counts[kind, told["outcome"]] += 1
            first = told["case"] + 1
        return first + _BATCH

    def _found(self, part: str, number: int, what: str) -> None:
        self.counts[part, "findings"] += 1
        self.findings.append(what)
        _FOLDER.mkdir(parents=True, exist_ok=True)
        (_FOLDER / f"{part}-{number}.txt").write_text(what, encoding="utf-8")
        print(f"{part} {number}: {what.strip().splitlines()[-1][:300]}", flush=True)


def _work(kind: str, first: int, count: int) -> int:
    """Cases in this process, a line of JSON for each."""
    from hunt import cases

    # Addresses and not memory that is used; libraries take more of the former.
    resource.setrlimit(resource.RLIMIT_AS, (3 * MOST_MEMORY, 3 * MOST_MEMORY))
    for number in range(first, first + count):
        started = time.monotonic()
        told: dict[str, object] = {"case": number}
        try:
            told["outcome"] = cases.KINDS[kind](number)
        # A panic of the core is no Exception.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            told["error"] = traceback.format_exc()
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        took = time.monotonic() - started
        if took > LONGEST_S or used > MOST_MEMORY:
            told["error"] = f"{took:.1f} s and {used / _GIB:.1f} GiB"
        print(json.dumps(told), flush=True)
        if used > MOST_MEMORY:
            return 0 if number == first + count - 1 else 3
    return 0


sys.exit(main())
