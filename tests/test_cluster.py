"""Sweeps on Dask: a real scheduler, workers that are processes of their own, and what happens when one dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from distributed import Client, LocalCluster

import transorbit as to
from conftest import PROGRAM, ROOT
from transorbit.sweep import work
from transorbit.sweep.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Outcome
    from transorbit.sweep import Progress

# Dask's own: sockets that its event loop closes when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

ORIGIN = ["created", "wall_s", "host"]


class Workers:
    """Worker processes of a scheduler."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.processes: list[subprocess.Popen[bytes]] = []
        self._folder = folder

    def start(self, package: Path | None = None) -> subprocess.Popen[bytes]:
        """One more worker; `package` is where it takes transorbit from."""
        environment = dict(os.environ)
        if package:
            environment["PYTHONPATH"] = str(package)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--no-nanny", "--no-dashboard"]
        command += ["--nthreads", "1", "--local-directory", str(self._folder)]
        with (self._folder / "workers.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    """A scheduler that has no workers yet."""
    with LocalCluster(n_workers=0, dashboard_address=":0", processes=True, silence_logs=50) as cluster:
        workers = Workers(cluster.scheduler_address, tmp_path)
        try:
            yield workers
        finally:
            for process in workers.processes:
                process.kill()
                process.wait()


def small(replications: int = 12, **changes: Any) -> to.Sweep:
    table = {
        "scenario": "leo-tcp.toml",
        "replications": replications,
        "set": {"duration": "10 s"},
        "axes": [{"name": "snr", "key": "channel.reference_snr", "values": ["7 dB", "10 dB", "-900 dB"]}],
        **changes,
    }
    return to.Sweep.from_dict(table, base_dir=ROOT / "scenarios")


def test_a_worker_that_is_killed_costs_nothing(workers: Workers, tmp_path: Path) -> None:
    victim, _ = workers.start(), workers.start()
    seen: list[int] = []

    def kill(at: Progress) -> None:
        seen.append(at.computed)
        if at.computed == 6:
            assert victim.poll() is None
            victim.kill()
            victim.wait()

    sweep = small()
    remote = sweep.run(dask=workers.address, store=tmp_path / "s.sqlite", progress=kill)
    assert victim.poll() == -9
    assert remote.progress is not None
    assert (remote.progress.computed, remote.progress.reused) == (36, 0)
    assert remote.runs.select("point", "replication").rows() == [(p, r) for p in range(3) for r in range(12)]
    assert remote.runs["key"].n_unique() == 36

    local = sweep.run()
    assert len(local.failed) == 12
    assert remote.runs.drop(ORIGIN).equals(local.runs.drop(ORIGIN))
    assert remote.flows.equals(local.flows)
    assert sweep.run(store=tmp_path / "s.sqlite").progress.computed == len(local.failed)  # type: ignore[union-attr]


def test_a_worker_with_other_code_is_refused(workers: Workers, tmp_path: Path) -> None:
    other = tmp_path / "other"
    package = shutil.copytree(
        ROOT / "python/transorbit", other / "transorbit", ignore=shutil.ignore_patterns("__pycache__")
    )
    (core,) = package.glob("_core.*.so")
    with core.open("ab") as file:
        file.write(b"built elsewhere")
    workers.start(package=other)
    with pytest.raises(
        to.ScenarioError, match=r"^dask: the worker on \S+ runs transorbit \S+ \(build \w+\), this sweep "
    ):
        small().run(dask=workers.address, store=tmp_path / "s.sqlite")
    assert to.Sweep.run(small(1), store=tmp_path / "s.sqlite").progress.reused == 0  # type: ignore[union-attr]


def test_the_command_waits_for_workers_and_uses_them(
    workers: Workers, here: Path, command: Callable[..., Outcome]
) -> None:
    (here / "small.toml").write_text(small(2).to_toml())
    starter = subprocess.Popen(["sleep", "6"])

    def later() -> None:
        starter.wait()
        workers.start()

    import threading

    thread = threading.Thread(target=later)
    thread.start()
    done = command("sweep", "small.toml", "--outside", "--dask", workers.address, "--json")
    thread.join()
    assert done.code == 0
    assert "the scheduler has no workers; waiting for one" in done.err
    assert '"computed": 6' in done.out


class Future:
    """A run that has ended at once: badly, if its key is so."""

    def __init__(self, key: str) -> None:
        self.key = key

    def add_done_callback(self, _callback: Any) -> None:
        pass

    def cancelled(self) -> bool:
        return False

    def done(self) -> bool:
        return True

    def exception(self, timeout: float) -> Exception | None:  # noqa: ARG002
        return ValueError("a slip") if self.key == "bad" else None

    def result(self, timeout: float) -> str:  # noqa: ARG002
        return self.key


def asked_for(*keys: str) -> tuple[Cluster, list[Any], list[Any]]:
    """A pool that was asked for these runs, their futures, and how many of them were cancelled at its end."""
    cancelled: list[Any] = []

    class Told:
        def submit(self, _function: Any, task: work.Task, **_options: Any) -> Any:
            return Future(task.key)

        def cancel(self, futures: list[Any]) -> None:
            cancelled.append(len(futures))

    with pytest.MonkeyPatch.context() as held:
        held.setattr("distributed.Client", Told)
        pool = Cluster(Told())
    for key in keys:
        pool.submit(SimpleNamespace(key=key, toml="", own=()))  # type: ignore[arg-type]
    return pool, list(pool._tasks), cancelled


def test_what_came_with_an_error_is_kept() -> None:
    """And another client that waits for the same run goes on waiting for it."""
    pool, (bad, good, _late), cancelled = asked_for("bad", "good", "late")
    pool._done.put(bad)
    pool._done.put(good)
    assert pool.wait() == ["good"]
    with pytest.raises(to.ScenarioError, match=r"^dask: a worker failed: ValueError: a slip$"):
        pool.wait()
    pool.close()
    assert cancelled == [1]


def test_ctrl_c_waits_until_what_has_come_is_kept() -> None:
    pool, (good, _late), _ = asked_for("good", "late")
    kept = []

    def stopped() -> None:
        with pool.between_outcomes():
            pool._done.put(good)
            signal.raise_signal(signal.SIGINT)
            kept.append(pool.wait())
            pool.wait()

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert kept == [["good"]]
    pool.close()


def test_a_result_that_was_lost_with_its_worker_is_not_waited_for_without_end(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All runs are finished when the only worker dies, and none of them has come: who waits is told so."""
    monkeypatch.setattr("transorbit.sweep.cluster._TRANSFER_S", 0.5)
    sweep, victim = small(4, axes=[]), workers.start()
    pool = Cluster(workers.address)
    try:
        for seed in range(4):
            pool.submit(work.task(sweep.scenario(sweep.points[0]).to_toml(), seed=seed, warm_up=None))
        keys = {task.key for task in pool._tasks.values()}
        until(lambda: all(future.status == "finished" for future in pool._tasks))
        victim.kill()
        victim.wait()
        started = time.monotonic()
        assert pool.wait() == []
        assert time.monotonic() - started < 20
        assert {task.key for task in pool._tasks.values()} == keys, "all of them are still asked for"
        workers.start()
        found: list[work.Outcome] = []
        until(lambda: bool(found.extend(pool.wait()) or len(found) == 4))
        assert {outcome.key for outcome in found} == keys
    finally:
        pool.close()


def test_workers_that_do_not_come_are_not_waited_for_without_end(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has started one; or two were asked for, of whom one came and was killed."""
    monkeypatch.setattr("transorbit.sweep.cluster._WITHOUT_WORKERS_S", 1.0)
    monkeypatch.setattr("transorbit.sweep.cluster._LOOK_AT_WORKERS_S", 0.1)
    told = r"^dask: the scheduler has had no worker for [\d.]+ s; {}; what was finished is kept, and the next start"
    started = time.monotonic()
    with pytest.raises(to.ScenarioError, match=told.format("0 came")):
        small().run(dask=workers.address)
    assert time.monotonic() - started < 20

    store = tmp_path / "s.sqlite"
    victim = workers.start()
    with Client(workers.address, set_as_default=False) as client:
        until(lambda: bool(client.nthreads()))
        client.cluster = SimpleNamespace(plan={"a", "b"})

        def kill(at: Progress) -> None:
            if at.computed == 3:
                victim.kill()
                victim.wait()

        with pytest.raises(to.ScenarioError, match=told.format("of 2 that were asked for, 1 came")):
            small(axes=[]).run(dask=client, store=store, progress=kill)
        client.cluster = None
    assert 3 <= finished(store) < 12, "what had come is kept"


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_client_that_is_killed_goes_on(workers: Workers, here: Path, command: Callable[..., Outcome]) -> None:
    workers.start()
    # So long that not all are over before the client is killed.
    (here / "small.toml").write_text(small(8, set={"duration": "600 s"}).to_toml())
    client = subprocess.Popen(
        [PROGRAM, "sweep", "small.toml", "--outside", "--dask", workers.address, "--quiet"], stdout=subprocess.DEVNULL
    )
    store = here / "results/small/store.sqlite"
    end = time.monotonic() + 60
    while finished(store) < 3:
        assert client.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    client.kill()
    client.wait()
    before = finished(store)
    assert before < 16, "killed on the way"
    done = command("sweep", "small.toml", "--outside", "--dask", workers.address, "--resume", "--json")
    assert done.code == 0
    report = json.loads(done.out)
    assert (report["runs"], report["reused"], report["computed"]) == (24, before, 24 - before)
    local = to.Sweep.load(here / "small.toml", outside=True).run()
    remote = to.SweepResult.load(here / "results/small")
    assert remote.runs.drop(ORIGIN).equals(local.runs.drop(ORIGIN))


def finished(store: Path) -> int:
    """How many runs the store has that ended well."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM outcomes WHERE status = 'ok'").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


STEP = 0.5


@to.controller("test-shipped")
class Shipped:
    """Opens its window by half a segment in a round trip."""

    def on_ack(self, ack: to.Ack) -> float | None:
        return ack.window + STEP * ack.delivered / ack.window if ack.may_grow else None


def test_a_users_code_is_sent_as_text(workers: Workers) -> None:
    own = {"duration": "1 s", "flows.0.transport.congestion": {"kind": "external", "name": "test-shipped"}}
    workers.start()
    sweep = small(2, axes=[], set=own)
    there, here = sweep.run(dask=workers.address), sweep.run()
    assert there.runs["status"].unique().to_list() == ["ok"]
    assert there.runs["digest"].to_list() == here.runs["digest"].to_list()


def test_an_address_without_a_port_is_no_scheduler(command: Callable[..., Outcome]) -> None:
    refused = command("sweep", "leo-snr", "--dask", "nowhere")
    told = "transorbit: --dask: nowhere: HOST:PORT is expected, as in 127.0.0.1:8786\n"
    assert (refused.code, refused.err) == (2, told)


def test_what_dask_cannot_do_is_told(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = object()

    class First:
        def select(self, _queues: list[to.Queue], _now: float) -> int:
            return 0 if nobody else 1

    to.scheduler("test-first")(First)
    external = {"duration": "1 s", "last_hop.scheduler": {"kind": "external", "name": "test-first"}}
    with pytest.raises(
        to.ScenarioError, match=r'^last_hop\.scheduler: "test-first" is a scheduler in Python, which cannot be sent'
    ):
        small(axes=[], set=external).run(dask=workers.address)
    with pytest.raises(to.ScenarioError, match="jobs: does not go with dask"):
        small().run(dask=workers.address, jobs=2)
    monkeypatch.setattr("transorbit.sweep.cluster._CONNECT_S", 1)
    started = time.monotonic()
    with pytest.raises(to.ScenarioError, match=r"^dask: no scheduler answers at tcp://127\.0\.0\.1:1"):
        small().run(dask="tcp://127.0.0.1:1")
    assert time.monotonic() - started < 30
    with pytest.raises(to.ScenarioError, match=r"^dask: no scheduler answers at nonsense://x"):
        small().run(dask="nonsense://x")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        to.ScenarioError, match=r'^dask: is not installed; it comes with: pip install "transorbit\[cluster\]"'
    ):
        small().run(dask=workers.address)
