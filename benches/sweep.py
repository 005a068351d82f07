"""What a sweep costs beside its runs, and what a second core gives.

Run with `.venv/bin/python benches/sweep.py [RUNS]`, 1,000 runs by default. Each measurement is a process of its own.
Loop, one thread and two are measured one after the other in each round, and the medians of the ratios are shown:
where a machine is faster at times, the least of many is luck. Asked for: less than 10 % on top of the same runs in a
plain loop, and with two cores at least 1.8 times the speed of one.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 5
# Scenario, simulated time, share of the runs: the second has a sky that takes most of a short run to be worked out.
CASES = [("lab-fixed.toml", "2 s", 1.0), ("leo-tcp.toml", "10 s", 0.2)]


def main() -> None:
    """Print a line for each case."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for scenario, duration, share in CASES:
        count = max(int(runs * share), 2)
        rounds = []
        for _ in range(REPEATS):
            of = {}
            for how in ("loop", "1", "2"):
                done = subprocess.run(
                    [sys.executable, __file__, "--measure", how, scenario, duration, str(count)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                of[how] = json.loads(done.stdout)
            rounds.append(of)
        wall, cpu = (100 * (median(of["1"][kind] / of["loop"][kind] for of in rounds) - 1) for kind in (0, 1))
        faster = median(of["1"][0] / of["2"][0] for of in rounds)
        print(
            f"{scenario}, {duration}, {count} runs: sweep {wall:+.1f} % wall and {cpu:+.1f} % CPU on top of a loop of "
            f"{median(of['loop'][0] for of in rounds):.2f} s; two threads {faster:.2f} times as fast as one"
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
