"""The process outside: the run on the clock, and the process whose namespaces its devices are in."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _core
from transorbit._frame import frame
from transorbit.emulation._relay import Relay
from transorbit.result import Result
from transorbit.scenario import Scenario, Started

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

NETWORK = ipaddress.ip_network("10.66.0.0/16")
NETWORK6 = ipaddress.ip_network("fd66::/64")
_SMALLEST_IPV4 = 68  # RFC 791 section 3.2
_SMALLEST_IPV6 = 1280  # RFC 8200 section 5
_ETHERNET = 1500
_MOST_USERS = 200
_OFFER = struct.Struct("<QIIIBBxx")
_NO_CLASS = 2**32 - 1
_ENDS = ("server", "user")
_MARKS = ("not-ect", "ect0", "ect1", "ce")
# Later than this at the 99th percentile, a packet's delay is no longer that of the scenario to within some per cent.
_LATE_S = 1e-3
_GRACE_S = 2.0


class EmulationError(Exception):
    """The computer does not let us emulate; the message says what is missing and how to get it."""


@dataclass(frozen=True)
class Emulated:
    """How an emulation ended: the exit code of the command, and the result of the run with its log of offers."""

    code: int
    result: Result


def emulate(
    scenario: Scenario,
    command: Sequence[str],
    *,
    at: str = "user",
    server: str | None = None,
    serve: Sequence[str] = (),
    flow: int | None = None,
    dscp: Mapping[int, str] | None = None,
    seed: int | None = None,
    spin_s: float = 50e-6,
    scratch: str | Path | None = None,
) -> Emulated:
    """Run `command` behind the user of `scenario`, its packets over the simulated path, in real time (Linux).

    Where no flow of the scenario has the transport `external`, the users of the entry `flow` become external, of the
    first if none is given, and what the others send is simulated beside. The name `server` is the other end. It ends
    with the command, or with the scenario's duration.

    Args:
        scenario: the scenario.
        command: the program and its arguments.
        at: where it runs: "user" (the first), "user-2", "users" (each of them) or "server".
        server: a command line that runs at the server's end meanwhile, through the shell.
        serve: services of this host that are reached at the server's address: PORT, PORT:HOST or PORT:HOST:PORT.
        flow: the entry of `flows` whose users become external, where no flow is.
        dscp: the class of `last_hop.classes` of packets with a code point (0 to 63); others have that of the flow.
        seed: replaces the scenario's own.
        spin_s: waits shorter than this look at the clock and do not sleep: more exact, and costs a core.
        scratch: where packets are captured, as in `Scenario.run`.

    Raises:
        ScenarioError: the scenario is wrong, or cannot carry IP packets.
        EmulationError: the computer does not let us.
        ValueError: an argument is wrong.
    """
    if not hasattr(_core, "Emulation"):
        raise EmulationError("emulation needs Linux: network namespaces and TUN devices")
    ready = _with_external(scenario, flow)
    external_run = Started(ready, seed, scratch)
    simulation = external_run.simulation
    users = _users(simulation)
    mtu = _mtu(simulation)
    targets = _targets(serve)
    _check_command(command)
    classes = _classes(ready, dscp or {})
    emulation = _core.Emulation()
    task = _task(users, mtu, list(command), at, server, [port for port, _ in targets])
    with _process(emulation, task) as (process, control, listeners):
        hosts = [[str(address.ip) for address in _addresses(place + 2, mtu)] for place in range(len(users))]
        flows = [number for number, _ in users]
        try:
            emulation.receive(list(zip(hosts, flows, strict=True)), classes, spin_s)
        except OSError as error:
            raise EmulationError(f"the devices did not come: {error}") from None
        relay = Relay(listeners, [target for _, target in targets]) if listeners else None
        control.sendall(b"g")
        code = _carry(emulation, simulation, process)
        unread = _unread(control)
        if relay:
            relay.close()
    result = external_run.result()
    if mtu < _SMALLEST_IPV6:
        result.summary["warnings"].append(
            f"the programs had IPv4 only: packets of at most {mtu} B fit the HARQ block, and IPv6 needs "
            f"{_SMALLEST_IPV6} B (RFC 8200); last_hop.segmentation cuts packets"
        )
    _measured(result, {**json.loads(emulation.measured_json()), "unread": unread})
    result.offers = _offers(emulation)
    return Emulated(code, result)


def replay(
    directory: str | Path, *, changes: Sequence[str] = (), scratch: str | Path | None = None, outside: bool = False
) -> Result:
    """The run of an emulation again, in virtual time, from the log in its result folder: the digest is the same.

    Args:
        directory: what `Emulated.result.save` wrote.
        changes: keys of the scenario to change, as `Scenario.set` takes them; what is recorded changes no digest.
        scratch: where packets are captured, as in `Scenario.run`.
        outside: whether the scenario may name files outside of its folder.

    Raises:
        FileNotFoundError: it has no log of offers.
        ScenarioError: a change is wrong, or a file is damaged.
        ValueError: the log is not one of this scenario.
    """
    recorded = Result.load(directory)
    if recorded.offers is None:
        raise FileNotFoundError(f"{directory}: no offers.parquet: it is not the result of an emulation")
    scenario = Scenario.load(Path(directory) / "scenario.toml", outside=outside).set(*changes)
    replayed_run = Started(scenario, scratch=scratch)
    replayed_run.simulation.replay(_log(recorded.offers))
    replayed_run.simulation.advance(recorded.numbers["simulated_s"])
    result = replayed_run.result()
    result.offers = recorded.offers
    return result


def _with_external(scenario: Scenario, flow: int | None) -> Scenario:
    if Started(scenario.set("record.packets=none")).simulation.external_flows():
        if flow is not None:
            raise ValueError(f"flow: {flow} was given, and an entry of flows has the transport external already")
        return scenario
    kind = {"kind": "external"}
    return scenario.replace({f"flows.{flow or 0}.{key}": kind for key in ("transport", "traffic")})


def _users(simulation: _core.Simulation) -> list[tuple[int, int]]:
    users = simulation.external_flows()
    if len(users) > _MOST_USERS:
        raise _core.ScenarioError(
            f"flows: {len(users)} users are external, at most {_MOST_USERS} can be emulated: each has a namespace"
        )
    return users


def _mtu(simulation: _core.Simulation) -> int:
    longest = simulation.longest_packet
    if longest < _SMALLEST_IPV4:
        raise _core.ScenarioError(
            f"last_hop.harq.block: packets of at most {longest} B fit, IPv4 needs {_SMALLEST_IPV4} B (RFC 791): a "
            "larger block carries them, or last_hop.segmentation = {}, which cuts packets"
        )
    return min(_ETHERNET, longest)


def _addresses(number: int, mtu: int) -> list[Any]:
    """Returns the addresses of a host, with the length of the network's prefix."""
    networks: list[Any] = [NETWORK, NETWORK6] if mtu >= _SMALLEST_IPV6 else [NETWORK]
    return [ipaddress.ip_interface(f"{network[number]}/{network.prefixlen}") for network in networks]


