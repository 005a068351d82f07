"""The core for a page, built once for all tests of a process that need it; processes build one after the other."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import transorbit as to
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = "wasm32-unknown-unknown"
# What a test has time and a page has memory for.
DURATIONS = {"bottleneck-100": "3 s", "dvbrcs2-web": "3 s", "tcp-users": "3 s", "voip": "3 s", "geo-dvbrcs2": "15 s"}
DELAYS = b"time_s,one_way_delay_s\n0,0.02\n3,0.05\n9,0.03\n"


@cache
def core() -> Path:
    """The core in WebAssembly, quickly built; skips where it cannot be."""
    shown = subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if not (Path(shown.strip()) / "lib/rustlib" / TARGET / "lib").is_dir():
        pytest.skip(f"no Rust target {TARGET} on this machine (rustup target add {TARGET})")
    build = ["cargo", "build", "--locked", "--quiet", "--profile", "page-quick", "-p", "transorbit-wasm"]
    subprocess.run([*build, "--target", TARGET], cwd=ROOT, check=True)
    return ROOT / f"target/{TARGET}/page-quick/wasm.wasm"


def node() -> str:
    """Node 20 or later; skips where it is not."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("no Node on this machine (Debian: apt-get install nodejs npm; 20.19 or later)")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip().removeprefix("v").split(".")[0]) < 20:
        pytest.skip(f"Node is {version.strip()}: 20.19 or later is needed")
    return program


@contextmanager
def _alone() -> Iterator[None]:
    """No other process of the tests builds meanwhile."""
    with (ROOT / "target/page-test.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def libraries() -> str:
    """npm, with the page's libraries in place; skips where it is not, or cannot fetch them."""
    node()
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm on this machine (Debian: apt-get install npm)")
    web = ROOT / "web"
    with _alone():
        if not (web / "node_modules").is_dir():
            fetch = [npm, "ci", "--loglevel=error"]
            fetched = subprocess.run(fetch, cwd=web, capture_output=True, text=True, check=False)
            if fetched.returncode:
                pytest.skip(f"npm cannot fetch the page's libraries: {fetched.stderr.strip().splitlines()[0]}")
    return npm


@cache
def page() -> Path:
    """The page, built with that core; skips where it cannot be."""
    npm = libraries()
    web, out = ROOT / "web", ROOT / f"target/page-test-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    built = core()
    build = [npm, "run", "--silent", "build", "--", "--outDir", out, "--emptyOutDir", "--logLevel", "warn"]
    with _alone():
        shutil.copyfile(built, web / "core.wasm")
        done = subprocess.run(build, cwd=web, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@cache
def scenarios() -> dict[str, tuple[str, dict[str, bytes]]]:
    """Every scenario of the project but those of QUIC, which a page has not, shortened; and one that names a file."""
    found = {}
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        if path.name.endswith(".sweep.toml") or path.name.startswith("quic"):
            continue
        text = path.read_text()
        duration = DURATIONS.get(path.stem, "2 s" if path.stem == "million-flows" else "20 s")
        text, times = re.subn(r'^duration( *)= ".*?"', rf'duration\1= "{duration}"', text, count=1, flags=re.MULTILINE)
        assert times == 1, path.name
        if path.stem == "million-flows":
            text = re.sub(r"^(count +=) (\d+)000\b", r"\1 \2", text, flags=re.MULTILINE)
        found[path.stem] = (text, {})
    lab, _ = found["lab-fixed"]
    traced, times = re.subn(r'kind  = "fixed"\ndelay = .*', 'kind = "trace"\nfile = "delays.csv"', lab, count=1)
    assert times == 1
    return {**found, "file": (traced, {"delays.csv": DELAYS})}


@cache
def natively() -> dict[str, tuple[str, int, int]]:
    """Of each: digest, events, and rows of the series."""
    found = {}
    for name, (text, files) in scenarios().items():
        result = to.Scenario.from_toml(text, files=files).run()
        found[name] = (result.summary["digest"], result.summary["events"], result.series.height)
    return found


def asked(scenarios: dict[str, tuple[str, dict[str, bytes]]]) -> list[dict[str, Any]]:
    """The scenarios as JSON, files in base64."""
    return [
        {"name": name, "toml": text, "files": {file: base64.b64encode(data).decode() for file, data in files.items()}}
        for name, (text, files) in scenarios.items()
    ]


def in_node(core: Path, scenarios: dict[str, tuple[str, dict[str, bytes]]]) -> dict[str, dict[str, Any]]:
    """What the core makes of each scenario in Node."""
    program = [node(), ROOT / "web/tests/digests.mjs", core]
    given = json.dumps(asked(scenarios))
    done = subprocess.run(program, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


# What the page's worker makes of a scenario.
IN_WORKER = """
(async ({ toml, files }) => {
  const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const given = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, bytes(text)]));
  const { summary, tables, took_ms } = await page.app.core.run({ toml, files: given, tables: ['series'] });
  return { digest: summary.digest, events: summary.events, series: tables.series.rows, took_s: took_ms / 1000 };
})
"""
