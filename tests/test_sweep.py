"""Sweeps: what a file says, what is run, what is kept, and what happens when something goes wrong."""

from __future__ import annotations

import functools
import itertools
import json
import signal
import sqlite3
import subprocess
import time
import tomllib
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import transorbit as to
from conftest import PROGRAM, ROOT, Outcome
from transorbit import _numbers
from transorbit.statistics import mean_interval
from transorbit.sweep import code, metrics, sql, steady, work
from transorbit.sweep import result as sweeps
from transorbit.sweep.axes import FLOW_COLUMNS, RUN_COLUMNS
from transorbit.sweep.local import Threads
from transorbit.sweep.queue import compute
from transorbit.sweep.run import Runs
from transorbit.sweep.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

SCENARIOS = ROOT / "scenarios"
# What tells runs of the same content apart.
ORIGIN = ["created", "wall_s", "host"]

RATES = {"name": "rate", "key": "last_hop.rate", "values": ["5 Mbit/s", "20 Mbit/s"]}
TCP = {"name": "tcp", "key": "flows.0.transport.congestion", "values": ["newreno", "cubic"]}


def lab(**changes: Any) -> to.Sweep:
    """A second of a fixed path, so that a run takes milliseconds."""
    table = {"scenario": "lab-fixed.toml", "set": {"duration": "1 s"}, "axes": [RATES], **changes}
    return to.Sweep.from_dict(table, base_dir=SCENARIOS)


def refusal(**changes: Any) -> str:
    with pytest.raises(to.ScenarioError) as error:
        lab(**changes).check()
    return str(error.value)


def axis(**changes: Any) -> str:
    return refusal(axes=[{**RATES, **changes}])


# What a file says.


def test_the_grid_is_in_the_order_of_the_file_the_last_axis_fastest() -> None:
    sweep = lab(axes=[RATES, TCP])
    assert [point.values for point in sweep.points] == [
        {"rate": rate, "tcp": tcp} for rate in (5.0, 20.0) for tcp in ("newreno", "cubic")
    ]
    assert [point.index for point in sweep.points] == [0, 1, 2, 3]
    assert sweep.points[1].changes == {"last_hop.rate": "5 Mbit/s", "flows.0.transport.congestion": "cubic"}


def test_a_column_holds_numbers_where_all_values_have_one_unit() -> None:
    def column(*values: Any) -> tuple[tuple[Any, ...], str | None]:
        own = lab(axes=[{"name": "x", "key": "last_hop.rate", "values": list(values)}]).axes[0]
        return own.values, own.unit

    assert column("5 Mbit/s", "2.5e1 Mbit/s") == ((5.0, 25.0), "Mbit/s")
    assert column("-3dB", "+.5 dB") == ((-3.0, 0.5), "dB")
    assert column("500 kbit/s", "1 Mbit/s") == (("500 kbit/s", "1 Mbit/s"), None)
    assert column("cubic", "crdsa-3") == (("cubic", "crdsa-3"), None)
    assert column(1, 10) == ((1, 10), None)
    assert [type(value) for value in column(1, 2.5)[0]] == [float, float]
    assert column(True, False) == ((True, False), None)
    assert column({"kind": "pf"}, {"kind": "drr", "x": 1})[0] == ("pf", '{"kind": "drr", "x": 1}')


def test_ranges_are_exact() -> None:
    def values(**table: Any) -> list[Any]:
        sweep = lab(axes=[{"name": "x", "key": "last_hop.rate", "range": table}])
        return [point.changes["last_hop.rate"] for point in sweep.points]

    assert values(**{"from": "7 dB", "to": "8 dB", "step": "0.1 dB"}) == [
        "7 dB", "7.1 dB", "7.2 dB", "7.3 dB", "7.4 dB", "7.5 dB", "7.6 dB", "7.7 dB", "7.8 dB", "7.9 dB", "8 dB",
    ]  # fmt: skip
    assert values(**{"from": 3, "to": 1, "step": -1}) == [3, 2, 1]
    assert values(**{"from": 0, "to": 10, "step": 4}) == [0, 4, 8]
    assert values(**{"from": 0, "to": 1.0, "count": 3}) == [0.0, 0.5, 1.0]
    assert values(**{"from": "1 ms", "to": "1000 ms", "count": 4, "spacing": "log"}) == [
        "1 ms", "10 ms", "100 ms", "1000 ms",
    ]  # fmt: skip
    assert values(**{"from": 1, "to": 100, "count": 5, "spacing": "log"}) == [1, 3, 10, 32, 100]
    assert values(**{"from": 1, "to": 4, "count": 10, "spacing": "log"}) == [1, 2, 3, 4]


def test_zipped_axes_advance_together() -> None:
    zipped = {
        "users": {"key": "flows.0.count", "values": [1, 2]},
        "rate": {"key": "last_hop.rate", "values": ["1 Mbit/s", "2 Mbit/s"]},
    }
    sweep = lab(axes=[{"zip": zipped}, TCP])
    assert [own.name for own in sweep.axes] == ["users", "rate", "tcp"]
    assert [tuple(point.values.values()) for point in sweep.points] == [
        (1, 1.0, "newreno"), (1, 1.0, "cubic"), (2, 2.0, "newreno"), (2, 2.0, "cubic"),
    ]  # fmt: skip


