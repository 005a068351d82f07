"""Plots of the users' goodput, voice quality and completion times."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.ticker import MaxNLocator

from transorbit import _numbers
from transorbit._flow_kinds import begun_like, what_it_runs
from transorbit.plots import heading, style
from transorbit.plots.marks import distribution
from transorbit.plots.needs import Need
from transorbit.plots.scales import from_zero, plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

# Fewer users or transfers are better read off the summary.
_FEWEST_USERS = 3
_MANY_POINTS = 300
_DASHED = (0, (4, 3))
_HIGHEST_SCORE = 4.5
# The most is that many medians away: only a logarithmic axis shows both.
_FAR = 20


def goodput_by_user(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The share of the users who got at most a goodput."""
    if not USERS.is_met(result):
        return None
    kbps = [value / 1e3 for value in _goodput_of_users(result).sort()]
    scale, unit = (1e3, "Mbit/s") if kbps[-1] >= 1e4 else (1.0, "kbit/s")
    users = result.numbers["users"]
    with style.plain(title=heading.of_run("Goodput by user", result), look=look) as (fig, [ax]):
        values = [value / scale for value in kbps]
        distribution(ax, values, until=2 * values[-1], color=style.BLUE)
        mean = users["goodput_mean_bps"] / 1e3 / scale
        ax.axvline(
            mean, color=style.GREY, linewidth=0.9, linestyle=_DASHED, label=f"mean {_numbers.number(mean, 3)} {unit}"
        )
        ax.set_xlabel(f"Goodput ({unit})")
        ax.set_ylabel("Users with at most this (%)")
        _horizontal(ax, values)
        fairness = "" if users["jain"] is None else f", Jain index {users['jain']:.3f}"
        nothing = kbps.count(0.0)
        without = f", {nothing} without any" if nothing and ax.get_xscale() == "log" else ""
        fig.note = f"{users['count']} users{fairness}{without}"
        heading.above(ax)
    return fig


