"""Attenuation by rain on the way to a satellite, by Recommendation ITU-R P.618-13.

The computation and the digital maps of rain rate (P.837-7), rain height (P.839-4) and altitude (P.1511) are those
of the package `itur`, which comes with `transorbit[rain]`.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from transorbit import _place
from transorbit._values import listed, number, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

#: The limits of the Recommendation, in hertz, shares of a year, degrees.
CARRIERS_HZ = (1e9, 55e9)
SHARES = (0.00001, 0.05)
ELEVATIONS_DEG = (0.0, 90.0)
# What users and rain on the Earth have; the core takes no higher place either.
_ALTITUDES_M = (-1e3, 50e3)
_RATES_MM_PER_H = (0.0, 1000.0)


class MissingMapsError(ImportError):
    """The package that holds the maps is not installed."""


def attenuation(
    *,
    at: tuple[float, float],
    carrier_hz: float,
    exceeded: float,
    tilt_deg: float = 45.0,
    elevations_deg: Sequence[float] = tuple(range(5, 91, 5)),
    altitude_m: float | None = None,
    rain_rate_mm_per_h: float | None = None,
) -> pl.DataFrame:
    """Attenuation by rain that is exceeded for a share of an average year.

    It is a level of the long-term statistics, not a shower over time: a run with it lives through that level all
    along.

    Args:
        at: latitude and longitude of the user in degrees, -90 to 90 and -180 to 360.
        carrier_hz: carrier frequency, 1 to 55 GHz.
        exceeded: share of an average year, 0.00001 to 0.05.
        tilt_deg: polarisation tilt from the horizontal: 0 horizontal, 90 vertical, 45 circular.
        elevations_deg: elevations of the satellite, more than 0 and at most 90, rising.
        altitude_m: altitude of the user above the sea, -1000 to 50000; by default that of the ground on the map.
        rain_rate_mm_per_h: rain rate exceeded for 0.01 % of an average year, 0 to 1000; by default that of the map.

    Returns:
        Columns `elevation_deg`, `attenuation_db`.

    Raises:
        ValueError: a value out of range; the message begins with its name.
        MissingMapsError: the package `itur` is not installed.
    """
    elevations = numbers("elevations_deg", elevations_deg)
    place = [number("at", value) for value in listed("at", at)]
    _check(carrier_hz=carrier_hz, exceeded=exceeded, tilt_deg=tilt_deg, elevations_deg=elevations)
    _check_user(at=place, altitude_m=altitude_m, rain_rate_mm_per_h=rain_rate_mm_per_h)
    import polars as pl

    latitude, longitude = place[0], (place[1] + 180.0) % 360.0 - 180.0
    by_rain = functools.partial(
        _p618().rain_attenuation,
        latitude,
        longitude,
        carrier_hz / 1e9,
        hs=None if altitude_m is None else altitude_m / 1e3,
        p=100.0 * exceeded,
        R001=rain_rate_mm_per_h,
        tau=tilt_deg,
    )
    levels = [float(by_rain(_beyond_25_deg(elevation)).value) for elevation in elevations]
    return pl.DataFrame({"elevation_deg": elevations, "attenuation_db": levels})


def _beyond_25_deg(elevation: float) -> float:
    # Step 10 of section 2.2.1.1 has a case from 25 degrees on, which the package begins after 25 degrees.
    return 25.0 + 1e-12 if elevation == 25.0 else elevation


def _p618() -> Any:
    try:
        return importlib.import_module("itur.models.itu618")
    except ModuleNotFoundError as error:
        missing = f"needs the package {error.name}"
        raise MissingMapsError(f"{missing}: install transorbit[rain], as in pip install 'transorbit[rain]'") from error


def _check(*, carrier_hz: float, exceeded: float, tilt_deg: float, elevations_deg: Sequence[float]) -> None:
    if not CARRIERS_HZ[0] <= number("carrier_hz", carrier_hz) <= CARRIERS_HZ[1]:
        raise ValueError(f"carrier_hz: {carrier_hz / 1e9:g} GHz is out of range: must be between 1 and 55 GHz")
    if not SHARES[0] <= number("exceeded", exceeded) <= SHARES[1]:
        raise ValueError(f"exceeded: {100 * exceeded:g} % is out of range: must be between 0.001 and 5 %")
    if not 0 <= number("tilt_deg", tilt_deg) <= 90:
        raise ValueError(f"tilt_deg: {tilt_deg:g} deg is out of range: must be between 0 and 90 deg")
    if not elevations_deg:
        raise ValueError("elevations_deg: none is given")
    for before, elevation in zip([ELEVATIONS_DEG[0], *elevations_deg], elevations_deg, strict=False):
        if not before < elevation <= ELEVATIONS_DEG[1]:
            allowed = "must rise, from more than 0 to at most 90 deg"
            raise ValueError(f"elevations_deg: {elevation:g} deg after {before:g} deg: {allowed}")


def _check_user(*, at: Sequence[float], altitude_m: float | None, rain_rate_mm_per_h: float | None) -> None:
    if len(at) != 2:
        raise ValueError(f"at: {at!r} is not (latitude, longitude)")
    if not _place.is_on_earth(*at):
        raise ValueError(f"at: {at[0]:g},{at[1]:g} is out of range: {_place.ALLOWED}")
    low, high = _ALTITUDES_M
    if altitude_m is not None and not low <= number("altitude_m", altitude_m) <= high:
        raise ValueError(f"altitude_m: {altitude_m:g} m is out of range: must be between {low:g} and {high:g} m")
    low, high = _RATES_MM_PER_H
    if rain_rate_mm_per_h is not None and not low <= number("rain_rate_mm_per_h", rain_rate_mm_per_h) <= high:
        rate_in_words = f"{rain_rate_mm_per_h:g} mm/h is out of range"
        raise ValueError(f"rain_rate_mm_per_h: {rate_in_words}: must be between {low:g} and {high:g} mm/h")
