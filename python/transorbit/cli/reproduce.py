"""The command `transorbit reproduce`: the papers' tables and figures, and a verdict on each claim."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from transorbit import _content
from transorbit.cli import parse, show
from transorbit.cli.common import examples
from transorbit.cli.errors import UsageError

HELP = examples(
    "transorbit reproduce --list",
    "transorbit reproduce tauran-2018/table-4-1 --quick",
    "transorbit reproduce tauran-2018/table-4-1 --quick --json",
)


def reproduce(
    only: Annotated[str | None, Parameter(name="PAPER/ITEM")] = None,
    /,
    *,
    quick: Annotated[bool, Parameter(negative="")] = False,
    out: Path = Path("results/reproduction"),
    seed: str = "1",
    jobs: int | None = None,
    papers: Path | None = None,
    docs: Path | None = None,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Compute the tables and figures of the papers again, and judge what the papers say of them.

    Every claim is judged by a statistic with its 95 % interval: it holds, holds weakly, or does not hold. That one does
    not hold is a finding and no failure: the exit code is 0. It is 2 where a claim could not be judged.

    Args:
        only: A paper, or one item of it as PAPER/ITEM; everything by default.
        quick: Fewer points and replications, as each item says; wider intervals; investigations are left out.
        out: The folder for runs, figures, reproduction.html and reproduction.json. Runs there are not repeated.
        seed: The root seed, 1 to 1000000000.
        jobs: Runs at a time; by default one for each processor.
        papers: The folder of the papers; by default those that transorbit comes with.
        docs: Write the table of all claims and the figures into this folder of the documentation, too.
        list_: List papers, items and their numbers of claims, and run nothing.
        json_: Print the claims as JSON and nothing else.
        quiet: Print nothing.
    """
    from transorbit.reproduce import LARGEST_ROOT, items, reproduce, table

    if list_:
        print(table.listing(items.load(papers or _content.papers(), only)))
        return 0
    if docs and only:
        raise UsageError("--docs: writes the table of all papers; leave the paper out")
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs: {jobs} was given, 1 or more is expected")
    root = parse.seed(seed, least=1, most=LARGEST_ROOT)
    try:
        with show.progress(enabled=not quiet) as progress:
            done = reproduce(only, papers=papers, out=out, quick=quick, seed=root, jobs=jobs, progress=progress)
    except KeyboardInterrupt:
        print(f"transorbit: stopped; finished runs are kept in {out}: the same command goes on", file=sys.stderr)
        return 130
    done.save()
    if docs:
        done.publish(docs)
    if json_:
        print(json.dumps(done.records, indent=2, ensure_ascii=False), flush=True)
    elif not quiet:
        terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else None
        print(table.terminal(done.papers, width=width, colour=terminal), flush=True)
        print(done.provenance)
        print(f"Reproduction: {out / 'reproduction.html'}")
    for problem in done.problems:
        print(f"transorbit: {problem}", file=sys.stderr)
    return 2 if done.problems else 0
