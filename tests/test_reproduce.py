"""Claims of papers: verdicts, their intervals, what is kept, and the command."""

from __future__ import annotations

import json
import math
import shutil
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import chromium
import transorbit as to
from conftest import ROOT, Outcome
from transorbit.report.page import MISSING
from transorbit.reproduce import figures, items, page, reproduce, run, study, table
from transorbit.reproduce.tolerance import Predicate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAPERS = ROOT / "tests/fixtures/papers"
# Student's t, 97.5 %, for 1, 2 and 3 degrees of freedom (any table).
T1, T2, T3 = 12.7062, 4.30265, 3.18245
# The same for two groups: 98.75 %, 2 degrees of freedom.
T2_OF_TWO = 6.20535

MINUS = "\N{MINUS SIGN}"
ABOVE_ZERO = Predicate(0.0, None)

# ---- files


def test_a_sweep_has_the_settings_of_its_paper_below_its_own(tmp_path: Path) -> None:
    sweep = 'title = "One"\n[sweep]\nscenario = "one.toml"\nsettings = "all"\nset = { duration = "2 s" }\n'
    folder = item(tmp_path, sweep)
    about = 'title = "Some"\n[settings.all]\nduration = "9 s"\n"channel.speed" = "105 km/h"\n'
    (folder / "paper.toml").write_text(about)
    (folder / "figure-1.toml").write_text('title = "Two"\nlike = "table-1"\n')

    [paper] = items.load(folder.parent)

    for one in paper.items:
        assert one.sweep == {"scenario": "one.toml", "set": {"duration": "2 s", "channel.speed": "105 km/h"}}


def item(tmp_path: Path, text: str, name: str = "table-1") -> Path:
    """A paper of one item, with a study to have something computed."""
    folder = tmp_path / "papers" / "some-2020"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "paper.toml").write_text('title = "Some"\n')
    (folder / "studies.py").write_text("def one(*, seeds, quick):\n    return [{'seed': s, 'x': s} for s in seeds]\n")
    (folder / f"{name}.toml").write_text(text)
    return folder


