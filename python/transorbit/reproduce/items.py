"""The papers' items: `papers/<key>/paper.toml` and the items beside it, read and checked.

An item is a table, a figure or a section of a paper: how our side of it is computed (a sweep, or a function where no
scenario is run), the published values, plots, and the claims that are judged.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError
from transorbit._names import hint_or_all
from transorbit.reproduce import cells, fields, tolerance
from transorbit.reproduce.tolerance import Predicate
from transorbit.sweep import sql

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: The tables that a claim's statistic may query, besides the item's views.
TABLES = ("results", "flows", "published")
TESTS = ("paired", "pooled")
_INHERITED = ("sweep", "quick", "study", "published", "plots", "table", "views", "labels")
_ITEM_KEYS = ("title", "where", "description", "like", "claims", *_INHERITED)
_QUICK_KEYS = ("replications", "set", "only", "most", "leave_out")
_PLOT_KEYS = ("kind", "x", "y", "by", "panels", "from", "title", "log", "share", "height")
_CLAIM_KEYS = (
    *("name", "kind", "says", "where", "statistic", "unit", "above", "below", "between", "paper_value", "reason"),
    *("for_each", "test", "note", "investigation", "from", "repeats", "cells"),
)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and the statistic over our results by which it is judged.

    Attributes:
        kind: one of `tolerance.KINDS`.
        reason: why the predicate is wider than what is published; empty if it is not.
        repeats: the claim, PAPER/ITEM#NAME, that is of the same sentence; both are counted as one.
        only_where: of a cell of a table, which rows of `results` it is about.
    """

    name: str
    kind: str
    says: str
    statistic: str
    predicate: Predicate
    where: str = ""
    unit: str = ""
    paper_value: float | str | None = None
    for_each: tuple[str, ...] = ()
    test: str = "paired"
    note: str = ""
    investigation: str = ""
    table: str = "results"
    reason: str = ""
    repeats: str = ""
    only_where: str = ""


@dataclass(frozen=True)
class Study:
    """A function that computes rows where no scenario is run."""

    folder: Path
    function: str
    sources: tuple[str, ...] = ()
    replications: int = 1
    quick_replications: int | None = None


@dataclass(frozen=True)
class Item:
    """A table, figure or section of a paper. `like` may take a section from another paper, whose folder it keeps.

    Attributes:
        only_full: whether `--quick` leaves it out, unless it is asked for by its name.
    """

    paper: str
    name: str
    path: Path
    title: str
    where: str = ""
    description: str = ""
    sweep: Mapping[str, Any] | None = None
    sweep_folder: Path | None = None
    quick: Mapping[str, Any] = field(default_factory=dict)
    study: Study | None = None
    published: str | None = None
    published_folder: Path | None = None
    plots: tuple[Mapping[str, Any], ...] = ()
    table: Mapping[str, Any] | None = None
    views: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    only_full: bool = False

    @property
    def id(self) -> str:
        """The item's name on the command line."""
        return f"{self.paper}/{self.name}"


@dataclass(frozen=True)
class Paper:
    """A published work and its items, in the order of its sections.

    Attributes:
        own: whether it is a study of this project's own, whose claims are not counted as those of the papers.
    """

    key: str
    title: str
    authors: str = ""
    venue: str = ""
    year: int | None = None
    short: str = ""
    own: bool = False
    items: tuple[Item, ...] = ()


def load(folder: Path, only: str | None = None) -> list[Paper]:
    """The papers of a folder, or only the paper or item that `only` names (PAPER or PAPER/ITEM).

    Raises:
        ScenarioError: there is no such paper or item, or a file is wrong; it names the file and the fault.
    """
    keys = sorted(path.parent.name for path in folder.glob("*/paper.toml"))
    if not keys:
        raise ScenarioError(f"{folder}: no papers there (a folder for each, with paper.toml); choose it with --papers")
    key, _, name = (only or "").strip("/").partition("/")
    if key and key not in keys:
        raise ScenarioError(f"{key}: no such paper in {folder}{hint_or_all(key, keys)}")
    reader = _Reader(folder)
    return [reader.paper(one, name) for one in ([key] if key else keys)]


