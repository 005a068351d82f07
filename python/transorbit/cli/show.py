"""Text for people: summaries, lists, the progress bar."""

from __future__ import annotations

import statistics
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from transorbit import _columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from transorbit._capacity import Capacity
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
    """The summary of a run, on one screen."""
    numbers = result.summary
    wall_s = result.provenance["wall_s"]
    lines = [
        f"{result.title}",
        f"seed {numbers['seed']}, {numbers['simulated_s']:g} s simulated in {wall_s:.2f} s, digest {numbers['digest']}",
        "",
        *_flows(numbers["flows"]),
        "",
        *_users(numbers),
        *_last_hop(numbers["last_hop"], numbers["channel"]),
        *(_return_link(numbers["access"]) if "access" in numbers else []),
        *_proxies(numbers["flows"]),
        *_path(numbers["path"]),
        *(f"warning: {warning}" for warning in numbers["warnings"]),
    ]
    return "\n".join(lines)


def comparison(results: Mapping[str, Result]) -> str:
    """The summaries of several runs, side by side."""
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


def capacity(study: Capacity) -> str:
    """A study of capacity: a line for each policy and number of users, and the limits."""
    report = study.report
    header = [
        "policy",
        "users",
        "packets/s",
        "useful",
        "bits/bit",
        "bits/packet",
        "user min",
        "max",
        "Jain",
        "decoded after",
    ]
    rows = [
        [
            row["policy"],
            str(row["users"]),
            f"{row['decoded_pps']:.0f}",
            rate(row["useful_bps"]),
            _ratio(row["spectral_efficiency"]),
            "-" if row["bits_per_packet_mean"] is None else f"{row['bits_per_packet_mean']:.0f}",
            rate(row["user_useful_min_bps"]),
            rate(row["user_useful_max_bps"]),
            _ratio(row["jain"]),
            f"{' / '.join(f'{100 * share:.1f}' for share in row['decoded_after_share'])} %",
        ]
        for row in report["rows"]
    ]
    by_users = {row["users"]: row for row in report["rows"]}
    limits = [
        [
            str(users),
            *(f"{row[f'{name}_limit_pps']:.0f} ({rate(row[f'{name}_limit_bps'])})" for name in ("mean", "best")),
        ]
        for users, row in sorted(by_users.items())
    ]
    one = report["one_user"]
    lines = [
        report["title"],
        f"seed {report['seed']}, {report['simulated_s']:g} s simulated for each line in "
        f"{study.provenance['wall_s']:.2f} s; packets of {report['packet_bytes']} B at {rate(report['rate_bps'])}",
        "",
        *table(header, rows),
        "",
        *table(["limit, packets/s", "mean channel", "best of n"], limits),
        "",
        f"one user    {one['decoded_pps']:.0f} packets/s, {rate(one['useful_bps'])}",
    ]
    in_turn = max((row for row in report["rows"] if row["policy"] == "random"), key=lambda row: row["users"])
    if in_turn["spacing_users"] is not None:
        lines.append(
            f"spacing     a packet takes {in_turn['packet_time_mean_s'] * 1e3:.3f} ms on average (random, "
            f"{in_turn['users']} users): with more than {in_turn['spacing_users']:.0f} users in turn, one that is "
            f"{_ms(report['feedback_rtt_s'])} late makes no three duplicate acknowledgments"
        )
    return "\n".join([*lines, *(f"warning: {warning}" for warning in report["warnings"])])


def registries(registries: list[dict[str, Any]], *, options: bool) -> str:
    """Names and summaries; with `options`, the options of each entry."""
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


_RATES = (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3))


def rate(bps: float) -> str:
    """A bit rate in the unit that suits it."""
    for unit, scale in _RATES:
        if bps >= scale:
            return f"{bps / scale:.3g} {unit}" if bps < 1000 * scale else f"{bps / scale:.0f} {unit}"
    return f"{bps:.0f} bit/s"


# Columns of flows: the heading, the key, and the flows that have it.
_Column = tuple[str, "Callable[[dict[str, Any]], str]", "Callable[[dict[str, Any]], bool]"]


def _any(_: dict[str, Any]) -> bool:
    return True


def _is_tcp(flow: dict[str, Any]) -> bool:
    return flow.get("congestion") is not None


def _is_voice(flow: dict[str, Any]) -> bool:
    return flow.get("lost_late") is not None


def _is_video(flow: dict[str, Any]) -> bool:
    return flow.get("rebuffers") is not None


