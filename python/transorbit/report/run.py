"""The page of one run."""

from __future__ import annotations

import re
import statistics
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from transorbit import _columns, plugins
from transorbit._flow_kinds import is_controlled, is_video, is_voice
from transorbit._numbers import delay_unit, multiple
from transorbit._numbers import on_page as number
from transorbit.report import averages, network, series, text, tiles
from transorbit.report.page import Cell, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from transorbit.result import Result

# A longer table of flows is slow in browsers.
_ROWS = 1000
# Drawn as bars or distributions, which the charts cannot.
_DRAWINGS = {
    "goodput-by-user": "Goodput of each user, least to most.",
    "voice": "What the listeners heard.",
    "game": "How long games took to answer.",
    "completion": "How long transfers and pages took.",
    "access-times": "When what was sent over the return link arrived.",
}


def page(result: Result) -> str:
    """The report of a run."""
    summary = result.summary
    run_page = Page(
        result.title or "A run without a title",
        f"Seed {summary['seed']}, {summary['simulated_s']:g} s simulated"
        + (" (stopped before its end)" if result.partial else ""),
        footer=f"Transorbit {result.provenance['transorbit']}",
    )
    stopped = [f"the run was stopped at {summary['simulated_s']:g} s, before its end"] if result.partial else []
    run_page.warnings([*stopped, *summary["warnings"]])
    run_page.section("Key numbers")
    run_page.tiles(list(tiles.of(result)))
    run_page.section("Over time")
    series.add(run_page, result)
    averages.add(run_page, result)
    _drawings(run_page, result)
    _flows(run_page, summary["flows"])
    network.add(run_page, summary)
    network.packets(run_page, summary["conservation"])
    run_page.section("Scenario")
    run_page.code(result.scenario_toml, label="The scenario with every default filled in (TOML)", folded=True)
    run_page.code(_again(result), label="Save it as scenario.toml, and this runs it again, to the same digest:")
    run_page.section("Definitions", note="What the charts and the columns of the flows are.")
    run_page.definitions(_definitions(result))
    run_page.section("Provenance")
    run_page.pairs([("Digest", summary["digest"]), ("Events", summary["events"]), *text.provenance(result.provenance)])
    return run_page.html()


def _definitions(result: Result) -> list[tuple[str, str, str]]:
    """Name, label and meaning of what the page shows: series, columns of the flows, and why packets were lost."""
    of_flows = _columns.of("flows")
    lines = {line["name"]: line for line in [*_columns.of("series"), *of_flows]}
    lines |= {f"{line['name']}.{below['name']}": below for line in of_flows for below in line["below"]}
    shown = {"decoded_after_n" if name.startswith("decoded_after_") else name for name in result.series.columns}
    shown -= {"time_s", "flow"}
    flows: list[dict[str, Any]] = result.summary["flows"]
    headings = {column.key: column.heading.partition(" (")[0] for column in _shown(flows)}
    shown |= set(headings)
    # Of the table of fates, and of a tile.
    shown |= {name for name in _columns.lost() if any(flow.get(name) for flow in flows)}
    shown |= {"rebuffer_ratio"} if any(is_video(flow) for flow in flows) else set()
    told = sorted(name for name in lines if name in shown)
    return [(name, headings.get(name) or _columns.label(name), _plain(lines[name]["meaning"])) for name in told]


def _again(result: Result) -> str:
    """The command that gives the same result."""
    options = plugins.options(tomllib.loads(result.scenario_toml))
    return f"transorbit run scenario.toml --seed {result.numbers['seed']}{options}"


def _drawings(made: Page, result: Result) -> None:
    """Adds the drawings: bars and distributions."""
    figures = []
    if result.summary["flows"]:
        from transorbit import plots

        drawn = ((plots.draw(name, result), caption) for name, caption in _DRAWINGS.items())
        figures = [(figure, caption) for figure, caption in drawn if figure is not None]
    if figures:
        made.section("Users")
        for figure, caption in figures:
            made.figure(text.svg(figure), caption, numbers=text.numbers(figure))


class _Column(NamedTuple):
    """A column of the table of flows."""

    heading: str
    value: Callable[[dict[str, Any]], object]
    #: Which flows have it.
    has: Callable[[dict[str, Any]], bool]
    #: The key under which the record defines it.
    key: str


def _any(_: dict[str, Any]) -> bool:
    return True


