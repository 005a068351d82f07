"""The documentation: blocks of code are run or read, links lead somewhere, the site loads nothing from elsewhere.

The blocks of a page are what a reader would do: in the page's order, in one folder that has the scenarios in reach.
Blocks with a title are files. A comment before a block may say `<!-- test: parsed only -->` (its commands are read and
not run) or `<!-- test: printed -->` (it is what the command before it prints).
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
from contextlib import ExitStack, closing
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

import chromium
import transorbit as to
import wasm
from conftest import ROOT, Outcome
from transorbit import view
from transorbit.cli.app import app
from transorbit.cli.parse import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# `make validation` writes it beside the plots that it shows; neither is in git.
DRAWN = ROOT / "docs/validation/figures.md"
DOCS = sorted({*(ROOT / "docs").rglob("*.md")} - {DRAWN})
PAGES = sorted([*ROOT.glob("*.md"), *DOCS])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
each_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)

# What is written in these is not read by any of our programs; a block of any other language is run or read.
PROSE = {"text", "csv", "rust"}
# Programs that a page may name beside ours: they are others', or build the project.
FOREIGN = {"cargo", "dask", "export", "python", "tshark", "wireshark"}
# The only blocks that are read and not run, beside the examples of the command line's own help: they need a cluster
# or network namespaces, write into the home folder, or serve the page until they are stopped.
NOT_RUN = {
    "docs/how-to/cluster.md": 1,
    "docs/how-to/controller-in-python.md": 1,
    "docs/how-to/editor-and-shell.md": 1,
    "docs/how-to/emulate.md": 2,
    "docs/page.md": 2,
}
# What an item of a paper has beside its sweep or study.
PARTS_OF_ITEMS = {"claims", "plots", "published", "quick", "table"}


@dataclass(frozen=True)
class Block:
    """A block of code: its language, the file that it is, what the test is told of it, its text."""

    language: str
    title: str | None
    told: str | None
    text: str


def blocks(page: Path) -> Iterator[Block]:
    fence = r"(?:^ *<!-- test: (?P<told>[^\n]*) -->\n\s*)?^(?P<in> *)```(?P<how>[^\n]*)\n(?P<text>.*?)^(?P=in)```[ ]*$"
    for found in re.finditer(fence, page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        title = re.search(r'title="([^"]*)"', found["how"])
        text = re.sub(rf"^{found['in']}", "", found["text"], flags=re.MULTILINE)
        yield Block(found["how"].split(" ")[0], title and title[1], found["told"], text)


# Examples


@pytest.fixture
def project(here: Path) -> Path:
    """A folder with scenarios of its own, as a reader has: names of files in them may lead out of theirs."""
    (here / "scenarios").unlink()
    shutil.copytree(ROOT / "scenarios", here / "scenarios")
    return here


# A page of a notebook is one program, which `test_notebooks.py` executes.
each_example = pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.parent.name != "notebooks"],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)


@each_example
def test_examples_do_what_they_say(page: Path, project: Path, command: Callable[..., Outcome]) -> None:
    outcome = Outcome(0, "", "")
    for block in blocks(page):
        if block.title:
            (project / block.title).parent.mkdir(parents=True, exist_ok=True)
            (project / block.title).write_text(block.text, encoding="utf-8")
        if block.told == "printed":
            assert _timeless(block.text) == _timeless(outcome.out)
        elif block.language == "python":
            exec(compile(block.text, str(page), "exec"), {})  # noqa: S102 - our own documentation, in an empty folder
        elif block.language == "sh":
            outcome = _shell(block, command, outcome)
        else:
            assert block.language in PROSE | {"toml", "json"}, f"```{block.language}: not run by any test"
    # Afterwards: they may name files that a command of the page writes.
    for block in blocks(page):
        if block.language == "toml":
            _read_toml(block.text, project)
        elif block.language == "json":
            json.loads(block.text)


def _shell(block: Block, command: Callable[..., Outcome], outcome: Outcome) -> Outcome:
    """Run or read each line; what the last of our commands printed."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "transorbit" and block.told == "parsed only":
            app.parse_args(joined(app, words[1:]), exit_on_error=False, print_error=False)
        elif words[0] == "transorbit":
            words, file = (words[:-2], words[-1]) if words[-2] == ">" else (words, None)
            assert not {"|", ">", "&&", ";"} & set(words), (
                f"{line}: one command in a line, its output to a file at most"
            )
            outcome = command(*words[1:])
            assert outcome.code == 0, f"{line}: {outcome.err}"
            if file:
                Path(file).write_text(outcome.out, encoding="utf-8")
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
        elif words[0] == ".venv/bin/python":
            assert (ROOT / words[1]).is_file(), line
        elif "=" in words[0]:
            _checked(shlex.split(words[0].split("=", 1)[1]), command)
        else:
            assert words[0] in FOREIGN, f"{line}: not run by any test"
    return outcome


