"""The reports: what is in the file, and what a browser makes of it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import resources
from typing import TYPE_CHECKING

import polars as pl
import pytest

import transorbit as to
import wasm
from conftest import ROOT, Outcome
from transorbit import report, statistics
from transorbit._flow_kinds import named
from transorbit._numbers import on_page as number
from transorbit.report import series, text, tiles
from transorbit.report import sweep as sweep_report
from transorbit.report.page import MISSING, Cell, Chart, Page, Series, interval

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


MOST_BYTES = 3_000_000


# ---- the file


def test_the_command_writes_the_report_into_the_folder_and_a_rerun_replaces_it(
    command: Callable[..., Outcome], here: Path
) -> None:
    short = ("--set", "duration=5 s", "--quiet", "--no-plots", "--out", "short")
    assert command("run", "scenarios/lab-fixed.toml", *short).code == 0

    done = command("report", "short")
    assert (done.code, done.out, done.err) == (0, "Report: short/report.html\n", "")
    assert (here / "short/report.html").is_file()
    assert command("report", "short", "--out", "elsewhere/lab.html").out == "Report: elsewhere/lab.html\n"
    assert (here / "elsewhere/lab.html").read_bytes() == (here / "short/report.html").read_bytes()

    assert command("run", "scenarios/lab-fixed.toml", *short).code == 0
    assert not (here / "short/report.html").exists(), "it was the report of the run before"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("report", "nowhere"), "transorbit: nowhere: no such folder: that of a result or of a sweep is expected\n"),
        (("report", "sweep", "--between", "rat"), "transorbit: between: there is no axis 'rat'; did you mean rate?\n"),
        (("report", "few", "--between", "rate"), "transorbit: between: rate: is for a sweep, and few is a result\n"),
        (("report", "scenarios"), "transorbit: scenarios: neither a result nor a sweep\n"),
    ],
)
def test_what_cannot_be_reported_is_refused(
    command: Callable[..., Outcome], results: Path, here: Path, arguments: tuple[str, ...], says: str
) -> None:
    for name in ("sweep", "few"):
        (here / name).symlink_to(results / name)
    done = command(*arguments)
    assert (done.code, done.out, done.err) == (2, "", says)


@pytest.mark.parametrize(
    ("broken", "content"),
    [
        ("summary.json", b""),
        ("summary.json", b"{}"),
        ("summary.json", b'{"title": "\xff"}'),
        ("provenance.json", b"{"),
        ("scenario.toml", b"[1,2"),
        ("flows.parquet", b""),
        ("series.parquet", b"PAR1PAR1"),
    ],
)
def test_a_damaged_file_of_a_result_is_named(
    command: Callable[..., Outcome], results: Path, here: Path, broken: str, content: bytes
) -> None:
    shutil.copytree(results / "few", here / "few")
    (here / "few" / broken).write_bytes(content)

    for arguments in (("report", "few"), ("plot", "few"), ("plot", "few", "goodput")):
        done = command(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"transorbit: few/{broken}: is damaged: ")
        assert done.err.count("\n") == 1


@pytest.mark.parametrize("broken", ["runs/runs.parquet", "flows/flows.parquet"])
def test_a_damaged_table_of_a_sweep_is_told_in_a_line(
    command: Callable[..., Outcome], results: Path, here: Path, broken: str
) -> None:
    shutil.copytree(results / "sweep", here / "sweep")
    file = here / "sweep" / broken
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    for arguments in (("report", "sweep"), ("plot", "sweep"), ("plot", "sweep", "lines")):
        done = command(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("transorbit: sweep")
        assert done.err.count("\n") == 1


def test_the_same_folder_gives_the_same_bytes(results: Path, written: Callable[[str], Path], tmp_path: Path) -> None:
    names = ["one", "few", "many", "return-link", "train", "sweep"]
    code = (
        "import sys; from transorbit import report; "
        "[report.write(f'{sys.argv[1]}/{name}', f'{sys.argv[2]}/{name}.html') for name in sys.argv[3:]]"
    )
    words = [sys.executable, "-c", code, results, tmp_path, *names]
    subprocess.run(words, check=True, env=os.environ | {"PYTHONHASHSEED": "7"}, timeout=300)
    for name in names:
        assert (tmp_path / f"{name}.html").read_bytes() == written(name).read_bytes(), name


class _Links(HTMLParser):
    """What a page refers to, and the text of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.policy = ""
        self.titles: list[str] = []
        self._inside = ""
        self._type: str | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = dict(attributes)
        named = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
        self.targets += [told[name] or "" for name in named if name in told]
        if told.get("http-equiv") == "Content-Security-Policy":
            self.policy = told["content"] or ""
        self._inside, self._type = tag, told.get("type")
        if tag == "script":
            self.scripts.append((self._type, ""))

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)
        elif self._inside == "h1":
            self.titles.append(data)


