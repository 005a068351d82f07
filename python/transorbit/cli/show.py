"""Text for people: the summary of one run, studies of capacity, lists; `cli/tables.py` sets it."""

from __future__ import annotations

import statistics
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit._flow_kinds import is_controlled, is_voice
from transorbit._numbers import NONE, counted, decimals, delay, delay_unit, number, percent, quantity, rate, several
from transorbit.cli.tables import facts, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from transorbit._capacity import Capacity
    from transorbit.result import Result

    Flow = dict[str, Any]
    Fact = tuple[str, str]

_SHOWN_FLOWS = 8
# Columns of the flows, in this order; those of which no flow has a value are left out.
_SHOWN = (
    "goodput_bps", "rtt_mean_s", "one_way_delay_mean_s", "one_way_delay_p95_s", "sent_packets",
    "retransmitted_packets", "spurious_retransmissions", "dupack_events", "rto_events", "jitter_s", "loss_ratio",
    "access_kind", "first_packet_s", "lost_late", "startup_s", "rebuffers", "rebuffer_s", "bitrate_mean_bps",
    "bitrate_switches", "qoe", "latency_mean_s", "latency_p95_s", "response_p95_s", "response_p99_s", "late_ratio",
    "mos",
)  # fmt: skip
_OF_CONTROLLED = {"rtt_mean_s", "retransmitted_packets", "spurious_retransmissions", "dupack_events", "rto_events"}
_OF_VOICE = {"jitter_s", "lost_late"}
# Columns of the lines that stand for many flows of a kind.
_OF_KINDS = (
    "goodput_bps", "rtt_mean_s", "one_way_delay_mean_s", "one_way_delay_p95_s", "jitter_s", "sent_packets",
    "retransmitted_packets", "rto_events", "rebuffers", "rebuffer_s", "qoe", "latency_mean_s", "response_p95_s", "mos",
)  # fmt: skip
_SPREAD = {"goodput_bps", "mos"}
# Columns that only some kinds of traffic have.
_OF_SOME = {"access_kind", "mos", *_SHOWN[_SHOWN.index("startup_s") :]}
# Times that are long: what a player waits.
_IN_SECONDS = {"startup_s", "rebuffer_s", "latency_mean_s", "latency_p95_s"}


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
    """The summary of a run, on one screen."""
    values = result.summary
    known = [
        *_users(values),
        *_last_hop(values["last_hop"], values["channel"]),
        *(_return_link(values["access"]) if "access" in values else []),
        *_proxies(values["flows"]),
        *path(values["path"]),
        *(("warning", warning) for warning in values["warnings"]),
    ]
    wall_s = result.provenance["wall_s"]
    heading = (
        f"seed {values['seed']}, {values['simulated_s']:g} s simulated in {wall_s:.2f} s, digest {values['digest']}"
    )
    return "\n".join([result.title, heading, "", *_flows(values["flows"]), "", *facts(known)])


def capacity(study: Capacity) -> str:
    """A study of capacity: a line for each policy and number of users, and the limits."""
    report = study.report
    header = [
        "Policy",
        "Users",
        "Packets/s",
        "Useful",
        "Bits per bit",
        "Bits per packet",
        "User's least",
        "User's most",
    ]
    rows = [
        [
            row["policy"],
            row["users"],
            f"{row['decoded_pps']:.0f}",
            rate(row["useful_bps"]),
            decimals(row["spectral_efficiency"], 3),
            decimals(row["bits_per_packet_mean"], 0),
            rate(row["user_useful_min_bps"]),
            rate(row["user_useful_max_bps"]),
            decimals(row["jain"], 3),
            f"{' / '.join(f'{100 * share:.1f}' for share in row['decoded_after_share'])} %",
        ]
        for row in report["rows"]
    ]
    limits = [
        [users, *(f"{row[f'{name}_limit_pps']:.0f} ({rate(row[f'{name}_limit_bps'])})" for name in ("mean", "best"))]
        for users, row in sorted({row["users"]: row for row in report["rows"]}.items())
    ]
    one = report["one_user"]
    known = [("one user", f"{one['decoded_pps']:.0f} packets/s, {rate(one['useful_bps'])}"), *_spacing(report)]
    return "\n".join(
        [
            report["title"],
            f"seed {report['seed']}, {report['simulated_s']:g} s simulated for each line in "
            f"{study.provenance['wall_s']:.2f} s; packets of {report['packet_bytes']} B at {rate(report['rate_bps'])}",
            "",
            *table([*header, "Jain index", "Decoded after"], rows),
            "",
            *table(["Users", "Limit of the mean channel, packets/s", "Limit of the best of n, packets/s"], limits),
            "",
            *facts([*known, *(("warning", warning) for warning in report["warnings"])]),
        ]
    )