STUDY = 'title = "One"\n[study]\nfunction = "studies:one"\n'
CLAIM = '[[claims]]\nname = "first"\nkind = "direction"\nsays = "It is so"\nstatistic = "avg(x)"\nabove = 0\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STUDY + CLAIM.replace("says", "sais"), 'claim "first": sais: unknown key; did you mean says or statistic?'),
        (STUDY + CLAIM.replace("above = 0\n", ""), 'claim "first": no predicate: one of above, below and between'),
        (STUDY + CLAIM + "below = 2\n", 'claim "first": above and below: one of'),
        (STUDY + CLAIM.replace("above = 0", "between = [2, 1]"), "between: [2, 1] was given, [LOW, HIGH] is expected"),
        (STUDY + CLAIM.replace("above = 0", 'above = "0"'), "above: '0' was given, a number is expected"),
        (STUDY + CLAIM.replace("avg(x)", "avg(x"), 'claim "first": statistic: syntax error at or near'),
        (
            STUDY + CLAIM.replace("avg(x)", "avg(x)); DROP TABLE results; SELECT (1"),
            "statistic: must be one expression",
        ),
        (STUDY + CLAIM + CLAIM, 'claim "first": the name is given twice'),
        (STUDY + CLAIM.replace('kind = "direction"\n', ""), 'claim "first": kind: is missing'),
        (STUDY + CLAIM.replace('"direction"', '"sign"'), "kind: 'sign' was given, one of arithmetic, direction, "),
        (STUDY + CLAIM.replace("above = 0", "above = 0.2"), "above 0.2 is a limit that the paper does not name: say"),
        (
            STUDY + CLAIM.replace("above = 0", "between = [0.7, 1.3]\npaper_value = 1.00"),
            "between 0.7 and 1.3 is wider than what is published, 0.995 to 1.005 with its rounding: say why in reason",
        ),
        (STUDY + CLAIM.replace('"direction"', '"number"'), "above 0 is no tolerance around a number: say why"),
        (STUDY + CLAIM + 'repeats = "table-1#first"\n', "repeats: table-1#first: PAPER/ITEM#CLAIM is expected"),
        (STUDY + CLAIM + 'repeats = "some-2020/table-2#first"\n', "no such item; did you mean some-2020/table-1?"),
        (STUDY + CLAIM + 'repeats = "some-2020/table-1#first"\n', "no such claim of some-2020/table-1"),
        (
            STUDY
            + CLAIM
            + 'repeats = "some-2020/table-1#second"\n'
            + CLAIM.replace("first", "second")
            + 'repeats = "some-2020/table-1#first"\n',
            "that repeats some-2020/table-1#first: name the first of them",
        ),
        (STUDY + CLAIM + 'cells = { value = "x", of = ["y"] }\n', "statistic: the cells give it"),
        (
            STUDY + CLAIM.replace('statistic = "avg(x)"\nabove = 0', 'cells = { value = "x", of = ["y"] }'),
            "cells: the item has no published values",
        ),
        (STUDY + CLAIM + 'test = "pooled "\n', "test: 'pooled ' was given, one of paired, pooled is expected"),
        (STUDY + CLAIM + 'from = "nothing"\n', "from: 'nothing' was given, one of flows, published, results"),
        (STUDY + CLAIM + 'for_each = "snr"\n', "for_each: 'snr' was given, a list of names is expected"),
        (STUDY + CLAIM + "paper_value = [1]\n", "paper_value: a number or a text is expected"),
        ('title = "One"\n' + CLAIM, "neither [sweep] nor [study]"),
        (STUDY + "[sweep]\n", "both [sweep] and [study]"),
        (STUDY + "[plot]\n", "plot: unknown key; did you mean plots"),
        (STUDY + '[[plots]]\nkind = "pie"\nx = "x"\ny = "x"\n', "plots.0.kind: 'pie' was given"),
        (STUDY + "[quick]\nreplication = 2\n", "quick.replication: unknown key; did you mean replications?"),
        (STUDY + "[views]\nresults = 'SELECT 1'\n", "views.results: that is the name of a table itself"),
        (STUDY.replace("studies:one", "studies"), '"studies" was given, "MODULE:FUNCTION" is expected'),
        (STUDY.replace("studies:one", "others:one"), "others.py: no such file"),
        ('title = "One"\nlike = "table-2"\n', "like: table-2: no such item; did you mean some-2020/table-1"),
        ('title = "One"\nlike = "table-1"\n', "items that are like each other"),
        (
            'title = "One"\n[sweep]\nsettings = "all"\n',
            "sweep.settings: all: no such settings in",
        ),
        ("title = 1\n" + STUDY.partition("\n")[2], "title: 1 was given, a text is expected"),
        ("title =\n", "Invalid value"),
    ],
)
def test_what_is_wrong_in_an_item_is_said_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    folder = item(tmp_path, text)

    with pytest.raises(to.ScenarioError) as caught:
        items.load(tmp_path / "papers")

    assert str(caught.value).startswith(str(folder / "table-1.toml"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_items_stand_in_the_order_of_the_paper(tmp_path: Path) -> None:
    for name in ("table-10-1", "figure-9-2", "aside", "section-9-1"):
        item(tmp_path, STUDY, name)

    (paper,) = items.load(tmp_path / "papers")

    assert [one.name for one in paper.items] == ["section-9-1", "figure-9-2", "table-10-1", "aside"]


def test_like_inherits_what_an_item_does_not_say() -> None:
    (paper,) = items.load(PAPERS, "lab-2026/table-2-1")
    (one,) = paper.items
    (original,) = items.load(PAPERS, "lab-2026/figure-1")[0].items

    assert one.sweep == original.sweep
    assert one.sweep_folder == original.sweep_folder
    assert one.published == original.published
    assert (one.plots, one.title) == ((), "The same runs, seen as a table")
    assert [claim.name for claim in one.claims] == ["whatever-the-loss"]


@pytest.mark.parametrize(
    ("given", "number"),
    [(0, "0"), (3.14159, "3.14"), (1234.5, "1234"), (0.012345, "0.0123"), (0.000012345, "1.23e-05"), (2.0, "2")],
)
def test_numbers_have_three_digits(given: float, number: str) -> None:
    assert table.number(given) == number


# ---- everything together


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Any:
    reproduction = reproduce(papers=PAPERS, out=tmp_path_factory.mktemp("out"))
    reproduction.save()
    return reproduction


def test_the_records_have_these_keys_and_verdicts(done: Any) -> None:
    records = json.loads((done.out / "reproduction.json").read_text())

    assert records == done.records
    keys = ["paper", "item", "name", "kind", "claim", "verdict", "paper_value", "our_value", "interval", "note"]
    keys += ["reason", "repeats"]
    assert all(list(record) == keys for record in records)
    assert [(record["item"], record["verdict"]) for record in records] == [
        ("figure-1", "holds"),
        ("figure-1", "holds weakly"),
        ("figure-1", "does not hold"),
        ("table-2-1", "holds weakly"),
        ("section-3", "holds"),
    ]
    weak = records[1]
    # Seeds 1000, 1001 and 1002: 0, 1 and 2.
    assert weak["our_value"] == 1
    assert weak["interval"] == pytest.approx([1 - T2 / math.sqrt(3), 1 + T2 / math.sqrt(3)], rel=1e-4)
    assert (weak["paper_value"], weak["claim"]) == ("about 1", "The last digit of the seed is above zero on average")
    assert records[2]["note"] == "They never do."


def test_the_page_has_every_claim_and_loads_nothing(done: Any) -> None:
    text = (done.out / "reproduction.html").read_text()

    class Links(HTMLParser):
        found: list[str] = []  # noqa: RUF012 - of this test alone

        def handle_starttag(self, _: str, attributes: list[tuple[str, str | None]]) -> None:
            self.found += [value for name, value in attributes if name in {"src", "href", "xlink:href"} and value]

    reader = Links()
    reader.feed(text)
    assert all(link.startswith(("#", "data:")) for link in reader.found)
    for record in done.records:
        assert record["claim"] in text
    assert '<td class="bad" data-sort="2">does not hold</td>' in text
    assert "transorbit reproduce lab-2026/figure-1 --seed 1" in text
    assert "They never do. See docs/validation/chapter-4.md#what-differs-and-why." in text
    assert '<p class="below">They never do. See docs/validation/' in text, "the remark stands below its claim"
    assert '<th><button type="button">Remarks' not in text
    assert text[: text.index("<script")].count("<svg") == 1


def test_an_item_without_published_values_says_so(done: Any) -> None:
    text = (done.out / "reproduction.html").read_text()

    def part(anchor: str) -> str:
        return text.split(f'<section id="lab-2026-{anchor}"')[1].split("</section>")[0]

    assert "published values stand" not in part("figure-1")
    assert "The paper gives no numbers" not in part("figure-1")
    assert "The paper gives no numbers here; its statements are below." in part("section-3")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-0.5 [-1, 2] dB", f"{MINUS}0.5 [{MINUS}1, 2] dB"),
        ("between -3 and 1e-5", f"between {MINUS}3 and 1e{MINUS}5"),
        ("3-5 of DVB-S2", "3-5 of DVB-S2"),
        ("-", MISSING),
    ],
)
def test_the_page_has_one_sign_for_minus(text: str, shown: str) -> None:
    assert page._minus(text) == shown


