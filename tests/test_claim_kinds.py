"""What a claim is of: its kind, the reason of its tolerance, the sentence that it repeats, the cells of a table."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

import pytest

import transorbit as to
from conftest import ROOT
from test_reproduce import CLAIM, STUDY, item
from transorbit.reproduce import items, reproduce, table, tolerance
from transorbit.reproduce.tolerance import Predicate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1.40", [(1.4, 0.005)]),
        ("380 (PSATS 346)", [(380, 0.5), (346, 0.5)]),
        ("1,068 to 706", [(1068, 0.5), (706, 0.5)]),
        ("-6.98", [(-6.98, 0.005)]),
        ("with CRDSA-3", []),
    ],
)
def test_published_numbers_have_the_rounding_of_their_digits(text: str, found: list[tuple[float, float]]) -> None:
    assert tolerance.numbers(text) == [pytest.approx(one) for one in found]


@pytest.mark.parametrize(
    ("kind", "predicate", "published", "says", "told"),
    [
        ("direction", Predicate(0.0, None), None, "more", ""),
        ("direction", Predicate(None, 1.0), None, "less", ""),
        ("direction", Predicate(None, 1.1), None, "less", "below 1.1 is a limit that the paper does not name"),
        # A bound of 1 is none of the paper's, but where it is a ratio.
        ("threshold", Predicate(None, 1.0), None, "hardly any", "below 1 is a limit that the paper does not name"),
        ("threshold", Predicate(0.45, None), None, "over 450 ms", ""),
        ("threshold", Predicate(None, 650.0), None, "never 650", ""),
        ("threshold", Predicate(None, 650.0), 355, "never more", "below 650 is a limit that the paper does not name"),
        ("number", Predicate(1.35, 1.45, closed=True), 1.4, "", ""),
        (
            "number",
            Predicate(1.35, 1.46, closed=True),
            1.4,
            "",
            "between 1.35 and 1.46 is wider than what is published",
        ),
        (
            "number",
            Predicate(1.35, 1.45, closed=True),
            tolerance.Printed("1.40"),
            "",
            "1.395 to 1.405 with its rounding",
        ),
        ("number", Predicate(1.12, 1.32, closed=True), "1.24, 1.19, 1.26", "", "1.185 to 1.265 with its rounding"),
        ("number", Predicate(0.9, 1.1, closed=True), None, "the same", "is a tolerance, and no number is published"),
        ("number", Predicate(0.0, None), 0.09, "90 ms earlier", "above 0 is no tolerance around a number"),
    ],
)
def test_a_predicate_wider_than_what_is_published_needs_a_reason(
    kind: str, predicate: Predicate, published: float | str | None, says: str, told: str
) -> None:
    found = tolerance.unexplained(kind, predicate, published, says)

    assert told in found
    assert bool(found) == bool(told)


# ---- cells and repeats


PUBLISHED = '[published]\nsql = "SELECT * FROM (VALUES (1000, 1000.5), (1001, 2000), (1002, 0)) AS t(seed, x)"\n'
CELLS = """[[claims]]
name = "cell"
kind = "number"
says = "Seed {seed} has {published}"
cells = { value = "x", of = ["seed"], where = "x < 1500", within = 0.25, rounding = 0.5 }
reason = "A quarter."
"""


def test_a_claim_for_each_cell_of_a_published_table(tmp_path: Path) -> None:
    item(tmp_path, STUDY + "replications = 2\n[quick]\nreplications = 1\n" + PUBLISHED + CELLS)

    (paper,) = items.load(tmp_path / "papers")
    first, third = paper.items[0].claims
    assert (first.name, first.says) == ("cell-1000", "Seed 1000 has 1000.5")
    assert (first.predicate.low, first.predicate.high) == (750.375, 1250.625)
    assert (third.predicate.low, third.predicate.high) == (-0.5, 0.5), "what is printed as 0"

    def judged(**options: Any) -> list[tuple[str, str]]:
        done = reproduce(papers=tmp_path / "papers", out=tmp_path / "out", **options)
        return [(record["name"], record["verdict"]) for record in done.records]

    # Seed 1000 has 1000; 1002 is never run, which only a quick reproduction may leave out.
    assert judged(quick=True) == [("cell-1000", "holds weakly")]
    assert judged()[1] == ("cell-1002", "error")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ('value = "z", of = ["seed"]', "cells: z: no such column of the published values: one of seed, x"),
        ('value = "x", of = ["seed"], within = -1', "cells.within: -1 was given, a number from 0 on is expected"),
        ('value = "x", of = ["seed"], where = "nope"', "cells.where: "),
        ('value = "x", of = ["seed"], share = 1', "cells.share: unknown key"),
    ],
)
def test_cells_that_are_wrong(tmp_path: Path, cells: str, message: str) -> None:
    given = CELLS.replace(CELLS.partition("{ value")[2].partition(" }")[0], cells.partition("value")[2])
    item(tmp_path, STUDY + PUBLISHED + given)

    with pytest.raises(to.ScenarioError, match=re.escape(message)):
        items.load(tmp_path / "papers")


def test_a_sentence_of_two_papers_counts_once(tmp_path: Path) -> None:
    again = CLAIM.replace("first", "again").replace("above = 0", "below = 0")
    item(tmp_path, STUDY + CLAIM)
    item(tmp_path, STUDY + again + 'repeats = "some-2020/table-1#first"\n', "table-2")

    done = reproduce(papers=tmp_path / "papers", out=tmp_path / "out")

    assert [record["verdict"] for record in done.records] == ["holds weakly", "does not hold"]
    assert done.records[1]["repeats"] == "some-2020/table-1#first"
    assert table.by_kind(done.papers) == {"direction": {"holds weakly": 1}}
    alone = reproduce("some-2020/table-2", papers=tmp_path / "papers", out=tmp_path / "out")
    assert table.by_kind(alone.papers) == {"direction": {"does not hold": 1}}


def test_a_study_of_our_own_is_judged_and_not_counted_as_a_paper(tmp_path: Path) -> None:
    item(tmp_path, STUDY + CLAIM)
    assert table.by_kind(reproduce(papers=tmp_path / "papers", out=tmp_path / "out").papers)
    about = tmp_path / "papers" / "some-2020" / "paper.toml"
    about.write_text(about.read_text() + "\nown = true\n")

    done = reproduce(papers=tmp_path / "papers", out=tmp_path / "out")

    assert [record["verdict"] for record in done.records] == ["holds weakly"]
    assert table.by_kind(done.papers) == {}
    assert "What it is" not in table.markdown(done.papers, ""), "a table without rows"
    assert [paper.key for paper in items.load(ROOT / "papers") if paper.own] == ["quic-and-tcp"]


# ---- the papers of the project

# What a sentence says of how much more or less it is, and how near two things are.
SAID_OF_SOMETHING_ELSE = {"tauran-2018/figure-5-8#short-and-long-are-worse", "tauran-2020/table-5-voice#voice-order"}
DEGREE = re.compile(
    r"\b(far|much|strongly|highly|greatly|drastically|significantly|clearly|mainly|rarely|hardly|slightly|little|"
    r"nearly|almost|about|around|several times)\b",
    re.IGNORECASE,
)


def test_a_sentence_of_how_much_is_not_judged_by_its_sign_alone() -> None:
    lenient = [
        f"{one.id}#{claim.name}: {claim.says}"
        for paper in items.load(ROOT / "papers")
        for one in paper.items
        for claim in one.claims
        if claim.kind == "direction" and not claim.reason and DEGREE.search(claim.says)
    ]

    assert {line.partition(": ")[0] for line in lenient} == SAID_OF_SOMETHING_ELSE


def test_the_sentence_of_the_table_goes_into_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "papers"))
    readme = importlib.import_module("readme")
    monkeypatch.setattr(readme, "DOCS", tmp_path)
    counts = {"direction": {"holds": 3, "holds weakly": 1}, "number": {"holds": 1}, "arithmetic": {"holds": 2}}
    sentence = table.by_kind_in_words(counts)
    assert sentence == (
        "3 of 4 directions and 1 of 1 number that the papers state hold; 2 of 2 that follow from parameters alone."
    )
    (tmp_path / "reproduction.md").write_text(f"# Claims\n\n7 claims: 6 hold.\n\n{sentence}\n")

    written = readme.written((ROOT / "README.md").read_text())

    assert sentence in " ".join(written.split())
    assert readme.written(written) == written, "and again"


def test_readme_counts_claims_as_the_table_of_the_documentation_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "papers"))
    readme = importlib.import_module("readme")

    text = (ROOT / "README.md").read_text()
    assert readme.written(text) == text, "papers/readme.py writes it"
    assert " ".join(readme.sentence().split()) in " ".join(text.split())
    assert sum(map(int, re.findall(r"of (\d+)", readme.sentence()))) > 400
