"""`transorbit view`: what the page is told, and to whom it is served."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

import transorbit as to
from conftest import ROOT, Outcome
from transorbit import view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SWEEP = """
title = "Two rates"
scenario = "lab-fixed.toml"
seed = 1
replications = 2
set = { duration = "1 s" }
[[axes]]
name = "rate"
key = "last_hop.rate"
values = ["10 Mbit/s", "20 Mbit/s"]
"""


@pytest.fixture
def short() -> to.Scenario:
    return to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace({"duration": "1 s"})


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the built page."""
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text("the page")
    (folder / "core.wasm").write_bytes(b"\0asm")
    monkeypatch.setattr(view, "built", lambda: folder)
    return folder


@pytest.fixture
def served(page: Path, short: to.Scenario, tmp_path: Path) -> Iterator[view.Server]:
    assert page.is_dir()
    with view.Server(short.run().save(tmp_path / "result", plots=False)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(server: view.Server, path: str, host: str | None = None) -> tuple[int, str, bytes]:
    """The code, the type and the body of an answer."""
    address = f"http://127.0.0.1:{server.server_port}{path}"
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - this machine's own page
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, "", b""


def test_a_result_is_told_with_its_series(served: view.Server, short: to.Scenario) -> None:
    told = json.loads(ask(served, "/view.json")[2])

    expected = short.run()
    assert told["summary"]["digest"] == expected.summary["digest"]
    assert told["seed"] == 1
    assert told["tables"]["series"]["numbers"]["goodput_bps"] == expected.series["goodput_bps"].to_list()
    assert to.Scenario.from_toml(told["toml"]).run().summary["digest"] == expected.summary["digest"]
    assert served.address.endswith("/?view")


def test_the_page_is_served_to_this_machine_alone(served: view.Server) -> None:
    assert ask(served, "/")[2] == b"the page"
    assert ask(served, "/core.wasm")[1] == "application/wasm"
    assert ask(served, "/", "stranger.example")[0] == 403
    assert ask(served, "/view.json", "stranger.example")[0] == 403
    assert ask(served, "/none")[0] == 404
    assert served.server_address[0] == "127.0.0.1"


def test_a_sweep_is_told_run_by_run(page: Path, tmp_path: Path) -> None:
    assert page.is_dir()
    sweep = to.Sweep.from_toml(SWEEP, base_dir=ROOT / "scenarios")
    sweep.run().save(tmp_path / "sweep")
    told = view.told(tmp_path / "sweep")

    assert told
    rows = told["sweep"]["rows"]
    assert [(row["point"]["rate"], row["seed"]) for row in rows] == [(10, 1000), (10, 1001), (20, 1000), (20, 1001)]
    assert '"20 Mbit/s"' in rows[2]["toml"]
    assert told["sweep"]["labels"]["rate"] == "rate (Mbit/s)"
    shown = to.Scenario.from_toml(rows[2]["toml"]).run(seed=1000)
    assert shown.series.height > 0, "the page has curves to show"
    assert 8 * shown.summary["flows"][0]["delivered_bytes"] == pytest.approx(rows[2]["values"]["goodput_mbps"] * 1e6)


def test_what_cannot_be_shown_is_told_in_a_line(command: Callable[..., Outcome], page: Path) -> None:
    assert page.is_dir()
    (page / "empty").mkdir()
    wrong = command("view", str(page / "empty"), "--no-browser")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "holds neither a result (summary.json) nor a sweep (sweep.toml)" in wrong.err
    assert command("view", "nothing.toml", "--no-browser").code == 2


def test_a_page_that_is_not_built_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(view, "__file__", str(tmp_path / "python/transorbit/view.py"))

    with pytest.raises(FileNotFoundError, match="`make page`"):
        view.Server()
