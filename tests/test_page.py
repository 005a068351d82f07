"""The page in a browser: what it shows, each way to change it, and that it stays quick and small."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import chromium
import transorbit as to
import wasm
from conftest import ROOT
from transorbit import view

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chromium import Chromium

MOST_BYTES = 2_000_000
QUESTIONS: list[dict[str, Any]] = json.loads((ROOT / "web/src/gallery.json").read_text())
READY = "document.documentElement.dataset.ready === 'true' && page.store.progress === null"
IDLE = "page.store.progress === null && Object.values(page.store.sides).every((side) => side.outcome || side.refused)"
DIGEST = "page.store.side.outcome.summary.digest"
LAB = "#scenario=lab-fixed"


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of the page."""
    if chromium.find() is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    folder = wasm.page()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "built", lambda: folder)
        server = view.Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.address
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(served: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = chromium.find()
    assert program
    assert served
    one = chromium.Chromium(program, tmp_path_factory.mktemp("profile"), *chromium.SOFTWARE_GL)
    yield one
    one.close()


def visit(browser: Chromium, served: str, fragment: str = LAB, **how: Any) -> None:
    browser.open("about:blank")
    browser.open(served + fragment, until=READY, **how)
    browser.wait(IDLE)
    assert browser.problems == []


def choose(browser: Chromium, path: str, value: str) -> None:
    """Give a control another value, and wait for the run that follows."""
    at = json.dumps(f'[data-path="{path}"]')
    browser.evaluate("page.store.side.ran = undefined")
    browser.evaluate(
        f"(() => {{ const control = document.querySelector({at}); control.value = {json.dumps(value)};"
        f" control.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    )
    browser.wait(f"page.store.side.ran !== undefined && {IDLE}")


def box(browser: Chromium, selector: str) -> tuple[float, float, float, float]:
    """Left, top, width and height of an element, scrolled into view."""
    browser.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{ block: 'center' }})")
    time.sleep(0.3)
    found = browser.evaluate(
        f"(({{ left, top, width, height }}) => [left, top, width, height])"
        f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
    )
    return found[0], found[1], found[2], found[3]


def key(summary: dict[str, Any], metric: str) -> float:
    flows = summary["flows"]
    if metric == "goodput":
        return sum(flow["delivered_bytes"] for flow in flows) / summary["simulated_s"]
    columns = {"rtt": "rtt_mean_s", "lost": "loss_ratio", "mos": "mos"}
    values = [flow[columns[metric]] for flow in flows if flow[columns[metric]] is not None]
    return sum(values) / len(values)


@pytest.mark.parametrize("question", QUESTIONS, ids=[question["id"] for question in QUESTIONS])
def test_the_findings_of_the_gallery_hold(question: dict[str, Any]) -> None:
    scenario = to.Scenario.load(ROOT / f"scenarios/{question['scenario']}.toml").replace(question["set"])
    found = {
        side: key(scenario.replace(question[side]["set"]).run(seed=1).summary, question["metric"]) for side in "ab"
    }

    other = "b" if question["more"] == "a" else "a"
    assert found[question["more"]] > 1.15 * found[other], found


def test_there_are_twelve_questions() -> None:
    assert len({question["id"] for question in QUESTIONS}) == 12


def test_a_question_loads_runs_and_asks_nobody_else(browser: Chromium, served: str) -> None:
    visit(browser, served, "#q=bufferbloat")

    found = browser.evaluate("Object.values(page.store.sides).map((side) => side.outcome.summary.digest)")
    lab = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml")
    natively = [
        lab.replace(changes).run().summary["digest"] for changes in ({}, {"last_hop.scheduler.buffer": "8 bdp"})
    ]
    assert found == natively
    assert all(address.startswith(served) for address in browser.requests if address != "about:blank")
    assert browser.evaluate("document.querySelectorAll('figure.chart').length") >= 5
    row = "[...document.querySelectorAll('#numbers tbody tr.asked td')].map((cell) => cell.textContent)"
    one, eight, more = browser.evaluate(row)
    assert (one, eight) == ("175 ms", "768 ms")
    assert more.startswith("+59")


def test_the_page_is_small(served: str) -> None:
    assert served
    files = [path for path in wasm.page().rglob("*") if path.is_file() and path.suffix != ".wasm"]

    # Without the core, which `make page` makes smaller than the tests' quick build.
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST_BYTES // 5


def test_every_scenario_has_the_digest_of_the_native_core(browser: Chromium, served: str) -> None:
    visit(browser, served)
    found = {}
    for one in wasm.asked(wasm.scenarios()):
        done = browser.evaluate(f"{wasm.IN_WORKER}({json.dumps(one)})")
        found[one["name"]] = (done["digest"], done["events"], done["series"])

    assert found == wasm.natively()


