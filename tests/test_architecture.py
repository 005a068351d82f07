"""The boundaries of ARCHITECTURE.md, held against what cargo and Python say."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

import folders
from conftest import ROOT

# Which of the project's crates each crate may depend on. `sim` and `studies` alone may know several stages.
ALLOWED = {
    "units": set(),
    "engine": {"units"},
    "orbit": {"units"},
    "channel": {"units"},
    "link": {"units", "channel"},
    "access": {"units", "channel"},
    "transport": {"units"},
    "traffic": {"units"},
    "sim": {"units", "engine", "orbit", "channel", "link", "access", "transport", "traffic"},
    "studies": {"units", "engine", "orbit", "channel", "link", "access", "traffic", "sim"},
    "emulate": {"units", "sim"},
    "python": {"units", "sim", "studies", "emulate"},
    "wasm": {"units", "sim", "studies"},
    "packetdrill": {"units", "transport"},
}
# A test tool that is called by its own name.
UNPREFIXED = {"packetdrill"}
# Crates that make random generators: stages are handed theirs.
GENERATORS = re.compile(r"rand_(xoshiro|pcg|chacha|xorshift|mt)|getrandom|fastrand|oorandom")
# What Python may not compute with: its numbers come from the core.
NUMERIC = {"numpy", "scipy", "random", "math", "cmath", "numba", "sgp4", "itur"}
# But one room: what follows from several runs together (Student's interval, the end of a transient) is said after the
# core is done, and changes nothing in what a run gave. Others ask whether a number is finite, or how
# many digits of it to print.
MAY = {
    "statistics.py": {"numpy", "scipy", "math"},
    **{room: {"math"} for room in ("sweep", "reproduce", "report", "cli", "view.py", "_numbers.py")},
    # A calibration fits a model's parameters to a measurement; the model itself is the core's.
    "trace": {"math"},
    # Arrays, which Gymnasium asks for.
    "gym.py": {"numpy"},
    # Attenuation by rain, whose maps the library has.
    "rain.py": {"itur"},
}


@cache
def packages() -> dict[str, dict[str, object]]:
    """The workspace's packages by the name of their folder."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return {Path(package["manifest_path"]).parent.name: package for package in json.loads(metadata)["packages"]}


def dependencies(package: dict[str, object], *, development: bool) -> set[str]:
    kinds = {None, "build"} | ({"dev"} if development else set())
    return {entry["name"] for entry in package["dependencies"] if entry["kind"] in kinds}  # type: ignore[attr-defined]


def test_every_crate_has_a_place_in_the_plan() -> None:
    assert set(packages()) <= set(ALLOWED)
    named = {name if name in UNPREFIXED else f"transorbit-{name}" for name in packages()}
    assert {package["name"] for package in packages().values()} == named


@pytest.mark.parametrize("crate", sorted(ALLOWED))
def test_crates_know_only_their_neighbours(crate: str) -> None:
    if crate not in packages():
        return
    own = {
        name.removeprefix("transorbit-")
        for name in dependencies(packages()[crate], development=True)
        if "transorbit-" in name
    }

    assert own <= ALLOWED[crate]


def test_only_the_engine_makes_generators() -> None:
    makers = {
        crate: found
        for crate, package in packages().items()
        if (found := {name for name in dependencies(package, development=False) if GENERATORS.search(name)})
    }

    assert set(makers) == {"engine"}


def test_every_crate_takes_the_workspace_lints() -> None:
    for crate in packages():
        manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text()
        assert "[lints]\nworkspace = true" in manifest, crate


def test_nothing_lifts_the_bans_on_clocks_and_hash_order() -> None:
    """But where simulated time is held against a clock, and where it is given the type that a library wants."""
    allowed = re.compile(r"allow\(clippy::disallowed_(methods|types)\b")
    sources = (ROOT / "crates").rglob("src/**/*.rs")
    lifted = {path.relative_to(ROOT).as_posix() for path in sources if allowed.search(path.read_text())}

    assert lifted == {"crates/emulate/src/session.rs", "crates/transport/src/quic/clock.rs"}


