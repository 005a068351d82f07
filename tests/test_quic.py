"""QUIC from Python and from the command line: a flow over it, its packets, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from transorbit import packets, plots
from transorbit.cli import show

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

ROOT = Path(__file__).parents[1]
LAB = ROOT / "scenarios/lab-fixed.toml"


def lab(**edits: object) -> to.Result:
    quic = {"flows.0.transport": {"kind": "quic"}, "duration": "5 s"}
    return (
        to.Scenario.load(LAB).replace({**quic, **{key.replace("__", "."): value for key, value in edits.items()}}).run()
    )


def test_a_flow_is_summarised_as_one_of_tcp() -> None:
    result = lab()
    (flow,) = result.summary["flows"]

    assert (flow["transport"], flow["congestion"]) == ("quic", "cubic")
    assert flow["goodput_bps"] > 0.7 * 50e6
    assert flow["rtt_mean_s"] > 0.1
    assert max(result.series["cwnd_packets"].drop_nulls().to_list()) > 400
    assert lab().summary == result.summary


def test_the_captured_packets_have_quics_sizes() -> None:
    result = lab(record__packets="pcapng")
    (flow,) = result.summary["flows"]
    seen = packets.read(result.captures["receiver"])

    assert set(seen["protocol"]) == {"udp"}
    sent, received = (seen.filter(seen["source"].str.starts_with(f"10.{net}.")) for net in (128, 0))
    assert received["bytes"].max() == 14 + 1228
    # The first packets both ways have datagrams of 1,200 bytes (RFC 9000 section 14.1).
    assert [rows["payload_bytes"][0] for rows in (received, sent)] == [1200, 1200]
    # All packets with data, and three of the handshake or so.
    assert 0 <= received.height - flow["received_packets"] < 30


def test_pages_over_three_protocols() -> None:
    scenario = to.Scenario.load(ROOT / "scenarios/quic-web.toml").replace({"duration": "30 s"})
    flows = [flow for flow in scenario.run().summary["flows"] if flow.get("web")]

    assert [flow["transport"] for flow in flows] == ["quic", "tcp", "tcp"]
    assert all(flow["web"]["pages"] >= 4 for flow in flows)


def _lossy(kind: str) -> dict[str, Any]:
    """A flow of datagrams. Losses shut the congestion window, so that datagrams wait and leave several in a packet."""
    losses = {"channel": {"kind": "bernoulli", "loss": "10 %"}, "last_hop.harq": {"kind": "none"}, "duration": "60 s"}
    changes = {"path": {"kind": "fixed", "delay": "250 ms"}, "flows.0.traffic": {"kind": kind}, **losses}
    quic = {"flows.0.transport": {"kind": "quic", "datagrams": True}}
    (flow,) = to.Scenario.load(LAB).replace({**changes, **quic}).run().summary["flows"]
    return flow


def test_losses_of_a_game_whose_datagrams_share_packets_are_counted_one_by_one() -> None:
    flow = _lossy("game")
    assert flow["game"]["down_received"] > 1.5 * flow["received_packets"], "several share a packet"
    assert flow["game"]["down_loss_ratio"] == pytest.approx(0.1, abs=0.025)


def test_a_voice_is_late_by_its_wait_at_the_sender_and_its_losses_are_counted_one_by_one() -> None:
    flow = _lossy("voice")
    voice = flow["voice"]
    assert voice["received_packets"] > 1.5 * flow["received_packets"], "several share a packet"
    assert voice["late_packets"] > 0.8 * voice["received_packets"]
    known = (voice["received_packets"] - voice["late_packets"]) / (1 - voice["loss_ratio"])
    assert 1 - voice["received_packets"] / known == pytest.approx(0.1, abs=0.025)


def test_objects_beyond_the_streams_wait() -> None:
    """Thirty objects over ten streams: most wait until one ends, which takes a round trip of 0.1 s to be known."""
    scenario = to.Scenario.load(ROOT / "scenarios/quic-web.toml").replace({"duration": "20 s", "channel.loss": "0 %"})

    def page_s(streams: int) -> float:
        changed = scenario.replace({"flows.0.transport.max_streams": streams})
        return float(changed.run().summary["flows"][0]["web"]["load_mean_s"])

    assert page_s(10) > page_s(100) + 0.1
    with pytest.raises(to.ScenarioError, match=r"max_streams: 0 "):
        scenario.replace({"flows.0.transport.max_streams": 0}).run()


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("pacin=true", 'did you mean "pacing"?'),
        ("congestion=peach", "peach has dummy segments sent"),
        ("packet=600 B", "from 1228 B"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(option: str, says: str, command: Callable[..., Outcome]) -> None:
    outcome = command("check", str(LAB), "--set", "flows.0.transport=quic", "--set", f"flows.0.transport.{option}")

    assert outcome.code == 2
    assert says in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_lists_name_it(command: Callable[..., Outcome]) -> None:
    listed = json.loads(command("list", "transports", "--json").out)

    assert "quic" in json.dumps(listed)


def test_logs_stay_with_the_result_and_are_replaced_with_it(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    edits = ("--set", "flows.0.transport=quic", "--set", "duration=2 s", "--set", "record.qlog=true", "--no-plots")
    for _ in range(2):
        assert command("run", str(LAB), *edits, "--out", str(tmp_path / "logged")).code == 0
    result = to.Result.load(tmp_path / "logged")

    assert list(result.logs) == ["flow-0-receiver", "flow-0-sender"]
    assert {file.parent for file in result.logs.values()} == {tmp_path / "logged/qlog"}
    header, *events = (json.loads(record) for record in result.logs["flow-0-sender"].read_text().split("\x1e")[1:])
    assert header["qlog_version"] == "0.3"
    assert sum(event["name"] == "transport:packet_sent" for event in events) > 100
    (tmp_path / "logged/qlog/mine.txt").touch()
    assert "qlog/mine.txt" in command("run", str(LAB), *edits, "--out", str(tmp_path / "logged")).err


def test_the_figures_of_a_run_hold_its_series() -> None:
    result = lab(channel={"kind": "bernoulli", "loss": "0.2 %"})
    (flow,) = result.summary["flows"]
    timeline = plots.timeline(result)
    assert timeline is not None
    numbers = plots.numbers(timeline)

    for column in ("cwnd_packets", "in_flight_packets", "srtt_s"):
        drawn, own = (table[column].drop_nulls().drop_nans().to_list() for table in (numbers, result.series))
        scale = drawn[-1] / own[-1]
        assert drawn == pytest.approx([scale * value for value in own]), column
        assert max(drawn) > min(drawn) > 0, column
    assert [ax.get_ylabel().split("\n")[0] for ax in timeline.axes][:2] == ["Window", "Smoothed RTT"]
    drawn_goodput = plots.goodput(result)
    assert drawn_goodput is not None
    goodput = plots.numbers(drawn_goodput)
    mean = goodput.filter(goodput["series"].str.starts_with("mean"))
    assert mean["y"].item() == pytest.approx(flow["goodput_bps"] / 1e6)
    for name in plots.ALL:
        figure = plots.draw(name, result)
        assert figure is None or len(plots.numbers(figure)) > 0, name


def test_what_became_of_connections_is_in_tables_and_told(command: Callable[..., Outcome], tmp_path: Path) -> None:
    folder = tmp_path / "outage"
    outcome = command("run", str(ROOT / "scenarios/quic-outage.toml"), "--no-plots", "--out", str(folder))
    assert outcome.code == 0
    flows = to.Result.load(folder).flows
    quic, tcp = (flows.filter(flows["transport"] == kind) for kind in ("quic", "tcp"))

    assert quic["end_cause"].to_list() == ["idle-timeout"] * 2
    assert (quic["reopened_connections"] == quic["ended_connections"]).all()
    zero, one = quic["resumption_s"].to_list()
    assert one - zero == pytest.approx(0.06, abs=0.005), "a round trip"
    assert tcp["end_cause"].to_list() == [None]
    cut = command(
        "run", str(ROOT / "scenarios/quic-outage.toml"), "--no-plots", "--set", "flows.0.transport.reopen=none"
    )
    assert cut.code == 2, "an option that is none of the two"


def test_a_migration_is_logged_and_begins_with_the_initial_window() -> None:
    scenario = to.Scenario.load(ROOT / "scenarios/quic-migration.toml")
    result = scenario.replace({"duration": "30 s", "record.qlog": True}).run()
    assert result.summary["flows"][0]["migrations"] >= 1
    text = result.logs["flow-0-sender"].read_text()
    events = [json.loads(record) for record in text.split("\x1e")[2:]]
    moves = [event for event in events if event["name"] == "connectivity:migration_state_updated"]
    started, complete = moves[:2]

    assert [move["data"]["new"] for move in (started, complete)] == ["migration_started", "migration_complete"]
    assert started["data"]["path_remote"]["ip_v4"] == "10.0.1.1", "the client's second address"
    # PATH_CHALLENGE goes out, PATH_RESPONSE comes back after a round trip of some 9 ms and the queue at most.
    assert 0.008 < (complete["time"] - started["time"]) / 1e3 < 0.15
    between = [event for event in events if started["time"] <= event["time"] <= complete["time"]]
    frames = {
        (event["name"].removeprefix("transport:packet_"), frame["frame_type"])
        for event in between
        for frame in event["data"].get("frames", [])
    }
    assert {("sent", "path_challenge"), ("received", "path_response")} <= frames
    windows = [
        (event["time"], event["data"]["congestion_window"])
        for event in events
        if event["name"] == "recovery:metrics_updated" and "congestion_window" in event["data"]
    ]
    before = [window for time, window in windows if time < started["time"]][-1]
    first = next(window for time, window in windows if time > started["time"])
    assert first < before / 3
    assert first <= 12 * 1200, "ten packets, and what the first acknowledgment adds"
    assert max(window for _, window in windows[-200:]) > 3 * first, "it grows again"
    other = [json.loads(record) for record in result.logs["flow-1-receiver"].read_text().split("\x1e")[2:]]
    closed = [event["data"] for event in other if event["name"] == "connectivity:connection_closed"]
    assert closed[0]["trigger"] == "idle_timeout", "the other may not migrate"


def test_the_summary_tells_quic_from_tcp(here: Path, command: Callable[..., Outcome]) -> None:
    done = command("run", "quic-web", "--set", "duration=1 s", "--no-plots", "--out", "r")
    named = {flow["id"]: flow["transport"] for flow in to.Result.load(here / "r").summary["flows"]}
    told = {int(line.split()[0]): line.split()[1] for line in done.out.splitlines() if line[:1].isdigit()}
    assert {flow for flow, first in told.items() if first == "quic"} == {
        flow for flow, transport in named.items() if transport == "quic"
    }
    assert "quic" in named.values()


def test_what_many_flows_have_each_is_averaged_and_counts_are_summed() -> None:
    flows = pl.DataFrame({"qoe": [1.0, 2.0, None], "rebuffers": [2.0, 3.0, None]})
    assert show._together(flows["qoe"]) == show.cell("qoe", 1.5)
    assert show._together(flows["rebuffers"]) == show.cell("rebuffers", 5)
