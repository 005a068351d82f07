"""A small sweep, and what its store has."""

from __future__ import annotations

import itertools
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import pytest

import transorbit as to
from conftest import ROOT
from transorbit.sweep import work

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCENARIOS = ROOT / "scenarios"
# What tells runs of the same content apart.
ORIGIN = ["created", "wall_s", "host"]

RATES = {"name": "rate", "key": "last_hop.rate", "values": ["5 Mbit/s", "20 Mbit/s"]}
TCP = {"name": "tcp", "key": "flows.0.transport.congestion", "values": ["newreno", "cubic"]}


def lab(**changes: Any) -> to.Sweep:
    """A second of a fixed path, so that a run takes milliseconds."""
    table = {"scenario": "lab-fixed.toml", "set": {"duration": "1 s"}, "axes": [RATES], **changes}
    return to.Sweep.from_dict(table, base_dir=SCENARIOS)


def refusal(**changes: Any) -> str:
    with pytest.raises(to.ScenarioError) as error:
        lab(**changes).check()
    return str(error.value)


def axis(**changes: Any) -> str:
    return refusal(axes=[{**RATES, **changes}])


SWEEP = """
title = "A small one"
scenario = "scenarios/leo-tcp.toml"
replications = 15
set = { duration = "5 s" }
[[axes]]
key = "channel.reference_snr"
name = "snr"
values = ["7 dB", "10 dB"]
[metrics]
goodput_mbps = { sql = "sum(goodput_bps) / 1e6", unit = "Mbit/s" }
"""


def keys(store: Path) -> dict[str, str]:
    """What the store has, and when it was computed."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        found = dict(db.execute("SELECT key, created FROM outcomes WHERE status = 'ok'").fetchall())
    db.close()
    return found


def ending_before(most: int) -> Callable[..., bytes]:
    """Runs as they are, of which so many end. The next ends when it is stopped, however late that is."""
    simulate, begun = work._simulate, itertools.count()

    def held(task: work.Task, stop: Callable[[], bool], *others: Any) -> bytes:
        if next(begun) < most:
            return simulate(task, stop, *others)
        while not stop():
            time.sleep(0.001)
        raise work.StoppedError

    return held
