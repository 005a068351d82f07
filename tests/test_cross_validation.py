"""The grid beside the kernel: its verdict, its tables, and three cells of it."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "validation" / "cross_validation.py"
spec = importlib.util.spec_from_file_location("cross_validation", SCRIPT)
assert spec is not None
assert spec.loader is not None
xv = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = xv
sys.path.insert(0, str(SCRIPT.parent))
spec.loader.exec_module(xv)

CELLS = {(c.bottleneck, c.cc, c.rtt_ms, c.loss_pct): c for c in xv.grid()}


@pytest.fixture(scope="module")
def program() -> Path:
    """Without optimization: `cargo test` has built it so."""
    return xv.build(release=False)


@pytest.mark.parametrize(
    "key",
    [("none", "reno", 200, 1.0), ("none", "cubic", 200, 1.0), ("20Mbit/1BDP", "cubic", 80, 1.0)],
    ids=lambda key: "-".join(map(str, key)).replace("/", "-"),
)
def test_a_cell_holds(program: Path, key: tuple[str, str, int, float]) -> None:
    cell = CELLS[key]
    ours = xv.run_ours(program, cell)

    assert xv.verdict(cell, ours).failures == ()
    assert ours.spurious == 0
    # Of the n-th packets the same are lost, so the numbers follow from how many are sent, which is the goodput's bound.
    # What is lost is retransmitted as the kernel does: what is lost last is not, before the end.
    assert ours.lost - ours.retransmits == pytest.approx(cell.lost - cell.retransmits, abs=0.5), "the kernel's seeds"


def test_the_program_loses_what_the_drop_list_says(program: Path) -> None:
    fields = xv.output(program, "reno", 200, 1, 0, 1, xv.SECONDS).split(",")
    goodput, lost = float(fields[0]), int(fields[3])
    delivered = goodput * 1e6 * xv.SECONDS / 8 / 1448
    listed = xv.drops(1, 1.0)

    assert listed[:3] == [99, 161, 266]
    # What was sent is what arrived, what was lost, and what was in flight at the end.
    assert sum(n < delivered for n in listed) <= lost <= sum(n < delivered + 2 * lost + 200 for n in listed)


def exact(cell: xv.Cell) -> xv.Measured:
    return xv.Measured(cell.goodput, cell.mean, 50.0, 50.0, 0.0, 0.0)


@pytest.mark.parametrize("cell", CELLS.values(), ids=lambda c: f"{c.bottleneck}-{c.cc}-{c.rtt_ms}-{c.loss_pct}")
def test_a_cell_fails_beyond_its_bound_and_only_there(cell: xv.Cell) -> None:
    for sign in (1, -1):
        within = replace(exact(cell), after5s=cell.mean + sign * 0.999 * cell.bound)
        beyond = replace(exact(cell), after5s=cell.mean + sign * 1.001 * cell.bound)
        assert xv.verdict(cell, within).holds
        assert not xv.verdict(cell, beyond).holds


def test_the_bound_is_five_percent_or_two_standard_errors() -> None:
    assert CELLS["none", "cubic", 80, 3.0].bound == pytest.approx(0.05 * 0.8642, rel=1e-3)
    assert CELLS["none", "reno", 200, 0.1].bound == pytest.approx(2 * 0.6806 / 5**0.5, rel=1e-3)
    assert CELLS["20Mbit/1BDP", "bbr", 80, 1.0].bound == pytest.approx(0.1 * 18.7665, rel=1e-3)


def test_spurious_and_missing_retransmissions_fail() -> None:
    cell = CELLS["none", "reno", 80, 1.0]

    assert not xv.verdict(cell, replace(exact(cell), spurious=0.2)).holds
    assert xv.verdict(cell, replace(exact(cell), retransmits=49.0)).holds
    assert not xv.verdict(cell, replace(exact(cell), retransmits=48.5)).holds
    assert not xv.verdict(cell, replace(exact(cell), retransmits=51.5)).holds


def test_a_failing_cell_is_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    cell = CELLS["none", "reno", 80, 1.0]
    for ours, status in ((exact(cell), 0), (replace(exact(cell), after5s=2.0), 1)):
        assert xv.report({cell: xv.verdict(cell, ours)}, {cell: ours}) == status
    assert "FAILS: goodput is off by +0.332 Mbit/s, more than 0.181" in capsys.readouterr().out


def test_the_grid_is_whole() -> None:
    times, losses = (80, 200), (0.1, 1.0, 3.0)
    without = {("none", cc, rtt, p) for cc in ("reno", "cubic") for rtt in times for p in (*losses, 0.5)}
    behind = {("20Mbit/1BDP", cc, rtt, p) for cc in ("reno", "cubic", "bbr") for rtt in times for p in (*losses, 0.0)}

    assert set(CELLS) == without | behind
    assert all(c.seeds == tuple(range(1, 6 if c.mbps == 0 else 3)) for c in CELLS.values())


def test_the_other_simulators_have_every_cell_of_theirs() -> None:
    others = xv.read_others()
    for simulator in xv.SIMULATORS:
        keys = {tuple(str(v) for v in key) for key in CELLS if key[1] in simulator.controllers}
        assert set(others[simulator.name].means) == keys


def test_what_is_not_installed_leaves_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = xv.OTHERS.read_text()
    copy = tmp_path / "others.csv"
    copy.write_text(kept)
    monkeypatch.setattr(xv, "OTHERS", copy)
    monkeypatch.setenv("PATH", str(tmp_path))
    with xv.ThreadPoolExecutor(1) as pool:
        xv.record_others(pool, list(CELLS.values()))

    assert copy.read_text() == kept
    assert "ns-2 is not installed" in capsys.readouterr().out


def test_the_page_holds_the_kernels_and_the_simulators_numbers() -> None:
    tables = xv.PAGE.read_text().split(xv.BEGIN)[1].split(xv.END)[0]
    lines = [[field.strip() for field in line.split("|")[1:-1]] for line in tables.splitlines() if line[:1] == "|"]
    beside_kernel = {tuple(line[:4]): line for line in lines if len(line) == 17}
    beside_others = {tuple(line[:4]): line for line in lines if len(line) == 9}
    others = xv.read_others()
    for cell in CELLS.values():
        place = (cell.bottleneck, str(cell.rtt_ms), f"{cell.loss_pct:g}", cell.cc)
        assert beside_kernel[place][5].split()[0] == f"{cell.mean:.3f}"
        assert (beside_kernel[place][9] == "holds") != cell.is_open
        assert beside_others[place][4] == f"{cell.mean:.3f}"
        for column, name in ((7, "ns-2"), (8, "ns-3")):
            measured = others[name].means.get(tuple(str(getattr(cell, part)) for part in xv.KEY))
            assert beside_others[place][column] == ("" if measured is None else xv.beside(measured.after5s, cell.mean))