def _checked(words: list[str], command: Callable[..., Outcome]) -> None:
    """A command `transorbit run …` would be accepted: its scenario with its changes is right."""
    assert words[:2] == ["transorbit", "run"], words
    kept = [word for word in words[2:] if word not in {"--json", "--quiet", "--no-plots"}]
    for option in ("--seed", "--out", "--plugin"):
        while option in kept:
            del kept[kept.index(option) : kept.index(option) + 2]
    done = command("check", *kept)
    assert done.code == 0, f"{words}: {done.err}"


def _read_toml(text: str, folder: Path) -> None:
    """A scenario, a part of one, a sweep or a file of `reproduce`, by what stands in it."""
    table = tomllib.loads(text)
    if "axes" in table:
        to.Sweep.from_toml(text, base_dir=folder)
    elif table.keys() & {"sweep", "study", "authors", "claims", "plots", "published", "views"}:
        return  # Where it has a title, the command after it reads it.
    elif table.keys() & {"precision", "warm_up", "replications", "metrics"}:
        whole = tomllib.loads((ROOT / "scenarios/leo-snr.sweep.toml").read_text(encoding="utf-8"))
        to.Sweep.from_dict(whole | table, base_dir=ROOT / "scenarios")
    elif "flows" in table and "path" in table:
        to.Scenario.from_toml(text, base_dir=folder).check()
    else:
        _check_part(table, folder)


def _check_part(part: dict[str, Any], folder: Path) -> None:
    """Put it into a whole scenario: keys of a table into the table that is there, unless it says its kind."""
    text = (ROOT / "scenarios/leo-tcp.toml").read_text(encoding="utf-8")
    changes: dict[str, object] = {}
    for key, value in part.items():
        if key == "flows":
            changes[key] = [{"transport": "tcp", **flow} for flow in value]
        elif isinstance(value, dict) and "kind" not in value and key != "access":
            changes |= {f"{key}.{name}": item for name, item in value.items()}
        else:
            changes[key] = value
    to.Scenario.from_toml(text, base_dir=folder).replace(changes).check()


def _timeless(text: str) -> list[str]:
    return [re.sub(r"simulated in [\d.]+ s", "simulated", line).rstrip() for line in text.strip().splitlines()]


def test_the_share_of_packets_not_played_leaves_out_those_in_flight() -> None:
    page = ROOT / "docs/how-to/compare-schedulers.md"
    text = next(block.text for block in blocks(page) if block.title == "voice.toml")
    some = {"replications": 1, "only": {"calls": [25], "scheduler": ["PF"]}}
    done = to.Sweep.from_dict(tomllib.loads(text) | some, base_dir=ROOT).run()
    calls = list(done.flows.iter_rows(named=True))
    known = [call["voice.received_packets"] + call["voice.lost_packets"] for call in calls]
    assert sum(known) < sum(call["sent_packets"] for call in calls), "some are in flight"
    not_played = sum(call["voice.loss_ratio"] * packets for call, packets in zip(calls, known, strict=True))
    assert done.runs["lost_pct"].item() == pytest.approx(100 * not_played / sum(known), rel=1e-9)


@each_page
def test_commands_in_tables_would_be_accepted(page: Path, command: Callable[..., Outcome]) -> None:
    # Where a page gives a command a name, its tables go on from there: `$V --set …`.
    text = page.read_text(encoding="utf-8")
    names = dict(re.findall(r'^([A-Z])="(transorbit run [^"]*)"', text, re.MULTILINE))
    for name, rest in re.findall(r"`\$([A-Z])((?: [^`]*)?)`", text):
        _checked(shlex.split(names[name] + rest.replace("\\|", "|")), command)


def test_readme_tells_the_speed_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    measure = importlib.import_module("measure")

    text = (ROOT / "README.md").read_text()
    assert measure.readme(text, (ROOT / "benches/RESULTS.md").read_text()) == text, "benches/measure.py writes it"
    assert "instructions for each delivered packet" in " ".join(text.split())


