"""One HTML file that needs nothing else: text, key numbers, tables, drawings and charts to zoom into.

Example:
    >>> page = Page("Goodput over SNR", "CUBIC and NewReno")
    >>> page.section("Results")
    >>> page.tiles([Tile("Goodput", "5.12", "Mbit/s")])
    >>> page.table(["claim", "verdict"], [["CUBIC gains", Cell("holds", kind="good")], ["Hybla gains", None]])
    >>> page.chart(Chart("Goodput", "Mbit/s", x=[0.0, 1.0], series=[Series("flow 0", [1.0, 2.5])]))
    >>> Path("page.html").write_text(page.html(), encoding="utf-8")  # doctest: +SKIP

A page is a list of sections, and a section a list of blocks: each method adds one below what is there already. What it
is given is text and is escaped, except the drawings of `figure`, which are SVG. The same calls give the same bytes.
Charts are those of the page in `web/`, built into `assets/charts.js`; a policy in the file's head forbids it to load
anything and to run any other script.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from transorbit import _numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Template

Kind = Literal["", "good", "weak", "bad", "muted"]
#: A value of a column; None where there is none.
Value = float | int | None

#: The text of a missing value.
MISSING = "\N{EN DASH}"
# The points that a reader can distinguish in a chart of a few hundred pixels.
_DIGITS = 5
# Instants need more: at a day's end it is still tenths of a second.
_DIGITS_X = 8


@dataclass(frozen=True)
class Cell:
    """A cell that is more than its text.

    Attributes:
        text: What is shown.
        sort: What the column is sorted by, if not by the text; a number also aligns the cell to the right.
        kind: Its colour: a "good", "weak" or "bad" outcome, or "muted".
        note: Shown where the pointer rests.
        href: A link: `#anchor` of a section, or a file beside the page.
        below: A second paragraph in the cell.
    """

    text: str
    sort: float | str | None = None
    kind: Kind = ""
    note: str = ""
    href: str = ""
    below: str = ""

    @property
    def numeric(self) -> bool:
        """Whether it holds a number."""
        return isinstance(self.sort, int | float)


@dataclass(frozen=True)
class Tile:
    """A key number: its name, its value as text, its unit, and a line of detail."""

    label: str
    value: str
    unit: str = ""
    note: str = ""
    kind: Kind = ""


@dataclass(frozen=True)
class Series:
    """A curve of a chart.

    Attributes:
        values: As many as the chart has instants; None interrupts the curve.
        color: Number of the colour, 0 to 7; None draws in the colour of text.
        shown: Whether it is drawn at first; a click on the legend changes that.
        step: Drawn as steps: a value holds since the instant before.
        dash: Drawn dashed.
        fill: Filled down to zero.
        faint: Drawn thin and pale, behind the others.
        below: The values show the difference to the series before it (stacked shares); filled down to that one.
        band: Filled to the series before it, both edges thin (a range).
    """

    label: str
    values: Sequence[Value]
    color: int | None = 0
    shown: bool = True
    step: bool = False
    dash: bool = False
    fill: bool = False
    faint: bool = False
    below: bool = False
    band: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves over one axis.

    Attributes:
        unit: Of all values, shown with the title and at the cursor.
        x: Ascending; charts with the same `x_label` share cursor and zoom.
        choices: Values of one more curve for each choice of the page's selector (see `Page.selector`).
        floor: Where the axis begins at least, None to fit it to the values.
        inverted: The axis points down.
        note: A line below the title.
        href: Where what it shows is defined.
    """

    title: str
    unit: str
    x: Sequence[Value]
    series: Sequence[Series]
    x_label: str = "Time (s)"
    choices: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    floor: float | None = 0.0
    inverted: bool = False
    note: str = ""
    href: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis of a grid of points: its values in order; `numeric` if a curve can run along it."""

    name: str
    label: str
    values: Sequence[float | int | str]
    numeric: bool


@dataclass(frozen=True)
class Measure:
    """A quantity that was measured at each point: its label with the unit."""

    name: str
    label: str


@dataclass(frozen=True)
class Explorer:
    """A chart of a measure over one axis, a curve for each value of another, the rest held; the reader chooses which.

    Attributes:
        points: For each point the index of its value on each axis, and for each measure mean and interval (low, high)
            or None.
    """

    axes: Sequence[Axis]
    measures: Sequence[Measure]
    points: Sequence[tuple[Sequence[int], Sequence[tuple[float, float, float] | None]]]


class Page:
    """A page that is filled from top to bottom; `html` gives the file's text.

    Args:
        title: Heading, and title of the browser's tab.
        subtitle: A line below it.
        footer: The last line.
    """

    def __init__(self, title: str, subtitle: str = "", *, footer: str = "") -> None:
        self._head = {"title": title, "subtitle": subtitle, "footer": footer}
        self._sections: list[dict[str, Any]] = [_section("", "", 2)]
        self._columns: dict[str, int] = {}
        self._specs: list[dict[str, Any]] = []
        self._figures = 0
        self._numbers: dict[str, int] = {}

    def section(self, heading: str, *, level: int = 2, anchor: str = "", note: str = "") -> None:
        """Begin a section; those of level 2 are in the menu at the top, and level 3 is part of the one before.

        Args:
            anchor: What a link to it ends with; by default made from the heading.
            note: A paragraph below the heading.
        """
        taken = {section["anchor"] for section in self._sections}
        wanted = anchor or re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") or "section"
        unique = wanted
        count = 1
        while unique in taken:
            count += 1
            unique = f"{wanted}-{count}"
        self._sections.append(_section(heading, unique, level))
        if note:
            self.text(note)

    def text(self, text: str, *, kind: Kind = "") -> None:
        """A paragraph."""
        self._add("text", text=text, tone=kind)

    def warnings(self, lines: Sequence[str], *, heading: str = "Check this before you trust the numbers") -> None:
        """A highlighted box of warnings; no box without lines."""
        if lines:
            self._add("warnings", lines=list(lines), heading=heading)

    def tiles(self, tiles: Sequence[Tile]) -> None:
        """Key numbers side by side."""
        self._add("tiles", tiles=list(tiles))

    def pairs(self, pairs: Sequence[tuple[str, object]]) -> None:
        """Names and values, a line each."""
        self._add("pairs", pairs=[(name, cell(value)) for name, value in pairs])

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        sortable: bool = True,
        caption: str = "",
        filters: Sequence[int] = (),
        whole: bool = False,
    ) -> None:
        """A table; a click on a heading sorts it.

        Args:
            rows: Cells are text, numbers (aligned to the right, 5 digits), None (a dash), or a `Cell`.
            sortable: Whether the reader can sort it.
            caption: A line above it.
            whole: Whether it has its full height in the page, instead of a box to scroll in.
            filters: Columns by whose text the reader can choose which rows are shown; a field for words comes
                with them.
        """
        made = [[cell(value) for value in row] for row in rows]
        numeric = [any(row[column].numeric for row in made) for column in range(len(header))]
        named = list(zip(header, numeric, strict=True))
        self._add(
            "table", header=named, rows=made, sortable=sortable, caption=caption, filters=list(filters), whole=whole
        )

    def code(self, text: str, *, label: str = "", folded: bool = False) -> None:
        """Text to copy, in a fixed width; `folded` shows the label alone until it is opened."""
        self._add("code", text=text, label=label, folded=folded)

    def figure(self, svg: str, caption: str = "", *, numbers: str = "") -> None:
        """A drawing, such as matplotlib writes it; it is part of the page as it is and must come from ourselves.

        Its colours become those of the page's theme. `numbers` are what it shows, as CSV for the reader to save.
        """
        from markupsafe import Markup

        self._figures += 1
        drawing = Markup(_themed(_inline(svg, f"f{self._figures}")))  # noqa: S704
        self._add("figure", svg=drawing, caption=caption, index=self._numbers.setdefault(numbers, len(self._numbers)))

    def selector(self, label: str, choices: Sequence[str], chosen: str) -> None:
        """A list to choose from, for the charts that have `choices`; there can be one on a page."""
        self._add("selector", label=label, choices=list(choices), chosen=chosen)

    def chart(self, chart: Chart) -> None:
        """Curves with a cursor; dragging zooms in, a double click shows all, a click on the legend hides a curve."""
        spec = {key: getattr(chart, key) for key in ("title", "unit", "note", "href", "x_label", "floor", "inverted")}
        spec["x"] = self._column(chart.x, digits=_DIGITS_X)
        spec["series"] = [_drop_defaults(series) | {"y": self._column(series.values)} for series in chart.series]
        spec["choices"] = {name: self._column(values) for name, values in chart.choices.items()}
        self._specs.append(spec)
        self._add("chart", index=len(self._specs) - 1)

    def definitions(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Adds the meanings of names: name, label and meaning of each; `#definition-NAME` leads to one."""
        self._add("definitions", entries=list(entries))

    def explorer(self, explorer: Explorer) -> None:
        """See `Explorer`."""
        self._specs.append({"explorer": _rounded(asdict(explorer))})
        self._add("chart", index=len(self._specs) - 1)

    def html(self) -> str:
        """The file's text."""
        from markupsafe import Markup

        script = _script()
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        numbers = _json(list(self._numbers))
        data = f'{{"columns":[{",".join(self._columns)}],"charts":{_json(self._specs)},"numbers":{numbers}}}'
        sections = [section for section in self._sections if section["heading"] or section["blocks"]]
        return _template().render(
            **self._head,
            sections=sections,
            menu=[section for section in sections if section["heading"] and section["level"] == 2],
            style=Markup(_asset("charts.css") + _asset("page.css")),  # noqa: S704
            script=Markup(script),  # noqa: S704
            script_sha256=digest,
            # Within a script element only this sign could end it.
            data=Markup(data.replace("<", "\\u003c")),  # noqa: S704
        )

    def _add(self, kind: str, **block: Any) -> None:
        self._sections[-1]["blocks"].append({"kind": kind, **block})

    def _column(self, values: Sequence[Value], *, digits: int = _DIGITS) -> int:
        """The number of a column in the page's data; equal ones are stored once."""
        text = "[" + ",".join(_short(value, digits) for value in values) + "]"
        return self._columns.setdefault(text, len(self._columns))