@pytest.mark.parametrize("name", ["one", "few", "many", "return-link", "train", "silent", "sweep"])
def test_a_report_needs_nothing_else(written: Callable[[str], Path], name: str) -> None:
    text = written(name).read_text(encoding="utf-8")
    links = _Links()
    links.feed(text)

    assert [target for target in links.targets if not target.startswith(("#", "data:"))] == []
    assert [target for target in re.findall(r"url\(([^)]*)\)|@import", text) if not target.startswith("#")] == []
    assert "default-src 'none'" in links.policy
    (data_type, data), (code_type, code) = links.scripts
    assert (data_type, code_type) == ("application/json", None)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in links.policy, "the browser would refuse our own script"
    assert set(json.loads(data)) == {"columns", "charts", "numbers"}
    assert (ROOT / "python/transorbit/report/assets/uPlot.LICENSE").read_text() in code
    assert len(text.encode()) < MOST_BYTES


def test_text_stays_text(results: Path) -> None:
    text = report.of_result(to.Result.load(results / "train"))
    links = _Links()
    links.feed(text)
    assert "".join(links.titles) == "A <b>train</b> & </script><script>alert(1)</script>"
    assert "<script>alert" not in text

    page = Page("</title><script>alert(2)</script>", "<i>")
    page.selector("Flow", ["</script><script>alert(3)</script>"], "")
    hostile = {"</script><script>alert(3)</script>": [1.0]}
    page.chart(Chart("<!--", "<u>", x=[0.0], series=[Series("</script>", [1.0])], choices=hostile))
    page.table(['" onmouseover="'], [[Cell('">', note='" onclick="', href="#")]])
    assert page.html().count("<script") == 2
    assert " onmouseover" not in page.html().replace("&#34; onmouseover", "")
    assert ' onclick="' not in page.html()


def test_the_key_numbers_are_those_of_the_summary(results: Path) -> None:
    result = to.Result.load(results / "one")
    text = report.of_result(result)
    flow, harq = result.summary["flows"][0], result.summary["last_hop"]["harq"]

    tiles = dict(re.findall(r'<div class="label">(.*?)</div><div class="value">([^<]*?)\s*<', text))
    assert tiles["Goodput"] == number(result.goodput_bps / 1e6, 4)
    assert tiles["Round-trip time, mean"] == number(1e3 * flow["rtt_mean_s"], 4)
    assert tiles["Timeouts"] == str(flow["rto_events"])
    assert tiles["Packets lost"] == number(100 * flow["loss_ratio"], 3)
    counts = harq["decoded_after"]
    sent = sum(place * count for place, count in enumerate(counts, start=1)) + len(counts) * harq["failed"]
    assert tiles["Transmissions of a packet"] == number(sent / (sum(counts) + harq["failed"]), 3)
    for needed in (
        result.summary["digest"],
        result.provenance["scenario_sha256"],
        "transorbit run scenario.toml --seed 1",
    ):
        assert needed in text


def test_what_has_not_ended_or_loaded_is_told_beside_what_has(lab: to.Scenario) -> None:
    page = {"transport": "tcp", "traffic": {"kind": "web", "main": "1 GB"}}
    transfers = [{"transport": "tcp", "traffic": {"kind": "bulk", "size": size}} for size in ("10 kB", "1 GB")]
    result = lab.replace({"duration": "2 s", "flows": [page, *transfers]}).run()
    told = {tile.label: (tile.value, tile.note) for tile in tiles.of(result)}
    done = result.summary["flows"][1]["completion_s"]

    assert told["Transfer, median time"] == (number(done, 3), "1 of 2 ended")
    assert told["Page, mean time"] == (MISSING, "0 of 1 loaded")


def test_what_is_defined_is_shown(lab: to.Scenario) -> None:
    flows = [{"transport": "tcp", "traffic": "web"}, {"transport": "udp", "traffic": "voice"}]
    page = report.of_result(lab.replace({"duration": "20 s", "flows": flows}).run())
    defined = set(re.findall(r'id="definition-([\w.]+)"', page))

    assert {"goodput_bps", "queue_packets", "jitter_s", "mos", "web.load_mean_s"} <= defined
    assert "Page, mean <code>web.load_mean_s</code>" in page
    assert not defined & {"web", "voice", "jitter_rfc3550_s", "opened_s", "rebuffer_ratio", "lost_collision", "time_s"}


