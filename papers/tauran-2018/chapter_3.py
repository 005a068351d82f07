"""Chapter 3 of the thesis: table 3.1, figures 3.1 and 3.3, beside our constellations and their delays.

Run with `make validation`. Writes docs/validation/constellations.md and its pictures; nothing in it is drawn at random.
"""

import itertools
import math
import statistics
import sys
from pathlib import Path

import polars as pl

import transorbit as to
from transorbit import plots
from transorbit.plots import style

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from study import ROOT, Effort, effort, panels, table

EARTH_M = 6_378_137.0
MINUTES = 600.0
DAY = 86_400.0
# Between the thesis' "few milliseconds" and its "sudden large delay variation".
LARGE_MS = 5.0

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

# Table 3.1: name, satellites, altitude in km; and our preset.
PUBLISHED = [
    ("Iridium", 66, 850, "iridium-66"),
    ("Iridium NEXT", 66, 780, "iridium-next"),
    ("OneWeb", 720, 1228, "oneweb"),
    ("ORBCOMM OG2", 18, 750, "orbcomm-og2"),
]
WHY = {
    "Iridium": "780 km in ns-2 and SaVi; the constellation of all chapters, `leo-66`, is at 800 km",
    "Iridium NEXT": "",
    "OneWeb": "1200 km in SaVi",
    "ORBCOMM OG2": "",
}


INTRODUCTION = """\
# Constellations, beside chapter 3 of the thesis and SaVi

Tauran (2018) shows in chapter 3 what a constellation does to delays: table 3.1 lists some, figure 3.1 is SaVi's map of
Iridium, figure 3.3 the delay between several pairs of places. `make validation` makes this page again.

## Table 3.1
"""

MAP = """\
## Figure 3.1

Satellites and footprints of Iridium at its reference instant, with the mask of 8.2 deg, as in figure 3.1:

![Map of Iridium](../images/iridium-coverage.png)

SaVi (L. Wood, P. Worfolk et al., [savi.sf.net](http://savi.sf.net/)) drew figure 3.1, and the thesis took its orbits
from it. SaVi 1.5.1 has drawn that map for us from its own script of Iridium, orbits without J2: how many satellites
cover a point. On a grid of 5 deg, at the reference instant and half an hour later, as many of ours are above the same
mask. Where not, one of them is within a degree of the mask: SaVi's map has pixels of half a degree. A test holds it so.
"""

CURVES = f"""\
## Figure 3.3

Figure 3.3 shows the delay of several pairs of places, which it does not name, over 66 satellites at 800 km: between 70
and 100 ms (section 4.2.1; 70 to 90 ms in section 3.2.3), with three patterns: a linear drift, small jumps of a few
milliseconds where a hop goes to another satellite, and rare large jumps where the whole route changes.

![Delays of several pairs](../images/constellation-delays.png)

Ours, over `leo-66` with the default handover, in ms; ten minutes are sampled every 100 ms, a day every second. A jump
is what the delay changes by at a handover or a change of route, beyond its drift; from {LARGE_MS:g} ms on it is large:
"""

VERDICT = """\
All three patterns are there. In the ten minutes the pairs half a world apart are within the band; over a day they leave
it for moments, by a few milliseconds. A near pair, Toulouse and New York, is mostly below it: those of figure 3.3 must
be far apart.

Large jumps are not as unlikely as the thesis says where an end keeps its satellite until that sets, for the next one
may be in another plane. They come from there and not from the routes: where every packet takes the shortest way over
whichever satellites are in view, the same ten minutes have none. The pair of all chapters, by handover policy:
"""


def main() -> None:
    """Compute everything, draw, and write the page."""
    much = effort(__doc__, "an hour in place of a day")
    lines = [*INTRODUCTION.splitlines(), "", *constellations(), *coverage(much), *delays(much)]
    much.write("constellations.md", lines, "tauran-2018/chapter_3.py")


def constellations() -> list[str]:
    """Table 3.1."""
    rows = []
    for name, satellites, altitude, preset in PUBLISHED:
        count, height = geometry(preset)
        rows.append([name, satellites, altitude, f"`{preset}`", count, f"{height:.0f}", WHY[name]])
    header = ["table 3.1", "satellites", "altitude, km", "ours", "satellites", "altitude, km", "why"]
    return table(header, rows)


def geometry(preset: str) -> tuple[int, float]:
    """Number of satellites, and their altitude in km."""
    places = to.constellation.positions(preset, duration_s=1.0, step_s=1.0).filter(pl.col("time_s") == 0.0)
    radii = [math.hypot(*place) for place in places.select("x_m", "y_m", "z_m").rows()]
    return len(radii), (statistics.mean(radii) - EARTH_M) / 1e3


def coverage(much: Effort) -> list[str]:
    """Figure 3.1, and SaVi's map point by point."""
    chart = to.constellation.world("iridium-66")
    much.save(
        plots.world(chart, title="Iridium: satellites and where they are seen", links=False), "iridium-coverage.png"
    )
    rows = []
    for at, (same, near, differ) in against_savi().items():
        rows.append([f"{at:g} s", same + near + differ, same, near, differ])
    header = ["instant", "points", "as many satellites", "others within 1 deg of the mask", "others"]
    found = to.constellation.coverage("iridium-66", duration_s=6000.0, step_s=60.0, latitude_step_deg=15.0)
    share = f"{100 * float(found['covered_share'].min()):.1f}"
    return [
        *MAP.splitlines(),
        "",
        *table(header, rows),
        f"At the worst of 13 latitudes a satellite is in view for {share} % of a hundred minutes",
        '(`transorbit constellation coverage iridium-66 --latitude-step "15 deg"`): global, as section 3.2.2 says.',
        "",
    ]