SHIFTS = """
new Promise((done) => {
  const found = [];
  const note = (list) => found.push(...list.getEntries());
  new PerformanceObserver(note).observe({ type: 'layout-shift', buffered: true });
  const where = ({ node }) => `${node?.id ?? ''}.${node?.className ?? ''}`;
  setTimeout(() => done(found.map(({ value, sources }) => [value, sources.map(where).join(' ')])), 300);
})
"""


@pytest.mark.parametrize("question", ["reordering", "handover"])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_nothing_moves_while_it_loads(browser: Chromium, served: str, width: int, question: str) -> None:
    visit(browser, served, f"#q={question}", width=width)
    shifts = browser.evaluate(SHIFTS)

    # A tenth is what a reader is said to notice.
    assert sum(value for value, _ in shifts) < 0.02, shifts


def test_a_name_in_a_legend_hides_its_curve(browser: Chromium, served: str) -> None:
    visit(browser, served)
    shown = "document.querySelector('[data-chart=window]').plot.series.map((one) => one.show)"
    assert browser.evaluate(shown) == [True, True, True]
    button = "document.querySelector('[data-chart=window] .legend button')"
    browser.evaluate(f"{button}.click()")
    assert browser.evaluate(shown) == [True, False, True]
    assert browser.evaluate(f"{button}.getAttribute('aria-pressed')") == "false"
    browser.evaluate("document.querySelector('#theme').click()")
    assert browser.evaluate(shown) == [True, False, True], "another theme keeps it hidden"


def test_charts_are_saved(browser: Chromium, served: str, tmp_path: Path) -> None:
    visit(browser, served, "#q=bufferbloat")
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    for place, name in enumerate(("png", "svg", "csv")):
        browser.evaluate(f"document.querySelectorAll('[data-chart=rtt] .menu button')[{place}].click()")
        file = tmp_path / f"transorbit-rtt.{name}"
        end = time.monotonic() + 20
        while not (file.is_file() and file.stat().st_size) and time.monotonic() < end:
            time.sleep(0.1)
    assert (tmp_path / "transorbit-rtt.png").read_bytes().startswith(b"\x89PNG")
    paths = re.findall(r'<path d="([^"]*)"', (tmp_path / "transorbit-rtt.svg").read_text())
    assert max(map(len, paths)) > 1000
    rows = (tmp_path / "transorbit-rtt.csv").read_text().splitlines()
    assert rows[0].startswith("time_s,A: smoothed")
    series = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").run().series
    assert len(rows) == series.height + 1
    assert float(rows[100].split(",")[1]) == pytest.approx(series["srtt_s"][99])


def test_a_control_runs_again_and_the_back_button_returns(browser: Chromium, served: str) -> None:
    visit(browser, served)
    before = browser.evaluate(DIGEST)
    choose(browser, "flows.0.transport.congestion", "newreno")
    lab = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml")
    other = lab.replace({"flows.0.transport.congestion": {"kind": "newreno"}}).run().summary["digest"]
    assert browser.evaluate(DIGEST) == other != before
    choose(browser, "last_hop.rate", "20")
    assert 'rate       = "20 Mbit/s"' in browser.evaluate("page.store.side.toml")

    browser.evaluate("history.back()")
    browser.wait(f"page.store.side.outcome?.summary.digest === {json.dumps(other)}")
    browser.evaluate("history.back()")
    browser.wait(f"page.store.side.outcome?.summary.digest === {json.dumps(before)}")


def test_an_address_brings_everything_back(browser: Chromium, served: str) -> None:
    visit(browser, served, "#q=bufferbloat")
    browser.evaluate("page.store.setWindow([10, 20])")
    browser.evaluate("page.store.setTime(12.5)")
    address = browser.evaluate("page.app.link()")
    digests = browser.evaluate("Object.values(page.store.sides).map((side) => side.outcome.summary.digest)")
    visit(browser, served, address.removeprefix(served))
    assert digests == browser.evaluate("Object.values(page.store.sides).map((side) => side.outcome.summary.digest)")
    assert browser.evaluate("[page.store.time, ...page.store.window]") == [12.5, 10, 20]

    visit(browser, served, "#s=nonsense")
    assert browser.evaluate("page.store.question") == QUESTIONS[0]["id"]


def test_wrong_text_is_told_at_its_line(browser: Chromium, served: str) -> None:
    visit(browser, served)
    browser.evaluate("document.querySelector('details.text').open = true")
    browser.evaluate(
        "(() => { const text = document.querySelector('.editor textarea');"
        " text.value = text.value.replace('droptail', 'dropfront'); text.dispatchEvent(new Event('input')); })()"
    )
    browser.wait("document.querySelector('.editor .message').textContent !== ''")
    message = browser.evaluate("document.querySelector('.editor .message').textContent")
    assert message.startswith('Line 17: last_hop.scheduler.kind: "dropfront" is unknown, did you mean')
    assert browser.evaluate("document.querySelector('.editor .wrong').textContent.trim()") == "17"
    assert browser.evaluate("document.querySelector('[data-path=\"last_hop.scheduler\"]').ariaInvalid") in {
        None,
        "true",
    }