def test_the_claims_can_be_filtered_in_a_browser(done: Any, tmp_path: Path) -> None:
    program = chromium.find()
    if program is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    browser = chromium.Chromium(program, tmp_path)
    rows = "[...document.querySelectorAll('.filters + .scroll tbody tr')]"
    shown = f"{rows}.filter(row => !row.hidden).map(row => row.cells[3].innerText)"

    def choose(place: str, value: str, event: str) -> list[str]:
        browser.evaluate(
            f"{{ const field = document.querySelector('.filters {place}'); field.value = '{value}'; "
            f"field.dispatchEvent(new Event('{event}')); }}"
        )
        found: list[str] = browser.evaluate(shown)
        return found

    try:
        for width in (1200, 400):
            browser.open(done.out / "reproduction.html", width=width)
            assert len(browser.evaluate(shown)) == 5
            assert choose("select", "does not hold", "change") == ["Losses raise the goodput"]
            assert choose("select", "holds", "change") == [
                "Two percent of losses take more than a tenth of the goodput",
                "The ratio of the sums is above a half",
            ]
            assert choose("input", "RATIO sums", "input") == ["The ratio of the sums is above a half"]
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
            cut = "[...document.querySelectorAll('.whole')].filter(box => box.scroll{0} > box.client{0} + 1).length"
            assert browser.evaluate(cut.format("Height")) == 0, "the claims of an item are not hidden"
            assert width < 1200 or browser.evaluate(cut.format("Width")) == 0, "nor cut at the right"
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith("data:")] == [
            (done.out / "reproduction.html").as_uri()
        ]
    finally:
        browser.close()


