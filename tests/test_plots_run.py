"""Figures of a run: what they name, how long their curves go on, and what they say where there is nothing to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import transorbit as to
from conftest import ROOT
from transorbit import plots
from transorbit.plots import style

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

VIEWERS = """
title    = "Viewers of three kinds beside a download"
duration = "20 s"
[path]
kind  = "fixed"
delay = "40 ms"
[last_hop]
rate  = "10 Mbit/s"
delay = "10 ms"
[[flows]]
transport = "tcp"
traffic   = "bulk"
[[flows]]
transport = "udp"
traffic   = { kind = "live", rate = "1 Mbit/s", latency = "1 s" }
[[flows]]
transport = { kind = "quic", congestion = "cubic" }
traffic   = "dash"
[[flows]]
transport = "tcp"
traffic   = "dash"
"""


@pytest.fixture(scope="module")
def viewers() -> to.Result:
    return to.Scenario.from_toml(VIEWERS).run()


def test_a_viewer_has_one_colour_and_the_legend_names_all(viewers: to.Result) -> None:
    figure = plots.video(viewers)
    assert figure is not None
    lines = [(line.get_label(), line.get_color()) for ax in figure.axes for line in ax.lines]
    assert len(lines) == 2 + 3 + 1, "the bit rate of stored video, all buffers, the latency of live video"
    names = {"flow 1 (live, udp)", "flow 2 (dash, quic cubic)", "flow 3 (dash, cubic)"}
    assert {name for name, _ in lines} == names
    assert dict(lines) == dict(reversed(lines)), "the same colour in each panel"
    assert len({colour for _, colour in lines}) == 3

    (legend,) = [legend for ax in figure.axes if (legend := ax.get_legend())]
    shown = dict(zip((text.get_text() for text in legend.get_texts()), legend.get_lines(), strict=True))
    assert {name: line.get_color() for name, line in shown.items()} == dict(lines)


def test_the_colour_of_a_viewer_is_that_of_its_goodput(viewers: to.Result) -> None:
    video, goodput = plots.video(viewers), plots.goodput(viewers)
    assert video is not None
    assert goodput is not None
    colours = {line.get_label(): line.get_color() for line in goodput.axes[0].lines}
    assert colours["flow 2 (quic cubic)"] == style.GREEN
    assert {line.get_label(): line.get_color() for line in video.axes[0].lines} == {
        "flow 2 (dash, quic cubic)": colours["flow 2 (quic cubic)"],
        "flow 3 (dash, cubic)": colours["flow 3 (cubic)"],
    }


def test_many_flows_leave_few_viewers_their_lines() -> None:
    """Also where one kind of video has few of them: all panels are of lines, or all of bands."""
    few = to.Scenario.from_toml(VIEWERS).replace({"flows.0.count": 20, "duration": "4 s"})
    figure = plots.video(few.run())
    assert figure is not None
    assert {line.get_label() for ax in figure.axes for line in ax.lines} == {
        "flow 20 (live, udp)", "flow 21 (dash, quic cubic)", "flow 22 (dash, cubic)"
    }  # fmt: skip
    many = plots.video(few.replace({"flows.3.count": 6}).run())
    assert many is not None
    assert {line.get_label() for ax in many.axes for line in ax.lines} == {"median flow"}


@pytest.mark.parametrize("kind", ["overview", "goodput"])
def test_the_goodput_of_a_transfer_ends_with_it(lab: to.Scenario, kind: str) -> None:
    result = lab.replace({"duration": "30 s", "flows.0.traffic": {"kind": "bulk", "size": "1 MB"}}).run()
    figure = plots.draw(kind, result)
    assert figure is not None
    (flow,) = result.summary["flows"]
    curve, mean = figure.axes[0].lines

    assert mean.get_label() == f"mean {flow['goodput_bps'] / 1e6:.3g} Mbit/s"
    assert [30 * share for share in mean.get_xdata()] == pytest.approx([0.0, flow["completion_s"]])
    assert max(curve.get_xdata()) < flow["completion_s"] + 0.4, "half a bin"
    assert min(curve.get_ydata()[1:]) > 0.1, "nothing after its end is averaged in"


def test_a_transfer_that_has_ended_adds_nothing_to_the_others(lab: to.Scenario) -> None:
    flows = [{"transport": "tcp", "traffic": {"kind": "bulk", "size": "1 MB"}}, {"transport": "tcp", "traffic": "bulk"}]
    result = lab.replace({"duration": "30 s", "flows": flows}).run()
    figure = plots.goodput(result)
    assert figure is not None
    total, short, long, _ = figure.axes[0].lines

    assert max(short.get_xdata()) < 1 + result.summary["flows"][0]["completion_s"]
    assert max(long.get_xdata()) > 29
    width = total.get_xdata()[1] - total.get_xdata()[0]
    delivered = sum(total.get_ydata()) * width
    assert delivered == pytest.approx(8e-6 * result.flows["delivered_bytes"].sum(), rel=1e-3)


@pytest.mark.parametrize(("name", "found"), [("lab-fixed", 0), ("dvbrcs2-transfer", 1)])
def test_a_figure_says_how_many_it_needs(here: Path, command: Callable[..., Outcome], name: str, found: int) -> None:
    scenario = to.Scenario.load(ROOT / f"scenarios/{name}.toml").replace({"duration": "5 s", "flows.0.count": 1})
    scenario.run().save(here / "few", plots=False)

    done = command("plot", "few", "access-times")

    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "transorbit: plot: access-times: needs at least 3 flows of one traffic and direction over the return link that "
        f"delivered a packet: the run has {found}\n"
    )


def test_numbers_are_not_written_beside_a_file_that_is_there(
    here: Path, command: Callable[..., Outcome], lab: to.Scenario
) -> None:
    lab.replace({"duration": "1 s"}).run().save(here / "result", plots=False)
    (here / "geo.toml").write_text("title = 'mine'\n")
    before = sorted(here.rglob("*"))

    done = command("plot", "result", "goodput", "--data", "geo.toml")

    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("transorbit: geo.toml: is there and holds something else")
    assert sorted(here.rglob("*")) == before
    assert command("plot", "result", "goodput", "--data", "numbers.csv").code == 0
    assert command("plot", "result", "goodput", "--data", "numbers.csv").code == 0, "the same columns"


@pytest.mark.parametrize("flows", [1, 2, 12])
def test_the_overview_says_that_its_round_trip_is_smoothed(lab: to.Scenario, flows: int) -> None:
    result = lab.replace({"duration": "3 s", "flows.0.count": flows}).run()
    figure = plots.overview(result)
    assert figure is not None
    panel = figure.axes[1]
    names = [panel.get_ylabel(), *(text.get_text() for text in panel.get_legend().get_texts())]

    assert [name.split("\n")[0] for name in names if "smoothed rtt" in name.lower()] == [
        "smoothed RTT" if flows == 1 else "Smoothed RTT"
    ]


def test_flows_that_rest_are_in_the_range_of_many(lab: to.Scenario) -> None:
    """Of twenty short transfers, one after the other, most rest at every instant: there is no range to draw."""
    traffic = {"kind": "bulk", "size": "500 kB"}
    many = {"duration": "20 s", "flows.0.count": 20, "flows.0.start_spread": "15 s", "flows.0.traffic": traffic}
    figure = plots.goodput(lab.replace(many).run())
    assert figure is not None
    assert len(figure.axes) == 1
    total, _ = figure.axes[0].lines
    assert max(total.get_xdata()) > 19


@pytest.mark.parametrize(("users", "label"), [(1, "Attenuation (dB)"), (3, "Attenuation of\nuser 0 (dB)")])
def test_the_attenuation_is_one_users(users: int, label: str) -> None:
    changes = {"duration": "5 s", "flows.0.count": users}
    figure = plots.harq(to.Scenario.load(ROOT / "scenarios/leo-tcp.toml").replace(changes).run())
    assert figure is not None
    assert figure.axes[0].get_ylabel() == label
    assert ("all users" in figure.note) == (users > 1)


MOVING = """
duration = "5 s"
[path]
kind = "constellation"
constellation = "starlink-shell-1"
source = { latitude = "43.6 deg", longitude = "1.4 deg" }
user = { latitude = "44 deg", longitude = "3 deg" }
[channel]
kind = "lms"
environment = "open"
carrier = "2.2 GHz"
[channel.link_budget]
eirp = "28 dBW"
figure_of_merit = "-12 dB/K"
symbol_rate = "25 MHz"
range = "orbit"
[last_hop]
rate = "50 Mbit/s"
delay = "10 ms"
[[flows]]
transport = "udp"
traffic = "voice"
"""


@pytest.mark.parametrize(
    ("changes", "signal"),
    [
        ({}, "Attenuation"),
        ({"channel.link_budget.range": "900 km"}, "SNR"),
        ({"channel.link_budget.range": "900 km", "channel.link_budget.rain": "RAIN"}, "SNR"),
        (
            {
                "channel.link_budget.range": "900 km",
                "channel.link_budget.rain": "RAIN",
                "channel.elevation": "orbit",
            },
            "Attenuation",
        ),
    ],
)
def test_a_timeline_has_an_snr_where_the_line_of_sight_has_one_level(
    changes: dict[str, object], signal: str, tmp_path: Path
) -> None:
    (tmp_path / "rain.csv").write_text("10,8\n90,1\n")
    (tmp_path / "moving.toml").write_text(MOVING)
    rain = {"kind": "by-elevation", "file": "rain.csv"}
    given = {key: rain if value == "RAIN" else value for key, value in changes.items()}

    figure = plots.timeline(to.Scenario.load(tmp_path / "moving.toml").replace(given).run())

    assert figure is not None
    assert figure.axes[-1].get_ylabel().startswith(signal)
    assert ("snr_db" in plots.numbers(figure).columns) == (signal == "SNR")