def _is(kind: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a flow has the report of a kind of traffic."""
    return lambda flow: bool(flow.get(kind))


_COLUMNS: list[_Column] = [
    ("flow", lambda flow: f"{flow['id']} {_kind(flow)}", _any),
    ("goodput", lambda flow: rate(flow["goodput_bps"]), _any),
    ("RTT", lambda flow: _ms(flow["rtt_mean_s"]), _is_tcp),
    ("one-way mean", lambda flow: _ms(flow["one_way_delay_mean_s"]), _any),
    ("95 %", lambda flow: _ms(flow["one_way_delay_p95_s"]), _any),
    ("sent", lambda flow: str(flow["sent_packets"]), _any),
    ("retransmitted", lambda flow: str(flow["retransmitted_packets"]), _is_tcp),
    ("spurious", lambda flow: str(flow["spurious_retransmissions"]), _is_tcp),
    ("fast rtx", lambda flow: str(flow["dupack_events"]), _is_tcp),
    ("timeouts", lambda flow: str(flow["rto_events"]), _is_tcp),
    ("jitter", lambda flow: _ms(flow["jitter_s"]), _is_voice),
    ("lost", lambda flow: _percent(flow["loss_ratio"]), lambda flow: not _is_tcp(flow)),
    ("access", lambda flow: flow["access_kind"] or "-", lambda flow: flow["access_kind"] is not None),
    ("first packet", lambda flow: _ms(flow["first_packet_s"]), lambda flow: flow["access_kind"] is not None),
    ("late", lambda flow: str(flow["lost_late"]), _is_voice),
    ("start-up", lambda flow: _seconds(flow["startup_s"]), _is_video),
    ("stalls", lambda flow: f"{flow['rebuffers']} ({_seconds(flow['rebuffer_s'])})", _is_video),
    ("bit rate", lambda flow: rate(flow["bitrate_mean_bps"] or 0), _is("video")),
    ("switches", lambda flow: str(flow["bitrate_switches"]), _is("video")),
    ("QoE", lambda flow: _two(flow["qoe"]), _is("video")),
    ("latency", lambda flow: _seconds(flow["latency_mean_s"]), _is("live")),
    ("95 % latency", lambda flow: _seconds(flow["latency_p95_s"]), _is("live")),
    ("response 95 %", lambda flow: _ms(flow["response_p95_s"]), _is("game")),
    ("99 %", lambda flow: _ms(flow["response_p99_s"]), _is("game")),
    ("late or lost", lambda flow: _percent(flow["late_ratio"]), lambda flow: flow.get("late_ratio") is not None),
    ("MOS", lambda flow: _two(flow["mos"]), lambda flow: flow.get("mos") is not None),
]


def _flows(flows: list[dict[str, Any]]) -> list[str]:
    """A line for each flow if they are few, else one for each kind."""
    if len(flows) > _SHOWN_FLOWS:
        return _kinds(flows)
    columns = [column for column in _COLUMNS if any(column[2](flow) for flow in flows)]
    rows = [[text(flow) if of(flow) else "-" for _, text, of in columns] for flow in flows]
    return table([name for name, _, _ in columns], rows)


def _kinds(flows: list[dict[str, Any]]) -> list[str]:
    """Flows of the same transport and traffic in one line."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for flow in flows:
        kinds.setdefault(_kind(flow), []).append(flow)
    columns: list[_Column] = [
        ("RTT", lambda own: _ms(_average(own["flows"], "rtt_mean_s")), lambda own: _is_tcp(own["flows"][0])),
        ("one-way mean", lambda own: _ms(_average(own["flows"], "one_way_delay_mean_s")), _any),
        ("95 %", lambda own: _ms(_average(own["flows"], "one_way_delay_p95_s")), _any),
        ("jitter", lambda own: _ms(_average(own["flows"], "jitter_s")), lambda own: _is_voice(own["flows"][0])),
        ("sent", lambda own: str(_total(own["flows"], "sent_packets")), _any),
        (
            "retransmitted",
            lambda own: str(_total(own["flows"], "retransmitted_packets")),
            lambda own: _is_tcp(own["flows"][0]),
        ),
        ("timeouts", lambda own: str(_total(own["flows"], "rto_events")), lambda own: _is_tcp(own["flows"][0])),
        (
            "MOS min / mean / max",
            lambda own: " / ".join(map(_two, _spread(own["flows"], "mos"))) or "-",
            lambda own: own["flows"][0].get("mos") is not None,
        ),
        (
            "stalls",
            lambda own: f"{_total(own['flows'], 'rebuffers')} ({sum(_known(own['flows'], 'rebuffer_s')):.3g} s)",
            lambda own: _is_video(own["flows"][0]),
        ),
        ("QoE", lambda own: _two(_average(own["flows"], "qoe")), lambda own: _is("video")(own["flows"][0])),
        (
            "latency",
            lambda own: _seconds(_average(own["flows"], "latency_mean_s")),
            lambda own: _is("live")(own["flows"][0]),
        ),
        (
            "response 95 %",
            lambda own: _ms(_average(own["flows"], "response_p95_s")),
            lambda own: _is("game")(own["flows"][0]),
        ),
    ]
    groups = [{"flows": own} for own in kinds.values()]
    columns = [column for column in columns if any(column[2](group) for group in groups)]
    rows = [
        [
            kind,
            str(len(own)),
            _rates(_spread(own, "goodput_bps")),
            *(text({"flows": own}) if of({"flows": own}) else "-" for _, text, of in columns),
        ]
        for kind, own in kinds.items()
    ]
    return table(["kind", "flows", "goodput min / mean / max", *(name for name, _, _ in columns)], rows)


def _users(summary: dict[str, Any]) -> list[str]:
    """The users' goodput, delays, losses and completed transfers."""
    flows, users = summary["flows"], summary["users"]
    lines = []
    if users["count"] > 1:
        goodput = _rates([users[f"goodput_{name}_bps"] for name in ("min", "mean", "max")])
        fairness = "" if users["jain"] is None else f"; Jain index {users['jain']:.3f}"
        lines.append(f"users       {users['count']}, goodput {goodput} (min / mean / max){fairness}")
    lost = {words: sum(flow[key] for flow in flows) for key, words in _columns.lost().items()}
    sent = _total(flows, "sent_packets")
    if any(lost.values()) and sent:
        named = ", ".join(f"{count} {cause}" for cause, count in lost.items() if count)
        lines.append(f"lost        {100 * sum(lost.values()) / sent:.2f} % of the packets with data: {named}")
    voices = [flow for flow in flows if flow["lost_late"] is not None]
    if late := _total(voices, "lost_late"):
        received = _total(voices, "received_packets")
        lines.append(f"late        {100 * late / received:.2f} % of the packets of calls that arrived: {late}")
    done = sorted(flow["completion_s"] for flow in flows if flow["completion_s"] is not None)
    if done:
        lines.append(
            f"transfers   {len(done)} ended, in {done[0]:.3g} / {statistics.median(done):.3g} / {done[-1]:.3g} s "
            "(min / median / max)"
        )
    pages = [flow["web"] for flow in flows if flow.get("web")]
    if loaded := [web for web in pages if web["load_mean_s"] is not None]:
        count, clicks = (sum(web[key] for web in pages) for key in ("pages", "clicks"))
        mean = sum(web["load_mean_s"] * web["pages"] for web in loaded) / count
        lines.append(f"pages       {count} of {clicks} loaded, in {mean:.3g} s on average")
    if asked := [web for web in pages if web["requests"]]:
        count = sum(web["requests"] for web in asked)
        times = [min(web["request_min_s"] for web in asked), max(web["request_max_s"] for web in asked)]
        mean = sum(web["request_mean_s"] * web["requests"] for web in asked) / count
        lines.append(
            f"requests    {count} arrived, in {times[0]:.3g} / {mean:.3g} / {times[1]:.3g} s (min / mean / max), "
            "the opening of their connection included"
        )
    return lines


def _return_link(access: dict[str, Any]) -> list[str]:
    parts = []
    if access["plr"] is not None:
        packets = access["decoded_packets"] + access["lost_packets"]
        parts.append(
            f"{packets} packets at random, {_percent(access['plr'])} lost, load {access['normalized_load']:.3g} a slot"
        )
    if granted := access["dedicated_slots_granted"]:
        used = access["dedicated_slots_used"]
        parts.append(f"{granted} slots granted, {100 * used / granted:.1f} % used")
    if access["waiting_mean_s"] is not None:
        parts.append(f"datagrams wait for {_ms(access['waiting_mean_s'])} on average")
    return [f"return link {access['method']}: {'; '.join(parts) or 'nothing was sent'}"]


def _last_hop(hop: dict[str, Any], channel: dict[str, Any]) -> list[str]:
    managed = [f"{hop['dropped_early']} dropped early, "] if hop["dropped_early"] else []
    managed += [f"{hop['marked_packets']} marked, "] if hop["marked_packets"] else []
    useful = hop["spectral_efficiency"]
    efficiency = "" if useful is None else f", {useful:.3f} useful bits per coded bit"
    lines = [
        f"last hop    {hop['offered_packets']} packets offered, {hop['dropped_overflow']} dropped by a full queue, "
        f"{''.join(managed)}{hop['dropped_timeout']} too old; {100 * hop['utilisation']:.1f} % busy{efficiency}"
    ]
    harq = hop["harq"]
    told = (
        []
        if channel["reference_snr_db"] is None
        else [f"Es/N0 {channel['reference_snr_db']:.1f} dB in a line of sight"]
    )
    told += [f"{_harq_failed(harq)} of the packets lost"] if len(harq["decoded_after"]) == 1 else []
    if told:
        lines.append(f"channel     {'; '.join(told)}")
    if len(harq["decoded_after"]) > 1 and harq["bits_per_packet_mean"] is not None:
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
        f"path        one-way delay {_ms(low)} / {_ms(mean)} / {_ms(high)} (min / mean / max)"
        + (f", no route {100 * path['outage_ratio']:.1f} % of the time" if path["outage_ratio"] else ""),
        *_satellite(path),
    ]


