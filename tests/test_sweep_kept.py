"""What goes wrong in a sweep, and what is kept of it."""

from __future__ import annotations

import functools
import signal
import sqlite3
import tomllib
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import transorbit as to
from sweeps import RATES, SCENARIOS, SWEEP, TCP, ending_before, keys, lab
from transorbit import _code
from transorbit.sweep import result as sweeps
from transorbit.sweep import sql, work
from transorbit.sweep.local import Threads
from transorbit.sweep.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Outcome

# What goes wrong.


def test_a_point_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    rates = {**RATES, "values": ["5 Mbit/s", "-1 Mbit/s", "20 Mbit/s"]}
    result = lab(axes=[rates], replications=2).run(store=tmp_path / "s.sqlite")
    assert result.runs["status"].to_list() == ["ok", "ok", "failed", "failed", "ok", "ok"]
    assert result.failed["rate"].to_list() == [-1.0, -1.0]
    assert result.failed["error"].str.starts_with("last_hop.rate: ").all()
    assert result.failed["goodput_mbps"].to_list() == [None, None]
    assert result.flows["point"].to_list() == [0, 0, 2, 2]
    again = lab(axes=[rates], replications=2).run(store=tmp_path / "s.sqlite")
    assert again.progress
    assert (again.progress.computed, again.progress.reused) == (2, 4), "what failed is tried again"
    assert again.runs.drop("created").equals(result.runs.drop("created"))


def test_a_run_that_fails_after_its_start_is_recorded() -> None:
    @to.scheduler("sweep-breaks")
    class Breaks:
        def select(self, queues: list[to.Queue], now: float) -> int:
            if now > 0.5:
                raise RuntimeError("tired")
            return queues[0].user

    external = {"last_hop.scheduler": {"kind": "external", "name": "sweep-breaks"}}
    result = lab(axes=[{"name": "policy", "cases": {"own": external, "droptail": {}}}]).run()
    assert result.runs["status"].to_list() == ["failed", "ok"]
    assert result.failed["error"].item() == "RuntimeError: tired"


def test_outcomes_of_a_scheduler_in_python_are_those_of_its_code(tmp_path: Path) -> None:
    external = {"last_hop.scheduler": {"kind": "external", "name": "sweep-own"}, "flows.0.count": 2}
    sweep = lab(axes=[], set={"duration": "1 s", **external})

    def computed(which: str) -> int:
        file = tmp_path / "own.py"
        file.write_text(
            "import transorbit\n@transorbit.scheduler('sweep-own')\nclass Own:\n    def select(self, queues, now):\n"
            f"        return {which}(queues, key=lambda queue: queue.user).user\n"
        )
        exec(compile(file.read_text(), str(file), "exec"), {})  # noqa: S102 - written above
        return sweep.run(store=tmp_path / "s.sqlite").progress.computed  # type: ignore[union-attr]

    assert [computed("min"), computed("min"), computed("max")] == [1, 0, 1]


LIMIT = 3


class Base:
    limit = 1

    def select(self, queues: list[to.Queue], now: float) -> int:  # noqa: ARG002
        return min(queues, key=lambda queue: queue.user % (LIMIT + self.limit)).user


class Derived(Base):
    pass


