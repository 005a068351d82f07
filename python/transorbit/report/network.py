"""The packets of a run in the network: last hop, return link, path, and the counts of every fate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit._numbers import on_page as number
from transorbit.report import text
from transorbit.report.page import MISSING, Cell, Page

if TYPE_CHECKING:
    from collections.abc import Iterator


def add(made: Page, summary: dict[str, Any]) -> None:
    """Add the counters of last hop, return link, path and proxies."""
    hop, path = summary["last_hop"], summary["path"]
    harq, buffer = hop["harq"], hop["reordering"]
    made.section("Last hop")
    made.pairs(
        [
            ("Offered, delivered", f"{number(hop['offered_packets'])}, {number(hop['delivered_packets'])} packets"),
            ("Dropped", _dropped(hop)),
            ("Longest queue (packets)", hop["queue_packets_max"]),
            (
                "Coded bits sent, useful bits",
                f"{' '.join(text.rate(hop['coded_bps']))}, {' '.join(text.rate(hop['useful_bps']))}",
            ),
            (
                "Busy, stalled (% of the time)",
                f"{number(100 * hop['utilisation'], 4)}, {number(100 * hop['stalled_ratio'], 3)}",
            ),
            *_of_channel(summary["channel"]),
        ]
    )
    if sum(harq["decoded_after"]) + harq["failed"] and len(harq["decoded_after"]) > 1:
        made.table(["Decoded after", "Packets", "Share (%)"], _harq_rows(harq), sortable=False, caption="HARQ")
    if buffer["held_packets"]:
        wait = f"{number(buffer['held_packets'])} packets for {' '.join(text.delay(buffer['wait_mean_s']))} on average"
        flushed = f"{number(buffer['flushed_full'])} when full, {number(buffer['flushed_failed'])} after a failure"
        made.pairs(
            [("Reordering buffer held", wait), ("emptied", flushed), ("most stored for a user", buffer["stored_max"])]
        )
    if access := summary.get("access"):
        made.section("Return link")
        made.pairs(list(_access(access)))
    made.section("Path")
    made.pairs(list(_path(path)))
    if proxies := [flow["pep"] for flow in summary["flows"] if "pep" in flow]:
        made.section("Proxy")
        most = max(proxy["held_bytes_max"] for proxy in proxies)
        made.pairs([("Flows split at the gateway", len(proxies)), ("Most data held of one (B)", most)])


def _of_channel(channel: dict[str, Any]) -> Iterator[tuple[str, object]]:
    yield "Channel", channel["kind"]
    if channel["reference_snr_db"] is not None:
        mean = ", mean" if channel["reference_varies"] else ""
        yield f"Es/N0 in a line of sight (dB{mean})", number(channel["reference_snr_db"], 4)
    if channel["carrier_hz"] is not None:
        yield "Carrier (GHz)", number(channel["carrier_hz"] / 1e9, 5)


def _harq_rows(harq: dict[str, Any]) -> list[list[object]]:
    total = sum(harq["decoded_after"]) + harq["failed"]
    counts = [
        *((f"{transmissions}", count) for transmissions, count in enumerate(harq["decoded_after"], start=1)),
        ("never", harq["failed"]),
    ]
    return [[Cell(name), count, Cell(number(100 * count / total, 4), sort=count)] for name, count in counts]


def _access(access: dict[str, Any]) -> Iterator[tuple[str, object]]:
    yield "Method", access["method"]
    yield "Frames", access["frames"]
    if access["plr"] is not None:
        packets = f"{number(access['decoded_packets'])} decoded, {number(access['lost_packets'])} lost"
        yield "Random access", f"{packets} ({number(100 * access['plr'], 3)} %)"
        yield (
            "Bursts",
            f"{number(access['offered_bursts'])}, {number(access['collided_bursts'])} of them in a slot with others",
        )
        if access["normalized_load"] is not None:
            yield "Load (packets per slot)", number(access["normalized_load"], 4)
    if granted := access["dedicated_slots_granted"]:
        used = access["dedicated_slots_used"]
        yield "Dedicated slots", f"{number(granted)} granted, {number(used)} used ({number(100 * used / granted, 3)} %)"
    if access["waiting_mean_s"] is not None:
        yield "Mean wait of a datagram", " ".join(text.delay(access["waiting_mean_s"]))
    yield "Waiting at the end (datagrams)", access["waiting_datagrams"]


def _path(path: dict[str, Any]) -> Iterator[tuple[str, object]]:
    known = [path[f"one_way_delay_{name}_s"] for name in ("min", "mean", "max")]
    if None not in known:
        yield "One-way delay, min, mean, max", ", ".join(" ".join(text.delay(value)) for value in known)
    yield "Handovers of the users, of the gateway", f"{path['user_handovers']}, {path['gateway_handovers']}"
    yield "Other changes of the route", path["route_changes"]
    yield "Without a route (% of the time)", number(100 * path["outage_ratio"], 4)
    if path["elevation_max_deg"] is not None:
        yield "Satellite seen at (deg)", f"{path['elevation_min_deg']:.1f} to {path['elevation_max_deg']:.1f}"
    if path["doppler_max_hz"] is not None:
        yield "Doppler shift up to (kHz)", number(path["doppler_max_hz"] / 1e3, 4)
    if path["doppler_rate_max_hz_per_s"] is not None:
        yield "changing by up to (Hz/s)", number(path["doppler_rate_max_hz_per_s"], 4)


def packets(made: Page, conservation: dict[str, Any]) -> None:
    """Add the counts of delivered, dropped and in-flight packets."""
    made.section(
        "Packets", note="Data and acknowledgments alike: every packet that was created has one of these fates."
    )
    created = conservation["created"]
    fates = [("delivered", conservation["delivered"])]
    reasons, drops = _columns.reasons(), conservation["dropped_by_reason"].items()
    fates += [
        (f"dropped: {reasons[reason]['words'].removeprefix('dropped ')}", count) for reason, count in drops if count
    ]
    fates.append(("in flight at the end", conservation["in_flight"]))
    rows: list[list[object]] = [[name, count, _share(count, created)] for name, count in fates]
    rows.append([Cell("created"), created, _share(created, created)])
    made.table(["Fate", "Packets", "Share (%)"], rows, sortable=False)


def _dropped(hop: dict[str, Any]) -> str:
    """Returns the counts of dropped packets with their reasons."""
    reasons, words = _columns.reasons(), _columns.lost()
    dropped = {name: hop[f"dropped_{name}"] for name in reasons if f"dropped_{name}" in hop}
    told = [f"{number(count)} {words[reasons[name]['column']]}" for name, count in dropped.items() if count]
    return ", ".join(told) or "none"


def _share(count: int, total: int) -> Cell:
    return Cell(number(100 * count / total, 4) if total else MISSING, sort=count)