def _satellite(path: dict[str, Any]) -> list[str]:
    """The serving satellite's elevation, range and Doppler shift."""
    if path["elevation_max_deg"] is None:
        return []
    seen = (
        f"satellites  {path['user_handovers']} handovers of the users, {path['gateway_handovers']} of the gateway; "
        f"seen at {path['elevation_min_deg']:.1f} to {path['elevation_max_deg']:.1f} deg"
    )
    if path["doppler_max_hz"] is None:
        return [seen]
    shift = f"{path['doppler_max_hz'] / 1e3:.1f} kHz"
    rate = path["doppler_rate_max_hz_per_s"]
    return [f"{seen}, Doppler shift up to {shift}" + ("" if rate is None else f" and {rate:.0f} Hz/s")]


def _harq_shares(harq: dict[str, Any]) -> str:
    counts = harq["decoded_after"]
    total = sum(counts) + harq["failed"]
    shares = " / ".join(f"{100 * count / total:.1f}" for count in counts) if total else "-"
    return f"{shares} %" if total else "-"


def _harq_failed(harq: dict[str, Any]) -> str:
    total = sum(harq["decoded_after"]) + harq["failed"]
    return f"{100 * harq['failed'] / total:.2f} %" if total else "-"


def _kind(flow: dict[str, Any]) -> str:
    """The congestion controller or transport of a flow, and its traffic where that shows."""
    traffic = " voice" if _is_voice(flow) else " web" if flow.get("web") is not None else ""
    return f"{flow.get('congestion') or flow['transport']}{traffic}"


