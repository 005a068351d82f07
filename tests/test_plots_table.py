"""Figures of any table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import transorbit as to
from transorbit import plots, statistics
from transorbit.plots import labels, style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes


SCALES = {"a": 1.0, "b": 1.5, "c": 2.0}
LABELS = {"snr": "Es/N0 (dB)", "buffer": "Buffer"}
MINUS = "\N{MINUS SIGN}"
COLUMNS: dict[str, Any] = {"x": "snr", "y": "goodput_bps", "by": "policy"}


@pytest.fixture
def table() -> pl.DataFrame:
    """Three policies, with and without a buffer, at three signal strengths; four seeds each."""
    rows = [
        {
            "snr": snr,
            "policy": policy,
            "buffer": buffer,
            "seed": seed,
            "goodput_bps": 1e6 * scale * (snr - 5) * (1 + buffer) + 1e5 * seed,
        }
        for snr in (13.0, 7.0, 10.0)
        for policy, scale in SCALES.items()
        for buffer in (False, True)
        for seed in range(4)
    ]
    return pl.DataFrame(rows)


@pytest.fixture
def published(table: pl.DataFrame) -> pl.DataFrame:
    """One value for each point of a figure."""
    means = table.filter(pl.col("policy") != "c").group_by("snr", "policy", "buffer", maintain_order=True)
    return means.agg(pl.mean("goodput_bps") * 1.1)


def test_lines_show_means_with_students_interval(table: pl.DataFrame) -> None:
    figure = plots.of_table("lines", table, **COLUMNS, panels="buffer", labels=LABELS)

    numbers = plots.numbers(figure)
    assert numbers.columns == ["buffer", "policy", "snr", "mean", "low", "high", "count"]
    assert len(numbers) == 2 * 3 * 3
    own = table.filter(pl.col("policy") == "b", pl.col("buffer"), pl.col("snr") == 10)["goodput_bps"]
    expected = statistics.mean_interval(own)
    row = numbers.row(by_predicate=(pl.col("policy") == "b") & pl.col("buffer") & (pl.col("snr") == 10), named=True)
    assert (row["mean"], row["low"], row["high"], row["count"]) == (expected.mean, expected.low, expected.high, 4)
    without, with_buffer = figure.axes
    drawn = {line.get_color(): line for line in with_buffer.lines if len(line.get_xdata()) == 3}
    line = drawn[style.ORANGE]
    assert list(line.get_xdata()) == [7, 10, 13]
    assert line.get_ydata()[1] == pytest.approx(expected.mean / 1e6)
    assert without.get_ylabel() == "Goodput (Mbit/s)"
    assert with_buffer.get_xlabel() == "Es/N0 (dB)"
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Buffer: no", "Buffer: yes"]


def test_no_interval_leaves_the_scale_of_its_metric(table: pl.DataFrame) -> None:
    least = 6e6
    free, kept = (
        plots.numbers(plots.of_table("lines", table, **COLUMNS, panels="buffer", limits=limits))
        for limits in ({}, {"goodput_bps": (least, None)})
    )
    assert (free["low"] < least).any()
    assert kept["high"].equals(free["high"])
    assert kept["low"].to_list() == [
        max(low, min(least, mean)) for low, mean in zip(free["low"], free["mean"], strict=True)
    ]


def test_one_run_has_no_interval_and_missing_values_are_left_out(table: pl.DataFrame) -> None:
    holed = table.with_columns(goodput_bps=pl.when((pl.col("seed") == 0) | (pl.col("snr") == 7)).then("goodput_bps"))

    numbers = plots.numbers(plots.of_table("lines", holed.filter(~pl.col("buffer")), **COLUMNS))

    assert set(numbers.filter(pl.col("snr") == 7)["count"]) == {4}
    alone = numbers.filter(pl.col("snr") == 10)
    assert set(alone["count"]) == {1}
    assert alone["low"].null_count() == alone["high"].null_count() == len(alone)


@pytest.mark.parametrize("kind", ["lines", "bars", "heatmap"])
def test_a_value_that_is_no_number_leaves_the_mean_unknown(table: pl.DataFrame, kind: str) -> None:
    """As `SweepResult.means` has it; one that is missing has a smaller count."""
    lost = (pl.col("snr") == 7) & (pl.col("seed") == 0)
    value = pl.when(lost & (pl.col("policy") == "a")).then(float("nan"))
    value = value.when(lost & (pl.col("policy") == "b")).then(None).otherwise("goodput_bps")

    numbers = plots.numbers(plots.of_table(kind, table.filter("buffer").with_columns(goodput_bps=value), **COLUMNS))

    at_seven = numbers.filter(pl.col("snr") == 7)
    assert dict(at_seven.select("policy", "count").rows()) == {"b": 3, "c": 4}
    assert len(numbers) == 8


def test_lines_are_told_apart_in_grey(table: pl.DataFrame) -> None:
    figure = plots.of_table("lines", table.filter(~pl.col("buffer")), **COLUMNS)

    lines = [line for line in figure.axes[0].lines if line.get_marker() in style.MARKERS]
    assert len({line.get_marker() for line in lines}) == len({str(line._dash_pattern) for line in lines}) == 3
    assert len({line.get_color() for line in lines}) == 3


def test_published_values_are_hollow_and_dashed_beside_ours(table: pl.DataFrame, published: pl.DataFrame) -> None:
    figure = plots.of_table("lines", table, **COLUMNS, panels="buffer", published=published)

    lines = [line for line in figure.axes[0].lines if line.get_marker() in style.MARKERS]
    ours = [line for line in lines if line.get_linestyle() == "-"]
    theirs = [line for line in lines if line.get_markerfacecolor() == "white"]
    assert (len(ours), len(theirs)) == (3, 2)
    assert [line.get_color() for line in theirs] == [line.get_color() for line in ours[:2]]
    assert {line.get_linestyle() for line in theirs} == {"--"}
    assert theirs[0].get_ydata() == pytest.approx(1.1 * ours[0].get_ydata())
    numbers = plots.numbers(figure)
    assert numbers["source"].value_counts().sort("source").rows() == [("ours", 18), ("published", 12)]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["a", "b", "c", "published"]


def test_a_published_line_of_no_policy_is_drawn_once(table: pl.DataFrame, published: pl.DataFrame) -> None:
    one = published.filter(pl.col("policy") == "a", pl.col("buffer")).select("snr", "goodput_bps")

    figure = plots.of_table("lines", table, **COLUMNS, panels="buffer", published=one)

    for ax in figure.axes:
        assert [line.get_color() for line in ax.lines if line.get_markerfacecolor() == "white"] == [style.BLACK]


def test_bars_stand_for_means_from_zero(table: pl.DataFrame, published: pl.DataFrame) -> None:
    own = table.filter(~pl.col("buffer"))
    figure = plots.of_table("bars", own, x="policy", y="goodput_bps", by="snr", labels=LABELS, published=published)

    ax = figure.axes[0]
    bars = [bar for bar in ax.patches if bar.get_facecolor()[3] > 0]
    hollow = [bar for bar in ax.patches if bar.get_facecolor()[3] == 0]
    assert (len(bars), len(hollow)) == (9, 6)
    assert sorted(bar.get_height() for bar in bars) == pytest.approx(
        sorted(1e-6 * mean for mean in own.group_by("snr", "policy").agg(pl.mean("goodput_bps"))["goodput_bps"])
    )
    assert len({bar.get_hatch() for bar in bars}) == 3
    assert ax.get_ylim()[0] == 0
    places = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches)
    assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(places)), "no bar hides another"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["7", "10", "13", "published"]
    assert figure.legends[0].get_title().get_text() == "Es/N0 (dB)"


def test_a_distribution_rises_to_all(table: pl.DataFrame) -> None:
    figure = plots.of_table("cdf", table, y="goodput_bps", by="buffer")

    numbers = plots.numbers(figure)
    for buffer in (False, True):
        own = numbers.filter(pl.col("buffer") == buffer)
        values = table.filter(pl.col("buffer") == buffer)["goodput_bps"]
        assert own["share"].max() == 100
        for value, share in own.select("goodput_bps", "share").iter_rows():
            assert share == pytest.approx(100 * (values <= value).mean())


def test_a_heat_map_has_a_cell_for_each_pair(table: pl.DataFrame, published: pl.DataFrame) -> None:
    own, told = table.filter(~pl.col("buffer")), published.filter(~pl.col("buffer"))
    figure = plots.of_table("heatmap", own, **COLUMNS, published=told)

    cells = figure.axes[0].collections[0].get_array()
    assert cells.shape == (3, 3)
    assert cells[1][2] == pytest.approx(1.5 * 8 + 0.15), "policy b at 13 dB"
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"12.2\n(13.4)", "4.15"} <= texts
    large = plots.of_table("heatmap", own.with_columns(loss=-pl.col("goodput_bps") / 1e4), **COLUMNS | {"y": "loss"})
    assert {f"{MINUS}1215", f"{MINUS}415"} <= {text.get_text() for text in large.axes[0].texts}


def test_an_axis_may_be_called_as_a_number_of_the_table(table: pl.DataFrame) -> None:
    renamed = table.rename({"snr": "count"})

    numbers = plots.numbers(plots.of_table("lines", renamed, x="count", y="goodput_bps", by="policy"))

    assert numbers.columns[2:] == ["goodput_bps_mean", "goodput_bps_low", "goodput_bps_high", "goodput_bps_count"]


def test_intervals_do_not_draw_the_axis_below_what_can_be() -> None:
    wide = pl.DataFrame({"snr": [7, 7, 10, 10], "policy": ["a"] * 4, "goodput_bps": [0.0, 1e6, 1e6, 2e6]})
    assert plots.of_table("lines", wide, **COLUMNS).axes[0].get_ylim()[0] == 0
    # Lines keep to their range where zero is far from it, bars begin there.
    high = wide.with_columns(pl.Series("goodput_bps", [18e6, 18.1e6, 25.9e6, 26e6]))
    assert plots.of_table("lines", high, **COLUMNS).axes[0].get_ylim()[0] > 0
    assert plots.of_table("bars", high, **COLUMNS).axes[0].get_ylim()[0] == 0
    below = wide.with_columns(pl.col("goodput_bps") - 2e5)
    assert plots.of_table("lines", below, **COLUMNS).axes[0].get_ylim()[0] < 0


def test_logarithmic_axes(table: pl.DataFrame) -> None:
    ax = plots.of_table("lines", table.filter("buffer"), **COLUMNS, log="xy").axes[0]

    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


@pytest.mark.parametrize("kind", ["lines", "cdf", "heatmap"])
@pytest.mark.parametrize(
    ("values", "few"), [([0.55, 0.6, 0.75], True), ([18, 21, 26], True), ([2, 9, 60], True), ([1, 90, 4000], False)]
)
def test_a_logarithmic_axis_of_few_decades_has_plain_numbers(kind: str, values: list[float], few: bool) -> None:
    frame = pl.DataFrame({"snr": [7, 10, 13], "policy": ["a"] * 3, "loss": values})
    columns = {"y": "loss", "by": "policy"} | ({} if kind == "cdf" else {"x": "snr"})

    figure = plots.of_table(kind, frame, **columns, log="y")

    FigureCanvasAgg(figure).draw()
    axis = figure.axes[0].xaxis if kind == "cdf" else figure.axes[-1].yaxis
    low, high = axis.get_view_interval()
    shown = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = [tick.label1.get_text() or tick.label2.get_text() for tick in shown]
    assert len(texts) >= 2
    if few:
        assert [float(text) for text in texts] == pytest.approx([tick.get_loc() for tick in shown])
        assert not any(tick.label1.get_text() for tick in axis.get_minor_ticks())
    else:
        assert all("10^" in text for text in texts)


def ticks_below(ax: Axes) -> dict[float, str]:
    """The labels of the horizontal axis within its limits, by place."""
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    ticks = [*ax.xaxis.get_major_ticks(), *ax.xaxis.get_minor_ticks()]
    return {tick.get_loc(): tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high}


@pytest.mark.parametrize("values", [[5, 50, 500], [2, 4, 8, 16], [7], [10, 11, 12], [0.1, 0.25], [7240, 115840]])
@pytest.mark.parametrize("width", [style.SINGLE_IN, style.DOUBLE_IN])
def test_a_logarithmic_axis_has_its_values_as_ticks(values: list[float], width: float) -> None:
    frame = pl.DataFrame({"rate": pl.Series(values, dtype=pl.Float64), "loss": range(1, len(values) + 1)})

    plain = plots.of_table("lines", frame, x="rate", y="loss", log="x", width=width).axes[0]
    scaled = plots.of_table(
        "lines", frame.with_columns(pl.col("rate") * 1e6), x="rate", y="loss", log="x", labels={"rate": "Rate (bit/s)"}
    ).axes[0]

    texts = [f"{value:g}" for value in values]
    assert list(ticks_below(plain).values()) == texts
    assert list(ticks_below(plain)) == values
    if values[0] >= 1 and values[-1] < 1000:
        assert list(ticks_below(scaled).values()) == texts
        assert scaled.get_xlabel() == "Rate (Mbit/s)"


@pytest.mark.parametrize(
    "values",
    [range(1, 101), [2**n for n in range(13)], [10 ** (-4 + n / 5) for n in range(21)], range(-2, 20)],
)
@pytest.mark.parametrize("width", [style.SINGLE_IN, style.DOUBLE_IN])
def test_as_many_values_are_ticks_as_can_be_written(values: Sequence[float], width: float) -> None:
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64), "y": range(len(values))})

    ax = plots.of_table("lines", frame, x="x", y="y", log="x", width=width).axes[0]

    shown = ticks_below(ax)
    assert len(shown) >= 4
    assert set(shown) <= set(frame["x"])
    assert min(shown) == min(value for value in values if value > 0)
    assert [float(text) for text in shown.values()] == pytest.approx(list(shown), rel=1e-5)
    boxes = [tick.label1.get_window_extent() for tick in ax.xaxis.get_major_ticks()]
    assert all(before.x1 < after.x0 for before, after in pairwise(boxes))


@pytest.mark.parametrize(
    ("kind", "log", "count"), [("lines", "x", 1), ("lines", "y", 2), ("lines", "xy", 3), ("bars", "y", 2)]
)
@pytest.mark.parametrize("title", [None, ""])
def test_points_without_a_place_are_counted(kind: str, log: str, count: int, title: str | None) -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "loss": [1.0, 0.0, -2.0, 4.0], "other": [1.0] * 4})
    points = "1 point" if count == 1 else f"{count} points"
    line = f"Not drawn on logarithmic axes: {points} at 0 or below"

    for y in ("loss", ["other", "loss"]):
        figure = plots.of_table(kind, frame, x="x", y=y, log=log, title=title)
        of_all = line if y == "loss" or "x" not in log else line.replace(points, f"{count + 1} points")
        assert " ".join(figure.get_supxlabel().split()).endswith(of_all)
        assert figure.left_out == of_all
    assert plots.of_table(kind, frame, x="x", y="loss").left_out == ""
    with pytest.raises(to.ScenarioError, match=r"^log: the axis of 'loss' cannot be logarithmic: no value is above 0$"):
        plots.of_table(kind, frame.filter(pl.col("loss") <= 0), x="x", y="loss", log="y")


def test_a_trade_off_counts_the_points_that_have_no_place() -> None:
    frame = pl.DataFrame({"loss": [0.0, 1.0, 2.0, 3.0], "delay": [1.0, 0.0, 2.0, 3.0], "policy": ["a", "b", "c", "d"]})

    for log, count in (("", ""), ("x", "1 point"), ("y", "1 point"), ("xy", "2 points")):
        figure = plots.of_table("tradeoff", frame, x="delay", y="loss", by="policy", log=log, title="")
        expected = f"Not drawn on logarithmic axes: {count} at 0 or below" if count else ""
        assert (figure.left_out, figure.get_supxlabel()) == (expected, expected)
    with pytest.raises(to.ScenarioError, match=r"^log: the axis of 'delay' .*: no value is above 0$"):
        plots.of_table("tradeoff", frame.filter(delay=0), x="delay", y="loss", by="policy", log="x")


def test_names_stand_with_what_they_are_names_of(table: pl.DataFrame) -> None:
    named = table.with_columns(
        buffer=pl.when("buffer").then(pl.lit("with")).otherwise(pl.lit("without")), snr=-pl.col("snr")
    )

    panels = plots.of_table("lines", named, x="snr", y="goodput_bps", by="policy", panels="buffer", labels=LABELS)
    lines = plots.of_table("lines", named.filter(policy="a"), x="snr", y="goodput_bps", by="buffer", labels=LABELS)
    numbers = plots.of_table("bars", named, x="policy", y="goodput_bps", by="snr", panels="buffer", labels=LABELS)

    assert [ax.get_title(loc="left") for ax in panels.axes] == ["Buffer: without", "Buffer: with"]
    assert panels.legends[0].get_title().get_text() == "Policy"
    assert lines.legends[0].get_title().get_text() == "Buffer"
    assert [text.get_text() for text in numbers.legends[0].get_texts()] == [f"{MINUS}{snr}" for snr in (13, 10, 7)]
    FigureCanvasAgg(lines).draw()
    assert [tick.get_text() for tick in lines.axes[0].get_xticklabels()] == [f"{MINUS}{snr}" for snr in (13, 10, 7)]


def test_a_long_name_of_a_panel_is_broken(table: pl.DataFrame) -> None:
    long = table.with_columns(buffer=pl.format("{}, and as many words as it takes to break the line", "buffer"))

    figure = plots.of_table("lines", long, **COLUMNS, panels="buffer")

    FigureCanvasAgg(figure).draw()
    left, right = (ax.get_tightbbox() for ax in figure.axes)
    assert not left.overlaps(right)
    assert right.x1 <= figure.bbox.width + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "line"}, "kind: 'line' is not one of lines, bars, cdf, heatmap, tradeoff; did you mean lines?"),
        ({"x": "snrr"}, "x: there is no column 'snrr'; did you mean snr?"),
        ({"by": "polices"}, "by: there is no column 'polices'; did you mean policy"),
        ({"y": "policy"}, "y: the column 'policy' holds no numbers"),
        ({"x": None}, "x: lines need a column for the horizontal axis"),
        ({"kind": "heatmap", "by": None}, "by: a heatmap needs"),
        ({"log": "z"}, "log: 'z'"),
        ({"kind": "cdf"}, "x: is not for cdf, whose horizontal axis is the metric"),
        ({"kind": "bars", "log": "x"}, "log: 'x' is not for bars, which has no scale in x: 'y' is expected"),
        ({"kind": "heatmap", "log": "xy"}, "log: 'xy' is not for heatmap"),
        ({"kind": "bars", "y": ["seed", "goodput_bps"], "log": "x"}, "log: 'x' is not for bars"),
        ({"along": "seed"}, "along: is for a tradeoff, not for lines"),
        ({"x": "policy", "by": None, "log": "x"}, "log: the axis of 'policy' cannot be logarithmic: it has no numbers"),
        ({"by": "notes"}, "by: the column 'notes' holds lists"),
        ({"kind": "bars", "x": "notes"}, "x: the column 'notes' holds lists"),
        (
            {"kind": "heatmap", "y": "seed", "log": "y"},
            "log: the colours of 'seed' cannot be logarithmic: a value is 0",
        ),
        ({"published": pl.DataFrame({"snr": [7]})}, "published: there is no column 'goodput_bps'"),
    ],
)
def test_what_cannot_be_drawn_is_said(table: pl.DataFrame, changes: dict[str, Any], message: str) -> None:
    options = {"kind": "lines", **COLUMNS, **changes}
    table = table.filter(seed=0).with_columns(notes=pl.concat_list("policy"))
    with pytest.raises(to.ScenarioError) as refused:
        plots.of_table(options.pop("kind"), table, **options)
    assert message in str(refused.value)


def test_nothing_to_draw_is_an_error(table: pl.DataFrame) -> None:
    with pytest.raises(to.ScenarioError, match="no run has a value"):
        plots.of_table("lines", table.clear(), **COLUMNS)


# On paper


@pytest.mark.parametrize("kind", ["lines", "bars", "cdf"])
@pytest.mark.parametrize("width", [style.SINGLE_IN, style.DOUBLE_IN])
@pytest.mark.parametrize("title", [None, "What it does, in as many words as it takes to break the line of a title"])
def test_legend_title_and_panels_do_not_meet(table: pl.DataFrame, kind: str, width: float, title: str | None) -> None:
    columns = COLUMNS if kind != "cdf" else {"y": "goodput_bps", "by": "policy"}
    figure = plots.of_table(kind, table, **columns, panels="buffer", width=width, title=title)
    FigureCanvasAgg(figure)
    figure.canvas.draw()

    boxes = [ax.get_tightbbox() for ax in figure.axes] + [legend.get_window_extent() for legend in figure.legends]
    boxes += [text.get_window_extent() for text in figure.texts]
    for index, box in enumerate(boxes):
        for other in boxes[index + 1 :]:
            assert not box.overlaps(other)
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.width + 1
        assert box.y1 <= figure.bbox.height + 1


def test_the_same_table_gives_the_same_bytes(table: pl.DataFrame, tmp_path: Path) -> None:
    written = []
    for folder in ("one", "two"):
        figure = plots.of_table("lines", table.filter("buffer"), **COLUMNS)
        files = plots.publish(figure, str(tmp_path / folder / "figure"))
        assert [file.name for file in files] == ["figure.svg", "figure.pdf", "figure.csv"]
        written.append([file.read_bytes() for file in files])

    plots.write(figure, str(tmp_path / "two/drawn"))
    assert (tmp_path / "two/drawn.svg").read_bytes() == written[0][0]
    assert (tmp_path / "two/drawn.png").is_file()
    assert written[0] == written[1]
    assert pl.read_csv(tmp_path / "one/figure.csv").columns == ["policy", "snr", "mean", "low", "high", "count"]
    pdf = written[0][1]
    assert b"/Type3" not in pdf, "journals refuse fonts of type 3"
    assert b"/FontFile2" in pdf, "fonts are embedded"


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("goodput_mbps", "Goodput (Mbit/s)"),
        ("flows.one_way_delay_mean_s", "Mean one-way delay (s)"),
        ("last_hop.harq.failed", "HARQ failed"),
        ("snr_db", "SNR (dB)"),
        ("path.doppler_rate_max_hz_per_s", "Path doppler rate max (Hz/s)"),
        ("s", "S"),
    ],
)
def test_names_of_columns_become_words(column: str, text: str) -> None:
    assert labels.label(column) == text


def test_values_are_in_units_that_read_well() -> None:
    assert labels.scaled("Goodput (bit/s)", 3e7) == ("Goodput (Mbit/s)", 1e6)
    assert labels.scaled("Delay (s)", 0.03) == ("Delay (ms)", 1e-3)
    assert labels.scaled("Delay (s)", 3000.0) == ("Delay (s)", 1.0)
    assert labels.scaled("Es/N0 (dB)", 1e4) == ("Es/N0 (dB)", 1.0)
    assert [labels.value(of, "Rate (bit/s)") for of in (5e7, True, None, "pf")] == ["50 Mbit/s", "yes", "none", "pf"]


def test_bars_of_one_group_stand_over_their_category(table: pl.DataFrame) -> None:
    one = table.filter(pl.col("policy") == table["policy"][0])

    bars = plots.of_table("bars", one, x="snr", y="goodput_bps").axes[0].containers[0]

    centers = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    assert centers == pytest.approx([*range(len(centers))], abs=1e-9)
