"""Goodput over a grid of loss and round-trip time, beside a live Linux kernel, ns-2 and ns-3.

Run with `make cross-validation`. Every cell of the grid is a bulk transfer of 30 s, as often as the kernel ran it, with
the losses that the kernel met: the n-th data packet is lost if splitmix64(seed + n * 0x9E3779B97F4A7C15) < p * 2^64,
seeds from 1. Prints the verdicts, writes the tables of docs/validation/cross-validation.md, and ends with status 1 if
another cell fails than those known to.
ns-2 and ns-3 run where they are installed (Debian: ns2, libns3-dev); what they gave is kept in other_simulators.csv.
The profile `ns2-linux` is held against more of ns-2 by ns2_linux.py.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ns2_linux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GRID = HERE / "kernel_goodput.csv"
OTHERS = HERE / "other_simulators.csv"
PAGE = ROOT / "docs" / "validation" / "cross-validation.md"
BEGIN = "<!-- tables, written by `make cross-validation` -->"
END = "<!-- end of the tables -->"

# What is known to be off, as bottleneck, controller, RTT in ms and loss in %: told on the page.
OPEN = {("none", "cubic", 200, 3.0)}

SECONDS = 30
# The profile as ns2_goodput.tcl sets ns-2.
AS_NS2 = ("ns2-linux", "timestamps=true", "delayed_ack='40 ms'", "initial_window=10", "max_rto='120 s'")
# More data packets than any transfer of the grid has: 30 s at 20 Mbit/s are 50,000.
MOST_PACKETS = 200_000


def main() -> int:
    """Run the grid, print and write the tables; 1 if a cell does not do what is known of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recorded", action="store_true", help="do not run ns-2 and ns-3, show what they gave last")
    recorded = parser.parse_args().recorded
    cells = grid()
    program, lateness = build(), build("lateness")
    with ThreadPoolExecutor(os.cpu_count()) as pool, tempfile.TemporaryDirectory() as folder:
        ours = dict(zip(cells, pool.map(lambda cell: run_ours(program, cell), cells), strict=True))
        as_ns2 = dict(zip(cells, pool.map(lambda cell: run_ours(program, cell, *AS_NS2), cells), strict=True))
        compared = ns2_linux.late_cells(pool, lateness, output)
        compared += ns2_linux.replayed_cells(pool, lateness, output, Path(folder))
        if not recorded:
            record_others(pool, cells)
    others = read_others()
    compared += lossy_cells(as_ns2, others)
    verdicts = {cell: verdict(cell, ours[cell]) for cell in cells}
    write_page(kernel_table(verdicts, ours), others_table(ours, as_ns2, others), ns2_linux.table(compared))
    follows = ns2_linux.report(compared)
    return max(report(verdicts, ours), int(not follows))


# The grid and its verdict


@dataclass(frozen=True)
class Cell:
    """A point of the grid and the means over the kernel's runs there. Goodput in Mbit/s after 5 s."""

    bottleneck: str
    cc: str
    rtt_ms: int
    loss_pct: float
    seeds: tuple[int, ...]
    goodput: float
    mean: float
    sd: float
    retransmits: float
    lost: float
    queue_drops: float

    @property
    def is_open(self) -> bool:
        """Whether it is known to be off."""
        return (self.bottleneck, self.cc, self.rtt_ms, self.loss_pct) in OPEN

    @property
    def mbps(self) -> int:
        """The bottleneck's rate; 0 is none."""
        return 0 if self.bottleneck == "none" else int(self.bottleneck.split("Mbit")[0])

    @property
    def runs(self) -> int:
        """How often the kernel ran it."""
        return len(self.seeds)

    @property
    def bound(self) -> float:
        """How far our mean may be off: 5 % (BBR, paced by a noisy clock: 10 %) or 2 standard errors."""
        share = 0.1 if self.cc == "bbr" else 0.05
        return max(share * self.mean, 2 * self.sd / self.runs**0.5)


@dataclass(frozen=True)
class Measured:
    """Means over the runs of a cell; goodput in Mbit/s, the others in packets."""

    goodput: float
    after5s: float
    retransmits: float
    lost: float
    queue_drops: float
    spurious: float | None = None


@dataclass(frozen=True)
class Verdict:
    """A cell's verdict: what failed, in words."""

    failures: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing failed."""
        return not self.failures


def grid() -> list[Cell]:
    """The kernel's cells, without a bottleneck first."""
    runs: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows(GRID):
        runs.setdefault(tuple(row[name] for name in ("bottleneck", "cc", "rtt_ms", "loss")), []).append(row)
    cells = [cell(same) for same in runs.values()]
    order = {"reno": 0, "cubic": 1, "bbr": 2}
    return sorted(cells, key=lambda c: (c.mbps, c.rtt_ms, c.loss_pct, order[c.cc]))


