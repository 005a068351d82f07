"""Scenarios of the return link with a method, and medians of transfers that may not come to an end."""

import math
from collections.abc import Mapping, Sequence

from pages import ROOT

import transorbit as to

Method = str | dict[str, object]


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


def median(values: Sequence[float | None]) -> float:
    """Median, those that never came to an end counted as infinite; NaN of nothing."""
    return percentile(values, 50)


def percentile(values: Sequence[float | None], percent: float) -> float:
    """The smallest value that so many percent do not exceed, those that never came to an end counted as infinite."""
    ordered = sorted(math.inf if value is None else value for value in values)
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1] if ordered else math.nan