def _task(
    users: list[tuple[int, int]],
    mtu: int,
    command: list[str],
    at: str,
    server: str | None,
    ports: list[int],
) -> dict[str, Any]:
    names = [f"user-{user}" for _, user in users]
    allowed = {"server": ["server"], "user": names[:1], "users": names, **{name: [name] for name in names}}
    if at not in allowed:
        known = ", ".join(["server", "user", "users", *(names if len(names) < 5 else [f"user-0 … {names[-1]}"])])
        raise ValueError(f"at: {at!r} was given, one of {known} is expected")
    places = {"server": _addresses(1, mtu), **{name: _addresses(place + 2, mtu) for place, name in enumerate(names)}}
    hosts = {name: [str(address.ip) for address in own] for name, own in places.items()}
    return {
        "places": [{"name": name, "addresses": list(map(str, own))} for name, own in places.items()],
        "hosts": {**hosts, "user": hosts[names[0]]},
        "mtu": mtu,
        "command": command,
        "at": allowed[at],
        "server": ["/bin/sh", "-c", server] if server else None,
        "ports": ports,
    }


def _check_command(command: Sequence[str]) -> None:
    if not command or not shutil.which(command[0]):
        raise ValueError(f"{command[0] if command else 'the command'}: there is no such program that may be run")


def _targets(serve: Sequence[str]) -> list[tuple[int, tuple[str, int]]]:
    targets = [_target(service) for service in serve]
    ports = [port for port, _ in targets]
    if twice := next((port for port in ports if ports.count(port) > 1), None):
        raise ValueError(f"serve: port {twice} was given twice; the server has one address")
    return targets


def _target(service: str) -> tuple[int, tuple[str, int]]:
    match = re.fullmatch(r"(\d{1,5})(?::([^:]+)(?::(\d{1,5}))?)?", service)
    if not match or not all(0 < int(port) < 65536 for port in (match[1], match[3] or match[1])):
        raise ValueError(f"serve: {service!r} was given, PORT, PORT:HOST or PORT:HOST:PORT is expected, as in 8080")
    return int(match[1]), (match[2] or "127.0.0.1", int(match[3] or match[1]))


