"""`transorbit compare`: what differs between runs, and between the values of a sweep's axis."""

from __future__ import annotations

import json
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from conftest import ROOT
from transorbit import _numbers, statistics
from transorbit.cli import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

RUN = ("run", "lab-fixed", "--set", "duration=2 s", "--no-plots", "--quiet")
SWEEP = """
scenario = "lab-fixed"
set = { duration = "1 s", "path.jitter" = { probability = "20 %", extra = "4 ms" } }
replications = 3
[[axes]]
name = "rate"
key = "last_hop.rate"
values = ["10 Mbit/s", "20 Mbit/s", "40 Mbit/s"]
[metrics]
goodput = { sql = "sum(goodput_bps) / 1e6", unit = "Mbit/s" }
"""


@pytest.fixture
def three(command: Callable[..., Outcome]) -> list[str]:
    for name, rate in (("a", "10 Mbps"), ("b", "20 Mbps"), ("c", "40 Mbps")):
        assert command(*RUN, "--set", f"last_hop.rate={rate}", "--out", name).code == 0
    return ["a", "b", "c"]


def line(out: str, begins: str) -> str:
    return next(" ".join(each.split()) for each in out.splitlines() if each.startswith(begins))


def test_goodput_of_short_transfers_is_less_than_the_link_carries(command: Callable[..., Outcome]) -> None:
    traffic = 'flows.0.traffic={ kind = "bulk", size = "10 kB" }'
    rates = ("--set", "last_hop.rate=1 Mbit/s", "--set", "path.delay=1 ms")
    for name, count in (("a", 20), ("b", 10)):
        flows = ("--set", f"flows.0.count={count}", "--set", "flows.0.start_spread=1.5 s", "--set", traffic)
        assert command(*RUN, *flows, *rates, "--out", name).code == 0
    told = json.loads(command("compare", "a", "b", "--json").out)
    goodputs = [told[name]["Goodput of all flows"] for name in ("a", "b")]
    flows_of = {name: to.Result.load(name).summary["flows"] for name in ("a", "b")}
    assert goodputs == [8 * sum(flow["delivered_bytes"] for flow in own) / 2 for own in flows_of.values()]
    assert goodputs[0] < 1e6 < sum(flow["goodput_bps"] for flow in flows_of["a"])


def test_a_count_that_is_not_nothing_has_a_share_that_is_not_nothing() -> None:
    sent = {"sent_packets": [2_000_000, 1_000_000], "congestion": ["cubic", "cubic"]}
    flows = pl.DataFrame({**sent, "rto_events": [3, 0], "dupack_events": [0, 0]})
    result: Any = SimpleNamespace(flows=flows)
    assert [compare._share(key)(result) for key in ("rto_events", "dupack_events")] == [" (< 0.01 %)", " (0.00 %)"]


def test_text_without_a_title_begins_with_its_first_line(command: Callable[..., Outcome]) -> None:
    for name in "ab":
        changes = ("--set", 'title=""', "--set", "duration=1 s", "--no-plots")
        done = command("run", "lab-fixed", *changes, "--out", name)
        assert done.out.startswith("seed 1, 1 s simulated in ")
    assert command("compare", "a", "b").out.startswith("seed 1, 1 s simulated\n")


def test_runs_stand_side_by_side_with_their_difference(three: list[str], command: Callable[..., Outcome]) -> None:
    rates = [to.Result.load(name).goodput_bps for name in three]
    done = command("compare", "a", "b")

    assert (done.code, done.err) == (0, "")
    assert line(done.out, "Goodput").startswith(
        f"Goodput of all flows {_numbers.rate(rates[0])} {_numbers.rate(rates[1])}"
    )
    assert f"+{_numbers.rate(rates[1] - rates[0])} (+" in line(done.out, "Goodput")
    assert "Difference" in done.out
    assert "e+0" not in done.out

    told = json.loads(command("compare", *three, "--json").out)
    assert [told[name]["Goodput of all flows"] for name in three] == pytest.approx(rates)
    assert "b - c" in command("compare", *three, "--against", "c").out
    heads = command("compare", *three, "--against", "all").out
    assert all(pair in heads for pair in ("b - a", "c - a", "c - b"))