def test_few_commands_are_read_only() -> None:
    generated = "docs/reference/command-line.md"
    told = {name: [block.told for block in blocks(page)] for page, name in zip(PAGES, NAMES, strict=True)}

    assert {told for each in told.values() for told in each} <= {None, "parsed only", "printed"}
    read = {name: each.count("parsed only") for name, each in told.items() if "parsed only" in each}
    assert {name: count for name, count in read.items() if name != generated} == NOT_RUN


# Pages


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"https?://|#", target):
            assert (page.parent / target.split("#")[0]).exists(), target


@pytest.mark.parametrize("page", sorted((ROOT / "docs/models").glob("[a-z]*.md")), ids=lambda page: page.stem)
def test_a_model_tells_its_source_limits_and_tests(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert re.search(r"\*\*Sources?\*\*|^## Sources|\| source \|", text, re.MULTILINE), "where it comes from"
    assert re.search(r"Simplified|\*\*Validity\*\*", text), "what it leaves out, and who could notice"
    assert re.search(r"\*\*(Checked|Compared with)\*\*|^## How it is checked", text, re.MULTILINE), (
        "what it is held against"
    )


# The site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does, from a copy."""
    pytest.importorskip("zensical", reason="the dependency group docs is not installed")
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "docs", project / "docs", ignore=lambda *_: {DRAWN.name, DRAWN.stem})
    (project / "benches").mkdir()
    for name in (
        "zensical.toml",
        "benches/RESULTS.md",
        "benches/EMULATE.md",
        *(page.name for page in ROOT.glob("*.md")),
    ):
        shutil.copy(ROOT / name, project / name)
    build = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(build, cwd=project, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "site"


class Page(HTMLParser):
    """What a page of the site links to, what it loads, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.classes: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.places |= {given[key] for key in ("id", "name") if key in given}
        self.classes |= set(given.get("class", "").split())
        if tag == "a" or (tag == "link" and given.get("rel") in {"canonical", "prev", "next", "alternate"}):
            self.links += [given["href"]] if "href" in given else []
        else:
            self.loads += [given[key] for key in ("src", "href", "data", "poster") if key in given]
            self.loads += [part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()]


def test_the_site_has_every_page(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in DOCS}
    pages = {path.with_name("index.html") if path.name == "README.html" else path for path in pages}
    built = {path.relative_to(site) for path in site.rglob("*.html")} - {Path("404.html")}

    assert built == pages
    # Each is in the navigation, too: what nobody finds is not documentation.
    listed = set(re.findall(r'"([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text()))
    assert {path.relative_to(ROOT / "docs").as_posix() for path in DOCS} == listed


def test_the_site_links_to_what_is_there(site: Path) -> None:
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target in pages and parts.fragment != "__skip":
                assert unquote(parts.fragment) in pages[target].places, f"{path.relative_to(site)}: {link}"


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Page(path)
        foreign = [load for load in page.loads if urlsplit(load).scheme not in {"", "data"} or load.startswith("//")]
        assert not foreign, path
        # For these the theme's script would fetch a library.
        assert not page.classes & {"mermaid", "glightbox", "arithmatex", "pyodide"}, path
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet


def test_search_works_without_a_server(site: Path) -> None:
    # A browser refuses to fetch files of the disk: the index has to be a script.
    index = site / "search.js"
    assert index.is_file()
    assert "Adaptive HARQ" in index.read_text(encoding="utf-8")


LIVE = "document.querySelector('iframe').contentDocument.documentElement.dataset.ready === 'true'"


def test_the_front_page_shows_the_page_live(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = chromium.find()
    if program is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    monkeypatch.setattr(view, "built", lambda: folder)
    (tmp_path / "profile").mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(view.Server())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        browser = chromium.Chromium(program, tmp_path / "profile", *chromium.SOFTWARE_GL)
        stack.enter_context(closing(browser))
        browser.open(f"{server.address}index.html", until="document.querySelector('img.live')?.complete")
        assert browser.evaluate("document.querySelector('iframe')") is None, "the page is not there: its picture is"

        shutil.copytree(wasm.page(), folder / "page")
        browser.open("about:blank")
        browser.open(f"{server.address}index.html", until="document.querySelector('iframe') !== null")
        browser.evaluate("document.querySelector('iframe').scrollIntoView()")
        browser.wait(LIVE)
        assert browser.evaluate("document.querySelector('img.live')") is None
        assert browser.problems == []
        browser.open("about:blank")
        linked = "document.querySelector('a[href$=\"page/index.html\"] > img.live') !== null"
        browser.open(f"{server.address}index.html", until=linked, width=390)