def voice(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The mean opinion score of each voice, the worst first; behind it its packets not played, its delay and jitter."""
    voices = result.reports("voice")
    if voices.is_empty():
        return None
    # Of the listener: a flow counts packets, of which one of QUIC may carry several of the call.
    sent = pl.col("received_packets") + pl.col("lost_packets")
    shares = ((pl.col(f"{name}_packets") / sent).alias(name) for name in ("lost", "late"))
    heard = voices.select("flow", "mouth_to_ear_s", *shares)
    flows = result.flows.join(heard, left_on="id", right_on="flow").sort("mos", maintain_order=True)
    with style.plain(title=heading.of_run("Voice, flow by flow", result), rows=3, height=6.2, look=look) as (
        fig,
        [top, middle, low],
    ):
        _by_rank(top, flows, ("", "mos", "o", style.BLUE), scale=1.0)
        top.set_ylabel("Mean opinion score")
        # The scale of the E-model ends at 4.5 (ITU-T G.107).
        top.set_ylim(1, _HIGHEST_SCORE)
        top.set_yticks([1, 2, 3, 4, _HIGHEST_SCORE])
        for cause in (("lost", "lost", "o", style.BLUE), ("late", "late", "^", style.RED)):
            _by_rank(middle, flows, cause, scale=100.0)
        middle.set_ylabel("Not played\n(% of packets)")
        from_zero(middle, middle.dataLim.y1)
        for times in (
            ("mouth to ear", "mouth_to_ear_s", "^", style.RED),
            ("one way, 95 %", "one_way_delay_p95_s", "s", style.SKY),
            ("one way, mean", "one_way_delay_mean_s", "o", style.BLUE),
            ("jitter", "jitter_s", "v", style.GREEN),
        ):
            _by_rank(low, flows, times, scale=1e3)
        low.set_ylabel("Time (ms)")
        low.set_ylim(bottom=0)
        low.set_xlabel("Flows, the lowest score first")
        low.set_xlim(0.5, len(flows) + 0.5)
        low.xaxis.set_major_locator(MaxNLocator(integer=True))
        for ax in (middle, low):
            heading.above(ax)
    return fig


def _by_rank(ax: Axes, flows: pl.DataFrame, points: tuple[str, str, str, str], *, scale: float) -> None:
    """A point for each flow that has a value, in their order: its name, column, marker and colour."""
    name, column, marker, color = points
    known = {rank: scale * value for rank, value in enumerate(flows[column], start=1) if value is not None}
    look: dict[str, Any] = {"linestyle": "none", "markersize": 4 if len(flows) <= _MANY_POINTS else 2, "clip_on": False}
    ax.plot([*known], [*known.values()], marker=marker, color=color, label=name or None, **look)


def completion(result: Result, **look: Unpack[style.Look]) -> Figure | None:
    """The completion times of transfers, by their size."""
    if not ENDED.is_met(result):
        return None
    done = _ended(result)
    begun = begun_like(done, result.summary["flows"])
    kinds = list(dict.fromkeys(what_it_runs(flow) for flow in done))
    sizes = {flow["size_bytes"] for flow in begun if flow.get("size_bytes") is not None}
    if len(sizes | {flow["delivered_bytes"] for flow in done}) == 1:
        return _of_one_size(result, done, begun, look)
    with style.plain(title=heading.of_run("Completion of transfers", result), height=3.4, look=look) as (fig, [ax]):
        for kind in kinds:
            own = [flow for flow in done if what_it_runs(flow) == kind]
            ax.plot(
                [flow["delivered_bytes"] / 1e3 for flow in own],
                [flow["completion_s"] for flow in own],
                linestyle="none",
                marker="o",
                markersize=3 if len(own) <= _MANY_POINTS else 1.5,
                alpha=0.7,
                label=kind,
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.margins(x=0.05, y=0.1)
        for axis in (ax.xaxis, ax.yaxis):
            plain(axis)
        ax.set_xlabel("Size (kB)")
        ax.set_ylabel("Time to complete (s)")
        if len(kinds) > 1:
            heading.above(ax)
        fig.note = _how_many(done, begun, "transfers")
    return fig


def _of_one_size(result: Result, done: list[dict[str, Any]], begun: list[dict[str, Any]], look: style.Look) -> Figure:
    """The distribution of the completion times of transfers that are all of one size, among those that have begun."""
    size, kinds = done[0]["delivered_bytes"], list(dict.fromkeys(what_it_runs(flow) for flow in done))
    with style.plain(title=heading.of_run("Completion of transfers", result), look=look) as (fig, [ax]):
        for kind, color, dash in zip(kinds, cycle(style.CYCLE), cycle(style.DASHES)):
            own = [flow for flow in begun if what_it_runs(flow) == kind]
            times = sorted(flow["completion_s"] for flow in own if flow["completion_s"] is not None)
            distribution(ax, times, of=len(own), color=color, linestyle=dash, label=kind)
        ax.set_xlim(left=0)
        ax.margins(x=0.04)
        ax.set_xlabel("Time to complete (s)")
        ax.set_ylabel("Transfers done by then (%)")
        if len(kinds) > 1:
            heading.above(ax)
        fig.note = _how_many(done, begun, f"transfers of {size / 1e3:g} kB")
    return fig


def _how_many(done: list[dict[str, Any]], begun: list[dict[str, Any]], what: str) -> str:
    """How many transfers ended; of how many, where all have a size: without one nothing else tells a transfer."""
    sized = all(flow.get("size_bytes") is not None for flow in begun)
    return f"{len(done)} of {len(begun)} {what} ended" if sized else f"{len(done)} {what} ended"


def _ended(result: Result) -> list[dict[str, Any]]:
    """The transfers that ended."""
    return [flow for flow in result.summary["flows"] if flow.get("completion_s") is not None]


def _goodput_of_users(result: Result) -> pl.Series:
    """Bits per second of each user who has opened a flow, from the first one's opening to the end of the run."""
    # Results of an earlier version lack the column.
    if "opened_s" not in result.flows.columns:
        return pl.Series([], dtype=pl.Float64)
    opened = result.flows.drop_nulls("opened_s")
    users = opened.group_by("user", maintain_order=True).agg(pl.sum("delivered_bytes"), pl.min("opened_s"))
    since_s = result.numbers["simulated_s"] - pl.col("opened_s")
    goodput = pl.when(since_s > 0).then(pl.col("delivered_bytes") * 8 / since_s).otherwise(0.0)
    return users.select(goodput.alias("goodput_bps")).to_series()


#: What `goodput_by_user` and `completion` need.
USERS = Need(_FEWEST_USERS, "users who opened a flow", lambda result: len(_goodput_of_users(result)))
ENDED = Need(_FEWEST_USERS, "ended transfers", lambda result: len(_ended(result)))


def _horizontal(ax: Axes, values: Sequence[float]) -> None:
    """The axis of sorted values: logarithmic if they are decades apart, from zero if that is not far from them."""
    least, median, most = values[0], values[len(values) // 2], values[-1]
    some = [value for value in values if value > 0]
    if some and most > _FAR * median:
        ax.set_xscale("log")
        ax.set_xlim(some[0] / 1.3, 1.3 * most)
        plain(ax.xaxis)
    elif least > most / 2:
        room = 0.1 * (most - least) or 0.1 * most
        ax.set_xlim(least - room, most + room)
    else:
        ax.set_xlim(0, 1.03 * most or 1)
