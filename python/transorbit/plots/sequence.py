"""The packet time-sequence graph of a connection, in the manner of tcptrace (S. Ostermann, www.tcptrace.org)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from transorbit import packets
from transorbit._core import ScenarioError
from transorbit.plots import heading, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

# The part of a longer run that is shown, in round-trip times before and after the first retransmission.
_BEFORE, _AFTER = 4, 8
# More acknowledgments have no ticks, and more marks are no lines.
_MOST_TICKS, _MOST_LINES = 1500, 20_000
_SPAN = 1 << 32
_KINDS = {
    "segment": ("segment", style.BLACK),
    "retransmission": ("retransmission", style.RED),
    "sack": ("SACK block", style.PURPLE),
    "acknowledgment": ("acknowledged", style.BLUE),
    "window": ("receive window", style.ORANGE),
}


def sequence(
    result: Result,
    *,
    flow: int | None = None,
    place: str | None = None,
    from_s: float | None = None,
    until_s: float | None = None,
    width: float = style.DOUBLE_IN,
    title: str | None = None,
) -> Figure:
    """Segments, cumulative and selective acknowledgments and the receive window, in bytes over time.

    A segment is an upright line from its first byte to its last. What lies below the highest byte seen before is drawn
    as retransmitted: at the sender that is what it is, elsewhere it may have come late.

    Args:
        result: a run with `record.packets = "pcapng"`.
        flow: by default the first with TCP.
        place: where the packets were seen: `sender`, `gateway`, `satellite` or `receiver`; by default the end of the
            path over the satellites that sends the data.
        from_s, until_s: the time shown; by default some round-trip times around the first packet that is retransmitted.
        width: in inches.
        title: by default the flow and the place; "" is none.

    Raises:
        ScenarioError: no packets were recorded, no such flow or place, or nothing in this time.
    """
    where = place or ("gateway" if "gateway" in result.captures else "sender")
    captured = _capture(result, where, "place" if place else "sequence")
    of_flow = _flow(result, captured, flow)
    # The end that sends what the satellites carry.
    if not place and of_flow["direction"] == "up":
        where = "receiver"
        captured = _capture(result, where, "sequence")
    events = _events(captured, of_flow)
    begin, end = _shown(events, from_s, until_s, result.numbers["simulated_s"], of_flow["rtt_mean_s"] or 0.5)
    shown = events.filter(pl.col("time_s").is_between(begin, end))
    if shown.filter(pl.col("kind") != "window").is_empty():
        raise ScenarioError(f"sequence: flow {of_flow['id']} has no packets between {begin:g} s and {end:g} s")
    usual = f"Packets of flow {of_flow['id']} at the {where}"
    title = usual if title is None else title
    with style.grid(width=width, height=0.6 * width, title=title) as (fig, [[ax]]):
        _draw(ax, events, shown)
        ax.set_xlim(begin, end)
        ax.set_xlabel("Time (s)")
        ax.set_ylabel("Sequence number (kB)")
        fig.numbers = shown
    return fig


def _capture(result: Result, where: str, key: str) -> pl.DataFrame:
    """The packets that have a sequence number, at a place."""
    if where not in result.captures:
        held = f"one of {', '.join(result.captures)}" if result.captures else 'run it with record.packets = "pcapng"'
        raise ScenarioError(f"{key}: the result has no packets at the {where}: {held}")
    return packets.read(result.captures[where]).filter(pl.col("sequence").is_not_null())


def _flow(result: Result, seen: pl.DataFrame, wanted: int | None) -> dict[str, Any]:
    """Returns the flow with that number, or the first; only flows whose packets have sequence numbers count."""
    numbered = set(seen.select("source", "destination").unique().iter_rows())
    flows = result.summary["flows"]
    numbered_flows = [flow for flow in flows if not numbered.isdisjoint({_ends(flow), _ends(flow)[::-1]})]
    candidate_flows = [flow for flow in numbered_flows if wanted is None or flow["id"] == wanted]
    if not candidate_flows:
        numbers = ", ".join(str(flow["id"]) for flow in numbered_flows[:10]) or "none"
        raise ScenarioError(
            "flow: the captures have no packets of TCP between the ends of a flow"
            if wanted is None
            else f"flow: {wanted} is no flow with TCP: {numbers}"
        )
    return dict(candidate_flows[0])


def _ends(flow: dict[str, Any]) -> tuple[str, str]:
    """The addresses of the flow's sender and receiver."""
    server = _address(10 << 24 | flow["id"] + 1)
    user = _address(10 << 24 | 128 << 16 | flow["user"] + 1)
    return (user, server) if flow["direction"] == "up" else (server, user)