def _total(flows: list[dict[str, Any]], key: str) -> int:
    return sum(flow[key] for flow in flows)


def _known(flows: list[dict[str, Any]], key: str) -> list[float]:
    return [flow[key] for flow in flows if flow[key] is not None]


def _average(flows: list[dict[str, Any]], key: str) -> float | None:
    values = _known(flows, key)
    return statistics.fmean(values) if values else None


def _spread(flows: list[dict[str, Any]], key: str) -> list[float]:
    """The least, the mean and the most, if any is known."""
    values = _known(flows, key)
    return [min(values), statistics.fmean(values), max(values)] if values else []


def _sum(summary: dict[str, Any], key: str) -> int:
    return _total(summary["flows"], key)


def _counted(summary: dict[str, Any], key: str) -> str:
    """A count over all flows, and how many that is of the packets sent."""
    count, sent = _sum(summary, key), _sum(summary, "sent_packets")
    return f"{count} ({100 * count / sent:.2f} %)" if sent else str(count)


def _mean(summary: dict[str, Any], key: str) -> float:
    return _average(summary["flows"], key) or 0.0


def _rates(values: list[float]) -> str:
    """Bit rates in the unit that suits the one in the middle."""
    if not values:
        return "-"
    middle = sorted(values)[len(values) // 2]
    unit, scale = next((known for known in _RATES if middle >= known[1]), ("bit/s", 1.0))
    return f"{' / '.join(f'{value / scale:.3g}' for value in values)} {unit}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f} s"


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _option(option: dict[str, Any]) -> str:
    default = "" if option.get("default") is None else f" = {option['default']}"
    return f"{option['name']}{default}: {' '.join(str(option.get('description') or '').split())}"