def test_only_code_that_lies_in_one_file_is_known_again(tmp_path: Path) -> None:
    plain = {"__name__": "own"}
    source = (
        "import math\nDEPTH = 1\nclass Own:\n    depth = 2\n    def select(self, queues, now):\n"
        "        return queues[min(DEPTH, self.depth, math.floor(now)) * 0].user\n"
        "class Inner(Own):\n    def __init__(self):\n        super().__init__()\n"
        "def make():\n    return Own()\n"
        "def maker(depth):\n    class Made(Own):\n        pass\n    Made.depth = depth\n    return Made\n"
    )
    (tmp_path / "own.py").write_text(source)
    exec(compile(source, str(tmp_path / "own.py"), "exec"), plain)  # noqa: S102 - written above
    own: Any = plain
    before = {name: _code.fingerprint(own[name]) for name in ("Own", "Inner", "make")}
    assert None not in before.values()
    assert before == {name: _code.fingerprint(own[name]) for name in before}, "the same in the next start"
    assert _code.fingerprint(own["maker"](3)) is None, "a class that a function makes"
    assert _code.fingerprint(functools.partial(own["Own"])) is None
    assert _code.fingerprint(lambda: tmp_path) is None, "a closure"
    assert _code.fingerprint(Derived) is None, "a file that imports others"

    own["Own"].depth = 9
    after = {name: _code.fingerprint(own[name]) for name in before}
    assert all(after[name] not in (None, before[name]) for name in before), "an attribute of the base class counts"
    own["Own"].depth = 2
    own["DEPTH"] = 5
    assert _code.fingerprint(own["Inner"]) not in (None, before["Inner"]), "so does a variable of the module"
    own["DEPTH"] = tmp_path
    assert _code.fingerprint(own["Own"]) is None, "what is no plain value cannot be read off"
    own["DEPTH"] = 1
    assert _code.fingerprint(own["Own"]) == before["Own"]
    for module in ("numpy", "os", "time", "pathlib"):
        (tmp_path / "own.py").write_text(source + f"import {module}\n")
        assert _code.fingerprint(own["Own"]) is None, "it may read what nobody knows"
    (tmp_path / "own.py").unlink()
    assert _code.fingerprint(own["Own"]) is None


@pytest.mark.parametrize("reads", ["open('depth').read()", "input()", "eval('3')", "__import__('os').environ['DEPTH']"])
def test_code_that_reads_from_outside_is_not_known_again(tmp_path: Path, reads: str) -> None:
    def fingerprint(depth: str) -> str | None:
        source = f"class Own:\n    def select(self, queues, now):\n        return queues[int({depth}) * 0].user\n"
        (tmp_path / "own.py").write_text(source)
        space: dict[str, Any] = {"__name__": "own"}
        exec(compile(source, str(tmp_path / "own.py"), "exec"), space)  # noqa: S102 - written above
        return _code.fingerprint(space["Own"])

    assert fingerprint("'3'") is not None
    assert fingerprint(reads) is None


def test_a_scheduler_whose_code_cannot_be_read_off_runs_anew(tmp_path: Path) -> None:
    class Depth:
        def __init__(self, depth: int) -> None:
            self.depth = depth

        def select(self, queues: list[to.Queue], now: float) -> int:  # noqa: ARG002
            return queues[min(self.depth, len(queues) - 1)].user

    external = {"last_hop.scheduler": {"kind": "external", "name": "sweep-depth"}, "flows.0.count": 2}
    sweep = lab(axes=[{"name": "twice", "cases": {"a": {}, "b": {}}}], set={"duration": "1 s", **external})

    def computed(depth: int) -> tuple[int, str]:
        to.scheduler("sweep-depth")(functools.partial(Depth, depth))
        result = sweep.run(store=tmp_path / "s.sqlite")
        assert result.runs["key"].n_unique() == 1, "within a start points of the same content share a run"
        return result.progress.computed, result.runs["digest"][0]  # type: ignore[union-attr]

    (first, shallow), (second, deep) = computed(0), computed(1)
    assert (first, second) == (1, 1)
    assert shallow != deep


def test_outcomes_are_those_of_version_build_and_warm_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(**changes: Any) -> int:
        result = lab(axes=[], **changes).run(store=tmp_path / "s.sqlite")
        assert result.failed.is_empty()
        return result.progress.computed  # type: ignore[union-attr]

    assert [computed(), computed()] == [1, 0]
    monkeypatch.setattr("transorbit.sweep.work.build", lambda: "another")
    assert [computed(), computed()] == [1, 0]
    monkeypatch.setattr("transorbit._core.version", lambda: "99.0")
    assert [computed(), computed()] == [1, 0]
    series = {"duration": "1 s", "record.series": True}
    assert [computed(warm_up=time, set=series) for time in ("200 ms", "400 ms", "auto", "200 ms")] == [1, 1, 1, 0]