def rows(path: Path) -> list[dict[str, str]]:
    """A CSV's rows, without lines of comment."""
    with path.open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def cell(runs: list[dict[str, str]]) -> Cell:
    """The kernel's runs of a cell."""

    def column(name: str) -> list[float]:
        return [float(run[name]) for run in runs]

    after5s = column("goodput_after5s_mbps")
    return Cell(
        bottleneck=runs[0]["bottleneck"],
        cc=runs[0]["cc"],
        rtt_ms=int(runs[0]["rtt_ms"]),
        loss_pct=round(100 * float(runs[0]["loss"]), 6),
        seeds=tuple(int(run["seed"]) for run in runs),
        goodput=statistics.mean(column("goodput_mbps")),
        mean=statistics.mean(after5s),
        sd=statistics.stdev(after5s),
        retransmits=statistics.mean(column("retransmits")),
        lost=statistics.mean(column("rand_lost")),
        queue_drops=statistics.mean(column("overflow")),
    )


def verdict(cell: Cell, ours: Measured) -> Verdict:
    """Hold our means against the kernel's.

    Every lost packet is sent once more, and nothing else is. What is lost in the last round trip cannot be repaired
    before the end: up to 2 % or one packet per run, the more of both, may stay unrepaired (the kernel's table has as
    much).
    """
    failures = []
    off = ours.after5s - cell.mean
    if abs(off) > cell.bound:
        failures.append(f"goodput is off by {off:+.3f} Mbit/s, more than {cell.bound:.3f}")
    lost = ours.lost + ours.queue_drops
    if abs(lost - ours.retransmits) > max(0.02 * lost, 1.0):
        failures.append(f"{ours.retransmits:.1f} retransmissions for {lost:.1f} losses")
    if ours.spurious:
        failures.append(f"{ours.spurious:.1f} spurious retransmissions")
    return Verdict(tuple(failures))


# Our runs


def build(name: str = "goodput", *, release: bool = True) -> Path:
    """A program of crates/transport/examples."""
    command = ["cargo", "build", "--quiet", "--locked", "--package", "transorbit-transport", "--example", name]
    command += ["--message-format", "json"] + ["--release"] * release
    # No user input.
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    made = [message["executable"] for message in messages if message.get("target", {}).get("name") == name]
    return Path(made[-1])


def run_ours(program: Path, cell: Cell, profile: str = "linux", *options: str) -> Measured:
    """Our means over the kernel's seeds."""
    arguments = [cell.cc, cell.rtt_ms, cell.loss_pct, cell.mbps]
    lines = [output(program, *arguments, seed, SECONDS, profile, *options) for seed in cell.seeds]
    return mean(line.split(",")[:6] for line in lines)


def output(program: str | Path, *arguments: object) -> str:
    """The line of numbers that a program printed: simulators mix it with lines of their own."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no user input
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return next(line for line in done.stdout.splitlines() if line[:1].isdigit())


def mean(runs: Iterable[list[str]]) -> Measured:
    """The mean of each column."""
    return Measured(*(statistics.mean(map(float, column)) for column in zip(*runs, strict=True)))


# ns-2 and ns-3


@dataclass(frozen=True)
class Simulator:
    """Another simulator: how to find its version (None: not installed) and to get what takes a cell and a drop list."""

    name: str
    controllers: frozenset[str]
    version: Callable[[], str | None]
    program: Callable[[Path], list[str]]


def ns2_version() -> str | None:
    """That of `ns`."""
    if not shutil.which("ns"):
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".tcl") as script:
        script.write("puts [ns-version]\nexit 0\n")
        script.flush()
        return output("ns", script.name)


def ns3_version() -> str | None:
    """That of the libraries that pkg-config knows."""
    if not shutil.which("pkg-config") or not shutil.which("c++"):
        return None
    ask = ["pkg-config", "--modversion", "ns3-applications"]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)  # noqa: S603 - no user input
    return done.stdout.strip() or None


def ns2_program(_folder: Path) -> list[str]:
    """A script needs no building."""
    return ["ns", str(HERE / "ns2_goodput.tcl")]


def ns3_program(folder: Path) -> list[str]:
    """Compile ours. The libraries are named here, since Debian's pkg-config file of ns-3.37 is malformed."""
    program = folder / "ns3_goodput"
    modules = ["applications", "internet", "point-to-point", "traffic-control", "network", "core"]
    libraries = [f"-lns3-{module}" for module in modules]
    command = ["c++", "-O2", "-std=c++17", str(HERE / "ns3_goodput.cc"), "-o", str(program), *libraries]
    subprocess.run(command, check=True)  # noqa: S603 - no user input
    return [str(program)]


