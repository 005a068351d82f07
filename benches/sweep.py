"""What a sweep costs beside its runs, and what a second core gives.

Run with `.venv/bin/python benches/sweep.py [RUNS]`, 1,000 runs by default. Each measurement is a process of its own and
is repeated; the least is shown, which other work on the machine disturbs least. Asked for: less than 10 % on top of the
same runs in a plain loop, and with two cores at least 1.8 times the speed of one.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 3
# Scenario, simulated time, share of the runs: the second has a sky that takes most of a short run to be worked out.
CASES = [("lab-fixed.toml", "2 s", 1.0), ("leo-tcp.toml", "10 s", 0.2)]


def main() -> None:
    """Print a line for each case."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for scenario, duration, share in CASES:
        count = max(int(runs * share), 2)
        best: dict[str, tuple[float, float]] = {}
        for _ in range(REPEATS):
            for how in ("loop", "1", "2"):
                done = subprocess.run(
                    [sys.executable, __file__, "--measure", how, scenario, duration, str(count)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                wall, cpu = json.loads(done.stdout)
                before = best.get(how, (wall, cpu))
                best[how] = (min(wall, before[0]), min(cpu, before[1]))
        (loop_s, loop_cpu_s), (one_s, one_cpu_s), (two_s, two_cpu_s) = (best[how] for how in ("loop", "1", "2"))
        print(
            f"{scenario}, {duration}, {count} runs: loop {loop_s:.2f} s ({loop_cpu_s:.2f} s of CPU), "
            f"sweep {one_s:.2f} s ({one_cpu_s:.2f} s): {100 * (one_s / loop_s - 1):+.1f} % wall, "
            f"{100 * (one_cpu_s / loop_cpu_s - 1):+.1f} % CPU; two threads {two_s:.2f} s ({two_cpu_s:.2f} s): "
            f"{one_s / two_s:.2f} times as fast"
        )


def measure(how: str, scenario: str, duration: str, count: int) -> tuple[float, float]:
    """Wall and CPU seconds of the runs, in a loop or as a sweep with so many threads; imports are not counted."""
    import duckdb  # noqa: F401
    import polars  # noqa: F401
    import scipy.stats  # noqa: F401

    import transorbit as to

    changes = {"duration": duration, "record.series": False}
    table = {"scenario": scenario, "replications": count, "set": changes}
    wall, cpu = time.perf_counter(), time.process_time()
    if how == "loop":
        base = to.Scenario.load(ROOT / "scenarios" / scenario).replace(changes)
        kept = [base.run(seed=1000 + number).summary for number in range(count)]
        assert len(kept) == count
    else:
        result = to.Sweep.from_dict(table, base_dir=ROOT / "scenarios").run(jobs=int(how))
        assert len(result.runs) == count
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(*sys.argv[2:5], int(sys.argv[5]))))
    else:
        main()
