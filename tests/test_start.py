"""The commands that begin: in an empty folder, with nothing but the package."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import transorbit as to
from transorbit import _content
from transorbit.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


def test_each_public_name_is_imported_when_it_is_asked_for() -> None:
    tree = ast.parse(Path(to.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "__future__"]
    for_checkers = {alias.name for node in imports for alias in node.names} & set(to.__all__)
    homes = {name for names in to._HOMES.values() for name in names}

    assert (
        homes | (to._MODULES & set(to.__all__)) | {"__version__"} == set(to.__all__) == for_checkers | {"__version__"}
    )
    assert all(getattr(to, name) is not None for name in to.__all__)


def test_scenarios_are_listed_with_a_sentence_each(command: Callable[..., Outcome]) -> None:
    known = json.loads(command("scenarios", "--json").out)

    assert set(known) == set(_content.scenarios()) >= {"leo-tcp", "voip", "leo-snr"}
    assert all(20 < len(what) < 200 for what in known.values())
    assert command("scenarios").out.split()[:4] == ["bottleneck-100", "A", "hundred", "CUBIC"]


@pytest.mark.parametrize("name", _content.scenarios())
def test_each_scenario_can_be_begun_with(name: str, here: Path, command: Callable[..., Outcome]) -> None:
    (here / "scenarios").unlink()
    written = command("init", name)
    assert written.code == 0

    file = next(path for path in (f"{name}.toml", f"{name}.sweep.toml") if Path(path).is_file())
    lines = Path(file).read_text().splitlines()
    assert lines[0].startswith("#")
    assert "scenarios/" not in Path(file).read_text()
    if not file.endswith(".sweep.toml"):
        assert lines[0] == "#:schema transorbit.schema.json"
        assert "$defs" in json.loads(Path("transorbit.schema.json").read_text())
        if name != "million-flows":
            assert checked(command, file) == checked(command, name)


def checked(command: Callable[..., Outcome], scenario: str) -> dict[str, Any]:
    """What `check` prints, with the path's file by its name."""
    settings = tomllib.loads(command("check", scenario).out)
    if "file" in settings["path"]:
        settings["path"]["file"] = Path(settings["path"]["file"]).name
    return settings


@pytest.mark.usefixtures("here")
def test_init_writes_over_nothing(command: Callable[..., Outcome]) -> None:
    assert command("init", "leo-tcp").code == 0
    assert command("init", "leo-tcp").code == 0
    Path("leo-tcp.toml").write_text("mine")

    refused = command("init", "leo-tcp")

    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert Path("leo-tcp.toml").read_text() == "mine"
    assert command("init", "leo-tcp", "--force").code == 0
    assert "is no scenario of transorbit; did you mean leo-tcp" in command("init", "leo-tpc").err


def test_init_takes_another_name_or_folder(here: Path, command: Callable[..., Outcome]) -> None:
    assert command("init", "leo-tcp", "--out", "sub/mine.toml").code == 0
    assert sorted(file.name for file in (here / "sub").iterdir()) == ["mine.toml", "transorbit.schema.json"]
    assert command("check", "sub/mine.toml").code == 0
    assert command("init", "leo-tcp", "--out", "other").code == 0
    assert (here / "other/leo-tcp.toml").read_text() == (here / "sub/mine.toml").read_text()


def test_init_without_a_name_lists_them_and_writes_nothing(here: Path, command: Callable[..., Outcome]) -> None:
    before = sorted(here.iterdir())
    assert command("init").out == command("scenarios").out
    assert sorted(here.iterdir()) == before


def test_shells_complete_the_commands() -> None:
    for shell in ("bash", "zsh", "fish"):
        script = app.generate_completion(prog_name="transorbit", shell=shell)
        assert all(name in script for name in ("sweep", "scenarios", "reproduce")), shell


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "lab-fixed", "--set"), "--set: needs KEY=VALUE"),
        (("sweep", "leo-snr", "--set", "--json"), "--set: needs KEY=VALUE"),
        (("plot", "results/x", "lines", "--only"), "--only: needs AXIS=VALUE"),
        (("run", "lab-fixed", "--out"), "--out: needs a value"),
    ],
)
def test_an_option_without_its_value_is_named(
    command: Callable[..., Outcome], arguments: tuple[str, ...], told: str
) -> None:
    done = command(*arguments)
    assert (done.code, done.out, done.err) == (2, "", f"transorbit: {told}\n")


def test_a_folder_names_the_files_that_it_may_stand_for(here: Path, command: Callable[..., Outcome]) -> None:
    for folder, files in (("one", ["scenario"]), ("many", ["scenario", "sweep"]), ("none", [])):
        (here / folder).mkdir()
        for name in files:
            (here / folder / f"{name}.toml").write_text("")
    told = {
        "one": "one: is a folder; its scenario is one/scenario.toml",
        "many": "many: is a folder; its sweep is many/sweep.toml, its scenario is many/scenario.toml",
        "none": "none: is a folder, a file is expected",
    }
    for folder, message in told.items():
        for name in ("run", "check", "sweep"):
            done = command(name, folder)
            assert (done.code, done.out, done.err) == (2, "", f"transorbit: {message}\n")
        with pytest.raises(IsADirectoryError):
            to.Scenario.load(folder)


def test_the_file_of_a_sweep_is_no_scenario() -> None:
    for outside in (False, True):
        with pytest.raises(to.ScenarioError, match=r"leo-snr\.sweep\.toml: is a sweep: Sweep\.load opens it$"):
            to.Scenario.load("leo-snr", outside=outside)