def _classes(scenario: Scenario, dscp: Mapping[int, str]) -> list[tuple[int, int]]:
    names = [entry["name"] for entry in scenario.to_dict()["last_hop"].get("classes", [])]
    for point, name in dscp.items():
        if not 0 <= point < 64:
            raise ValueError(f"dscp: {point} was given, a code point is 0 to 63")
        if name not in names:
            raise ValueError(f"dscp: {name!r} was given, last_hop.classes has {', '.join(names) or 'none'}")
    return [(point, names.index(name)) for point, name in dscp.items()]


@contextlib.contextmanager
def _process(
    emulation: _core.Emulation, task: dict[str, Any]
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket, list[tuple[socket.socket, socket.socket]]]]:
    """The process with the namespaces, once they are there; when this ends, so has that, and all below it."""
    control, theirs = socket.socketpair()
    devices = emulation.fileno()
    script = Path(__file__).with_name("_inside.py")
    arguments = [sys.executable, "-I", "-S", str(script), str(theirs.fileno()), str(devices)]
    with control:
        process = subprocess.Popen(arguments, pass_fds=[theirs.fileno(), devices])  # noqa: S603 - our own program
        theirs.close()
        try:
            control.sendall(json.dumps(task).encode() + b"\n")
            line, fds, _, _ = socket.recv_fds(control, 65_536, 2 * len(task["ports"]) + 1)
            answer = json.loads(line) if line else {"error": "the process with the namespaces ended at once"}
            if "error" in answer:
                raise EmulationError(answer["error"])
            sockets = [socket.socket(fileno=number) for number in fds]
            for sock in sockets:
                sock.setblocking(False)
            yield process, control, list(zip(sockets[::2], sockets[1::2], strict=True))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def _carry(emulation: _core.Emulation, simulation: _core.Simulation, process: subprocess.Popen[bytes]) -> int:
    """Runs the world until the command has ended: its exit code."""
    asked: list[int] = []
    caught = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.signal(number, lambda got, _: asked.append(got)) for number in caught}
    before = signal.set_wakeup_fd(emulation.wake_fileno(), warn_on_full_buffer=False)
    try:
        while not (over := emulation.run(simulation)):
            if _ended(process, asked):
                break
            asked.clear()
        if over:
            print(
                f"transorbit: the scenario's {simulation.duration_s:g} s are over: the command is stopped "
                "(--set duration=… makes it longer)",
                file=sys.stderr,
            )
            _stop(process)
        return 124 if over else process.wait()
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _ended(process: subprocess.Popen[bytes], asked: list[int]) -> bool:
    """Whether the command is over. It had Ctrl-C too, and decides itself; SIGTERM is passed on to it."""
    if signal.SIGTERM in asked:
        _stop(process)
        return True
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0 if asked else _GRACE_S)
        return True
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _unread(control: socket.socket) -> int:
    """Returns the packets that found no room at a device; 0 if the processes inside were killed before that."""
    control.setblocking(False)
    try:
        line = control.recv(1024)
    except OSError:
        return 0
    return int(json.loads(line)["unread"]) if line.endswith(b"\n") else 0


def _measured(result: Result, measured: dict[str, Any]) -> None:
    """Puts what the clock showed into the summary, with a warning where it could matter."""
    median, p95, p99, p999, most = (nanos / 1e9 for nanos in measured.pop("late_ns"))
    late = {"median": median, "p95": p95, "p99": p99, "p999": p999, "max": most}
    result.summary["emulation"] = {**measured, **{f"late_{name}_s": value for name, value in late.items()}}
    if p99 > _LATE_S:
        result.summary["warnings"].append(
            f"one packet of a hundred left {p99 * 1e3:.1f} ms or more after its time: the computer was too busy, so "
            "delays and rates are the computer's too"
        )
    uncounted = {
        "refused": "were for nobody or too long",
        "unread": "found no room at a device, because the computer was too busy",
        "untaken": "were not taken by a device",
    }
    if told := [f"{measured[name]} packets {words}" for name, words in uncounted.items() if measured[name]]:
        result.summary["warnings"].append(f"{', '.join(told)}: not counted as lost")


def _offers(emulation: _core.Emulation) -> pl.DataFrame:
    """The log as a table."""
    import polars as pl

    def names(column: str, kinds: tuple[str, ...]) -> pl.Expr:
        return pl.col(column).replace_strict(dict(enumerate(kinds)), return_dtype=pl.Enum(kinds))

    return frame(emulation.take_offers()).with_columns(
        pl.col("class").replace(_NO_CLASS, None),
        names("from", _ENDS),
        names("ecn", _MARKS),
    )


def _log(offers: pl.DataFrame) -> bytes:
    """The table as a log."""
    lines = bytearray()
    for at, flow, size, group, end, mark in offers.iter_rows():
        group = _NO_CLASS if group is None else group
        lines += _OFFER.pack(at, flow, size, group, _ENDS.index(end), _MARKS.index(mark))
    return bytes(lines)
