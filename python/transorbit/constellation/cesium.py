"""A constellation as CZML, the scene description of Cesium.

Positions are Earth-fixed, as the core computes them: CZML's inertial frame is the celestial one (ICRF), from which the
equinox of date has moved by a third of a degree since 2000, and Cesium would turn it to the Earth by its own data. So
that orbits are rings all the same, `path.relativeTo` asks for the inertial frame for the line alone (CesiumJS since
February 2026; older ones draw the line as the satellite's way over the turning Earth).

Written by hand: a document is a list of tables with a dozen keys. The library czml3 would check the keys, for five
packages more in every installation and an older dateutil, and does not know `relativeTo`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError
from transorbit.constellation import sky
from transorbit.constellation.places import stations as read_stations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    import polars as pl

# The date at which the reference instant of a Walker constellation is shown, which has none: J2000.
_PATTERN_EPOCH = "2000-01-01T12:00:00Z"
# Between samples a minute apart, a polynomial through eight of them is off by less than a millimetre in low orbit.
_DEGREE = 7
_FASTER_THAN_LIFE = 60

_SATELLITE, _PATH, _LINK, _STATION = [213, 94, 0, 255], [230, 159, 0, 110], [0, 158, 115, 140], [0, 114, 178, 255]


def czml(
    constellation: str | Mapping[str, Any],
    *,
    stations: str | Path | Mapping[str, Sequence[float]] | None = None,
    start_s: float = 0.0,
    duration_s: float = 6000.0,
    step_s: float = 60.0,
    epoch: str | None = None,
    paths: bool = True,
    links: bool = True,
    base_dir: str | PathLike[str] = ".",
) -> list[dict[str, Any]]:
    """A scene for Cesium: satellites on their orbits, their links, stations.

    Args:
        constellation: as for `positions`.
        stations: stations to be shown: as for `stations`.
        start_s: the first instant, in seconds after the reference instant (see `epoch`).
        duration_s: the length of time.
        step_s: time between samples, between which Cesium interpolates (Lagrange, degree 7); links go on and off at
            samples. A minute does for low orbits.
        epoch: UTC in ISO 8601 at which the reference instant of a pattern is shown; by default 2000-01-01T12:00:00Z.
            Satellites from a file have their own.
        paths: draw the orbits.
        links: draw the links between satellites.
        base_dir: the folder to which names of files are relative.

    Returns:
        The packets of a CZML document: write them with `json.dump`. Positions are Earth-fixed, in metres, to a
        millimetre.

    Raises:
        ScenarioError: a value, a file or a satellite in it is wrong.
    """
    import polars as pl

    places = sky.positions(constellation, start_s=start_s, duration_s=duration_s, step_s=step_s, base_dir=base_dir)
    grounds = None if stations is None else read_stations(stations)
    reference = _reference(sky.epoch(constellation, base_dir=base_dir), epoch)
    clock = _Clock(reference, places["time_s"][0], places["time_s"][-1])
    title = constellation if isinstance(constellation, str) else str(constellation.get("preset", "constellation"))
    packets = [clock.document(title)]
    places = places.with_columns(pl.col("x_m", "y_m", "z_m").round(3))
    for orbit in places.partition_by("satellite", maintain_order=True):
        packets.append(_satellite(orbit, clock, step_s if paths else None))
    if links:
        on = sky.links(constellation, start_s=start_s, duration_s=duration_s, step_s=step_s, base_dir=base_dir)
        packets += _links(on, clock)
    if grounds is not None:
        packets += [_station(**row) for row in grounds.iter_rows(named=True)]
    return packets


class _Clock:
    """From seconds after the reference instant to UTC."""

    def __init__(self, reference: datetime, begin_s: float, end_s: float) -> None:
        self.reference, self.begin_s, self.end_s = reference, begin_s, end_s

    def at(self, seconds: float) -> str:
        instant = self.reference + timedelta(seconds=seconds)
        return instant.isoformat().replace("+00:00", "Z")

    def interval(self, begin_s: float, end_s: float) -> str:
        return f"{self.at(begin_s)}/{self.at(end_s)}"

    def document(self, title: str) -> dict[str, Any]:
        clock = {
            "interval": self.interval(self.begin_s, self.end_s),
            "currentTime": self.at(self.begin_s),
            "multiplier": _FASTER_THAN_LIFE,
            "range": "LOOP_STOP",
            "step": "SYSTEM_CLOCK_MULTIPLIER",
        }
        return {"id": "document", "name": title, "version": "1.0", "clock": clock}


def _reference(of_file: str | None, given: str | None) -> datetime:
    if of_file and given:
        raise ScenarioError(f"epoch: the satellites of a file have their own, {of_file}")
    try:
        instant = datetime.fromisoformat(of_file or given or _PATTERN_EPOCH)
    except ValueError:
        raise ScenarioError(f'epoch: "{given}" is no instant in ISO 8601, as in {_PATTERN_EPOCH}') from None
    return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)


def _satellite(orbit: pl.DataFrame, clock: _Clock, step_s: float | None) -> dict[str, Any]:
    packet: dict[str, Any] = {
        "id": f"satellite/{orbit['satellite'][0]}",
        "name": orbit["name"][0],
        "availability": clock.interval(clock.begin_s, clock.end_s),
        "position": {
            "interpolationAlgorithm": "LAGRANGE",
            "interpolationDegree": min(_DEGREE, len(orbit) - 1),
            "referenceFrame": "FIXED",
            "epoch": clock.at(0.0),
            "cartesian": list(chain.from_iterable(orbit.select("time_s", "x_m", "y_m", "z_m").iter_rows())),
        },
        "point": {"pixelSize": 5, "color": {"rgba": _SATELLITE}},
    }
    if step_s is not None:
        span = clock.end_s - clock.begin_s
        packet["path"] = {
            "relativeTo": "INERTIAL",
            "leadTime": span,
            "trailTime": span,
            "resolution": step_s,
            "width": 1,
            "material": _color(_PATH),
        }
    return packet


def _links(table: pl.DataFrame, clock: _Clock) -> Iterator[dict[str, Any]]:
    """A line for each pair, shown while it is linked."""
    for (one, other), times in table.sort("from", "to", "begin_s").group_by("from", "to", maintain_order=True):
        line: dict[str, Any] = {
            "positions": {"references": [f"satellite/{end}#position" for end in (one, other)]},
            "arcType": "NONE",
            "width": 1,
            "material": _color(_LINK),
        }
        on = list(times.select("begin_s", "end_s").iter_rows())
        if on != [(clock.begin_s, clock.end_s)]:
            line["show"] = [
                {"interval": clock.interval(begin, end), "boolean": shown} for begin, end, shown in _shown(on, clock)
            ]
        yield {
            "id": f"link/{one}-{other}",
            "name": f"{one} to {other}",
            "availability": clock.interval(clock.begin_s, clock.end_s),
            "polyline": line,
        }


def _shown(on: list[tuple[float, float]], clock: _Clock) -> Iterator[tuple[float, float, bool]]:
    """The whole time in intervals, shown and hidden: Cesium shows a line outside of all intervals."""
    now = clock.begin_s
    for begin, end in on:
        if begin > now:
            yield now, begin, False
        yield begin, end, True
        now = end
    if now < clock.end_s:
        yield now, clock.end_s, False


def _station(name: str, latitude_deg: float, longitude_deg: float, altitude_m: float) -> dict[str, Any]:
    return {
        "id": f"station/{name}",
        "name": name,
        "position": {"cartographicDegrees": [longitude_deg, latitude_deg, altitude_m]},
        "point": {"pixelSize": 7, "color": {"rgba": _STATION}},
        "label": {
            "text": name,
            "font": "12pt sans-serif",
            "horizontalOrigin": "LEFT",
            "pixelOffset": {"cartesian2": [8, 0]},
            "fillColor": {"rgba": [255, 255, 255, 255]},
        },
    }


def _color(rgba: list[int]) -> dict[str, Any]:
    return {"solidColor": {"color": {"rgba": rgba}}}
