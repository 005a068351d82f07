"""Every kind of figure at both widths, of a run of each scenario: no text on another, and none outside the canvas."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from matplotlib.text import Text

import transorbit as to
from conftest import ROOT
from transorbit import _figures, plots
from transorbit.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

WIDTHS = [style.SINGLE_IN, style.DOUBLE_IN]
#: What is changed so that the runs of all scenarios take some seconds together.
SHORT: dict[str, dict[str, Any]] = {
    "bottleneck-100": {"duration": "10 s"},
    "dvbrcs2-transfer": {},
    "dvbrcs2-web": {"flows.0.count": 200},
    "geo-dvbrcs2": {"duration": "20 s"},
    "lab-fixed": {"duration": "20 s"},
    "leo-tcp": {"record.packets": "pcapng"},
    "leo-train": {"duration": "60 s"},
    "million-flows": {"flows.0.count": 200, "flows.1.count": 200, "flows.2.count": 10},
    "starlink": {"duration": "20 s"},
    "tcp-users": {"duration": "20 s"},
    "voip": {"duration": "20 s"},
}
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


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["lines", "bars", "cdf", "heatmap"])
def test_the_figures_of_a_table(kind: str, width: float) -> None:
    names = ["proportional fairness", "longest queue first", "max-rate", "round robin"]
    table = pl.DataFrame(
        [
            {"snr": snr, "policy": name, "buffer": buffer, "goodput_bps": 1e6 * (snr + 3 * i) + 1e5 * seed}
            for snr in (7.0, 10.0, 13.0)
            for i, name in enumerate(names)
            for buffer in (False, True)
            for seed in range(3)
        ]
    )
    columns = {"by": "policy"} if kind == "cdf" else {"x": "policy", "by": "buffer"}
    columns |= {"x": "snr", "by": "policy"} if kind in {"lines", "heatmap"} else {}
    for title in (None, "A title in as many words as it takes to fill more than one line of a page"):
        for panels in (None, "buffer" if "buffer" not in columns.values() else "snr"):
            figure = plots.of_table(kind, table, y="goodput_bps", **columns, panels=panels, width=width, title=title)
            check(figure, f"{kind} by {panels}", width)


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
    check(plots.constellation_delay(next(iter(traces.values())), width=width), "a delay", width)
    check(plots.world(to.constellation.world("leo-66"), width=width), "a map", width)
    check(plots.channel(to.channel.generate({"kind": "lms"}, duration_s=20.0), width=width), "a channel", width)
    users = to.capacity(to.Scenario.load(ROOT / "scenarios/tcp-users.toml"), users=[1, 3, 10, 30, 100], duration="1 s")
    check(plots.capacity(users, width=width), "capacity", width)
    methods = to.access.plr(methods=["crdsa", "musca"], bursts=20)
    check(plots.plr(methods, width=width), "random access", width)


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
        assert {text.get_fontsize() for text in texts} <= {7.0, 7.5, 8.0}, what


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