def _has(kind: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a flow has the report of a kind of traffic."""
    return lambda flow: bool(flow.get(kind))


def _has_access(flow: dict[str, Any]) -> bool:
    return flow["access_kind"] is not None


def _column(key: str, unit: str = "", scale: float = 1.0, *, has: Callable[[dict[str, Any]], bool] = _any) -> _Column:
    """A column of the flows under its own name, in a unit."""

    def value(flow: dict[str, Any]) -> object:
        return None if flow[key] is None else scale * flow[key] if scale != 1.0 else flow[key]

    return _Column(_columns.label(key) + (f" ({unit})" if unit else ""), value, has, key)


def _delay_column(flows: list[dict[str, Any]], key: str, *, has: Callable[[dict[str, Any]], bool] = _any) -> _Column:
    unit, scale = delay_unit(max((flow[key] for flow in flows if flow.get(key) is not None), default=0.0))
    return _column(key, unit, 1 / scale, has=has)


def _transport(flow: dict[str, Any]) -> str:
    """The congestion controller, or the transport: the traffic has a column of its own."""
    return str(flow["congestion"] or flow["transport"])


_WHO: list[_Column] = [
    _column("id"),
    _column("user"),
    _column("direction"),
    _column("traffic"),
    _Column(_columns.label("transport"), _transport, _any, "transport"),
]


def _more(flows: list[dict[str, Any]]) -> list[_Column]:
    """The columns after the goodput, delays in the unit that suits the greatest of them."""
    return [
        _delay_column(flows, "rtt_mean_s", has=is_controlled),
        _delay_column(flows, "one_way_delay_mean_s"),
        _delay_column(flows, "one_way_delay_p95_s"),
        _column("sent_packets"),
        _column("loss_ratio", "%", 100),
        _column("retransmitted_packets", has=is_controlled),
        _column("spurious_retransmissions", has=is_controlled),
        _column("dupack_events", has=is_controlled),
        _column("rto_events", has=is_controlled),
        _column("cwnd_mean_packets", has=is_controlled),
        _delay_column(flows, "jitter_s", has=is_voice),
        _column("lost_late", has=is_voice),
        _column("startup_s", "s", has=is_video),
        _column("rebuffers", has=is_video),
        _column("rebuffer_s", "s", has=is_video),
        _column("bitrate_mean_bps", "Mbit/s", 1e-6, has=_has("video")),
        _column("bitrate_switches", has=_has("video")),
        _column("qoe", has=_has("video")),
        _column("latency_mean_s", "s", has=_has("live")),
        _column("latency_p95_s", "s", has=_has("live")),
        _column("late_ratio", "%", 100, has=lambda flow: flow["late_ratio"] is not None),
        _delay_column(flows, "response_p95_s", has=_has("game")),
        _delay_column(flows, "response_p99_s", has=_has("game")),
        _column("mos", has=lambda flow: flow["mos"] is not None),
        _column("access_kind", has=_has_access),
        _column("first_packet_s", "s", has=_has_access),
        _column("completion_s", "s", has=lambda flow: flow["completion_s"] is not None),
        _Column(
            "Page, mean (s)",
            lambda flow: flow["web"]["load_mean_s"],
            lambda flow: bool((flow.get("web") or {}).get("pages")),
            "web.load_mean_s",
        ),
    ]


def _shown(flows: list[dict[str, Any]]) -> list[_Column]:
    """The columns that a flow has."""
    bps, unit = multiple(statistics.fmean(flow["goodput_bps"] for flow in flows) if flows else 0.0, "bit/s")
    goodput = _column("goodput_bps", unit, 1 / bps)
    return [column for column in (*_WHO, goodput, *_more(flows)) if any(column.has(flow) for flow in flows)]


def _flows(made: Page, flows: list[dict[str, Any]]) -> None:
    made.section("Flows", note="A click on a heading sorts; what the columns mean stands under Definitions.")
    columns = _shown(flows)
    shown, caption = flows, ""
    if len(flows) > _ROWS:
        ranked = sorted(flows, key=lambda flow: (flow["goodput_bps"], flow["id"]))
        shown = sorted([*ranked[: _ROWS // 2], *ranked[-_ROWS // 2 :]], key=lambda flow: int(flow["id"]))
        caption = f"Of {number(len(flows))} flows the {_ROWS // 2} that got least and the {_ROWS // 2} that got most."
    rows = [[_rounded(each.value(flow)) if each.has(flow) else None for each in columns] for flow in shown]
    made.table([each.heading for each in columns], rows, caption=caption)


def _rounded(value: object) -> object:
    return Cell(number(value, 4), sort=float(f"{value:.6g}")) if isinstance(value, float) else value


def _plain(text: str) -> str:
    """A meaning without its marks: code, and links to the documentation."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
