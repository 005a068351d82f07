"""Speed of the core on whole scenarios: CPU time, wall time, peak memory, instructions per delivered packet.

Run with `make bench`. Each scenario runs in a process of its own, so that memory is that of the run alone. Instructions
are counted by valgrind's callgrind where it is installed: they repeat exactly, where seconds do not. Then come
constellations: routes between many stations, and satellites propagated. Writes benches/RESULTS.md; `measure.py sky`
measures constellations alone and keeps the rest of that page.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNNER = ROOT / "target" / "release" / "examples" / "run"

THOUSAND = ["record.series=false", "duration=10 s", "flows.0.count=1000", "last_hop.rate=500 Mbit/s"]
DELACK = "flows.0.transport.delayed_ack=40 ms"
BBR = ["flows.0.transport.congestion=bbr", "flows.0.transport.profile=linux"]
IDLE = ["record.series=false", "duration=1 ms", "flows.0.count=10000", "flows.0.start_spread=1000000 s"]

CALLS = ["flows.0.count=200", "record.series=false"]
DOWNLOADS = ["flows.0.count=100", "record.series=false"]
LARGE_HOP = ["last_hop.rate=5 Gbit/s", "last_hop.harq.processes=100000"]
TEN_THOUSAND = ["flows.0.count=10000", "duration=2 s", "record.series=false", *LARGE_HOP]

UPLOADS = ["flows.0.count=400", "flows.0.start_spread=1 s", "record.series=false"]

# name, scenario, edits, and what is asked of it (CPU seconds; 0 = nothing)
CASES = [
    ("100 CUBIC flows, 50 Mbit/s, 100 s", "bottleneck-100.toml", ["record.series=false"], 0.15),
    ("the same, with series", "bottleneck-100.toml", [], 0),
    ("LEO, LMS channel, Adaptive-HARQ, 600 s", "leo-tcp.toml", [], 0.5),
    ("the same, 6000 s", "leo-tcp.toml", ["duration=6000 s"], 0),
    ("one flow on a clear 50 Mbit/s link, 60 s", "lab-fixed.toml", ["record.series=false"], 0),
    ("1,000 CUBIC flows, 500 Mbit/s, 10 s", "bottleneck-100.toml", THOUSAND, 0),
    ("the same, `linux` profile", "bottleneck-100.toml", [*THOUSAND, "flows.0.transport.profile=linux"], 0),
    (
        "the same, `linux`, 40 ms DelAck",
        "bottleneck-100.toml",
        [*THOUSAND, "flows.0.transport.profile=linux", DELACK],
        0,
    ),
    ("100 BBR flows, 50 Mbit/s, 20 s", "bottleneck-100.toml", [*BBR, "record.series=false", "duration=20 s"], 0),
    ("10,000 flows that have not begun", "bottleneck-100.toml", IDLE, 0),
    ("200 calls, PF, Adaptive-HARQ, 100 s", "voip.toml", CALLS, 0.5),
    ("the same, with series", "voip.toml", ["flows.0.count=200"], 0),
    ("100 CUBIC users, PF, Adaptive-HARQ, reordering, 100 s", "tcp-users.toml", DOWNLOADS, 0.6),
    ("10,000 CUBIC users, 5 Gbit/s, PF, Adaptive-HARQ, 2 s", "tcp-users.toml", TEN_THOUSAND, 0),
    ("10,000 calls, 5 Gbit/s, PF, Adaptive-HARQ, 2 s", "voip.toml", TEN_THOUSAND, 0),
    ("400 uploads, DVB-RCS2, MuSCA-3, 20 s", "dvbrcs2-transfer.toml", [*UPLOADS, "access.method=musca"], 1),
    ("the same, CRDSA-3", "dvbrcs2-transfer.toml", UPLOADS, 1),
    ("the same, dedicated", "dvbrcs2-transfer.toml", [*UPLOADS, "access.method=dedicated"], 1),
    ("2,000 web requests, DVB-RCS2, CRDSA-3, 20 s", "dvbrcs2-web.toml", [], 0),
]
RUNS = 15


@dataclass
class Measured:
    """What one process used."""

    cpu_s: float
    wall_s: float
    peak_mib: float
    packets: int


def run(scenario: str, edits: list[str]) -> Measured:
    """Run once and ask the operating system what it took."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen([RUNNER, ROOT / "scenarios" / scenario, *edits], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"{scenario} failed")
        output.seek(0)
        summary = json.load(output)
    packets = sum(flow["received_packets"] for flow in summary["flows"])
    return Measured(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, packets)


