"""TCP of the kernel through `transorbit emulate` beside our own TCP over the same scenario in virtual time: goodput.

Run with `make emulation-validation`; it needs Linux, iperf3 and a machine with little else to do. Six cells: CUBIC,
Reno and BBR over the lab path with two buffers. Goodput is payload at the receiver, as iperf3 and the run's summary
tell it. Writes goodput.csv and the table of docs/validation/emulation.md; ends with status 1 if a cell is more than
5 % off.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path

import transorbit as to
from transorbit import emulation

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = HERE / "goodput.csv"
PAGE = ROOT / "docs" / "validation" / "emulation.md"
BEGIN, END = "<!-- goodput, written by `make emulation-validation` -->", "<!-- end of goodput -->"

SECONDS = 20
# The kernel's name, and ours for the same algorithm: the kernel's BBR is its first version.
CONTROLLERS = {"cubic": "cubic", "reno": "newreno", "bbr": "bbr"}
BUFFERS = ["0.5 bdp", "1 bdp"]
RATE = 20
MOST = 0.05


def scenario(buffer: str, changes: list[str]) -> to.Scenario:
    """The lab path at 20 Mbit/s with packets of Ethernet."""
    path = [f"last_hop.rate={RATE} Mbit/s", "path.delay=30 ms", f"last_hop.scheduler.buffer={buffer}"]
    return to.Scenario.load(ROOT / "scenarios" / "lab-fixed.toml").set(*path, f"duration={SECONDS + 10} s", *changes)


def cell(kernel: str, own: str, buffer: str) -> dict[str, object]:
    """One algorithm over one buffer: live, and in virtual time."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as report:
        client = f"iperf3 -c server -4 -R -t {SECONDS} -C {kernel} -J > {report.name}"
        live = emulation.emulate(scenario(buffer, []), ["sh", "-c", client], server="iperf3 -s -1")
        said = json.loads(report.read())
    if live.code or "error" in said:
        sys.exit(f"iperf3 failed with {kernel}: is the module tcp_{kernel} there? {said.get('error', '')}")
    measured = said["end"]["sum_received"]["bits_per_second"] / 1e6
    flow = f"flows.0.transport={{ kind = 'tcp', congestion = '{own}', profile = 'linux', mss = '1448 B' }}"
    ours = scenario(buffer, [flow, f"duration={SECONDS} s"]).run()
    simulated = ours.summary["flows"][0]["goodput_bps"] / 1e6
    return {
        "controller": kernel,
        "buffer": buffer,
        "emulated_mbps": round(measured, 2),
        "simulated_mbps": round(simulated, 2),
        "difference_pct": round(100 * (measured / simulated - 1), 1),
        "emulated_losses": live.result.summary["last_hop"]["dropped_overflow"],
        "simulated_losses": ours.summary["last_hop"]["dropped_overflow"],
        "late_p99_ms": round(live.result.summary["emulation"]["late_p99_s"] * 1e3, 2),
    }


def main() -> int:
    """Measure, write and judge."""
    rows = []
    for buffer in BUFFERS:
        for kernel, own in CONTROLLERS.items():
            rows.append(cell(kernel, own, buffer))
            print(rows[-1], flush=True)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [f"| {' | '.join(rows[0])} |", f"| {' | '.join('---' for _ in rows[0])} |"]
    lines += [f"| {' | '.join(map(str, row.values()))} |" for row in rows]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]), encoding="utf-8")
    return int(any(abs(float(str(row["difference_pct"]))) > 100 * MOST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