SIMULATORS = [
    Simulator("ns-2", frozenset({"reno", "cubic"}), ns2_version, ns2_program),
    Simulator("ns-3", frozenset({"reno", "cubic", "bbr"}), ns3_version, ns3_program),
]
KEY = ["bottleneck", "cc", "rtt_ms", "loss_pct"]
MEASURES = ["goodput", "after5s", "retransmits", "lost", "queue_drops"]
COLUMNS = ["simulator", "version", "date", *KEY, *MEASURES]


def record_others(pool: ThreadPoolExecutor, cells: list[Cell]) -> None:
    """Run what is installed and write other_simulators.csv; the rows of what is not installed stay."""
    kept = {simulator.name: read_rows(simulator.name) for simulator in SIMULATORS}
    for simulator in SIMULATORS:
        version = simulator.version()
        if version is None:
            print(f"{simulator.name} is not installed: its columns are those of other_simulators.csv")
            continue
        with tempfile.TemporaryDirectory() as folder:
            made = run_simulator(pool, simulator, cells, Path(folder))
        if [without_date(row) for row in kept[simulator.name]] != [{**row, "version": version} for row in made]:
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            kept[simulator.name] = [{**row, "version": version, "date": today} for row in made]
    with OTHERS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for simulator in SIMULATORS for row in kept[simulator.name])


def run_simulator(
    pool: ThreadPoolExecutor, simulator: Simulator, cells: list[Cell], folder: Path
) -> list[dict[str, str]]:
    """Rows of other_simulators.csv without version and date."""
    command = simulator.program(folder)
    cells = [cell for cell in cells if cell.cc in simulator.controllers]
    lists = {(cell.loss_pct, seed): folder / f"{cell.loss_pct}-{seed}.txt" for cell in cells for seed in cell.seeds}
    for (loss_pct, seed), path in lists.items():
        path.write_text("\n".join(map(str, drops(seed, loss_pct))))

    def run(cell: Cell) -> dict[str, str]:
        arguments = [cell.cc, cell.rtt_ms, cell.mbps, SECONDS]
        files = [lists[cell.loss_pct, seed] for seed in cell.seeds]
        measured = mean(output(*command, *arguments, file).split(",") for file in files)
        key = {name: str(getattr(cell, name)) for name in KEY}
        return {"simulator": simulator.name, **key, **{name: f"{getattr(measured, name):.3f}" for name in MEASURES}}

    return list(pool.map(run, cells))


def drops(seed: int, loss_pct: float) -> list[int]:
    """The numbers, from 0, of the data packets that are lost.

    >>> drops(1, 1.0)[:3]
    [99, 161, 266]
    """
    mask = 2**64 - 1

    def splitmix64(state: int) -> int:
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    limit = loss_pct / 100 * 2.0**64
    return [n for n in range(MOST_PACKETS) if float(splitmix64((seed + n * 0x9E3779B97F4A7C15) & mask)) < limit]


def read_rows(simulator: str) -> list[dict[str, str]]:
    """What a simulator gave last."""
    return [row for row in rows(OTHERS) if row["simulator"] == simulator] if OTHERS.exists() else []


def without_date(row: dict[str, str]) -> dict[str, str]:
    """A row as it is compared: a new date alone is no news."""
    return {name: value for name, value in row.items() if name != "date"}


@dataclass(frozen=True)
class Recorded:
    """A simulator's version, day of the measurement, and means by the cell's key."""

    version: str
    date: str
    means: dict[tuple[str, ...], Measured]


def read_others() -> dict[str, Recorded]:
    """What each simulator gave last; one that never ran is absent."""
    found = {}
    for simulator in SIMULATORS:
        kept = read_rows(simulator.name)
        if kept:
            means = {
                tuple(row[name] for name in KEY): Measured(*(float(row[name]) for name in MEASURES)) for row in kept
            }
            found[simulator.name] = Recorded(kept[0]["version"], kept[0]["date"], means)
    return found


def lossy_cells(as_ns2: dict[Cell, Measured], others: dict[str, Recorded]) -> list[ns2_linux.Compared]:
    """Our `ns2-linux` beside what ns-2 gave last."""
    theirs = others["ns-2"].means if "ns-2" in others else {}
    cells = ((cell, tuple(str(getattr(cell, name)) for name in KEY), mine) for cell, mine in as_ns2.items())
    return [ns2_linux.lossy_cell(key, mine.goodput, theirs[key].goodput) for _, key, mine in cells if key in theirs]