def test_shares_are_of_the_packets_that_may_be_sent_again(here: Path, command: Callable[..., Outcome]) -> None:
    calls = '{ count = 30, transport = "udp", traffic = "voice" }'
    flows = f'flows=[{{ transport = "tcp", traffic = "bulk" }}, {calls}]'
    for name, buffer in (("a", "40 packets"), ("b", "60 packets")):
        small = f'last_hop.scheduler={{ kind = "droptail", buffer = "{buffer}" }}'
        edits = ["--set", flows, "--set", small, "--set", "duration=5 s"]
        assert command("run", "lab-fixed", *edits, "--out", name, "--no-plots", "--quiet").code == 0
    [flow] = [flow for flow in to.Result.load(here / "a").summary["flows"] if flow["congestion"]]
    share = f"{100 * flow['retransmitted_packets'] / flow['sent_packets']:.2f} %"

    assert f"{flow['retransmitted_packets']} ({share})" in command("compare", "a", "b").out


def test_what_cannot_be_compared_is_said(three: list[str], here: Path, command: Callable[..., Outcome]) -> None:
    (here / "it.sweep.toml").write_text(SWEEP)
    assert command("sweep", "it.sweep.toml", "--out", "s", "--quiet").code == 0
    for arguments, said in (
        (("a",), "a alone: two result folders or more"),
        (("a", "b", "--against", "x"), "--against: x is none of the folders"),
        (("a", "b", "--between", "rate"), "--between: is for the folder of a sweep"),
        (("s", "a"), "one sweep, or two results or more"),
        (("nowhere", "--between", "rate"), "nowhere: no such folder: that of a result or of a sweep is expected"),
        (("s", "nowhere"), "nowhere: no such folder: that of a result or of a sweep is expected"),
        (("s", "--between", "rat"), "--between: there is no axis 'rat'; did you mean rate?"),
        (
            ("s", "--against", "7"),
            "--against: '7' is no value of the axis (it has 10 Mbit/s, 20 Mbit/s, 40 Mbit/s, and",
        ),
        (("s", "--metric", "Goodput"), "--metric: the sweep has no 'Goodput'; did you mean goodput?"),
        (("a", "nowhere"), "nowhere"),
    ):
        done = command("compare", *arguments)
        assert (done.code, done.err.count("\n")) == (2, 1), arguments
        assert said in done.err
    assert three


METRICS = """
[metrics]
goodput = "avg(goodput_bps) / 1e6"
any_timeout = "sum(rto_events) > 0 or min(seed) % 2 = 0"
word = "'as ' || min(seed)"
nothing = "0.0 / 0.0"
endless = "1.0 / 0.0"
"""


def test_a_metric_that_cannot_be_compared_is_told_why(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "it.sweep.toml").write_text(SWEEP.partition("[metrics]")[0] + METRICS)
    done = command("sweep", "it.sweep.toml", "--out", "s", "--quiet")
    assert done.code == 0, done.err
    assert command("compare", "s", "--metric", "word").err.endswith("word holds no numbers\n")
    flags = json.loads(command("compare", "s", "--metric", "any_timeout", "--json").out)["any_timeout"]
    assert all(row["count"] > 1 for row in flags)
    for metric in ("nothing", "endless"):
        [shown, as_json] = [command("compare", "s", "--metric", metric, *more) for more in ((), ("--json",))]
        assert not {"nan", "inf"} & set(shown.out.lower().split())
        assert "not known" in shown.out
        assert json.loads(as_json.out, parse_constant=pytest.fail)[metric][0]["difference"] is None


