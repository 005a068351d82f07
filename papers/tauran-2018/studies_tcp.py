"""What chapters 4 and 5 of the thesis show of the inside of a run: delays of HARQ, windows, waits at the receiver."""

import itertools
import os
import statistics
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import transorbit as to
from transorbit.packets import read

Row = dict[str, Any]

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "leo-tcp.toml"
DELACK: dict[str, bool | str] = {"off": False, "on": "40 ms"}
WINDOW_PACKETS = 550
"""Half the bandwidth-delay product of the clear path: 50 Mbit/s, 180 ms, packets of 1,000 bytes and their headers."""
PAPER = Path(__file__).with_name("paper.toml")
SETTLED_S = 10.0
"""By then what the first slow start lost is repaired."""


def window_growth(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Figure 5.7: the window over a channel without errors and without HARQ, and how fast it grows."""
    del seeds, quick
    rows: list[Row] = []
    for variant, (delack, delayed) in itertools.product(("newreno", "cubic", "hybla"), DELACK.items()):
        head = {"seed": 0, "variant": variant, "delack": delack}
        # Hybla opens the window within a round trip, which takes a fine look; a second of its losses is enough.
        length, interval, every = ("1 s", "1 ms", 20) if variant == "hybla" else ("60 s", "20 ms", 10)
        samples = _clear(variant, delayed, {"duration": length, "record.interval": interval})
        rows += [{**head, "time": time, "window": window} for time, window, *_ in samples[::every]]
        figures = {"slow_start_s": next(time for time, window, *_ in samples if window >= WINDOW_PACKETS)}
        rows.append({**head, **figures, **(_avoidance(samples) if variant != "hybla" else {})})
    return rows


def waiting(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """Figure 5.11: how long the first packet of a delayed acknowledgment waits for the second."""
    snrs, length = ((7, 13), "300 s") if quick else ((7, 10, 13), "600 s")
    cases = itertools.product((True, False), ("newreno", "cubic"), snrs, seeds, (length,))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda case: _waits_of(*case), cases))


def harq_delays(*, seeds: Sequence[int], quick: bool) -> list[Row]:
    """How long packets take from the satellite to the receiver, without the reordering buffer: calls, 7 and 13 dB."""
    length = "60 s" if quick else "300 s"
    rows: list[Row] = []
    for snr, seed in itertools.product((7, 13), seeds):
        changes = {"channel.reference_snr": f"{snr} dB", "last_hop.reordering.enabled": False, "duration": length}
        flow = {"flows.0.transport": "udp", "flows.0.traffic": {"kind": "voice"}, "record.packets": "pcapng"}
        scenario = to.Scenario.load(SCENARIO).replace({**changes, **flow})
        with tempfile.TemporaryDirectory() as scratch:
            result = scenario.run(seed=seed, scratch=scratch)
            sent, received = (_by_identification(result.captures[place]) for place in ("satellite", "receiver"))
        delays = [1e3 * (received[packet] - sent[packet]) for packet in received]
        # Each step is a transmission more: 20 ms there and back.
        steps = [sum(abs(delay - 10 - 20 * step) <= 2 for delay in delays) for step in range(4)]
        extremes = {"least_ms": min(delays), "most_ms": max(delays)}
        rows.append({"seed": seed, "snr": snr, **extremes, "at_steps_pct": 100 * sum(steps) / len(delays)})
    return rows


def _leo(variant: str, delayed_ack: bool | str, changes: dict[str, Any]) -> to.Scenario:
    transport = {"flows.0.transport.congestion": variant, "flows.0.transport.delayed_ack": delayed_ack}
    return to.Scenario.load(SCENARIO).replace({**transport, **changes})


Sample = tuple[float, float, float | None, float | None]
"""Time in seconds, window and slow start threshold in packets, smoothed round trip in seconds."""


def _clear(variant: str, delayed_ack: bool | str, changes: dict[str, Any]) -> list[Sample]:
    clear = {"channel": {"kind": "clear"}, "last_hop.harq": {"kind": "none"}, "last_hop.reordering.enabled": False}
    series = _leo(variant, delayed_ack, {**clear, **changes}).run(seed=1).series
    return series.select("time_s", "cwnd_packets", "ssthresh_packets", "srtt_s").rows()


def _avoidance(samples: Sequence[Sample]) -> dict[str, float]:
    """Growth in congestion avoidance: the steps upwards of a window above its threshold, and the time they take."""
    packets = seconds = trips = 0.0
    for (t0, before, threshold, _), (t1, after, _, srtt) in itertools.pairwise(samples):
        if t0 < SETTLED_S or threshold is None or srtt is None or before < threshold or after < before:
            continue
        packets, seconds, trips = packets + after - before, seconds + t1 - t0, trips + (t1 - t0) / srtt
    return {"packets_per_second": packets / seconds, "packets_per_round_trip": packets / trips}


def _waits_of(reordering: bool, variant: str, snr: int, seed: int, length: str) -> Row:
    changes = {
        "last_hop.reordering": {"enabled": reordering, "capacity": 125},
        "channel.reference_snr": f"{snr} dB",
        "duration": length,
    }
    common = tomllib.loads(PAPER.read_text(encoding="utf-8"))["settings"]["chapters-4-and-5"]
    scenario = _leo(variant, "40 ms", {**changes, **common, "record.series": False, "record.packets": "pcapng"})
    with tempfile.TemporaryDirectory() as scratch:
        result = scenario.run(seed=seed, scratch=scratch)
        waits, expired = _waits(result.captures["receiver"])
    long = [wait for wait in waits if wait > 0.010]
    # Within 2 ms of one or two steps of 20 ms; the timer ends waits at 40.
    steps = [wait for wait in long if min(abs(wait - 0.020), abs(wait - 0.040)) <= 0.002]
    return {
        "seed": seed,
        "reordering": reordering,
        "variant": variant,
        "snr": snr,
        "longer_than_10_pct": 100 * len(long) / len(waits),
        "steps_pct": 100 * len(steps) / len(long),
        "mean_ms": 1e3 * statistics.mean(waits),
        "alone_pct": 100 * expired / (len(waits) + expired),
    }


def _waits(capture: Path) -> tuple[list[float], int]:
    """Waiting times in seconds, and how many packets waited until the timer expired.

    A pair is two packets that one acknowledgment answers on arrival of the second. Both are in order: what is not, or
    closes a gap, is answered at once and so alone.
    """
    pairs, expired = [], 0
    unanswered: list[float] = []
    for time, payload in read(capture).select("time_s", "payload_bytes").iter_rows():
        if payload:
            unanswered.append(time)
        else:
            if len(unanswered) == 2 and unanswered[1] == time:
                pairs.append(unanswered[1] - unanswered[0])
            elif len(unanswered) == 1 and unanswered[0] < time:
                expired += 1
            unanswered = []
    return pairs, expired


def _by_identification(capture: Path) -> dict[int, float]:
    """When a datagram was there, by the identification in its IP header, which is the same at each place."""
    return dict(read(capture).select("identification", "time_s").rows())
