"""`transorbit emulate` and `transorbit replay`: real applications over a simulated path."""

from __future__ import annotations

import os
import sys
from pathlib import Path  # noqa: TC003 - read by the command line's library
from typing import TYPE_CHECKING, Annotated, TextIO

from cyclopts import Parameter

import transorbit as to
from transorbit import _core, _folder
from transorbit.cli import parse, show
from transorbit.cli.common import (
    Force,
    Outside,
    Plugins,
    Settings,
    check_out,
    examples,
    keep,
    load,
    records_packets,
    run_plugins,
)
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    from transorbit.result import Result

HELP = examples(
    "transorbit emulate lab-fixed -- ping -c 2 server",
    "transorbit emulate leo-tcp --serve 8080 -- curl http://server:8080/",
    'transorbit emulate lab-fixed --server "iperf3 -s -1" -- iperf3 -c server -t 2',
    "transorbit emulate leo-tcp --shell",
)
REPLAY_HELP = examples(
    "transorbit emulate lab-fixed --out results/emulated -- ping -c 2 server",
    "transorbit replay results/emulated",
    "transorbit replay results/emulated --set record.packets=pcapng --out results/again",
)


def emulate(
    scenario: Path,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    shell: Annotated[bool, Parameter(negative="")] = False,
    at: str = "user",
    server: str | None = None,
    serve: Annotated[list[str] | None, Parameter(negative="")] = None,
    flow: int | None = None,
    dscp: Annotated[list[str] | None, Parameter(negative="")] = None,
    spin: str = "50 us",
    set_: Settings = None,
    outside: Outside = False,
    plugin: Plugins = None,
    seed: str | None = None,
    out: Path | None = None,
    force: Force = False,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run COMMAND behind the scenario's user, in real time: its packets cross the simulated path (Linux, no root).

    `transorbit emulate SCENARIO [OPTIONS] -- COMMAND…`. The name `server` is the other end. The exit code is that of
    COMMAND, or 124 if the scenario's duration ended it.

    Args:
        scenario: A scenario file.
        command: The command, after --.
        shell: Run an interactive shell.
        at: Where COMMAND runs: user (the first), user-2, users (each of them) or server.
        server: A command line that runs at the server's end meanwhile.
        serve: A port of this host, reached at the server's address: PORT, PORT:HOST or PORT:HOST:PORT. Repeatable.
        flow: The entry of `flows` whose users are real, where none has the transport external; by default the first.
        dscp: CODEPOINT=CLASS: the class of service on the last hop of packets with this code point. Repeatable.
        spin: Waits shorter than this look at the clock instead of sleeping; 0 s always sleeps.
        seed: Replaces the scenario's seed: a whole number, zero or more.
        out: The result folder: summary, series and the log of offers, for `transorbit replay`. A result that is there
            is replaced with --force only: no other start makes it again.
        json_: Print the summary as JSON when COMMAND has ended.
        quiet: Print nothing of our own.
    """
    run_plugins(plugin)
    argv = [os.environ.get("SHELL", "/bin/sh")] if shell else list(command)
    from transorbit import emulation

    if shell == bool(command):
        raise UsageError("emulate: one of COMMAND (after --) and --shell is expected")
    ready = load(scenario, set_, outside=outside)
    if out:
        if (out / "summary.json").is_file() and not force:
            raise UsageError(f"--out: {out} has a result already: choose another folder, or --force")
        _folder.check_replaceable(out)
    above = out.absolute().parent if out else None
    if not out and records_packets(ready):
        print("transorbit: without --out there is no folder for the packets; none are written", file=sys.stderr)
        ready = ready.set("record.packets=none")
    try:
        done = emulation.emulate(
            ready, argv, at=at, server=server, serve=serve or (), flow=flow, dscp=_points(dscp or []),
            seed=None if seed is None else parse.seed(seed), spin_s=parse.start("--spin", spin), scratch=above,
        )  # fmt: skip
    except (emulation.EmulationError, ValueError) as error:
        if isinstance(error, _core.ScenarioError):
            raise
        raise UsageError(f"emulate: {error}") from None
    _tell(done.result, out, json_=json_, quiet=quiet, file=sys.stderr)
    return done.code


def replay(
    directory: Path,
    /,
    *,
    set_: Settings = None,
    outside: Outside = False,
    plugin: Plugins = None,
    out: Path | None = None,
    force: Force = False,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run an emulation again in virtual time, from the log in its result folder: the digest is the same.

    Args:
        directory: A result folder of `transorbit emulate`.
        out: A result folder for this run. An earlier replay of the same is replaced.
        json_: Print the summary as JSON and nothing else.
        quiet: Print nothing.
    """
    from transorbit import emulation

    run_plugins(plugin)
    if out:
        check_out(out, same=_is_replay(out, directory, set_ or [], outside=outside), force=force)
        _folder.check_replaceable(out)
    try:
        above = out.absolute().parent if out else None
        result = emulation.replay(directory, changes=set_ or (), scratch=above, outside=outside)
    except FileNotFoundError as error:
        raise UsageError(str(error) if not error.filename else f"{directory}: not the result of an emulation") from None
    except ValueError as error:
        if isinstance(error, _core.ScenarioError):
            raise
        raise UsageError(f"{directory}: {error}") from None
    _tell(result, out, json_=json_, quiet=quiet, file=sys.stdout)
    return 0


def _tell(result: Result, out: Path | None, *, json_: bool, quiet: bool, file: TextIO) -> None:
    def tell() -> None:
        if json_:
            result.write_summary(sys.stdout)
            sys.stdout.flush()
        elif not quiet:
            print(show.summary(result), flush=True, file=file)

    if not out:
        tell()
    else:
        keep(result, out, plots=None, tell=tell)
        if not (quiet or json_):
            print(f"Result: {out}", file=file)


def _is_replay(out: Path, directory: Path, changes: list[str], *, outside: bool) -> bool:
    """Whether a folder has nothing yet, or an earlier replay of the same log with the same changes."""
    if not (out / "summary.json").is_file():
        return True
    try:
        there, asked = to.Result.load(out), to.Result.load(directory)
        scenario = to.Scenario.load(directory / "scenario.toml", outside=outside).set(*changes)
    except (OSError, to.ScenarioError):
        # Said by the replay itself.
        return True
    same_log = there.offers is not None and asked.offers is not None and there.offers.equals(asked.offers)
    return same_log and "emulation" not in there.numbers and _folder.is_of(out, scenario.identity())


def _points(texts: list[str]) -> dict[int, str]:
    points = {}
    for text in texts:
        point, equals, name = text.partition("=")
        if not equals or not point.strip().isdecimal():
            raise UsageError(f"--dscp: {text!r} was given, CODEPOINT=CLASS is expected, as in 46=voice")
        if int(point) in points:
            raise UsageError(f"--dscp: code point {int(point)} was given twice, a code point has one class")
        points[int(point)] = name.strip()
    return points
