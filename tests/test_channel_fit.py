"""The fit of the papers' channel finds the reading that made what is published, and counts close cells."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

PROGRAM = Path(__file__).resolve().parents[1] / "validation" / "channel_fit" / "__main__.py"


def program() -> Any:
    spec = importlib.util.spec_from_file_location("channel_fit", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made(thesis: dict[Any, dict[str, float]], success: float, others: float) -> dict[Any, list[dict[str, float]]]:
    """Eight runs of each cell around what is published: success shifted, TCP's figures multiplied."""
    noise = np.random.default_rng(5).normal(0, 0.2, 8)
    return {
        cell: [
            {
                name: value + success + shift if name == "harq_success_pct" else value * others
                for name, value in row.items()
            }
            for shift in noise + np.random.default_rng(hash(cell[2]) % 97).normal(0, 0.1, 8)
        ]
        for cell, row in thesis.items()
    }


def test_the_reading_that_made_the_cells_is_likeliest_and_its_figures_are_close() -> None:
    fit = program()
    thesis, psats = fit.published("thesis"), fit.published("psats")
    assert len(thesis) == len(psats) == 12
    readings = {"right": made(thesis, 0.0, 1.24), "high": made(thesis, 1.0, 1.26), "low": made(thesis, -0.6, 0.7)}
    rows = {row["reading"]: row for row in fit.table(readings, thesis, psats)}
    assert next(iter(rows)) == "right"
    for column in ("log_likelihood", "log_likelihood_independent", "judged_log_likelihood_independent"):
        assert rows["right"][column] == 0
        assert rows["high"][column] < rows["low"][column] < 0
    assert rows["right"]["table_4_1_close"] == rows["right"]["table_4_2_close"] == 24
    for column in ("table_4_1_log_likelihood", "table_4_2_log_likelihood"):
        assert rows["right"][column] == 0
        assert rows["low"][column] < 0
    published_as_nothing = sum(row["rto_pct"] == 0 for row in thesis.values())
    assert rows["low"]["goodput_close"] == 0
    low = rows["low"]["table_4_1_close"] + rows["low"]["table_4_2_close"]
    assert published_as_nothing <= low <= published_as_nothing + 2
