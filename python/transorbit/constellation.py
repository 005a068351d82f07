"""Satellite constellations: the delay of the long path over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transorbit import _core
from transorbit._frame import frame

if TYPE_CHECKING:
    import polars as pl


def delay(
    constellation: str,
    *,
    source: tuple[float, float],
    user: tuple[float, float],
    duration_s: float = 600.0,
    step_s: float = 1.0,
) -> pl.DataFrame:
    """The one-way delay between two places over a constellation.

    Args:
        constellation: a name of `transorbit list constellations`, such as "leo-66".
        source: latitude and longitude in degrees, north and east positive.
        user: the same, for the other end.
        duration_s: how long, from the constellation's epoch.
        step_s: time between rows.

    Returns:
        Columns `time_s`, `one_way_delay_s` (null where there is no route), `hops`, `source_satellite`,
        `user_satellite` and `event` (what changed since the row before).
    """
    return frame(_core.constellation_delay(constellation, source, user, duration_s, step_s))
