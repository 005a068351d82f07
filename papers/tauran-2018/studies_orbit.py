"""Chapter 3 of the thesis: constellations, what they cover, how the delay over one moves. Nothing here is random."""

import itertools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import transorbit as to

Row = dict[str, Any]

EARTH_M = 6_378_137.0
EARTH_RAD_S = 7.2921159e-5
MASK_DEG = 8.2
TEN_MINUTES_S, DAY_S = 600.0, 86_400.0
LARGE_MS = 5.0
"""Between the thesis' "few milliseconds" and its "sudden large delay variation"."""

PRESETS = {
    "Iridium": "iridium-66",
    "Iridium NEXT": "iridium-next",
    "OneWeb": "oneweb",
    "ORBCOMM OG2": "orbcomm-og2",
    "of all chapters": "leo-66",
}
PLACES = {
    "Toulouse": (43.6, 1.4),
    "Auckland": (-36.9, 174.8),
    "Sydney": (-33.9, 151.2),
    "Papeete": (-17.5, -149.6),
    "New York": (40.7, -74.0),
    "Perth": (-31.95, 115.86),
    "São Paulo": (-23.55, -46.6),
    "Tokyo": (35.7, 139.7),
}
PAIRS = [
    ("Toulouse", "Auckland"),
    ("Toulouse", "Sydney"),
    ("Toulouse", "Papeete"),
    ("New York", "Perth"),
    ("São Paulo", "Tokyo"),
    ("Toulouse", "New York"),
]
POLICIES = ("keep-until-mask", "highest", "shortest-path")
SAVI = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "savi-iridium-66.txt"


