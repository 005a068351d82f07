"""One case each: a number in, what became of it out; whatever is raised is a finding."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import tomli_w

import transorbit as to
from hunt import mutants, worlds
from transorbit import _content
from transorbit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

REFUSED, RAN = "refused", "ran"
_SHORT = 'duration="10 ms"'
_ROUTES = ("--duration", "1 s", "--step", "500 ms", "--out", "routes", "--quiet")
_MOST_RUNS = 8
# A million flows are possible, as `million-flows` has them, in minutes and in gigabytes.
_MOST_FLOWS = 100_000
_LONGEST_LINE = 2000


class Finding(Exception):  # noqa: N818 - a finding is what it is called everywhere
    """What must not be."""


def world(number: int) -> str:
    """A random world runs or is refused; what its result folder keeps runs again, to the same digest."""
    with tempfile.TemporaryDirectory(prefix="transorbit-hunt-") as name:
        worlds.write_files(Path(name))
        text = tomli_w.dumps(drawn(number))
        try:
            result = to.Scenario.from_toml(text, base_dir=name).run()
        except (to.ScenarioError, OSError) as error:
            return _told(error)
        try:
            again = to.Scenario.of(result).run()
        except to.ScenarioError as error:
            raise Finding(f"its own scenario.toml is refused: {error}") from None
        if again.summary["digest"] != result.summary["digest"]:
            raise Finding("its own scenario.toml gives another digest")
    return RAN


def drawn(number: int) -> dict[str, Any]:
    """The world of a number."""
    return worlds.Worlds(Random(number)).draw()


def mutant(number: int) -> str:
    """A damaged file is read, and run where it is accepted, or refused in one line."""
    random = Random(number)
    good = _good()
    source = random.choice(sorted(good))
    data = mutants.mutated(random, good[source], [*good.values()])
    with tempfile.TemporaryDirectory(prefix="transorbit-hunt-") as name, contextlib.chdir(name):
        for file, text in good.items():
            Path(file).write_text(text, encoding="utf-8")
        Path(source).write_bytes(data)
        if source.endswith(".sweep.toml"):
            return _sweep(source)
        if source == "towns.csv":
            return _command("constellation", "routes", "leo-66", "--stations", source, *_ROUTES)
        if source == "outage.csv":
            return _command("check", "quic-outage.toml")
        outcome = _command("check", source)
        if outcome == RAN and random.random() < 0.3 and _flows(source) <= _MOST_FLOWS:
            # What is accepted may be refused with another duration, but not fail.
            _command("run", source, "--set", _SHORT, "--json")
        return outcome


def _flows(source: str) -> int:
    """The flows of a scenario, at their beginning."""
    entries = to.Scenario.load(source).to_dict()["flows"]
    return sum(entry["count"] for entry in entries)


def _sweep(source: str) -> str:
    try:
        sweep = to.Sweep.load(source)
        sweep = sweep.replace(set={"duration": "10 ms"})
        if len(sweep.points) * sweep.replications > _MOST_RUNS or sweep.precision:
            sweep.check()
            return RAN
    except (to.ScenarioError, OSError) as error:
        return _told(error)
    return _command("sweep", source, "--set", _SHORT, "--jobs", "1", "--out", "out", "--json")


def _good() -> dict[str, str]:
    """The files that are damaged, by name."""
    files = [*_content.scenarios().values(), *_content.folder("scenarios").glob("*.csv")]
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.name != "million-flows.toml"}


def _command(*arguments: str) -> str:
    out, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        code = main.run(arguments)
    lines = told.getvalue().splitlines()
    if code not in (0, 2):
        raise Finding(f"{arguments[0]}: exit code {code}: {told.getvalue()[:500]}")
    if any(len(line) > _LONGEST_LINE for line in lines) or (code == 2 and not lines):
        raise Finding(
            f"{arguments[0]}: {len(lines)} lines of an error, the longest with {max(map(len, lines), default=0)}"
        )
    return RAN if code == 0 else REFUSED


def _told(error: Exception) -> str:
    """The error as an outcome, if it says something."""
    if not str(error).strip():
        raise Finding(f"an error without words: {error!r}")
    return REFUSED


KINDS: dict[str, Callable[[int], str]] = {"worlds": world, "mutants": mutant}
