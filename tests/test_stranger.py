"""What SECURITY.md promises of files from a stranger: they run no code, and reach no file of the machine."""

from __future__ import annotations

import sqlite3
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tomli_w

import transorbit as to
from conftest import ROOT
from transorbit import _files
from transorbit.sweep.result import frozen
from transorbit.sweep.run import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SWEEP = """
scenario = "lab-fixed"
set = { duration = "100 ms" }
replications = 1

[metrics]
x = { sql = "sum(sent_packets)" }
"""


@pytest.mark.parametrize(
    "sql",
    [
        "(SELECT left(content, 60) FROM read_text('/etc/hostname'))",
        "(SELECT count(*) FROM glob('/etc/*'))",
        "(SELECT count(*) FROM read_csv('/etc/hostname'))",
        "(SELECT count(*) FROM '/etc/hostname')",
        "getenv('HOME')",
    ],
)
def test_a_metric_reads_no_file(sql: str, here: Path, command: Callable[..., Outcome]) -> None:
    (here / "it.sweep.toml").write_text(SWEEP.replace("sum(sent_packets)", sql))

    done = command("sweep", "it.sweep.toml", "--quiet")

    assert done.code == 2
    assert done.err.startswith("transorbit: metrics.x: ") or "sweep.toml: metrics.x: " in done.err
    assert not (here / "results/it/runs/runs.parquet").exists()


@pytest.mark.parametrize(
    "sql",
    [
        "SET enable_external_access = true",
        "COPY (SELECT 1) TO 'stolen.csv'",
        "ATTACH 'stolen.db' AS stolen",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET lock_configuration = false",
        "CREATE TABLE t AS SELECT * FROM read_text('/etc/hostname')",
        "EXPORT DATABASE 'stolen'",
    ],
)
def test_a_query_of_a_result_writes_no_file(sql: str, here: Path) -> None:
    (here / "it.sweep.toml").write_text(SWEEP)
    result = to.Sweep.load("it.sweep.toml").run(jobs=1)

    with pytest.raises(to.ScenarioError):
        result.query(sql)
    assert not [*here.glob("stolen*")]


def test_a_folder_of_a_sweep_cannot_have_sql_that_writes(here: Path, command: Callable[..., Outcome]) -> None:
    """The tables are made anew from the store, by the metric that somebody put into the folder."""
    (here / "it.sweep.toml").write_text(SWEEP)
    assert command("sweep", "it.sweep.toml", "--quiet").code == 0
    folder = here / "results/it"
    file = folder / "sweep.toml"
    table = tomllib.loads(file.read_text())
    table["metrics"]["x"]["sql"] = "1); COPY (SELECT 1) TO 'stolen.csv'; SELECT (1"
    file.write_text(file.read_text().split("\n")[0] + "\n" + tomli_w.dumps(table))
    with sqlite3.connect(folder / "store.sqlite") as db:
        db.execute("UPDATE members SET sweep = ?", (identity(frozen(folder)),))
    for tables in ("runs/runs.parquet", "flows/flows.parquet"):
        (folder / tables).unlink()

    for arguments in (("report", str(folder)), ("plot", str(folder), "lines")):
        assert command(*arguments).code == 2
    assert not (here / "stolen.csv").exists()


def test_a_query_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    from transorbit.sweep import sql

    monkeypatch.setattr(sql, "_LONGEST_S", 0.2)
    with pytest.raises(to.ScenarioError, match=r"query: takes longer than 0\.2 s"):
        sql.query("SELECT count(*) FROM range(100000000000) a, range(1000000) b", {"t": pl.DataFrame({"x": [1]})})


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [
        ("own/x.csv", False),
        ("./own/../own/x.csv", False),
        ("own/../../mine/own/x.csv", True),
        ("../theirs/x.csv", True),
        ("own/link.csv", True),
        ("folder-link/../theirs/x.csv", True),
        ("inner-link/x.csv", False),
        ("inner-link/../own/x.csv", False),
        ("..\\theirs\\x.csv", True),
        ("own\\..\\..\\theirs\\x.csv", True),
        ("C:\\x.csv", True),
        ("/own/x.csv", True),
        ("circle", False),
    ],
)
def test_a_scenario_names_nothing_outside_of_its_folder(name: str, is_refused: bool, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder in (mine / "own", theirs):
        folder.mkdir(parents=True)
        (folder / "x.csv").write_text("time_s,one_way_delay_s\n0,0.05\n1,0.06\n")
    (mine / "own/link.csv").symlink_to(theirs / "x.csv")
    (mine / "folder-link").symlink_to(theirs)
    (mine / "inner-link").symlink_to(mine / "own")
    (mine / "circle").symlink_to(mine / "circle")

    table = {"path": {"kind": "trace", "file": name}, "title": "/etc/passwd is a title"}
    if is_refused:
        with pytest.raises(to.ScenarioError, match=r"^path.file: .* leads out of the folder"):
            _files.confined(table, mine)
    else:
        _files.confined(table, mine)


def test_nothing_is_unpickled() -> None:
    """A pickle runs code when it is read."""
    for file in (ROOT / "python").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not any(f"import {name}" in text for name in ("pickle", "shelve", "marshal", "dill")), file


def test_only_the_command_line_names_code(here: Path, command: Callable[..., Outcome]) -> None:
    (here / "code.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    scenario = (
        (ROOT / "scenarios/lab-fixed.toml").read_text().replace('kind = "droptail"', 'kind = "external", name = "x"')
    )
    for text in (scenario, scenario + '\n[plugin]\nfile = "code.py"\n', scenario + '\nplugin = "code.py"\n'):
        (here / "it.toml").write_text(text)
        assert command("run", "it.toml", "--set", "duration=10 ms", "--json").code == 2
    (here / "transorbit.py").write_text("Path('ran').touch()\n")
    assert not Path("ran").exists()


def test_a_plugin_that_is_no_python_is_told_in_a_line(here: Path, command: Callable[..., Outcome]) -> None:
    for data in (b"\xff\xfe\x00", b"a\0b", b"def f(:\n", "é".encode("latin-1")):
        (here / "it.py").write_bytes(data)
        done = command("run", "lab-fixed", "--plugin", "it.py", "--json")
        assert done.code == 2
        assert done.err.startswith("transorbit: --plugin it.py: ")
        assert done.err.count("\n") == 1
