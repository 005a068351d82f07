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
        instant.alias("instant"), pl.col("satellite").cast(pl.UInt32), look_deg="elevation_deg", look_m="range_m"
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


def test_numbers_are_whole_and_files_without_noise(command: Command) -> None:
    ends = {"source": AUCKLAND, "user": TOULOUSE, "duration_s": 600, "step_s": 5, "carrier_hz": 2e9}
    found = to.constellation.delay("leo-66", **ends)  # type: ignore[arg-type]
    whole = ["hops", "gateway", "source_satellite", "user_satellite"]
    assert {found.schema[name] for name in whole} == {pl.Int64}
    done = command(
        *("constellation", "delay", "leo-66", "--from", "-36.9,174.8", "--to", "43.6,1.4", "--duration", "600 s"),
        *("--step", "5 s", "--carrier", "2 GHz", "--csv", "-"),
    )
    written = pl.read_csv(done.out.encode())
    assert {written.schema[name] for name in whole} == {pl.Int64}
    for name, digits in {"elevation_deg": 4, "range_m": 1, "range_rate_mps": 3, "doppler_hz": 2}.items():
        assert (written[name] - found[name]).abs().max() <= 0.50001 * 10**-digits, name  # type: ignore[operator]
        column = written.columns.index(name)
        texts = [line.split(",")[column] for line in done.out.splitlines()[1:]]
        assert all(len(text.partition(".")[2]) <= digits for text in texts), name


def test_handovers_are_counted_by_their_end(command: Command) -> None:
    """Against the numbers of the satellites themselves."""
    ends = ("--from", "-36.9,174.8", "--to", "43.6,1.4", "--duration", "1 h", "--step", "2 s")
    done = command("constellation", "delay", "leo-66", *ends, "--plot", "delay.svg")
    found = to.constellation.delay("leo-66", source=AUCKLAND, user=TOULOUSE, duration_s=3600, step_s=2)
    assert found["one_way_delay_s"].null_count() == 0
    changed = {end: int((found[end].diff().fill_null(0) != 0).sum()) for end in ("user_satellite", "source_satellite")}
    counted = to.constellation.changes(found)
    assert counted["user-handover"] == changed["user_satellite"] > 0
    assert counted["gateway-handover"] == changed["source_satellite"] > 0
    assert f"{counted['user-handover']} user handover" in done.out
    assert f"{counted['gateway-handover']} gateway handover" in done.out
    assert f"{counted['route-change']} route change" in done.out
    assert "no route" not in done.out
    alone = to.constellation.delay("orbcomm-og2", source=TOULOUSE, user=(48.9, 2.4), duration_s=7200, step_s=5)
    missing = alone["one_way_delay_s"].null_count()
    assert to.constellation.changes(alone)["outage"] > 0
    told = command(
        *("constellation", "delay", "orbcomm-og2", "--from", "43.6,1.4", "--to", "48.9,2.4"),
        *("--duration", "7200 s", "--step", "5 s"),
    )
    assert f"no route {100 * missing / len(alone):.3g} % of the time" in told.out


def test_a_handover_may_have_parameters(command: Command) -> None:
    ends = ("--from", "48.8,2.3", "--to", "45.8,4.9", "--duration", "120 s", "--csv", "-")
    policy = '{ kind = "fixed-epochs", every = "60 s" }'
    done = command("constellation", "delay", "starlink-shell-1", *ends, "--handover", policy)
    assert done.code == 0, done.err
    found = to.constellation.delay(
        "starlink-shell-1",
        source=(48.8, 2.3),
        user=(45.8, 4.9),
        duration_s=120,
        handover={"kind": "fixed-epochs", "every": "60 s"},
    )
    written = pl.read_csv(done.out.encode())
    assert written["user_satellite"].to_list() == found["user_satellite"].to_list()
    for wrong in ("{ kind = }", '{ kind = "never" }', "never", '{ kind = "fixed-epochs", often = "1 s" }'):
        for option in ("--handover", "--source-handover"):
            refused = command("constellation", "delay", "starlink-shell-1", *ends, option, wrong)
            assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
            assert refused.err.startswith(f"transorbit: {option}: "), refused.err
    near = command("constellation", "delay", "leo-66", *ends, "--source-handover", "highest")
    path = {"source_handover": "highest"}
    table = to.constellation.delay("leo-66", source=(48.8, 2.3), user=(45.8, 4.9), duration_s=120, path=path)
    assert pl.read_csv(near.out.encode())["source_satellite"].to_list() == table["source_satellite"].to_list()