def test_figures_come_with_their_numbers_and_the_published_ones(done: Any) -> None:
    folder = done.out / "figures/lab-2026"

    assert sorted(path.name for path in folder.iterdir()) == ["figure-1-1.csv", "figure-1-1.svg"]
    numbers = pl.read_csv(folder / "figure-1-1.csv")
    theirs = numbers.filter(pl.col("source") == "published")
    assert dict(zip(theirs["loss"], theirs["mean"], strict=True)) == {"none": 20, "2 %": 10}
    assert numbers.filter(pl.col("source") == "ours")["count"].to_list() == [3, 3]


def test_the_table_of_the_documentation(done: Any, tmp_path: Path) -> None:
    done.publish(tmp_path / "docs")

    page = (tmp_path / "docs/reproduction.md").read_text()
    assert "5 claims: 2 hold, 2 hold weakly, 1 does not hold." in page
    assert f"Transorbit {to.__version__}, root seed 1, full." in page
    assert "| **does not hold** | direction | figure-1 | Losses raise the goodput | - | above 0 Mbit/s |" in page
    assert "0 of 3 directions and 2 of 2 thresholds that the papers state hold." in page
    assert "| threshold | above or below a number that the sentence names | 2 | 0 | 0 |" in page
    assert "Tolerance: More than a tenth." in page
    assert "[the investigation](chapter-4.md#what-differs-and-why)" in page
    assert "](figures/lab-2026/figure-1-1.svg)" not in page, "plots are not in the repository"
    assert "](figures/lab-2026/figure-1-1.svg)" in (tmp_path / "docs/figures.md").read_text()
    assert (tmp_path / "docs/figures/lab-2026/figure-1-1.svg").is_file()


