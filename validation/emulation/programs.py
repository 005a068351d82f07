"""Real programs over scenarios/geo-dvbrcs2.toml, beside the model of the Web in virtual time.

Run with `make emulation-validation`. A user is added to the scenario: a real one, then one of the model, whose page has
ten objects of the same sizes. The others stay simulated. `ping` and `curl` ask the server, a WebSocket echo goes there
and back (package websockets), Chromium loads the page, aioquic loads it by HTTP/3. Programs that are not installed are
left out. Writes programs.csv and the table of docs/validation/emulation.md.
"""

from __future__ import annotations

import csv
import functools
import importlib.util
import itertools
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import transorbit as to

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = HERE / "programs.csv"
PAGE = ROOT / "docs" / "validation" / "emulation.md"
BEGIN, END = "<!-- programs, written by `make emulation-validation` -->", "<!-- end of programs -->"

GEO = ROOT / "scenarios" / "geo-dvbrcs2.toml"
MAIN, OBJECT, OBJECTS = 10_000, 20_000, 10
REAL = """
[[flows]]
transport = { kind = "external" }
traffic = { kind = "external" }
"""
MODEL = f"""
[[flows]]
transport = {{ kind = "tcp", congestion = "cubic", profile = "linux" }}
[flows.traffic]
kind = "web"
connections = 6
requests = "sequential"
reading = "1 s"
parsing = "0 s"
start = "5 s"
pages = 1
main = "{MAIN} B"
embedded = "{OBJECT} B"
objects = {{ kind = "constant", count = {OBJECTS} }}
"""
TIMES = 3
CLICK_S = 5
SEEDS = itertools.count(1)
ECHO = """
import asyncio, sys, time, websockets
async def serve():
    async def echo(socket):
        async for message in socket: await socket.send(message)
    async with websockets.serve(echo, "", 8765): await asyncio.Future()
async def ask():
    async with websockets.connect("ws://server:8765") as socket:
        for _ in range(5):
            since = time.monotonic(); await socket.send("x" * 100); await socket.recv()
            print(time.monotonic() - since)
asyncio.run(serve() if sys.argv[1] == "serve" else ask())
"""


def emulate(folder: Path, server: str, command: list[str]) -> str:
    """What a program behind the added user printed, once what is simulated has begun; nothing if it failed."""
    (folder / "geo.toml").write_text(GEO.read_text(encoding="utf-8") + REAL, encoding="utf-8")
    program = [sys.executable, "-m", "transorbit", "emulate", "geo.toml", "--quiet", "--server", server]
    waits = ["sh", "-c", f'sleep {CLICK_S}; exec "$@"', "sh", *command]
    command = [*program, "--", *waits]
    done = subprocess.run(  # noqa: S603 - our own program
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=90
    )
    if done.returncode:
        print(f"{command[0]} ended with {done.returncode}: {done.stderr[-300:]}", file=sys.stderr)
    return "" if done.returncode else done.stdout


def write_page(folder: Path) -> None:
    """A page of ten pictures, which says how long it took from the click to the last of them."""
    pictures = "".join(f"<img src='object-{number}.png'>" for number in range(OBJECTS))
    says = "addEventListener('load', () => document.body.dataset.took = performance.now())"
    page = f"<!doctype html><body><script>{says}</script>{pictures}"
    (folder / "index.html").write_text(page.ljust(MAIN), encoding="utf-8")
    for number in range(OBJECTS):
        (folder / f"object-{number}.png").write_bytes(bytes(OBJECT))


def in_chromium(folder: Path) -> float | None:
    """Seconds until the page is complete, as the browser tells."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        return None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    options += [f"--user-data-dir={folder / 'profile'}", "--disable-background-networking", "--dump-dom"]
    printed = emulate(folder, SERVER, [program, *options, "http://server:8000/index.html"])
    shutil.rmtree(folder / "profile", ignore_errors=True)
    took = re.search(r'data-took="([0-9.]+)"', printed)
    return float(took[1]) / 1e3 if took else None


SERVER = f"{sys.executable} -m http.server 8000 --protocol HTTP/1.1"


def in_curl(folder: Path) -> float | None:
    """Seconds for the main object alone: name, connection, request and response."""
    asked = ["curl", "-s", "-o", "/dev/null", "-w", "%{time_total}", "http://server:8000/index.html"]
    printed = emulate(folder, SERVER, asked) if shutil.which("curl") else ""
    return float(printed) if printed else None


def in_ping(folder: Path) -> float | None:
    """The mean round trip in seconds."""
    printed = emulate(folder, "sleep 60", ["ping", "-c", "10", "-i", "0.5", "server"]) if shutil.which("ping") else ""
    mean = re.search(r"= [0-9.]+/([0-9.]+)/", printed)
    return float(mean[1]) / 1e3 if mean else None


def in_websocket(folder: Path) -> float | None:
    """The median echo of 100 B in seconds."""
    if not importlib.util.find_spec("websockets"):
        return None
    (folder / "echo.py").write_text(ECHO, encoding="utf-8")
    printed = emulate(folder, f"{sys.executable} echo.py serve", [sys.executable, "echo.py", "ask"])
    return statistics.median(map(float, printed.split())) if printed else None


def in_http3(folder: Path) -> float | None:
    """Seconds for the same page over HTTP/3, its objects at once."""
    if not importlib.util.find_spec("aioquic"):
        return None
    script = [sys.executable, str(HERE / "http3.py")]
    asked = [*script, "ask", str(MAIN), str(OBJECT), str(OBJECTS)]
    printed = emulate(folder, f"{' '.join(script)} serve", asked)
    return float(printed) if printed else None


def of_the_model(folder: Path) -> float | None:
    """The page of the added user, with another seed each time."""
    (folder / "model.toml").write_text(GEO.read_text(encoding="utf-8") + MODEL, encoding="utf-8")
    flows = to.Scenario.load(folder / "model.toml").run(seed=next(SEEDS)).summary["flows"]
    added = max(flow["user"] for flow in flows)
    return next((flow["web"]["load_mean_s"] for flow in flows if flow["user"] == added and "web" in flow), None)


def main() -> None:
    """Measure and write."""
    asked = {
        "ping: round trip": in_ping,
        "curl: main object": in_curl,
        "WebSocket: echo": in_websocket,
        "Chromium: page of ten objects": in_chromium,
        "HTTP/3 (aioquic): the same page": in_http3,
        "our model of the Web: the same page": of_the_model,
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_page(Path(folder))
        for name, program in asked.items():
            ask = functools.partial(program, Path(folder))
            times = [took for took in (ask() for _ in range(TIMES)) if took is not None]
            shown = (
                [f"{value:.2f}" for value in (min(times), statistics.median(times), max(times))] if times else ["-"] * 3
            )
            rows.append([name, str(len(times)), *shown])
            print(*rows[-1], flush=True)
    head = ["what", "times", "least_s", "median_s", "most_s"]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    lines = [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + rest.partition(END)[2]]), encoding="utf-8")


if __name__ == "__main__":
    main()
