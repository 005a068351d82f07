"""How the papers' channel was read: likelihood of what table 4.1 publishes, by speed, angle and hold.

Run with `python validation/channel_fit` (`--seeds N`, `--only NAME` to choose readings). The readings are the cases of
fit.sweep.toml; each runs both controls, with and without the reordering buffer, at 7, 10 and 13 dB. One fit sees the
success of HARQ in the six cells of table 4.1, which is without the buffer, another all thirty figures of these cells.
Table 4.2 is only judged. Writes docs/validation/channel-fit.csv, a row for each reading, best first, and prints it.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import transorbit as to

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PUBLISHED = ROOT / "papers" / "tauran-2018" / "tcp_single_flow.csv"
TABLE = ROOT / "docs" / "validation" / "channel-fit.csv"

SUCCESS = "harq_success_pct"
FIGURES = ("goodput_kbps", "rto_pct", "dupack_pct", "spurious_pct")
CLOSE = 0.25

Cell = tuple[str, bool, int]
Runs = dict[Cell, list[dict[str, float]]]


def main() -> None:
    """Run the sweep, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help="runs of each cell (by default those of fit.sweep.toml)")
    parser.add_argument("--only", nargs="*", help="names of readings")
    parser.add_argument("--store", type=Path, help="a file that keeps finished runs")
    parser.add_argument("--table", type=Path, default=TABLE, help="where the table goes")
    asked = parser.parse_args()
    sweep = to.Sweep.load(HERE / "fit.sweep.toml", outside=True)
    if asked.seeds:
        sweep = sweep.replace(replications=asked.seeds)
    if asked.only:
        sweep = sweep.replace(only={"reading": asked.only})
    with tempfile.TemporaryDirectory() as scratch:
        result = sweep.run(store=asked.store or Path(scratch) / "store.sqlite")
        rows = result.query("SELECT * FROM runs")
    readings: dict[str, Runs] = {}
    for row in rows.sort("seed").iter_rows(named=True):
        cell = (row["variant"], bool(row["reordering"]), round(row["snr"]))
        readings.setdefault(row["reading"], {}).setdefault(cell, []).append(row)
    write(table(readings, published("thesis"), published("psats")), asked.table)


def published(source: str) -> dict[Cell, dict[str, float]]:
    """The cells of tables 4.1 and 4.2 at 7, 10 and 13 dB, or those of the PSATS paper."""
    with PUBLISHED.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(line for line in file if line[0] != "#") if row["source"] == source]
    return {
        (row["variant"], row["reordering"] == "on", int(row["snr_db"])): {
            name: float(row[name]) for name in (SUCCESS, *FIGURES)
        }
        for row in rows
        if row["snr_db"] in {"7", "10", "13"}
    }


def table(
    readings: Mapping[str, Runs], thesis: Mapping[Cell, dict[str, float]], psats: Mapping[Cell, dict[str, float]]
) -> list[dict[str, object]]:
    """A row for each reading: log-likelihoods relative to the best, and what TCP's figures say of it."""
    fitted = sorted(cell for cell in thesis if not cell[1])
    judged = sorted(cell for cell in thesis if cell[1])
    correlations = {"fit": correlation(readings, fitted), "judged": correlation(readings, judged)}
    rows: list[dict[str, object]] = []
    for name, runs in readings.items():
        off = {cell: mean(runs, cell, SUCCESS) - thesis[cell][SUCCESS] for cell in thesis}
        rows.append(
            {
                "reading": name,
                "log_likelihood": likelihood(runs, thesis, fitted, correlations["fit"]),
                "log_likelihood_independent": likelihood(runs, thesis, fitted, np.eye(len(fitted))),
                "judged_log_likelihood": likelihood(runs, thesis, judged, correlations["judged"]),
                "judged_log_likelihood_independent": likelihood(runs, thesis, judged, np.eye(len(judged))),
                "table_4_1_log_likelihood": figures_likelihood(runs, thesis, fitted),
                "table_4_2_log_likelihood": figures_likelihood(runs, thesis, judged),
                "rms_fitted_points": rms([off[cell] for cell in fitted]),
                "rms_judged_points": rms([off[cell] for cell in judged]),
                "rms_psats_points": rms([mean(runs, cell, SUCCESS) - psats[cell][SUCCESS] for cell in psats]),
                **{
                    f"{figure.rpartition('_')[0]}_close": sum(close(runs, thesis, cell, figure) for cell in thesis)
                    for figure in FIGURES
                },
                "table_4_1_close": sum(close(runs, thesis, cell, figure) for cell in fitted for figure in FIGURES),
                "table_4_2_close": sum(close(runs, thesis, cell, figure) for cell in judged for figure in FIGURES),
            }
        )
    for column in [name for name in rows[0] if "likelihood" in name]:
        best = max(float(str(row[column])) for row in rows)
        for row in rows:
            row[column] = float(str(row[column])) - best
    return sorted(rows, key=lambda row: -float(str(row["log_likelihood_independent"])))