def cell(value: object) -> Cell:
    """The cell that shows a value."""
    if isinstance(value, Cell):
        return value
    if value is None or (isinstance(value, float) and not _finite(value)):
        return Cell(MISSING, kind="muted")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int | float):
        return Cell(_numbers.on_page(value), sort=value)
    return Cell(str(value))


def interval(mean: float, low: float, high: float) -> str:
    """A mean and its interval for people, in the signs of a page."""
    return _numbers.minus(_numbers.interval(mean, low, high))


def _section(heading: str, anchor: str, level: int) -> dict[str, Any]:
    return {"heading": heading, "anchor": anchor, "level": level, "blocks": []}


def _drop_defaults(series: Series) -> dict[str, Any]:
    """The properties of a series for the script, beside its values."""
    plain = Series("", ())
    options = ("color", "shown", "step", "dash", "fill", "faint", "below", "band")
    told = {key: getattr(series, key) for key in options if getattr(series, key) != getattr(plain, key)}
    return {"label": series.label, **told}


def _finite(value: float) -> bool:
    """Whether it is a number that JSON can write: NaN compares with nothing."""
    return abs(value) < float("inf")


def _short(value: Value, digits: int) -> str:
    """The shortest text of JSON that keeps so many digits."""
    if value is None or not _finite(value):
        return "null"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e+")