# Tables


def kernel_table(verdicts: dict[Cell, Verdict], ours: dict[Cell, Measured]) -> list[str]:
    """Ours beside the kernel's: the verdict, then retransmissions and losses."""
    lines = [
        "| bottleneck | RTT, ms | loss, % | | runs | kernel, Mbit/s | ours, Mbit/s | off | allowed | verdict "
        "| lost: kernel | ours | queue drops: kernel | ours | retransmitted: kernel | ours | spurious, ours |",
        "| --- |" + " --- |" * 16,
    ]
    for cell, found in verdicts.items():
        mine = ours[cell]
        value = mine.after5s
        fields = [
            *(cell.bottleneck, cell.rtt_ms, f"{cell.loss_pct:g}", cell.cc, cell.runs),
            f"{cell.mean:.3f} ± {cell.sd:.3f}",
            f"{value:.3f}",
            f"{100 * (value / cell.mean - 1):+.1f} %",
            f"{100 * cell.bound / cell.mean:.0f} %",
            "holds" if found.holds else "**fails**: " + "; ".join(found.failures),
            *(f"{cell.lost:.1f}", f"{mine.lost:.1f}", f"{cell.queue_drops:.0f}", f"{mine.queue_drops:.0f}"),
            *(f"{cell.retransmits:.1f}", f"{mine.retransmits:.1f}", f"{mine.spurious:g}"),
        ]
        lines.append("| " + " | ".join(map(str, fields)) + " |")
    return lines


def others_table(ours: dict[Cell, Measured], as_ns2: dict[Cell, Measured], others: dict[str, Recorded]) -> list[str]:
    """Every simulator's goodput beside the kernel's, with its deviation."""
    names = [f"{name} {others[name].version}" if name in others else f"{name} (not run)" for name in ("ns-2", "ns-3")]
    lines = [f"{name} was measured on {kept.date}." for name, kept in others.items()]
    lines += [
        "",
        f"| bottleneck | RTT, ms | loss, % | | kernel | ours, `linux` | ours, `ns2-linux` | {' | '.join(names)} |",
        "| --- |" + " --- |" * 8,
    ]
    for cell, mine in ours.items():
        key = tuple(str(getattr(cell, name)) for name in KEY)
        columns = [mine, as_ns2[cell] if cell.cc != "bbr" else None]
        columns += [others[name].means.get(key) if name in others else None for name in ("ns-2", "ns-3")]
        fields = [cell.bottleneck, cell.rtt_ms, f"{cell.loss_pct:g}", cell.cc, f"{cell.mean:.3f}"]
        fields += ["" if column is None else beside(column.after5s, cell.mean) for column in columns]
        lines.append("| " + " | ".join(map(str, fields)) + " |")
    return lines


def beside(value: float, kernel: float) -> str:
    """A goodput and how far it is from the kernel's."""
    return f"{value:.3f} ({100 * (value / kernel - 1):+.0f} %)"


def write_page(kernel: list[str], others: list[str], as_ns2: list[str]) -> None:
    """Put the tables between the page's markers."""
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    tables = ["## Beside the kernel", "", *kernel, "", "## Beside ns-2 and ns-3", "", *others]
    tables += ["", "## `ns2-linux` beside ns-2", "", *as_ns2]
    PAGE.write_text(before + BEGIN + "\n\n" + "\n".join(tables) + "\n\n" + END + after)


def report(verdicts: dict[Cell, Verdict], ours: dict[Cell, Measured]) -> int:
    """Print a line per cell and the sum; 1 if a cell fails that is not known to, or one holds that is."""
    for cell, found in verdicts.items():
        mine = ours[cell]
        value = mine.after5s
        print(
            f"{cell.bottleneck:>11} {cell.rtt_ms:>3} ms {cell.loss_pct:>3g} % {cell.cc:<5} kernel {cell.mean:>6.3f} "
            f"ours {value:>6.3f} Mbit/s after 5 s ({100 * (value / cell.mean - 1):+5.1f} %, allowed "
            f"{100 * cell.bound / cell.mean:>2.0f} %)  lost {mine.lost + mine.queue_drops:>6.1f} retransmitted "
            f"{mine.retransmits:>6.1f} spurious {mine.spurious:g}  "
            + ("holds" if found.holds else "FAILS: " + "; ".join(found.failures))
        )
    failed = sum(not found.holds for found in verdicts.values())
    print(f"{len(verdicts) - failed} of {len(verdicts)} cells hold")
    return 1 if any(found.holds == cell.is_open for cell, found in verdicts.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
