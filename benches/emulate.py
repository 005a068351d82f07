"""How much an emulation carries, how late it is, and what the core costs: measured beside what is asked.

`python benches/emulate.py` takes some two minutes, `--minutes 10` holds 90 % load for so long. It writes
benches/EMULATE.md. It needs Linux and iperf3, and a machine with nothing else to do: what else runs makes packets late.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transorbit as to
from transorbit import emulation
from transorbit.emulation._session import _log as log_of
from transorbit.scenario import Started

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "benches" / "EMULATE.md"

FAST = ["last_hop.rate=600 Mbit/s", "path.delay=4 ms", "last_hop.delay=1 ms", "last_hop.scheduler.buffer=2 bdp"]
# Clear and at twice the rate: what is asked is the world's work with satellites, HARQ and reordering at this rate.
LEO = [
    "duration=60 s",
    "channel={ kind = 'clear' }",
    "last_hop.rate=400 Mbit/s",
    "last_hop.harq.processes=20000",
    "last_hop.reordering.capacity=20000",
]
STEADY = ["last_hop.rate=200 Mbit/s", "path.delay=4 ms", "last_hop.delay=1 ms", "last_hop.scheduler.buffer=2 bdp"]


@dataclass(frozen=True)
class Measured:
    """What a session gave."""

    goodput: float
    result: to.Result
    replay_s: float

    @property
    def clock(self) -> dict[str, Any]:
        """What was measured against the clock."""
        clock: dict[str, Any] = self.result.summary["emulation"]
        return clock

    @property
    def core_us(self) -> float:
        """CPU time of the core for each packet that entered, from a replay of the same packets."""
        return self.replay_s / sum(self.clock["entered"]) * 1e6


def session(scenario: str, edits: list[str], seconds: float, arguments: list[str]) -> Measured:
    """iperf3 from the server to the user; its goodput in Mbit/s."""
    quiet = ["record.series=false", f"duration={seconds + 20} s", *edits]
    ready = to.Scenario.load(ROOT / "scenarios" / scenario).set(*quiet)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "iperf.json"
        client = f"iperf3 -c server -R -t {seconds:g} -J {' '.join(arguments)} > {out}"
        done = emulation.emulate(ready, ["sh", "-c", client], server="iperf3 -s -1 > /dev/null", spin_s=1.0)
        if done.code:
            sys.exit(f"iperf3 failed: {out.read_text()}")
        report = json.loads(out.read_text())
        if "error" in report:
            sys.exit(f"iperf3 failed: {report['error']}")
        end = report["end"]
        took = replay(done.result, Path(folder) / "result")
    total = end["sum_received"] if "sum_received" in end else end["sum"]
    return Measured(total["bits_per_second"] / 1e6, done.result, took)


def replay(result: to.Result, folder: Path) -> float:
    """CPU seconds of the core for the packets of a session, in virtual time."""
    result.save(folder, plots=False)
    if emulation.replay(folder).summary["digest"] != result.summary["digest"]:
        sys.exit("the replay has another digest")
    assert result.offers is not None
    log = log_of(result.offers)
    simulation = Started(to.Scenario.load(folder / "scenario.toml")).simulation
    start = time.process_time()
    simulation.replay(log)
    return time.process_time() - start


def rows(seconds: float, minutes: float) -> list[tuple[str, str, str]]:
    """Name, measured, asked."""
    fixed = session("lab-fixed.toml", FAST, seconds, [])
    leo = session("leo-tcp.toml", LEO, seconds, ["-O", "4"])
    steady = session("lab-fixed.toml", STEADY, minutes * 60, ["-u", "-b", "180M", "-l", "1400"])
    idle = session("lab-fixed.toml", STEADY, seconds, ["-u", "-b", "10M", "-l", "1400"])
    late = idle.clock
    hop = steady.result.summary["last_hop"]
    carried = hop["delivered_packets"] / sum(steady.clock["entered"][:1])
    return [
        ("TCP over a fixed path of 600 Mbit/s, 10 ms: goodput", f"{fixed.goodput:.0f} Mbit/s", "500 Mbit/s"),
        (
            "TCP over `leo-tcp` with a clear last hop of 400 Mbit/s of coded bits",
            f"{leo.goodput:.0f} Mbit/s",
            "100 Mbit/s",
        ),
        ("lateness of datagrams at 10 Mbit/s, median", f"{late['late_median_s'] * 1e6:.1f} µs", "5 µs"),
        ("the same, 99 %", f"{late['late_p99_s'] * 1e6:.0f} µs", "200 µs"),
        ("core, for each packet over the fixed path", f"{fixed.core_us:.2f} µs", "0.7 µs"),
        ("core, for each packet of `leo-tcp`", f"{leo.core_us:.2f} µs", ""),
        (f"datagrams of 180 Mbit/s over 200 Mbit/s for {minutes:g} min: delivered", f"{carried:.2%}", "100 %"),
        ("the same: what iperf3 took from its socket", f"{steady.goodput:.1f} Mbit/s", ""),
        ("the same: lateness, median", f"{steady.clock['late_median_s'] * 1e6:.0f} µs", "no drift"),
        ("the same: lateness, most", f"{steady.clock['late_max_s'] * 1e3:.1f} ms", "no drift"),
        ("the same: packets that found no room at a device", str(steady.clock["unread"]), "0"),
    ]


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each short session")
    parser.add_argument("--minutes", type=float, default=1, help="at 90 %% load")
    asked = parser.parse_args()
    if not shutil.which("iperf3"):
        sys.exit("benches/emulate.py: needs iperf3 (Debian: iperf3)")
    before = os.getloadavg()[0]
    table = rows(asked.seconds, asked.minutes)
    lines = [
        "# What an emulation carries",
        "",
        f"`python benches/emulate.py` on a virtual machine of {os.cpu_count()} cores, which both ends of iperf3 share",
        f"with the emulation. {before:.0f} other processes wanted to run when it began: lateness is theirs, too.",
        "Lateness is from the instant when a packet is due to when it is handed to the device, with `--spin 1 s`. The",
        "core's cost is the CPU time of a replay of the same packets.",
        "",
        "| what | measured | asked |",
        "| --- | --- | --- |",
        *(f"| {' | '.join(row)} |" for row in table),
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
