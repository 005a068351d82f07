"""`make page-check`: every scenario, whole, natively, in Node and in the page's worker: digests and speed. And what the
page weighs, how soon it is there, and how many frames a second the globe has without a graphics card.

A scenario's name as an argument runs those alone.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import chromium
import transorbit as to
import wasm
from conftest import ROOT
from transorbit import view

_DIST = ROOT / "web/dist"
# A million flows need more memory than a browser gives.
_SHORTENED = {"million-flows"}
_MOST_BYTES = 2_000_000
_LOADS = 5
_FRAMES = 120
_READY = "document.documentElement.dataset.ready === 'true'"
_PAINTED = """
(async () => {
  const [shift, painted] = [[], []];
  new PerformanceObserver((list) => shift.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true });
  new PerformanceObserver((list) => painted.push(...list.getEntries()))
    .observe({ type: 'largest-contentful-paint', buffered: true });
  await new Promise((done) => setTimeout(done, 300));
  const moved = shift.filter((one) => !one.hadRecentInput).reduce((sum, { value }) => sum + value, 0);
  const [first] = performance.getEntriesByName('first-contentful-paint');
  return { first: first.startTime, largest: painted.at(-1)?.startTime ?? NaN, shift: moved };
})()
"""


def whole() -> dict[str, tuple[str, dict[str, bytes]]]:
    """Every scenario as it is, but those that a page has no memory for."""
    files = {name: (ROOT / f"scenarios/{name}.toml").read_text() for name in wasm.scenarios() if name != "file"}
    return {name: wasm.scenarios()[name] if name in _SHORTENED else (text, {}) for name, text in files.items()}


def digests(browser: chromium.Chromium, names: list[str]) -> bool:
    """Whether all three tell the same; prints a line for each."""
    chosen = {name: one for name, one in whole().items() if not names or name in names}
    in_node = wasm.in_node(ROOT / "web/core.wasm", chosen)
    print(f"{'scenario':24}{'native':>9}{'Node':>9}{'page':>9}  of native")
    same = True
    for one in wasm.asked(chosen):
        name = one["name"]
        began = time.perf_counter()
        digest = to.Scenario.from_toml(one["toml"]).run().summary["digest"]
        native_s = time.perf_counter() - began
        node, page = in_node[name], browser.evaluate(f"{wasm.IN_WORKER}({json.dumps(one)})")
        equal = digest == node["digest"] == page["digest"]
        same &= equal
        told = f"{page['took_s'] / native_s:.1f} times" if equal else "ANOTHER DIGEST"
        print(f"{name:24}{native_s:7.2f} s{node['took_s']:7.2f} s{page['took_s']:7.2f} s  {told}", flush=True)
    return same


def weight() -> int:
    """Bytes of the page as a server with gzip sends them."""
    return sum(len(gzip.compress(path.read_bytes())) for path in _DIST.rglob("*") if path.is_file())


def loads(browser: chromium.Chromium, address: str) -> dict[str, float]:
    """Milliseconds until something is painted, and until the first runs are done: the least of some loads."""
    found: list[dict[str, Any]] = []
    browser.call("Network.setCacheDisabled", cacheDisabled=True)
    for _ in range(_LOADS):
        browser.open("about:blank")
        browser.open(address, until=_READY, width=1440)
        ready = browser.evaluate("performance.getEntriesByName('ready')[0].startTime")
        usable = browser.evaluate("performance.getEntriesByName('usable')[0].startTime")
        found.append(browser.evaluate(_PAINTED) | {"ready": ready, "usable": usable})
    # Other programs may want the processor, too.
    return {key: min(one[key] for one in found) for key in found[0]}


def main() -> int:
    """Print what is measured; 1 where a digest differs or the page is too large."""
    program = chromium.find()
    if program is None or not (_DIST / "index.html").is_file():
        print("page-check: needs Chromium (Debian: apt-get install chromium) and the page (make page)", file=sys.stderr)
        return 2
    server = view.Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        browser = chromium.Chromium(program, Path(profile), *chromium.SOFTWARE_GL)
        loaded = loads(browser, server.address)
        browser.open("about:blank")
        browser.open(f"{server.address}#q=handover", until=f"{_READY} && page.store.progress === null", width=1440)
        frames = browser.evaluate(f"page.globe.measure({_FRAMES})")
        satellites = browser.evaluate("page.store.side.globe.satellites.length")
        browser.open("about:blank")
        browser.open(f"{server.address}#scenario=lab-fixed", until=_READY)
        same = digests(browser, sys.argv[1:])
        browser.close()
    server.shutdown()
    print(f"{weight() / 1e6:.2f} MB in all, with gzip; at most {_MOST_BYTES / 1e6:.0f} MB")
    print(
        f"painted after {loaded['first']:.0f} ms, largest part after {loaded['largest']:.0f} ms, controls there after "
        f"{loaded['usable']:.0f} ms, both scenarios run and the globe drawn after {loaded['ready']:.0f} ms; "
        f"layout shift {loaded['shift']:.3f}"
    )
    print(f"{frames:.0f} frames a second with {satellites:,} satellites, drawn in software")
    return 0 if same and weight() <= _MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
