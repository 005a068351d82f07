"""Text for people: summaries, lists, the progress bar."""

from __future__ import annotations

import statistics
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl

    from transorbit.result import Result

_SHOWN_FLOWS = 8


@contextmanager
def progress(*, enabled: bool) -> Iterator[Callable[[float], None] | None]:
    """A progress bar on standard error, if that is a terminal."""
    if not (enabled and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    columns = (BarColumn(bar_width=40), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda share: bar.update(task, completed=share)


def summary(result: Result) -> str:
    """What happened in a run, on one screen."""
    numbers = result.summary
    wall_s = result.provenance["wall_s"]
    lines = [
        f"{result.title}",
        f"seed {numbers['seed']}, {numbers['simulated_s']:g} s simulated in {wall_s:.2f} s, digest {numbers['digest']}",
        "",
        *_flows(numbers["flows"]),
        "",
        *_last_hop(numbers["last_hop"]),
        *_proxies(numbers["flows"]),
        *_path(numbers["path"]),
        *(f"warning: {warning}" for warning in numbers["warnings"]),
    ]
    return "\n".join(lines)


def comparison(results: Mapping[str, Result]) -> str:
    """The same numbers of several runs, side by side."""
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("goodput", lambda s: rate(sum(flow["goodput_bps"] for flow in s["flows"]))),
        ("packets sent", lambda s: str(_sum(s, "sent_packets"))),
        ("fast retransmits", lambda s: _counted(s, "dupack_events")),
        ("timeouts", lambda s: _counted(s, "rto_events")),
        ("packets sent again", lambda s: _counted(s, "retransmitted_packets")),
        ("  of them spurious", lambda s: _counted(s, "spurious_retransmissions")),
        ("mean window", lambda s: f"{_mean(s, 'cwnd_mean_packets'):.1f} packets"),
        ("mean RTT", lambda s: f"{_mean(s, 'rtt_mean_s') * 1e3:.1f} ms"),
        ("one-way delay, mean", lambda s: f"{_mean(s, 'one_way_delay_mean_s') * 1e3:.1f} ms"),
        ("one-way delay, 95 %", lambda s: f"{_mean(s, 'one_way_delay_p95_s') * 1e3:.1f} ms"),
        ("HARQ, decoded after", lambda s: _harq_shares(s["last_hop"]["harq"])),
        ("HARQ, never decoded", lambda s: _harq_failed(s["last_hop"]["harq"])),
        ("reordering, mean wait", lambda s: _ms(s["last_hop"]["reordering"]["wait_mean_s"])),
    ]
    cells = [[name, *(row(result.summary) for result in results.values())] for name, row in rows]
    first = next(iter(results.values())).summary
    heading = [first["title"], f"seed {first['seed']}, {first['simulated_s']:g} s simulated", ""]
    return "\n".join([*heading, *table(["", *results], cells), "", *_path(first["path"])])


def registries(registries: list[dict[str, Any]], *, options: bool) -> str:
    """Names and summaries; with `options`, what each entry can be told."""
    blocks = []
    for registry in registries:
        lines = [f"{registry['name']} ({registry['key']})"]
        width = max(len(entry["name"]) for entry in registry["entries"])
        for entry in registry["entries"]:
            lines.append(f"  {entry['name']:<{width}}  {' '.join(entry['summary'].split())}".rstrip())
            if options:
                lines += [f"    {_option(option)}" for option in entry["options"]]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def delay(trace: pl.DataFrame) -> str:
    """The range of a path's delay, and what happened on it."""
    import polars as pl

    delays = trace["one_way_delay_s"].drop_nulls() * 1e3
    if delays.is_empty():
        return "no route at any time"
    low, mean, high = (float(value or 0.0) for value in (delays.min(), delays.mean(), delays.max()))  # type: ignore[arg-type]
    events = trace.filter(pl.col("event").is_not_null() & (pl.col("event") != ""))["event"]
    counted = events.value_counts(sort=True).iter_rows()
    lines = [f"one-way delay  {low:.2f} / {mean:.2f} / {high:.2f} ms (min / mean / max)"]
    lines += [f"{event}  {count}" for event, count in counted]
    if gaps := trace["one_way_delay_s"].null_count():
        lines.append(f"no route in {gaps} of {len(trace)} samples")
    return "\n".join(lines)


def tree(value: Mapping[str, Any], indent: str = "") -> str:
    """Nested numbers, a line each."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict):
            lines += [f"{indent}{key}", tree(item, indent + "  ")]
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            rows = [[_number(element[name]) for name in item[0]] for element in item]
            lines += [f"{indent}{key}", *(f"{indent}  {row}" for row in table(list(item[0]), rows))]
        elif isinstance(item, list):
            lines.append(f"{indent}{key}  {', '.join(_number(element) for element in item)}")
        else:
            lines.append(f"{indent}{key}  {_number(item)}")
    return "\n".join(lines)


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Left-aligned names, right-aligned values."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(cells: list[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in rest)]).rstrip()

    return [line(header), *(line(row) for row in rows)]


def rate(bps: float) -> str:
    """A bit rate in the unit that suits it."""
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= scale:
            return f"{bps / scale:.3g} {unit}" if bps < 1000 * scale else f"{bps / scale:.0f} {unit}"
    return f"{bps:.0f} bit/s"


def _flows(flows: list[dict[str, Any]]) -> list[str]:
    header = [
        "flow",
        "goodput",
        "RTT",
        "one-way mean",
        "95 %",
        "sent",
        "retransmitted",
        "spurious",
        "fast rtx",
        "timeouts",
    ]
    rows = [
        [
            f"{flow['id']} {flow.get('congestion') or flow['transport']}",
            rate(flow["goodput_bps"]),
            _ms(flow["rtt_mean_s"]),
            _ms(flow["one_way_delay_mean_s"]),
            _ms(flow["one_way_delay_p95_s"]),
            str(flow["sent_packets"]),
            str(flow["retransmitted_packets"]),
            str(flow["spurious_retransmissions"]),
            str(flow["dupack_events"]),
            str(flow["rto_events"]),
        ]
        for flow in flows[:_SHOWN_FLOWS]
    ]
    lines = table(header, rows)
    if len(flows) > _SHOWN_FLOWS:
        goodputs = [flow["goodput_bps"] for flow in flows]
        low, middle, high = (rate(of(goodputs)) for of in (min, statistics.median, max))
        lines += [
            f"… and {len(flows) - _SHOWN_FLOWS} more; all {len(flows)} together {rate(sum(goodputs))}, "
            f"each {low} / {middle} / {high} (min / median / max)"
        ]
    return lines


def _last_hop(hop: dict[str, Any]) -> list[str]:
    managed = [f"{hop['dropped_early']} dropped early, "] if hop["dropped_early"] else []
    managed += [f"{hop['marked_packets']} marked, "] if hop["marked_packets"] else []
    lines = [
        f"last hop    {hop['offered_packets']} packets offered, {hop['dropped_overflow']} dropped by a full queue, "
        f"{''.join(managed)}{hop['dropped_timeout']} too old; {100 * hop['utilisation']:.1f} % busy"
    ]
    harq = hop["harq"]
    if len(harq["decoded_after"]) == 1:
        lines.append(f"channel     {_harq_failed(harq)} of the packets lost")
    elif harq["bits_per_packet_mean"] is not None:
        lines.append(
            f"HARQ        decoded after {_harq_shares(harq)}; never {_harq_failed(harq)}; "
            f"{harq['bits_per_packet_mean']:.0f} coded bits a packet"
        )
    buffer = hop["reordering"]
    if buffer["held_packets"]:
        lines.append(
            f"reordering  {buffer['held_packets']} packets held for {_ms(buffer['wait_mean_s'])} on average; "
            f"flushed {buffer['flushed_full']} times full, {buffer['flushed_failed']} times after a failure"
        )
    return lines


def _proxies(flows: list[dict[str, Any]]) -> list[str]:
    held = [flow["pep"]["held_bytes_max"] for flow in flows if "pep" in flow]
    if not held:
        return []
    return [
        f"proxy       {len(held)} of {len(flows)} flows split at the gateway, which held {max(held)} B of one at most"
    ]


def _path(path: dict[str, Any]) -> list[str]:
    low, mean, high = (path[f"one_way_delay_{name}_s"] for name in ("min", "mean", "max"))
    return [
        f"path        one-way delay {_ms(low)} / {_ms(mean)} / {_ms(high)} (min / mean / max), "
        f"{path['handovers']} handovers"
    ]


def _harq_shares(harq: dict[str, Any]) -> str:
    counts = harq["decoded_after"]
    total = sum(counts) + harq["failed"]
    shares = " / ".join(f"{100 * count / total:.1f}" for count in counts) if total else "-"
    return f"{shares} %" if total else "-"


def _harq_failed(harq: dict[str, Any]) -> str:
    total = sum(harq["decoded_after"]) + harq["failed"]
    return f"{100 * harq['failed'] / total:.2f} %" if total else "-"


def _sum(summary: dict[str, Any], key: str) -> int:
    return sum(flow[key] for flow in summary["flows"])


def _counted(summary: dict[str, Any], key: str) -> str:
    """A count over all flows, and how many that is of the packets sent."""
    count, sent = _sum(summary, key), _sum(summary, "sent_packets")
    return f"{count} ({100 * count / sent:.2f} %)" if sent else str(count)


def _mean(summary: dict[str, Any], key: str) -> float:
    values = [flow[key] for flow in summary["flows"] if flow[key] is not None]
    return statistics.fmean(values) if values else 0.0


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _option(option: dict[str, Any]) -> str:
    default = "" if option.get("default") is None else f" = {option['default']}"
    return f"{option['name']}{default}: {' '.join(str(option.get('description') or '').split())}"
