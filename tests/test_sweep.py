"""Sweeps: what a file says, and what is run."""

from __future__ import annotations

import itertools
import json
import signal
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import transorbit as to
from sweeps import ORIGIN, RATES, SCENARIOS, TCP, axis, ending_before, keys, lab, refusal
from transorbit.statistics import mean_interval
from transorbit.sweep import result as sweeps
from transorbit.sweep import steady, work
from transorbit.sweep.axes import FLOW_COLUMNS, RUN_COLUMNS
from transorbit.sweep.local import Threads
from transorbit.sweep.queue import compute
from transorbit.sweep.run import Runs
from transorbit.sweep.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from conftest import Outcome

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
    assert column(np.float64(1), 2.5) == ((1.0, 2.5), None)
    assert [type(value) for value in column(*np.arange(1, 3))[0]] == [int, int]
    assert column({"kind": "pf"}, {"kind": "drr", "x": 1})[0] == ("pf", '{"kind": "drr", "x": 1}')


def test_values_of_an_axis_may_be_a_range_or_an_array() -> None:
    counts = {"name": "users", "key": "flows.0.count"}
    for values in (range(1, 3), (1, 2), np.array([1, 2])):
        sweep = lab(axes=[{**counts, "values": values}], replications=np.int64(2))
        assert (sweep.axes[0].values, sweep.replications) == ((1, 2), 2)
        assert sweep.replace(only={"users": np.array([2])}).axes[0].values == (2,)
        assert to.Sweep.from_toml(sweep.to_toml()).axes == sweep.axes
    steps = {"from": np.float64(1), "to": np.int64(2), "count": np.int64(3)}
    assert lab(axes=[{**counts, "range": steps}]).axes[0].values == (1.0, 1.5, 2.0)


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
    ready = sweep.scenario(sweep.points[0]).to_dict()
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
        ("scenario: Scenario('TCP...a fixed path') was given, the name of a file or a table is expected, as Scenario",
         {"scenario": to.Scenario.load("lab-fixed")}),
        ("scenario: 5 was given, the name of a file or a table", {"scenario": 5}),
        ("seed: -1 was given, a whole number from 0 to 1000000000 is", {"seed": -1}),
        ("replications: 1001 was given, a whole number from 1 to 1000", {"replications": 1001}),
        ("set: last_hop.rate is what the axis rate varies", {"set": {"last_hop.rate": "1 Mbit/s"}}),
        ("set: seed is the sweep's own key", {"set": {"seed": 3}}),
        ("axes.0: seed is the sweep's own key", {"axes": [{"name": "run", "key": "seed", "values": [1, 2]}]}),
        ("axes.1: seed is the sweep's own key", {"axes": [RATES, {"name": "a", "cases": {"b": {"seed": 5}}}]}),
        ("axes.0: seed is the sweep's own key", {"axes": [{"zip": {"run": {"key": "seed", "values": [1, 2]}}}]}),
        ("axes.1: changes last_hop.rate, which the axis rate", {"axes": [RATES, {**RATES, "name": "b"}]}),
        ("axes.1: replaces last_hop as a whole, and with it what the axis rate changed there, last_hop.rate: put this",
         {"axes": [RATES, {"name": "hop", "key": "last_hop", "values": [{}]}]}),
        ("set: flows.0.transport.mss is lost, as the axis tcp replaces flows.0.transport as a whole",
         {"set": {"flows.0.transport.mss": "1 kB"},
          "axes": [{"name": "tcp", "key": "flows.0.transport", "values": ["tcp"]}]}),
        ("axes.1: replaces flows.0.transport as a whole, and with it what the axis mss changed there, flows.0.",
         {"axes": [{"key": "flows.0.transport.mss", "values": ["1 kB"]},
                   {"name": "tcp", "cases": {"own": {}, "udp": {"flows.0.transport": {"kind": "tcp"}}}}]}),
        ("axes.0.zip.tcp: replaces flows.0.transport as a whole, and with it flows.0.transport.mss: put it first",
         {"axes": [{"zip": {"mss": {"key": "flows.0.transport.mss", "values": ["1 kB"]},
                            "tcp": {"key": "flows.0.transport", "values": ["tcp"]}}}]}),
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
        ("metrics.a: syntax error", {"metrics": {"a": "strlen('(') + "}}),
        ("metrics.a: ", {"metrics": {"a": "1); SELECT (2"}}),
        ('metrics.a: syntax error at or near ")", where a bracket is not closed',
         {"metrics": {"a": "avg(goodput_bps"}}),
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
    with pytest.raises(to.ScenarioError, match=r"^most: 1 was given, a whole number from 2 "):
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
    assert 1 <= len(keys(tmp_path / "s.sqlite")) <= 3, "and those that a thread had finished meanwhile"


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

    less = {**rule, "most": 4, "half_width": 0.01}
    wide = to.Sweep.from_dict({**noisy, "axes": axes, "precision": less}, base_dir=SCENARIOS)
    told = wide.run().warnings[0]
    assert told.startswith(
        "precision: 2 points with 4 replications, the most allowed, have a wider interval than asked"
    )
    assert "the first at snr = 7 dB: goodput_mbps is " in told

    exact = lab(precision="2 %").run()
    assert len(exact.runs) == 10, "a path without chance needs no more than the five to begin with"


def test_relative_precision_with_noise_stops_when_it_is_reached() -> None:
    table = {"scenario": "leo-tcp.toml", "set": {"duration": "3 s"}, "replications": 2}
    rule = {"metric": "goodput_mbps", "half_width": "15 %", "most": 200}
    sweep = to.Sweep.from_dict({**table, "precision": rule}, base_dir=SCENARIOS)
    values = sweep.run().runs["goodput_mbps"].to_list()
    interval = mean_interval(values)
    assert 2 < len(values) < 200
    assert not any(line.startswith("precision") for line in sweep.run().warnings)
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


def test_runs_of_an_earlier_start_are_members_while_the_first_new_one_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store.sqlite"
    sweep = lab(replications=4)

    def stop(progress: to.sweep.run.Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as held:
        held.setattr(work, "_simulate", ending_before(3))
        with pytest.raises(to.SweepInterrupted):
            sweep.run(store=store, jobs=1, progress=stop)

    wait, members = Threads.wait, []

    def looking(pool: Threads) -> list[work.Outcome]:
        kept = Store(store)
        members.append(len(kept.members(sweeps.identity(sweep))))
        kept.close()
        return wait(pool)

    monkeypatch.setattr(Threads, "wait", looking)
    sweep.run(store=store, jobs=1)
    assert members[0] == 3


def test_runs_of_other_code_leave_a_sweep_before_the_first_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = lab(replications=2)
    sweep.run(store=tmp_path / "store.sqlite")
    monkeypatch.setattr(work, "build", lambda: "another")
    monkeypatch.setattr(
        Threads, "wait", lambda pool: signal.raise_signal(signal.SIGINT) or pool._taken(pool._done.get())
    )
    monkeypatch.setattr(work, "_simulate", ending_before(0))
    with pytest.raises(to.SweepInterrupted):
        sweep.run(store=tmp_path / "store.sqlite", jobs=1)
    kept = Store(tmp_path / "store.sqlite")
    assert kept.members(sweeps.identity(sweep)) == []
    kept.close()
