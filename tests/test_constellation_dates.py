"""Instants: the dates of satellites from files, starts and ends that are asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from towns import CSV, TOWNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Command = Callable[..., Outcome]

OLD = (
    "OBJECT_NAME,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,"
    "NORAD_CAT_ID,BSTAR\nOLD,2025-05-10T00:00:00,14.3,0.001,86.4,10,20,230,90001,0\n"
    "NEW,2025-06-10T00:00:00,14.3,0.001,86.4,10,20,230,90002,0\n"
)


def test_satellites_of_a_file_tell_their_dates(command: Command, here: Path) -> None:
    (here / "old.csv").write_text(OLD)
    (here / "new.csv").write_text(OLD.replace("2025-05-10", "2025-06-09"))
    (here / "towns.csv").write_text(CSV)
    below = to.constellation.world({"file": "old.csv"}).satellites.row(1, named=True)
    under = f"{below['latitude_deg']:.2f},{below['longitude_deg']:.2f}"
    ends = ("--from", under, "--to", under)
    minute = ("--duration", "1 min", "--step", "30 s")
    for name, *arguments in (
        ("delay", *ends, *minute),
        ("passes", "--at", "43.6,1.4"),
        ("coverage", "--duration", "5 min", "--latitude-step", "30 deg"),
        ("show", "--plot", "map.png"),
        ("export", "--csv", "out.csv", *minute),
        ("routes", "--stations", "towns.csv", "--keep-unseen", *minute),
    ):
        done = command("constellation", name, "old.csv", *arguments)
        assert done.code == 0, done.err
        assert "epoch 2025-06-10T00:00:00 UTC: times count from then\n" in done.out, name
        assert "warning: the elements of OLD are used up to 31 days from their epoch" in done.err, name
        fresh = command("constellation", name, "new.csv", *arguments)
        assert "the elements of" not in fresh.err, name
    late = command("constellation", "passes", "new.csv", "--at", "43.6,1.4", "--start", "480 h")
    assert "the elements of OLD are used up to 21 days" in late.err
    assert "epoch" not in command("constellation", "delay", "new.csv", *ends, *minute, "--csv", "-").out
    assert "epoch" not in command("constellation", "delay", "leo-66", *ends, *minute).out


def test_passes_begin_when_asked(command: Command, here: Path) -> None:
    """Before the epoch, too, where they are those that `look` sees."""
    (here / "sky").mkdir()
    (here / "sky/old.csv").write_text(OLD)
    file = {"file": "old.csv"}
    day: dict[str, Any] = {"start_s": -43_200.0, "duration_s": 86_400.0, "base_dir": here / "sky"}
    found = to.constellation.passes(file, (43.6, 1.4), **day)
    assert found["rise_s"].min() < 0 < found["rise_s"].max()  # type: ignore[operator]
    looks = to.constellation.look(file, station=(43.6, 1.4), step_s=30.0, **day)
    ups = looks.filter(pl.col("elevation_deg") > found["highest_elevation_deg"].min())
    for one in found.iter_rows(named=True):
        near = looks.filter(
            (pl.col("satellite") == one["satellite"]) & ((pl.col("time_s") - one["culmination_s"]).abs() <= 15.0)
        )
        assert near["elevation_deg"].max() == pytest.approx(one["highest_elevation_deg"], abs=3.0)
    during = [
        any(
            one["satellite"] == up["satellite"] and (one["rise_s"] or -1e9) <= up["time_s"] <= (one["set_s"] or 1e9)
            for one in found.iter_rows(named=True)
        )
        for up in ups.filter(pl.col("elevation_deg") > 10.0).iter_rows(named=True)
    ]
    assert len(during) > 10
    assert all(during)
    done = command(
        "constellation", "passes", "sky/old.csv", "--at", "43.6,1.4", "--start", "-12 h", "--duration", "24 h"
    )
    assert done.code == 0, done.err
    assert "highest (UTC)" in done.out
    assert "NEW        2025-06-09 " in done.out
    pattern = command("constellation", "passes", "leo-66", "--at", "43.6,1.4", "--start", "-1 h", "--duration", "1 h")
    assert pattern.code == 0, pattern.err
    assert " passes" in pattern.out
    assert "  -" in pattern.out  # before the reference instant
    zero, none = (
        command("constellation", "passes", "leo-66", "--at", "1,1", *start) for start in ([], ["--start", "0 s"])
    )
    assert zero.out == none.out
    assert "(UTC)" not in zero.out
    assert to.constellation.world(file, at_s=-600.0, base_dir=here / "sky").satellites.height == 2
    assert to.constellation.coverage(file, duration_s=60.0, base_dir=here / "sky").height == 37
    assert to.constellation.best_elevation(file, (43.6, 1.4), duration_s=60.0, base_dir=here / "sky")[0] < 90
    towns = {"A": (43.6, 1.4), "B": (40.0, 0.0)}
    kept = to.constellation.routes(file, towns, duration_s=60.0, step_s=30.0, keep_unseen=True, base_dir=here / "sky")
    assert kept.report["epoch"] == "2025-06-10T00:00:00"


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf, -math.inf, 1e300])
def test_no_time_is_taken_for_another(wrong: float) -> None:
    sky, place = "leo-66", (43.6, 1.4)
    constellation = to.constellation
    asked: dict[str, list[Callable[[], object]]] = {
        "duration": [
            lambda: constellation.delay(sky, source=place, user=place, duration_s=wrong),
            lambda: constellation.delay_trace(sky, source=place, user=place, duration_s=wrong),
            lambda: constellation.positions(sky, duration_s=wrong),
            lambda: constellation.look(sky, station=place, duration_s=wrong),
            lambda: constellation.czml(sky, duration_s=wrong),
            lambda: constellation.passes(sky, place, duration_s=wrong),
            lambda: constellation.best_elevation(sky, place, duration_s=wrong),
            lambda: constellation.coverage(sky, duration_s=wrong),
            lambda: constellation.routes(sky, TOWNS, duration_s=wrong),
        ],
        "step": [
            lambda: constellation.delay(sky, source=place, user=place, step_s=wrong),
            lambda: constellation.positions(sky, step_s=wrong),
            lambda: constellation.coverage(sky, step_s=wrong),
            lambda: constellation.routes(sky, TOWNS, step_s=wrong),
        ],
        "track": [lambda: constellation.world(sky, track_s=wrong)],
    }
    if wrong != -1.0:
        asked["start"] = [
            lambda: constellation.passes(sky, place, start_s=wrong),
            lambda: constellation.positions(sky, start_s=wrong),
            lambda: constellation.best_elevation(sky, place, start_s=wrong),
        ]
        asked["at"] = [lambda: constellation.world(sky, at_s=wrong)]
    for field, calls in asked.items():
        for i, call in enumerate(calls):
            with pytest.raises(to.ScenarioError, match=f"^{field}: "):
                print(field, i, call())


def test_a_start_of_nothing_is_the_epoch(command: Command) -> None:
    ends = ("--from", "43.6,1.4", "--to", "40,0", "--duration", "10 s", "--csv", "-")
    zero = command("constellation", "delay", "leo-66", *ends, "--start", "0 s")
    assert (zero.code, zero.out) == (0, command("constellation", "delay", "leo-66", *ends).out)
    early = command("constellation", "delay", "leo-66", *ends, "--start", "-1 s")
    assert (early.code, early.err) == (2, 'transorbit: --start: "-1 s" must be 0 s or more\n')
    for start in ("0 s", "-10 min"):
        assert command("constellation", "show", "leo-66", "--at", start, "--csv", "-").code == 0
        done = command("constellation", "export", "leo-66", "--csv", "-", "--duration", "1 min", "--start", start)
        assert (done.code, float(done.out.splitlines()[1].split(",")[0])) == (0, -600.0 if "-" in start else 0.0)


@pytest.mark.parametrize("epoch", ["yesterday", "1956-12-31", "2200-01-01T00:00:00"])
def test_an_epoch_that_is_none_is_told_with_its_key_and_the_years(command: Command, epoch: str) -> None:
    sky = f'path.constellation={{ file = "a.tle", epoch = "{epoch}" }}'
    done = command("check", "leo-tcp", "--set", sky)
    told = "in ISO 8601, such as 2026-11-21T10:00:00, of the years 1957 to 2199"
    assert done.err == f'transorbit: path.constellation.epoch: "{epoch}" must be an instant of UTC {told}\n'


def test_satellites_that_come_down_are_named_alike(here: Path) -> None:
    (here / "low.csv").write_text(OLD.replace("14.3,0.001", "16.5,0.0001").replace("90002,0", "90002,0.01"))
    low, place = {"file": "low.csv"}, (43.6, 1.4)
    constellation, week = to.constellation, 7 * 86_400.0
    calls: list[Callable[[], object]] = [
        lambda: constellation.delay(low, source=place, user=place, duration_s=week, step_s=3600.0),
        lambda: constellation.positions(low, duration_s=week, step_s=3600.0),
        lambda: constellation.coverage(low, duration_s=week, step_s=3600.0),
        lambda: constellation.passes(low, place, duration_s=week),
        lambda: constellation.world(low, at_s=week),
        lambda: constellation.routes(low, TOWNS, duration_s=week, step_s=3600.0),
    ]
    for i, call in enumerate(calls):
        with pytest.raises(to.ScenarioError, match=r"^constellation\.file: .*: take it out"):
            print(i, call())
