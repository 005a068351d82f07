"""The summary that `transorbit run` prints: what each line counts, and what stands where nothing is known."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from conftest import ROOT
from transorbit import _flow_kinds
from transorbit.cli import show

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

LINK = {"rate": "10 Mbit/s", "delay": "10 ms", "scheduler": "drr", "harq": "none"}


def run(flows: list[dict[str, Any]], duration: str = "10 s", **changes: Any) -> to.Result:
    lab = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml")
    return lab.replace({"duration": duration, "last_hop": LINK, "flows": flows} | changes).run()


def told(result: to.Result) -> dict[str, str]:
    """The lines of the list below the table, by their name."""
    lines = show.summary(result).splitlines()
    named = (re.split(r"  +", line, maxsplit=1) for line in lines[lines.index("", 3) :] if line)
    return {name: rest[0] for name, *rest in named if rest}


def rows(result: to.Result) -> list[str]:
    """The names of the rows of the table of flows."""
    lines = show.summary(result).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith(("Flow ", "Kind ")))
    return [re.split(r"  +", line)[0] for line in lines[first + 1 : lines.index("", first)]]


def test_a_run_without_a_route_is_told_and_compared(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "none.csv").write_text("time_s,one_way_delay_ms\n0,\n100,40\n")
    path = f'path={{ kind = "trace", file = "{here / "none.csv"}" }}'
    traced = ("--set", path, "--set", "duration=2 s", "--no-plots")
    for seed in ("1", "2"):
        done = command("run", "lab-fixed", *traced, "--seed", seed, "--out", seed)
        assert (done.code, done.err) == (0, "")
        assert re.search(r"^path +one-way delay -, no route 100.0 % of the time$", done.out, re.MULTILINE)
    done = command("compare", "1", "2")
    assert (done.code, "one-way delay -, no route 100.0 % of the time" in done.out) == (0, True)


def test_late_packets_of_a_call_are_a_share_of_those_that_the_listener_got() -> None:
    quic = {"transport": {"kind": "quic", "datagrams": True}, "traffic": "voice"}
    slow = LINK | {"rate": "100 kbit/s"}
    download = {"transport": "tcp", "traffic": "bulk"}
    result = run([quic, download], last_hop=slow, path={"kind": "fixed", "delay": "250 ms"})
    call = result.summary["flows"][0]
    heard, late = call["voice"]["received_packets"], call["voice"]["late_packets"]
    assert 0 < late < heard != call["received_packets"]

    assert told(result)["late"] == f"{100 * late / heard:.2f} % of the packets of calls that arrived: {late}"


def test_losses_are_a_share_of_the_packets_whose_fate_is_known() -> None:
    """The queue is full at the end: its packets are neither lost nor received."""
    small = LINK | {"rate": "60 kbit/s", "scheduler": {"kind": "droptail", "buffer": "40 packets"}}
    result = run([{"count": 2, "transport": "udp", "traffic": "voice"}], last_hop=small)
    flows = result.summary["flows"]
    received, sent = (sum(flow[key] for flow in flows) for key in ("received_packets", "sent_packets"))
    lost = sum(flow["lost_overflow"] for flow in flows)
    assert f"{100 * lost / sent:.2f}" != f"{100 * lost / (lost + received):.2f}"

    assert told(result)["lost"].startswith(f"{100 * lost / (lost + received):.2f} % of the packets with data: ")


@pytest.mark.parametrize(("size", "begins"), [("100 kB", "3 of 3 ended, in "), ("1 GB", "0 of 3 ended")])
def test_transfers_that_ended_are_counted_beside_those_that_began(size: str, begins: str) -> None:
    """A download without an end is no transfer."""
    transfer = {"transport": "tcp", "traffic": {"kind": "bulk", "size": size}}
    result = run([transfer | {"count": 3}, {"transport": "tcp", "traffic": "bulk"}])

    line = told(result)["transfers"]
    assert line.startswith(begins)
    assert ("min / median / max" in line) == begins.startswith("3")


def test_transfers_without_a_size_are_counted_once_they_have_ended() -> None:
    sized = {"size_bytes": [1.0, 1.0, 1.0, None, None], "opened_s": [0.0, 1.0, None, 0.0, 0.0]}
    flows = pl.DataFrame({**sized, "completion_s": [2.0, None, None, 3.0, None]})
    assert [(begun, times.to_list()) for begun, times in _flow_kinds.transfers(flows)] == [(2, [2.0]), (None, [3.0])]
    assert list(_flow_kinds.transfers(flows.clear())) == []

    page = {"kind": "web", "pages": 1, "objects": {"kind": "constant", "count": 0}}
    assert told(run([{"transport": "tcp", "traffic": page}]))["transfers"].startswith("1 ended, in ")


def test_flows_of_different_traffic_or_direction_are_in_different_rows() -> None:
    result = to.Scenario.load(ROOT / "scenarios/geo-dvbrcs2.toml").replace({"duration": "20 s"}).run()
    assert rows(result) == ["cubic web", "cubic bulk", "cubic short-flows"]
    shown = show.summary(result).splitlines()
    counts = {
        name: int(line.split()[len(name.split())]) for name in rows(result) for line in shown if name + " " in line
    }
    kinds = result.flows["traffic"].value_counts()
    assert counts == {f"cubic {kind}": count for kind, count in kinds.iter_rows()}


def test_a_row_is_named_by_what_tells_it_from_the_others() -> None:
    one = {"transport": "tcp", "traffic": "bulk"}
    assert rows(run([one | {"count": 9}], "1 s")) == ["cubic"]
    assert rows(run([one], "1 s")) == ["0 cubic"]
    both = [one | {"count": 5}, one | {"count": 5, "direction": "up"}]
    access = {"access": {"method": "dedicated", "max_rate": "2 Mbit/s", "frame": {"random_carriers": 0}}}
    assert rows(run(both, "1 s", **access)) == ["cubic down", "cubic up"]


def test_a_flow_and_a_column_of_flows_are_named_alike() -> None:
    sent_by = [("tcp", "cubic"), ("quic", "bbr"), ("udp", None), ("quic", None)]
    flows = [{"transport": transport, "congestion": congestion} for transport, congestion in sent_by]
    names = ["cubic", "quic bbr", "udp", "quic"]
    assert [_flow_kinds.of_transport(flow) for flow in flows] == names
    assert _flow_kinds.transports(pl.DataFrame(flows)).to_list() == names


def test_pages_have_a_time_for_each_row_of_the_table() -> None:
    scenario = to.Scenario.load(ROOT / "scenarios/quic-web.toml").replace({"duration": "30 s"})
    result = scenario.run()
    loads = {flow["id"]: flow["web"]["load_mean_s"] for flow in result.summary["flows"] if flow.get("web")}
    assert len(loads) == 3

    line = told(result)["pages"]
    for flow, name in enumerate(("quic cubic web", "cubic web", "cubic web")):
        assert f"{loads[flow]:.3g} s ({flow} {name})" in line
    alone = run([{"transport": "tcp", "traffic": "web"}])
    assert re.fullmatch(r"\d+ of \d+ loaded, in [\d.]+ m?s on average", told(alone)["pages"])


def test_pages_of_which_none_has_loaded_are_told(here: Path, command: Callable[..., Outcome]) -> None:
    web = 'flows=[{ transport = "tcp", traffic = "web" }]'
    done = command("run", "lab-fixed", "--set", web, "--set", "duration=0.15 s", "--no-plots", "--out", "r")
    clicks = json.loads((here / "r/summary.json").read_text())["flows"][0]["web"]["clicks"]
    assert clicks == 1
    assert re.search(r"^pages +0 of 1 loaded$", done.out, re.MULTILINE)
