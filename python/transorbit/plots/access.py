"""Plots of random access, and of the flows over the return link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._flow_kinds import begun_like
from transorbit.plots import heading, style
from transorbit.plots.marks import distribution
from transorbit.plots.needs import Need

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import PlrCurves, Result

_MARKERS = "osD^vPX"
_DASHED = (0, (5, 3))
# Fewer flows have no meaningful distribution.
_FEWEST_FLOWS = 3


def plr(study: PlrCurves, **look: Unpack[style.Look]) -> Figure:
    """Packet loss rate and throughput against the packets of a block, as figure 3 of Kuhn et al. 2015.

    Shaded is what holds with 95 % confidence. A point without any loss is an empty triangle at the upper end of its
    interval: the rate is below it.
    """
    slots = study.report["block_slots"]
    title = f"Random access, blocks of {slots} slots, {_noise(study)}"
    with style.plain(title=title, rows=2, height=5.2, look=look) as (fig, [top, low]):
        for i, method in enumerate(study.methods):
            own = study.table.filter(pl.col("method") == method).sort("packets_per_block")
            color = style.CYCLE[i % len(style.CYCLE)]
            _loss(top, own, color, _MARKERS[i % len(_MARKERS)], method)
            _throughput(low, own, color, _MARKERS[i % len(_MARKERS)])
        counts = study.table["packets_per_block"]
        until = float(counts.max() or 1)  # type: ignore[arg-type]
        low.plot(
            [0, until], [0, until / slots], color=style.GREY, linestyle=_DASHED, linewidth=0.9, label="without loss"
        )
        top.set_yscale("log")
        top.set_ylim(_floor(study.table), 1.3)
        top.set_ylabel("Packet loss rate")
        low.set_ylabel("Throughput (packets per slot)")
        low.set_ylim(bottom=0)
        low.set_xlim(0, until * 1.02)
        low.set_xlabel(f"Packets in a block of {slots} slots")
        heading.above(top)
        heading.above(low)
    return fig


def access_times(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """Times to the first packet and to completion of flows over the return link, by traffic and direction."""
    if not TIMES.is_met(result):
        return None
    flows, known = _flows(result), _times(result)
    ended = [flow for flow in flows if flow["completion_s"] is not None]
    opened = [flow for flow in result.summary["flows"] if flow["opened_s"] is not None]
    begun = {"first_packet_s": opened, "completion_s": begun_like(ended, opened)}
    title = heading.of_run(f"Return link: {result.numbers['access']['method']}", result)
    with style.plain(title=title, height=3.4, look=look) as (fig, [ax]):
        for i, kind in enumerate(known["completion_s"]):
            for key, label, line in (("first_packet_s", "first packet", "-"), ("completion_s", "all", _DASHED)):
                times = known[key][kind]
                if len(times) >= _FEWEST_FLOWS:
                    color, own = style.CYCLE[i % len(style.CYCLE)], sum(_what(flow) == kind for flow in begun[key])
                    distribution(ax, times, of=own, color=color, linestyle=line, label=f"{kind}, {label}")
        ax.set_xlabel("Time since the flow began (s)")
        ax.set_ylabel("Flows done by then (%)")
        ax.set_xlim(left=0)
        heading.above(ax)
    return fig


def _flows(result: Result) -> list[dict[str, Any]]:
    """The flows over the return link."""
    return [flow for flow in result.summary["flows"] if flow.get("access_kind") is not None]


def _times(result: Result) -> dict[str, dict[str, list[float]]]:
    """The times to the first packet and to completion that are known, sorted, by traffic and direction."""
    flows = _flows(result)
    kinds = list(dict.fromkeys(_what(flow) for flow in flows))
    return {
        key: {
            kind: sorted(flow[key] for flow in flows if _what(flow) == kind and flow.get(key) is not None)
            for kind in kinds
        }
        for key in ("first_packet_s", "completion_s")
    }


#: What `access_times` needs.
TIMES = Need(
    fewest=_FEWEST_FLOWS,
    of="flows of one traffic and direction over the return link that delivered a packet",
    count=lambda result: max((len(times) for own in _times(result).values() for times in own.values()), default=0),
)


def _what(flow: dict[str, Any]) -> str:
    return f"{flow['traffic']} {flow['direction']}"


def _loss(ax: Axes, own: pl.DataFrame, color: str, marker: str, label: str) -> None:
    lossy = own.filter(pl.col("lost_packets") > 0)
    ax.fill_between(
        lossy["packets_per_block"], lossy["plr_low"], lossy["plr_high"], color=color, alpha=0.25, linewidth=0
    )
    ax.plot(lossy["packets_per_block"], lossy["plr"], color=color, marker=marker, markersize=3, label=label)
    clean = own.filter(pl.col("lost_packets") == 0)
    ax.plot(
        clean["packets_per_block"],
        clean["plr_high"],
        color=color,
        marker="v",
        markersize=4,
        markerfacecolor="none",
        linestyle="none",
    )


def _throughput(ax: Axes, own: pl.DataFrame, color: str, marker: str) -> None:
    ends = own.select(
        pl.col("packets_per_block"),
        low=pl.col("load") * (1 - pl.col("plr_high")),
        high=pl.col("load") * (1 - pl.col("plr_low")),
    )
    ax.fill_between(ends["packets_per_block"], ends["low"], ends["high"], color=color, alpha=0.25, linewidth=0)
    ax.plot(own["packets_per_block"], own["throughput"], color=color, marker=marker, markersize=3)


def _floor(table: pl.DataFrame) -> float:
    """The power of ten below everything that is drawn."""
    drawn = table.select(pl.when(pl.col("lost_packets") > 0).then("plr").otherwise("plr_high")).to_series()
    least, floor = float(drawn.min() or 1.0), 1.0  # type: ignore[arg-type]
    while floor >= least:
        floor /= 10
    return floor


def _noise(study: PlrCurves) -> str:
    spread = study.report["power_spread_db"]
    unequal = f" ± {spread:g} dB" if spread else ""
    return f"Es/N0 = {study.report['es_n0_db']:g} dB{unequal}"