def test_set_takes_dotted_keys_with_and_without_quotes() -> None:
    text = """
        scenario = "leo-tcp.toml"
        [set]
        duration = "2 s"
        channel.reference_snr = "7 dB"
        last_hop.scheduler = { kind = "pf" }
        "last_hop.reordering" = { enabled = false }
    """
    sweep = to.Sweep.from_toml(text, base_dir=SCENARIOS)
    ready = tomllib.loads(sweep.scenario(sweep.points[0]).to_toml())
    assert (ready["channel"]["kind"], ready["channel"]["reference_snr"]) == ("lms", "7 dB")
    assert ready["last_hop"]["scheduler"]["kind"] == "pf"
    assert ready["last_hop"]["reordering"]["enabled"] is False
    assert (ready["record"]["series"], ready["record"]["packets"]) == (False, "none")


@pytest.mark.parametrize(
    ("told", "table"),
    [
        ("axis: is an unknown key; did you mean axes?", {"axis": []}),
        ("scenario: ", {"scenario": "nowhere.toml"}),
        ("scenario: is missing", {"scenario": None}),
        ("seed: -1 must be a whole number from 0 to 1000000000", {"seed": -1}),
        ("replications: 1001 must be", {"replications": 1001}),
        ("set: last_hop.rate is what the axis rate varies", {"set": {"last_hop.rate": "1 Mbit/s"}}),
        ("set: seed is the sweep's own key", {"set": {"seed": 3}}),
        ("axes.1: changes last_hop.rate, which the axis rate", {"axes": [RATES, {**RATES, "name": "b"}]}),
        ('axes.1: "RATE" is already an axis', {"axes": [RATES, {**TCP, "name": "RATE"}]}),
        ('axes.0: "digest" is already a column of the runs', {"axes": [{**RATES, "name": "digest"}]}),
        ('axes.0: "congestion" is already a column of the flows', {"axes": [{**TCP, "name": "congestion"}]}),
        ('axes.0: "steady_x" is already', {"axes": [{**TCP, "name": "steady_x"}]}),
        ("axes.0: '_run' is no name of a column", {"axes": [{**RATES, "name": "_run"}]}),
        ("metrics._value: '_value' is no name of a column", {"metrics": {"_value": "1"}}),
        ('axes.0: "Runs" is already a key of the means', {"axes": [{**RATES, "name": "Runs"}]}),
        ('axes.0: "failed" is already a key of the means', {"axes": [{**RATES, "name": "failed"}]}),
        ('axes.0: "metrics" is already a key of the means', {"axes": [{**RATES, "name": "metrics"}]}),
        ("axes.0: 'a b' is no name of a column", {"axes": [{**RATES, "name": "a b"}]}),
        ("axes.0.name: is missing", {"axes": [{"cases": {"a": {}}}]}),
        ("axes.0: needs one of values, range and cases", {"axes": [{"name": "a", "key": "seed"}]}),
        ("axes.0.zip: b has 1 values and a has 2", {"axes": [{"zip": {
            "a": {"key": "last_hop.rate", "values": [1, 2]}, "b": {"key": "flows.0.count", "values": [1]}}}]}),
        ("metrics.seed: \"seed\" is already", {"metrics": {"seed": "1"}}),
        ('metrics.rate: "rate" is already an axis', {"metrics": {"rate": "1"}}),
        ("metrics.a.unit: must be a text", {"metrics": {"a": {"sql": "1", "unit": 3}}}),
        ("metrics.a: syntax error", {"metrics": {"a": "sum(goodput_bps"}}),
        ("metrics.a: ", {"metrics": {"a": "1); SELECT (2"}}),
        ("precision.metric: 'x' is no metric of the sweep", {"precision": {"metric": "x", "half_width": "2 %"}}),
        ("precision: '2 dB' must be a share", {"precision": "2 dB"}),
        ("replications: 1 must be at least 2", {"precision": "2 %", "replications": 1}),
        ("warm_up: '20 dB' must be a time", {"warm_up": "20 dB"}),
        ("only.rate: '7 Mbit/s' is no value of the axis (it has 5 Mbit/s, 20", {"only": {"rate": ["7 Mbit/s"]}}),
        ("only.rat: is an unknown key; did you mean rate?", {"only": {"rat": [5]}}),
        ("last_hop.schedulr: is an unknown key", {"axes": [{**RATES, "key": "last_hop.schedulr"}]}),
        ('last_hop.rate: "5 dB" is not', {"axes": [{**RATES, "values": ["5 dB", "6 dB"]}]}),
        ("flows.3.count: `flows` has entries 0 to 0", {"axes": [{**RATES, "key": "flows.3.count"}]}),
        ("duration: ", {"set": {"duration": "3 dB"}}),
        ("axes: policy = b: last_hop.schedlr: is an unknown key",
         {"axes": [{"name": "policy", "cases": {"a": {}, "b": {"last_hop.schedlr": "pf"}}}]}),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_one_line_before_anything_runs(told: str, table: dict[str, Any]) -> None:
    message = refusal(**table)
    assert message.startswith(told), message
    assert "\n" not in message


def test_a_mistake_in_a_range_is_told() -> None:
    def ranged(**table: Any) -> str:
        return refusal(axes=[{"name": "x", "key": "last_hop.rate", "range": table}])

    ends = {"from": "1 Mbit/s", "to": "2 Mbit/s"}
    assert "must have the same unit" in ranged(**ends, step="1 kbit/s")
    assert "must have the same unit" in ranged(**(ends | {"to": 3}), step="1 Mbit/s")
    assert "does not lead from 1 to 2" in ranged(**ends, step="-1 Mbit/s")
    assert "does not lead from 1 to 2" in ranged(**ends, step="0 Mbit/s")
    assert "needs one of step and count" in ranged(**ends)
    assert "axes.0.range.to: is missing" in ranged(**{"from": 1}, count=3)
    assert "more than zero" in ranged(**{"from": 0, "to": 1}, count=3, spacing="log")
    assert "did you mean count?" in ranged(**ends, cont=3)
    assert "axes.0.values: must be a list" in axis(values=[])
    assert "'5 Mbit/s' is there twice" in axis(values=["a", "5 Mbit/s", "5 Mbit/s"])


def test_a_frozen_sweep_runs_the_same() -> None:
    sweep = lab(
        axes=[RATES, {"name": "policy", "cases": {"a \"b\"": {}, "c": {"last_hop.scheduler": {"kind": "pf"}}}}],
        precision={"metric": "goodput_mbps", "half_width": "7 %", "most": 9},
        warm_up="100 ms",
        replications=3,
        only={"rate": ["5 Mbit/s"]},
    )  # fmt: skip
    again = to.Sweep.from_toml(sweep.to_toml())
    assert again.to_toml() == sweep.to_toml()
    assert (again.points, again.metrics, again.precision) == (sweep.points, sweep.metrics, sweep.precision)
    assert (again.warm_up, again.replications) == (0.1, 3)


def test_precision_keeps_two_replications_also_in_less_of_a_sweep() -> None:
    sweep = lab(precision="2 %", replications=4)
    with pytest.raises(to.ScenarioError, match=r"^replications: 1 must be at least 2, for the interval"):
        sweep.replace(replications=1)
    with pytest.raises(to.ScenarioError, match=r"^most: 1 must be a whole number from 2 "):
        sweep.replace(most=1)
    assert sweep.replace(replications=2, most=3).replications == 2


# What is run.


def test_replications_of_every_point_have_the_same_seeds_and_are_those_of_plain_runs() -> None:
    result = lab(seed=7, replications=3, axes=[RATES, TCP]).run()
    assert result.runs.group_by("point").agg("seed")["seed"].to_list() == [[7000, 7001, 7002]] * 4
    assert result.runs.select("point", "replication").rows() == [(p, r) for p in range(4) for r in range(3)]

    base = to.Scenario.load(SCENARIOS / "lab-fixed.toml").replace({"duration": "1 s"})
    for row in result.runs.iter_rows(named=True):
        changes = {"last_hop.rate": f"{row['rate']:g} Mbit/s", "flows.0.transport.congestion": row["tcp"]}
        plain = base.replace(changes).run(seed=row["seed"])
        assert row["digest"] == plain.summary["digest"]
        assert row["goodput_mbps"] == pytest.approx(plain.goodput_bps / 1e6)
        assert row["last_hop.harq.failed"] == plain.summary["last_hop"]["harq"]["failed"]
        assert row["last_hop.harq.decoded_after"] == plain.summary["last_hop"]["harq"]["decoded_after"]
        flow = result.flows.filter(pl.col("key") == row["key"]).row(0, named=True)
        assert {name: flow[name] for name in ("sent_packets", "rtt_mean_s", "congestion")} == {
            name: plain.summary["flows"][0][name] for name in ("sent_packets", "rtt_mean_s", "congestion")
        }


def test_tables_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    sweep = lab(replications=4, axes=[RATES, TCP])
    one, many = sweep.run(jobs=1), sweep.run(jobs=5, store=tmp_path / "s.sqlite")
    assert one.runs.drop(ORIGIN).equals(many.runs.drop(ORIGIN))
    assert one.flows.equals(many.flows)


class _OneAfterTheOther:
    """A pool of two threads, whose runs end in the order in which they began."""

    stalled = False

    def __init__(self) -> None:
        self.begun: list[work.Task] = []
        self.idle = 0
        self._open: list[work.Task] = []

    @property
    def room(self) -> int:
        return 2 - len(self._open)

    def submit(self, task: work.Task) -> None:
        self.begun.append(task)
        self._open.append(task)

    def wait(self) -> list[work.Outcome]:
        self.idle += self.room
        return [work.compute(self._open.pop(0))]

    def finished(self) -> list[work.Outcome]:
        return []

    def between_outcomes(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        self._open.clear()


def test_no_thread_waits_for_the_last_run_of_a_sweep_while_the_next_has_runs() -> None:
    sweeps = [
        lab(seed=1),
        lab(seed=2, axes=[RATES, TCP]),
        lab(seed=1, axes=[RATES, TCP]),
        lab(metrics={"m": "nothing"}),
    ]
    store, pool = Store(None), _OneAfterTheOther()
    all_runs = [Runs(sweep, store) for sweep in sweeps]
    ended: list[tuple[int, str]] = []
    compute(all_runs, pool, ended=lambda one, error: ended.append((all_runs.index(one), str(error or ""))))

    assert pool.idle == 1, "only while the very last run is computed"
    assert len({task.key for task in pool.begun}) == len(pool.begun), "a run that two sweeps have is computed once"
    assert [error.partition(":")[0] for _, error in sorted(ended)] == ["", "", "", "metrics.m"]
    for sweep, runs in zip(sweeps[:3], all_runs[:3], strict=True):
        together = to.SweepResult.gather(sweep, store, runs.members)
        assert together.runs.drop(ORIGIN).equals(sweep.run().runs.drop(ORIGIN))
    store.close()


def test_columns_that_no_axis_may_be_called_are_those_of_the_tables() -> None:
    result = lab(axes=[], metrics={"one": "1"}).run()
    assert {name for name in result.runs.columns if "." not in name} - {"one"} == RUN_COLUMNS
    quic = {
        "migrations", "ended_connections", "end_cause", "ended_after_s", "reopened_connections", "resumption_s",
    }  # fmt: skip
    flows = set(result.flows.columns) | {"id"}
    assert (flows | quic, flows & quic) == (FLOW_COLUMNS | {"key", "point", "replication", "seed"}, set())


def test_a_sweep_without_axes_is_one_point() -> None:
    result = lab(axes=[], replications=2).run()
    assert (len(result.sweep.points), len(result.runs), len(result.flows)) == (1, 2, 2)


def test_points_of_the_same_content_share_a_run() -> None:
    result = lab(axes=[{"name": "policy", "cases": {"a": {}, "b": {}}}]).run()
    assert result.runs["key"].n_unique() == 1
    assert result.progress
    assert (result.progress.computed, result.progress.reused, len(result.flows)) == (1, 1, 2)


def test_metrics_read_flows_and_run() -> None:
    result = lab(
        set={"duration": "1 s", "flows.0.count": 3},
        metrics={
            "bytes": "sum(delivered_bytes)",
            "most": {"sql": "max(goodput_bps) / 1e6", "label": "Best", "unit": "Mbit/s"},
            "failed": '"last_hop.harq.failed"',
            "share": 'sum(delivered_bytes) / simulated_s * "users.count" -- of all',
            "late": "avg(mos)",
            "rate_again": "rate",
            "who": "first(congestion)",
            "flows": "count(*)",
        },
    ).run()
    row = result.runs.row(1, named=True)
    own = result.flows.filter(pl.col("point") == 1)
    assert row["bytes"] == own["delivered_bytes"].sum()
    assert row["most"] == own["goodput_bps"].max() / 1e6  # type: ignore[operator]
    assert row["share"] == 3 * own["delivered_bytes"].sum()
    assert (row["failed"], row["late"], row["rate_again"], row["who"], row["flows"]) == (0, None, 20.0, "cubic", 3)
    assert result.metrics["most"].title == "Best (Mbit/s)"
    assert result.query("SELECT count(*) AS n FROM runs JOIN flows USING (key)")["n"].to_list() == [6]
    with pytest.raises(to.ScenarioError, match=r"^query: "):
        result.query("SELECT nothing FROM runs")


def test_a_metric_that_cannot_be_computed_is_named_after_the_first_run_which_is_kept(tmp_path: Path) -> None:
    sweep = lab(metrics={"good": "1", "bad": "sum(goodput)"}, replications=10)
    done: list[int] = []
    with pytest.raises(to.ScenarioError, match=r'^metrics\.bad: no column "goodput"; did you mean goodput_bps'):
        sweep.run(jobs=1, store=tmp_path / "s.sqlite", progress=lambda at: done.append(at.done))
    assert done == []
    with pytest.raises(to.ScenarioError, match=r"^metrics\.bad: no column"):
        sweep.run(jobs=1, store=tmp_path / "s.sqlite", progress=lambda at: done.append(at.done))
    assert done == [], "the run that is there tells it as well"
    assert len(keys(tmp_path / "s.sqlite")) == 1


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("goodput_bps", "goodput_bps: give an aggregate over the flows, as in avg(goodput_bps)"),
        ('"congestion"', "congestion: give an aggregate over the flows, as in first(congestion)"),
        ('avg("goodput")', 'no column "goodput"; did you mean goodput_bps?'),
        ('"users.jan"', 'no column "users.jan"; did you mean "users.jain" or '),
        ("users.jain", 'a column with a dot in its name is written in quotation marks, as in "users.jain"'),
        ("qq.zz", 'no column "qq.zz"; one that only some runs have is written in quotation marks'),
        ("averag(goodput_bps)", "Scalar Function with name averag does not exist!"),
    ],
)
def test_a_metric_that_names_nothing_is_told_in_the_words_of_the_tables(sql: str, told: str) -> None:
    with pytest.raises(to.ScenarioError) as error:
        lab(metrics={"g": sql}).run()
    assert str(error.value).startswith(f"metrics.g: {told}")


def test_less_of_a_sweep() -> None:
    sweep = lab(axes=[RATES, TCP], replications=4)
    less = sweep.replace(only={"rate": ["5 Mbit/s"], "tcp": ["cubic"]}, replications=2, seed=3, set={"duration": "2 s"})
    assert [point.values for point in less.points] == [{"rate": 5.0, "tcp": "cubic"}]
    result = less.run()
    assert result.runs["seed"].to_list() == [3000, 3001]
    assert result.runs["simulated_s"].to_list() == [2.0, 2.0]
    assert sweep.replace(only={"rate": [20]}).axes[0].values == (20.0,)
    assert len(sweep.points) == 4


def test_precision_asks_for_more_replications_until_the_interval_is_narrow() -> None:
    noisy = {"scenario": "leo-tcp.toml", "set": {"duration": "3 s"}, "replications": 3}
    axes = [{"name": "snr", "key": "channel.reference_snr", "values": ["7 dB", "20 dB"]}]
    rule = {"metric": "goodput_mbps", "half_width": 0.25, "most": 24}
    sweep = to.Sweep.from_dict({**noisy, "axes": axes, "precision": rule}, base_dir=SCENARIOS)
    result = sweep.run(jobs=2)
    for (_,), own in result.runs.group_by("point", maintain_order=True):
        values = own["goodput_mbps"].to_list()
        assert own["replication"].to_list() == list(range(len(values)))
        enough = mean_interval(values).half_width <= 0.25
        assert enough or len(values) == 24
        assert len(values) == 3 or mean_interval(values[:3]).half_width > 0.25
    assert result.runs.group_by("point").len()["len"].max() > 3  # type: ignore[operator]
    assert result.runs.drop(ORIGIN).equals(sweep.run(jobs=1).runs.drop(ORIGIN))

    exact = lab(precision="2 %").run()
    assert len(exact.runs) == 10, "a path without chance needs no more than the five to begin with"


def test_relative_precision_with_noise_stops_when_it_is_reached() -> None:
    table = {"scenario": "leo-tcp.toml", "set": {"duration": "3 s"}, "replications": 2}
    rule = {"metric": "goodput_mbps", "half_width": "15 %", "most": 200}
    sweep = to.Sweep.from_dict({**table, "precision": rule}, base_dir=SCENARIOS)
    values = sweep.run().runs["goodput_mbps"].to_list()
    interval = mean_interval(values)
    assert 2 < len(values) < 200
    assert interval.half_width <= 0.15 * interval.mean
    first = mean_interval(values[:2])
    assert first.half_width > 0.15 * first.mean


def test_one_value_is_no_interval_and_reaches_no_precision() -> None:
    """A metric that only the fourth seed and those from the sixth on have."""
    rule = {"metric": "m", "half_width": 1000, "most": 9}
    few = "CASE WHEN seed = 1003 OR seed > 1004 THEN 1.0 END"
    result = lab(axes=[], metrics={"m": few}, precision=rule, replications=4).run()
    assert len(result.runs) == 8, "four seeds give one value: twice as many are looked at"
    assert len(lab(axes=[], metrics={"m": "NULL"}, precision=rule, replications=4).run().runs) == 9


def test_a_value_that_is_no_number_leaves_the_mean_unknown() -> None:
    rule = {"metric": "m", "half_width": "2 %", "most": 9}
    broken = {"m": "CASE WHEN seed = 1001 THEN 'nan'::DOUBLE ELSE 2 END", "missing": "nullif(seed, 1001)"}
    result = lab(axes=[], metrics=broken, precision=rule, replications=3).run()
    assert len(result.runs) == 3, "more replications would not help"
    (row,) = result.means()
    assert row["metrics"]["m"] == {"mean": None, "low": None, "high": None, "count": 3}
    assert (row["metrics"]["missing"]["mean"], row["metrics"]["missing"]["count"]) == (1001.0, 2)


def test_precision_of_a_text_is_refused() -> None:
    with pytest.raises(to.ScenarioError, match=r"^precision\.metric: m is a text, of which there is no mean$"):
        lab(metrics={"m": "first(congestion)"}, precision="2 %").run()


def test_metrics_of_columns_that_only_some_points_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while only the points without them are there."""
    cases = {"name": "load", "cases": {"bulk": {}, "web": {"flows.0.traffic": {"kind": "web"}}}}
    web = {"requests": 'sum("web.requests")', "said": "CASE WHEN 'no \"web.x\"' = '' THEN 1 END"}
    rule = {"metric": "requests", "half_width": 1000, "most": 3}
    sweep = lab(axes=[cases], metrics=web, precision=rule, replications=2)
    begun = itertools.count(1)

    def two(task: work.Task, stop: Callable[[], bool], plans: Any, compute: Any = work.compute) -> work.Outcome:
        """The others are not over when the sweep is stopped."""
        if next(begun) <= 2:
            return compute(task, stop, plans)
        while not stop():
            time.sleep(0.001)
        raise work.StoppedError

    def stop(at: to.sweep.Progress) -> None:
        if at.done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(work, "compute", two)
    with pytest.raises(to.SweepInterrupted) as stopped:
        sweep.run(jobs=1, store=tmp_path / "out/store.sqlite", progress=stop)
    monkeypatch.undo()
    part = stopped.value.result  # type: ignore[attr-defined]
    assert part.runs["requests"].to_list() == [None, None]
    part.save(tmp_path / "out")
    (tmp_path / "out/runs/runs.parquet").unlink()
    assert to.SweepResult.load(tmp_path / "out").runs["requests"].to_list() == [None, None]

    whole = sweep.run(store=tmp_path / "out/store.sqlite")
    assert whole.runs["requests"].to_list()[:3] == [None] * 3
    assert whole.runs["requests"].drop_nulls().min() > 0  # type: ignore[operator]
    with pytest.raises(
        to.ScenarioError, match=r"^metrics\.m: no column \"web\.requsts\"; did you mean \"web\.requests"
    ):
        lab(axes=[cases], metrics={"m": 'sum("web.requsts")'}).run()


def test_a_metric_is_one_value_of_each_run() -> None:
    told = r"^metrics\.m: gives 4 values for 2 runs, must be one of each$"
    with pytest.raises(to.ScenarioError, match=told):
        lab(metrics={"m": "unnest([1, 2])"}).run()
    with pytest.raises(to.ScenarioError, match=r"^metrics\.m: gives 2 values for 2 runs"):
        lab(metrics={"m": "unnest(CASE WHEN rate = 5 THEN [1, 2] ELSE []::INT[] END)"}).run()


def test_averages_after_the_warm_up() -> None:
    result = lab(set={"duration": "3 s", "flows.0.count": 2}, warm_up="1.5 s", axes=[]).run()
    series = to.Scenario.load(SCENARIOS / "lab-fixed.toml").replace({"duration": "3 s", "flows.0.count": 2}).run(
        seed=1000
    ).series  # fmt: skip
    for flow in result.flows.iter_rows(named=True):
        own = series.filter((pl.col("flow") == flow["flow"]) & (pl.col("time_s") > 1.5001))
        assert len(own) == 15
        assert flow["steady_goodput_bps"] == pytest.approx(own["goodput_bps"].mean())
        assert flow["steady_cwnd_packets"] == pytest.approx(own["cwnd_packets"].mean())
        assert flow["steady_from_s"] == pytest.approx(1.5)
    auto = lab(set={"duration": "20 s"}, warm_up="auto", axes=[], metrics={"m": "avg(steady_goodput_bps)"}).run()
    flow = auto.flows.row(0, named=True)
    assert 0 < flow["steady_from_s"] <= 10
    assert flow["steady_goodput_bps"] > flow["goodput_bps"], "slow start is left out"
    assert auto.runs["m"].item() == flow["steady_goodput_bps"]

    assert auto.warnings == []

    none = lab(warm_up="1 s", axes=[]).run()
    assert none.failed["error"].item() == "warm_up: 1.0 s leaves nothing of a run whose series ends at 1 s"


def test_a_run_that_is_as_short_as_its_warm_up_is_warned_of(here: Path, command: Callable[..., Outcome]) -> None:
    """The goodput still grows at the end."""
    sweep = lab(set={"duration": "2 s"}, warm_up="auto", axes=[])
    grows = [float(number) for number in range(21)]
    frame = pl.DataFrame({"flow": [0] * 21, "time_s": [number / 10 for number in range(21)], "goodput_bps": grows})
    assert steady.averages(frame, "auto")[0]["too_short"]
    settled = frame.with_columns(goodput_bps=pl.lit(1.0))
    assert steady.averages(settled, "auto")[0]["too_short"] is False
    assert "too_short" not in steady.averages(frame, 1.0)[0]

    result = sweep.run()
    short = result.flows.with_columns(steady_too_short=pl.lit(True))
    (told,) = to.SweepResult(sweep, result.runs, short).warnings
    assert told.startswith("warm_up: MSER-5 leaves out half the series or more of 1 of 1 flows, the first at the only")

    (here / "short.toml").write_text(lab(set={"duration": "1 s"}, warm_up="auto", axes=[]).to_toml())
    done = command("sweep", "short.toml", "--json", "--outside")
    assert done.code == 0
    assert done.err.startswith("transorbit: warning: warm_up: MSER-5 leaves out half the series")
    assert json.loads(done.out)["warnings"] == [done.err.removeprefix("transorbit: warning: ").rstrip()]


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


def test_a_run_that_fails_on_the_way_is_recorded() -> None:
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
    before = {name: code.fingerprint(own[name]) for name in ("Own", "Inner", "make")}
    assert None not in before.values()
    assert before == {name: code.fingerprint(own[name]) for name in before}, "the same in the next start"
    assert code.fingerprint(own["maker"](3)) is None, "a class that a function makes"
    assert code.fingerprint(functools.partial(own["Own"])) is None
    assert code.fingerprint(lambda: tmp_path) is None, "a closure"
    assert code.fingerprint(Derived) is None, "a file that imports others"

    own["Own"].depth = 9
    after = {name: code.fingerprint(own[name]) for name in before}
    assert all(after[name] not in (None, before[name]) for name in before), "an attribute of the base class counts"
    own["Own"].depth = 2
    own["DEPTH"] = 5
    assert code.fingerprint(own["Inner"]) not in (None, before["Inner"]), "so does a variable of the module"
    own["DEPTH"] = tmp_path
    assert code.fingerprint(own["Own"]) is None, "what is no plain value cannot be read off"
    own["DEPTH"] = 1
    assert code.fingerprint(own["Own"]) == before["Own"]
    (tmp_path / "own.py").write_text(source + "import numpy\n")
    assert code.fingerprint(own["Own"]) is None
    (tmp_path / "own.py").unlink()
    assert code.fingerprint(own["Own"]) is None


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
    seen: list[int] = []

    def stop(progress: to.sweep.run.Progress) -> None:
        seen.append(progress.done)
        if progress.done == 3:
            raise KeyboardInterrupt

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


SWEEP = """
title = "A small one"
scenario = "scenarios/leo-tcp.toml"
replications = 15
set = { duration = "5 s" }
[[axes]]
key = "channel.reference_snr"
name = "snr"
values = ["7 dB", "10 dB"]
[metrics]
goodput_mbps = { sql = "sum(goodput_bps) / 1e6", unit = "Mbit/s" }
"""


def keys(store: Path) -> dict[str, str]:
    """What the store has, and when it was computed."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        found = dict(db.execute("SELECT key, created FROM outcomes WHERE status = 'ok'").fetchall())
    db.close()
    return found


def begin(here: Path, at_least: int, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """A sweep as a process, once it has finished so many runs: long ones, not over before it is stopped."""
    (here / "small.toml").write_text(SWEEP.replace('"5 s"', '"600 s"'))
    process = subprocess.Popen(
        [PROGRAM, "sweep", "small.toml", "--jobs", "2", *options],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    store = here / "results/small/store.sqlite"
    end = time.monotonic() + 60
    while not (store.exists() and (here / "results/small/sweep.toml").exists() and len(_quietly(store)) >= at_least):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    return process


def _quietly(store: Path) -> dict[str, str]:
    try:
        return keys(store)
    except sqlite3.OperationalError:
        return {}


def test_a_sweep_that_is_killed_goes_on_where_it_was(here: Path, program: Callable[..., Outcome]) -> None:
    process = begin(here, at_least=5)
    process.kill()
    process.communicate()
    before = keys(here / "results/small/store.sqlite")
    assert 5 <= len(before) < 30
    partial = to.SweepResult.load(here / "results/small")
    assert set(partial.runs["key"]) <= set(before)
    assert len(before) - 2 <= len(partial.runs)

    done = program("sweep", "small.toml", "--resume", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["runs"], report["reused"], report["computed"]) == (30, len(before), 30 - len(before))
    after = keys(here / "results/small/store.sqlite")
    assert {key: after[key] for key in before} == before
    with sqlite3.connect(here / "results/small/store.sqlite") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()

    whole = to.Sweep.load(here / "small.toml").run()
    resumed = to.SweepResult.load(here / "results/small")
    assert resumed.runs.drop(ORIGIN).equals(whole.runs.drop(ORIGIN))
    assert resumed.flows.equals(whole.flows)
    assert not list((here / "results/small").rglob(".*"))


def test_ctrl_c_keeps_what_is_finished(here: Path) -> None:
    process = begin(here, at_least=3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.startswith("transorbit: stopped after ")
    assert err.endswith(" of 30 runs; the same command goes on from there\n")
    assert "A small one" in out
    runs = pl.read_parquet(here / "results/small/runs/runs.parquet")
    assert set(runs["key"]) == set(keys(here / "results/small/store.sqlite"))
    assert 3 <= len(runs) < 30

    process = begin(here, at_least=len(runs) + 1, options=("--json",))
    process.send_signal(signal.SIGINT)
    report = json.loads(process.communicate(timeout=60)[0])
    assert (process.returncode, report["partial"], report["wanted"]) == (130, True, 30)
    assert len(runs) < report["runs"] < 30


# The command.


def test_the_command_shows_means_and_keeps_tables(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "small.toml").write_text(SWEEP.replace("15", "3"))
    short = ("--set", "duration=1 s")
    done = command("sweep", "small.toml", *short, "--jobs", "2", "--out", "out", "--seed", "4")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "A small one"
    assert lines[1].startswith("2 points, 6 runs: 6 computed in ")
    assert [*lines[3].split(), *lines[4].split()] == ["goodput_mbps", "snr", "(dB)", "runs", "(Mbit/s)"]
    assert "Tables: out/runs and out/flows (Parquet)" in lines

    again = command("sweep", "small.toml", *short, "--out", "out", "--seed", "4", "--json")
    report = json.loads(again.out)
    assert (report["points"], report["runs"], report["computed"], report["reused"], report["failed"]) == (2, 6, 0, 6, 0)
    runs = pl.read_parquet(here / "out/runs/runs.parquet")
    assert runs["seed"].to_list() == [4000, 4001, 4002] * 2
    for row, (_, own) in zip(report["rows"], runs.group_by("point", maintain_order=True), strict=True):
        interval = mean_interval(own["goodput_mbps"], limits=(0, None))
        expected = {"mean": interval.mean, "low": interval.low, "high": interval.high, "count": 3}
        assert row["metrics"]["goodput_mbps"] == pytest.approx(expected)
        assert row["snr"] == own["snr"][0]
    assert command("sweep", "small.toml", *short, "--out", "quiet", "--quiet") == Outcome(0, "", "")


def test_the_command_refuses_in_one_line(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "small.toml").write_text(SWEEP)

    def refused(*arguments: str) -> str:
        done = command("sweep", "small.toml", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert not (here / "results").exists()
        return done.err.removeprefix("transorbit: ").rstrip()

    assert refused("--resume").startswith("--resume: results/small has no sweep to go on with")
    assert refused("--jobs", "0") == "--jobs: 0 must be 1 or more"
    assert refused("--jobs", "2", "--dask", "tcp://127.0.0.1:1") == "--jobs: does not go with --dask"
    assert refused("--dask", "nonsense://x").startswith("--dask: no scheduler answers at nonsense://x")
    assert refused("--set", "x").startswith("--set: 'x': write key=value")
    assert refused("--set", "duration={").startswith("--set: duration: `{` is not a TOML value")
    assert refused("--set", "channel.reference_snr=3 dB") == "set: channel.reference_snr is what the axis snr varies"
    assert refused("--seed", "x").startswith("--seed: 'x' is not a whole number")
    assert refused("--seed", "9999999999").startswith("seed: 9999999999 must be a whole number")
    assert refused("--set", "duraton=3 s").startswith("duraton: is an unknown key")
    (here / "small.toml").write_text("scenario = ")
    assert refused().startswith("small.toml: not TOML")
    (here / "small.toml").unlink()
    assert refused() == "small.toml: No such file or directory"


def test_a_folder_keeps_its_sweep_where_a_metric_cannot_be_computed(
    here: Path, command: Callable[..., Outcome]
) -> None:
    text = SWEEP.replace("15", "1").replace('"5 s"', '"1 s"').partition("[metrics]")[0]
    (here / "small.toml").write_text(text)
    assert command("sweep", "small.toml", "--quiet").code == 0
    files = ["sweep.toml", "scenario.toml", "runs/runs.parquet", "flows/flows.parquet"]
    before = [(here / "results/small" / name).read_bytes() for name in files]
    # The first is told by the first run, the second when no run at all has the column.
    for expression in ("avg(goodput)", 'avg("web.x")'):
        (here / "small.toml").write_text(f"{text}\n[metrics]\ng = '{expression}'\n")
        refused = command("sweep", "small.toml")
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert refused.err.startswith("transorbit: metrics.g: no column ")
        assert [(here / "results/small" / name).read_bytes() for name in files] == before
        assert len(to.SweepResult.load(here / "results/small").runs) == 2


def test_a_scenario_is_no_sweep_and_a_sweep_no_scenario(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "small.toml").write_text(SWEEP)
    told = "transorbit: scenarios/leo-tcp.toml: this is a scenario: transorbit run scenarios/leo-tcp.toml\n"
    assert command("sweep", "scenarios/leo-tcp.toml") == Outcome(2, "", told)
    told = "transorbit: small.toml: this is a sweep: transorbit sweep small.toml\n"
    assert command("run", "small.toml") == Outcome(2, "", told)


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (339.4, 230.0, "339 ± 230"),
        (2.983, 3.0, "3.0 ± 3.0"),
        (9.1234, 0.021, "9.123 ± 0.021"),
        (9.1234567, 0.000012, "9.123457 ± 0.000012"),
        (0.02, 1500.0, "0 ± 1500"),
        (123456.0, 2.6, "123456.0 ± 2.6"),
        (-0.02, 1.5, "0.0 ± 1.5"),
        (7.0, 0.0, "7 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (-2.5e-7, 1e-8, "(-2.50 ± 0.10)e-07"),
        (2.5e12, 1e11, "(2.50 ± 0.10)e+12"),
    ],
)
def test_an_interval_is_rounded_to_the_second_digit_of_its_width(mean: float, half: float, shown: str) -> None:
    assert _numbers.interval(mean, mean - half, mean + half) == shown


def test_an_interval_ends_with_the_scale() -> None:
    found = mean_interval([4.1, 4.4, 4.5, 4.5], limits=(1.0, 4.5))
    assert (found.high, found.low > 1) == (4.5, True)
    assert _numbers.interval(found.mean, found.low, found.high) == "4.38 (4.07 to 4.50)"
    assert metrics.scale_of("avg(mos)") == (1.0, 4.5)
    assert metrics.scale_of("100 * avg(loss_ratio)") == (0.0, 100.0)
    assert metrics.scale_of("sum(goodput_bps) / 1e6") == (0.0, None)
    assert metrics.scale_of("avg(mos) - 1") == (None, None)
    assert metrics.scale_of("sum(mos)") == (0.0, None)
    read = metrics.read({"m": {"sql": "avg(mos) - 1", "limits": [0, 3.5]}}, {})
    assert read["m"].limits == (0.0, 3.5)
    for wrong in ([1], [2, 1], "1 to 5", [True, 2]):
        with pytest.raises(to.ScenarioError, match=r"metrics\.m\.limits: "):
            metrics.read({"m": {"sql": "avg(mos) - 1", "limits": wrong}}, {})


def test_resuming_insists_on_the_same_sweep(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "base.toml").write_text((SCENARIOS / "leo-tcp.toml").read_text())
    text = SWEEP.replace("15", "1").replace('"5 s"', '"1 s"')
    (here / "small.toml").write_text(text.replace("scenarios/leo-tcp.toml", "base.toml"))
    assert command("sweep", "small.toml", "--quiet").code == 0
    before = (here / "results/small/sweep.toml").read_bytes()
    assert command("sweep", "small.toml", "--resume", "--quiet") == Outcome(0, "", "")
    other = command("sweep", "small.toml", "--resume", "--seed", "5", "--set", "duration=2 s")
    told = "transorbit: --resume: results/small has another sweep, which differs in seed, set\n"
    assert other == Outcome(2, "", told)
    with (here / "base.toml").open("a") as file:
        file.write("# A remark\n")
    other = command("sweep", "small.toml", "--resume")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "has another sweep, which differs in the text of its scenario" in other.err
    assert (here / "results/small/sweep.toml").read_bytes() == before
    assert command("sweep", "small.toml", "--quiet").code == 0


def test_failed_runs_are_told_loudly(here: Path, command: Callable[..., Outcome]) -> None:
    text = SWEEP.replace("15", "1").replace('"5 s"', '"1 s"')
    (here / "small.toml").write_text(text.replace('"10 dB"', '"10 parsec"'))
    done = command("sweep", "small.toml")
    assert done.code == 0
    before, after = done.err.splitlines()
    assert before.startswith("transorbit: warning: cannot run snr = 10 parsec: channel.reference_snr: ")
    assert after.startswith("transorbit: 1 of 2 runs failed, the first at snr = 10 parsec: channel.reference_snr: ")
    good, bad = (line.split() for line in done.out.splitlines()[5:7])
    assert (good[:4], bad) == (["7", "dB", "1", good[3]], ["10", "parsec", "0", "-"])
    (here / "small.toml").write_text('warm_up = "2 s"\n' + text)
    done = command("sweep", "small.toml", "--out", "cold")
    assert done.code == 2
    assert done.err.startswith("transorbit: all 2 runs failed, the first at snr = 7 dB: warm_up: ")
    assert (here / "cold/runs/runs.parquet").exists()
