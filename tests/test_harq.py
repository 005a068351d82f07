"""The fate of each packet on the last hop, rebuilt from captures by the equations of docs/models/harq.md."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import transorbit as to
from transorbit.packets import read

if TYPE_CHECKING:
    from collections.abc import Callable

# A packet has 1,600 bits, a transmission 3,200 coded bits, and the codeword ends with the third.
DATA, CODED = 1600, 3200
# Seconds. No repetition meets another burst: packets are sent every 20 ms.
BURST, DELAY, FEEDBACK = 0.32e-3, 10e-3, 3.3e-3
# The run is as long as its trace.
ROWS, ROW = 80, 0.1
SNR_DB = 8.0
MOST = 4

LAB = """
[path]
kind  = "fixed"
delay = "20 ms"

[channel]
kind = "trace"
file = "fades.csv"

[last_hop]
rate       = "10 Mbit/s"
reordering = { enabled = false }

[[flows]]
transport = "udp"

[flows.traffic]
kind = "game"
down = { interval = "20 ms", interval_scale = "0 s", size = "172 B", size_scale = "0 B" }

[record]
packets = "pcapng"
"""


@cache
def information(gamma: float) -> float:
    """Mutual information of a coded bit of QPSK at this Es/N0, from the law of its log-likelihood ratio."""
    normal, weights = np.polynomial.hermite_e.hermegauss(120)
    ratios = 2 * gamma + 2 * math.sqrt(gamma) * normal
    return float(1 - weights @ np.logaddexp(0, -ratios) / math.log(2) / weights.sum())


# What the receiver has after transmissions that met these Es/N0: numbers of different bits, and the Es/N0 of each.
Received = list[tuple[int, float]]
KINDS: dict[str, Callable[[list[float]], Received]] = {
    "selective-repeat": lambda gammas: [(CODED, gammas[-1])],
    "chase": lambda gammas: [(CODED, sum(gammas))],
    "incremental-redundancy": lambda gammas: [(CODED, sum(gammas[first::3])) for first in range(min(len(gammas), 3))],
    "self-decodable": lambda gammas: [(DATA, sum(gammas)), *((CODED - DATA, gamma) for gamma in gammas)],
}
THRESHOLDS: dict[float | str, Callable[[int], float]] = {
    1.1: lambda _bits: 1.1,
    "code": lambda bits: 1.22 - 0.20 * DATA / bits,
}


def is_decoded(received: Received, threshold: Callable[[int], float]) -> bool:
    """Whether the best of these bits are enough."""
    bits, got = 0, 0.0
    for number, gamma in sorted(received, key=lambda part: part[1], reverse=True):
        bits, got = bits + number, got + number * information(gamma)
        if got >= threshold(bits) * DATA:
            return True
    return False


def run(kind: str, threshold: float | str, fades: list[float]) -> to.Result:
    """A scheme over these fades in dB, each of which lasts a row."""
    rows = "".join(f"{index * ROW},{fade}\n" for index, fade in enumerate(fades))
    harq = {
        "kind": kind,
        "code_rate": DATA / CODED,
        "transmissions": MOST,
        "threshold": threshold,
        "feedback": {"delay": f"{FEEDBACK} s"},
    }
    changes = {
        "duration": f"{ROWS * ROW} s",
        "channel.reference_snr": f"{SNR_DB} dB",
        "last_hop.delay": f"{DELAY} s",
        "last_hop.harq": harq,
    }
    return to.Scenario.from_toml(LAB, files={"fades.csv": rows.encode()}).replace(changes).run()


def updates(result: to.Result, place: str) -> dict[int, float]:
    """When each packet to the user passed there."""
    rows = read(result.captures[place]).filter(pl.col("payload_bytes") == DATA // 8 - 28).to_dicts()
    return {row["identification"]: row["time_s"] for row in rows}


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_packet_is_decoded_when_the_equations_say(kind: str, threshold: float | str) -> None:
    random = Random(f"{kind} {threshold}")
    fades = [round(random.uniform(0, 18), 3) for _ in range(ROWS)]
    result = run(kind, threshold, fades)
    sent, came = (updates(result, place) for place in ("satellite", "receiver"))
    after: Counter[int] = Counter()
    for packet, at in sent.items():
        starts = [at + number * (BURST + DELAY + FEEDBACK) for number in range(MOST)]
        gammas = [10 ** ((SNR_DB - fades[int(start / ROW) % ROWS]) / 10) for start in starts]
        decoded = (n for n in range(1, MOST + 1) if is_decoded(KINDS[kind](gammas[:n]), THRESHOLDS[threshold]))
        last = next(decoded, 0)
        if starts[last - 1] + BURST + DELAY > ROWS * ROW:
            continue  # its fate is not known at the end
        after[last] += 1
        assert (packet in came) == bool(last)
        if last:
            assert came[packet] == pytest.approx(starts[last - 1] + BURST + DELAY, abs=1e-6)
    harq = result.summary["last_hop"]["harq"]
    assert [*harq["decoded_after"], harq["failed"]] == [*(after[n] for n in range(1, MOST + 1)), after[0]]
    assert min(after[0], after[1], after[2] + after[3] + after[4]) > 10
