"""What a sweep costs beside its runs, and what a second core gives: a part of what `measure.py` measures.

A loop over the runs, a sweep with one thread and one with two are measured one after the other in each round, each in a
process of its own, and the medians of the ratios are shown: where a machine is faster at times, the least of many is
luck.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 5


@dataclass(frozen=True)
class Case:
    """A row of the table: so many runs of a scenario at each of the durations, in this order."""

    name: str
    scenario: str
    durations: tuple[str, ...]
    replications: int
    # How many times as fast two threads are asked to be; 0 = nothing.
    asked: float = 0.0


# The second has a sky that takes most of a short run to be worked out.
CASES = [
    Case("short runs of one length", "lab-fixed.toml", ("2 s",), 1000, asked=1.8),
    Case("short runs over satellites", "leo-tcp.toml", ("10 s",), 200, asked=1.8),
    Case("runs of uneven lengths", "leo-tcp.toml", ("1000 s", "15000 s", "2000 s", "500 s", "6000 s"), 6, asked=1.9),
]


def table() -> list[str]:
    """Measure every case: the lines of a table."""
    lines = [
        "A sweep with one thread, with two, and its runs in a plain loop, in turn; medians of the ratios of",
        f"{ROUNDS} rounds. What a sweep takes beside its runs is the CPU of one thread over that of the loop; at most",
        "10 % is asked. CPU of two threads over one tells how much of a ratio is the machine's.",
        "",
        "| sweep | runs | one thread s | two threads s | times as fast | asked | CPU, two over one | CPU over a loop |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in CASES:
        rounds = [{how: in_a_process(case, how) for how in ("loop", "1", "2")} for _ in range(ROUNDS)]
        of = {how: median(each[how][0] for each in rounds) for how in ("1", "2")}
        faster = median(each["1"][0] / each["2"][0] for each in rounds)
        grown, beside = (median(each[a][1] / each[b][1] for each in rounds) for a, b in (("2", "1"), ("1", "loop")))
        cells = [
            f"{case.name} (`{case.scenario}`)",
            f"{len(case.durations) * case.replications:,}",
            f"{of['1']:.2f}",
            f"{of['2']:.2f}",
            f"{faster:.2f}",
            f"{case.asked or ''}",
            f"{grown:.2f}",
            f"{100 * (beside - 1):+.0f} %",
        ]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def in_a_process(case: Case, how: str) -> tuple[float, float]:
    """As `measure`, in a process of its own."""
    command = [sys.executable, __file__, str(CASES.index(case)), how]
    wall, cpu = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return wall, cpu


def measure(case: Case, how: str) -> tuple[float, float]:
    """Wall and CPU seconds of the runs, in a loop or as a sweep with so many threads; imports are not counted."""
    import duckdb  # noqa: F401
    import polars  # noqa: F401
    import scipy.stats  # noqa: F401

    import transorbit as to

    changes = {"record.series": False}
    axis = {"key": "duration", "values": list(case.durations)}
    plan = {"scenario": case.scenario, "replications": case.replications, "set": changes, "axes": [axis]}
    wall, cpu = time.perf_counter(), time.process_time()
    if how == "loop":
        base = to.Scenario.load(ROOT / "scenarios" / case.scenario).replace(changes)
        lengths = [base.replace({"duration": duration}) for duration in case.durations]
        kept = [each.run(seed=1000 + number).summary for each in lengths for number in range(case.replications)]
    else:
        kept = to.Sweep.from_dict(plan, base_dir=ROOT / "scenarios").run(jobs=int(how)).runs
    assert len(kept) == len(case.durations) * case.replications
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    number, how = sys.argv[1:]
    print(json.dumps(measure(CASES[int(number)], how)))
