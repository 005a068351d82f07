"""Rain by ITU-R P.618, against the examples by which the ITU-R validates implementations."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import transorbit as to
from transorbit import rain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Command = Callable[..., Outcome]

# Rows of the validation examples of ITU-R Working Parties 3J and 3M (CG-3M3J-13-ValEx, revision 5.1, P618-13 A_Rain):
# latitude and longitude in degrees, altitude in km, rain rate in mm/h, carrier in GHz, elevation and tilt in degrees,
# percentage of a year, attenuation in dB.
EXAMPLES = [
    (51.5, -0.14, 0.031382984, 26.48052, 14.25, 31.07699124, 0, 1, 0.495317069),
    (51.5, -0.14, 0.031382984, 26.48052, 14.25, 31.07699124, 0, 0.1, 2.185847422),
    (51.5, -0.14, 0.031382984, 26.48052, 29, 31.07699124, 0, 0.01, 23.44444523),
    (51.5, -0.14, 0.031382984, 26.48052, 29, 31.07699124, 0, 0.001, 45.19865638),
    (41.9, 12.49, 0.046122988, 33.936232, 14.25, 40.232036, 0, 0.01, 8.223265009),
    (41.9, 12.49, 0.046122988, 33.936232, 29, 40.232036, 0, 1, 2.823465634),
    (33.94, 18.43, 0, 27.13586832, 29, 46.35969261, 0, 0.1, 7.808322508),
    (22.9, -43.23, 0, 50.639304, 14.25, 22.27833468, 0, 1, 1.706901281),
    (22.9, -43.23, 0, 50.639304, 29, 22.27833468, 0, 0.001, 83.5996391),
    (25.78, -80.22, 0.00861728, 78.2994993, 14.25, 52.67898486, 0, 0.1, 6.297247244),
    (25.78, -80.22, 0.00861728, 78.2994993, 29, 52.67898486, 0, 0.01, 58.47438336),
    (28.717, 77.3, 0.209383699, 63.61888808, 14.25, 48.24117054, 90, 0.01, 14.87213733),
    (3.133, 101.7, 0.051251456, 99.15117186, 14.25, 85.80459566, 90, 0.1, 11.00145492),
    (3.133, 101.7, 0.051251456, 99.15117186, 29, 85.80459566, 90, 1, 10.2131477),
    (9.05, 38.7, 2.539861878, 42.91007183, 14.25, 20.14335809, 90, 0.001, 17.44199306),
    (9.05, 38.7, 2.539861878, 42.91007183, 29, 20.14335809, 90, 0.1, 19.23910378),
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_agrees_with_the_validation_examples(example: tuple[float, ...]) -> None:
    latitude, longitude, altitude, rate, carrier, elevation, tilt, percent, expected = example

    def level(turn: float, **given: float) -> float:
        table = rain.attenuation(
            at=(latitude, longitude + turn),
            carrier_hz=carrier * 1e9,
            exceeded=percent / 100,
            tilt_deg=tilt,
            elevations_deg=[elevation],
            **given,
        )
        assert table["elevation_deg"].to_list() == [elevation]
        return float(table["attenuation_db"].item())

    # A longitude may be told from 0 to 360 as well.
    for turn in (0, 360) if longitude < 0 else (0,):
        assert level(turn, altitude_m=1e3 * altitude, rain_rate_mm_per_h=rate) == pytest.approx(expected, rel=1e-6)
    # The map's rain rates are those of the examples to 0.035 %, and attenuation grows by at most their power 1.2.
    assert level(0) == pytest.approx(expected, rel=5e-4)


def test_the_case_from_25_degrees_on_begins_at_25() -> None:
    """Step 10 of section 2.2.1.1: no jump at 25 degrees where the latitude is less than 36."""
    angles = [25.0, 25.0 + 1e-6]
    table = rain.attenuation(at=(22.9, -43.23), carrier_hz=14.25e9, exceeded=0.005, tilt_deg=30, elevations_deg=angles)
    at_25, beyond = table["attenuation_db"].to_list()
    assert at_25 == pytest.approx(beyond, rel=1e-6)
    assert table["elevation_deg"].to_list() == angles


def test_lower_satellites_and_rarer_rain_cost_more() -> None:
    def levels(exceeded: float) -> list[float]:
        table = rain.attenuation(at=(43.6, 1.4), carrier_hz=20e9, exceeded=exceeded)
        assert table["elevation_deg"].to_list() == [float(elevation) for elevation in range(5, 91, 5)]
        return table["attenuation_db"].to_list()

    often, seldom = levels(0.01), levels(0.001)
    assert often == sorted(often, reverse=True)
    assert all(few > many > 0 for few, many in zip(seldom, often, strict=True))


def test_command_writes_what_a_link_budget_reads(command: Command, here: Path) -> None:
    done = command(
        *("channel", "rain", "--at", "43.6,1.4", "--carrier", "20 GHz", "--exceeded", "0.1 %", "--elevations"),
        *("10:90:40", "--csv", "rain.csv", "--plot", "rain.png"),
    )
    assert (done.code, done.err) == (0, "")
    assert done.out == "Attenuation: rain.csv\n"
    assert (here / "rain.png").stat().st_size > 1000
    table = pl.read_csv(here / "rain.csv")
    assert table.columns == ["elevation_deg", "attenuation_db"]
    wanted = rain.attenuation(at=(43.6, 1.4), carrier_hz=20e9, exceeded=0.001, elevations_deg=[10, 50, 90])
    assert table.equals(wanted)

    budget = {"eirp": "60 dBW", "figure_of_merit": "-10 dB/K", "symbol_rate": "1 MHz", "range": "1000 km"}
    clear = {"kind": "lms", "elevation": "40 deg", "carrier": "2 GHz", "link_budget": budget}
    wet = clear | {"link_budget": budget | {"rain": {"kind": "by-elevation", "file": "rain.csv"}}}
    dry, soaked = (
        to.channel.stats(config, duration_s=0.1, base_dir=here)["reference_snr_db"] for config in (clear, wet)
    )
    ten, fifty, _ = wanted["attenuation_db"]
    assert dry - soaked == pytest.approx(ten + 0.75 * (fifty - ten), abs=1e-9)


def test_polarisations_have_names(command: Command) -> None:
    def of(polarisation: str) -> str:
        options = ("--at", "3.1,101.7", "--carrier", "12 GHz", "--exceeded", "0.0001", "--elevations", "30")
        return command("channel", "rain", *options, "--polarisation", polarisation).out

    assert of("circular") == of("45 deg") != of("vertical")
    assert of("horizontal") == of("0 deg")
    worst, mean, best = (float(of(name).split(",")[-1]) for name in ("horizontal", "circular", "vertical"))
    assert worst > mean > best, "drops are flat"


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--at", "north", "LATITUDE,LONGITUDE"),
        ("--carrier", "20", 'as in "20 GHz"'),
        ("--carrier", "80 GHz", "80 GHz is out of range: must be between 1 and 55 GHz"),
        ("--exceeded", "often", 'as in "0.1 %"'),
        ("--exceeded", "20 %", "must be between 0.001 and 5 %"),
        ("--polarisation", "round", "none of circular, horizontal, vertical"),
        ("--polarisation", "120 deg", "must be between 0 and 90 deg"),
        ("--elevations", "0,10", "0 deg after 0 deg"),
        ("--elevations", "20,10", "10 deg after 20 deg: must rise"),
        ("--elevations", "91", "at most 90 deg"),
        ("--plot", "rain.txt", "must end in"),
    ],
)
def test_says_which_option_is_wrong(command: Command, option: str, value: str, says: str) -> None:
    options = {"--at": "43.6,1.4", "--carrier": "20 GHz", "--exceeded": "0.1 %"} | {option: value}
    done = command("channel", "rain", *(part for pair in options.items() for part in pair))
    assert done.code == 2
    assert done.err.startswith(f"transorbit: {option}: ")
    assert says in done.err


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        ("at", (100, 0), "100,0 is out of range: latitude -90 to 90, longitude -180 to 360"),
        ("at", (math.nan, 0), "nan was given, a finite number is expected"),
        ("at", (0, math.inf), "inf was given, a finite number is expected"),
        ("at", None, "None was given, a list is expected"),
        ("carrier_hz", "20 GHz", "'20 GHz' was given, a number is expected"),
        ("at", (43.6,), "is not (latitude, longitude)"),
        ("rain_rate_mm_per_h", -5, "-5 mm/h is out of range: must be between 0 and 1000 mm/h"),
        ("rain_rate_mm_per_h", math.nan, "nan was given, a finite number is expected"),
        ("altitude_m", math.nan, "nan was given, a finite number is expected"),
        ("altitude_m", -1e6, "-1e+06 m is out of range: must be between -1000 and 50000 m"),
    ],
)
def test_says_which_argument_is_wrong(argument: str, value: Any, says: str) -> None:
    given: dict[str, Any] = {"at": (43.6, 1.4), "carrier_hz": 20e9, "exceeded": 0.001} | {argument: value}
    with pytest.raises(ValueError, match=rf"^{argument}: .*{re.escape(says)}"):
        rain.attenuation(**given)


def test_says_what_to_install(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    def without(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}", name="itur")

    monkeypatch.setattr(importlib, "import_module", without)
    done = command("channel", "rain", "--at", "43.6,1.4", "--carrier", "20 GHz", "--exceeded", "0.1 %")
    assert done.code == 2
    assert done.err.startswith("transorbit: channel rain: needs the package itur: install transorbit[rain]")