def test_unsafe_code_is_the_interface_of_a_page_alone() -> None:
    lifted = re.compile(r"allow\((.*,)?\s*unsafe_code\b")
    found = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "crates").rglob("*.rs") if lifted.search(path.read_text())
    }

    assert found == {"crates/wasm/src/abi.rs"}


def test_files_are_read_in_one_place() -> None:
    """Stages are handed the bytes of files: the core runs where there is no file system.

    Captures and logs are written, each in one place.
    """
    may = {"crates/sim/src/files.rs", "crates/sim/src/capture/mod.rs", "crates/sim/src/world/log.rs"}
    touches = re.compile(r"\bstd::fs\b|\bstd::(env|net|process)\b|\bFile::(open|create)\b|\bread_to_string\b")
    found = set()
    for crate in packages():
        # The test tool reads scripts and recordings.
        sources = (ROOT / "crates" / crate / "src").rglob("*.rs") if crate != "packetdrill" else ()
        for path in sources:
            code = re.sub(r"//.*", "", path.read_text().split("#[cfg(test)]\nmod tests {")[0])
            if touches.search(code) and "tests" not in path.stem and "tests" not in path.parts:
                found.add(path.relative_to(ROOT).as_posix())

    assert found == may


def test_links_and_transports_do_not_speak_of_each_other() -> None:
    """A link that names a TCP segment, or a transport that names a satellite, has crossed a boundary."""
    strangers = {
        "link": r"\b(use|extern crate) (transport|traffic|orbit|engine|sim)\b|\b(Segment|TcpHeader|Sack)\b",
        "transport": r"\b(use|extern crate) (link|channel|orbit|engine|sim)\b|\b(Satellite|Harq|Orbit)\b",
    }
    for crate, pattern in strangers.items():
        for path in (ROOT / "crates" / crate / "src").rglob("*.rs"):
            code = re.sub(r"//.*", "", path.read_text())
            assert not re.search(pattern, code), path


def test_python_computes_no_physics() -> None:
    for path in (ROOT / "python/transorbit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            # `importlib.import_module("…")`.
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
                names += [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            room = path.relative_to(ROOT / "python/transorbit").parts[0]
            assert not {name.split(".")[0] for name in names} & (NUMERIC - MAY.get(room, set())), path


def test_the_code_map_names_every_folder() -> None:
    block = re.search(r"## Code map\n+```text\n(.*?)```", folders.PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block, "ARCHITECTURE.md has a code map"
    mapped = set(re.findall(r"^([\w./-]+/)(?:\s|$)", block[1], re.MULTILINE))
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    tracked = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()

    assert mapped == {f"{path.split('/')[0]}/" for path in tracked if "/" in path}


def test_the_lists_of_folders_are_what_the_folders_say() -> None:
    assert folders.PAGE.read_text(encoding="utf-8") == folders.written(), "make reference writes them anew"


def test_every_file_of_integration_tests_is_run() -> None:
    """A file that `main.rs` does not declare would not even be compiled."""
    for main in ROOT.glob("crates/*/tests/it/main.rs"):
        declared = set(re.findall(r"^mod (\w+);$", main.read_text(encoding="utf-8"), re.MULTILINE))
        files = {path.stem for path in main.parent.glob("*.rs")} - {"main"}
        assert files <= declared, f"{main}: {files - declared}"


def test_the_fuzz_crate_compiles(tmp_path: Path) -> None:
    """With a stand-in for libFuzzer, which needs a C++ compiler and a nightly Rust; all else as in `cargo fuzz`."""
    fuzz, stand_in = ROOT / "crates/transport/fuzz", ROOT / "tests/fixtures/libfuzzer-sys"
    manifest = re.sub(
        r'path = "([^"]+)"', lambda path: f'path = "{(fuzz / path[1]).resolve()}"', (fuzz / "Cargo.toml").read_text()
    )
    patch = f'[patch.crates-io]\nlibfuzzer-sys = {{ path = "{stand_in}" }}\n'
    (tmp_path / "Cargo.toml").write_text(f"{manifest}\n{patch}")
    # The versions of the workspace, all of which are here already.
    (tmp_path / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
    check = ["cargo", "check", "--offline", "--quiet", "--manifest-path", tmp_path / "Cargo.toml"]
    done = subprocess.run(
        [*check, "--target-dir", ROOT / "target"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
