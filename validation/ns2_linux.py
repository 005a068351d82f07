"""The profile `ns2-linux` beside ns-2: late packets, recorded outcomes of a link, random losses.

What ns-2.35 gave is in `ns2-linux/` (its header of `lateness.csv` and `replay.csv` is the key of a cell) and in
other_simulators.csv; ours is measured here. A cell of `lateness.csv` is a mean of 5 runs of 300 s whose losses are not
known: ours has 20. One of `replay.csv` is a mean over 4 files of outcomes, which both sides meet. Those of the grid of
random losses have the same losses on both sides, and no spread was recorded.
"""

from __future__ import annotations

import csv
import gzip
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import ThreadPoolExecutor

HERE = Path(__file__).resolve().parent / "ns2-linux"
LATE = ["control", "rtt_ms", "loss", "late_share", "late_by_ms", "delayed_ack_ms"]
REPLAY = ["snr_db", "control", "buffer", "timestamps", "delayed_ack_ms"]
COUNTS = ["timeouts", "reductions", "spurious"]
# Places of these in a line of the program.
PLACES = {"goodput": 0, "timeouts": 1, "reductions": 5, "spurious": 6}
SEEDS = range(1, 21)
LATE_SECONDS = 300
REPLAY_SECONDS = 600
# ns-2's means of lateness are of so many runs; they have no spread, so ours stands for it.
THEIR_RUNS = 5


@dataclass(frozen=True)
class Compared:
    """A cell: its key in words, and for each measure ours, ns-2's and two standard errors of the difference."""

    kind: str
    key: tuple[str, ...]
    measures: dict[str, tuple[float, float, float]]

    def holds(self, name: str, share: float) -> bool:
        """Whether ours is within max(`share`, 2 standard errors) of ns-2's."""
        ours, theirs, error = self.measures[name]
        return abs(ours - theirs) <= max(share * theirs, error)

    @property
    def off(self) -> float:
        """Ours over ns-2's goodput, less 1."""
        ours, theirs, _ = self.measures["goodput"]
        return ours / theirs - 1


def late_cells(pool: ThreadPoolExecutor, program: Path, run: Callable[..., str]) -> list[Compared]:
    """The 24 cells of late and lost packets, with timestamps as they were recorded."""
    rows = read("lateness.csv")

    def cell(row: dict[str, str]) -> Compared:
        key = [row[name] for name in LATE]
        lines = [run(program, "late", *key, seed * 7919, LATE_SECONDS, "timestamps=true") for seed in SEEDS]
        ours = [[float(field) for field in line.split(",")] for line in lines]
        measures = {}
        for name, recorded in (("goodput", "goodput_mbps"), ("timeouts", "timeouts"), ("reductions", "reductions")):
            values = [fields[PLACES[name]] for fields in ours]
            error = statistics.stdev(values) * math.sqrt(1 / len(values) + 1 / THEIR_RUNS)
            measures[name] = (statistics.mean(values), float(row[recorded]), 2 * error)
        return Compared("late", tuple(key), measures)

    return list(pool.map(cell, rows))


def replayed_cells(pool: ThreadPoolExecutor, program: Path, run: Callable[..., str], folder: Path) -> list[Compared]:
    """The 60 cells of recorded outcomes, unpacked into `folder`."""
    for packed in sorted((HERE / "outcomes").glob("*.gz")):
        (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    cells: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in read("replay.csv"):
        cells.setdefault(tuple(row[name] for name in REPLAY), []).append(row)

    def cell(key: tuple[str, ...]) -> Compared:
        _, control, buffer, timestamps, delayed_ack = key
        pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in PLACES}
        for row in cells[key]:
            outcomes = folder / f"{row['snr_db']}dB_seed{row['seed']}"
            stamps = f"timestamps={timestamps}"
            line = run(program, "replay", control, outcomes, buffer, delayed_ack, REPLAY_SECONDS, stamps)
            fields = [float(field) for field in line.split(",")]
            theirs = {**row, "goodput": float(row["goodput_kbps"]) / 1000}
            for name, place in PLACES.items():
                pairs[name].append((fields[place], float(theirs[name])))
        return Compared("replay", key, {name: paired(values) for name, values in pairs.items()})

    return list(pool.map(cell, cells))


def lossy_cell(key: Sequence[object], ours: float, theirs: float) -> Compared:
    """A cell of the grid of random losses."""
    return Compared("loss", tuple(map(str, key)), {"goodput": (ours, theirs, 0.0)})


def paired(values: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Both means, and two standard errors of ns-2's."""
    ours, theirs = ([pair[side] for pair in values] for side in (0, 1))
    return statistics.mean(ours), statistics.mean(theirs), 2 * statistics.stdev(theirs) / math.sqrt(len(theirs))


def read(name: str) -> list[dict[str, str]]:
    """The rows of a recording."""
    with (HERE / name).open() as file:
        return list(csv.DictReader(file))


def table(cells: Iterable[Compared]) -> list[str]:
    """The count of cells that hold, by kind, and the cells themselves."""
    cells = list(cells)
    kinds = {"late": "late packets", "replay": "recorded outcomes", "loss": "random losses"}
    lines = ["| | cells | goodput within max(5 %, 2 se) | within 15 % |" + "".join(f" {name} |" for name in COUNTS)]
    lines.append("| --- |" + " --- |" * (3 + len(COUNTS)))
    for kind, words in [*kinds.items(), (None, "all")]:
        some = [cell for cell in cells if kind in (cell.kind, None)]
        close, near = sum(cell.holds("goodput", 0.05) for cell in some), sum(abs(cell.off) <= 0.15 for cell in some)
        lines.append(f"| {words} | {len(some)} | {close} | {near} |" + "".join(count(some, name) for name in COUNTS))
    lines += ["", "Time-outs, reductions and spurious retransmissions: how many cells are within max(20 %, 2 se).", ""]
    heads = {"late": LATE, "replay": REPLAY}
    for kind, head in heads.items():
        lines += [
            "| " + " | ".join(name.replace("_", " ") for name in head) + " | goodput, Mbit/s: ours | ns-2 | off |"
        ]
        lines[-1] += "".join(f" {name}: ours | ns-2 |" for name in COUNTS)
        lines.append("| --- |" + " --- |" * (len(head) + 2 + 2 * len(COUNTS)))
        for cell in (cell for cell in cells if cell.kind == kind):
            ours, theirs, _ = cell.measures["goodput"]
            fields = [*cell.key, f"{ours:.3f}", f"{theirs:.3f}", f"{100 * cell.off:+.1f} %"]
            for name in COUNTS:
                found = cell.measures.get(name)
                fields += [f"{found[0]:.0f}", f"{found[1]:.0f}"] if found else ["", ""]
            lines.append("| " + " | ".join(fields) + " |")
        lines.append("")
    return lines[:-1]


def count(cells: Sequence[Compared], name: str) -> str:
    """How many of those that have this measure hold."""
    measured = [cell for cell in cells if name in cell.measures]
    return f" {sum(cell.holds(name, 0.2) for cell in measured)} of {len(measured)} |" if measured else " |"


def report(cells: Sequence[Compared]) -> bool:
    """Whether 90 % of the goodputs are within 5 % or 2 standard errors and all within 15 %; prints how many."""
    close, near = sum(cell.holds("goodput", 0.05) for cell in cells), sum(abs(cell.off) <= 0.15 for cell in cells)
    print(f"ns2-linux beside ns-2: {close} of {len(cells)} cells within max(5 %, 2 se), {near} within 15 %")
    return close >= 0.9 * len(cells) and near == len(cells)
