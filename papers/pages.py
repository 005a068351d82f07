"""What the pages of tables share: how much is run, many runs at once, tables in Markdown, pictures."""

import argparse
import math
import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from transorbit.plots import style

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "validation"

Case = TypeVar("Case")
Row = dict[str, float]
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Effort:
    """How much is run, and where the results go."""

    quick: bool

    @property
    def duration(self) -> str:
        """Simulated time of a run."""
        return "10 s" if self.quick else "100 s"

    def seeds(self, count: int) -> range:
        """Seeds 1 to `count`, or the first two."""
        return range(1, 1 + (2 if self.quick else count))

    def some(self, cases: Sequence[Case]) -> Sequence[Case]:
        """All cases, or the first, the middle one and the last."""
        return (cases[0], cases[len(cases) // 2], cases[-1]) if self.quick and len(cases) > 3 else cases

    def write(self, name: str, lines: Sequence[str], script: str) -> None:
        """Write a page of tables; `script` is the path from papers of what made it."""
        text = "\n".join([f"<!-- Written by papers/{script}; do not edit. -->", "", *lines])
        path = self._folder(DOCS) / name
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}", flush=True)

    def save(self, figure: Figure, name: str) -> None:
        """Write a picture."""
        path = self._folder(ROOT / "docs" / "images") / name
        style.save(figure, path)
        # A few colours do, and a third of the bytes.
        with Image.open(path) as image:
            image.convert("RGB").quantize(64).save(path, optimize=True)

    def _folder(self, folder: Path) -> Path:
        if not self.quick:
            return folder
        quick = ROOT / "results" / "quick"
        quick.mkdir(parents=True, exist_ok=True)
        return quick


def effort(doc: str | None, quick: str = "two seeds of 10 s and few loads") -> Effort:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{quick}, into results/quick")
    return Effort(parser.parse_args().quick)


def sweep(cases: Iterable[Case], seeds: Iterable[int], run: Callable[[Case, int], Row]) -> dict[Case, list[Row]]:
    """The rows of every case, one for each seed, on all processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {case: [pool.submit(run, case, seed) for seed in seeds] for case in cases}
        return {case: [job.result() for job in runs] for case, runs in jobs.items()}


def average(values: Iterable[float | None]) -> float:
    """Mean of the values there are; NaN if there are none."""
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else float("nan")


def mean(rows: Sequence[Row], key: str) -> float:
    """Mean over the seeds."""
    return statistics.mean(row[key] for row in rows)


def cell(rows: Sequence[Row], key: str, digits: int) -> str:
    """Mean and standard deviation over the seeds; a dash where a seed has no value."""
    values = [row[key] for row in rows]
    if not all(map(math.isfinite, values)):
        return "-"
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def point(x: float, rows: Sequence[Row], key: str) -> Point:
    """Mean and standard deviation over the seeds, at x."""
    return x, mean(rows, key), statistics.stdev(row[key] for row in rows)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table in Markdown, with an empty line after it."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines] + [""]


@contextmanager
def panels(rows: int, columns: int, height: float) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of panels in the project's style, row by row."""
    with style.figure(title="", until_s=1, height=height) as (figure, _):
        figure.clear()
        yield figure, list(figure.subplots(rows, columns, squeeze=False).flat)
