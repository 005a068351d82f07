"""Every kind of figure at both widths, of a run of each scenario: no text on another, and none outside the canvas."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from matplotlib.text import Text

import transorbit as to
from conftest import ROOT
from transorbit import _figures, plots
from transorbit.plots import style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    from conftest import Outcome

WIDTHS = [style.SINGLE_IN, style.DOUBLE_IN]
#: What is changed so that the runs of all scenarios take some seconds together.
SHORT: dict[str, dict[str, Any]] = {
    "bottleneck-100": {"duration": "10 s"},
    "dvbrcs2-transfer": {},
    "dvbrcs2-web": {"flows.0.count": 200},
    "game": {"duration": "10 s"},
    "geo-dvbrcs2": {"duration": "20 s"},
    "l4s": {"duration": "10 s"},
    "lab-fixed": {"duration": "20 s"},
    # With a handover of the users, and one of the gateway.
    "leo-tcp": {"record.packets": "pcapng", "duration": "150 s", "path.start": "400 s"},
    "leo-train": {"duration": "60 s"},
    "live": {"duration": "20 s"},
    "million-flows": {"flows.0.count": 200, "flows.1.count": 200, "flows.2.count": 10},
    "quic-migration": {"duration": "30 s"},
    "quic-outage": {"duration": "35 s"},
    "quic-web": {"duration": "20 s"},
    "starlink": {"duration": "20 s"},
    "tcp-users": {"duration": "20 s"},
    "video": {"duration": "20 s"},
    "voip": {"duration": "20 s"},
}
LABELS = {"snr": "Es/N0 (dB)", "policy": "Scheduler of the last hop", "one_way_delay_s": "One-way delay (s)"}
# Boxes of text hold some empty space: this many points of them may be shared.
SLACK_PT = 1.5


def test_every_scenario_is_among_them() -> None:
    files = {file.stem for file in (ROOT / "scenarios").glob("*.toml")}
    assert {name for name in files if not name.endswith(".sweep")} == set(SHORT)


@pytest.mark.parametrize("scenario", SHORT)
def test_the_figures_of_a_run(scenario: str) -> None:
    result = to.Scenario.load(ROOT / f"scenarios/{scenario}.toml").replace(SHORT[scenario]).run()
    drawn = 0
    for kind in _figures.OF_RUN:
        if (kind == "sequence" and not result.captures) or (kind == "timeline" and result.series.is_empty()):
            continue
        for width in WIDTHS:
            figure = plots.draw(kind, result, width=width)
            if figure is not None:
                check(figure, f"{kind}, {width:.1f} in", width)
                drawn += 1
    assert drawn >= 4, "an overview, and something besides"


def test_what_says_nothing_is_left_out() -> None:
    result = to.Scenario.load(ROOT / "scenarios/dvbrcs2-transfer.toml").run()
    assert not result.series["queue_packets"].max(), "there is no queue at this last hop"
    assert "Queue" not in labels_of(plots.timeline(result))
    assert "Queue" not in labels_of(plots.overview(result))


def test_a_delay_that_jitters_has_a_range_and_no_handovers() -> None:
    result = to.Scenario.load(ROOT / "scenarios/starlink.toml").replace({"duration": "5 s"}).run()
    figure = plots.draw("path-delay", result)
    assert figure is not None
    [ax] = figure.axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["5 to 95 %", "median"]


def test_goodput_above_the_links_rate_is_explained() -> None:
    result = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace({"duration": "10 s"}).run()
    for kind in ("goodput", "overview"):
        figure = plots.draw(kind, result)
        assert figure is not None
        assert any("above the link's rate" in text.get_text() for text in figure.findobj(Text)), kind


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["lines", "bars", "cdf", "heatmap", "tradeoff"])
def test_the_figures_of_a_table(kind: str, width: float) -> None:
    columns: dict[str, Any] = {"by": "policy"} if kind == "cdf" else {"x": "policy", "by": "buffer"}
    columns |= {"x": "snr", "by": "policy"} if kind in {"lines", "heatmap"} else {}
    columns |= {"x": "one_way_delay_s", "by": "policy", "along": "snr"} if kind == "tradeoff" else {}
    spare = "buffer" if "buffer" not in columns.values() else "snr"
    long = "A title in as many words as it takes to fill more than one line of a page"
    both = "y" if kind in {"bars", "heatmap"} else "xy"
    for title, panels, log in (("", None, ""), (None, spare, ""), (long, spare, both), (None, None, both)):
        options = columns | {"panels": panels, "log": log, "labels": LABELS, "width": width, "title": title}
        figure = plots.of_table(kind, table(), y="goodput_bps", **options)
        check(figure, f"{kind} by {panels}, log {log!r}", width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["lines", "bars", "cdf"])
def test_the_figures_of_several_metrics(kind: str, width: float) -> None:
    x = {"lines": "snr", "bars": "policy", "cdf": None}[kind]
    by, others = ("buffer", (None, "snr")) if kind == "bars" else ("policy", (None, "buffer", "snr"))
    for panels in others:
        if panels == x:
            continue
        metrics = ["goodput_bps", "one_way_delay_s", "losses"]
        figure = plots.of_table(kind, table(), y=metrics, x=x, by=by, panels=panels, labels=LABELS, width=width)
        check(figure, f"{kind} of three metrics by {panels}", width)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_figures_of_studies(width: float) -> None:
    toulouse, places = (43.6, 1.4), {"Auckland": (-36.9, 174.8), "New York": (40.7, -74.0), "Kourou": (5.2, -52.8)}
    traces = {
        f"Toulouse to {name}, over the nearest satellites": to.constellation.delay(
            "leo-66", source=toulouse, user=place, duration_s=600.0, step_s=20.0
        )
        for name, place in places.items()
    }
    check(plots.constellation_delays(traces, width=width), "constellation delays", width)
    note = "1 user handover, 2 gateway handovers, 2 route changes, no route 3 % of the time"
    delay = plots.constellation_delay(next(iter(traces.values())), note=note, width=width)
    check(delay, "a delay", width)
    stations = {"Toulouse": toulouse, **places, "Blagnac": (43.63, 1.39), "Suva": (-18.1, 178.4)}
    at_s = 600.0
    chart = to.constellation.world(
        "leo-66", tracks=[0], track_s=6000, stations=stations, route=("Toulouse", "Auckland"), at_s=at_s
    )
    check(plots.world(chart, title="leo-66, 10 min after its epoch", width=width), "a map", width)
    below = to.constellation.coverage("leo-66", duration_s=600, latitude_step_deg=15)
    check(plots.coverage(below, width=width), "coverage", width)
    passes = to.constellation.passes("leo-66", toulouse, duration_s=3000)
    check(plots.passes(passes, duration_s=3000, minimum_elevation_deg=8, width=width), "passes", width)
    check(plots.channel(to.channel.generate({"kind": "lms"}, duration_s=20.0), width=width), "a channel", width)
    course = to.trace.course({"kind": "starlink"}, duration_s=20)
    check(plots.course(course, title="A path like Starlink's, for 20 s", width=width), "a course", width)
    rain = pl.DataFrame({"elevation_deg": [5.0, 45.0, 90.0], "attenuation_db": [17.0, 5.0, 4.0]})
    check(plots.rain(rain, title="Rain at 43.6,1.4: 20 GHz, exceeded 0.1 % of the time", width=width), "rain", width)
    users = to.capacity(to.Scenario.load(ROOT / "scenarios/tcp-users.toml"), users=[1, 3, 10, 30, 100], duration="1 s")
    check(users.plot(width=width), "capacity", width)
    methods = to.access.plr(methods=["crdsa", "musca"], bursts=20)
    check(methods.plot(width=width), "random access", width)


def test_a_comparison_of_runs() -> None:
    runs = {
        name: to.Scenario.load(ROOT / "scenarios/leo-tcp.toml").replace({"duration": "20 s"}).run(seed=seed)
        for seed, name in enumerate(["with the reordering buffer", "without it", "a third one"], 1)
    }
    for width in WIDTHS:
        check(plots.compare_goodput(runs, width=width), "a comparison", width)


@pytest.mark.parametrize(
    "arguments",
    [
        ("channel", "generate", "--duration", "2 s"),
        ("constellation", "coverage", "leo-66", "--duration", "2 min"),
        ("constellation", "passes", "leo-66", "--at", "43.6,1.4"),
        ("constellation", "delay", "leo-66", "--from", "43.6,1.4", "--to", "40.7,-74", "--step", "60 s"),
        ("constellation", "show", "leo-66"),
        ("trace", "show", "--path", "{ kind = 'starlink' }", "--duration", "10 s"),
        ("access", "plr", "--bursts", "20", "--packets", "10:40:10"),
    ],
)
def test_studies_draw_as_broad_as_asked_for(command: Callable[..., Outcome], arguments: tuple[str, ...]) -> None:
    done = command(*arguments, "--plot", "f/study.pdf", "--width", "single", "--title", "Pays $5 or $6")
    assert done.code == 0, done.err
    # 88 mm are 249 points.
    assert b"/MediaBox [ 0 0 249.4" in Path("f/study.pdf").read_bytes()
    refused = command(*arguments, "--plot", "f/study.pdf", "--width", "broad")
    assert (refused.code, refused.out) == (2, "")
    assert "--width: 'broad' is not single, double, or a length" in refused.err


def test_a_dollar_in_a_name_begins_no_formula() -> None:
    plain = table().with_columns(pl.col("policy").replace("max-rate", r"$\frac$ & $x_1$"))
    for kind in ("lines", "bars", "heatmap"):
        x, by = ("snr", "policy") if kind == "lines" else ("policy", "snr")
        figure = plots.of_table(kind, plain, x=x, y="losses", by=by, panels="buffer", title=r"$\foo$ costs $5")
        figure.draw_without_rendering()


def test_intervals_beside_each_other_do_not_move_the_limits() -> None:
    figure = plots.of_table("lines", table(), x="snr", y="goodput_bps", by="policy", panels="buffer", log="xy")
    ax = figure.axes[0]
    figure.draw_without_rendering()
    means = [line for line in ax.lines if len(line.get_xdata()) == 3 and line.get_linestyle() != "None"]
    assert len(means) == 4
    places = [line.get_transform().transform((10.0, 1.0))[0] for line in means]
    gaps = [72 * (after - before) / figure.dpi for before, after in pairwise(places)]
    assert gaps == pytest.approx([2.5, 2.5, 2.5]), "points of print"
    # The data are where they are.
    assert all(list(line.get_xdata()) == [7.0, 10.0, 13.0] for line in means)
    assert 6.0 < ax.get_xlim()[0] < 7.0 < 13.0 < ax.get_xlim()[1] < 14.0


@pytest.mark.parametrize("kind", ["lines", "bars", "heatmap", "tradeoff"])
def test_a_figure_says_what_its_bars_and_points_are(kind: str) -> None:
    by_kind: dict[str, dict[str, Any]] = {
        "tradeoff": {"x": "one_way_delay_s", "by": "policy", "along": "snr", "panels": "buffer"}
    }
    columns = by_kind.get(kind, {"x": "snr", "by": "policy", "panels": "buffer"})

    def below(**changes: Any) -> str:
        frame = changes.pop("frame", table())
        drawn = plots.of_table(kind, frame, y="goodput_bps", labels=LABELS, **columns | changes)
        return " ".join(drawn.get_supxlabel().split())

    whats = {
        "lines": "Means of 3 runs with their 95 % intervals",
        "bars": "Bars: means of 3 runs, whiskers: 95 % intervals",
        "heatmap": "Cells: means of 3 runs",
        "tradeoff": "Lines: Es/N0 from 7 dB (hollow) to 13 dB. Points: means of 3 runs, crosses: 95 % intervals",
    }
    assert below() == whats[kind]
    once = table().filter(pl.col("seed") == 0)
    of_one = {"bars": "Bars: one run each", "tradeoff": "Lines: Es/N0 from 7 dB (hollow) to 13 dB"}
    assert below(frame=once) == of_one.get(kind, "")
    assert below(title="") == ("Lines: Es/N0 from 7 dB (hollow) to 13 dB" if kind == "tradeoff" else "")


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_figure_of_several_metrics_says_of_how_many_runs_all_panels_are(kind: str) -> None:
    gaps = pl.when((pl.col("snr") == 7.0) & (pl.col("seed") > 0)).then(None).otherwise("losses")
    frame = table().with_columns(losses=gaps)
    whats = {
        "lines": "Means of {} with their 95 % intervals",
        "bars": "Bars: means of {}, whiskers: 95 % intervals",
    }
    for metrics, runs in (
        (["goodput_bps", "losses"], "1 to 3 runs"),
        (["losses", "goodput_bps"], "1 to 3 runs"),
        (["goodput_bps", "one_way_delay_s"], "3 runs"),
    ):
        figure = plots.of_table(kind, frame, y=metrics, x="snr", by="policy", panels="buffer")
        assert " ".join(figure.get_supxlabel().split()) == whats[kind].format(runs)


def table() -> pl.DataFrame:
    """Four policies, with and without a buffer, at three signal strengths; three runs each."""
    names = ["proportional fairness", "longest queue first", "max-rate", "round robin"]
    rows = [
        {
            "snr": snr,
            "policy": name,
            "buffer": buffer,
            "seed": seed,
            "goodput_bps": 1e6 * (snr + 3 * i) + 1e5 * seed,
            "one_way_delay_s": 0.05 + 0.01 * i + 0.002 * snr + 0.004 * seed * (1 + buffer),
            "losses": (i + 1) * (20 - snr) + seed,
        }
        for snr in (7.0, 10.0, 13.0)
        for i, name in enumerate(names)
        for buffer in (False, True)
        for seed in range(3)
    ]
    return pl.DataFrame(rows)


def labels_of(figure: Figure | None) -> str:
    """What the vertical axes are called."""
    assert figure is not None
    return " ".join(ax.get_ylabel() for ax in figure.axes)


def check(figure: Figure, what: str, width: float) -> None:
    """No two texts of the figure meet, all lie within it, and those of a column have the size of its text."""
    figure.draw_without_rendering()
    slack = SLACK_PT * figure.dpi / 72
    texts = _texts(figure)
    boxes = [(text.get_text(), _smaller(text.get_window_extent(), slack / 2), text.get_rotation()) for text in texts]
    for text, box, _ in boxes:
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height
        assert inside, f"{what}: {text!r} is cut: {box}"
    for (one, first, turned), (other, second, too) in combinations(boxes, 2):
        # The boxes of slanted names overlap where the names do not.
        slanted = turned % 90 and too % 90
        assert slanted or not first.overlaps(second), f"{what}: {one!r} meets {other!r}"
    if width == style.SINGLE_IN:
        # Exponents are smaller, as a formula's.
        assert {text.get_fontsize() for text in texts} == {8.0}, what


def _texts(figure: Figure) -> list[Text]:
    """What is written, without the labels of ticks that lie beyond the end of their axis."""
    unseen = {text for ax in figure.axes if not ax.get_visible() for text in ax.findobj(Text)}
    for ax in figure.axes:
        for axis, side in ((ax.xaxis, 0), (ax.yaxis, 1)):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if not low - room <= tick.label1.get_position()[side] <= high + room:
                    unseen |= {tick.label1, tick.label2}
    shown = (text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip())
    return [text for text in shown if text not in unseen]


def _smaller(box: Bbox, by: float) -> Bbox:
    return box.padded(-by)