class _Reader:
    """Reads each file once, however many items are `like` it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._raw: dict[Path, dict[str, Any]] = {}

    def paper(self, key: str, name: str) -> Paper:
        path = self._folder / key / "paper.toml"
        raw = self._read(path)
        fields.known(raw, ("title", "authors", "venue", "year", "short", "own", "settings"), path)
        authors = raw.get("authors", "")
        names = sorted((file.stem for file in path.parent.glob("*.toml") if file != path), key=_in_order)
        if name and name not in names:
            raise ScenarioError(f"{key}/{name}: no such item of {key}{hint_or_all(name, names)}")
        return Paper(
            key=key,
            title=fields.text(raw, "title", path),
            authors=", ".join(authors) if isinstance(authors, list) else fields.text(raw, "authors", path, ""),
            venue=fields.text(raw, "venue", path, ""),
            year=fields.whole(raw, "year", path, None),
            short=fields.text(raw, "short", path, key),
            own=fields.flag(raw, "own", path),
            items=tuple(self._item(key, one) for one in ([name] if name else names)),
        )

    def _item(self, key: str, name: str) -> Item:
        path = self._folder / key / f"{name}.toml"
        raw = self._read(path)
        sections, origins = self._sections(path, ())
        if ("sweep" in sections) == ("study" in sections):
            both = "both [sweep] and [study]" if "sweep" in sections else "neither [sweep] nor [study]"
            raise ScenarioError(f"{path}: {both}; an item has one of them")
        views = fields.texts(sections, "views", path)
        for view in views:
            if view in TABLES:
                raise ScenarioError(f"{path}: views.{view}: that is the name of a table itself")
        published = sections.get("published")
        if published is not None:
            fields.known(fields.mapping(sections, "published", path), ("sql",), path, "published.")
        quick = fields.mapping(sections, "quick", path)
        fields.known(quick, _QUICK_KEYS, path, "quick.")
        only_full = fields.flag(quick, "leave_out", path, at="quick.")
        return Item(
            paper=key,
            name=name,
            path=path,
            title=fields.text(raw, "title", path),
            where=fields.text(raw, "where", path, ""),
            description=fields.text(raw, "description", path, ""),
            sweep=self._sweep(sections, origins["sweep"]) if "sweep" in sections else None,
            sweep_folder=origins.get("sweep", path).parent,
            quick={key: value for key, value in quick.items() if key != "leave_out"},
            only_full=only_full,
            study=_study(sections, quick, path, origins["study"].parent) if "study" in sections else None,
            published=fields.text(published, "sql", path, at="published.") if published is not None else None,
            published_folder=origins.get("published", path).parent,
            plots=_plots(sections, path, {"results", "flows", *views}),
            table=_table(sections, path, {"results", "flows", *views}),
            views=views,
            labels=fields.texts(sections, "labels", path),
            claims=self._claims(raw, path, {*TABLES, *views}, published and published["sql"], origins),
        )

    def _claims(
        self, raw: Mapping[str, Any], path: Path, tables: set[str], published: str | None, origins: Mapping[str, Path]
    ) -> tuple[Claim, ...]:
        listed = raw.get("claims", [])
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise ScenarioError(f"{path}: claims: one [[claims]] for each claim is expected")
        folder = origins.get("published", path).parent
        claims = _claims(
            [one for given in listed for one in cells.spread(given, published, folder, path)], path, tables
        )
        for claim in claims:
            if claim.repeats:
                self._repeated(claim, path)
        return claims

    def _repeated(self, claim: Claim, path: Path) -> None:
        """Refuse a claim that repeats one that is not there, or that itself repeats another."""
        at = f'{path}: claim "{claim.name}": repeats: {claim.repeats}'
        item, _, name = claim.repeats.partition("#")
        other = self._folder / f"{item}.toml"
        if item.count("/") != 1 or not name:
            raise ScenarioError(f"{at}: PAPER/ITEM#CLAIM is expected")
        if not other.is_file():
            raise ScenarioError(f"{at}: no such item{hint_or_all(item, self._names())}")
        theirs = {one.get("name"): one for one in self._read(other).get("claims", []) if isinstance(one, dict)}
        if name not in theirs or (other == path and name == claim.name):
            others = [str(one) for one in theirs if other != path or one != claim.name]
            raise ScenarioError(f"{at}: no such claim of {item}{hint_or_all(name, others)}")
        if "repeats" in theirs[name]:
            raise ScenarioError(f"{at}: that repeats {theirs[name]['repeats']}: name the first of them")

    def _sections(self, path: Path, seen: tuple[Path, ...]) -> tuple[dict[str, Any], dict[str, Path]]:
        """The sections that an item has or inherits, and the file that each was written in."""
        raw = self._read(path)
        fields.known(raw, _ITEM_KEYS, path)
        sections = {name: raw[name] for name in _INHERITED if name in raw}
        origins = dict.fromkeys(sections, path)
        if "like" not in raw:
            return sections, origins
        like = fields.text(raw, "like", path)
        other = self._folder / (like if "/" in like else f"{path.parent.name}/{like}")
        other = other.with_name(other.name + ".toml")
        if other in (*seen, path):
            raise ScenarioError(f"{path}: like: {like}: items that are like each other")
        if not other.is_file():
            raise ScenarioError(f"{path}: like: {like}: no such item{hint_or_all(like, self._names())}")
        theirs, where = self._sections(other, (*seen, path))
        # An item with a sweep or a study of its own takes neither from the other.
        own = {"sweep", "study"} & sections.keys()
        theirs = {name: value for name, value in theirs.items() if not (own and name in {"sweep", "study"})}
        return theirs | sections, where | origins

    def _sweep(self, sections: Mapping[str, Any], path: Path) -> dict[str, Any]:
        """The sweep written in a file, with the settings of its paper that it names below its own."""
        sweep = dict(fields.mapping(sections, "sweep", path))
        if "settings" not in sweep:
            return sweep
        name = fields.text(sweep, "settings", path, at="sweep.")
        about = path.with_name("paper.toml")
        settings = fields.mapping(self._read(about), "settings", about)
        if name not in settings:
            raise ScenarioError(
                f"{path}: sweep.settings: {name}: no such settings in {about}{hint_or_all(name, settings)}"
            )
        del sweep["settings"]
        common = fields.mapping(settings, name, about, at="settings.")
        return {**sweep, "set": {**common, **fields.mapping(sweep, "set", path, at="sweep.")}}

    def _names(self) -> list[str]:
        names = [f"{file.parent.name}/{file.stem}" for file in self._folder.glob("*/*.toml")]
        return [name for name in names if not name.endswith("/paper")]

    def _read(self, path: Path) -> dict[str, Any]:
        if path not in self._raw:
            try:
                text = path.read_text(encoding="utf-8")
                raw = tomllib.loads(text)
                if "claims" in raw:
                    # The printed digits of a published number count: 1.40 is not 1.4.
                    raw["claims"] = tomllib.loads(text, parse_float=tolerance.Printed)["claims"]
                self._raw[path] = raw
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ScenarioError(f"{path}: {error}") from None
        return self._raw[path]


def _in_order(name: str) -> tuple[bool, list[int], str]:
    """Items in the order of the paper, by the numbers in their names; those without one come last."""
    numbers = [int(number) for number in re.findall(r"\d+", name)]
    return not numbers, numbers, name


def _study(sections: Mapping[str, Any], quick: Mapping[str, Any], path: Path, folder: Path) -> Study:
    raw = fields.mapping(sections, "study", path)
    fields.known(raw, ("function", "sources", "replications"), path, "study.")
    function = fields.text(raw, "function", path, at="study.")
    module, _, name = function.partition(":")
    if not (module.isidentifier() and name.isidentifier()):
        raise ScenarioError(f'{path}: study.function: "{function}" was given, "MODULE:FUNCTION" is expected')
    sources = tuple(fields.names(raw, "sources", path, at="study."))
    for file in (f"{module}.py", *sources):
        if not (folder / file).is_file():
            raise ScenarioError(f"{path}: study: {folder / file}: no such file")
    replications = fields.whole(raw, "replications", path, 1, at="study.")
    assert replications is not None
    return Study(folder, function, sources, replications, fields.whole(quick, "replications", path, None, at="quick."))


def _plots(sections: Mapping[str, Any], path: Path, tables: set[str]) -> tuple[Mapping[str, Any], ...]:
    plots = sections.get("plots", [])
    if not isinstance(plots, list):
        raise ScenarioError(f"{path}: plots: one [[plots]] for each plot is expected")
    for index, plot in enumerate(plots):
        at = f"plots.{index}."
        fields.known(plot, _PLOT_KEYS, path, at)
        if plot.get("kind") == "cdf" and "x" in plot:
            raise ScenarioError(f"{path}: {at}x: a cdf has none: its column is y")
        for name in ("kind", "y") if plot.get("kind") == "cdf" else ("kind", "x", "y"):
            fields.text(plot, name, path, at=at)
        fields.one_of(plot["kind"], ("lines", "bars", "cdf", "heatmap"), f"{path}: {at}kind")
        fields.one_of(plot.get("from", "results"), tables, f"{path}: {at}from")
    return tuple(plots)


def _table(sections: Mapping[str, Any], path: Path, tables: set[str]) -> Mapping[str, Any] | None:
    if "table" not in sections:
        return None
    raw = fields.mapping(sections, "table", path)
    fields.known(raw, ("rows", "columns", "values", "from"), path, "table.")
    if not fields.names(raw, "rows", path, at="table.") or not fields.names(raw, "values", path, at="table."):
        raise ScenarioError(f"{path}: table: rows and values have to name columns")
    fields.names(raw, "columns", path, at="table.")
    fields.one_of(raw.get("from", "results"), tables, f"{path}: table.from")
    return raw


def _claims(listed: list[dict[str, Any]], path: Path, tables: set[str]) -> tuple[Claim, ...]:
    claims: dict[str, Claim] = {}
    for index, one in enumerate(listed):
        claim = _claim(one, path, f"claims.{index}", tables)
        if claim.name in claims:
            raise ScenarioError(f'{path}: claim "{claim.name}": the name is given twice')
        claims[claim.name] = claim
    return tuple(claims.values())


def _claim(raw: dict[str, Any], path: Path, at: str, tables: set[str]) -> Claim:
    name = fields.text(raw, "name", path, at=f"{at}.")
    at = f'claim "{name}": '
    only_where = raw.pop("only_where", "")
    fields.known(raw, _CLAIM_KEYS, path, at)
    statistic = fields.text(raw, "statistic", path, at=at)
    sql.check(statistic, context=f"{path}: {at}statistic")
    paper_value = raw.get("paper_value")
    if not isinstance(paper_value, str | int | float | None):
        raise ScenarioError(f"{path}: {at}paper_value: a number or a text is expected")
    says = fields.text(raw, "says", path, at=at)
    fields.text(raw, "kind", path, at=at)
    kind = fields.one_of(raw["kind"], tolerance.KINDS, f"{path}: {at}kind")
    predicate = _predicate(raw, f"{path}: {at}")
    reason = fields.text(raw, "reason", path, "", at=at)
    wider = tolerance.unexplained(kind, predicate, paper_value, says)
    if wider and not reason:
        raise ScenarioError(f"{path}: {at}{wider}: say why in reason")
    return Claim(
        name=name,
        kind=kind,
        says=says,
        statistic=statistic,
        predicate=predicate,
        where=fields.text(raw, "where", path, "", at=at),
        unit=fields.text(raw, "unit", path, "", at=at),
        paper_value=float(paper_value) if isinstance(paper_value, float) else paper_value,
        reason=reason,
        repeats=fields.text(raw, "repeats", path, "", at=at),
        only_where=only_where,
        for_each=tuple(fields.names(raw, "for_each", path, at=at)),
        test=fields.one_of(raw.get("test", "paired"), TESTS, f"{path}: {at}test"),
        note=fields.text(raw, "note", path, "", at=at),
        investigation=fields.text(raw, "investigation", path, "", at=at),
        table=fields.one_of(raw.get("from", "results"), tables, f"{path}: {at}from"),
    )


def _predicate(raw: Mapping[str, Any], at: str) -> Predicate:
    given = [name for name in ("above", "below", "between") if name in raw]
    if len(given) != 1:
        predicates = " and ".join(given) if given else "no predicate"
        raise ScenarioError(f"{at}{predicates}: one of above, below and between is expected")
    name = given[0]
    bounds = raw[name] if name == "between" else [raw[name]]
    numbers = isinstance(bounds, list) and all(type(bound) in (int, float, tolerance.Printed) for bound in bounds)
    if not numbers or len(bounds) != (2 if name == "between" else 1) or sorted(bounds) != bounds:
        expected = "[LOW, HIGH]" if name == "between" else "a number"
        raise ScenarioError(f"{at}{name}: {raw[name]!r} was given, {expected} is expected")
    if name == "between":
        return Predicate(float(bounds[0]), float(bounds[1]), closed=True)
    return Predicate(float(bounds[0]), None) if name == "above" else Predicate(None, float(bounds[0]))
