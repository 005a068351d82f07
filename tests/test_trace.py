"""Measured paths: importers say what they understood, a path reads what they write, and what cannot be is refused."""

from __future__ import annotations

import gzip
import io
import json
import random
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import tomli_w

import transorbit as to
from conftest import ROOT
from transorbit.trace import calibrate

if TYPE_CHECKING:
    from conftest import Command

PING = """\
PING 100.64.0.1 (100.64.0.1) 56(84) bytes of data.
[1700000000.040000] 64 bytes from 100.64.0.1: icmp_seq=1 ttl=64 time=40.0 ms
[1700000002.060000] 64 bytes from 100.64.0.1: icmp_seq=3 ttl=64 time=60.0 ms
"""
IRTT = {
    "round_trips": [
        {"seqno": 0, "lost": "false", "timestamps": {"client": {"send": {"wall": 1700000000000000000}}},
         "delay": {"rtt": 41000000, "send": 20000000, "receive": 21000000}},
        {"seqno": 1, "lost": "true", "timestamps": {"client": {"send": {"wall": 1700000001000000000}}}},
    ]
}  # fmt: skip
IPERF3 = {
    "start": {"timestamp": {"timesecs": 1700000000}, "test_start": {"protocol": "UDP", "reverse": 1}},
    "intervals": [
        {"sum": {"start": 0.0, "end": 0.1, "bits_per_second": 3e7, "lost_percent": 0.5}},
        {"sum": {"start": 0.1, "end": 0.2, "bits_per_second": 5e7, "lost_percent": 0.0}},
    ],
}
DISH = "@timestamp,dish_status.pop_ping_latency_ms,dish_status.pop_ping_drop_rate,dish_status.state\n\
2025-03-20T12:38:30.5+01:00,21.5,0.25,CONNECTED\n2025-03-20T12:38:31.5+01:00,22.5,0.0,CONNECTED\n"


@pytest.mark.parametrize(
    ("name", "text", "kind", "columns", "first"),
    [
        ("ping.log", PING, "a log of ping", ["unix_time_s", "rtt_ms"], (1700000000.0, 40.0)),
        ("irtt.json", json.dumps(IRTT), "a log of irtt", ["unix_time_s", "rtt_ms"], (1700000000.0, 41.0)),
        ("iperf3.json", json.dumps(IPERF3), "a result of iperf3", ["unix_time_s", "rate_down_mbps", "loss_percent"],
         (1700000000.0, 30.0, 0.5)),
        ("x.down", "1\n1\n12\n20\n", "mahimahi", ["time_s", "rate_down_mbps"], (0.0, 2.4)),
        ("lens.txt", "1700000000.5\t1\t44.5\n1700000000.6\t2\t-1\n", "LENS", ["unix_time_s", "rtt_ms"],
         (1700000000.5, 44.5)),
        ("rtt.txt", "0,80000000.0\n100000000,81000000.5\n", "Hypatia", ["time_s", "rtt_ms"], (0.0, 80.0)),
        ("dish.csv", DISH, "dish", ["unix_time_s", "loss_percent", "rtt_ms"], (1742470710.5, 25.0, 21.5)),
        ("mine.csv", "time_s,rtt_ms,hops\n0,40,3\n1,41,4\n", "a table", ["time_s", "rtt_ms"], (0.0, 40.0)),
    ],
)  # fmt: skip
def test_each_format_is_known_by_what_it_holds(
    tmp_path: Path, name: str, text: str, kind: str, columns: list[str], first: tuple[float, ...]
) -> None:
    (tmp_path / name).write_text(text)
    found = to.trace.read(tmp_path / name)
    assert kind in found.kind
    assert sorted(found.table.columns) == sorted(columns)
    assert found.table.select(columns).row(0) == pytest.approx(first)
    assert found.notes


