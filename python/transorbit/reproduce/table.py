"""Claim by claim as text: for a terminal, in Markdown, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit import _numbers
from transorbit._markdown import cell
from transorbit.reproduce import claims
from transorbit.reproduce.tolerance import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from transorbit.reproduce.claims import Judgement
    from transorbit.reproduce.items import Paper
    from transorbit.reproduce.run import Outcome

    Papers = Sequence[tuple[Paper, Sequence[Outcome]]]

_COLOURS = {claims.HOLDS: "32", claims.WEAKLY: "33", claims.DOES_NOT: "31", claims.ERROR: "1;31"}
_DIGITS = 3
# The powers of ten below which a number is written out.
_MOST = 6
_SHORTEST_CLAIM = 24
_GAP = "  "


def terminal(papers: Papers, *, width: int | None, colour: bool) -> str:
    """One line for each claim, by paper, and a count.

    Args:
        width: of the terminal; claims are cut so that lines fit. None prints them whole.
        colour: whether verdicts are coloured.
    """
    lines: list[str] = []
    for paper, outcomes in papers:
        rows = [_cells(outcome, judgement) for outcome in outcomes for judgement in outcome.judgements]
        if rows:
            lines += [heading(paper), *_aligned(rows, width=width, colour=colour), ""]
    return "\n".join([*lines, counted(verdicts(papers)), by_kind_in_words(by_kind(papers))]).rstrip()


def markdown(papers: Papers, provenance: str) -> str:
    """All claims as a page of the documentation."""
    counts = by_kind(papers)
    lines = [
        "<!-- Written by `make validation`; do not edit. -->",
        "",
        "# Claims of the papers, one by one",
        "",
        f"{counted(verdicts(papers))} {provenance}",
        "",
        *([by_kind_in_words(counts), "", *_rows(kinds(counts)), ""] if counts else []),
        "What verdicts, kinds and tolerances mean is in [how claims are",
        "judged](../reproduce.md#how-a-claim-is-judged).",
        "The plots are not in the repository: `make validation` draws them and writes the page `figures.md` beside",
        "this one, which shows all of them; `make docs` then takes it into the site.",
        "",
    ]
    for paper, outcomes in papers:
        rows = []
        for outcome in outcomes:
            for judgement in outcome.judgements:
                verdict, item, says, paper_value, ours = map(cell, _cells(outcome, judgement))
                bold = verdict if judgement.verdict == claims.HOLDS else f"**{verdict}**"
                expected = f"{judgement.claim.predicate} {judgement.claim.unit}".rstrip()
                kind = judgement.claim.kind
                rows.append([bold, kind, item, says, paper_value, expected, ours, cell(_remarks(judgement))])
        if not rows:
            continue
        lines += [f"## {heading(paper)}", ""]
        header = ["Verdict", "Kind", "Item", "Claim", "Paper", "Expected", "Ours (95 % interval)", "Remarks"]
        lines += _rows([header, *rows])
        lines.append("")
    return "\n".join(lines)


def pictures(papers: Papers) -> str:
    """All plots as a page of the documentation."""
    lines = ["<!-- Written by `make validation`; not in the repository. -->", "", "# Plots of the papers' items", ""]
    for paper, outcomes in papers:
        shown = [line for outcome in outcomes for line in _pictures(outcome)]
        lines += [f"## {heading(paper)}", "", *shown] if shown else []
    return "\n".join(lines)


def records(papers: Papers) -> list[dict[str, Any]]:
    """Returns the records of `reproduction.json`, one for each claim; see `docs/reproduce.md`."""
    return [
        {
            "paper": paper.key,
            "item": outcome.item.name,
            "name": judgement.claim.name,
            "kind": judgement.claim.kind,
            "claim": judgement.claim.says,
            "verdict": judgement.verdict,
            "paper_value": judgement.claim.paper_value,
            "our_value": judgement.interval.mean if judgement.interval else None,
            "interval": [judgement.interval.low, judgement.interval.high] if judgement.interval else [None, None],
            "note": judgement.note,
            "reason": judgement.claim.reason,
            "repeats": judgement.claim.repeats,
        }
        for paper, outcomes in papers
        for outcome in outcomes
        for judgement in outcome.judgements
    ]


def listing(papers: Iterable[Paper]) -> str:
    """Papers, their items, and how many claims each has."""
    lines: list[str] = []
    total = 0
    for paper in papers:
        lines.append(f"{paper.key}: {heading(paper)}")
        width = max((len(item.name) for item in paper.items), default=0)
        for item in paper.items:
            total += len(item.claims)
            lines.append(f"  {item.name:{width}}  {_numbers.counted(len(item.claims), 'claim'):>9}  {item.title}")
        lines.append("")
    return "\n".join([*lines, _numbers.counted(total, "claim")])


def verdicts(papers: Papers) -> dict[str, int]:
    """Returns the number of claims with each verdict, the best first; those that none has are left out."""
    all_verdicts = [
        judgement.verdict for _, outcomes in papers for outcome in outcomes for judgement in outcome.judgements
    ]
    return {verdict: all_verdicts.count(verdict) for verdict in claims.VERDICTS if verdict in all_verdicts}


def by_kind(papers: Papers) -> dict[str, dict[str, int]]:
    """Returns the number of sentences of each kind with each verdict, without studies of our own.

    A sentence that several claims are of counts once.
    """
    judgement_of_sentence: dict[str, Judgement] = {}
    for paper, outcomes in papers:
        for outcome in () if paper.own else outcomes:
            for judgement in outcome.judgements:
                own = f"{paper.key}/{outcome.item.name}#{judgement.claim.name}"
                if not judgement.claim.repeats:
                    judgement_of_sentence[own] = judgement
                elif judgement.claim.repeats not in judgement_of_sentence:
                    judgement_of_sentence[judgement.claim.repeats] = judgement
    counts: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
    for judgement in judgement_of_sentence.values():
        of_kind = counts[judgement.claim.kind]
        of_kind[judgement.verdict] = of_kind.get(judgement.verdict, 0) + 1
    return {kind: of_kind for kind, of_kind in counts.items() if of_kind}


def by_kind_in_words(counts: dict[str, dict[str, int]]) -> str:
    """Returns a sentence on how many of each kind hold; those that hold weakly do not count."""
    of = {kind: (counts[kind].get(claims.HOLDS, 0), sum(counts[kind].values())) for kind in counts}
    parts = []
    said = [
        f"{of[kind][0]} of {_numbers.counted(of[kind][1], kind)}"
        for kind in ("direction", "threshold", "number")
        if kind in of
    ]
    if said:
        parts.append(f"{_and(said)} that the papers state hold")
    if "arithmetic" in of:
        parts.append("{} of {} that follow from parameters alone".format(*of["arithmetic"]))
    if "investigation" in of:
        parts.append("{} of {} under other parameters than the papers'".format(*of["investigation"]))
    return f"{'; '.join(parts)}." if parts else ""


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def kinds(counts: dict[str, dict[str, int]]) -> list[list[str]]:
    """A table of the counts by kind, its header first."""
    shown = [verdict for verdict in claims.VERDICTS if any(verdict in of_kind for of_kind in counts.values())]
    rows = [["Kind", "What it is", *(verdict.capitalize() for verdict in shown)]]
    return rows + [
        [kind, KINDS[kind], *(str(of_kind.get(verdict, 0)) for verdict in shown)] for kind, of_kind in counts.items()
    ]


def counted(counts: dict[str, int]) -> str:
    """The counts in a sentence."""
    plurals = {
        claims.HOLDS: "hold",
        claims.WEAKLY: "hold weakly",
        claims.DOES_NOT: "do not hold",
        claims.ERROR: "errors",
    }
    parts = [f"{count} {verdict if count == 1 else plurals[verdict]}" for verdict, count in counts.items()]
    return f"{_numbers.counted(sum(counts.values()), 'claim')}: {', '.join(parts)}." if parts else "No claims."


def heading(paper: Paper) -> str:
    """A paper in a line: who, what, where, when."""
    return ", ".join(str(part) for part in (paper.authors, paper.title, paper.venue, paper.year) if part)


def value(judgement: Judgement) -> str:
    """Our value with its interval and unit; a dash where there is none."""
    if not judgement.interval:
        return "-"
    interval, unit = judgement.interval, judgement.claim.unit
    text, low, high = map(number, (interval.mean, interval.low, interval.high))
    # Ends that round to the mean are those of exact values, summed in another order.
    if not low == text == high:
        text += f" [{low}, {high}]"
    return f"{text} {unit}".rstrip()


def remark(judgement: Judgement) -> str:
    """The note, then the tolerance's reason, and of which claim it is a repeat."""
    claim = judgement.claim
    reason = f"Tolerance: {claim.reason}" if claim.reason else ""
    repeats = f"The sentence is that of {claim.repeats}, and counted there." if claim.repeats else ""
    return " ".join(part for part in (judgement.note, reason, repeats) if part)


