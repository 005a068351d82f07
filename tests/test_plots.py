"""Figures of tables, sweeps and runs: they show the right numbers, can be printed, and are written with their data."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
import pytest
from matplotlib.figure import Figure

import transorbit as to
from conftest import ROOT
from transorbit import packets, plots
from transorbit.plots import scales
from transorbit.plots.sequence import _unwrapped
from transorbit.plots.spectral import spectral_efficiency
from transorbit.sweep import Sweep, SweepResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[SweepResult, Path]:
    """A sweep with two axes and one that follows from the first, and its folder."""
    text = f"""
        title = "Reordering"
        scenario = "{ROOT / "scenarios/leo-tcp.toml"}"
        replications = 3
        set = {{ duration = "5 s", "flows.0.count" = 2 }}
        [[axes]]
        [axes.zip]
        snr = {{ key = "channel.reference_snr", values = ["7 dB", "13 dB"] }}
        rate = {{ key = "last_hop.rate", values = ["50 Mbit/s", "80 Mbit/s"] }}
        [[axes]]
        name = "policy"
        cases = {{ plain = {{ "last_hop.reordering.enabled" = false }}, ordered = {{}} }}
        [metrics]
        goodput_mbps = {{ sql = "sum(goodput_bps) / 1e6", label = "Goodput", unit = "Mbit/s" }}
    """
    result = Sweep.from_toml(text).run(jobs=1)
    return result, result.save(tmp_path_factory.mktemp("swept") / "sweep")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> to.Result:
    """Twenty seconds with two flows whose packets were captured, and an upload."""
    changes = {"duration": "20 s", "flows.0.count": 2, "record.packets": "pcapng"}
    scenario = to.Scenario.load(ROOT / "scenarios/leo-tcp.toml").replace(changes)
    folder = tmp_path_factory.mktemp("recorded") / "result"
    scenario.run().save(folder, plots=False)
    return to.Result.load(folder)


# Figures of a sweep


def test_a_sweep_finds_its_axes(swept: tuple[SweepResult, Path]) -> None:
    result, _ = swept
    numbers = plots.numbers(plots.of_sweep("lines", result))
    assert numbers.columns[:2] == ["policy", "snr"], "the rate follows from the SNR"
    assert numbers["count"].to_list() == [3] * 4
    bars = result.plot("bars")
    assert [tick.get_text() for tick in bars.axes[0].get_xticklabels()] == ["plain", "ordered"]
    assert bars.axes[0].get_ylabel() == "Goodput (Mbit/s)"
    assert bars.legends[0].get_title().get_text() == "SNR (dB)"


def test_the_flows_of_a_run_are_one_value_but_in_a_distribution(swept: tuple[SweepResult, Path]) -> None:
    result, _ = swept
    lines = plots.numbers(plots.of_sweep("lines", result, y="flows.goodput_bps"))
    assert lines["count"].to_list() == [3] * 4
    per_run = result.runs.filter(pl.col("policy") == "plain", pl.col("snr") == 7)["goodput_mbps"]
    row = lines.row(by_predicate=(pl.col("policy") == "plain") & (pl.col("snr") == 7), named=True)
    assert row["mean"] == pytest.approx(1e6 * per_run.mean() / 2)

    figure = plots.of_sweep("cdf", result, y="flows.goodput_bps", by="snr", panels="policy")
    assert len(plots.numbers(figure)) == 4 * 3 * 2
    assert figure.axes[0].get_ylabel() == "Flows with at most this (%)"


def test_spectral_efficiency_is_useful_over_coded(swept: tuple[SweepResult, Path]) -> None:
    result, _ = swept
    figure = plots.of_sweep("spectral-efficiency", result, only={"policy": ["plain"]})

    numbers = plots.numbers(figure).filter(pl.col("metric") == "Useful bits per coded bit", pl.col("snr") == 7)
    own = result.runs.filter(pl.col("policy") == "plain", pl.col("snr") == 7)
    useful = (own["last_hop.useful_bps"] / own["last_hop.coded_bps"]).mean()
    assert numbers["mean"].item() == pytest.approx(useful)
    top, low = (" ".join(panel.get_ylabel().split()) for panel in figure.axes[:2])
    assert (top, low) == ("Useful bits per coded bit", "Transmissions per packet")


def test_axes_may_be_called_as_the_numbers_of_a_figure(swept: tuple[SweepResult, Path]) -> None:
    result, _ = swept
    renamed = SweepResult(result.sweep, result.runs, result.flows)
    frame = renamed.runs.with_columns(pl.col("snr").alias("count"), pl.col("snr").cast(pl.Float64).alias("share"))
    figure = spectral_efficiency(frame, x="count", by="policy", panels=None)
    numbers = plots.numbers(figure)
    assert {"mean", "low", "high", "count", "count (axis)", "metric"} <= set(numbers.columns)
    assert set(numbers["count (axis)"]) == set(result.runs["snr"])

    ours = plots.numbers(plots.of_table("cdf", frame, y="goodput_mbps"))
    assert ours["share"].max() == 100, "a column of ours that happens to be called share is no distribution"
    with pytest.raises(to.ScenarioError, match="a column 'share' of its own"):
        plots.of_table("cdf", frame, y="goodput_mbps", by="share")


def test_a_long_name_of_the_vertical_axis_fits_its_panel(swept: tuple[SweepResult, Path]) -> None:
    result, _ = swept
    label = "Spurious retransmissions per packet that was retransmitted (%)"
    frame = result.runs.with_columns(pl.col("snr").alias("spurious_percent"))
    figure = plots.of_table("bars", frame, x="policy", y="spurious_percent", labels={"spurious_percent": label})
    (panel, *_) = figure.axes
    assert " ".join(panel.get_ylabel().split()) == label
    figure.canvas.draw()
    box, page = panel.yaxis.label.get_window_extent(), figure.bbox
    assert page.y0 <= box.y0
    assert box.y1 <= page.y1


def test_an_axis_that_is_left_over_is_not_averaged(swept: tuple[SweepResult, Path]) -> None:
    result, _ = swept
    with pytest.raises(to.ScenarioError, match="only: the axis 'policy' has several values too"):
        plots.of_sweep("lines", result, x="snr", by="rate", panels="snr")
    with pytest.raises(to.ScenarioError, match=r"only\.snr: '8 dB' is no value of the axis \(it has 7 dB, 13 dB"):
        plots.of_sweep("lines", result, only={"snr": ["8 dB"]})
    with pytest.raises(to.ScenarioError, match=r"^only\.policy: 'plain' was given, a list is expected"):
        plots.of_sweep("lines", result, only={"policy": "plain"})
    with pytest.raises(to.ScenarioError, match=r"^y: 3 was given, a list is expected"):
        plots.of_sweep("lines", result, y=3)
    with pytest.raises(to.ScenarioError, match=r"^width: 'wide' was given, a number is expected"):
        plots.of_sweep("lines", result, only={"policy": ["plain"]}, width="wide")
    with pytest.raises(to.ScenarioError, match=r"no column 'goodput' in runs and flows; did you mean .*goodput_m"):
        plots.of_sweep("lines", result, y="goodput")


def test_an_option_that_a_kind_lacks_is_refused_and_those_it_has_are_drawn(swept: tuple[SweepResult, Path]) -> None:
    result, _ = swept
    with pytest.raises(to.ScenarioError, match=r"^x: is not for cdf, "):
        result.plot("cdf", y="goodput_mbps", x="snr")
    with pytest.raises(to.ScenarioError, match=r"^y: is not for spectral-efficiency, "):
        result.plot("spectral-efficiency", y="goodput_mbps")
    with pytest.raises(to.ScenarioError, match=r"^along: is for a tradeoff, not for spectral-efficiency$"):
        result.plot("spectral-efficiency", along="snr")

    panels = result.plot("cdf", y="goodput_mbps", panels="policy")
    assert [ax.get_title(loc="left") for ax in panels.axes] == ["Policy: plain", "Policy: ordered"]
    lines = result.plot("spectral-efficiency", by="policy")
    assert [text.get_text() for text in lines.legends[0].get_texts()] == ["plain", "ordered"]


# Figures of a run


def test_every_figure_of_a_run_has_its_numbers(recorded: to.Result) -> None:
    for name in plots.ALL:
        figure = plots.draw(name, recorded)
        if figure is None:
            continue
        numbers = plots.numbers(figure)
        assert {"panel", "x"} <= set(numbers.columns), name
        assert len(numbers) > 20, name
    goodput = plots.numbers(plots.goodput(recorded))
    mean = goodput.filter(pl.col("series").str.starts_with("mean"))
    assert mean["y"].item() == pytest.approx(recorded.goodput_bps / 1e6)
    shares = plots.numbers(plots.harq(recorded)).filter(pl.col("series") == "never")
    assert set(shares["high"].round(6)) <= {100.0, 0.0}


def test_states_stand_at_their_instants_and_rates_in_the_middle_of_their_intervals(lab: to.Scenario) -> None:
    edits = {"duration": "2.2 s", "path.delay": "1 ms", "last_hop.delay": "1 ms", "record.interval": "500 ms"}
    result = lab.replace(edits).run()
    series = result.series
    assert series["time_s"].to_list() == [0.0, 0.5, 1.0, 1.5, 2.0]

    of_window = plots.numbers(plots.window(result))
    round_trip = of_window.filter(pl.col("series") == "smoothed RTT").drop_nans("y")
    known = series.drop_nulls("srtt_s")
    assert round_trip["x"].to_list() == pytest.approx(known["time_s"].to_list())
    assert round_trip["y"].to_list() == pytest.approx((known["srtt_s"] * 1e3).to_list())
    goodput = plots.numbers(plots.goodput(result)).filter(~pl.col("series").str.starts_with("mean"))
    assert goodput["x"].to_list() == pytest.approx([0.25, 0.75, 1.25, 1.75])
    assert goodput["y"].to_list() == pytest.approx((series["goodput_bps"] / 1e6).to_list()[1:])
    of_queue = plots.numbers(plots.queue(result))
    waiting = of_queue.filter(pl.col("series") == "mean")
    load = of_queue.filter(pl.col("panel").str.starts_with("Coded rate"))
    assert waiting["y"].to_list() == pytest.approx(series["queue_packets"].to_list())
    assert load["y"].to_list() == pytest.approx((series["coded_bps"] / 1e6).to_list()[1:])


def test_bins_hold_as_many_instants_each() -> None:
    series = pl.DataFrame({"time_s": [n * 0.3 for n in range(1000)]})
    for bins in (7, 300, 998, 999, 2000):
        at, over = plots.run.instants(series, bins), plots.run.intervals(series, bins)
        assert (len(at), len(over)) == (1000, 999)
        assert over["bin"].n_unique() <= bins
        for found in (at, over):
            counts = found.group_by("bin", maintain_order=True).len()["len"]
            assert counts[:-1].n_unique() <= 1
            assert counts[-1] <= counts[0]
        assert (at["bin"] <= at["time_s"]).all()
        assert (over["bin"] < over["time_s"]).all()
    assert plots.run.intervals(series.head(1), 300)["bin"].to_list() == [0.0]
    # Points stand in the middle of their bins, also of the last, which may be shorter.
    few = pl.DataFrame({"time_s": [float(n) for n in range(8)]})
    assert plots.run.instants(few, 3)["centre"].to_list() == [1.0] * 3 + [4.0] * 3 + [6.5] * 2
    assert plots.run.intervals(few, 3)["centre"].to_list() == [1.5] * 3 + [4.5] * 3 + [6.5]


def test_a_comparison_takes_each_rate_into_the_interval_that_it_tells_of(lab: to.Scenario) -> None:
    result = lab.replace({"duration": "3 s", "record.interval": "500 ms"}).run()
    steps = plots.numbers(plots.compare_goodput({"lab": result}, bin_s=1.0)).filter(pl.col("x").is_in([0.0, 1.0]))
    rates = (result.series["goodput_bps"] / 1e6).to_list()
    drawn = dict(zip(steps["x"], steps["y"], strict=True))
    assert drawn[0.0] == pytest.approx((rates[1] + rates[2]) / 2)
    assert drawn[1.0] == pytest.approx((rates[3] + rates[4]) / 2)
    longer = plots.numbers(plots.compare_goodput({"lab": result}))
    assert {0.0, 3.0} <= set(longer["x"]), "one step over the whole run"


def test_a_flow_has_its_colour_of_our_own_whatever_draws_it(lab: to.Scenario) -> None:
    figure = plots.goodput(lab.replace({"duration": "2 s", "flows.0.count": 3}).run())
    assert figure is not None
    assert {line.get_color() for line in figure.axes[0].lines} <= {*plots.style.CYCLE, plots.style.GREY}


def test_a_state_that_is_known_late_stands_at_its_instant() -> None:
    edits = {"duration": "0.6 s", "record.interval": "500 ms"}
    result = to.Scenario.load(ROOT / "scenarios/game.toml").replace(edits).run()
    assert result.series.drop_nulls("down_delay_s")["time_s"].unique().to_list() == [0.5]
    figure = Figure()
    plots.application.panel(figure.subplots(), result, plots.application.DOWN)
    assert set(plots.numbers(figure)["x"]) == {0.5}


def test_the_return_link_waits_at_instants() -> None:
    edits = {"duration": "3 s", "record.interval": "500 ms"}
    result = to.Scenario.load(ROOT / "scenarios/geo-dvbrcs2.toml").replace(edits).run()
    one = result.series.filter(flow=0)
    found = plots.numbers(plots.return_link(result)).filter(pl.col("panel").str.starts_with("Waiting"))
    assert found["x"].to_list() == one["time_s"].to_list()
    assert found["y"].to_list() == one["waiting_datagrams"].to_list()


def test_users_who_opened_nothing_are_not_in_their_figure(lab: to.Scenario) -> None:
    flows = [
        {"count": count, "transport": {"kind": "tcp"}, "traffic": {"kind": "bulk", "size": "200 kB", "start": start}}
        for count, start in ((3, "0 s"), (2, "1 s"), (2, "5 s"))
    ]
    result = lab.replace({"duration": "2 s", "flows": flows}).run()

    users = result.summary["users"]
    goodput = plots.users._goodput_of_users(result)
    assert len(goodput) == users["count"] == 5
    found = [goodput.min(), goodput.mean(), goodput.max()]
    assert found == pytest.approx([users[f"goodput_{name}_bps"] for name in ("min", "mean", "max")])


def test_a_timeline_is_the_series_of_its_flow(recorded: to.Result) -> None:
    figure = plots.timeline(recorded, flow=1, from_s=5.0, until_s=10.0)

    assert figure is not None
    numbers = plots.numbers(figure)
    own = recorded.series.filter(pl.col("flow") == 1, pl.col("time_s").is_between(5, 10))
    assert numbers["cwnd_packets"].to_list() == own["cwnd_packets"].to_list()
    reference = recorded.summary["channel"]["reference_snr_db"]
    assert numbers["snr_db"].to_list() == pytest.approx([reference - loss for loss in own["attenuation_db"]])
    assert [ax.get_ylabel().split("\n")[0] for ax in figure.axes] == ["Window", "Smoothed RTT", "Queue", "SNR (dB)"]
    assert len({ax.get_xlim() for ax in figure.axes}) == 1
    order = [line.get_label() for line in figure.axes[0].lines]
    assert order.index("in flight") > order.index("congestion window"), "which it would be hidden under"
    with pytest.raises(to.ScenarioError, match="there is no flow 5: 0 to 1"):
        plots.timeline(recorded, flow=5)


def test_a_long_timeline_is_averaged_and_counts_everything(leo: to.Scenario) -> None:
    result = leo.replace({"duration": "150 s"}).run()

    numbers = plots.numbers(plots.timeline(result))  # type: ignore[arg-type]

    assert len(numbers) < len(result.series)
    assert numbers["retransmitted_packets"].sum() == result.summary["flows"][0]["retransmitted_packets"]


@pytest.mark.parametrize("flow", [0, 1])
def test_a_sequence_graph_counts_what_the_summary_counts(recorded: to.Result, flow: int) -> None:
    figure = plots.sequence(recorded, flow=flow, from_s=0, until_s=20)

    events = plots.numbers(figure)
    summary = recorded.summary["flows"][flow]
    count = dict(events["kind"].value_counts().rows())
    assert count["retransmission"] == summary["retransmitted_packets"] > 0
    assert count["segment"] + count["retransmission"] == summary["sent_packets"]
    # A segment begins where the one before it ended.
    fresh = events.filter(pl.col("kind") == "segment")
    assert fresh["low"].to_list() == [0, *fresh["high"][:-1]]
    level = events.filter(pl.col("kind") == "acknowledgment")["high"]
    assert level.is_sorted()
    assert 0 < summary["delivered_bytes"] - level.max() < 300_000
    blocks = events.filter(pl.col("kind") == "sack")
    assert (blocks["high"] > blocks["low"]).all()
    assert blocks["high"].max() <= fresh["high"].max()
    repeated = sum(before == after for before, after in pairwise(level))
    assert repeated >= summary["duplicate_acks"]


def test_a_sequence_graph_shows_the_first_loss_by_itself(recorded: to.Result) -> None:
    figure = plots.sequence(recorded)

    begin, end = figure.axes[0].get_xlim()
    assert end - begin == pytest.approx(12 * recorded.summary["flows"][0]["rtt_mean_s"])
    assert "retransmission" in set(plots.numbers(figure)["kind"])


def test_a_sequence_graph_of_an_upload_is_the_users(lab: to.Scenario) -> None:
    changes = {"duration": "1 s", "flows.0.direction": "up", "record.packets": "pcapng", "last_hop.rate": "2 Mbit/s"}
    result = lab.replace(changes).run()

    events = plots.numbers(plots.sequence(result, from_s=0, until_s=1))

    sent = events.filter(pl.col("kind").is_in(["segment", "retransmission"]))
    assert len(sent) == result.summary["flows"][0]["sent_packets"] > 10


def test_sequence_graphs_need_packets_of_tcp(lab: to.Scenario, recorded: to.Result) -> None:
    with pytest.raises(to.ScenarioError, match=r"record\.packets"):
        plots.sequence(lab.run())
    with pytest.raises(to.ScenarioError, match="flow: 7 is no flow with TCP: 0, 1"):
        plots.sequence(recorded, flow=7)
    datagrams = lab.replace({"flows.0.transport": "udp", "flows.0.traffic": "voice", "record.packets": "pcapng"})
    with pytest.raises(to.ScenarioError, match="flow: the captures have no packets of TCP"):
        plots.sequence(datagrams.replace({"duration": "1 s"}).run())
    with pytest.raises(to.ScenarioError, match="place: the result has no packets at the moon"):
        plots.sequence(recorded, place="moon")
    with pytest.raises(to.ScenarioError, match="no packets between 90 s and 95 s"):
        plots.sequence(recorded, from_s=90, until_s=95)


def test_offsets_go_on_where_32_bits_end() -> None:
    assert _unwrapped(5, (1 << 32) - 10) == (1 << 32) + 5
    assert _unwrapped(5, 10) == 5
    assert _unwrapped((1 << 32) - 1, (1 << 32) + 5) == (1 << 32) - 1
    assert _unwrapped(7, 3 << 32) == (3 << 32) + 7


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_packets_are_read_as_tshark_reads_them(recorded: to.Result) -> None:
    fields = ["frame.time_epoch", "ip.src", "tcp.seq_raw", "tcp.ack_raw", "tcp.window_size", "tcp.len", "ip.id"]
    named = [word for field in [*fields, "tcp.options.sack_le", "tcp.options.sack_re"] for word in ("-e", field)]
    raw = ["-o", "tcp.relative_sequence_numbers:FALSE"]
    for file in (recorded.captures["sender"], recorded.captures["receiver"]):
        command = ["tshark", "-n", "-r", str(file), *raw, "-T", "fields", "-E", "separator=;", *named]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        theirs = [line.split(";") for line in done.stdout.splitlines()]
        ours = packets.read(file)
        assert len(ours) == len(theirs) > 1000
        columns = list(zip(*theirs, strict=True))
        assert [round(at * 1e9) for at in ours["time_s"]] == [round(float(at) * 1e9) for at in columns[0]]
        assert ours["source"].to_list() == list(columns[1])
        for name, column in zip(("sequence", "acknowledgment", "window", "payload_bytes"), columns[2:6], strict=True):
            assert ours[name].to_list() == list(map(int, column)), name
        assert ours["identification"].to_list() == [int(number, 16) for number in columns[6]]
        edges = [[list(map(int, edge.split(","))) if edge else [] for edge in column] for column in columns[7:]]
        sacks = [[list(pair) for pair in zip(*both, strict=True)] for both in zip(*edges, strict=True)]
        assert ours["sack"].to_list() == sacks
        assert any(sacks)


def test_a_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"not a capture at all")

    with pytest.raises(to.ScenarioError, match="is no capture"):
        packets.read(tmp_path / "file")


# The command


def test_the_command_lists_what_a_folder_can_be_drawn_as(
    command: Callable[..., Outcome], swept: tuple[SweepResult, Path]
) -> None:
    assert (
        command("run", "scenarios/lab-fixed.toml", "--set", "duration=2 s", "--out", "r", "--quiet", "--no-plots").code
        == 0
    )

    of_run, of_sweep = command("plot", "r"), command("plot", str(swept[1]))

    assert (of_run.code, of_sweep.code) == (0, 0)
    names = [line.split()[0] for line in of_run.out.splitlines()]
    assert {"goodput", "window", "timeline"} <= set(names)
    assert not {"sequence", "voice"} & set(names), "no packets, no voices"
    assert "axes: snr, rate, policy; metrics: goodput_mbps" in of_sweep.out
    assert {"lines", "bars", "cdf", "heatmap", "spectral-efficiency"} <= set(of_sweep.out.split())


def test_the_command_draws_and_writes_numbers_where_asked(
    command: Callable[..., Outcome], swept: tuple[SweepResult, Path], here: Path
) -> None:
    folder = str(swept[1])
    done = command("plot", folder, "lines", "--only", "policy=plain", "--width", "88 mm", "--out", "f/lines.pdf")
    assert done.code == 0, done.err
    assert done.out.split() == ["Figure:", "f/lines.pdf"]
    assert [path.name for path in (here / "f").iterdir()] == ["lines.pdf"], "numbers only where they are asked for"
    numbers = ("lines", "--only", "policy=plain", "--out", "f/again.pdf", "--data", "f/lines.csv")
    assert command("plot", folder, *numbers).code == 0
    assert pl.read_csv(here / "f/lines.csv")["snr"].to_list() == [7.0, 13.0]
    # 88 mm are 249 points.
    assert b"/MediaBox [ 0 0 249.4" in (here / "f/lines.pdf").read_bytes()

    flows = ("cdf", "--y", "flows.goodput_bps", "--by", "snr", "--panels", "policy")
    done = command("plot", folder, *flows, "--data", "f/cdf.csv")
    assert done.code == 0, done.err
    assert done.out.split()[-2:] == ["Numbers:", "f/cdf.csv"]
    stem = swept[1] / "plots/cdf-flows.goodput_bps"
    drawn = {path.suffix for path in stem.parent.iterdir() if path.stem == stem.name}
    assert drawn == {".svg", ".pdf"}


def test_the_command_says_which_runs_a_figure_lacks(
    command: Callable[..., Outcome], swept: tuple[SweepResult, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    assert command("plot", str(swept[1]), "lines", "--out", "whole.svg").err == ""

    def drawn_with(changed: pl.DataFrame) -> Outcome:
        shutil.rmtree(folder, ignore_errors=True)
        good = changed.filter(pl.col("status") == "ok")["key"].to_list()
        SweepResult(swept[0].sweep, changed, swept[0].flows.filter(pl.col("key").is_in(good))).save(folder)
        return command("plot", str(folder), "lines", "--out", "lines.svg")

    runs = swept[0].runs
    done = drawn_with(runs.filter((pl.col("point") < 2) & ((pl.col("point") != 1) | (pl.col("replication") < 1))))
    assert done.code == 0
    assert done.err == "transorbit: of 12 runs 8 missing; nothing for snr = 13 dB; rate = 80 Mbit/s\n"

    first = (pl.col("point") == 0) & (pl.col("replication") == 0)
    lost = runs.with_columns(status=pl.when(first).then(pl.lit("failed")).otherwise("status"))
    assert drawn_with(lost).err == "transorbit: of 12 runs 1 failed\n"
    assert drawn_with(lost.head(11)).err == "transorbit: of 12 runs 1 missing and 1 failed\n"


def test_the_command_says_what_is_not_drawn(
    command: Callable[..., Outcome], swept: tuple[SweepResult, Path], tmp_path: Path
) -> None:
    result, _ = swept
    runs = result.runs.with_columns(goodput_mbps=pl.when(pl.col("point") == 0).then(0.0).otherwise("goodput_mbps"))
    folder = SweepResult(result.sweep, runs, result.flows).save(tmp_path / "sweep")

    done = command("plot", str(folder), "lines", "--log", "y", "--out", "lines.svg")

    assert (done.code, done.err) == (0, "transorbit: Not drawn on logarithmic axes: 1 point at 0 or below\n")


def test_a_result_with_figures_is_replaced_like_any(command: Callable[..., Outcome], here: Path) -> None:
    run = (
        "run",
        "scenarios/leo-tcp.toml",
        "--set",
        "duration=2 s",
        "--set",
        "record.packets=pcapng",
        "--out",
        "r",
        "--no-plots",
    )
    assert command(*run, "--quiet").code == 0
    for kind in ("timeline", "sequence", "goodput"):
        done = command("plot", "r", kind, "--width", "single", "--data", f"r/plots/{kind}.csv")
        assert done.code == 0, done.err
    assert {"timeline.pdf", "sequence.csv", "goodput.csv"} <= {path.name for path in (here / "r/plots").iterdir()}

    assert command(*run, "--quiet").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("SWEEP", "linse"), "plot: there is no kind 'linse' for a sweep; did you mean lines"),
        (("SWEEP", "goodput"), "plot: there is no kind 'goodput' for a sweep"),
        (("SWEEP", "lines", "--y", "goodput"), "--y: there is no column 'goodput'"),
        (("SWEEP", "lines", "--only", "snr=9"), "--only: snr: '9' is no value of the axis (it has 7 dB, 13 dB)"),
        (("SWEEP", "lines", "--only", "snr"), "--only: 'snr' is not AXIS=VALUE"),
        (("SWEEP", "bars", "--x", "warnings"), "--x: the column 'warnings' holds lists"),
        (("SWEEP", "cdf", "--x", "snr"), "--x: is not for cdf"),
        (("SWEEP", "spectral-efficiency", "--y", "nope"), "--y: is not for spectral-efficiency"),
        (("SWEEP", "spectral-efficiency", "--along", "snr"), "--along: is for a tradeoff, not for spectral-efficiency"),
        (("SWEEP", "bars", "--y", "goodput_mbps", "--log", "x"), "--log: 'x' is not for bars"),
        (("SWEEP", "lines", "--flow", "1"), "--flow: is not for a sweep"),
        (("SWEEP", "lines", "--width", "1 mm"), "--width: '1 mm'"),
        (("SWEEP", "lines", "--out", "lines.gif"), "--out: lines.gif: the name must end in .svg, .pdf, .png"),
        (("RESULT", "timelin"), "plot: there is no kind 'timelin' for a result; did you mean timeline"),
        (("RESULT", "voice"), "plot: voice: the run has nothing to show in this plot"),
        (("RESULT", "goodput", "--flow", "0"), "--flow: is not for goodput"),
        (("RESULT", "timeline", "--place", "sender"), "--place: is not for a timeline"),
        (("RESULT", "timeline", "--by", "snr"), "--by: is not for a result"),
        (("RESULT", "timeline", "--from", "10"), '--from: "10" is not a duration'),
        (("nowhere",), "plot: nowhere: no such folder"),
        (("scenarios",), "plot: scenarios: is neither the folder of a result nor that of a sweep"),
    ],
)
def test_mistakes_are_told_in_one_line(
    command: Callable[..., Outcome],
    swept: tuple[SweepResult, Path],
    recorded: to.Result,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    folders = {"SWEEP": str(swept[1]), "RESULT": str(next(iter(recorded.captures.values())).parent)}

    done = command("plot", *(folders.get(word, word) for word in arguments))

    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert done.err.count("\n") == 1


def test_transfers_that_did_not_end_are_in_the_share_of_those_that_did(lab: to.Scenario) -> None:
    edits = {"duration": "6 s", "flows.0.count": 60, "flows.0.traffic": {"kind": "bulk", "size": "600 kB"}}
    result = lab.replace({**edits, "flows.0.start_spread": "5 s"}).run()
    begun = result.flows.drop_nulls("opened_s")
    ended = begun.drop_nulls("completion_s")
    assert 5 < len(ended) < len(begun)

    drawn = plots.numbers(plots.completion(result))

    assert drawn["y"].max() == pytest.approx(100 * len(ended) / len(begun))
    endless = {"transport": "tcp", "traffic": {"kind": "bulk", "start": "7.9 s"}}  # brings less than the others
    flows = [{"transport": "tcp", "traffic": {"kind": "bulk", "size": "20 kB"}, "count": 5}, endless]
    beside = lab.replace({"duration": "8 s", "flows": flows}).run()
    assert plots.numbers(plots.completion(beside))["y"].max() == 100


def test_goodput_over_the_return_link_is_not_held_against_the_last_hop() -> None:
    edits = {"duration": "10 s", "flows.0.count": 1, "access.method": "dedicated"}
    result = to.Scenario.load(ROOT / "scenarios/dvbrcs2-transfer.toml").replace(edits).run()
    assert result.goodput_bps > result.series["coded_bps"].max()

    assert plots.run.at_once(result) == ""


def test_a_sequence_graph_of_a_flow_that_begins_late_begins_with_it(lab: to.Scenario, tmp_path: Path) -> None:
    traffic = {"kind": "bulk", "start": "8 s", "size": "100 kB"}
    edits = {"duration": "12 s", "path.delay": "240 ms", "record.packets": "pcapng", "flows.0.traffic": traffic}
    folder = lab.replace(edits).run().save(tmp_path / "late", plots=False)

    drawn = plots.numbers(plots.sequence(to.Result.load(folder)))

    assert 8.0 <= drawn["time_s"].min() < 9.0


def test_transmissions_of_a_packet_are_one_at_least(swept: tuple[SweepResult, Path]) -> None:
    drawn = plots.numbers(plots.of_sweep("spectral-efficiency", swept[0], only={"policy": ["plain"]}))

    assert drawn.filter(pl.col("metric").str.contains("ransmissions"))["low"].min() >= 1.0


def test_access_times_are_of_all_flows_that_began() -> None:
    scenario = to.Scenario.load(ROOT / "scenarios/dvbrcs2-web.toml")
    result = scenario.replace({"duration": "6 s", "flows.0.count": 200}).run()
    begun = result.flows.drop_nulls("opened_s")
    ended = begun.drop_nulls("completion_s")
    assert len(ended) < len(begun)

    drawn = plots.numbers(plots.access_times(result)).filter(pl.col("series").str.ends_with(", all"))

    assert drawn["y"].max() == pytest.approx(100 * len(ended) / len(begun))


def test_values_that_hardly_differ_do_not_lie_on_the_upper_edge() -> None:
    ax = Figure().subplots()

    scales.from_zero(ax, 4.355)
    assert ax.get_ylim() == (0, pytest.approx(1.08 * 4.355))
    scales.from_zero(ax, 0.0)
    assert ax.get_ylim() == (0, 1)