def against_savi() -> dict[float, tuple[int, int, int]]:
    """Points of SaVi's map where as many satellites are in view: equal, not so near the mask, and not so elsewhere."""
    found: dict[float, tuple[int, int, int]] = {}
    text = (ROOT / "tests" / "fixtures" / "savi-iridium-66.txt").read_text()
    row, at, places = 0, 0.0, []
    for line in text.splitlines():
        if line.startswith("# after"):
            row, at = 0, float(line.split()[2])
            positions = to.constellation.positions("iridium-66", start_s=at, duration_s=1.0, step_s=1.0)
            places = positions.filter(pl.col("time_s") == at).select("x_m", "y_m", "z_m").rows()
            found[at] = (0, 0, 0)
        elif not line.startswith("#"):
            for column, digit in enumerate(line):
                if digit != "?":
                    kind = compare(90.0 - 5 * row, -177.75 + 5 * column, places, int(digit))
                    counts = list(found[at])
                    counts[kind] += 1
                    found[at] = (counts[0], counts[1], counts[2])
            row += 1
    return found


def compare(latitude: float, longitude: float, places: list[tuple[float, ...]], savi: int) -> int:
    """0 if as many satellites are above the mask on a spherical Earth, 1 if one is within a degree of it, else 2."""
    lat, lon = math.radians(latitude), math.radians(longitude)
    up = (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
    elevations = []
    for place in places:
        way = [a - EARTH_M * b for a, b in zip(place, up, strict=True)]
        elevations.append(math.degrees(math.asin(sum(a * b for a, b in zip(way, up, strict=True)) / math.hypot(*way))))
    if min(sum(elevation >= 8.2 for elevation in elevations), 7) == savi:
        return 0
    return 1 if any(abs(elevation - 8.2) < 1.0 for elevation in elevations) else 2


def delays(much: Effort) -> list[str]:
    """Figure 3.3: the delays of several pairs, their drift and their jumps."""
    length = 3600.0 if much.quick else DAY
    short = {pair: trace(*pair, MINUTES, 0.1) for pair in PAIRS}
    rows = []
    for pair in PAIRS:
        drift, small, large = changes(short[pair])
        long = trace(*pair, length, 1.0)["one_way_delay_s"] * 1e3
        ten = short[pair]["one_way_delay_s"] * 1e3
        rows.append([" to ".join(pair), *spread(ten), *spread(long), f"{drift:.3f}", told(small), told(large)])
    draw(short, much)
    header = [
        *("pair", "ten minutes: least", "mean", "most", "a day: least", "mean", "most"),
        *("fastest drift, ms/s", "small jumps, ms", "large jumps, ms"),
    ]
    return [*CURVES.splitlines(), "", *table(header, rows), *VERDICT.splitlines(), "", *policies()]


def policies() -> list[str]:
    """The pair of all chapters with each way to choose the serving satellites."""
    rows = []
    for policy in POLICIES:
        found = trace(*PAIRS[0], MINUTES, 0.1, policy)
        drift, small, large = changes(found)
        rows.append([f"`{policy}`", *spread(found["one_way_delay_s"] * 1e3), f"{drift:.3f}", told(small), told(large)])
    header = ["handover", "least, ms", "mean", "most", "fastest drift, ms/s", "small jumps, ms", "large jumps, ms"]
    return table(header, rows)


def trace(one: str, other: str, duration_s: float, step_s: float, handover: str | None = None) -> pl.DataFrame:
    """The delay of a pair over `leo-66`."""
    return to.constellation.delay(
        "leo-66", source=PLACES[one], user=PLACES[other], duration_s=duration_s, step_s=step_s, handover=handover
    )


def spread(values: pl.Series) -> list[str]:
    """Least, mean and most."""
    return [f"{value:.1f}" for value in (values.min(), values.mean(), values.max())]


def changes(found: pl.DataFrame) -> tuple[float, list[float], list[float]]:
    """The fastest drift in ms/s, and the small and the large jumps in ms."""
    times, values, events = (found[name].to_list() for name in ("time_s", "one_way_delay_s", "event"))
    drift, before, jumps = 0.0, 0.0, []
    for i, j in itertools.pairwise(range(len(times))):
        if values[i] is None or values[j] is None:
            continue
        step = 1e3 * (values[j] - values[i])
        slope = step / (times[j] - times[i])
        if events[j]:
            jumps.append(step - before * (times[j] - times[i]))
        else:
            drift, before = max(drift, abs(slope)), slope
    # A change of route where two are equally long is none of the delay.
    jumps = [jump for jump in jumps if abs(jump) >= 0.05]
    return drift, [j for j in jumps if abs(j) < LARGE_MS], [j for j in jumps if abs(j) >= LARGE_MS]


def told(jumps: list[float]) -> str:
    """How many, and from the least to the greatest size."""
    if not jumps:
        return "none"
    sizes = sorted(abs(jump) for jump in jumps)
    return f"{len(jumps)} of {sizes[0]:.1f}" + (f" to {sizes[-1]:.1f}" if len(jumps) > 1 else "")


def draw(short: dict[tuple[str, str], pl.DataFrame], much: Effort) -> None:
    """The pairs over ten minutes."""
    with panels(1, 1, 3.4) as (figure, [axes]):
        for i, (pair, found) in enumerate(short.items()):
            axes.plot(
                found["time_s"], found["one_way_delay_s"] * 1e3, color=style.CYCLE[i % len(style.CYCLE)],
                label=" to ".join(pair),
            )  # fmt: skip
        axes.axhspan(70, 100, color=style.GREY, alpha=0.15, linewidth=0)
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Delay (ms)")
        axes.set_xlim(0, MINUTES)
        style.above(axes, columns=3)
    much.save(figure, "constellation-delays.png")


if __name__ == "__main__":
    main()