def test_a_lost_probe_is_an_outage_of_its_own_time(tmp_path: Path) -> None:
    (tmp_path / "ping.log").write_text(PING)
    assert to.trace.read(tmp_path / "ping.log").table["rtt_ms"].to_list() == [40.0, None, 60.0]
    # A program that waited five seconds for an answer: the outage lasts a tenth of a second all the same.
    rows = [f"{1700000000 + at}\t{at}\t40" for at in (0.0, 0.1, 0.2)]
    rows += [f"{1700000000.3}\t4\t-1", *(f"{1700000000 + at}\t9\t50" for at in (5.3, 5.4, 5.5))]
    (tmp_path / "lens.txt").write_text("\n".join(rows))
    table = to.trace.read(tmp_path / "lens.txt").table
    assert table["rtt_ms"].to_list() == [40, 40, 40, None, 40, 50, 50, 50]
    assert table["unix_time_s"][4] - table["unix_time_s"][3] == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize(
    ("last_lines", "step_s", "interval_s"),
    [
        (
            "\n--- 127.0.0.1 ping statistics ---\n3 packets transmitted, 3 received, 0% packet loss, time 400ms\n",
            None,
            0.2,
        ),
        ("", None, 1.0),
        ("", 0.05, 0.05),
    ],
    ids=["its last lines tell", "its own interval", "as it is said"],
)
def test_probes_of_a_ping_without_timestamps_are_apart_by_its_interval(
    tmp_path: Path, last_lines: str, step_s: float | None, interval_s: float
) -> None:
    lines = [f"64 bytes from 127.0.0.1: icmp_seq={number} ttl=64 time=40.0 ms" for number in (1, 2, 3)]
    (tmp_path / "ping.log").write_text("\n".join(lines) + "\n" + last_lines)
    times = to.trace.read(tmp_path / "ping.log", step_s=step_s).table["time_s"].to_list()
    assert times == pytest.approx([0.0, interval_s, 2 * interval_s])


HEAD, ANSWER = "PING 1.1.1.1 (1.1.1.1) 56(84) bytes of data.", "64 bytes from 1.1.1.1: icmp_seq={} ttl=57 time=40.0 ms"
UNANSWERED = "no answer yet for icmp_seq={}"
LINUX = "{} packets transmitted, 3 received, 50% packet loss, time 5000ms"
OTHERS = "{} packets transmitted, 3 packets received, 50.0% packet loss"


@pytest.mark.parametrize(
    ("lines", "answered"),
    [
        ([HEAD, *map(UNANSWERED.format, (1, 2)), *map(ANSWER.format, (3, 4)), UNANSWERED.format(5)], "..xx."),
        ([HEAD, *map(ANSWER.format, (2, 4)), LINUX.format(6)], ".x.x.."),
        ([*map(ANSWER.format, (12, 14)), LINUX.format(15)], "x.x."),
        ([HEAD, ANSWER.format(0), "Request timeout for icmp_seq 1", ANSWER.format(2), OTHERS.format(4)], "x.x."),
        ([HEAD, UNANSWERED.format(1), ANSWER.format(1), ANSWER.format(1) + " (DUP!)", ANSWER.format(2)], "xx"),
    ],
    ids=["-O", "its last lines", "without its beginning", "macOS", "late"],
)
def test_probes_that_nobody_answered_are_outages_at_both_ends_too(
    tmp_path: Path, lines: list[str], answered: str
) -> None:
    (tmp_path / "ping.log").write_text("\n".join(lines))
    table = to.trace.read(tmp_path / "ping.log", step_s=0.5).table
    assert "".join("." if rtt is None else "x" for rtt in table["rtt_ms"]) == answered
    assert table["time_s"].to_list() == [number / 2 for number in range(len(answered))]


def test_probes_before_and_after_all_answers_were_sent_at_the_mean_interval(tmp_path: Path) -> None:
    stamps = {3: 1700000002.04, 5: 1700000004.04}
    answers = [f"[{stamp}] {ANSWER.format(number)}" for number, stamp in stamps.items()]
    (tmp_path / "ping.log").write_text("\n".join([HEAD, *answers, LINUX.format(6)]))
    table = to.trace.read(tmp_path / "ping.log").table
    assert (table["unix_time_s"] - 1.7e9).to_list() == pytest.approx([0, 1, 2, 3, 4, 5], abs=1e-5)