def test_a_run_can_be_cancelled(browser: Chromium, served: str) -> None:
    visit(browser, served)
    browser.evaluate("void page.app.change('duration', '100000 s')")
    browser.wait("page.store.progress !== null && page.store.progress > 0")
    begun = time.monotonic()
    browser.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Cancel').click()")
    browser.wait("page.store.progress === null")
    assert time.monotonic() - begun < 5
    browser.evaluate("void page.app.change('duration', '2 s')")
    browser.wait("page.store.side.outcome.summary.simulated_s === 2")


def test_drag_hover_and_keys_on_the_time_line(browser: Chromium, served: str) -> None:
    visit(browser, served)
    left, top, width, height = box(browser, "[data-chart=goodput] .u-over")
    browser.drag((left + width / 4, top + height / 2), (left + width / 2, top + height / 2))
    browser.wait("page.store.window !== null")
    window = browser.evaluate("page.store.window")
    assert window == pytest.approx([15, 30], abs=1.0)

    browser.mouse("mouseMoved", left + width / 2, top + height / 2)
    legends = "[...document.querySelectorAll('.chart .legend')].every((legend) => /\\d/.test(legend.textContent))"
    browser.wait(legends)
    browser.evaluate("document.querySelector('[data-chart=goodput] .area').focus()")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    browser.wait("page.store.window === null")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert browser.evaluate("page.store.time") > 0


def test_a_packet_can_be_followed(browser: Chromium, served: str) -> None:
    visit(browser, served)
    browser.evaluate("page.store.setWindow([5, 6])")
    ask = "[...document.querySelectorAll('#packets button')][0]"
    browser.evaluate(f"{ask}.click()")
    browser.wait(f"!document.querySelector('canvas.sequence').hidden && !{ask}.disabled")
    browser.evaluate("document.querySelector('canvas.sequence').focus()")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    rows = browser.evaluate("[...document.querySelectorAll('.walk tr')].map((row) => row.textContent)")
    assert rows[0].startswith("sent on the ground5.0")
    assert any(row.startswith("delivered to the user") for row in rows)


def test_the_globe_turns_and_shows_the_route(browser: Chromium, served: str) -> None:
    visit(browser, served, "#q=handover")
    assert browser.evaluate("page.store.side.globe.satellites.length") == 1584
    assert "one way, over" in browser.evaluate("document.querySelector('p.route').textContent")
    left, top, width, height = box(browser, ".picture canvas")
    before = browser.screenshot()
    browser.drag((left + width / 2, top + height / 2), (left + width / 4, top + height / 2))
    time.sleep(1)
    assert browser.screenshot() != before


def test_a_frame_of_the_globe_is_few_triangles_in_few_calls(browser: Chromium, served: str) -> None:
    """What a frame costs without a graphics card; `make page-check` measures how many there are in a second."""
    visit(browser, served, "#q=handover")
    browser.evaluate("page.globe.measure(1)")
    drawn = browser.evaluate("page.globe.picture.renderer.info.render")
    assert 0 < drawn["calls"] <= 6
    assert 0 < drawn["triangles"] <= 4_000
    assert 0 < drawn["lines"] <= 3_300
    assert 1584 <= drawn["points"] <= 1_600


def test_fifty_runs_do_not_grow(browser: Chromium, served: str) -> None:
    visit(browser, served)
    browser.evaluate("page.app.change('duration', '1 s')")

    def after(runs: int) -> tuple[float, float]:
        for run in range(runs):
            browser.evaluate(f"page.app.reseed({run % 7})")
        browser.call("HeapProfiler.collectGarbage")
        return browser.call("Runtime.getHeapUsage")["usedSize"], browser.evaluate("page.store.side.outcome.memory")

    heap, core = after(10)
    more_heap, more_core = after(50)
    assert more_core <= core
    assert more_heap < heap + 3e6


# The contrast of a text with what is behind it, by WCAG 2.2; and elements without a name.
SEEN = """
(() => {
  const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const wrong = [];
  for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility() || element.matches('option, canvas, canvas *, script, noscript')) continue;
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (own && !element.disabled) {
      const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) wrong.push(`${element.tagName} ${element.className}: ${ratio.toFixed(2)}`);
    }
    if (element.matches('input, select, textarea, button')) {
      const name = element.labels?.[0]?.textContent || element.getAttribute('aria-label') || element.textContent;
      if (!name.trim()) wrong.push(`no name: ${element.outerHTML.slice(0, 100)}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push(`wide: ${document.documentElement.scrollWidth}`);
  return wrong;
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_it_can_be_read_at_every_width(browser: Chromium, served: str, width: int, *, dark: bool) -> None:
    visit(browser, served, "#q=bufferbloat", width=width, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")

    assert browser.evaluate(SEEN) == []