def _spacing(report: Mapping[str, Any]) -> Iterator[Fact]:
    in_turn = max((row for row in report["rows"] if row["policy"] == "random"), key=lambda row: row["users"])
    if in_turn["spacing_users"] is not None:
        yield (
            "spacing",
            f"a packet takes {in_turn['packet_time_mean_s'] * 1e3:.3f} ms on average (random, "
            f"{counted(in_turn['users'], 'user')}): with more than {in_turn['spacing_users']:.0f} users in turn, one "
            f"that is {delay(report['feedback_rtt_s'])} late makes no three duplicate acknowledgments",
        )


def registries(registries: list[dict[str, Any]], *, options: bool) -> str:
    """Names and summaries; with `options`, the options of each entry."""
    blocks = []
    for registry in registries:
        lines = [f"{registry['name']} ({registry['key']})"]
        if options:
            for entry in registry["entries"]:
                lines += [f"  {entry['name']}: {_in_a_line(entry['summary'])}"]
                lines += facts(map(_option, entry["options"]))
        else:
            entries = ((f"  {entry['name']}", _in_a_line(entry["summary"])) for entry in registry["entries"])
            lines += facts(entries)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def tree(value: Mapping[str, Any], indent: str = "") -> str:
    """Nested numbers, a line each."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict):
            lines += [f"{indent}{key}", tree(item, indent + "  ")]
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            rows = [[_plain(element[name]) for name in item[0]] for element in item]
            lines += [f"{indent}{key}", *(f"{indent}  {row}" for row in table(list(item[0]), rows))]
        elif isinstance(item, list):
            lines.append(f"{indent}{key}  {', '.join(map(_plain, item))}")
        else:
            lines.append(f"{indent}{key}  {_plain(item)}")
    return "\n".join(lines)


def cell(name: str, value: Any) -> str:
    """A value of a column of the record, as a table shows it."""
    if value is None:
        return NONE
    unit = _columns.in_words(name)[1]
    if unit == "bit/s":
        return rate(value)
    if name in _IN_SECONDS:
        return f"{decimals(value, 2)} s"
    if unit == "s":
        return delay(value)
    if name.endswith("_ratio"):
        return percent(value)
    return decimals(value, 2) if name in ("mos", "qoe") else number(value) if isinstance(value, float) else str(value)


def _flows(flows: list[Flow]) -> list[str]:
    """A line for each flow if they are few, else one for each kind."""
    if len(flows) > _SHOWN_FLOWS:
        return _kinds(flows)
    shown = [name for name in _SHOWN if any(_tells(flow, name) for flow in flows)]
    rows = [
        [f"{flow['id']} {_kind(flow)}", *(cell(name, flow[name]) if _tells(flow, name) else NONE for name in shown)]
        for flow in flows
    ]
    return table(["Flow", *map(_columns.label, shown)], rows)


def _tells(flow: Flow, name: str) -> bool:
    """Whether a flow of this kind has a value of the column that is worth a cell."""
    if name in _OF_CONTROLLED or name == "loss_ratio":
        return is_controlled(flow) == (name in _OF_CONTROLLED)
    if name in _OF_VOICE:
        return is_voice(flow)
    if name in _OF_SOME:
        return flow.get(name) is not None
    return name != "first_packet_s" or flow["access_kind"] is not None


def _kinds(flows: list[Flow]) -> list[str]:
    """Flows of the same transport and traffic in one line: sums of counts, averages of the rest."""
    kinds: dict[str, list[Flow]] = {}
    for flow in flows:
        kinds.setdefault(_kind(flow), []).append(flow)
    shown = [name for name in _OF_KINDS if any(_tells(flow, name) for flow in flows)]
    heads = [f"{_columns.label(name)}, min / mean / max" if name in _SPREAD else _columns.label(name) for name in shown]
    rows = [[kind, len(own), *(_together(own, name) for name in shown)] for kind, own in kinds.items()]
    return table(["Kind", "Flows", *heads], rows)


def _together(flows: list[Flow], name: str) -> str:
    values = [flow[name] for flow in flows if flow[name] is not None and _tells(flow, name)]
    if not values:
        return NONE
    if name in _SPREAD:
        spread = (min(values), statistics.fmean(values), max(values))
        return several(spread, "bit/s") if name.endswith("_bps") else " / ".join(cell(name, value) for value in spread)
    # Counts are whole numbers.
    return cell(name, sum(values) if all(isinstance(value, int) for value in values) else statistics.fmean(values))


def _users(summary: dict[str, Any]) -> Iterator[Fact]:
    """Yields the lines on users: goodput, losses, late packets of calls, transfers and pages."""
    flows, users = summary["flows"], summary["users"]
    if users["count"] > 1:
        goodput = several([users[f"goodput_{name}_bps"] for name in ("min", "mean", "max")], "bit/s")
        fairness = "" if users["jain"] is None else f"; Jain index {users['jain']:.3f}"
        yield "users", f"{users['count']}, goodput {goodput} (min / mean / max){fairness}"
    lost = {words: total(flows, key) for key, words in _columns.lost().items()}
    sent = total(flows, "sent_packets")
    if any(lost.values()) and sent:
        named = ", ".join(f"{count} {words}" for words, count in lost.items() if count)
        yield "lost", f"{percent(sum(lost.values()) / sent)} of the packets with data: {named}"
    voices = [flow for flow in flows if is_voice(flow)]
    if late := total(voices, "lost_late"):
        received = total(voices, "received_packets")
        yield "late", f"{percent(late / received)} of the packets of calls that arrived: {late}"
    if done := sorted(flow["completion_s"] for flow in flows if flow["completion_s"] is not None):
        spread = several([done[0], statistics.median(done), done[-1]], "s")
        yield "transfers", f"{len(done)} ended, in {spread} (min / median / max)"
    yield from _pages([flow["web"] for flow in flows if flow.get("web")])


def _pages(pages: list[dict[str, Any]]) -> Iterator[Fact]:
    """Yields the lines on web users: pages loaded, requests that arrived, and their times."""
    if loaded := [web for web in pages if web["load_mean_s"] is not None]:
        count, clicks = (sum(web[key] for web in pages) for key in ("pages", "clicks"))
        mean = sum(web["load_mean_s"] * web["pages"] for web in loaded) / count
        yield "pages", f"{count} of {clicks} loaded, in {quantity(mean, 's')} on average"
    if asked := [web for web in pages if web["requests"]]:
        count = sum(web["requests"] for web in asked)
        mean = sum(web["request_mean_s"] * web["requests"] for web in asked) / count
        spread = [min(web["request_min_s"] for web in asked), mean, max(web["request_max_s"] for web in asked)]
        arrived = f"{count} arrived, in {several(spread, 's')} (min / mean / max)"
        yield "requests", f"{arrived}, the opening of their connection included"


def _return_link(access: dict[str, Any]) -> Iterator[Fact]:
    parts = []
    if access["plr"] is not None:
        packets = counted(access["decoded_packets"] + access["lost_packets"], "packet")
        parts.append(f"{packets} at random, {percent(access['plr'])} lost, load {access['normalized_load']:.3g} a slot")
    if granted := access["dedicated_slots_granted"]:
        used = access["dedicated_slots_used"]
        parts.append(f"{counted(granted, 'slot')} granted, {100 * used / granted:.1f} % used")
    if access["waiting_mean_s"] is not None:
        parts.append(f"datagrams wait for {delay(access['waiting_mean_s'])} on average")
    yield "return link", f"{access['method']}: {'; '.join(parts) or 'nothing was sent'}"


def _last_hop(hop: dict[str, Any], channel: dict[str, Any]) -> Iterator[Fact]:
    reasons = ", ".join(f"{hop[key]} {words}" for key, words in _columns.dropped("last_hop").items() if hop[key])
    lost = f"; lost: {reasons}" if reasons else ""
    marked = f"; {hop['marked_packets']} marked" if hop["marked_packets"] else ""
    useful = hop["spectral_efficiency"]
    efficiency = "" if useful is None else f", {useful:.3f} useful bits per coded bit"
    busy = f"{100 * hop['utilisation']:.1f} % busy{efficiency}"
    yield "last hop", f"{counted(hop['offered_packets'], 'packet')} offered{lost}{marked}; {busy}"
    harq, snr = hop["harq"], channel["reference_snr_db"]
    seen = [] if snr is None else [f"Es/N0 {snr:.1f} dB in a line of sight"]
    if len(harq["decoded_after"]) == 1 and harq["failed"]:
        seen.append(f"{harq_failed(harq)} of the packets lost")
    if seen:
        yield "channel", "; ".join(seen)
    if len(harq["decoded_after"]) > 1 and harq["bits_per_packet_mean"] is not None:
        bits = f"{harq['bits_per_packet_mean']:.0f} coded bits a packet"
        yield "HARQ", f"decoded after {harq_shares(harq)}; never {harq_failed(harq)}; {bits}"
    buffer = hop["reordering"]
    if buffer["held_packets"]:
        times = f"{counted(buffer['flushed_full'], 'time')} full, {counted(buffer['flushed_failed'], 'time')} after a"
        held = f"{counted(buffer['held_packets'], 'packet')} held for {delay(buffer['wait_mean_s'])} on average"
        yield "reordering", f"{held}; flushed {times} failure"


def _proxies(flows: list[Flow]) -> Iterator[Fact]:
    if held := [flow["pep"]["held_bytes_max"] for flow in flows if "pep" in flow]:
        split = f"{len(held)} of {counted(len(flows), 'flow')} split at the gateway"
        yield "proxy", f"{split}, which held {quantity(max(held), 'B')} of one at most"


def path(path: dict[str, Any]) -> Iterator[Fact]:
    """Yields the lines on the path: its delay, and how its satellites were seen."""
    delays = [path[f"one_way_delay_{name}_s"] for name in ("min", "mean", "max")]
    unit, scale = delay_unit(max(delays))
    outage = f", no route {100 * path['outage_ratio']:.1f} % of the time" if path["outage_ratio"] else ""
    yield (
        "path",
        f"one-way delay {' / '.join(f'{each / scale:.1f}' for each in delays)} {unit} (min / mean / max){outage}",
    )
    if path["elevation_max_deg"] is None:
        return
    handovers = (
        f"{counted(path['user_handovers'], 'handover')} of the users, {path['gateway_handovers']} of the gateway"
    )
    seen = f"seen at {path['elevation_min_deg']:.1f} to {path['elevation_max_deg']:.1f} deg"
    shift, change = path["doppler_max_hz"], path["doppler_rate_max_hz_per_s"]
    doppler = "" if shift is None else f", Doppler shift up to {shift / 1e3:.1f} kHz"
    doppler += "" if shift is None or change is None else f" and {change:.0f} Hz/s"
    yield "satellites", f"{handovers}; {seen}{doppler}"


def harq_shares(harq: dict[str, Any]) -> str:
    """Returns the shares of packets decoded after each transmission, in percent."""
    sent = sum(harq["decoded_after"]) + harq["failed"]
    return f"{' / '.join(f'{100 * count / sent:.1f}' for count in harq['decoded_after'])} %" if sent else NONE


def harq_failed(harq: dict[str, Any]) -> str:
    """Returns the share of packets that were never decoded."""
    sent = sum(harq["decoded_after"]) + harq["failed"]
    return percent(harq["failed"] / sent) if sent else NONE


def total(flows: list[Flow], key: str) -> int:
    """The sum of a count over flows."""
    return sum(flow[key] for flow in flows)


def _kind(flow: Flow) -> str:
    """The congestion controller or transport of a flow, and its traffic where that shows."""
    if not is_controlled(flow):
        return f"{flow['transport']} {flow['traffic']}"
    over = "" if flow["transport"] == "tcp" else f"{flow['transport']} "
    return f"{over}{flow['congestion']}" + (f" {flow['traffic']}" if flow.get("web") is not None else "")


def _plain(value: Any) -> str:
    return number(value, 5) if isinstance(value, float) else str(value)


def _option(option: dict[str, Any]) -> Fact:
    default = "" if option.get("default") is None else f" = {option['default']}"
    return f"    {option['name']}{default}", _in_a_line(str(option.get("description") or ""))


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
