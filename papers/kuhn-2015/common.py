"""What the sections share: the scenarios, the metrics of a run, how much is run, and the looks of methods."""

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import transorbit as to
from transorbit.plots import style

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import study
from study import ROOT, Effort, Row, average, cell, effort, mean, panels, point, sweep, table

__all__ = [
    "HERE",
    "IN_STEP",
    "LOOK",
    "NAMES",
    "PAYLOAD",
    "ROOT",
    "SPREAD",
    "THREE",
    "TWENTY",
    "UP",
    "Effort",
    "Method",
    "Row",
    "average",
    "cell",
    "effort",
    "interval",
    "mean",
    "median",
    "packets_in",
    "panels",
    "percentile",
    "point",
    "probes",
    "published",
    "scenario",
    "sessions",
    "short",
    "sweep",
    "switch",
    "table",
]

HERE = Path(__file__).resolve().parent
Method = str | dict[str, object]

NAMES = {"dedicated": "Dedicated", "crdsa": "CRDSA-3", "musca": "MuSCA-3"}
LOOK = {
    "dedicated": (style.BLUE, "s"),
    "crdsa": (style.RED, "o"),
    "musca": (style.GREEN, "^"),
}
"""Colour and marker of each method, the same in every picture."""

PAYLOAD = {"dedicated": 920, "crdsa": 597, "musca": 594}
"""Useful bits of a slot or packet (table 1)."""

SPREAD: dict[str, object] = {"flows.0.start_spread": "1 s"}
IN_STEP: dict[str, object] = {"flows.0.start_spread": "0 s"}
"""The uploads begin within a second, or at t = 0 all together."""

THREE, TWENTY = "4344 B", "28960 B"
"""What three and 20 segments carry."""


def packets_in(method: str) -> int:
    """Packets of random access, or slots, that a datagram of 1,500 B takes."""
    return math.ceil(1500 * 8 / PAYLOAD[method])


def published(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file of this folder."""
    return study.published(HERE, name)


def scenario(name: str, method: Method, changes: Mapping[str, object] | None = None) -> to.Scenario:
    """A scenario of this project with another method and further changes."""
    fixed = {"access.method": method, "record.series": False}
    return to.Scenario.load(ROOT / "scenarios" / name).replace({**fixed, **(changes or {})})


def switch(random: Method = "crdsa", **policy: object) -> Method:
    """Both methods, and the policy that decides between them."""
    return {"kind": "switch", "random": random, "policy": policy}


UP: dict[str, object] = {
    "direction": "up",
    "transport": {"kind": "tcp", "congestion": "cubic", "profile": "ns2-linux", "mss": "1448 B", "handshake": False},
}
"""What a terminal sends, as in scenarios/dvbrcs2-transfer.toml."""


def short(users: int, sizes: Sequence[str]) -> dict[str, object]:
    """Uploads of so many users, and 20 transfers of each size by others, from 3 s to 11 s."""
    flows: list[dict[str, object]] = [{**UP, "count": users, "start_spread": "1 s", "traffic": "bulk"}]
    flows += [
        {**UP, "count": 20, "start_spread": "8 s", "traffic": {"kind": "bulk", "start": "3 s", "size": size}}
        for size in sizes
    ]
    return {"flows": flows}


def sessions(summary: Mapping[str, Any], users: int) -> Row:
    """Case A: what an upload sent in the mean, in datagrams; losses are a share of what left the terminals."""
    flows = summary["flows"][:users]
    arrived, lost = (statistics.mean(flow[key] for flow in flows) for key in ("received_packets", "lost_collision"))
    return {
        "handed": statistics.mean(flow["sent_packets"] for flow in flows),
        "arrived": arrived,
        "useful": statistics.mean(flow["delivered_bytes"] for flow in flows) / 1448,
        "lost": lost,
        "left": arrived + lost,
        "loss": lost / (arrived + lost) if arrived + lost else math.nan,
        "rto": statistics.mean(flow["rto_events"] for flow in flows),
        "rtt_s": average(flow["rtt_mean_s"] for flow in flows),
        "plr": summary["access"]["plr"] or 0.0,
        "load": 100 * (summary["access"]["normalized_load"] or 0.0),
    }


def probes(summary: Mapping[str, Any], users: int) -> list[Mapping[str, Any]]:
    """The flows after those of the users."""
    flows: list[Mapping[str, Any]] = summary["flows"][users:]
    return flows


def median(values: Sequence[float | None]) -> float:
    """Median, those that never came to an end counted as infinite; NaN of nothing."""
    return percentile(values, 50)


def percentile(values: Sequence[float | None], percent: float) -> float:
    """The smallest value that so many percent do not exceed, those that never came to an end counted as infinite."""
    ordered = sorted(math.inf if value is None else value for value in values)
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1] if ordered else math.nan


def interval(successes: int, trials: int) -> tuple[float, float]:
    """95 % confidence interval of a probability (Wilson)."""
    z, share = 1.96, successes / trials
    centre = share + z * z / (2 * trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return (centre - half) / (1 + z * z / trials), (centre + half) / (1 + z * z / trials)
