"""Speed of the core on whole scenarios: instructions per delivered packet, CPU time and peak memory, beside ns-2.

Run with `make bench`. Each scenario runs in a process of its own, so that memory is that of the run alone. Instructions
are counted by valgrind's callgrind where it is installed: they repeat exactly, where seconds do not. ns-2 does the same
work where it is installed (Debian: ns2). Then come very many flows, sweeps, and constellations: routes between many
stations, and satellites propagated. Writes benches/RESULTS.md; `measure.py scenarios`, `crowd`, `sweep` and `sky`
measure one part each and keep the rest of that page.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import sweep

ROOT = Path(__file__).resolve().parent.parent
RUNNER = ROOT / "target" / "release" / "examples" / "run"

QUIET = "record.series=false"
DROP_TAIL = 'last_hop.scheduler={{kind="droptail", buffer="{} packets"}}'.format
FEW = [QUIET, "duration=100 s", "flows.0.count=1", "path.delay=30 ms", DROP_TAIL(448)]
HUNDRED = [QUIET, "duration=100 s", DROP_TAIL(90)]
THOUSAND = [QUIET, "duration=10 s", "flows.0.count=1000", "last_hop.rate=500 Mbit/s", DROP_TAIL(285)]
LINUX = "flows.0.transport.profile=linux"
DELACK = "flows.0.transport.delayed_ack=40 ms"
BBR = ["flows.0.transport.congestion=bbr", LINUX]
IDLE = [QUIET, "duration=1 ms", "flows.0.count=10000", "flows.0.start_spread=1000000 s"]

CALLS = ["flows.0.count=200", QUIET]
PLAIN = ['channel={kind="clear"}', 'last_hop.harq={kind="none"}', DROP_TAIL(100)]
DOWNLOADS = ["flows.0.count=100", QUIET]
LARGE_HOP = ["last_hop.rate=5 Gbit/s", "last_hop.harq.processes=100000"]
TEN_THOUSAND = ["flows.0.count=10000", "duration=2 s", QUIET, *LARGE_HOP]

UPLOADS = ["flows.0.count=400", "flows.0.start_spread=1 s", QUIET]


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    scenario: str
    edits: list[str]
    # Instructions asked for each delivered packet; 0 = nothing, and they are not counted: that takes minutes.
    asked: int = 0
    # The arguments of ns2.tcl for the same work; none where ns-2 has no such model.
    ns2: str = ""


CASES = [
    Case("1 CUBIC flow, 50 Mbit/s, 80 ms, 100 s", "bottleneck-100.toml", FEW, 2000, "cubic 1 50 80 448 100"),
    Case("the same, `linux` profile", "bottleneck-100.toml", [*FEW, LINUX], 2600),
    Case("100 flows, 50 Mbit/s, 160 ms, 100 s", "bottleneck-100.toml", HUNDRED, 2000, "cubic 100 50 160 90 100"),
    Case("the same, `linux` profile", "bottleneck-100.toml", [*HUNDRED, LINUX]),
    Case("the same, with series", "bottleneck-100.toml", HUNDRED[1:]),
    Case("1,000 flows, 500 Mbit/s, 160 ms, 10 s", "bottleneck-100.toml", THOUSAND, 2200, "cubic 1000 500 160 285 10"),
    Case("the same, `linux` profile", "bottleneck-100.toml", [*THOUSAND, LINUX]),
    Case("the same, `linux`, 40 ms DelAck", "bottleneck-100.toml", [*THOUSAND, LINUX, DELACK]),
    Case("100 BBR flows, 50 Mbit/s, 20 s", "bottleneck-100.toml", [*BBR, QUIET, "duration=20 s"]),
    Case("10,000 flows that have not begun", "bottleneck-100.toml", IDLE),
    Case("200 calls, drop-tail, no HARQ, 100 s", "voip.toml", [*CALLS, *PLAIN], 1200, "calls 200 50 180 100 100"),
    Case("LEO, LMS channel, Adaptive-HARQ, 600 s", "leo-tcp.toml", [], 5000),
    Case("the same, 6000 s", "leo-tcp.toml", ["duration=6000 s"]),
    Case("200 calls, PF, Adaptive-HARQ, 100 s", "voip.toml", CALLS, 6000),
    Case("the same, with series", "voip.toml", CALLS[:1]),
    Case("100 CUBIC users, PF, Adaptive-HARQ, reordering, 100 s", "tcp-users.toml", DOWNLOADS, 6000),
    Case("10,000 CUBIC users, 5 Gbit/s, PF, Adaptive-HARQ, 2 s", "tcp-users.toml", TEN_THOUSAND),
    Case("10,000 calls, 5 Gbit/s, PF, Adaptive-HARQ, 2 s", "voip.toml", TEN_THOUSAND),
    Case("400 uploads, DVB-RCS2, MuSCA-3, 20 s", "dvbrcs2-transfer.toml", [*UPLOADS, "access.method=musca"], 10000),
    Case("the same, CRDSA-3", "dvbrcs2-transfer.toml", UPLOADS, 10000),
    Case("the same, dedicated", "dvbrcs2-transfer.toml", [*UPLOADS, "access.method=dedicated"]),
    Case("2,000 web requests, DVB-RCS2, CRDSA-3, 20 s", "dvbrcs2-web.toml", []),
]
RUNS = 5
# Two cases by the begin of their names, and how many times the first's CPU per packet the second may take.
FEW_AND_MANY = ("100 flows", "1,000 flows")
MOST_TIMES = 1.2


@dataclass
class Measured:
    """What one process used."""

    cpu_s: float
    peak_mib: float


# Linux counts to a process the memory of the one that starts it. So a small one starts it, and prints what it took.
STARTER = """
import os, sys
nothing = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[nothing]), 0)
print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, file=sys.stderr)
"""


def run(command: list[object]) -> tuple[Measured, str]:
    """Run once and ask the operating system what it took; what was printed."""
    starter = [sys.executable, "-I", "-S", "-c", STARTER]
    done = subprocess.run([*starter, *map(str, command)], capture_output=True, text=True, check=True)
    status, cpu_s, peak_mib = map(float, done.stderr.split())
    if status != 0:
        sys.exit(f"{command} failed")
    return Measured(cpu_s, peak_mib), done.stdout


def ours(case: Case) -> list[object]:
    """The command that runs a case."""
    return [RUNNER, ROOT / "scenarios" / case.scenario, *case.edits]


def theirs(case: Case) -> list[object] | None:
    """The command that does the same work in ns-2, if it is installed and has a model for it."""
    program = shutil.which("ns")
    return [program, ROOT / "benches" / "ns2.tcl", *case.ns2.split()] if program and case.ns2 else None


def instructions(command: list[object]) -> int | None:
    """Instructions of one run, or None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    count = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)]
    result = subprocess.run(count, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    return int(collected[1]) if collected else None


def per_packet(command: list[object] | None, packets: int) -> str:
    """Instructions for each delivered packet, as a cell of the table."""
    counted = instructions(command) if command and packets else None
    return "" if counted is None else f"{counted / packets:,.0f}"


def build() -> None:
    """Build the program that runs a scenario."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "transorbit-sim", "--example", "run"]
    subprocess.run(command, check=True, cwd=ROOT)


def scenarios() -> list[str]:
    """Measure every scenario: the lines of the table."""
    build()
    lines = [
        f"`make bench`: the median of {RUNS} runs of each scenario, the smallest in brackets, on one core of a virtual",
        "machine that shares its processor with others: seconds vary by a third within hours, instructions do not.",
        "Instructions are counted by callgrind for each packet that arrived with data. The last columns are those of",
        "ns-2.35 (Debian's package, settings in `benches/ns2.tcl`) for the same work, run in turn with ours, and our",
        "CPU seconds over its.",
        "Memory is at least the 9 MiB of the process that starts a run.",
        "",
        "| scenario | instructions per packet | asked | CPU s | peak MiB | delivered packets "
        "| ns-2: per packet | ns-2: CPU s | ours / ns-2 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    # In rounds, so that a slow spell of the machine does not fall on one scenario alone, and in turn with ns-2.
    rounds = [
        [(run(ours(case)), run(other) if (other := theirs(case)) else None) for case in CASES] for _ in range(RUNS)
    ]
    for case, runs in zip(CASES, zip(*rounds, strict=True), strict=True):
        lines.append(row(case, [own for own, _ in runs], [other for _, other in runs if other]))
        print(lines[-1], flush=True)
    few, many = (next(n for n, case in enumerate(CASES) if case.name.startswith(flows)) for flows in FEW_AND_MANY)
    ratio = statistics.median(cpu_per_packet(*runs[many][0]) / cpu_per_packet(*runs[few][0]) for runs in rounds)
    times = f"{ratio:.2f} times that of {FEW_AND_MANY[0]} ({MOST_TIMES} asked)"
    lines += ["", f"CPU per packet of {FEW_AND_MANY[1]}: {times}."]
    print(lines[-1], flush=True)
    return lines


def received(printed: str) -> int:
    """The packets that arrived with data in a run."""
    return sum(flow["received_packets"] for flow in json.loads(printed)["flows"])


def cpu_per_packet(measured: Measured, printed: str) -> float:
    """CPU seconds for each packet that arrived with data."""
    return measured.cpu_s / received(printed)


def row(case: Case, own: list[tuple[Measured, str]], other: list[tuple[Measured, str]]) -> str:
    """A line of the table, from the runs of one case and those of ns-2."""
    packets = received(own[0][1])
    cpu = sorted(measured.cpu_s for measured, _ in own)
    cells = [
        case.name,
        per_packet(ours(case) if case.asked else None, packets),
        f"{case.asked:,}" if case.asked else "",
        f"{statistics.median(cpu):.3f} ({cpu[0]:.3f})",
        f"{max(measured.peak_mib for measured, _ in own):.1f}",
        f"{packets:,}",
    ]
    if other:
        slow = sorted(measured.cpu_s for measured, _ in other)
        arrived = int([word for word in other[0][1].split() if word.isdigit()][-1])
        ratio = statistics.median(a.cpu_s / b.cpu_s for (a, _), (b, _) in zip(own, other, strict=True))
        cells += [per_packet(theirs(case), arrived), f"{statistics.median(slow):.3f} ({slow[0]:.3f})", f"{ratio:.2f}"]
    else:
        cells += ["", "", ""]
    return "| " + " | ".join(cells) + " |"


# Of each entry of the scenario: short flows, idle ones, long ones.
CROWDS = {"1,000,000": [], "100,000": ["flows.0.count=60000", "flows.1.count=39000", "flows.2.count=1000"]}
# What one more flow takes: its name, the entry that has more, the edits that leave little else, and two counts.
IDLE = ("asked for its page and is idle", 1, ["flows.0.count=1", "flows.2.count=1"], (20_000, 120_000))
OVER = ("transferred 2 kB and is over", 0, ["flows.1.count=1", "flows.2.count=1"], (20_000, 120_000))
SLOWLY = ["duration=600 s", 'flows.0.start_spread="590 s"', 'flows.2.traffic={kind="bulk",size="1 MB"}']
OVER_QUIC = (
    "did so over QUIC, within ten minutes",
    0,
    [*OVER[2], *SLOWLY, 'flows.0.transport={kind="quic"}'],
    (1_000, 5_000),
)
ONE_MORE = (IDLE, OVER, OVER_QUIC)
CROWD_RUNS = 3


def crowd() -> list[str]:
    """Measure very many flows: the lines of a table."""
    build()
    lines = [
        "`scenarios/million-flows.toml`: of 100 flows 60 transfer 2 kB, 39 ask for a page of 1 kB and are idle",
        "then, and one sends without end. Packets are all that were made: handshakes, data, acknowledgments. CPU is",
        f"that of the whole process, which prints a summary of each flow. Medians of {CROWD_RUNS} runs, which vary as",
        "those above.",
        "",
        "| flows | packets | CPU s | CPU µs per packet | asked | peak GiB | asked |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, edits in CROWDS.items():
        runs = [many(edits) for _ in range(CROWD_RUNS)]
        cpu, peak, packets = (statistics.median(values) for values in zip(*runs, strict=True))
        asked = ["1.5", "16"] if not edits else ["", ""]
        cells = [
            name,
            f"{packets:,}",
            f"{cpu:.1f}",
            f"{cpu / packets * 1e6:.2f}",
            asked[0],
            f"{peak / 1024:.2f}",
            asked[1],
        ]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    lines += ["", "KiB of one more flow, its summary included:", ""]
    for name, entry, edits, counts in ONE_MORE:
        lines.append(f"- that {name}: {kib_of(entry, edits, counts):.2f}")
        print(lines[-1], flush=True)
    return lines


def kib_of(entry: int, edits: list[str], counts: tuple[int, int]) -> float:
    """KiB of one more flow of an entry of the scenario."""
    few, more = (many([*edits, f"flows.{entry}.count={count}"])[1] for count in counts)
    return (more - few) / (counts[1] - counts[0]) * 1024


def many(edits: list[str]) -> tuple[float, float, int]:
    """CPU seconds, peak MiB and packets of a run with very many flows."""
    measured, printed = run([RUNNER, ROOT / "scenarios" / "million-flows.toml", *edits])
    (created,) = re.findall(r'"created": ?(\d+)', printed)
    return measured.cpu_s, measured.peak_mib, int(created)


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
        program = [sys.executable, "-c", "import sys; from transorbit.cli.main import main; main(sys.argv[1:])"]
        command = ["constellation", "routes", "starlink-shell-1", "--stations", stations, "--out", out, "--quiet"]
        start = time.perf_counter()
        measured, _ = run([*program, *command, *options])
        wall = time.perf_counter() - start
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return wall, measured.cpu_s, measured.peak_mib, size / 1e6


# The parts of the page by the word that asks for one, each with its heading.
PARTS = {
    "scenarios": ("# Speed of the core", scenarios),
    "crowd": ("## A million flows", crowd),
    "sweep": ("## Sweeps", sweep.table),
    "sky": ("## Constellations", sky),
}


README = ROOT / "README.md"
PLACE = re.compile(r"(<!-- speed: `make bench` -->\n).*?(<!-- end -->)", re.DOTALL)
SCENARIO = "[scenario](scenarios/bottleneck-100.toml)"


def readme(text: str, page: str) -> str:
    """The text of README.md with what it tells of the tables, where these have ns-2 beside ours."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    flows, download = (next(row for row in rows if row[0].startswith(name)) for name in ("100 flows", "LEO, LMS"))
    if not (flows[1] and flows[6] and flows[7]):
        return text  # measured without valgrind or ns-2
    flows_s, ns2_s, download_s, mib = (
        float(cell.split()[0]) for cell in (flows[3], flows[7], download[3], download[4])
    )
    told = (
        f"100 CUBIC flows over a 50 Mbit/s bottleneck for 100 s ({SCENARIO}) take {flows[1]} instructions for each "
        f"delivered packet and {flows_s:.2f} s of CPU; ns-2.35 takes {flows[6]} and {ns2_s:.2f} s for the same work. "
        f"The download of the picture, 600 s with channel and HARQ, takes {download_s:.2f} s, and {mib:.0f} MiB of "
        "memory however long it goes on."
    )
    return PLACE.sub(lambda place: f"{place[1]}{textwrap.fill(told, 120)}\n{place[2]}", text)


def main() -> None:
    """Measure the parts that are asked for, or all, and write the page."""
    page = ROOT / "benches" / "RESULTS.md"
    asked = sys.argv[1:] or list(PARTS)
    if unknown := set(asked) - set(PARTS):
        sys.exit(f"{', '.join(sorted(unknown))}: no part of the page; there are {', '.join(PARTS)}")
    before = {text.partition("\n")[0]: text for text in re.split(r"\n(?=##? )", page.read_text())}
    texts = []
    for name, (heading, measure) in PARTS.items():
        text = "\n".join([heading, "", *measure()]) if name in asked else before.get(heading, "")
        texts.append(text.rstrip() + "\n")
    page.write_text("\n".join(texts))
    README.write_text(readme(README.read_text(), page.read_text()))


if __name__ == "__main__":
    main()
