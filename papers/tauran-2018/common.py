"""What the chapters share: the scenario, its metrics, and what all papers share."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import transorbit as to

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import study
from study import DOCS, ROOT, Row, cell, change, mean, sweep, table

__all__ = [
    "BUFFER",
    "ROOT",
    "SNRS",
    "TRIED",
    "VARIANTS",
    "Row",
    "cell",
    "change",
    "leo",
    "mean",
    "published",
    "row",
    "sweep",
    "table",
    "write",
]

HERE = Path(__file__).resolve().parent
SNRS = range(7, 14)
BUFFER = {False: "without reordering", True: "with the reordering buffer"}
VARIANTS = {
    "newreno": "NewReno",
    "cubic": "CUBIC",
    "hybla": "Hybla",
    "westwood": "Westwood+",
    "bbr": "BBR",
    "bbr3": "BBRv3",
}

TRIED: dict[str, dict[str, object]] = {
    "as it is": {},
    "dupthresh = 4": {"flows.0.transport.dupthresh": 4},
    "fack = false": {"flows.0.transport.fack": False},
    "linux_rtt = false, timer_tick = 0": {
        "flows.0.transport.linux_rtt": False,
        "flows.0.transport.timer_tick": "0 ms",
    },
    "the same, min_rto = 10 ms": {
        "flows.0.transport.linux_rtt": False,
        "flows.0.transport.timer_tick": "0 ms",
        "flows.0.transport.min_rto": "10 ms",
    },
    "timestamps = false": {"flows.0.transport.timestamps": False},
    "prr = false": {"flows.0.transport.prr": False},
    "initial_window = 10": {"flows.0.transport.initial_window": 10},
    'abc = "all"': {"flows.0.transport.abc": "all"},
    "a path that does not move (80 ms)": {"path": {"kind": "fixed", "delay": "80 ms"}},
    'profile = "classic"': {"flows.0.transport.profile": "classic"},
    'profile = "linux"': {"flows.0.transport.profile": "linux"},
}
"""What may explain a difference, each tried on its own."""


def published(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file of this folder."""
    return study.published(HERE, name)


def leo(
    changes: Mapping[str, object] | None = None,
    *,
    reordering: bool,
    variant: str,
    snr: int = 10,
    delayed_ack: bool | str = False,
) -> to.Scenario:
    """The papers' scenario, one TCP flow for 600 s, and further changes."""
    return to.Scenario.load(ROOT / "scenarios" / "leo-tcp.toml").replace(
        {
            "channel.reference_snr": f"{snr} dB",
            "last_hop.reordering.enabled": reordering,
            "flows.0.transport.congestion": variant,
            "flows.0.transport.delayed_ack": delayed_ack,
            "record.series": False,
            **(changes or {}),
        }
    )


def row(result: to.Result) -> Row:
    """The papers' metrics of one run; events are in percent of the packets sent."""
    flow, harq = result.summary["flows"][0], result.summary["last_hop"]["harq"]
    decoded = sum(harq["decoded_after"])
    percent = {name: 100 * flow[key] / flow["sent_packets"] for name, key in EVENTS.items()}
    return {
        "goodput_kbps": flow["goodput_bps"] / 1e3,
        "harq_success_pct": 100 * decoded / (decoded + harq["failed"]),
        "retransmitted": flow["retransmitted_packets"],
        "received": flow["received_packets"],
        "rtt_ms": 1e3 * flow["rtt_mean_s"],
        "delay_p95_ms": 1e3 * flow["one_way_delay_p95_s"],
        "window": flow["cwnd_mean_packets"],
        **percent,
    }


EVENTS = {"rto_pct": "rto_events", "dupack_pct": "dupack_events", "spurious_pct": "spurious_retransmissions"}


def write(name: str, lines: Sequence[str]) -> None:
    """Write a page of tables into docs/validation."""
    path = DOCS / name
    path.write_text("\n".join(["<!-- Written by `make validation`; do not edit. -->", "", *lines]))
    print(f"wrote {path.relative_to(ROOT)}", flush=True)
