"""The notebooks of the documentation show what they showed; results show themselves; tables go to pandas and xarray."""

from __future__ import annotations

import base64
import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import notebooks
import transorbit as to
from conftest import ROOT
from transorbit import _notebook

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(notebooks.FOLDER.glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [file.stem for file in FILES] == ["measured-path", "one-run", "three-controllers"]


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_notebook_shows_what_it_showed(file: Path) -> None:
    kept = json.loads(file.read_text(encoding="utf-8"))
    cells = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    for cell, outputs in zip(cells, notebooks.run(kept), strict=True):
        told = "run make notebooks: " + "".join(cell["source"])
        assert [one["output_type"] for one in outputs] == [one["output_type"] for one in cell["outputs"]], told
        for now, before in zip(outputs, cell["outputs"], strict=True):
            # Another version of the libraries may draw another pixel.
            assert _without_pixels(now) == _without_pixels(before), told
    for name, content in notebooks.page(file, kept).items():
        assert (file.parent / name).read_bytes() == content, f"{name}: run make notebooks"
        assert len(content) < notebooks.MOST_BYTES, name


def _without_pixels(output: dict[str, Any]) -> dict[str, Any]:
    data = output.get("data", {})
    if "image/png" in data:
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    return output | {"data": {kind: text for kind, text in data.items() if kind != "image/png"}}


@pytest.fixture(scope="module")
def result() -> to.Result:
    changes = {"duration": "5 s", "flows.0.count": 2, "title": "A <b>title</b> & more"}
    return to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace(changes).run()


def test_a_result_shows_its_key_numbers_and_its_title_is_text(result: to.Result) -> None:
    shown = result._repr_html_()
    assert "A &lt;b&gt;title&lt;/b&gt; &amp; more" in shown
    assert "<b>title" not in shown
    assert result.summary["digest"] in shown
    assert "Goodput" in shown


def test_a_scenario_shows_itself_also_a_wrong_one() -> None:
    scenario = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml")
    assert "last_hop" in scenario._repr_html_()
    wrong = scenario.replace({"title": "<i>", "duration": "-1 s"})._repr_html_()
    assert "cannot be run" in wrong
    assert "duration" in wrong
    assert "<i>" not in wrong


def test_a_figure_shows_itself(result: to.Result) -> None:
    picture = result.plot("window")._repr_png_()  # type: ignore[attr-defined]
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < notebooks.MOST_BYTES


def test_a_bar_is_shown_in_a_notebook_only(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = to.Scenario.load(ROOT / "scenarios/lab-fixed.toml").replace({"duration": "2 s"})
    assert _notebook.bar() is None
    shown: list[str] = []

    def display(what: Any, *, display_id: bool) -> Any:
        assert display_id
        shown.append(what._repr_html_())
        return SimpleNamespace(update=lambda new: shown.append(new._repr_html_()))

    ipython = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()), display=SimpleNamespace(display=display)
    )
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(_notebook, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(_notebook, "_EVERY_S", 0.0)
    scenario.run()
    assert "<progress" in shown[0]
    assert shown[-1] == "", "it goes when all is done"

    shown.clear()
    sweep = {"scenario": "lab-fixed.toml", "replications": 3, "set": {"duration": "1 s"}}
    to.Sweep.from_dict(sweep, base_dir=ROOT / "scenarios").run(jobs=1)
    assert any("of 3 runs" in text for text in shown)
    assert shown[-1] == ""


def test_what_is_missing_is_named(result: to.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in (("pandas", result.to_pandas), ("xarray", result.to_xarray)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=rf"to_{name}\(\) needs {name}: pip install 'transorbit\[notebook\]'"):
            method()
    with pytest.raises(ValueError, match='"series" or "flows" is expected'):
        result.to_pandas("packets")


def test_an_interval_of_a_sweep_is_what_tables_say() -> None:
    known = {"mean": 1234567.0, "low": 1234555.0, "high": 1234579.0, "count": 3}
    assert _notebook._interval(known) == "1234567 ± 12"
    assert _notebook._interval(known | {"count": 1}) == "1234567"
    assert _notebook._interval({"mean": 1.959, "low": 0.0, "high": 5.4, "count": 4}) == "2.0 (0.0 to 5.4)"
    assert _notebook._interval(None) == "\N{EN DASH}"


def test_tables_go_to_pandas(result: to.Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert list(frame.columns) == result.series.columns
    window = result.series["cwnd_packets"].fill_null(float("nan")).to_list()
    assert frame["cwnd_packets"].tolist() == pytest.approx(window, nan_ok=True)
    assert result.to_pandas("flows").shape[0] == 2


def test_series_and_sweeps_go_to_xarray(result: to.Result) -> None:
    pytest.importorskip("xarray")
    made = result.to_xarray()
    assert dict(made.sizes) == {"time_s": result.series["time_s"].n_unique(), "flow": 2}
    one = result.series.filter(flow=1)["goodput_bps"].fill_null(float("nan")).to_list()
    assert made["goodput_bps"].sel(flow=1).values.tolist() == pytest.approx(one, nan_ok=True)
    assert made["goodput_bps"].attrs["units"] == "bit/s"

    sweep = {
        "scenario": "lab-fixed.toml",
        "replications": 2,
        "set": {"duration": "1 s"},
        "axes": [{"name": "rate", "key": "last_hop.rate", "values": ["5 Mbit/s", "10 Mbit/s"]}],
        "metrics": {"mbps": {"sql": "sum(goodput_bps) / 1e6", "label": "Goodput", "unit": "Mbit/s"}},
    }
    swept = to.Sweep.from_dict(sweep, base_dir=ROOT / "scenarios").run(jobs=1)
    assert "Goodput (Mbit/s)" in swept._repr_html_()
    grid = swept.to_xarray()["mbps"]
    assert grid.dims == ("rate", "replication")
    assert grid.attrs == {"long_name": "Goodput", "units": "Mbit/s"}
    wanted = swept.runs.filter(point=1, replication=0)["mbps"][0]
    assert float(grid.isel(rate=1, replication=0)) == pytest.approx(wanted)
