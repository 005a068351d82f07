"""Delays between two places: what comes beside them, against what else tells of the same satellites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import transorbit as to

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

    Command = Callable[..., Outcome]

LIGHT = 299792458.0
TOULOUSE, AUCKLAND = (43.6, 1.4), (-36.9, 174.8)


def test_doppler_is_that_of_the_look_angles(command: Command) -> None:
    """Elevation and distance as `look` has them; the shift by differences of the distance, to some hertz at 2 GHz."""
    place, carrier, step = TOULOUSE, 2e9, 0.5
    found = to.constellation.delay(
        "leo-66", source=AUCKLAND, user=place, duration_s=120, step_s=step, carrier_hz=carrier
    )
    looks = to.constellation.look("leo-66", station=place, duration_s=120, step_s=step)
    instant = (pl.col("time_s") / step).round().cast(pl.Int64)
    looks = looks.select(
        instant.alias("instant"), pl.col("satellite").cast(pl.Float64), look_deg="elevation_deg", look_m="range_m"
    )
    both = found.with_columns(instant=instant, satellite="user_satellite").join(
        looks, on=["instant", "satellite"], maintain_order="left"
    )
    assert len(both) == 241
    # The core interpolates between the points of its trace.
    assert (both["elevation_deg"] - both["look_deg"]).abs().max() < 0.01  # type: ignore[operator]
    assert (both["range_m"] - both["look_m"]).abs().max() < 100.0  # type: ignore[operator]
    change = {name: (pl.col(name).shift(-1) - pl.col(name).shift(1)) / (2 * step) for name in ("look_m", "doppler_hz")}
    kept = pl.col("satellite").shift(-1) == pl.col("satellite").shift(1)
    same = both.with_columns(speed=change["look_m"], rate=change["doppler_hz"], kept=kept).filter("kept")
    assert len(same) > 200
    assert (same["range_rate_mps"] - same["speed"]).abs().max() < 1.0  # type: ignore[operator]
    assert (same["doppler_hz"] + same["speed"] / LIGHT * carrier).abs().max() < 5.0  # type: ignore[operator]
    assert (same["doppler_rate_hz_per_s"] - same["rate"]).abs().max() < 5.0  # type: ignore[operator]
    ends = ("--from", "-36.9,174.8", "--to", "43.6,1.4", "--duration", "10 s", "--csv", "-")
    text = command("constellation", "delay", "leo-66", *ends, "--carrier", "2 GHz")
    assert text.out.splitlines()[0].endswith("range_rate_mps,doppler_hz,doppler_rate_hz_per_s,event")
    for wrong in ("2", "2 THz", "-1 GHz", "0 Hz", "nan Hz"):
        refused = command("constellation", "delay", "leo-66", *ends, f"--carrier={wrong}")
        assert (refused.code, "--carrier: " in refused.err) == (2, True), wrong


def test_fewest_hops_are_no_more_than_those_of_the_least_delay() -> None:
    quick, few = (
        to.constellation.delay(
            "starlink-shell-1",
            source=TOULOUSE,
            user=(35.7, 139.7),
            duration_s=600,
            step_s=5,
            handover="shortest-path",
            path={"metric": metric},
        )
        for metric in ("delay", "hops")
    )
    assert (few["hops"] <= quick["hops"]).all()
    assert (few["hops"] < quick["hops"]).any()
    assert (few["one_way_delay_s"] >= quick["one_way_delay_s"] - 1e-9).all()
