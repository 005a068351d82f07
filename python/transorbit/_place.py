"""The places on the Earth that commands and models take, in degrees: those of the core's `Place`."""

from __future__ import annotations

ALLOWED = "latitude -90 to 90, longitude -180 to 360"


def is_on_earth(latitude: float, longitude: float) -> bool:
    """Whether there is such a place."""
    return -90 <= latitude <= 90 and -180 <= longitude <= 360