def test_a_value_without_runs_is_told_and_others_are_compared(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "it.sweep.toml").write_text(SWEEP.replace('"10 Mbit/s"', '"10 bit/s"'))
    assert "cannot run rate = 10 bit/s" in command("sweep", "it.sweep.toml", "--out", "s", "--quiet").err
    done = command("compare", "s")
    assert "has no value where rate is" in done.err
    assert "choose another with --against" in done.err
    done = command("compare", "s", "--against", "20 Mbit/s")
    assert (done.code, "nothing for rate" in done.err) == (0, True), done.err


def test_the_values_of_an_axis_are_compared_run_by_run(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "it.sweep.toml").write_text(SWEEP)
    assert command("sweep", "it.sweep.toml", "--out", "s", "--quiet").code == 0
    runs = to.SweepResult.load("s").runs
    for against, pairs in ((None, 2), ("20 Mbit/s", 2), ("all", 3)):
        options = () if against is None else ("--against", against)
        found = json.loads(command("compare", "s", *options, "--json").out)["goodput"]
        assert len(found) == pairs
        expected = statistics.compare(
            runs,
            metric="goodput",
            between="rate",
            every_pair=against == "all",
            baseline=20.0 if against else 10.0,
        )
        assert found == expected.to_dicts()
    shown = command("compare", "s", "--against", "all").out
    assert len([each for each in shown.splitlines() if each.startswith(("20 ", "40 "))]) == 3
    assert " ± " in shown


