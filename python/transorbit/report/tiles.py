"""The key numbers of a run."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit._flow_kinds import is_video, transfers, what_it_runs
from transorbit._numbers import delay_unit
from transorbit._numbers import on_page as number
from transorbit._summary import mean_of_reports
from transorbit.report import text
from transorbit.report.page import MISSING, Tile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from transorbit.result import Result


def of(result: Result) -> Iterator[Tile]:
    """The key numbers of the summary, the most important first."""
    summary = result.summary
    flows = summary["flows"]
    yield from _rates(result)
    if rtts := _known(flows, "rtt_mean_s"):
        yield Tile("Round-trip time, mean", *text.delay(statistics.fmean(rtts)), _range_of_delays(rtts))
    if delays := _known(flows, "one_way_delay_mean_s"):
        late = max(_known(flows, "one_way_delay_p95_s"))
        note = f"95 % within {' '.join(text.delay(late))}" + (" of the slowest flow" if len(delays) > 1 else "")
        yield Tile("One-way delay, mean", *text.delay(statistics.fmean(delays)), note)
    yield from _losses(summary)
    yield from _quality(flows)
    yield from _waits(result)
    yield from _link_tiles(summary)


def _rates(result: Result) -> Iterator[Tile]:
    users = result.summary["users"]
    flows = result.summary["flows"]
    value, unit = text.rate(result.goodput_bps)
    scope = f"of {number(len(flows))} flows together" if len(flows) > 1 else f"of the flow ({what_it_runs(flows[0])})"
    yield Tile("Goodput", value, unit, f"{scope}, over the whole run" if flows else "")
    if users["count"] > 1:
        least, most = (" ".join(text.rate(users[f"goodput_{name}_bps"])) for name in ("min", "max"))
        value, unit = text.rate(users["goodput_mean_bps"])
        yield Tile(f"Goodput of {number(users['count'])} users, mean", value, unit, f"{least} to {most}")
        if users["jain"] is not None:
            yield Tile("Fairness", f"{users['jain']:.3f}", "", "Jain's index, 1 is equal")


def _losses(summary: dict[str, Any]) -> Iterator[Tile]:
    flows = summary["flows"]
    words = _columns.lost()
    lost = {key: sum(flow[key] for flow in flows) for key in words}
    # Packets in flight at the end have no fate yet.
    if settled := sum(flow["received_packets"] for flow in flows) + sum(lost.values()):
        main = max(lost, key=lambda key: lost[key]) if any(lost.values()) else None
        note = "nothing was lost" if main is None else f"mostly {words[main]}"
        yield Tile("Packets lost", number(100 * sum(lost.values()) / settled, 3), "%", note)
    tcp = [flow for flow in flows if flow["congestion"] is not None]
    if of_tcp := sum(flow["sent_packets"] for flow in tcp):
        again, spurious = (
            sum(flow[key] for flow in tcp) for key in ("retransmitted_packets", "spurious_retransmissions")
        )
        yield Tile("Retransmitted", number(100 * again / of_tcp, 3), "%", f"{number(spurious)} needlessly")
        timeouts = sum(flow["rto_events"] for flow in tcp)
        fast = sum(flow["dupack_events"] for flow in tcp)
        yield Tile("Timeouts", number(timeouts), "", f"and {number(fast)} fast retransmits")


def _quality(flows: list[dict[str, Any]]) -> Iterator[Tile]:
    """The quality that users perceive: video, games, speech."""
    if viewers := [flow for flow in flows if is_video(flow)]:
        stalled = _known(viewers, "rebuffer_ratio")
        note = f"{number(sum(flow['rebuffers'] for flow in viewers))} stalls of {number(len(viewers))} viewers"
        yield Tile("Time in stalls", number(100 * statistics.fmean(stalled), 3) if stalled else MISSING, "%", note)
    if latencies := _known(flows, "latency_mean_s"):
        yield Tile("Latency to live", number(statistics.fmean(latencies), 3), "s", _range(latencies, 1, "s", 3))
    if responses := _known(flows, "response_p95_s"):
        note = "95 % of a game's commands" if len(responses) == 1 else "the slowest player, 95 % of the commands"
        yield Tile("Response of a game", *text.delay(max(responses)), note)
    if scores := _known([flow for flow in flows if flow.get("voice")], "mos"):
        yield Tile("Speech quality", f"{statistics.fmean(scores):.2f}", "MOS", _range(scores, 1, "", 3))


def _waits(result: Result) -> Iterator[Tile]:
    """How long users wait for pages and transfers."""
    web = result.reports("web")
    pages, clicks, requests = (int(web[key].sum()) if len(web) else 0 for key in ("pages", "clicks", "requests"))
    if clicks:
        load = mean_of_reports(web, "load_mean_s", "pages")
        yield Tile("Page, mean time", _seconds(load), "s", f"{number(pages)} of {number(clicks)} loaded")
    if requests:
        mean = mean_of_reports(web, "request_mean_s", "requests")
        yield Tile("Request, mean time", _seconds(mean), "s", f"{number(requests)} arrived")
    for begun, times in transfers(result.flows):
        ended = f"{number(len(times))} ended" if begun is None else f"{number(len(times))} of {number(begun)} ended"
        median: Any = times.median()
        yield Tile("Transfer, median time", _seconds(median), "s", ended)


def _link_tiles(summary: dict[str, Any]) -> Iterator[Tile]:
    hop, path = summary["last_hop"], summary["path"]
    harq = hop["harq"]
    if (decided := sum(harq["decoded_after"]) + harq["failed"]) and len(harq["decoded_after"]) > 1:
        sent = sum(transmissions * count for transmissions, count in enumerate(harq["decoded_after"], start=1))
        sent += len(harq["decoded_after"]) * harq["failed"]
        failed = f"{number(100 * harq['failed'] / decided, 3)} % never decoded"
        yield Tile("Transmissions of a packet", number(sent / decided, 3), "", failed)
    yield Tile("Last hop busy", number(100 * hop["utilisation"], 3), "%", _of_efficiency(hop))
    access = summary.get("access")
    if access and access["plr"] is not None:
        load = access["normalized_load"]
        note = "" if load is None else f"at {number(load, 3)} packets a slot"
        yield Tile("Random access, lost", number(100 * access["plr"], 3), "%", note)
    if path["handovers"]:
        users, gateways = path["user_handovers"], path["gateway_handovers"]
        yield Tile("Handovers", number(path["handovers"]), "", f"{users} of the users, {gateways} of the gateway")
    if path["outage_ratio"]:
        yield Tile("Without a route", number(100 * path["outage_ratio"], 3), "% of the time", kind="weak")


def _of_efficiency(hop: dict[str, Any]) -> str:
    useful = hop["spectral_efficiency"]
    return "" if useful is None else f"{useful:.3f} useful bits per coded bit"


def _known(flows: list[dict[str, Any]], key: str) -> list[float]:
    return [flow[key] for flow in flows if flow[key] is not None]


def _seconds(value: float | None) -> str:
    return MISSING if value is None else number(value, 3)


def _range_of_delays(values: Sequence[float]) -> str:
    unit, scale = delay_unit(max(values))
    return _range(values, 1 / scale, unit)


def _range(values: Sequence[float], scale: float, unit: str, digits: int = 4) -> str:
    """Returns the values as text: from the least to the most, if there are several."""
    if len(values) < 2:
        return ""
    return f"{number(scale * min(values), digits)} to {number(scale * max(values), digits)} {unit}".rstrip()
