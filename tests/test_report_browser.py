"""Reports in a browser: charts, tables, and what a reader takes along."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import polars as pl
import pytest

import chromium
import transorbit as to
from transorbit.report.page import Cell, Chart, Page, Series, Tile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chromium import Chromium

DRAWN = "document.body.dataset.drawn !== undefined"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = chromium.find()
    if program is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    one = chromium.Chromium(program, tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture
def show(browser: Chromium, written: Callable[[str], Path]) -> Iterator[Callable[..., Chromium]]:
    """Opens the report of one of the results; in the end the browser must have had nothing to complain of."""

    def open_(name: str, **how: Any) -> Chromium:
        browser.open(written(name), until=DRAWN, **how)
        return browser

    yield open_
    assert browser.problems == []
    assert browser.evaluate("document.body.dataset.errors ?? ''") == ""


# Coloured pixels within the axes of each chart: those of its curves.
COLOURED = """[...document.querySelectorAll("[data-chart]")].map(({ plot }) => {
  const { left, top, width, height } = plot.bbox;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(plot.ctx.canvas, -left, -top);
  const pixels = copy.getImageData(0, 0, width, height).data;
  let count = 0;
  for (let at = 0; at < pixels.length; at += 4) {
    const [red, green, blue, alpha] = pixels.slice(at, at + 4);
    count += alpha > 60 && Math.max(red, green, blue) - Math.min(red, green, blue) > 40;
  }
  return count;
})"""
RANGES = '[...document.querySelectorAll("[data-chart]")].map(({ plot }) => [plot.scales.x.min, plot.scales.x.max])'
AREA = """(() => {
  const area = document.querySelectorAll("[data-chart] .u-over")[%d];
  area.scrollIntoView({ block: "center" });
  const { x, y, width, height } = area.getBoundingClientRect();
  return [x, y, width, height];
})()"""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)], ids=["desk", "dark", "phone"])
@pytest.mark.parametrize("name", ["one", "few", "many", "return-link", "train", "silent", "sweep"])
def test_a_browser_draws_every_chart_and_loads_nothing(
    show: Callable[..., Chromium], name: str, width: int, dark: bool
) -> None:
    browser = show(name, width=width, dark=dark)
    places = browser.evaluate('document.querySelectorAll("[data-chart]").length')
    assert (places == 0) == (name == "silent")
    assert browser.evaluate("[document.body.dataset.charts, document.body.dataset.drawn]") == [str(places)] * 2
    assert all(count > 50 for count in browser.evaluate(COLOURED)), browser.evaluate(COLOURED)
    assert all(url.startswith(("file:", "data:")) for url in browser.requests)
    assert sum(url.startswith("file:") for url in browser.requests) == 1
    assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(21, 29, 41)" if dark else "rgb(255, 255, 255)")
    assert len(browser.screenshot()) > 10_000


def test_dragging_zooms_all_charts_and_a_double_click_shows_all(show: Callable[..., Chromium]) -> None:
    browser = show("one")
    before = browser.evaluate(RANGES)
    x, y, width, height = browser.evaluate(AREA % 0)
    browser.drag((x + 0.25 * width, y + 0.5 * height), (x + 0.5 * width, y + 0.5 * height))
    browser.wait(f"JSON.stringify({RANGES}) !== '{json.dumps(before, separators=(',', ':'))}'")

    zoomed = browser.evaluate(RANGES)
    assert len(zoomed) == len(before) >= 8
    assert all(one == zoomed[0] for one in zoomed)
    low, high = zoomed[0]
    assert low == pytest.approx(15, abs=1)
    assert high == pytest.approx(30, abs=1)
    assert all(count > 50 for count in browser.evaluate(COLOURED)[:3])

    browser.evaluate('document.getElementById("theme").click()')
    assert browser.evaluate(RANGES) == zoomed, "another theme does not move the reader"
    browser.click(x + 0.5 * width, y + 0.5 * height, clicks=2)
    browser.wait(f"JSON.stringify({RANGES}[0]) === '{json.dumps(before[0], separators=(',', ':'))}'")
    assert all(one == before[0] for one in browser.evaluate(RANGES))


def test_the_cursor_tells_the_same_instant_in_all_charts(show: Callable[..., Chromium], results: Path) -> None:
    browser = show("one")
    x, y, width, height = browser.evaluate(AREA % 1)
    browser.mouse("mouseMoved", x + 0.5 * width, y + 0.5 * height)
    rows = """[...document.querySelectorAll("[data-chart]")].map(
      (one) => [...one.querySelectorAll(".legend .value")].map((cell) => cell.textContent))"""
    browser.wait(f'{rows}[0].at(-1) !== ""')
    legends = browser.evaluate(rows)
    instants = [float(values[-1]) for values in legends]
    assert all(instant == pytest.approx(30, abs=0.5) for instant in instants)
    result = to.Result.load(results / "one")
    window = result.series.filter(pl.col("time_s").is_close(instants[1]))["cwnd_packets"][0]
    assert legends[1][0].endswith(" packets")
    assert float(legends[1][0].split()[0]) == pytest.approx(window, rel=1e-3)


def test_a_click_on_the_legend_hides_a_curve(show: Callable[..., Chromium]) -> None:
    browser = show("few")
    before = browser.evaluate(COLOURED)[0]
    browser.evaluate('document.querySelector("[data-chart] .legend button").click()')
    shown = browser.evaluate('document.querySelector("[data-chart]").plot.series.map((one) => one.show)')
    assert shown == [True, False, True, True, True]
    assert browser.evaluate(COLOURED)[0] < before
    browser.evaluate('document.getElementById("theme").click()')
    again = browser.evaluate('document.querySelector("[data-chart]").plot.series.map((one) => one.show)')
    assert again == shown, "another theme keeps it hidden"


def test_the_flow_that_is_chosen_is_drawn(show: Callable[..., Chromium], results: Path) -> None:
    browser = show("many")
    last = (
        '[...document.querySelectorAll("[data-chart]")].map(({ plot }) => [plot.series.at(-1).label, plot.data.at(-1)])'
    )
    before = browser.evaluate(last)
    browser.evaluate(
        '(() => { const list = document.querySelector("select.choice"); list.value = "flow 7 (cubic)";'
        ' list.dispatchEvent(new Event("change")); })()'
    )
    after = browser.evaluate(last)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) >= 4
    assert {label for label, _ in changed} == {"flow 7 (cubic)"}
    series_of_flow = to.Result.load(results / "many").series.filter(pl.col("flow") == 7)
    greatest = [max(value for value in values if value is not None) for _, values in changed]
    assert pytest.approx(series_of_flow["cwnd_packets"].max(), rel=1e-3) in greatest
    assert pytest.approx(1e3 * series_of_flow["srtt_s"].max(), rel=1e-3) in greatest


def test_a_click_on_a_heading_sorts_the_table(show: Callable[..., Chromium]) -> None:
    browser = show("many")
    table = 'document.querySelector("#flows table")'
    column = browser.evaluate(
        f'[...{table}.tHead.rows[0].cells].findIndex((one) => one.textContent.startsWith("Goodput"))'
    )
    cells = f"[...{table}.tBodies[0].rows].map((row) => Number(row.cells[{column}].dataset.sort))"
    values = browser.evaluate(cells)
    for order in (False, True):
        browser.evaluate(f"{table}.tHead.rows[0].cells[{column}].querySelector('button').click()")
        assert browser.evaluate(cells) == sorted(values, reverse=order)
    assert len(values) == 40


def test_the_scenario_can_be_copied(show: Callable[..., Chromium], results: Path) -> None:
    browser = show("one")
    browser.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }, 0")
    browser.evaluate('document.querySelector("details .copy-button").click()')
    browser.wait('document.querySelector("details .copy-button").textContent === "Copied"')
    assert browser.evaluate("window.copied") == to.Result.load(results / "one").scenario_toml


@pytest.mark.parametrize("name", ["many", "sweep"])
def test_a_dark_page_is_printed_light_and_whole(show: Callable[..., Chromium], name: str) -> None:
    browser = show(name, dark=True)
    assert browser.pdf().startswith(b"%PDF")
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    scroll = 'getComputedStyle(document.querySelector(".scroll")).maxHeight'
    assert browser.evaluate(scroll) == "none", "a printed table cannot be scrolled"
    assert all(count > 50 for count in browser.evaluate(COLOURED))


def test_the_reader_of_a_sweep_chooses_what_is_drawn(show: Callable[..., Chromium], results: Path) -> None:
    browser = show("sweep")
    labels = '[...document.querySelectorAll("[data-chart] .legend .name")].map((cell) => cell.textContent)'
    assert browser.evaluate(labels) == ["Variant cubic", "Variant newreno", "Rate (Mbit/s)"], "nonsense has no value"
    data = 'document.querySelector("[data-chart]").plot.data'
    means = to.SweepResult.load(results / "sweep").means()

    def wanted(metric: str, variant: str, ack: bool) -> list[float]:
        return [row["metrics"][metric]["mean"] for row in means if (row["variant"], row["ack"]) == (variant, ack)]

    drawn = browser.evaluate(data)
    assert drawn[0] == [5, 10, 20]
    assert drawn[1] == pytest.approx(wanted("goodput_mbps", "cubic", ack=True), rel=1e-3)

    def choose(place: int, value: int) -> None:
        browser.evaluate(
            f'(() => {{ const list = document.querySelectorAll(".choosers select")[{place}]; list.value = "{value}";'
            ' list.dispatchEvent(new Event("change")); })()'
        )

    choose(0, 1)
    choose(3, 1)
    drawn = browser.evaluate(data)
    assert drawn[2] == pytest.approx(wanted("again", "newreno", ack=False), rel=1e-3)
    choose(2, 2)
    assert browser.evaluate(labels) == ["Ack yes", "Ack no", "Rate (Mbit/s)"]
    assert browser.evaluate(COLOURED)[0] > 50


# ---- what a reader takes along


def is_svg(text: str) -> bool:
    return ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own


# Presses a button of the menu in a figure, and takes what the browser would write.
SAVED = """(async () => {
  const figure = %s;
  const made = URL.createObjectURL;
  let kept;
  URL.createObjectURL = (blob) => { kept = blob; return "data:,"; };
  [...figure.querySelectorAll(".menu button")].find((one) => one.textContent === "%s").click();
  while (!kept) await new Promise((done) => setTimeout(done, 20));
  URL.createObjectURL = made;
  return [kept.type, kept.size, kept.type === "image/png" ? "" : await kept.text()];
})()"""


def saved(browser: Chromium, figure: str, kind: str) -> Any:
    return browser.evaluate(SAVED % (figure, kind))


def chart(title: str) -> str:
    return f"""[...document.querySelectorAll("[data-chart]")].find(
      (one) => one.querySelector("h3").textContent.startsWith({json.dumps(title)}))"""


def test_a_chart_is_saved_as_it_is_shown(show: Callable[..., Chromium], results: Path) -> None:
    browser = show("one")
    _, _, text = saved(browser, chart("Congestion window"), "CSV")
    header, *lines = text.splitlines()
    assert header == "Time (s),flow 0 (cubic) (packets),slow-start threshold (packets)"
    window = to.Result.load(results / "one").series["cwnd_packets"]
    assert len(lines) == len(window)
    assert [float(line.split(",")[1]) for line in lines[:20]] == pytest.approx(window[:20].to_list(), rel=1e-4)

    _, _, drawn = saved(browser, chart("Congestion window"), "SVG")
    assert is_svg(drawn)
    assert {"Congestion window, packets", "flow 0 (cubic)", "Time (s)"} <= set(re.findall(">([^<>]+)</text>", drawn))
    assert "light-dark" not in drawn
    assert "var(" not in drawn
    kind, size, _ = saved(browser, chart("Congestion window"), "PNG")
    assert kind == "image/png"
    assert size > 10_000


def test_shares_are_saved_each_by_itself(show: Callable[..., Chromium]) -> None:
    lines = saved(show("one"), chart("Transmissions of a packet"), "CSV")[2].splitlines()
    sums = [sum(map(float, line.split(",")[1:])) for line in lines[2:] if ",," not in line]
    assert sums
    assert sums == pytest.approx([100.0] * len(sums), abs=0.01)


def test_the_intervals_of_a_sweep_are_saved(show: Callable[..., Chromium]) -> None:
    header = saved(show("sweep"), "document.querySelector('[data-chart]')", "CSV")[2].splitlines()[0]
    assert header.startswith('Rate (Mbit/s),Variant cubic,"Variant cubic, low","Variant cubic, high",Variant newreno,')


def test_drawings_are_saved_and_follow_the_theme(show: Callable[..., Chromium]) -> None:
    browser = show("many", dark=True)
    assert browser.evaluate("document.querySelectorAll('figure[data-numbers]').length") > 0
    card = "getComputedStyle(document.querySelector('.paper')).backgroundColor"
    page = browser.evaluate(card)
    assert max(map(int, re.findall(r"\d+", page)[:3])) < 100, "no white card on a dark page"
    background = "getComputedStyle(document.querySelector('.paper [id$=patch_1] path')).fill"
    assert browser.evaluate(background) == page
    names = set(re.findall(r"var\(--([a-z0-9]+)\)", browser.evaluate("document.querySelector('.paper').innerHTML")))
    style = "getComputedStyle(document.documentElement).getPropertyValue('--%s')"
    assert all(browser.evaluate(style % name) for name in names), "each colour of a drawing is one of the page"
    figure = "document.querySelector('figure[data-numbers]')"
    _, _, drawn = saved(browser, figure, "SVG")
    assert is_svg(drawn)
    assert "var(" not in drawn
    assert "#ffffff" in drawn, "paper is white"
    assert saved(browser, figure, "PNG")[1] > 10_000
    assert saved(browser, figure, "CSV")[2].startswith("panel,series,x,y\n")


def test_fingers_zoom_and_a_double_tap_shows_all(show: Callable[..., Chromium]) -> None:
    browser = show("one", width=390)
    whole = browser.evaluate(RANGES)
    browser.evaluate("""(() => {
      const over = document.querySelector('[data-chart] .u-over');
      const { left, top, width } = over.getBoundingClientRect();
      const finger = (identifier, share) => new Touch({
        identifier, target: over, clientX: left + share * width, clientY: top + 20 });
      window.fingers = (kind, ...shares) => over.dispatchEvent(new TouchEvent(kind, {
        touches: shares.map((share, number) => finger(number, share)), cancelable: true, bubbles: true }));
      fingers('touchstart', 0.4, 0.6);
      fingers('touchmove', 0.2, 0.8);
    })()""")
    apart = browser.evaluate(RANGES)
    assert apart[0] == pytest.approx([20.0, 40.0], abs=0.5), "what was under the fingers is there still"
    assert all(range_ == pytest.approx(apart[0]) for range_ in apart), "in all charts"
    browser.evaluate("fingers('touchend'); fingers('touchstart', 0.5); fingers('touchmove', 0.25); fingers('touchend')")
    assert browser.evaluate(RANGES)[0] == pytest.approx([25.0, 45.0], abs=0.5), "one finger moves"
    browser.evaluate("fingers('touchstart', 0.5); fingers('touchend'); fingers('touchstart', 0.5); fingers('touchend')")
    browser.wait(f"JSON.stringify({RANGES}) === '{json.dumps(whole, separators=(',', ':'))}'")


def test_charts_lead_to_their_definitions(show: Callable[..., Chromium]) -> None:
    browser = show("one")
    links = browser.evaluate("[...document.querySelectorAll('a.what')].map((link) => link.getAttribute('href'))")
    assert {"#definition-goodput_bps", "#definition-cwnd_packets", "#definition-queue_packets"} <= set(links)
    assert browser.evaluate(f"{json.dumps(links)}.every((link) => document.querySelector(link) !== null)")
    told = browser.evaluate("document.querySelector('#definition-goodput_bps dd').textContent")
    assert len(told) > 20


@pytest.mark.parametrize("name", ["one", "few", "many", "return-link", "train"])
def test_the_flows_are_not_cut_on_a_desk(show: Callable[..., Chromium], name: str) -> None:
    boxes = "[...document.querySelectorAll('.scroll')].map((box) => box.scrollWidth - box.clientWidth)"
    assert max(show(name, width=1280).evaluate(boxes)) <= 1


def test_what_is_cut_on_a_phone_is_told(show: Callable[..., Chromium]) -> None:
    assert show("one", width=390).evaluate("document.querySelectorAll('.goes-on').length") >= 1


def test_rows_of_a_table_can_be_filtered(browser: Chromium, tmp_path: Path) -> None:
    page = Page("Claims")
    page.tiles([Tile("Claims", "3")])
    rows = [
        ["one", Cell("holds", kind="good")],
        ["two", Cell("does not hold", kind="bad")],
        ["two more", Cell("holds")],
    ]
    page.table(["claim", "verdict"], rows, filters=[1])
    (tmp_path / "page.html").write_text(page.html(), encoding="utf-8")
    browser.open(tmp_path / "page.html", until=DRAWN)
    shown = (
        "[...document.querySelectorAll('tbody tr')].filter((row) => !row.hidden).map((row) => row.cells[0].textContent)"
    )
    browser.evaluate(
        "(() => { const list = document.querySelector('.filters select'); list.value = 'holds';"
        " list.dispatchEvent(new Event('change')); })()"
    )
    assert browser.evaluate(shown) == ["one", "two more"]
    browser.evaluate(
        "(() => { const field = document.querySelector('.filters input'); field.value = 'TWO';"
        " field.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate(shown) == ["two more"]
    assert browser.problems == []


def test_the_browser_would_tell_of_a_defect(browser: Chromium, tmp_path: Path) -> None:
    """What the tests above rely on: a script of somebody else is refused, an error is noticed."""
    page = Page("A page")
    page.chart(Chart("c", "", x=[0.0, 1.0], series=[Series("s", [None, None])]))
    text = page.html().replace("</body>", "<script>alert(1)</script><img src='https://example.org/x.png'></body>")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    browser.open(tmp_path / "page.html", until=DRAWN)
    assert len([problem for problem in browser.problems if "Content Security Policy" in problem]) == 2
    assert browser.evaluate(COLOURED) == [0], "an empty chart has no colour"
    browser.evaluate("setTimeout(() => { throw new Error('broken'); }), 0")
    browser.wait("(document.body.dataset.errors ?? '').includes('broken')")
    assert any("broken" in problem for problem in browser.problems)