def mean(runs: Runs, cell: Cell, figure: str) -> float:
    """Over the seeds."""
    return statistics.fmean(row[figure] for row in runs[cell])


def rms(values: Sequence[float]) -> float:
    """Root of the mean of the squares."""
    return math.sqrt(statistics.fmean(value * value for value in values))


def close(runs: Runs, thesis: Mapping[Cell, dict[str, float]], cell: Cell, figure: str) -> bool:
    """Within a quarter of the published value; where 0 is published, to within its rounding."""
    value = thesis[cell][figure]
    return abs(mean(runs, cell, figure) - value) <= max(CLOSE * value, 0.005)


def correlation(readings: Mapping[str, Runs], cells: Sequence[Cell]) -> np.ndarray:
    """Of the success of cells that share a seed, hence a channel, over all readings."""
    parts = []
    for runs in readings.values():
        values = np.array([[row[SUCCESS] for row in runs[cell]] for cell in cells])
        parts.append((values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, ddof=1, keepdims=True))
    together: np.ndarray = np.corrcoef(np.concatenate(parts, axis=1))
    return together


def likelihood(
    runs: Runs, thesis: Mapping[Cell, dict[str, float]], cells: Sequence[Cell], correlations: np.ndarray
) -> float:
    """That one further run of each cell gives what is published: Student's law, with the spread of single runs."""
    values = np.array([[row[SUCCESS] for row in runs[cell]] for cell in cells])
    size, count = values.shape
    spread = values.std(axis=1, ddof=1) * (1 + 1 / count) ** 0.5
    # Published to a hundredth.
    scale = correlations * np.outer(spread, spread) + np.eye(size) * (0.01**2 / 12)
    off = np.array([thesis[cell][SUCCESS] for cell in cells]) - values.mean(axis=1)
    distance = float(off @ np.linalg.solve(scale, off))
    degrees = count - 1
    return -0.5 * float((degrees + size) * np.log1p(distance / degrees) + np.linalg.slogdet(scale)[1])


def figures_likelihood(runs: Runs, thesis: Mapping[Cell, dict[str, float]], cells: Sequence[Cell]) -> float:
    """As `likelihood`, of HARQ's success and TCP's four figures together, each by itself."""
    total = 0.0
    for cell in cells:
        for figure in (SUCCESS, *FIGURES):
            values = [row[figure] for row in runs[cell]]
            count = len(values)
            # Published to a whole kbit/s, or to a hundredth of a per cent.
            step = 1 if figure == "goodput_kbps" else 0.01
            variance = statistics.variance(values) * (1 + 1 / count) + step**2 / 12
            off = statistics.fmean(values) - thesis[cell][figure]
            total -= 0.5 * (count * math.log1p(off * off / variance / (count - 1)) + math.log(variance))
    return total


def write(rows: Sequence[Mapping[str, object]], path: Path) -> None:
    """As comma-separated text, and to the terminal."""
    text = [
        {name: f"{cell:.2f}" if isinstance(cell, float) else str(cell) for name, cell in row.items()} for row in rows
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(text[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(text)
    for row in text:
        print(*row.values(), sep="  ")


if __name__ == "__main__":
    main()
