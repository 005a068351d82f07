"""One run of many users for the page beyond chapter 6, and its metrics."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pages import ROOT, Effort, Row, average

import transorbit as to

Policy = dict[str, object]

IN_BYTES = "1 bdp/sqrt(n)"
IN_PACKETS = "5.3 bdp/sqrt(n)"
"""Equation 6.5 counted in packets of 210 B, when packets have 1,115 B."""

HEADERS_AND_SPEECH, SPEECH = 210, 182


def run(name: str, changes: Mapping[str, object], much: Effort, seed: int) -> to.Result:
    """One run of a scenario of this project with changes."""
    fixed = {"record.series": False, "duration": much.duration}
    return to.Scenario.load(ROOT / "scenarios" / name).replace({**fixed, **changes}).run(seed=seed)


def voice(users: int, policy: Policy, changes: Mapping[str, object], much: Effort, seed: int) -> Row:
    """One run of `users` calls; losses and late packets are in percent of the packets sent."""
    wanted = {"flows.0.count": users, "last_hop.scheduler": policy, **changes}
    summary = run("voip.toml", wanted, much, seed).summary
    return {**of_calls(summary["flows"], summary["simulated_s"]), **of_link(summary)}


def of_calls(flows: Sequence[Mapping[str, Any]], simulated_s: float) -> Row:
    """The metrics of calls; throughput counts headers, as the thesis' does."""
    sent = sum(flow["sent_packets"] for flow in flows)
    lost = {cause: 100 * sum(flow[f"lost_{cause}"] for flow in flows) / sent for cause in CAUSES}
    return {
        "useful_mbps": sum(f["delivered_bytes"] for f in flows) * 8e-6 / simulated_s * HEADERS_AND_SPEECH / SPEECH,
        "loss_pct": sum(lost.values()),
        **{f"{cause}_pct": share for cause, share in lost.items()},
        "late_pct": 100 * sum(flow["lost_late"] for flow in flows) / sent,
        "delay_ms": 1e3 * average(flow["one_way_delay_mean_s"] for flow in flows),
        "p95_ms": 1e3 * average(flow["one_way_delay_p95_s"] for flow in flows),
        "jitter_ms": 1e3 * average(flow["jitter_s"] for flow in flows),
        "mos": average(flow["mos"] for flow in flows),
        "mos_min": min(flow["mos"] for flow in flows if flow["mos"] is not None),
        "good_pct": 100 * average(float((flow["mos"] or 1) >= 3) for flow in flows),
    }


CAUSES = ("overflow", "timeout", "harq", "early")


def of_link(summary: Mapping[str, Any]) -> Row:
    """What became of packets and coded bits on the last hop; shares of what was decoded are as in table 6.3."""
    harq = summary["last_hop"]["harq"]
    decoded = sum(harq["decoded_after"])
    return {
        "coded_mbps": summary["last_hop"]["coded_bps"] / 1e6,
        "bits_per_packet": harq["bits_per_packet_mean"],
        **{f"retx{i}": 100 * count / decoded for i, count in enumerate(harq["decoded_after"])},
        "drop": 100 * harq["failed"] / (decoded + harq["failed"]),
    }


def of_downloads(flows: Sequence[Mapping[str, Any]]) -> Row:
    """The metrics of TCP flows; goodputs in Mbit/s."""
    goodputs = [flow["goodput_bps"] / 1e6 for flow in flows]
    sent = sum(flow["sent_packets"] for flow in flows)
    return {
        "min": min(goodputs),
        "max": max(goodputs),
        "mean": statistics.mean(goodputs),
        "sd": statistics.pstdev(goodputs),
        "total": sum(goodputs),
        "delay_ms": 1e3 * average(flow["one_way_delay_mean_s"] for flow in flows),
        "rtt_ms": 1e3 * average(flow["rtt_mean_s"] for flow in flows),
        **{name: 100 * sum(flow[key] for flow in flows) / sent for name, key in EVENTS.items()},
    }


EVENTS = {
    "again_pct": "retransmitted_packets",
    "spurious_pct": "spurious_retransmissions",
    "rto_pct": "rto_events",
    "dupack_pct": "dupack_events",
    "overflow_pct": "lost_overflow",
    "timeout_pct": "lost_timeout",
}
