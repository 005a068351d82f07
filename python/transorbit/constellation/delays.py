"""The one-way delay between two ends of a path over a constellation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from transorbit._ask import ask, ask_table
from transorbit._core import ScenarioError
from transorbit._values import number
from transorbit.constellation.about import checked
from transorbit.constellation.places import with_altitude

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import polars as pl

    # A place in degrees (and metres), or a value of a scenario.
    _Ends = Sequence[float] | Sequence[Mapping[str, Any]] | Mapping[str, Any]

# Columns of whole numbers, which the core returns as floating point.
_NUMBERS = ("hops", "gateway", "source_satellite", "user_satellite")


def delay(
    constellation: str | Mapping[str, Any],
    *,
    source: _Ends,
    user: _Ends,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    handover: str | Mapping[str, Any] | None = None,
    carrier_hz: float | None = None,
    path: Mapping[str, Any] | None = None,
    base_dir: str | PathLike[str] = ".",
) -> pl.DataFrame:
    """The one-way delay between two ends over a constellation.

    Args:
        constellation: a name of `transorbit list constellations`, such as "leo-66", or what a scenario's
            `path.constellation` may be: `{"preset": "leo-66", "j2": True}`, `{"file": "iridium.tle"}`.
        source: latitude and longitude in degrees, north and east positive, and perhaps altitude in metres; or what a
            scenario's `path.source` may be: `{"file": "gateways.csv"}`, a list of places.
        user: the same for the other end, `path.user`, which may move.
        duration_s: how long, from the constellation's epoch.
        step_s: time between rows; the last row is at the end.
        handover: how the satellite that serves an end is chosen: as a scenario's `path.handover`, with its default.
        carrier_hz: the carrier of the columns with the Doppler shift.
        path: further keys of a scenario's `path`, such as `{"start": "10 min", "metric": "hops"}`.
        base_dir: the folder to which names of files are relative.

    Returns:
        Columns `time_s`, `one_way_delay_s` (null where there is no route), `hops` (links between satellites),
        `gateway` (its number among the gateways), `source_satellite`, `user_satellite` (whole numbers, null where
        there is none); its look from the user: `elevation_deg`, `range_m`, `range_rate_mps`, to seven digits;
        with a carrier `doppler_hz` and `doppler_rate_hz_per_s`; and `event`: what changed since the row before (see
        `changes`), with a `+` between several.

    Raises:
        ScenarioError: names the key of the path that is wrong, or `duration`, or `carrier`.
    """
    import polars as pl

    if carrier_hz is not None and number("carrier", carrier_hz) <= 0:
        raise ScenarioError(f"carrier: {carrier_hz:g} Hz was given, more than 0 Hz is expected")
    table = ask_table(
        "constellation.delay",
        base_dir=base_dir,
        path=_path(constellation, source, user, step_s, handover, path),
        duration_s=duration_s,
        carrier_hz=carrier_hz,
    )
    return table.with_columns(pl.col(_NUMBERS).cast(pl.Int64))


def changes(delay: pl.DataFrame) -> dict[str, int]:
    """The number of rows with each kind of change in a table of `delay`.

    Returns:
        By event: `user-handover`, `gateway-handover` (another satellite serves that end), `route-change` (another way
        between the same satellites, or over another gateway), `outage`, `route-again`. Several of a kind within a step
        count once.
    """
    events = ("user-handover", "gateway-handover", "route-change", "outage", "route-again")
    told = delay["event"].fill_null("").str.split("+")
    return {event: int(told.list.contains(event).sum()) for event in events}


def delay_trace(
    constellation: str | Mapping[str, Any],
    *,
    source: _Ends,
    user: _Ends,
    duration_s: float = 600.0,
    step_s: float = 1.0,
    handover: str | Mapping[str, Any] | None = None,
    trace_format: str = "csv",
    path: Mapping[str, Any] | None = None,
    base_dir: str | PathLike[str] = ".",
) -> str:
    """The one-way delay as the text of a delay trace, for other tools, or for a scenario's `path.file`.

    Args:
        constellation: as for `delay`, and so are the others.
        source: one end.
        user: the other.
        duration_s: how long.
        step_s: time between rows.
        handover: how a satellite is chosen.
        trace_format: as `path.format` of a scenario: "csv", "milliseconds", and of round trips "hypatia" and "ping".
        path: further keys of a scenario's `path`.
        base_dir: the folder to which names of files are relative.

    Raises:
        ScenarioError: as for `delay`, or the format is unknown.
    """
    text: str = ask(
        "constellation.delay_trace",
        base_dir=base_dir,
        path=_path(constellation, source, user, step_s, handover, path),
        duration_s=duration_s,
        format=trace_format,
    )
    return text


def _path(
    constellation: str | Mapping[str, Any],
    source: _Ends,
    user: _Ends,
    step_s: float,
    handover: str | Mapping[str, Any] | None,
    path: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """A scenario's path."""
    if path is not None and not isinstance(path, Mapping):
        raise ScenarioError(f"path: {path!r} was given, a table is expected")
    return {
        "kind": "constellation",
        "constellation": checked(constellation),
        "source": _end("source", source),
        "user": _end("user", user),
        "step": f"{number('step', step_s)} s",
        **({} if handover is None else {"handover": handover}),
        **(path or {}),
    }


def _end(name: str, place: _Ends) -> Any:
    """A place, or several, as a scenario's value."""
    if isinstance(place, Mapping):
        return dict(place)
    if isinstance(place, Iterable) and any(isinstance(one, Mapping) for one in place):
        return list(place)
    latitude, longitude, altitude = with_altitude(name, cast("Sequence[float]", place))
    return {"latitude": f"{latitude:.9f} deg", "longitude": f"{longitude:.9f} deg", "altitude": f"{altitude:.3f} m"}