def test_a_second_call_computes_nothing_and_writes_the_same(done: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from transorbit.reproduce import study
    from transorbit.sweep import work

    def never(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(work, "compute", never)
    monkeypatch.setattr(study, "_call", never)
    before = {path: path.read_bytes() for path in done.out.rglob("reproduction.*")}

    reproduce(papers=PAPERS, out=done.out).save()

    assert {path: path.read_bytes() for path in before} == before


def test_items_that_share_a_sweep_share_its_runs(done: Any) -> None:
    import sqlite3

    with sqlite3.connect(done.out / "store.sqlite") as store:
        seeds = store.execute("SELECT seed, count(*) FROM outcomes GROUP BY seed ORDER BY seed").fetchall()
    store.close()

    # Two items of the same two points.
    assert seeds == [(1000, 2), (1001, 2), (1002, 2)]


def test_a_study_is_called_again_when_what_it_depends_on_changes(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    shutil.copytree(PAPERS, papers)
    # With a dataclass, which looks for its module among those that all find.
    lines = ["from __future__ import annotations", "from dataclasses import dataclass", "@dataclass"]
    lines += ["class Trials:", "    number: int", "TRIALS = Trials(10).number"]
    (papers / "lab-2026/constants.py").write_text("\n".join(lines))

    def ratio(**options: Any) -> Any:
        found = reproduce("lab-2026/section-3", papers=papers, out=tmp_path / "out", **options)
        return found.records[0]["our_value"], len(list((tmp_path / "out/studies").iterdir()))

    assert ratio() == (0.75, 1)
    assert ratio() == (0.75, 1)
    assert ratio(quick=True) == (0.7, 2)
    assert ratio(seed=2) == (0.75, 3)
    (papers / "lab-2026/constants.py").write_text("TRIALS = 20\n")
    assert ratio() == (0.375, 4)
    assert "constants" not in sys.modules, "a paper's modules are its own"


def test_quick_leaves_out_what_says_so_unless_it_is_named(tmp_path: Path) -> None:
    shutil.copytree(PAPERS / "lab-2026", tmp_path / "papers" / "lab-2026")
    item = tmp_path / "papers" / "lab-2026" / "section-3.toml"
    item.write_text(item.read_text().replace("[quick]", "[quick]\nleave_out = true"))
    for figure in ("figure-1", "table-2-1"):
        (item.parent / f"{figure}.toml").unlink()

    def judged(only: str, **options: bool) -> tuple[int, str]:
        done = reproduce(only, papers=tmp_path / "papers", out=tmp_path / "out", **options)
        return len(done.records), done.provenance

    assert judged("lab-2026")[0] == 1
    assert judged("lab-2026/section-3", quick=True)[0] == 1
    assert judged("lab-2026/", quick=True)[0] == 0
    count, provenance = judged("lab-2026", quick=True)
    assert count == 0
    assert provenance.endswith("Left out: 1 item with 1 claim.")


def test_studies_of_two_papers_may_have_modules_of_the_same_name(tmp_path: Path) -> None:
    for key, trials in (("a-2001", 10), ("b-2002", 20)):
        shutil.copytree(PAPERS / "lab-2026", tmp_path / "papers" / key)
        (tmp_path / "papers" / key / "constants.py").write_text(f"TRIALS = {trials}\n")
        for path in (tmp_path / "papers" / key).glob("[ft]*.toml"):
            path.unlink()

    records = reproduce(papers=tmp_path / "papers", out=tmp_path / "out").records

    assert [record["our_value"] for record in records] == [0.75, 0.375]


# ---- the command


def test_the_command_prints_a_line_for_each_claim(command: Callable[..., Outcome], here: Path) -> None:
    done = command("reproduce", "lab-2026/figure-1", "--quick", "--papers", str(PAPERS))

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "A. Author, B. Author, Losses on a fixed path, Journal of Examples, 2026"
    assert [line.split("  ")[1] for line in lines[1:4]] == ["holds", "holds weakly", "does not hold"]
    assert "about 1    0.5 [-5.85, 6.85]" in lines[2]
    assert lines[5] == "3 claims: 1 holds, 1 holds weakly, 1 does not hold."
    assert (here / "results/reproduction/reproduction.html").is_file()


def test_the_command_gives_the_records_as_json(command: Callable[..., Outcome]) -> None:
    done = command("reproduce", "lab-2026/section-3", "--papers", str(PAPERS), "--out", "there", "--json")

    assert done.code == 0
    (record,) = json.loads(done.out)
    assert record["our_value"] == 0.75


def test_the_list_runs_nothing(command: Callable[..., Outcome], here: Path) -> None:
    done = command("reproduce", "--list", "--papers", str(PAPERS))

    assert done.code == 0
    assert "  figure-1   3 claims  Goodput over the loss rate" in " ".join(done.out.splitlines()).replace("    ", "   ")
    assert done.out.splitlines()[-1] == "5 claims"
    assert not (here / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lab-2025"], "lab-2025: no such paper in PAPERS; did you mean lab-2026?"),
        (["lab-2026/figure-2"], "lab-2026/figure-2: no such item of lab-2026; did you mean figure-1?"),
        (["--seed", "0"], "--seed: '0' is not a whole number between 1 and 1000000000"),
        (["--jobs", "0"], "--jobs: 0 was given, 1 or more is expected"),
        (["lab-2026", "--docs", "docs"], "--docs: writes the table of all papers; leave the paper out"),
        (["--papers", "nowhere"], "nowhere: no papers there (a folder for each, with paper.toml)"),
    ],
)
def test_bad_input_is_one_line(command: Callable[..., Outcome], arguments: list[str], message: str) -> None:
    papers = [] if "--papers" in arguments else ["--papers", str(PAPERS)]

    done = command("reproduce", *arguments, *papers)

    assert (done.code, done.out) == (2, "")
    assert message in done.err.replace(str(PAPERS), "PAPERS")
    assert done.err.count("\n") == 1


def test_a_claim_that_cannot_be_judged_is_said_and_the_rest_is_written(
    command: Callable[..., Outcome], tmp_path: Path
) -> None:
    item(tmp_path, STUDY + CLAIM + CLAIM.replace("first", "second").replace("avg(x)", "avg(y)"))

    done = command("reproduce", "--papers", str(tmp_path / "papers"), "--out", "there")

    assert done.code == 2
    assert 'table-1.toml: claim "second": statistic: ' in done.err or 'table-1.toml: claim "second": ' in done.err
    assert "2 claims: 1 holds weakly, 1 error." in done.out
    records = json.loads((tmp_path / "there/reproduction.json").read_text())
    assert [record["verdict"] for record in records] == ["holds weakly", "error"]
    assert (records[1]["our_value"], records[1]["interval"]) == (None, [None, None])
    assert "y" in records[1]["note"]
    assert (tmp_path / "there/reproduction.html").is_file()


def test_runs_that_fail_leave_the_claims_unjudged(command: Callable[..., Outcome], here: Path) -> None:
    shutil.copytree(PAPERS, here / "papers")
    file = here / "papers/lab-2026/figure-1.toml"
    text = file.read_text().replace("../../../../scenarios", "../../scenarios")
    # A link on which not even one packet fits.
    file.write_text(text.replace('loss = "2 %" }', 'loss = "200 %" }'))

    done = command("reproduce", "lab-2026/figure-1", "--papers", "papers")

    assert done.code == 2
    assert "3 of 6 runs failed" in done.err
    records = json.loads((here / "results/reproduction/reproduction.json").read_text())
    assert [record["verdict"] for record in records] == ["error"] * 3


BROKEN = "def one(*, seeds, quick):\n    return [{'seed': s, 'x': 1 / 0} for s in seeds]\n"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (BROKEN, "studies.py, line 2, in "),
        ("import nothing_of_that_name\n", "studies.py, line 1, in <module>: ModuleNotFoundError: "),
    ],
)
def test_a_study_with_a_mistake_does_not_take_the_others_with_it(
    command: Callable[..., Outcome], tmp_path: Path, source: str, told: str
) -> None:
    item(tmp_path, STUDY + CLAIM)
    folder = item(tmp_path, STUDY.replace("studies:one", "whole:one") + CLAIM, "table-2")
    (folder / "whole.py").write_text((folder / "studies.py").read_text())
    (folder / "studies.py").write_text(source)

    done = command("reproduce", "--papers", str(tmp_path / "papers"), "--out", "there")

    assert done.code == 2
    assert "table-1.toml: study.function: studies:one: " in done.err
    assert told in done.err
    assert done.err.count("\n") == 1
    records = json.loads((tmp_path / "there/reproduction.json").read_text())
    assert [(record["item"], record["verdict"]) for record in records] == [
        ("table-1", "error"),
        ("table-2", "holds weakly"),
    ]
    assert (tmp_path / "there/reproduction.html").is_file()