def test_a_partial_result_is_called_so(
    three: list[str], command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "PARTIAL" not in command("compare", *three).out

    def stopped(simulation: Any, _: object) -> None:
        simulation.advance(0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr("transorbit.scenario._advance", stopped)
    assert command(*RUN, "--out", "part").code == 130
    assert line(command("compare", "a", "part").out, "PARTIAL") == "PARTIAL: part, stopped at 0.5 s"


@pytest.mark.parametrize("folder", ["nowhere", "scenarios"])
def test_what_is_no_result_is_named_with_what_is_expected(folder: str, command: Callable[..., Outcome]) -> None:
    assert command(*RUN, "--out", "a").code == 0
    done = command("compare", "a", folder)
    says = "has no summary.json: the folder of a result"
    if folder == "nowhere":
        says = "no such folder: that of a result or of a sweep"
    assert (done.code, done.err) == (2, f"transorbit: {folder}: {says} is expected\n")


def test_a_plot_of_no_series_names_the_setting(command: Callable[..., Outcome]) -> None:
    assert command(*RUN, "--set", "record.series=false", "--out", "a").code == 0
    done = command("plot", "a", "goodput")
    told = "plot: goodput: the run has nothing to show in this plot: record.series = false, and true is expected"
    assert (done.code, done.err) == (2, f"transorbit: {told}\n")
    with pytest.raises(ValueError, match=r"record\.series = false"):
        to.Result.load("a").plot("goodput")


def test_a_plot_of_queues_that_were_not_recorded_names_the_setting(command: Callable[..., Outcome]) -> None:
    assert command(*RUN, "--set", "record.queue_delays=false", "--out", "a").code == 0
    done = command("plot", "a", "queue-delay")
    assert done.code == 2
    assert done.err.endswith("nothing to show in this plot: record.queue_delays = false, and true is expected\n")


def test_the_default_goodput_of_a_sweep_is_over_the_time_of_the_run(
    here: Path, command: Callable[..., Outcome]
) -> None:
    """One flow for the whole run, one that has ended after a part of it."""
    (here / "it.sweep.toml").write_text(SWEEP.partition("[metrics]")[0].replace("replications = 3", "replications = 1"))
    scenario = (here / "scenarios/lab-fixed.toml").read_text()
    short = scenario[scenario.index("[[flows]]") :].replace('"bulk"', '"bulk", size = "20 kB"')
    (here / "two.toml").write_text(f"{scenario}\n{short}")
    text = (here / "it.sweep.toml").read_text().replace('"lab-fixed"', '"two.toml"')
    (here / "it.sweep.toml").write_text(text)

    assert command("sweep", "it.sweep.toml", "--quiet").code == 0

    result = to.sweep.SweepResult.load("results/it")
    told = result.query("SELECT key, goodput_mbps FROM runs ORDER BY key")
    own = result.query(
        "SELECT key, sum(delivered_bytes) * 8e-6 AS true, sum(goodput_bps) / 1e6 AS rates FROM flows "
        "GROUP BY key ORDER BY key"
    )
    assert told["goodput_mbps"].to_list() == pytest.approx(own["true"].to_list())
    assert all(rates > 1.02 * true for rates, true in zip(own["rates"], own["true"], strict=True))


def test_the_default_share_of_retransmissions_is_of_the_packets_that_may_be_sent_again() -> None:
    calls = {"count": 30, "transport": "udp", "traffic": "voice"}
    small = {"kind": "droptail", "buffer": "40 packets"}
    edits = {"flows": [{"transport": "tcp", "traffic": "bulk"}, calls], "last_hop.scheduler": small}
    table = {"scenario": "lab-fixed.toml", "set": {"duration": "5 s", **edits}}
    result = to.Sweep.from_dict(table, base_dir=ROOT / "scenarios").run(jobs=1)
    tcp = result.flows.drop_nulls("congestion")

    share = 100 * tcp["retransmitted_packets"].sum() / tcp["sent_packets"].sum()
    assert result.runs["retransmitted_percent"].to_list() == pytest.approx([share])
    assert share > 0


def test_what_applications_got_stands_where_a_run_has_them(command: Callable[..., Outcome]) -> None:
    pages = '{ kind = "web", reading = "200 ms", objects = { kind = "constant", count = 2 } }'
    files = '{ transport = "tcp", traffic = { kind = "short-flows", interval = "100 ms", size = "20 kB" } }'
    flows = {
        "a": f'[{files}, {{ transport = "tcp", traffic = {pages} }}, {{ transport = "tcp", traffic = "dash" }}]',
        "b": f'[{{ transport = "tcp", traffic = "bulk" }}, {files}]',
        "c": '[{ transport = "tcp", traffic = "bulk" }]',
        "d": '[{ transport = "tcp", traffic = "bulk", count = 2 }]',
    }
    for name, own in flows.items():
        assert command(*RUN, "--set", f"flows={own}", "--out", name).code == 0
    run = {name: to.Result.load(name).summary["flows"] for name in flows}
    told = json.loads(command("compare", "a", "b", "--json").out)
    rows = ("Transfers begun", "Transfers ended", "Median transfer time", "Mean page load time", "Time in stalls")
    [web] = [flow["web"] for flow in run["a"] if flow.get("web")]
    [player] = [flow for flow in run["a"] if flow.get("video")]
    for name in "ab":
        sized = [flow for flow in run[name] if flow["size_bytes"] is not None and flow["opened_s"] is not None]
        times = [flow["completion_s"] for flow in sized if flow["completion_s"] is not None]
        assert 0 < len(times) < len(sized)
        expected = [len(sized), len(times), median(times)]
        assert [told[name][row] for row in rows[:3]] == pytest.approx(expected)
    assert [told["a"][row] for row in rows[3:]] == [web["load_mean_s"], player["rebuffer_ratio"]]
    assert told["a"]["Stalls"] == player["rebuffers"]
    assert [told["b"][row] for row in (*rows[3:], "Stalls")] == [None] * 3

    shown = command("compare", "a", "b").out
    assert all(line(shown, row) for row in (*rows, "Stalls"))
    assert line(shown, "Mean page load time").endswith(f"{_numbers.delay(web['load_mean_s'])} - -")
    without = command("compare", "c", "d").out
    assert not [each for each in without.splitlines() if each.startswith((*rows, "Stalls"))]