def test_an_outcome_that_ended_well_is_never_replaced_by_one_that_failed(tmp_path: Path) -> None:
    task = work.task(lab(axes=[]).scenario(lab(axes=[]).points[0]).to_toml(), seed=1, warm_up=None)
    good, bad = work.compute(task), work.failed(task.key, task.scenario_sha256, 1, "tired")
    store = Store(tmp_path / "s.sqlite")
    try:
        for outcome, kept in ((bad, bad), (good, good), (bad, good)):
            store.put(outcome)
            assert list(store.read([task.key])) == [kept]
            assert store.finished(task.key) == (kept is good)
    finally:
        store.close()


def test_what_failed_and_ended_well_later_is_not_shown_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second start is killed before it writes the tables."""
    folder = tmp_path / "out"
    sweep = lab(axes=[])
    with monkeypatch.context() as broken:
        broken.setattr("transorbit.sweep.work._simulate", lambda *_: 1 / 0)
        sweep.run(store=folder / "store.sqlite").save(folder)
    assert to.SweepResult.load(folder).runs["status"].to_list() == ["failed"]
    sweep.run(store=folder / "store.sqlite")
    again = to.SweepResult.load(folder)
    assert again.runs["status"].to_list() == ["ok"]
    assert len(again.flows) == 1


def test_a_run_that_raises_does_not_cost_those_that_are_finished() -> None:
    """What is no outcome, an error of this program, is raised once what came with it is kept."""
    pool = Threads(jobs=1)
    try:
        pool._done.put(ValueError("a slip"))
        pool._done.put("kept")  # type: ignore[arg-type]
        assert pool.wait() == ["kept"]
        with pytest.raises(ValueError, match="a slip"):
            pool.wait()
    finally:
        pool.close()


def test_an_interrupt_that_comes_with_the_last_outcome_is_not_lost() -> None:
    pool = Threads(jobs=1)

    seen = []

    def last_outcome() -> None:
        with pool.between_outcomes():
            pool._done.put("the last")  # type: ignore[arg-type]
            signal.raise_signal(signal.SIGINT)
            seen.append(pool.wait())

    try:
        with pytest.raises(KeyboardInterrupt):
            last_outcome()
    finally:
        pool.close()
    assert seen == [["the last"]]


def test_outcomes_are_those_of_the_contents_of_files(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"

    def computed(folder: str, rows: str) -> int:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "fades.csv").write_text(rows)
        channel = {"kind": "trace", "file": "fades.csv", "reference_snr": "10 dB"}
        table = {"scenario": lab().base.table or tomllib.loads((SCENARIOS / "lab-fixed.toml").read_text())}
        sweep = to.Sweep.from_dict(
            {**table, "set": {"duration": "1 s", "channel": channel}}, base_dir=tmp_path / folder
        )
        result = sweep.run(store=store)
        assert result.failed.is_empty(), result.failed["error"]
        return result.progress.computed  # type: ignore[union-attr]

    assert computed("a", "0,0\n1,3\n") == 1
    assert computed("a", "0,0\n1,3\n") == 0
    assert computed("b", "0,0\n1,3\n") == 0, "where a file is does not matter"
    assert computed("a", "0,0\n1,9\n") == 1


# What is kept.


def test_members_of_other_code_are_not_mixed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that needs fewer replications, and one that is stopped, show runs of their own only."""
    store = tmp_path / "store.sqlite"
    sweep = lab(replications=4)
    assert set(sweep.run(store=store).runs["build"]) == {work.build()}

    monkeypatch.setattr(work, "build", lambda: "another")

    def stop(progress: to.sweep.run.Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as held:
        held.setattr(work, "_simulate", ending_before(3))
        with pytest.raises(to.SweepInterrupted) as stopped:
            sweep.run(store=store, jobs=1, progress=stop)
    assert set(stopped.value.result.runs["build"]) == {"another"}
    assert len(stopped.value.result.runs) == 3
    kept = Store(store)
    assert len(kept.members(sweeps.identity(sweep))) == 3
    kept.close()

    whole = sweep.run(store=store)
    assert len(whole.runs) == 8
    assert set(whole.runs["build"]) == {"another"}
    (kept := Store(store)).join(sweeps.identity(sweep), [(0, 9, whole.runs["key"][0])])
    kept.close()
    assert len(sweep.run(store=store).runs) == 8
    kept = Store(store)
    assert len(kept.members(sweeps.identity(sweep))) == 8, "a replication that is no longer asked for has gone"
    kept.close()


@pytest.mark.parametrize("once", [True, False])
def test_a_start_that_is_stopped_between_outcomes_keeps_all_that_came(
    monkeypatch: pytest.MonkeyPatch, once: bool
) -> None:
    """Three outcomes come at once, and whoever is told of the second ends the sweep: there, or whenever it is told."""
    monkeypatch.setattr(Threads, "wait", lambda pool: pool._taken(*(pool._done.get() for _ in range(3))))

    def stop(progress: to.sweep.run.Progress) -> None:
        if progress.done == 2 or (progress.done > 2 and not once):
            raise KeyboardInterrupt

    with pytest.raises(to.SweepInterrupted) as stopped:
        lab(replications=4).run(jobs=1, progress=stop)
    assert len(stopped.value.result.runs) == 3
    assert stopped.value.result.progress.done == 3  # type: ignore[union-attr]


def test_what_came_with_the_error_of_a_sweep_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three outcomes come at once, and the first tells that the sweep asks for a column that no run has."""
    monkeypatch.setattr(Threads, "wait", lambda pool: pool._taken(*(pool._done.get() for _ in range(3))))
    monkeypatch.setattr(work, "_simulate", ending_before(3))
    sweep = lab(replications=4, metrics={"odd": {"sql": "sum(no_such_column)", "unit": ""}})
    done: list[int] = []
    with pytest.raises(to.ScenarioError, match="no_such_column"):
        sweep.run(jobs=1, store=tmp_path / "s.sqlite", progress=lambda at: done.append(at.done))
    assert done == []
    assert len(keys(tmp_path / "s.sqlite")) == 3


def test_a_stopped_start_shows_what_earlier_ones_finished(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    sweep = lab(replications=4)
    before = sweep.run(store=store).runs

    def stop(_: to.sweep.run.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(to.SweepInterrupted) as stopped:
        sweep.run(store=store, progress=stop)
    assert stopped.value.result.runs.equals(before)


def test_ctrl_c_while_members_are_noted_leaves_the_store_usable(tmp_path: Path) -> None:
    def members() -> Iterator[tuple[int, int, str]]:
        yield 0, 0, "a"
        raise KeyboardInterrupt

    store = Store(tmp_path / "store.sqlite")
    with pytest.raises(KeyboardInterrupt):
        store.join("sweep", members())
    store.join("sweep", [(0, 1, "b")])
    assert store.members("sweep") == [(0, 1, "b")]
    store.close()


def test_ctrl_c_during_a_query_is_no_error_of_the_database() -> None:
    # What DuckDB makes of the signal.
    with pytest.raises(KeyboardInterrupt), sql.connection({}):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), sql.connection({}):
        raise RuntimeError("something else")


def test_tables_of_which_one_was_written_are_made_anew(tmp_path: Path) -> None:
    sweep = lab(replications=3)
    result = sweep.run(store=tmp_path / "store.sqlite")
    short = to.SweepResult(sweep, result.runs.head(2), result.flows.head(2))
    short.save(tmp_path)
    old = (tmp_path / "flows/flows.parquet").read_bytes()
    result.save(tmp_path)
    (tmp_path / "flows/flows.parquet").write_bytes(old)
    assert to.SweepResult.load(tmp_path).flows.equals(result.flows)


def test_tables_of_another_sweep_are_not_taken_for_those_of_this_one(tmp_path: Path) -> None:
    lab(replications=2).run().save(tmp_path)
    sweeps.freeze(lab(axes=[TCP], replications=2), tmp_path)
    with pytest.raises(to.ScenarioError, match="has no tables of its sweep"):
        to.SweepResult.load(tmp_path)


def test_a_folder_keeps_its_sweep_if_another_one_is_stopped_at_once(
    here: Path, command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "small.toml").write_text(SWEEP.replace("15", "3"))
    short = ("sweep", "small.toml", "--set", "duration=1 s", "--out", "out")
    assert command(*short).code == 0
    files = ("sweep.toml", "runs/runs.parquet", "flows/flows.parquet")
    before = [(here / "out" / file).read_bytes() for file in files]

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Threads, "wait", stop)
        stopped = command(*short, "--seed", "9")
    assert stopped.code == 130
    assert "no run was finished: out keeps the sweep that it had" in stopped.err
    assert "Tables:" not in stopped.out
    assert [(here / "out" / file).read_bytes() for file in files] == before
    assert command(*short, "--resume", "--json").code == 0


def test_an_axis_finds_the_value_that_is_meant() -> None:
    (rates,) = lab().axes
    for wanted in (5, 5.0, "5", "5.0", "5 Mbit/s", "5Mbit/s", " 5  Mbit/s "):
        assert rates.find(wanted) == 5.0, wanted
    (acks,) = lab(axes=[{"name": "ack", "key": "flows.0.transport.delayed_ack", "values": [True, False]}]).axes
    assert acks.find("yes") is acks.find("true") is acks.find(True) is True
    for wanted in (True, "6", "5 dB", None):
        with pytest.raises(to.ScenarioError, match=r"it has 5 Mbit/s, 20 Mbit/s"):
            rates.find(wanted)


def test_a_finished_run_is_never_computed_again(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    first = lab(replications=2).run(store=store)
    more = lab(replications=3, axes=[{**RATES, "values": ["5 Mbit/s", "9 Mbit/s", "20 Mbit/s"]}], title="other").run(
        store=store
    )
    assert (more.progress.computed, more.progress.reused) == (5, 4)  # type: ignore[union-attr]
    shared = more.runs.join(first.runs, on="key", suffix="_first")
    assert shared["created"].to_list() == shared["created_first"].to_list()
    assert len(shared) == 4


def test_a_folder_opens_in_other_tools(tmp_path: Path) -> None:
    result = lab(replications=2, axes=[RATES, TCP]).run()
    folder = result.save(tmp_path / "out")
    again = to.SweepResult.load(folder)
    assert again.runs.equals(result.runs)
    assert again.flows.equals(result.flows)
    assert (again.axes, again.metrics, again.title) == (result.axes, result.metrics, result.title)

    with duckdb.connect() as db:
        means = "SELECT rate, avg(goodput_mbps), avg(rtt_ms) FROM read_parquet(?) GROUP BY rate ORDER BY rate"
        rows = db.execute(means, [f"{folder}/runs/*.parquet"]).fetchall()
    expected = (
        pl.read_parquet(folder / "runs").group_by("rate").agg(pl.col("goodput_mbps", "rtt_ms").mean()).sort("rate")
    )
    assert [pytest.approx(row) for row in rows] == expected.rows()
    assert len(rows) == 2
    assert None not in {dtype for dtype in again.runs.dtypes if dtype == pl.Null}

    same = result.save(tmp_path / "same")
    for name in ("runs/runs.parquet", "flows/flows.parquet"):
        assert (same / name).read_bytes() == (folder / name).read_bytes()


def test_other_work_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    result = lab(axes=[]).run()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years")
    with pytest.raises(FileExistsError, match="not a sweep folder"):
        result.save(tmp_path / "mine")
    folder = result.save(tmp_path / "out")
    (folder / "notes.txt").write_text("mine")
    result.save(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    with pytest.raises(to.ScenarioError, match="is not the folder of a sweep"):
        to.SweepResult.load(tmp_path / "mine")
    (tmp_path / "bad.sqlite").write_text("no database" * 100)
    with pytest.raises(to.ScenarioError, match="cannot be used as a store"):
        lab().run(store=tmp_path / "bad.sqlite")


def test_a_sweep_that_somebody_wrote_is_not_replaced(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "mine").mkdir()
    (here / "mine/sweep.toml").write_text(SWEEP.replace("scenarios/leo-tcp.toml", "scenario.toml"))
    scenario = (SCENARIOS / "leo-tcp.toml").read_text()
    (here / "mine/scenario.toml").write_text("# by hand\n" + scenario)
    before = {file.name: file.read_bytes() for file in (here / "mine").iterdir()}
    with pytest.raises(FileExistsError, match=r"mine/sweep\.toml: was not written by `transorbit sweep`"):
        lab(axes=[]).run().save(here / "mine")
    (here / "small.toml").write_text(SWEEP)
    for file in ("small.toml", "mine/sweep.toml"):
        done = command("sweep", file, "--out", "mine")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("transorbit: mine/sweep.toml: was not written by")
    assert {file.name: file.read_bytes() for file in (here / "mine").iterdir()} == before

    folder = lab(axes=[]).run().save(here / "ours")
    assert (folder / "sweep.toml").read_text().startswith("# Frozen by transorbit sweep")
    text = (folder / "sweep.toml").read_bytes()
    done = command("sweep", "ours/sweep.toml", "--out", "ours", "--seed", "3", "--outside")
    assert (done.code, done.err) == (
        2, "transorbit: --out: ours holds sweep.toml itself, which a sweep must not replace\n",
    )  # fmt: skip
    assert (folder / "sweep.toml").read_bytes() == text


def test_a_sweep_of_an_inline_scenario_is_found_again(tmp_path: Path) -> None:
    """TOML puts tables after values: the scenario comes back in another order."""
    base = tomllib.loads((SCENARIOS / "lab-fixed.toml").read_text())
    tables = {key: value for key, value in base.items() if isinstance(value, dict | list)}
    sweep = to.Sweep.from_dict({"scenario": {**tables, **base, "duration": "1 s"}, "axes": [RATES]})
    result = sweep.run(store=tmp_path / "out/store.sqlite")
    result.save(tmp_path / "out")
    assert to.SweepResult.load(tmp_path / "out").runs.equals(result.runs)
    (tmp_path / "out/runs/runs.parquet").unlink()
    assert to.SweepResult.load(tmp_path / "out").runs["key"].to_list() == result.runs["key"].to_list()


def test_damaged_tables_are_made_anew(tmp_path: Path) -> None:
    result = lab().run(store=tmp_path / "out/store.sqlite")
    folder = result.save(tmp_path / "out")
    for name in ("runs/runs.parquet", "flows/flows.parquet"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        assert to.SweepResult.load(folder).runs.equals(result.runs)
        (folder / name).write_bytes(whole)
    (folder / "runs/runs.parquet").write_bytes(b"PAR1")
    (folder / "store.sqlite").unlink()
    with pytest.raises(to.ScenarioError, match=r"has no tables of its sweep that can be read, and no store$"):
        to.SweepResult.load(folder)


@pytest.mark.parametrize("sqlite_reads", [True, False])
def test_a_folder_that_may_not_be_written_is_read(
    sqlite_reads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = lab().run(store=tmp_path / "out/store.sqlite")
    folder = result.save(tmp_path / "out")
    opened: list[str] = []
    connect = sqlite3.connect

    def spy(name: Any, **options: Any) -> sqlite3.Connection:
        opened.append(str(name))
        if not sqlite_reads:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(name, **options)

    # Root may write everywhere, whatever the folder says.
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr("sqlite3.connect", spy)
    before = (folder / "store.sqlite").read_bytes()
    assert to.SweepResult.load(folder).runs.equals(result.runs)
    assert len(opened) == 1
    assert opened[0].endswith("?mode=ro")
    assert (folder / "store.sqlite").read_bytes() == before
    (folder / "runs/runs.parquet").unlink()
    if sqlite_reads:
        assert to.SweepResult.load(folder).runs.equals(result.runs)
    else:
        with pytest.raises(to.ScenarioError, match=r"store\.sqlite: cannot be read without the right to write there"):
            to.SweepResult.load(folder)


def test_a_store_that_another_process_holds_is_told_in_a_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    other = sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None)
    try:
        store._db.execute("PRAGMA busy_timeout = 10")
        other.execute("BEGIN IMMEDIATE")
        told = r"s\.sqlite: database is locked, by another process; what was kept"
        with pytest.raises(to.ScenarioError, match=told):
            store.put(work.failed("key", "sha", 1, "tired"))
        with pytest.raises(to.ScenarioError, match=told):
            store.join("sweep", [(0, 0, "key")])
        other.execute("ROLLBACK")
        store.join("sweep", [(0, 0, "key")])
        assert store.members("sweep") == [(0, 0, "key")]
    finally:
        other.close()
        store.close()