def test_a_plot_that_breaks_does_not_take_the_claims_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transorbit.plots import table as drawing

    plot = '[[plots]]\nkind = "lines"\nx = "seed"\ny = "x"\n'
    item(tmp_path, STUDY + plot + plot.replace("lines", "bars") + CLAIM)
    draw = drawing.of_table

    def of_table(kind: str, *arguments: Any, **options: Any) -> Any:
        if kind == "lines":
            raise TypeError("unhashable\ntype")
        return draw(kind, *arguments, **options)

    monkeypatch.setattr(drawing, "of_table", of_table)
    done = reproduce(papers=tmp_path / "papers", out=tmp_path / "out")

    assert [record["verdict"] for record in done.records] == ["holds weakly"]
    (problem,) = done.problems
    assert problem.endswith("table-1.toml: plots.0: could not be drawn: TypeError: unhashable type")
    assert [path.name for path in (tmp_path / "out/figures/some-2020").glob("*.svg")] == ["table-1-2.svg"]


def test_a_table_that_breaks_does_not_take_the_claims_with_it(tmp_path: Path) -> None:
    item(tmp_path, STUDY + '[table]\nrows = ["seed"]\nvalues = ["seed"]\n' + CLAIM)
    done = reproduce(papers=tmp_path / "papers", out=tmp_path / "out")
    assert [record["verdict"] for record in done.records] == ["holds weakly"]
    (problem,) = done.problems
    assert "table-1.toml: table: " in problem


