"""What is handed out: the wheel's content, a source distribution that cargo accepts; `make package` installs both."""

from __future__ import annotations

import csv
import hashlib
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING

import pytest

import audit
import package
from conftest import ROOT
from transorbit import _content, view

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from conftest import Outcome


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build backend; maturin itself is there only where something is built."""
    import types

    fake = types.ModuleType("maturin")
    for name in (
        "build_editable",
        "build_sdist",
        "prepare_metadata_for_build_editable",
        "prepare_metadata_for_build_wheel",
    ):
        setattr(fake, name, None)
    for what in ("editable", "sdist", "wheel"):
        setattr(fake, f"get_requires_for_build_{what}", None)
    monkeypatch.setitem(sys.modules, "maturin", fake)
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    import backend

    return backend


def test_a_wheel_has_scenarios_papers_and_page_in_its_record(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "dist"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("the page")
    (built / "assets/core.wasm").write_bytes(b"\0asm")
    monkeypatch.setattr(backend, "PAGE", built)
    wheel = tmp_path / "transorbit-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("transorbit/__init__.py", "")
        archive.writestr("transorbit-0.dist-info/RECORD", "transorbit/__init__.py,,\ntransorbit-0.dist-info/RECORD,,\n")

    backend.add_content(wheel)

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        rows = [*csv.reader(archive.read("transorbit-0.dist-info/RECORD").decode().splitlines())]
        assert sorted(row[0] for row in rows) == sorted(names)
        for name, digest, size in rows:
            if name.startswith(("transorbit/content/", "transorbit/page/")):
                data = archive.read(name)
                assert int(size) == len(data)
                assert urlsafe_b64decode(digest.removeprefix("sha256=") + "=") == hashlib.sha256(data).digest()
    for file in (
        *_content.scenarios().values(),
        ROOT / "scenarios/towns.csv",
        ROOT / "papers/tauran-2018/table-4-1.toml",
    ):
        assert f"transorbit/content/{file.relative_to(ROOT).as_posix()}" in names
    assert {"transorbit/page/index.html", "transorbit/page/assets/core.wasm"} <= set(names)
    assert not any("__pycache__" in name for name in names)


def test_a_wheel_without_a_built_page_says_so(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backend, "PAGE", tmp_path)
    assert backend.page() == []
    assert "make page" in capsys.readouterr().err


def test_the_page_of_an_installed_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages/transorbit"
    (package / "page").mkdir(parents=True)
    (package / "page/index.html").write_text("the page")
    monkeypatch.setattr(view, "__file__", str(package / "view.py"))
    assert view.built() == package / "page"


def test_content_is_found_in_a_repository_and_in_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _content.folder("papers") == ROOT / "papers"
    monkeypatch.setattr(_content, "__file__", str(tmp_path / "site-packages/transorbit/_content.py"))
    assert _content.folder("papers") == tmp_path / "site-packages/transorbit/content/papers"


def test_a_source_distribution_is_whole(tmp_path: Path) -> None:
    """What it lacks would be told by cargo: a member of the workspace, or another lock file."""
    sdist = package.build(ROOT, tmp_path, "--sdist")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folder = package.unpacked(sdist, tmp_path)

    metadata = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    subprocess.run(metadata, cwd=folder, capture_output=True, check=True)
    members = {path.name for path in (ROOT / "crates").iterdir()}
    assert {name.split("/")[1] for name in names if name.startswith("crates/")} == members
    kept = ["git", "ls-files", "scenarios", "papers", "packaging", "crates/packetdrill", "python"]
    tracked = subprocess.run(kept, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(tracked) - names == set()
    assert {"Cargo.lock", "pyproject.toml", "README.md", "LICENSE-MIT", "SECURITY.md", "PKG-INFO"} <= names
    told = (folder / "PKG-INFO").read_text()
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["description"] in told
    assert "QUIC" not in told.partition("\n\n")[0]


def test_the_commands_of_the_readme_run_in_an_empty_folder(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "scenarios").unlink()
    commands, _ = package.readme()
    assert len(commands) > 8

    for arguments in commands:
        quick = [] if arguments[1] not in {"run", "capacity"} else ["--set", "duration=2 s"]
        done = command(*arguments[1:], *quick)
        assert done.code == 0, f"{arguments}: {done.err}"


def test_an_audit_tells_advisories_and_passes_where_there_is_nobody_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    clean = {"name": "fine", "version": "1.0", "vulns": []}
    bad = {"name": "old", "version": "0.1", "vulns": [{"id": "PYSEC-2026-1"}]}
    unknown = {"name": "ours", "skip_reason": "Dependency not found on PyPI"}

    assert audit.judged([clean]) == 0
    assert audit.judged([clean, bad]) == 1
    assert "old 0.1: PYSEC-2026-1" in capsys.readouterr().err
    assert audit.judged([clean, unknown]) == 1
    assert audit.judged([unknown, unknown]) == 0
    assert "skipped: PyPI's advisories are out of reach" in capsys.readouterr().err