def test_warnings_stand_before_everything_else(results: Path) -> None:
    result = to.Result.load(results / "train")
    text = report.of_result(result)
    assert result.summary["warnings"]
    for warning in result.summary["warnings"]:
        assert 0 < text.index(warning) < text.index("Key numbers</h2>")

    result.summary["partial"] = True
    assert "the run was stopped at 20 s, before its end" in report.of_result(result)


def test_every_packet_is_accounted_for(results: Path) -> None:
    result = to.Result.load(results / "many")
    text = report.of_result(result)
    fates = text[text.index('<section id="packets">') :]
    counts = [int(count) for count in re.findall(r'<td class="n" data-sort="(\d+)">[^<]*</td><td', fates)]
    *parts, created = counts
    assert created == sum(parts) == result.summary["conservation"]["created"]


def averaged(text: str) -> dict[str, list[str]]:
    """The table of averages: cells by the name of the row."""
    table = text[text.index("One long run tells") :].split("</table>")[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")]
    return {row[0]: row[1:] for row in rows if row}


def test_averages_of_a_run_have_the_intervals_of_batch_means(results: Path) -> None:
    result = to.Result.load(results / "one")
    rows = averaged(report.of_result(result))
    told = result.series.slice(1)
    for column, name, scale in (
        ("goodput_bps", "Goodput, flow 0 (cubic) (Mbit/s)", 1e-6),
        ("queue_packets", "Queue of the last hop (packets)", 1.0),
    ):
        samples = told[column] * scale
        start = statistics.warm_up(samples)
        found = statistics.batch_means(samples, warm_up=start)
        mean, half_width, since, length, trust = rows[name]
        assert (mean, half_width) == (number(found.mean), number(found.half_width, 2))
        interval_s = told["time_s"][1] - told["time_s"][0]
        assert float(since) == pytest.approx(told["time_s"][start] - interval_s, abs=1e-6)
        assert float(length) == pytest.approx(found.size * interval_s)
        assert (trust == "sound") == (not found.correlated and not statistics.too_short(len(samples), start))


def test_averages_tell_when_their_interval_cannot_be_trusted(lab: to.Scenario) -> None:
    # The window only grows, so it never settles.
    growing = lab.replace({"duration": "30 s", "last_hop.rate": "1 Gbit/s", "flows.0.transport.congestion": "newreno"})
    rows = averaged(report.of_result(growing.run()))
    assert rows["Congestion window, flow 0 (newreno) (packets)"][-1] == "not settled"


def test_averages_of_many_flows_are_those_of_their_sum(results: Path) -> None:
    result = to.Result.load(results / "many")
    rows = averaged(report.of_result(result))
    total = result.series.group_by("time_s", maintain_order=True).agg(pl.col("goodput_bps").sum())["goodput_bps"][1:]
    found = statistics.batch_means(total / 1e6, warm_up=statistics.warm_up(total))
    assert rows["Goodput, all flows (Mbit/s)"][0] == number(found.mean)
    assert sum("Goodput" in name for name in rows) == 1


def test_a_run_of_few_samples_has_no_averages(results: Path) -> None:
    assert "One long run tells" not in report.of_result(to.Result.load(results / "silent"))


def test_a_report_of_many_flows_stays_small(lab: to.Scenario) -> None:
    result = lab.replace({"flows.0.count": 1200, "duration": "5 s"}).run()
    assert result.series["flow"].n_unique() == 1200
    text = report.of_result(result)
    assert len(text.encode()) < MOST_BYTES
    assert text.count("<option") == 100
    assert "Of 1\N{NARROW NO-BREAK SPACE}200 flows the 500 that got least and the 500 that got most." in text


def test_shortening_keeps_the_extremes_in_their_order() -> None:
    values: list[float | None] = [float(place % 7) for place in range(1000)]
    values[137], values[138], values[901] = 99.0, -99.0, None
    table = pl.DataFrame({"time_s": [0.1 * place for place in range(1000)], "value": values, "none": [None] * 1000})
    short = series._within({"": table}, 100)[""]

    assert len(short) <= 100
    kept = short["value"].to_list()
    assert kept.index(99.0) + 1 == kept.index(-99.0), "the peak came first"
    assert short["time_s"].is_sorted()
    assert short["time_s"].n_unique() == len(short)
    assert short["time_s"][kept.index(99.0)] == pytest.approx(13.7, abs=100 / len(short) * 2)
    assert short["none"].null_count() == len(short)
    assert series._within({"": table}, 1000)[""] is table
    for length in range(2, 60):
        cut = series._within({"": table.head(length)}, 10)[""]
        assert cut["time_s"].n_unique() == len(cut) <= max(10, 2)
        assert cut["value"].max() == table.head(length)["value"].max()


def test_a_sweep_tells_means_intervals_and_failures(results: Path) -> None:
    result = to.SweepResult.load(results / "sweep")
    text = report.of_sweep(result)

    assert "18 points, 54 runs, 18 of them failed" in text
    assert text.index(
        "of 54 runs 18 failed; nothing for variant = nonsense; means are those of the others"
    ) < text.index("Key numbers</h2>")
    row = next(row for row in result.means() if row["metrics"]["goodput_mbps"]["count"] > 1)
    told = row["metrics"]["goodput_mbps"]
    assert interval(told["mean"], told["low"], told["high"]) in text
    assert text.count("&#34;nonsense&#34; is unknown") == 6, "one line for each point that failed"
    for needed in (
        "Rate (Mbit/s)",
        "sum(goodput_bps) / 1e6",
        "transorbit sweep sweep.toml",
        str(result.runs["build"][0]),
    ):
        assert needed in text
    assert str(results) not in text, "the page names no folder of this machine"


def test_a_sweep_tells_what_an_axis_changes_pair_by_pair(results: Path) -> None:
    result = to.SweepResult.load(results / "sweep")
    ok = result.runs.filter(pl.col("status") == "ok")

    def told(metric: str, between: str, within: list[str]) -> list[str]:
        found = statistics.compare(ok, metric=metric, between=between, within=within)
        return [interval(*row) for row in found.select("difference", "low", "high").rows()]

    text = report.of_sweep(result)
    assert "Mean with cubic" in text
    for metric in result.metrics:
        differences = told(metric, "variant", ["rate", "ack"])
        assert len(differences) == 6
        assert all(one in text for one in differences)
    table = text.split("Differences</h2>")[1].split("</section>")[0]
    shown = re.sub(r"<[^>]*>", " ", table)
    assert "\N{MINUS SIGN}" in shown
    assert not re.search(r"(?<!\w)-\d", shown), "one sign for minus"
    chosen = report.of_sweep(result, between="rate")
    assert "Mean with 5<" in chosen
    assert all(one in chosen for one in told("goodput_mbps", "rate", ["variant", "ack"]))

    every = statistics.compare(ok, metric="goodput_mbps", between="rate", within=["variant", "ack"], every_pair=True)
    levels = len(ok["rate"].unique())
    assert len(every) == levels * (levels - 1) // 2 * len(ok.select("variant", "ack").unique())
    against_all = report.of_sweep(result, between="rate", against="all")
    assert "Mean with that" in against_all
    assert all(interval(*row) in against_all for row in every.select("difference", "low", "high").rows())
    last = report.of_sweep(result, between="rate", against="20")
    assert "Mean with 20<" in last
    with pytest.raises(to.ScenarioError, match=r"against: '7' is no value of the axis \(it has .*, and all\)"):
        report.of_sweep(result, between="rate", against="7")


def test_differences_are_from_the_first_value_of_the_axis_or_are_not_told(results: Path) -> None:
    result = to.SweepResult.load(results / "sweep")
    first = pl.col("variant") == "cubic"

    def without(lost: pl.Expr) -> str:
        runs = result.runs.with_columns(again=pl.when(lost).then(None).otherwise("again"))
        return report.of_sweep(to.SweepResult(result.sweep, runs, result.flows))

    # Where the first value has no number at the first point it is the baseline all the same.
    text = without(first & (pl.col("point") == 0))
    assert text.count("Mean with cubic") == 2
    assert "Mean with newreno" not in text
    text = without(first)
    assert text.count("Mean with cubic") == 1
    assert "Mean with newreno" not in text


def test_one_replication_has_no_differences() -> None:
    axes = [{"name": "variant", "key": "flows.0.transport.congestion", "values": ["cubic", "newreno"]}]
    base = {"scenario": "lab-fixed.toml", "set": {"duration": "1 s", "record.series": False}, "axes": axes}
    text = report.of_sweep(to.Sweep.from_dict(base | {"replications": 1}, base_dir=ROOT / "scenarios").run(jobs=1))
    assert "Means</h2>" in text
    assert "Differences</h2>" not in text


def test_warnings_of_a_sweep_are_counted_over_its_runs() -> None:
    # Too short for anything to arrive.
    base = {"scenario": "lab-fixed.toml", "replications": 2, "set": {"duration": "50 ms", "record.series": False}}
    axes = [{"name": "variant", "key": "flows.0.transport.congestion", "values": ["cubic", "newreno"]}]
    result = to.Sweep.from_dict({**base, "axes": axes}, base_dir=ROOT / "scenarios").run(jobs=1)
    text = report.of_sweep(result)
    assert "1 of 1 flows delivered nothing (in 4 of 4 runs)" in text
    assert "<svg" in text, "no axis is a number: bars"
    assert '<div class="plot"' not in text


# ---- the shell


def test_anchors_are_unique_and_drawings_keep_apart() -> None:
    page = Page("A page")
    svg = '<?xml version="1.0"?><!DOCTYPE svg><svg><metadata>http://a</metadata><path id="a"/><use href="#a"/></svg>'
    for _ in range(2):
        page.section("Results: all of them")
        page.figure(svg, "A drawing")
    text = page.html()
    assert text.count('id="results-all-of-them"') == text.count('id="results-all-of-them-2"') == 1
    assert '<path id="f1-a"/><use href="#f1-a"/>' in text
    assert '<path id="f2-a"/><use href="#f2-a"/>' in text
    assert "DOCTYPE svg" not in text
    assert "http://a" not in text


def test_numbers_are_for_people() -> None:
    thin = "\N{NARROW NO-BREAK SPACE}"
    assert [number(value) for value in (0, 12, 1234567, -3)] == ["0", "12", f"1{thin}234{thin}567", "\N{MINUS SIGN}3"]
    assert [number(value, 4) for value in (0.5, 1.23456, 123456.7)] == ["0.5", "1.235", f"123{thin}457"]


def test_a_rate_is_in_the_unit_that_suits_it_as_it_is_rounded() -> None:
    told = [text.rate(bps) for bps in (0.0, 999_940.0, 999_990.0, 2.5e9)]
    assert told == [("0", "bit/s"), ("999.9", "kbit/s"), ("1", "Mbit/s"), ("2.5", "Gbit/s")]


def test_a_flow_without_a_congestion_controller_is_named_by_its_traffic() -> None:
    call = to.Scenario.load("voip").replace({"duration": "1 s", "flows.0.count": 1}).run()
    assert named(call.summary["flows"][0]) == "flow 0 (voice)"
    assert (
        next(tile.note for tile in tiles.of(call) if tile.label == "Goodput")
        == "of the flow (voice), over the whole run"
    )


def test_equal_columns_are_stored_once_and_what_is_not_a_number_is_null() -> None:
    page = Page("A page")
    for _ in range(3):
        page.chart(Chart("c", "", x=[0.0, 1.0], series=[Series("s", [float("nan"), 1 / 3])]))
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page.html())[0])
    assert data["columns"] == [[0, 1], [None, 0.33333]]


