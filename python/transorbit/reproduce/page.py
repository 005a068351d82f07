"""reproduction.html: every claim in one table, and every item with what is behind its claims."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from transorbit import _numbers
from transorbit.report.page import MISSING, Cell, Page, Tile
from transorbit.reproduce import claims, figures, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transorbit.report.page import Kind
    from transorbit.reproduce.claims import Judgement
    from transorbit.reproduce.items import Item, Paper
    from transorbit.reproduce.run import Outcome
    from transorbit.statistics import Interval


_KINDS: dict[str, Kind] = {claims.HOLDS: "good", claims.WEAKLY: "weak", claims.DOES_NOT: "bad", claims.ERROR: "bad"}
_HOW = (
    "Each claim is a number computed from our runs (its statistic) and what the paper says of that number. It holds if "
    "the whole 95 % interval is as the paper says, weakly if the estimate is but not all of the interval, and does not "
    "hold if the estimate is not."
)


def html(
    papers: Sequence[tuple[Paper, Sequence[Outcome]]],
    *,
    provenance: str,
    build: str,
    problems: Sequence[str],
    options: str,
) -> str:
    """The page, which needs no other file; `options` are those of the command that made it."""
    page = Page("The papers, reproduced", provenance, footer=f"{provenance} Build {build}.")
    _summary(page, papers, problems)
    for paper, outcomes in papers:
        if not outcomes:
            continue
        page.section(paper.short, anchor=paper.key, note=table.heading(paper) + ".")
        for outcome in outcomes:
            _item(page, outcome, options)
    return page.html()


def _summary(page: Page, papers: Sequence[tuple[Paper, Sequence[Outcome]]], problems: Sequence[str]) -> None:
    counts = table.verdicts(papers)
    total = sum(counts.values())
    page.tiles(
        [Tile("Claims", str(total))]
        + [Tile(verdict.capitalize(), str(count), kind=_KINDS[verdict]) for verdict, count in counts.items()]
    )
    page.text(_HOW)
    _by_kind(page, table.by_kind(papers))
    page.warnings(problems, heading="Not judged")
    page.section("All claims")
    rows = [
        [
            _verdict(judgement),
            paper.short,
            Cell(outcome.item.name, href=f"#{_anchor(outcome.item)}"),
            Cell(judgement.claim.says, note=table.remark(judgement)),
            judgement.claim.kind,
            _minus(table.paper_value(judgement)),
            _minus(table.value(judgement)),
        ]
        for paper, outcomes in papers
        for outcome in outcomes
        for judgement in outcome.judgements
    ]
    header = ["Verdict", "Paper", "Item", "Claim", "Kind", "Paper's value", "Ours, 95 % interval"]
    page.table(header, rows, filters=[0, 1, 4])


def _by_kind(page: Page, counts: dict[str, dict[str, int]]) -> None:
    if counts:
        page.text(f"{table.by_kind_in_words(counts)} A sentence of several papers counts once here.")
        header, *rows = table.kinds(counts)
        page.table(header, rows, whole=True)


def _item(page: Page, outcome: Outcome, options: str) -> None:
    item = outcome.item
    page.section(f"{item.name}: {item.title}", level=3, anchor=_anchor(item), note=item.where)
    if item.description:
        page.text(item.description)
    page.warnings(outcome.problems, heading="Not all of this could be computed")
    if not outcome.published:
        page.text(_unpublished(outcome.judgements), kind="muted")
    for comparison in outcome.comparisons:
        _comparison(page, comparison)
    for number, path in enumerate(outcome.figures):
        published = "; published values hollow or dashed" if outcome.published else ""
        table = path.with_suffix(".csv")
        numbers = table.read_text(encoding="utf-8") if table.is_file() else ""
        page.figure(path.read_text(encoding="utf-8"), f"{item.name}, plot {number + 1}{published}", numbers=numbers)
    if outcome.judgements:
        _claims(page, outcome.judgements)
    page.code(f"transorbit reproduce {item.id}{options}", label="Again")
    page.code(_statistics(outcome.judgements), label="Statistics", folded=True)
    page.code(item.path.read_text(encoding="utf-8"), label=f"Item: {item.path.name}", folded=True)
    if outcome.scenario:
        page.code(outcome.scenario, label="Scenario before the sweep's changes, every default filled in", folded=True)
    page.text(_origin(outcome), kind="muted")


def _unpublished(judgements: Sequence[Judgement]) -> str:
    """Returns the text on an item without a table of published values."""
    if not judgements:
        return "The paper gives no numbers here."
    if any(re.search(r"\d", str(judgement.claim.paper_value)) for judgement in judgements):
        return "No published values stand beside ours here; the numbers of the paper's text are with the claims below."
    return "The paper gives no numbers here; its statements are below."


def _claims(page: Page, judgements: Sequence[Judgement]) -> None:
    rows = [
        [
            _verdict(judgement),
            Cell(judgement.claim.says, below=_remark(judgement)),
            judgement.claim.kind,
            judgement.claim.where or None,
            _minus(f"{judgement.claim.predicate} {judgement.claim.unit}".rstrip()),
            _minus(table.paper_value(judgement)),
            _minus(table.value(judgement)),
        ]
        for judgement in judgements
    ]
    header = ["Verdict", "Claim", "Kind", "Where", "Expected", "Paper's value", "Ours, 95 % interval"]
    page.table(header, rows, whole=True)


def _comparison(page: Page, comparison: figures.Comparison) -> None:
    sides = ["ours", "paper"] if comparison.has_published else ["ours"]
    header = [*comparison.rows, *(f"{level} {side}".strip() for level in comparison.levels for side in sides)]
    rows = []
    for row, values in comparison.lines:
        cells: list[object] = [str(value) if isinstance(value, bool) else value for value in row]
        for ours, theirs in values:
            cells.append(Cell(_interval(ours), sort=ours.mean) if ours and ours.count else None)
            if comparison.has_published:
                cells.append(theirs)
        rows.append(cells)
    page.table(header, rows, caption=comparison.label)


def _interval(interval: Interval) -> str:
    spread = f" ± {table.number(interval.half_width)}" if interval.high > interval.low else ""
    return _minus(f"{table.number(interval.mean)}{spread}")


def _minus(text: str) -> str:
    """Numbers with a true minus, as the page writes its own; hyphens between words and digits stay."""
    return re.sub(r"(?<![^\s\[(])-(?=\d)|(?<=\de)-(?=\d)", "\N{MINUS SIGN}", text) if text != "-" else MISSING


def _statistics(judgements: Sequence[Judgement]) -> str:
    blocks = []
    for judgement in judgements:
        claim = judgement.claim
        each = f", for each {', '.join(claim.for_each)} ({judgement.groups} groups)" if claim.for_each else ""
        lines = [
            f"-- {claim.name}: {claim.predicate} {claim.unit}".rstrip() + f"; {claim.test}{each}",
            f"SELECT {claim.statistic}",
            f"FROM {claim.table};",
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _origin(outcome: Outcome) -> str:
    if outcome.item.study:
        return f"A study: {outcome.item.study.function}, {_numbers.counted(len(outcome.seeds), 'seed')}."
    first, last = (outcome.seeds[0], outcome.seeds[-1]) if outcome.seeds else ("-", "-")
    return f"{_numbers.counted(outcome.runs, 'run')}; seeds {first} to {last}."


def _verdict(judgement: Judgement) -> Cell:
    return Cell(judgement.verdict, sort=str(claims.VERDICTS.index(judgement.verdict)), kind=_KINDS[judgement.verdict])


def _remark(judgement: Judgement) -> str:
    where = judgement.claim.investigation
    return f"{table.remark(judgement)} {f'See docs/validation/{where}.' if where else ''}".strip()


def _anchor(item: Item) -> str:
    return f"{item.paper}-{item.name}"
