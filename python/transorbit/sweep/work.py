"""One run, from its text to an outcome: the same on a thread here and on a worker elsewhere."""

from __future__ import annotations

import json
import re
import socket
import time
import zlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _core, _hash, _steps, plugins

if TYPE_CHECKING:
    from collections.abc import Callable

_HEX = 16


@dataclass(frozen=True)
class Task:
    """A run that is to be computed.

    Attributes:
        key: of the content: scenario, seed and code.
        toml: the scenario with every default filled in; its files have absolute names.
        warm_up: what is left out of the averages of the series: seconds, "auto", or None if no averages are asked for.
        transorbit, build: the code that is to compute it.
        own: the user's own code that it calls.
    """

    key: str
    scenario_sha256: str
    seed: int
    toml: str
    warm_up: float | str | None
    transorbit: str
    build: str
    own: tuple[plugins.Shipped, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: numbers ("ok") or an error ("failed"), and where it was computed."""

    key: str
    scenario_sha256: str
    seed: int
    status: str
    error: str | None
    data: bytes | None
    transorbit: str
    build: str
    created: str
    wall_s: float
    host: str

    def contents(self) -> dict[str, Any]:
        """`summary`, and `steady` with averages by flow if they were asked for."""
        assert self.data is not None, "asked for the numbers of a run that failed"
        contents: dict[str, Any] = json.loads(zlib.decompress(self.data))
        return contents


class Hashes:
    """The hashes of files: each is computed once, and again if the file's size or time has changed."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[int, int, str]] = {}

    def of(self, path: Path) -> str:
        """The SHA-256 of a file."""
        info = path.stat()
        known = self._files.get(path)
        if known is None or known[:2] != (info.st_mtime_ns, info.st_size):
            known = (info.st_mtime_ns, info.st_size, _hash.sha256(path.read_bytes()))
            self._files[path] = known
        return known[2]


class StoppedError(Exception):
    """The run was asked to end before its end."""


class OtherCodeError(Exception):
    """A worker runs other code, or reads other files, than the one that started the sweep."""


def task(
    toml: str,
    *,
    seed: int,
    warm_up: float | str | None,
    start: str = "",
    shipped: tuple[plugins.Shipped, ...] | None = None,
    hashes: Hashes | None = None,
) -> Task:
    """The task of a resolved scenario. The other inputs of a run, files and a user's code, are part of the key.

    `start` identifies this start of the sweep: where a user's code cannot be distinguished from other code, it is
    part of the key too. `shipped`: that code, where it was sent; by default what is registered here. `hashes` are kept
    from one task to the next.
    """
    sent = plugins.shipped(toml) if shipped is None else shipped
    sent = tuple(replace(each, fingerprint=each.fingerprint or start) for each in sent)
    scenario = _fingerprint(toml, warm_up, sent, hashes or Hashes())
    key = _hash.sha256(f"{scenario}\n{seed}\n{_core.version()}\n{build()}")
    return Task(key, scenario, seed, toml, warm_up, _core.version(), build(), sent)


def failed(key: str, scenario_sha256: str, seed: int, error: str, *, wall_s: float = 0.0) -> Outcome:
    """The outcome of a run that has an error instead of numbers."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Outcome(
        key, scenario_sha256, seed, "failed", error, None, _core.version(), build(), now, wall_s, socket.gethostname()
    )


def compute(
    task: Task,
    stop: Callable[[], bool] | None = None,
    plans: _core.Plans | None = None,
    *,
    sent: bool = False,
) -> Outcome:
    """Run the task; whatever goes wrong in the run is its outcome. `plans` keeps what runs of the same scenario share.

    `sent`: the user's code is what the task has as text, not what is registered here.

    Raises:
        StoppedError: `stop` has answered True.
    """
    run_began = time.perf_counter()
    try:
        own = plugins.loaded(task.own) if sent else plugins.REGISTRY
        data = _simulate(task, stop, plans, own)
    except (KeyboardInterrupt, StoppedError):
        raise
    # A panic of the core and `sys.exit` in a user's code are no Exception; they must not end the other runs either.
    except BaseException as error:
        told = " ".join(str(error).split())
        name = "" if isinstance(error, _core.ScenarioError | OSError) else type(error).__name__
        text = ": ".join(filter(None, (name, told)))
        wall_s = round(time.perf_counter() - run_began, 3)
        return failed(task.key, task.scenario_sha256, task.seed, text, wall_s=wall_s)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    wall_s = round(time.perf_counter() - run_began, 3)
    return Outcome(
        task.key, task.scenario_sha256, task.seed, "ok", None, data, task.transorbit, task.build, now, wall_s,
        socket.gethostname(),
    )  # fmt: skip


def compute_elsewhere(given: Task, plans: _core.Plans, hashes: Hashes) -> Outcome:
    """`compute` on a worker, if what it runs and reads is what the client does. It keeps plans and hashes.

    Raises:
        OtherCodeError: it is not.
    """
    here = socket.gethostname()
    if (given.transorbit, given.build) != (_core.version(), build()):
        raise OtherCodeError(
            f"the worker on {here} runs transorbit {_core.version()} (build {build()}), "
            f"this sweep {given.transorbit} (build {given.build})"
        )
    try:
        own = task(given.toml, seed=given.seed, warm_up=given.warm_up, shipped=given.own, hashes=hashes)
    except OSError as error:
        raise OtherCodeError(f"the worker on {here} cannot read {error.filename}: {error.strerror}") from None
    if own.key != given.key:
        raise OtherCodeError(
            f"the worker on {here} has other files than the sweep: the scenario's, or those of the package"
        )
    return compute(given, plans=plans, sent=True)


@cache
def build() -> str:
    """The identity of a build of the core: the beginning of the SHA-256 of the compiled module.

    It is that of the core that runs: the file may be replaced meanwhile.
    """
    return _hash.sha256(Path(_core.__file__).read_bytes())[:_HEX]


def _simulate(task: Task, stop: Callable[[], bool] | None, plans: _core.Plans | None, own: plugins.Registry) -> bytes:
    scenario = _core.Scenario.from_toml(task.toml, "/")
    simulation = scenario.simulation(task.seed, own.find, plans, own.names())
    for _ in _steps.taken(simulation):
        if stop and stop():
            raise StoppedError
    record = simulation.finish(False)
    text = f'{{"summary": {record.summary_json()}'
    if task.warm_up is not None:
        from transorbit._frame import frame
        from transorbit.sweep import steady

        text += f', "steady": {json.dumps(steady.averages(frame(record.series()), task.warm_up))}'
    return zlib.compress(f"{text}}}".encode())


def _fingerprint(toml: str, warm_up: float | str | None, sent: tuple[plugins.Shipped, ...], hashes: Hashes) -> str:
    """SHA-256 over the scenario and all that it names."""
    parts = [toml]
    # The resolved scenario has absolute names of files; the hash of the contents stands for each.
    for name in sorted({double or single for double, single in _ABSOLUTE.findall(toml)}, key=len, reverse=True):
        path = Path(json.loads(f'"{name}"') if "\\" in name else name)
        if path.is_file():
            parts[0] = parts[0].replace(name, f"sha256:{hashes.of(path)}")
    parts += [each.fingerprint for each in sent]
    if warm_up is not None:
        parts.append(f"warm-up {warm_up} {_averaging()}")
    return _hash.sha256("\n".join(parts))


_ABSOLUTE = re.compile(r'"(/(?:[^"\\\n]|\\.)*)"|\'(/[^\'\n]*)\'')


def _averaging() -> str:
    """Returns the text of the code that computes averages, which is not part of the build and so stands for itself."""
    from transorbit import statistics
    from transorbit.sweep import steady

    files = [Path(str(module.__file__)) for module in (steady, statistics)]
    return _hash.sha256(b"".join(file.read_bytes() for file in files))