def constellations(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Table 3.1: satellites, mean altitude, and speed against the stars."""
    del seeds, quick
    rows = []
    for name, preset in PRESETS.items():
        frame = to.constellation.positions(preset, duration_s=1.0, step_s=1.0)
        first, second = (_places(frame, at) for at in (0.0, 1.0))
        radii = [math.hypot(*place) for place in first]
        rows.append(
            {
                "seed": 0,
                "name": name,
                "satellites": len(radii),
                "altitude_km": (statistics.mean(radii) - EARTH_M) / 1e3,
                "speed_km_s": statistics.mean(map(_travelled_m, first, second)) / 1e3,
            }
        )
    return rows


def coverage(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Figure 3.1: the share of a hundred minutes in which a satellite is in view, by latitude; and SaVi's map."""
    del seeds
    step = 15.0 if quick else 5.0
    rows: list[Row] = []
    for name in ("Iridium", "of all chapters"):
        found = to.constellation.coverage(PRESETS[name], duration_s=6000.0, step_s=60.0, latitude_step_deg=step)
        columns = found.select("latitude_deg", "covered_share", "in_view_mean").rows()
        rows += [
            {"seed": 0, "name": name, "latitude": latitude, "covered_pct": 100 * share, "in_view": mean}
            for latitude, share, mean in columns
        ]
    return rows + _against_savi()


def delays(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Figure 3.3: the delay of pairs of places over ten minutes, drift and jumps in it, and its extremes over a day."""
    del seeds
    rows: list[Row] = []
    for pair in PAIRS:
        rows += _of_pair(pair, step_s=10.0 if quick else 2.0)
    return rows


def policies(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """The pair of all chapters by how the serving satellites are chosen: its jumps over a day, and its extremes."""
    del seeds, quick
    rows: list[Row] = []
    for policy in POLICIES:
        found = _trace(PAIRS[0], DAY_S, 1.0, policy)
        values = [value for _, value, _ in found if value is not None]
        rows.append({"seed": 0, "policy": policy, "least_ms": min(values), "most_ms": max(values)})
        rows += [{"seed": 0, "policy": policy, "jump_ms": abs(jump)} for jump in _jumps(found)]
    return rows


def _places(frame: Any, at: float) -> list[tuple[float, ...]]:
    return [row[1:] for row in frame.select("time_s", "x_m", "y_m", "z_m").rows() if row[0] == at]


def _travelled_m(before: tuple[float, ...], after: tuple[float, ...]) -> float:
    """How far a satellite came in a second, seen from the stars: the axes themselves turned with the Earth."""
    (x, y, z), turn = after, EARTH_RAD_S
    turned = (x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn), z)
    return math.dist(before, turned)


def _against_savi() -> list[Row]:
    """Points of SaVi's map by whether as many satellites are in view; else, whether one is a degree from the mask."""
    rows: list[Row] = []
    line_number, at, places = 0, 0.0, []
    for line in SAVI.read_text(encoding="utf-8").splitlines():
        if line.startswith("# after"):
            line_number, at = 0, float(line.split()[2])
            places = _places(to.constellation.positions("iridium-66", start_s=at, duration_s=1.0, step_s=1.0), at)
        elif not line.startswith("#"):
            counts = {"same": 0, "near": 0, "other": 0}
            for column, digit in enumerate(line):
                if digit != "?":
                    counts[_compare(90.0 - 5 * line_number, -177.75 + 5 * column, places, int(digit))] += 1
            rows.append({"seed": 0, "name": "SaVi", "at_s": at, **counts})
            line_number += 1
    return rows


def _compare(latitude: float, longitude: float, places: Sequence[tuple[float, ...]], savi: int) -> str:
    lat, lon = math.radians(latitude), math.radians(longitude)
    up = (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
    elevations = []
    for place in places:
        way = [a - EARTH_M * b for a, b in zip(place, up, strict=True)]
        elevations.append(math.degrees(math.asin(sum(a * b for a, b in zip(way, up, strict=True)) / math.hypot(*way))))
    # SaVi's map has seven colours.
    if min(sum(elevation >= MASK_DEG for elevation in elevations), 7) == savi:
        return "same"
    return "near" if any(abs(elevation - MASK_DEG) < 1.0 for elevation in elevations) else "other"


Sample = tuple[float, float | None, str | None]
"""Time in seconds, delay in milliseconds (None in an outage), and what changed since the sample before."""


def _of_pair(pair: tuple[str, str], *, step_s: float) -> list[Row]:
    head = {"seed": 0, "pair": " to ".join(pair)}
    short, day = _trace(pair, TEN_MINUTES_S, 0.1), _trace(pair, DAY_S, 1.0)
    values = [value for _, value, _ in short if value is not None]
    of_day = [value for _, value, _ in day if value is not None]
    figures = {
        "least_ms": min(values),
        "mean_ms": statistics.mean(values),
        "most_ms": max(values),
        "least_of_day_ms": min(of_day),
        "most_of_day_ms": max(of_day),
        "linear_share": _linear_share(short),
    }
    every = round(step_s / 0.1)
    curve = [{**head, "time": time, "delay_ms": value} for time, value, _ in short[::every] if value is not None]
    jumps = [{**head, "jump_ms": abs(jump)} for jump in _jumps(short)]
    return [{**head, **figures}, *curve, *jumps]


def _trace(pair: tuple[str, str], duration_s: float, step_s: float, handover: str | None = None) -> list[Sample]:
    one, other = (PLACES[name] for name in pair)
    found = to.constellation.delay(
        "leo-66", source=one, user=other, duration_s=duration_s, step_s=step_s, handover=handover
    )
    rows = found.select("time_s", "one_way_delay_s", "event").rows()
    return [(time, None if delay is None else 1e3 * delay, event) for time, delay, event in rows]


def _jumps(found: Sequence[Sample]) -> list[float]:
    """What the delay changes by where something changed, in ms, beyond the drift before."""
    slope, jumps = 0.0, []
    for (t0, before, _), (t1, after, event) in itertools.pairwise(found):
        if before is None or after is None:
            continue
        if event:
            jumps.append(after - before - slope * (t1 - t0))
        else:
            slope = (after - before) / (t1 - t0)
    # A change of route where two are equally long is none of the delay.
    return [jump for jump in jumps if abs(jump) >= 0.05]


def _linear_share(found: Sequence[Sample]) -> float:
    """The share of the delay's variance between two changes that a line in time explains, over all such stretches."""
    left = total = 0.0
    stretch: list[tuple[float, float]] = []
    for time, value, event in [*found, (math.inf, None, None)]:
        if event or value is None:
            if len(stretch) > 2:
                times, values = zip(*stretch, strict=True)
                slope, intercept = statistics.linear_regression(times, values)
                mean = statistics.mean(values)
                left += sum((v - slope * t - intercept) ** 2 for t, v in stretch)
                total += sum((v - mean) ** 2 for v in values)
            stretch = []
        if value is not None:
            stretch.append((time, value))
    return 1 - left / total