def test_iperf3_leaves_out_what_is_omitted_and_tells_what_was_sent_and_lost(tmp_path: Path) -> None:
    def interval(start: float, mbps: float, **more: object) -> dict[str, object]:
        return {"sum": {"start": start, "end": start + 1, "bits_per_second": mbps * 1e6, "sender": True, **more}}

    content = {
        "start": {"timestamp": {"timesecs": 1700000000}, "test_start": {"protocol": "UDP", "reverse": 0}},
        "intervals": [interval(0.0, 5, omitted=True), interval(0.0, 20), interval(1.0, 18)],
        "end": {"sum_received": {"lost_percent": 50.0}},
        "error": "interrupted",
    }
    (tmp_path / "iperf3.json").write_text(json.dumps(content))
    found = to.trace.read(tmp_path / "iperf3.json")
    # A row ends the last interval.
    assert (found.table["unix_time_s"] - 1.7e9).to_list() == [0.0, 1.0, 2.0]
    assert found.table["rate_up_mbps"].to_list() == [20.0, 18.0, 18.0]
    told = "\n".join(found.notes)
    for note in ("1 interval left out", "sent, of which 50 % were lost", "ended with an error: interrupted"):
        assert note in told
    (tmp_path / "iperf3.json").write_text(json.dumps(content | {"intervals": []}))
    with pytest.raises(to.ScenarioError, match="has measured no interval: interrupted"):
        to.trace.read(tmp_path / "iperf3.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Pinging 1.1.1.1 with 32 bytes of data:\nReply from 1.1.1.1: bytes=32 time=14ms TTL=57\n", "Windows' ping"),
        ("1.1.1.1 : [0], 64 bytes, 14.2 ms (14.2 avg, 0% loss)\n", "fping"),
        ("Connecting to host a, port 5201\n[ ID] Interval  Transfer\n[  5]   0.00-1.00 sec\n", "iperf3 --json writes"),
        ("\n\r\r\n\x1c\0\0\0", "a capture of packets"),
        ('{"event":"start","data":{}}\n{"event":"interval","data":{}}\n', "--json-stream"),
        ("1700000000.5\t1\t44.5\n1700000000.6\t2\t0\n", "line 2: a round trip of 0 ms"),
    ],
)
def test_what_is_not_read_is_called_by_its_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "log.txt").write_text(text)
    with pytest.raises(to.ScenarioError, match=said):
        to.trace.read(tmp_path / "log.txt")


def test_columns_are_those_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "irtt.json").write_text(json.dumps(IRTT))
    with pytest.raises(to.ScenarioError, match="JSON, whose quantities have names of their own"):
        to.trace.read(tmp_path / "irtt.json", columns={"rtt_ms": "delay"})


def test_a_compressed_log_is_read(tmp_path: Path) -> None:
    (tmp_path / "irtt.json.gz").write_bytes(gzip.compress(json.dumps(IRTT).encode()))
    assert to.trace.read(tmp_path / "irtt.json.gz").table["rtt_ms"].to_list() == [41.0, None]


def test_traces_of_two_directions_begin_anew_each_at_its_own_end(tmp_path: Path) -> None:
    """Of 2 s, the second of which is twice as fast as the first, and of 3 s."""
    times = {"x.down": [*range(10, 1001, 10), *range(1005, 2001, 5)], "x.up": list(range(20, 3001, 20))}
    for name, opportunities in times.items():
        (tmp_path / name).write_text("".join(f"{at}\n" for at in opportunities))
    found = to.trace.read(tmp_path / "x.down", up=tmp_path / "x.up", step_s=1.0)
    found.table.write_csv(tmp_path / "both.csv")
    path = {"kind": "trace", "file": "both.csv", "delay": "20 ms", "repeat": True}
    course = to.trace.course(path, duration_s=12.0, step_s=0.5, base_dir=tmp_path)
    rates = course.filter(pl.col("time_s") % 1 == 0.5).select((pl.col("rate_down_bps", "rate_up_bps") / 1e6).round(1))
    assert rates["rate_down_bps"].to_list() == [1.2, 2.4] * 6
    assert rates["rate_up_bps"].to_list() == [0.6] * 12
    assert "written out for 6 s" in "\n".join(found.notes)


def test_import_prints_what_it_understood_and_writes_a_path(command: Command, here: Path) -> None:
    Path("ping.log").write_text(PING)
    done = command("trace", "import", "ping.log", "--out", "path.csv")
    assert done.code == 0, done.err
    assert "a log of ping" in done.out
    assert "1 of 3 probes without an answer" in done.out
    assert 'kind = "trace", file = "path.csv"' in done.out
    course = to.trace.course({"kind": "trace", "file": str(here / "path.csv")})
    at = {round(row["time_s"], 3): row["delay_down_s"] for row in course.iter_rows(named=True)}
    assert at == {0.0: pytest.approx(0.02), 1.0: None, 2.0: pytest.approx(0.03)}
    shown = command("trace", "show", "path.csv", "--plot", "path.svg")
    assert shown.code == 0, shown.err
    assert "none for 50 % of the time" in shown.out
    assert Path("path.svg").read_text().startswith("<?xml")


def test_a_header_without_a_quantity_is_told_the_column_of_a_delay(command: Command, here: Path) -> None:
    (here / "road.csv").write_text("when,target,packets,ping best,ping avg,speed\n0,a,250,40,50,3\n5,b,250,41,51,4\n")
    done = command("trace", "import", "road.csv")

    assert done.code == 2
    assert done.err.endswith("say what is what, as --column 'rtt_ms=ping avg'\n")