def _events(table: pl.DataFrame, flow: dict[str, Any]) -> pl.DataFrame:
    """Returns the marks to be drawn: `time_s`, `kind`, and `low` and `high` in bytes of the stream."""
    ends = _ends(flow)
    own = table.filter(pl.col("source").is_in(ends) & pl.col("destination").is_in(ends))
    columns = ("time_s", "source", "sequence", "payload_bytes", "syn", "ack", "acknowledgment", "window", "sack")
    rows: list[tuple[float, str, int, int]] = []
    first: int | None = None
    last = highest = acknowledged = 0
    for at, source, number, payload, syn, ack, acknowledgment, window, sack in own.select(columns).iter_rows():
        if source == ends[0]:
            if first is None:
                first = number + 1 if syn else number
            if payload:
                low = _unwrapped(number - first, last)
                last, high = low, low + payload
                # The stream below its highest byte: sent before, or overtaken.
                rows.append((at, "retransmission" if low < highest else "segment", low, high))
                highest = max(highest, high)
        elif ack and first is not None:
            level = _unwrapped(acknowledgment - first, acknowledged)
            acknowledged = max(acknowledged, level)
            rows += ((at, "acknowledgment", level, level), (at, "window", level + window, level + window))
            rows += ((at, "sack", *(_unwrapped(edge - first, acknowledged) for edge in edges)) for edges in sack)
    schema = {"time_s": pl.Float64, "kind": pl.String, "low": pl.Int64, "high": pl.Int64}
    values = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pl.DataFrame([pl.Series(name, [*own], schema[name]) for name, own in zip(schema, values, strict=True)])


def _address(number: int) -> str:
    return ".".join(map(str, number.to_bytes(4, "big")))


def _unwrapped(offset: int, near: int) -> int:
    """The offset in the stream that has these 32 bits and is nearest to another."""
    return near + (offset - near + _SPAN // 2) % _SPAN - _SPAN // 2


def _shown(
    events: pl.DataFrame, from_s: float | None, until_s: float | None, end_s: float, rtt_s: float
) -> tuple[float, float]:
    """The time that is shown."""
    if from_s is None and until_s is None and end_s > (_BEFORE + _AFTER) * rtt_s:
        again, any_event = events.filter(pl.col("kind") == "retransmission")["time_s"], events["time_s"]
        # The first retransmission, else the first packet.
        begin = float(again[0]) - _BEFORE * rtt_s if len(again) else float(any_event[0]) if len(any_event) else 0.0
        begin = max(min(begin, end_s - (_BEFORE + _AFTER) * rtt_s), 0.0)
        return begin, begin + (_BEFORE + _AFTER) * rtt_s
    begin, end = from_s or 0.0, end_s if until_s is None else until_s
    if not begin < end:
        raise ScenarioError(f"sequence: the time shown begins at {begin:g} s and ends at {end:g} s")
    return begin, end


def _draw(ax: Axes, events: pl.DataFrame, shown: pl.DataFrame) -> None:
    """Draws the marks, least important first, and sets the vertical range that they fill."""
    stream = shown.filter(pl.col("kind") != "window")
    low, high = float(stream["low"].min() or 0), float(stream["high"].max() or 1)  # type: ignore[arg-type]
    # A window much larger than the data in flight would compress everything else.
    near = shown.filter((pl.col("kind") == "window") & (pl.col("high") < high + 0.5 * (high - low)))
    high = max(high, float(near["high"].max() or 0))  # type: ignore[arg-type]
    begin = float(shown["time_s"].min() or 0)  # type: ignore[arg-type]
    before = events.filter((pl.col("kind") == "acknowledgment") & (pl.col("time_s") < begin)).tail(1)
    # The level that holds where the picture begins belongs to it.
    level = pl.concat([before.with_columns(pl.lit(begin).alias("time_s")), shown])
    for kind, line in (("window", near), ("acknowledgment", level.filter(pl.col("kind") == "acknowledgment"))):
        ax.step(line["time_s"], line["high"] / 1e3, where="post", color=_KINDS[kind][1], linewidth=1.0)
        if kind == "acknowledgment" and len(line) <= _MOST_TICKS:
            # Ticks show the acknowledgments that repeat a level.
            ax.plot(line["time_s"], line["high"] / 1e3, color=_KINDS[kind][1], **_TICK)
    for kind, broad in (("sack", 1.0), ("segment", 1.2), ("retransmission", 2.0)):
        own = shown.filter(pl.col("kind") == kind)
        bars = [[(row[0], row[2] / 1e3), (row[0], row[3] / 1e3)] for row in own.iter_rows()]
        # So many are a picture within the file: as lines they would be all of it.
        many = len(bars) > _MOST_LINES
        ax.add_collection(LineCollection(bars, colors=_KINDS[kind][1], linewidths=broad, rasterized=many))
        if kind == "retransmission":
            ax.plot(own["time_s"], own["low"] / 1e3, color=_KINDS[kind][1], **_AGAIN)
    room = 0.04 * (high - low) or 1000.0
    ax.set_ylim((low - room) / 1e3, (high + room) / 1e3)
    _legend(ax, set(stream["kind"]) | set(near["kind"]))


_TICK: Any = {"linestyle": "none", "marker": 3, "markersize": 3}
_AGAIN: Any = {"linestyle": "none", "marker": "^", "markersize": 4.5, "markerfacecolor": "white"}


def _legend(ax: Axes, kinds: set[str]) -> None:
    marks: dict[str, Any] = {
        "segment": {"marker": "|", "linestyle": "none", "markeredgewidth": 1.2},
        "retransmission": _AGAIN,
        "sack": {"marker": "|", "linestyle": "none", "markeredgewidth": 1.0},
    }
    handles = [
        Line2D([], [], color=color, label=label, **marks.get(kind, {}))
        for kind, (label, color) in _KINDS.items()
        if kind in kinds
    ]
    heading.legend(ax.figure, handles)  # type: ignore[arg-type]