def _rounded(value: Any) -> Any:
    """Returns the value without numbers that JSON cannot write, or digits that nobody can see."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return json.loads(_short(value, _DIGITS)) if isinstance(value, float) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _inline(svg: str, prefix: str) -> str:
    """The SVG as a part of a page: without a head of its own, its names apart from those of other drawings."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', body)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", body).strip()


# The colours of the figures' style, and what they are called in the page, which has them for light and dark.
_THEME = {
    "#ffffff": "card",
    "#222222": "ink",
    "#000000": "ink",
    "#555555": "soft",
    "#777777": "soft",
    "#e3e3e3": "grid",
    "#0072b2": "c0",
    "#e69f00": "c1",
    "#009e73": "c2",
    "#d55e00": "c3",
    "#cc79a7": "c4",
    "#56b4e9": "c5",
}


def _themed(svg: str) -> str:
    """A drawing in the colours of the page."""
    return re.sub("|".join(_THEME), lambda found: f"var(--{_THEME[found[0].lower()]})", svg, flags=re.IGNORECASE)


def _asset(name: str) -> str:
    from importlib.resources import files

    return files("transorbit.report").joinpath("assets", name).read_text(encoding="utf-8")


def _script() -> str:
    return f"/*! uPlot 1.6.32\n\n{_asset('uPlot.LICENSE')}*/\n{_asset('charts.js')}"


def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("transorbit.report", "assets"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html")
