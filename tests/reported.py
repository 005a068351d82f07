"""The results that reports are written of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import transorbit as to

if TYPE_CHECKING:
    from pathlib import Path


SWEEP = """
title = "Windows over rates"
scenario = "lab-fixed.toml"
seed = 1
replications = 3
set = { duration = "6 s", "channel" = { kind = "bernoulli", loss = "0.5 %" } }

[[axes]]
name = "rate"
key = "last_hop.rate"
values = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]

[[axes]]
name = "variant"
key = "flows.0.transport.congestion"
values = ["cubic", "newreno", "nonsense"]

[[axes]]
name = "ack"
key = "flows.0.transport.delayed_ack"
values = [true, false]

[metrics]
goodput_mbps = { sql = "sum(goodput_bps) / 1e6", label = "Goodput", unit = "Mbit/s" }
again = { sql = "sum(retransmitted_packets)", label = "Retransmitted packets" }
"""


def save(folder: Path, scenarios: Path) -> None:
    """Results of one flow, of many, of voice, and of a sweep."""
    runs = {
        "one": ("leo-tcp.toml", {"duration": "60 s"}),
        "few": ("lab-fixed.toml", {"duration": "10 s", "flows.0.count": 3}),
        "many": ("tcp-users.toml", {"duration": "15 s"}),
        "return-link": ("geo-dvbrcs2.toml", {"duration": "8 s"}),
        "train": (
            "leo-train.toml",
            {"duration": "20 s", "title": "A <b>train</b> & </script><script>alert(1)</script>"},
        ),
        "silent": ("lab-fixed.toml", {"duration": "3 s", "record.series": False}),
    }
    for name, (scenario, changes) in runs.items():
        to.Scenario.load(scenarios / scenario).replace(changes).run().save(folder / name, plots=False)
    sweep = to.Sweep.from_toml(SWEEP, base_dir=scenarios)
    sweep.run(jobs=2).save(folder / "sweep")