def test_what_a_page_is_made_of_is_part_of_the_package() -> None:
    assets = {entry.name for entry in resources.files("transorbit.report").joinpath("assets").iterdir()}
    assert assets == {"README.md", "page.html", "page.css", "charts.js", "charts.css", "uPlot.LICENSE"}
    folder = ROOT / "python/transorbit/report/assets"
    ignored = subprocess.run(
        ["git", "check-ignore", *folder.iterdir()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ignored.stdout == ""
    assert sum((folder / name).stat().st_size for name in ("charts.js", "charts.css")) < 120_000


def test_the_charts_are_those_of_the_page(tmp_path: Path) -> None:
    """What is kept in the package is what `npm run report` makes of the page's sources."""
    npm = wasm.libraries()
    build = [npm, "run", "--silent", "report", "--", "--outDir", tmp_path, "--logLevel", "warn"]
    done = subprocess.run(build, cwd=ROOT / "web", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = ROOT / "python/transorbit/report/assets"
    for name in ("charts.js", "charts.css"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), "cd web && npm run report"


def test_a_page_has_no_numbers_of_very_many_points() -> None:
    from matplotlib.figure import Figure

    few, many = Figure(), Figure()
    few.subplots().plot(range(10))
    many.subplots().plot(range(200_000))

    assert text.numbers(few).count("\n") == 11
    assert text.numbers(many) == ""


def test_a_report_of_a_sweep_counts_the_runs_that_succeeded() -> None:
    congestion = {"name": "tcp", "key": "flows.0.transport.congestion", "values": ["cubic", "nonsense"]}
    table = {"scenario": "lab-fixed.toml", "set": {"duration": "1 s"}, "replications": 2, "axes": [congestion]}
    result = to.Sweep.from_dict(table, base_dir=ROOT / "scenarios").run(jobs=1)
    assert len(result.failed) == 2

    runs = next(tile for tile in sweep_report._tiles(result, result.means()) if tile.label == "Runs")

    assert (runs.value, runs.note) == ("2", "0 to 2 each")