def instructions(scenario: str, edits: list[str]) -> int | None:
    """Instructions of one run, or None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", RUNNER, ROOT / "scenarios" / scenario]
    result = subprocess.run([*command, *edits], capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    return int(collected[1]) if collected else None


def scenarios() -> list[str]:
    """Measure every scenario: the lines of the table."""
    build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "transorbit-sim", "--example", "run"]
    subprocess.run(build, check=True, cwd=ROOT)
    lines = [
        "# Speed of the core",
        "",
        f"`make bench`: the median of {RUNS} runs of each scenario, the smallest in brackets, on one core of a virtual",
        "machine that shares its processor with others: seconds vary by a third within hours, instructions do not.",
        "In small runs the memory is that of the process which starts them.",
        "",
        "| scenario | CPU s | asked | wall s | peak MiB | delivered packets | instructions per packet |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    # In rounds, so that a slow spell of the machine does not fall on one scenario alone.
    rounds = [[run(scenario, edits) for _, scenario, edits, _ in CASES] for _ in range(RUNS)]
    for (name, scenario, edits, asked), runs in zip(CASES, zip(*rounds, strict=True), strict=True):
        cpu = sorted(r.cpu_s for r in runs)
        packets = runs[0].packets
        counted = instructions(scenario, edits)
        per_packet = "no valgrind" if counted is None else f"{counted / packets:,.0f}" if packets else ""
        lines.append(
            f"| {name} | {statistics.median(cpu):.3f} ({cpu[0]:.3f}) | {asked or ''} "
            f"| {statistics.median(r.wall_s for r in runs):.3f} | {max(r.peak_mib for r in runs):.1f} "
            f"| {packets:,} | {per_packet} |"
        )
        print(lines[-1], flush=True)
    return lines


STATIONS = 100
ROUTE_RUNS = 3
# name, further options, and the wall seconds asked of it on two cores (0 = nothing)
ROUTES = [
    ("1,584 satellites, 100 stations, all pairs every 100 ms for 200 s", [], 60),
    ("the same, with the next hops of all nodes", ["--forwarding"], 60),
    ("the same for 20 s", ["--duration", "20 s"], 0),
]
# Nanoseconds asked for each of 10,000 satellites.
PROPAGATION = {"Walker, two bodies": 100, "Walker, J2": 100}


def sky() -> list[str]:
    """Measure constellations: the lines of two tables."""
    lines = [
        SKY,
        "",
        f"`transorbit constellation routes starlink-shell-1` with {STATIONS} stations spread over the latitudes that",
        f"it covers, as many threads as processors ({os.cpu_count()}), into Parquet; start-up of Python included. The",
        f"median of {ROUTE_RUNS} runs on a machine that other work shares.",
        "",
        "| routes | wall s | asked | CPU s | peak MiB | folder MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, options, asked in ROUTES:
        runs = [routes(options) for _ in range(ROUTE_RUNS)]
        wall, cpu, peak, size = (statistics.median(values) for values in zip(*runs, strict=True))
        lines.append(f"| {name} | {wall:.1f} | {asked or ''} | {cpu:.1f} | {peak:.0f} | {size:.0f} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        "`cargo bench -p transorbit-orbit --bench propagation`: 10,000 satellites on one core, best of 30.",
        "",
        "| orbits | ns for each satellite | asked |",
        "| --- | --- | --- |",
    ]
    bench = ["cargo", "bench", "--locked", "--quiet", "-p", "transorbit-orbit", "--bench", "propagation"]
    output = subprocess.run(bench, check=True, cwd=ROOT, capture_output=True, text=True).stdout
    for name, nanoseconds in re.findall(r"^(.+?) +([0-9.]+) ns for each satellite$", output, re.MULTILINE):
        lines.append(f"| {name} | {nanoseconds} | {PROPAGATION.get(name, '')} |")
        print(lines[-1], flush=True)
    return lines


def routes(options: list[str]) -> tuple[float, float, float, float]:
    """Wall and CPU seconds, peak MiB and MB of the folder of one search for routes."""
    rows = [f"{i},{-50 + 100 * (i + 0.5) / STATIONS},{(i * 137.507764 + 180) % 360 - 180}" for i in range(STATIONS)]
    with tempfile.TemporaryDirectory() as folder:
        stations, out = Path(folder) / "stations.csv", Path(folder) / "routes"
        stations.write_text("\n".join(["name,latitude_deg,longitude_deg", *rows]) + "\n")
        program = [sys.executable, "-c", "import sys; from transorbit.cli import main; main(sys.argv[1:])"]
        command = ["constellation", "routes", "starlink-shell-1", "--stations", stations, "--out", out, "--quiet"]
        start = time.perf_counter()
        process = subprocess.Popen([*program, *command, *options])
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            sys.exit("routes failed")
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, size / 1e6


SKY = "## Constellations"


def main() -> None:
    """Measure, and write the page."""
    page = ROOT / "benches" / "RESULTS.md"
    kept, _, _ = page.read_text().partition(SKY)
    first = kept.rstrip().splitlines() if sys.argv[1:] == ["sky"] else scenarios()
    page.write_text("\n".join([*first, "", *sky()]) + "\n")


if __name__ == "__main__":
    main()