def test_a_table_without_a_header_is_time_and_delay(command: Command, here: Path) -> None:
    (here / "bare.csv").write_text("0,0\n5,0.05\n")
    done = command("trace", "import", "bare.csv", "--out", "path.csv")

    assert done.code == 0, done.err
    assert (here / "path.csv").read_text() == "time_s,one_way_delay_s\n0.0,0.0\n5.0,0.05\n"
    assert "without a header" in done.out


def test_a_line_that_is_no_millisecond_is_told(command: Command, here: Path) -> None:
    (here / "home.down").write_text("1\n" * 60 + "\N{SUPERSCRIPT TWO}\n")
    done = command("trace", "import", "home.down")
    assert done.code == 2
    assert "line 61, column 1: '\N{SUPERSCRIPT TWO}' is no millisecond" in done.err


def test_two_directions_of_mahimahi_make_one_path(command: Command, here: Path) -> None:
    Path("home.down").write_text("\n".join(str(at) for at in range(1, 1001)))
    Path("home.up").write_text("\n".join(str(at) for at in range(10, 1001, 10)))
    done = command("trace", "import", "home.down", "--up", "home.up", "--step", "100 ms", "--out", "rates.csv")
    assert done.code == 0, done.err
    assert 'path = { kind = "trace", file = "rates.csv", delay = "20 ms", repeat = true }' in done.out
    path = {"kind": "trace", "file": "rates.csv", "delay": "20 ms", "repeat": True}
    course = to.trace.course(path, duration_s=5.0, step_s=0.25, base_dir=here)
    assert course["rate_down_bps"].mean() == pytest.approx(12e6, rel=0.02)
    assert course["rate_up_bps"].mean() == pytest.approx(1.2e6, rel=0.06)
    assert course["delay_down_s"].unique().to_list() == [0.02]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time_s,rtt_s\n0,0.04\n1,45\n",
         "line 3, column 2 (rtt_s): 45 s must be between 0 and 20: did you mean ms, rtt_ms?"),
        ("time_s,rtt_ms,loss_percent\n0,40,300\n", "line 2, column 3 (loss_percent): 300 % must be between 0 and 100"),
        ("time_s,rtt_ms\n5,40\n4,40\n", "line 3, column 1 (time_s): time 4 s must be later than 5 s"),
        ("when,speed\n0,40\n", "names no quantity of a path"),
        ("time_s,rrt_ms\n0,40\n", "\"rrt_ms\" names no quantity of a path: did you mean rtt?"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused(command: Command, here: Path, text: str, says: str) -> None:
    (here / "bad.csv").write_text(text)
    done = command("trace", "show", "bad.csv")
    assert done.code == 2, done.out
    assert says in done.err
    assert len(done.err.strip().splitlines()) == 1


def scenario(path: str, rate: str = '"path"') -> str:
    return f"""
duration = "4 s"
path = {path}
channel = {{ kind = "clear" }}
last_hop = {{ rate = {rate}, delay = "0 ms", scheduler = {{ kind = "droptail", buffer = "50 ms" }}, harq = "none" }}
[[flows]]
transport = {{ kind = "udp" }}
traffic = {{ kind = "voice", rate = "8 Mbit/s", packet = "1000 B", activity = "continuous" }}
"""


def test_the_path_s_rate_and_loss_drive_a_run(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("time_s,rtt_ms,rate_down_mbps,loss_down_percent\n0,40,20,0\n2,40,4,0\n4,40,4,0\n")
    path = '{ kind = "trace", file = "x.csv" }'
    flow = to.Scenario.from_toml(scenario(path), base_dir=tmp_path).run().summary["flows"][0]
    # Two seconds all of 8 Mbit/s, and two seconds half of it.
    assert flow["goodput_bps"] == pytest.approx(6e6, rel=0.05)
    assert flow["lost_overflow"] > 800
    (tmp_path / "x.csv").write_text(
        "time_s,rtt_ms,rate_down_mbps,loss_down_percent\n0,40,20,0\n2,40,20,25\n4,40,20,25\n"
    )
    flow = to.Scenario.from_toml(scenario(path), base_dir=tmp_path).run().summary["flows"][0]
    # A quarter of half of some four thousand packets; a binomial's deviation is 19.
    assert abs(flow["lost_on_path"] - 500) < 90
    assert flow["lost_overflow"] == 0
    fixed = to.Scenario.from_toml(scenario(path, '"20 Mbit/s"'), base_dir=tmp_path).run().summary
    assert any(warning.startswith("last_hop.rate: 20 Mbit/s holds") for warning in fixed["warnings"])


def test_a_rate_that_the_path_does_not_have_is_refused() -> None:
    with pytest.raises(to.ScenarioError, match=r"last_hop\.rate: \"path\" is the rate"):
        to.Scenario.from_toml(scenario('{ kind = "fixed", delay = "20 ms" }')).check()


def test_parquet_is_read_from_a_scenario_and_runs_again_from_its_result(tmp_path: Path) -> None:
    table = pl.DataFrame({"time_s": [0.0, 2.0, 4.0], "rtt_ms": [40.0, 60.0, 40.0], "rate_down_mbps": [20.0, 4.0, 4.0]})
    table.write_parquet(tmp_path / "x.parquet")
    table.write_csv(tmp_path / "x.csv")
    runs = [
        to.Scenario.from_toml(scenario(f'{{ kind = "trace", file = "x.{kind}" }}'), base_dir=tmp_path).run()
        for kind in ("parquet", "csv")
    ]
    assert runs[0].summary["digest"] == runs[1].summary["digest"]
    runs[0].save(tmp_path / "result")
    again = to.Scenario.load(tmp_path / "result" / "scenario.toml").run()
    assert again.summary["digest"] == runs[0].summary["digest"]
    assert to.trace.course({"kind": "trace", "file": "x.parquet"}, base_dir=tmp_path)["rate_down_bps"][0] == 20e6


def probes(seconds: float, seed: int) -> pl.DataFrame:
    """Round trips of the model, ten a second."""
    table = to.trace.course({"kind": "starlink", "model": "lagos-2023"}, duration_s=seconds, step_s=0.1, seed=seed)
    return table.select("time_s", rtt_ms=(pl.col("delay_down_s") + pl.col("delay_up_s")) * 1e3)


def test_a_fit_to_the_model_s_own_probes_finds_its_parameters() -> None:
    """The epochs' begin, levels and correlations come back, and the intervals hold them."""
    given = to.trace.fit(probes(6_000.0, 1), resamples=30)
    of_lagos = to.trace.course({"kind": "starlink", "model": "lagos-2023"}, duration_s=1.0)
    assert of_lagos.height > 10
    assert given.parameters["first_s"] == 12.5
    found = {row["parameter"]: row for row in given.intervals.iter_rows(named=True)}
    # As crates/orbit/measured/lagos-2023.toml has them.
    assert found["level_correlation"]["low"] < 0.444 < found["level_correlation"]["high"]
    assert found["burst_at_epoch"]["low"] < 0.2133 < found["burst_at_epoch"]["high"]
    assert 110 < found["level_median_ms"]["low"] < found["level_median_ms"]["high"] < 135


def test_as_many_losses_are_of_epochs_as_chance_does_not_explain() -> None:
    """Many lengths, of which some are near the begin less often than by chance."""
    chance = random.Random(1)
    found = []
    for _ in range(20):
        since = [chance.uniform(0, 15) for _ in range(200)] + [chance.gauss(1.0, 0.1) for _ in range(60)]
        lost = pl.DataFrame({"since": since, "length": [chance.randrange(1, 40) for _ in since]})
        weighed = calibrate._weighed(lost)
        found.append(float(weighed.filter(pl.col("is_of_epoch"))["weight"].sum()))

    # Each has the deviation of some 80 near ones, and of 120 others by 2/3 of them.
    assert sum(found) / len(found) == pytest.approx(60, abs=3 * (80 + 120 * 4 / 9) ** 0.5 / 20**0.5)


@pytest.mark.parametrize(("bursts_per_s", "alone"), [(0.03, 0.0), (0.0, 0.02)])
def test_losses_at_any_time_are_not_those_of_epochs(tmp_path: Path, bursts_per_s: float, alone: float) -> None:
    of = tomllib.loads((ROOT / "crates/orbit/measured/seattle-2023.toml").read_text())
    bursts = {"burst_at_epoch": 0.3, "burst_after_s": 1.0, "bursts_per_s": bursts_per_s, "burst_ms": [300.0, 500.0]}
    (tmp_path / "truth.toml").write_text(tomli_w.dumps({**of, **bursts, "first_s": 12.0}))
    model = {"kind": "starlink", "file": "truth.toml", "start": "12 s"}
    table = to.trace.course(model, duration_s=10_800.0, step_s=0.1, seed=3, base_dir=tmp_path)
    chance = random.Random(5)
    is_lost = pl.Series([chance.random() < alone for _ in range(len(table))])
    rtt = pl.when(is_lost).then(None).otherwise((pl.col("delay_down_s") + pl.col("delay_up_s")) * 1e3)
    found = to.trace.fit(
        table.select(unix_time_s=pl.col("time_s") + 12.0, rtt_ms=rtt), first_s=12.0, single_losses=True, resamples=2
    )

    assert found.parameters["burst_at_epoch"] == pytest.approx(0.3, abs=0.06)
    # Two probes in a row that are lost alone are a burst.
    assert found.parameters["bursts_per_s"] == pytest.approx(bursts_per_s + 10 * alone**2, abs=0.006)
    assert found.parameters["loss"] == pytest.approx(alone * (1 - alone) ** 2, abs=0.0015)
    assert found.parameters["burst_ms"][20] == pytest.approx(400, abs=60)
    assert found.parameters["burst_after_s"] == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(("own", "other"), [("time_s", "unix_time_s"), ("unix_time_s", "time_s")])
def test_rates_of_another_beginning_are_refused(own: str, other: str) -> None:
    table = probes(120.0, 1)
    table = table.rename({table.columns[0]: other})
    rates = pl.DataFrame({own: [float(second) for second in range(120)], "rate_down_mbps": [50.0] * 120})
    with pytest.raises(to.ScenarioError, match=f"rates: have {own} where the round trips have {other}"):
        to.trace.fit(table, rates=rates, resamples=2)
    same = to.trace.fit(table, rates=rates.rename({own: other}), first_s=0.0, resamples=2)
    assert set(same.parameters["rate_mbps"]) == {50.0}


def test_a_round_trip_that_is_no_number_is_a_lost_probe(tmp_path: Path) -> None:
    rows = [f"{n / 10},{'nan' if n % 10 == 3 else 40 + n % 7}" for n in range(1200)]
    (tmp_path / "nan.csv").write_text("\n".join(["time_s,rtt_ms", *rows]))
    table = to.trace.read(tmp_path / "nan.csv").table
    assert table["rtt_ms"].null_count() == 120
    assert not table["rtt_ms"].is_nan().any()


def test_a_probe_that_a_dish_has_no_answer_to_is_lost(tmp_path: Path) -> None:
    rows = ["timestamp,status_pop_ping_latency_ms,status_pop_ping_drop_rate", "0,40,0", "1,-1,1", "2,41,0"]
    (tmp_path / "dish.csv").write_text("\n".join(rows))
    table = to.trace.read(tmp_path / "dish.csv").table
    assert table["rtt_ms"].to_list() == [40.0, None, 41.0]
    assert table["loss_percent"].to_list() == [0.0, 100.0, 0.0]


def test_calibrate_writes_a_file_that_a_scenario_names(command: Command, here: Path) -> None:
    probes(1200.0, 2).write_csv("rtt.csv")
    done = command("calibrate", "rtt.csv", "--first", "12 s", "--summary", "a test", "--out", "mine.toml")
    assert done.code == 0, done.err
    assert "level_correlation" in done.out
    course = to.trace.course({"kind": "starlink", "file": "mine.toml"}, duration_s=60.0, base_dir=here)
    assert course["delay_down_s"].drop_nulls().len() > 1000
    Path("mine.toml").write_text(Path("mine.toml").read_text().replace("loss = ", "loss = 7"))
    wrong = command("trace", "show", "--path", '{ kind = "starlink", file = "mine.toml" }')
    assert wrong.code == 2
    assert "mine.toml: loss: 7" in wrong.err
    late = command("calibrate", "rtt.csv", "--first", "20 s")
    assert (late.code, late.err) == (2, 'transorbit: --first: "20 s" must be below 15 s\n')


def test_the_model_that_is_shown_with_a_step_is_found_again(command: Command, here: Path) -> None:
    model = ("trace", "show", "--path", '{ kind = "starlink" }', "--duration", "2 h", "--csv", "model.csv")
    columns = ("--column", "time_s=time_s", "--column", "one_way_delay_s=delay_down_s")
    assert command(*model, "--step", "20 ms").code == 0
    fitted = command("calibrate", "model.csv", *columns, "--first", "12 s", "--out", "fitted.toml")
    assert fitted.code == 0, fitted.err
    found = tomllib.loads((here / "fitted.toml").read_text())
    lost = pl.read_csv("model.csv")["delay_down_s"].is_null()
    outages, lasted_s = int((lost & ~lost.shift(1, fill_value=False)).sum()), 0.02 * int(lost.sum())
    # One or two of them are too short to be told from single losses.
    assert 7200 * (found["bursts_per_s"] + found["burst_at_epoch"] / 15) == pytest.approx(outages, rel=0.1)
    refitted = to.trace.course({"kind": "starlink", "file": "fitted.toml"}, duration_s=7200.0, step_s=0.02)
    assert 0.02 * refitted["delay_down_s"].null_count() == pytest.approx(lasted_s, rel=0.5)


def test_seeds_have_courses_of_their_own_and_one_seed_always_the_same() -> None:
    first, again, other = (probes(60.0, seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    buffer = io.BytesIO()
    first.write_parquet(buffer)
    assert to.trace.csv_of_parquet(buffer.getvalue()).startswith(b"time_s,rtt_ms\n")


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("when,ping avg\n0,40\n1,50\n")
    columns = {"time_s": "when", "rtt_ms": "ping avg"}
    lab = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace({"duration": "1 s"})
    path = {"kind": "trace", "file": str(tmp_path / "mine.csv"), "columns": columns}
    assert lab.replace({"path": path}).run().summary["path"]["one_way_delay_min_s"] == pytest.approx(0.020)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time_s,rtt_ms\n0,40\nx,41\n2,40\n", 'line 3, column "time_s"'),
        ("time_s,rtt_s\n0,45000\n1,45000\n", "45000"),
        ("time_s,rtt_ms,loss_percent\n0,40,120\n1,40,0\n", "120"),
        ("time_s,rtt_ms\n0,40\n1,abc\n", "mine.csv: line 3, column \"rtt_ms\": 'abc' is not a number"),
        ("time_s,pop_ping_latency_ms\n0,x\n", "line 2, column \"pop_ping_latency_ms\": 'x' is not a number"),
        ("0,0.1\n1,abc\n", "mine.csv: no table: could not parse `abc`"),
        ("time_s,rtt_ms\n0,40\n1,-1\n", 'line 3, column "rtt_ms": -1 must be more than 0'),
        ("unix_time_s,rtt_ms\n1700000001.5,40\n1700000000.25,41\n", "time 1700000000.25 s is before 1700000001.5 s"),
    ],
)
def test_import_refuses_what_no_run_takes(command: Command, here: Path, text: str, says: str) -> None:
    (here / "mine.csv").write_text(text)
    done = command("trace", "import", "mine.csv", "--out", "path.csv")
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1
    assert not (here / "path.csv").exists()


def test_a_cell_that_is_no_number_is_told_with_its_line(here: Path) -> None:
    (here / "mine.csv").write_text("time_s,rtt_ms,rate_mbps\n0,40, 5\n1,,\n2,41,fast\n")
    with pytest.raises(to.ScenarioError, match=r"^mine\.csv: line 4, column .rate_mbps.: .fast. is not a number$"):
        to.trace.read("mine.csv")
    (here / "mine.csv").write_text("time_s,rtt_ms\n0,40\n1,\n2, 41\n")
    assert to.trace.read("mine.csv").table["rtt_ms"].to_list() == [40, None, 41]


def test_import_replaces_nothing(command: Command, here: Path) -> None:
    (here / "mine.csv").write_text("time_s,rtt_ms\n0,40\n1,41\n")
    before = (here / "mine.csv").read_bytes()
    done = command("trace", "import", "mine.csv", "--out", "mine.csv")
    assert (done.code, (here / "mine.csv").read_bytes()) == (2, before)
    assert "--force" in done.err
    assert command("trace", "import", "mine.csv", "--out", "mine.csv", "--force").code == 0
    assert command("trace", "import", "mine.csv", "--out", "path.txt").code == 2


def test_show_takes_the_names_of_columns_and_the_median_is_between_two(command: Command, here: Path) -> None:
    (here / "mine.csv").write_text("when,ping avg\n0,10\n1,20\n2,30\n3,80\n")
    names = ("--column", "time_s=when", "--column", "rtt_ms=ping avg")

    told = command("trace", "import", "mine.csv", *names)
    shown = command("trace", "show", "mine.csv", *names)

    assert "median 25, 10 to 80" in told.out, told
    assert shown.code == 0, shown.err
    assert "round trip (ms)" in shown.out
    assert "80" in shown.out
    assert "--column" in command("trace", "show", "--path", '{kind="starlink"}', *names).err


def test_a_course_is_summed_up_over_time() -> None:
    """Ten rows at its end do not weigh as much as the hundred seconds before them."""
    held: list[float | None] = [None] * 12
    table = pl.DataFrame(
        {
            "time_s": [0.0, *(100 + index / 10 for index in range(11))],
            "delay_down_s": [0.02, *[0.08] * 11],
            "delay_up_s": [0.02, *[0.08] * 11],
            "rate_down_bps": [1e7, *[1e6] * 11],
            **{name: pl.Series(held, dtype=pl.Float64) for name in ("rate_up_bps", "loss_down", "loss_up")},
        }
    )
    trip, rate = to.trace.summary(table).rows(named=True)

    assert (trip["least"], trip["most"], trip["absent_share"]) == (40.0, 160.0, 0.0)
    # From 40 to 160 ms in the first 100 of 101 s.
    assert [trip[name] for name in ("p5", "median", "p95")] == pytest.approx([46.06, 100.6, 155.14])
    assert (rate["least"], rate["p5"], rate["median"], rate["most"]) == (1.0, 10.0, 10.0, 10.0)


def test_dates_are_read_with_their_offset_from_utc(tmp_path: Path) -> None:
    """An hour that is there twice, as at the end of summer time, goes forward."""
    (tmp_path / "dated.csv").write_text(
        "timestamp,rtt_ms\n2024-10-27T02:59:59+0200,40\n2024-10-27 02:00:00+01:00,41\n2024-10-27T01:00:01Z,42\n"
        "2024-10-26T21:30:02-03:30,43\n"
    )
    times = to.trace.read(tmp_path / "dated.csv").table["unix_time_s"].to_list()

    assert times == [1729990799.0, 1729990800.0, 1729990801.0, 1729990802.0]


def _upwards(here: Path, table: str, duration: str) -> dict[str, Any]:
    """An upload of 1,000 B every 4 ms for one second, 2 Mbit/s, over a path whose rate upwards is 1 Mbit/s."""
    (here / "path.csv").write_text(table)
    voice = {"kind": "voice", "rate": "2 Mbit/s", "packet": "1000 B", "activity": "continuous", "length": "1 s"}
    scenario = to.Scenario.from_toml(
        tomli_w.dumps(
            {
                "title": "Upwards",
                "duration": duration,
                "path": {"kind": "trace", "file": "path.csv"},
                "last_hop": {"rate": "10 Mbit/s", "delay": "0 ms"},
                "flows": [{"transport": "udp", "direction": "up", "traffic": voice}],
            }
        ),
        base_dir=here,
    )
    (flow,) = scenario.run().summary["flows"]
    return flow


def test_a_packet_that_waits_for_the_rate_upwards_has_the_delay_of_when_it_leaves(here: Path) -> None:
    table = "time_s,one_way_delay_ms,rate_up_mbps\n0,10,1\n1,10,1\n1.001,210,1\n"
    flow = _upwards(here, table, "4 s")
    assert flow["received_packets"] == 250
    # The last of 95 % waits for 0.95 s.
    assert flow["one_way_delay_p95_s"] == pytest.approx(0.95 + 0.21, abs=0.03)


def test_a_packet_that_waits_for_the_rate_upwards_has_the_loss_of_when_it_leaves(here: Path) -> None:
    flow = _upwards(here, "time_s,one_way_delay_ms,rate_up_mbps,loss_up\n0,10,1,0\n1,10,1,1\n", "4 s")
    # Of 2 Mbit in a second the first half has left by then.
    assert flow["lost_on_path"] == pytest.approx(125, abs=1)


@pytest.mark.parametrize(("duration", "received"), [("2.9 s", 125), ("5 s", 250)])
def test_the_queue_for_the_rate_upwards_stands_still_during_an_outage(here: Path, duration: str, received: int) -> None:
    table = "time_s,one_way_delay_ms,rate_up_mbps\n0,10,1\n1,,1\n3,10,1\n"
    assert _upwards(here, table, duration)["received_packets"] == pytest.approx(received, abs=1)


def test_jitter_makes_packets_of_both_directions_late(here: Path) -> None:
    voice = {"kind": "voice", "activity": "continuous"}
    flows = [{"transport": "udp", "direction": direction, "traffic": voice} for direction in ("down", "up")]
    path = {"kind": "fixed", "delay": "20 ms", "jitter": {"probability": "10 %", "extra": "30 ms"}}
    table = {"title": "Jitter", "duration": "40 s", "path": path, "last_hop": {"rate": "10 Mbit/s", "delay": "1 ms"}}
    down, up = to.Scenario.from_toml(tomli_w.dumps({**table, "flows": flows}), base_dir=here).run().summary["flows"]
    # Whoever is late is overtaken, if the next is not late, too.
    for flow in (down, up):
        assert flow["reordered_packets"] / flow["received_packets"] == pytest.approx(0.09, abs=0.02)