def test_what_a_study_gave_is_kept_until_the_program_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item(tmp_path, STUDY + CLAIM)

    def kept() -> int:
        reproduce(papers=tmp_path / "papers", out=tmp_path / "out")
        return len(list((tmp_path / "out/studies").iterdir()))

    assert (kept(), kept()) == (1, 1)
    monkeypatch.setattr(study, "_package", lambda: "other files")
    assert kept() == 2


def test_ctrl_c_keeps_what_is_finished(command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    from transorbit.sweep import store

    put = store.Store.put
    kept: list[object] = []

    def stop_at_the_third(self: store.Store, outcome: Any) -> None:
        put(self, outcome)
        kept.append(outcome)
        if len(kept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(store.Store, "put", stop_at_the_third)
    stopped = command("reproduce", "lab-2026/figure-1", "--papers", str(PAPERS), "--jobs", "1")

    assert stopped.code == 130
    assert "finished runs are kept in results/reproduction: the same command goes on" in stopped.err

    assert command("reproduce", "lab-2026/figure-1", "--papers", str(PAPERS)).code == 0
    assert len(kept) == 6


def test_no_item_of_the_project_takes_conditions_for_repetitions() -> None:
    wrong = []
    swept = [item for paper in items.load(ROOT / "papers") for item in paper.items if item.sweep]
    for one in swept:
        marks = [(f"plots.{index}", plot) for index, plot in enumerate(one.plots)]
        marks += [("table", one.table)] if one.table else []
        for quick in (False, True):
            sweep = run._sweep(one, seed=1, quick=quick)
            points = pl.DataFrame([{"point": point.index, **point.values} for point in sweep.points])
            for name, mark in marks:
                # Views choose and average: theirs is seen when they are computed.
                if mark.get("from", "results") in {"results", "flows"}:
                    left = figures.left_over(points, figures.keys(mark), [axis.name for axis in sweep.axes])
                    wrong += [f"{one.id}, {'quick' if quick else 'full'}: {name}: {left}"] if left else []

    assert len(swept) > 50
    assert wrong == []


def test_the_papers_of_the_project_are_read() -> None:
    papers = items.load(ROOT / "papers")

    assert sum(len(item.claims) for paper in papers for item in paper.items) >= 60
    for paper in papers:
        for one in paper.items:
            for stated in one.claims:
                assert stated.where or one.where, f"{one.id}: {stated.name}"
