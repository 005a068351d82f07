"""The papers' tables and figures computed again, and their claims judged one by one.

Example:
    >>> from transorbit.reproduce import reproduce
    >>> done = reproduce("tauran-2018/table-4-1", quick=True)  # doctest: +SKIP
    >>> done.records[0]["verdict"]  # doctest: +SKIP
    >>> done.save()  # doctest: +SKIP
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _content, _numbers
from transorbit._core import ScenarioError, version
from transorbit.reproduce import items, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from transorbit.reproduce.items import Item, Paper
    from transorbit.reproduce.run import Outcome

LARGEST_ROOT = 10**9


@dataclass(frozen=True)
class Reproduction:
    """Papers with the outcomes of their items.

    Attributes:
        papers: each paper with the outcomes of its items, in the paper's order.
        out: the folder that keeps the runs, and in which `save` writes.
        provenance: version, root seed, quick or full, in a sentence.
        left_out: items that only the full reproduction computes.
    """

    papers: Sequence[tuple[Paper, Sequence[Outcome]]]
    out: Path
    seed: int
    quick: bool
    left_out: Sequence[Item] = ()

    @property
    def provenance(self) -> str:
        """Version, root seed, and quick or full, in a sentence."""
        extent = "quick: fewer points and replications, wider intervals" if self.quick else "full"
        left_out = ""
        if self.left_out:
            claims = _numbers.counted(sum(len(item.claims) for item in self.left_out), "claim")
            left_out = f" Left out: {_numbers.counted(len(self.left_out), 'item')} with {claims}."
        return f"Transorbit {version()}, root seed {self.seed}, {extent}.{left_out}"

    @property
    def build(self) -> str:
        """The hash of the compiled core, which differs between builds of a version."""
        from transorbit.sweep.work import build

        return build()

    @property
    def records(self) -> list[dict[str, Any]]:
        """One for each claim, with the keys that docs/reproduce.md lists."""
        return table.records(self.papers)

    @property
    def problems(self) -> list[str]:
        """Why claims could not be judged, one line each; empty if all were."""
        lines = []
        for _, outcomes in self.papers:
            for outcome in outcomes:
                lines += [f"{outcome.item.path}: {problem}" for problem in outcome.problems]
                lines += [
                    f'{outcome.item.path}: claim "{judgement.claim.name}": {judgement.error}'
                    for judgement in outcome.judgements
                    if judgement.error and judgement.error not in outcome.problems
                ]
        return lines

    def save(self) -> None:
        """Write reproduction.json, reproduction.md, figures.md, reproduction.html and the figures into the folder."""
        self.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.records, indent=2, ensure_ascii=False) + "\n"
        (self.out / "reproduction.json").write_text(text, encoding="utf-8")
        (self.out / "reproduction.md").write_text(table.markdown(self.papers, self.provenance), encoding="utf-8")
        (self.out / "figures.md").write_text(table.pictures(self.papers), encoding="utf-8")
        from transorbit.reproduce import page

        options = f"{' --quick' if self.quick else ''} --seed {self.seed}"
        html = page.html(
            self.papers, provenance=self.provenance, build=self.build, problems=self.problems, options=options
        )
        (self.out / "reproduction.html").write_text(html, encoding="utf-8")

    def publish(self, docs: Path) -> None:
        """Copy the table of claims, the figures and their page into a folder of the documentation."""
        docs.mkdir(parents=True, exist_ok=True)
        for page in ("reproduction.md", "figures.md"):
            shutil.copyfile(self.out / page, docs / page)
        for _, outcomes in self.papers:
            for figure in (path for outcome in outcomes for path in outcome.figures):
                copy = docs / figure.relative_to(self.out)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(figure, copy)


def reproduce(
    only: str | None = None,
    *,
    papers: str | Path | None = None,
    out: str | Path = "results/reproduction",
    quick: bool = False,
    seed: int = 1,
    jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Compute the papers' items and judge their claims.

    Finished runs are kept in `out` at once; a later call with the same folder uses them.

    Args:
        only: PAPER or PAPER/ITEM; everything by default.
        papers: the folder of the papers, by default those that come with the package.
        out: the folder for the runs; `Reproduction.save` writes there.
        quick: compute what each item calls quick, and leave out items that say so, unless one is asked for by name.
        seed: the root seed, 1 to 10^9: replication r of every point runs with seed 1000 seed + r.
        jobs: how many runs at once; by default one for each processor.
        progress: called repeatedly with the share that is done, 0 to 1.

    Raises:
        ScenarioError: no such paper or item, or one of their files is wrong.
        OSError: the folder cannot be written.
    """
    # Root 0 would include seed 0, which marks the rows of a deterministic study.
    if not 1 <= seed <= LARGEST_ROOT:
        raise ScenarioError(f"seed: {seed} was given, a whole number from 1 to {LARGEST_ROOT} is expected")
    chosen = items.load(Path(papers) if papers else _content.papers(), only)
    from transorbit.reproduce import run

    named = only is not None and "/" in only.strip("/")
    left_out = [item for paper in chosen for item in paper.items if quick and item.only_full and not named]
    ids = {item.id for item in left_out}
    wanted = [replace(paper, items=tuple(item for item in paper.items if item.id not in ids)) for paper in chosen]
    runner = run.Runner(out=Path(out), quick=quick, seed=seed, jobs=jobs, progress=progress)
    return Reproduction(runner.run(wanted), Path(out), seed, quick, left_out)
