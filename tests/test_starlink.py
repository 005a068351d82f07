"""The model of Starlink's path keeps its distance to the halves of measurements that it was not fitted to."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def distance(request: pytest.FixtureRequest) -> dict[str, Any]:
    return runpy.run_path(str(request.config.rootpath / "validation/starlink/distance.py"))


@pytest.mark.parametrize("name", ["seattle-2023", "lagos-2023"])
def test_round_trips_are_as_far_from_measurements_as_the_page_says(
    distance: dict[str, Any], root: Path, name: str
) -> None:
    """Asked is a Kolmogorov-Smirnov distance of at most 0.10, of all round trips and within epochs."""
    rtt, _ = distance["measured"](distance["SETS"][name][0])
    model, judged = distance["modelled"](name), distance["half"](rtt, 1, 300.0)
    found = distance["distances"](model, judged)
    said = pl.read_csv(root / "validation/starlink/distance.csv").filter(pl.col("model") == name)
    page = (root / "docs/validation/starlink.md").read_text()
    for quantity, asked in (("rtt", 0.10), ("within", 0.10)):
        assert found[quantity] <= asked, quantity
        written = said.filter(pl.col("quantity") == f"KS {quantity}")["value"].item()
        assert found[quantity] == pytest.approx(written, abs=6e-4), quantity
        assert f"{written:.3f}" in page, quantity
    # A retransmission timer meets the longest.
    for share, off in ((99.0, 0.1), (99.9, 0.3)):
        longest, measured = (distance["percentile"](table, share) for table in (model, judged))
        assert longest == pytest.approx(measured, rel=off), share
        assert f"| {longest:.0f} | {measured:.0f} |" in page, share


def test_nothing_is_judged_by_what_it_was_fitted_to(distance: dict[str, Any]) -> None:
    rtt, _ = distance["measured"]("seattle")
    halves = [distance["half"](rtt, number, 300.0) for number in (0, 1)]
    assert sum(half.height for half in halves) == rtt.height
    assert not set(halves[0]["unix_time_s"]) & set(halves[1]["unix_time_s"])
