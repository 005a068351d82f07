"""The core for a page, built once for all tests that need it."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT

TARGET = "wasm32-unknown-unknown"


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


@cache
def page() -> Path:
    """The page, built with that core; skips where it cannot be."""
    node()
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm on this machine (Debian: apt-get install npm)")
    web, out = ROOT / "web", ROOT / "target/page-test"
    shutil.copyfile(core(), web / "core.wasm")
    if not (web / "node_modules").is_dir():
        fetched = subprocess.run([npm, "ci", "--loglevel=error"], cwd=web, capture_output=True, text=True, check=False)
        if fetched.returncode:
            pytest.skip(f"npm cannot fetch the page's libraries: {fetched.stderr.strip().splitlines()[0]}")
    build = [npm, "run", "--silent", "build", "--", "--outDir", out, "--emptyOutDir", "--logLevel", "warn"]
    done = subprocess.run(build, cwd=web, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out