def paper_value(judgement: Judgement) -> str:
    """The paper's value with its unit; a dash where there is none."""
    given = judgement.claim.paper_value
    if given is None:
        return "-"
    return given if isinstance(given, str) else f"{number(given)} {judgement.claim.unit}".rstrip()


def number(given: float) -> str:
    """Three digits, or all before the point, up to a million."""
    return _numbers.number(float(given), _DIGITS, most=_MOST)


def _rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown; the first row is its header."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _cells(outcome: Outcome, judgement: Judgement) -> list[str]:
    says = judgement.claim.says if not judgement.error else f"{judgement.claim.name}: {judgement.error}"
    return [judgement.verdict, outcome.item.name, says, paper_value(judgement), value(judgement)]


def _aligned(rows: Sequence[Sequence[str]], *, width: int | None, colour: bool) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    if width is not None:
        others = sum(widths) - widths[2] + len(_GAP) * 5
        widths[2] = min(widths[2], max(_SHORTEST_CLAIM, width - others))
    lines = []
    for row in rows:
        cells = [_cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)]
        if colour:
            cells[0] = f"\033[{_COLOURS[row[0]]}m{cells[0]}\033[0m"
        lines.append((_GAP + _GAP.join(cells)).rstrip())
    return lines


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _pictures(outcome: Outcome) -> list[str]:
    lines = [f"**{outcome.item.name}: {outcome.item.title}** ({outcome.item.where or outcome.item.paper})", ""]
    for number, path in enumerate(outcome.figures, 1):
        lines += [f"![{outcome.item.name}, plot {number}](figures/{outcome.item.paper}/{path.name})", ""]
    return lines if outcome.figures else []


def _remarks(judgement: Judgement) -> str:
    page = judgement.claim.investigation
    link = f" See [the investigation]({page})." if page else ""
    return (remark(judgement) + link).strip()
