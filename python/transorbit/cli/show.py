"""Text for people: the summary of one run, studies of capacity, lists; `cli/tables.py` sets it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from transorbit import _columns, _flow_kinds, _summary
from transorbit._numbers import NONE, counted, decimals, delay, delay_unit, number, percent, quantity, rate, several
from transorbit.cli.tables import facts, table, titled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl

    from transorbit._capacity import Capacity
    from transorbit.result import Result

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
_ADDED_UP = {"sent_packets", "retransmitted_packets", "rto_events", "rebuffers"}
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
    import polars as pl

    values, web = result.numbers, result.reports("web")
    flows = _in_rows(result.flows, web["flow"])
    known = [
        *_users(result),
        *_pages(web.join(flows.select(pl.col("id").alias("flow"), "row"), on="flow", maintain_order="left")),
        *_last_hop(values["last_hop"], values["channel"]),
        *(_return_link(values["access"]) if "access" in values else []),
        *_proxies(result),
        *path(values["path"]),
        *(("warning", warning) for warning in values["warnings"]),
    ]
    wall_s = result.provenance["wall_s"]
    heading = (
        f"seed {values['seed']}, {values['simulated_s']:g} s simulated in {wall_s:.2f} s, digest {values['digest']}"
    )
    return "\n".join([*titled(result.title, heading, ""), *_flows(flows), "", *facts(known)])


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
            *titled(
                report["title"],
                f"seed {report['seed']}, {report['simulated_s']:g} s simulated for each line in "
                f"{study.provenance['wall_s']:.2f} s; packets of {report['packet_bytes']} B at "
                f"{rate(report['rate_bps'])}",
            ),
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


def _flows(flows: pl.DataFrame) -> list[str]:
    """A line for each row of `_in_rows`."""
    few = len(flows) <= _SHOWN_FLOWS
    shown = [name for name in (_SHOWN if few else _OF_KINDS) if flows.select(_tells(name).any()).item()]
    told = flows.select("row", *map(_text_of_column, shown))
    if not few:
        return _kinds(told, shown)
    rows = [[flow["row"], *(cell(name, flow[name]) for name in shown)] for flow in told.iter_rows(named=True)]
    return table(["Flow", *map(_columns.label, shown)], rows)


def _in_rows(flows: pl.DataFrame, web: pl.Series) -> pl.DataFrame:
    """The flows, each with the `row` of the table that tells of it: its own if they are few, else that of its kind.

    Flows of different traffic, or of different direction, are of different kinds. `web` are flows with web traffic.
    """
    import polars as pl

    row, number = pl.col("row"), pl.col("id").cast(pl.String)
    traffic = flows.filter(pl.col("id").is_in(web.implode()))["traffic"].unique()
    told = flows.with_columns(_flow_kinds.transports(flows).alias("row"))
    says_traffic = pl.col(_flow_kinds.CONTROLLED).is_null() | pl.col("traffic").is_in(traffic.implode())
    told = told.with_columns(pl.when(says_traffic).then(row + " " + pl.col("traffic")).otherwise(row).alias("row"))
    for column in ("traffic", "direction"):
        mixed = pl.col(column).n_unique().over("row") > 1
        told = told.with_columns(pl.when(mixed).then(row + " " + pl.col(column)).otherwise(row).alias("row"))
    return told.with_columns((number + " " + row).alias("row")) if len(flows) <= _SHOWN_FLOWS else told


def _tells(name: str) -> pl.Expr:
    """Whether a flow of this kind has a value of the column that is worth a cell."""
    import polars as pl

    if name in _OF_CONTROLLED or name == "loss_ratio":
        is_controlled = pl.col(_flow_kinds.CONTROLLED).is_not_null()
        return is_controlled if name in _OF_CONTROLLED else ~is_controlled
    if name in _OF_VOICE:
        return pl.col(_flow_kinds.VOICE).is_not_null()
    known = name if name in _OF_SOME else "access_kind" if name == "first_packet_s" else "id"
    return pl.col(known).is_not_null()


def _text_of_column(name: str) -> pl.Expr:
    """The values of a column that are worth a cell; null elsewhere."""
    import polars as pl

    return pl.when(_tells(name)).then(pl.col(name)).alias(name)


def _kinds(flows: pl.DataFrame, shown: list[str]) -> list[str]:
    """Flows of the same kind in one line: sums of counts, averages of the rest."""
    heads = [f"{_columns.label(name)}, min / mean / max" if name in _SPREAD else _columns.label(name) for name in shown]
    rows = [
        [kind, len(own), *(_together(own[name]) for name in shown)]
        for [kind], own in flows.group_by("row", maintain_order=True)
    ]
    return table(["Kind", "Flows", *heads], rows)


def _together(values: pl.Series) -> str:
    """The values of a column in one cell: a sum or a mean of those that are known, perhaps with their range."""
    name, values = values.name, values.drop_nulls()
    if values.is_empty():
        return NONE
    if name in _SPREAD:
        spread: Any = (values.min(), values.mean(), values.max())
        return several(spread, "bit/s") if name.endswith("_bps") else " / ".join(cell(name, value) for value in spread)
    return cell(name, values.sum() if name in _ADDED_UP else values.mean())


def _users(result: Result) -> Iterator[Fact]:
    """Yields the lines on users: goodput, losses, late packets of calls and transfers."""
    flows, users = result.flows, result.numbers["users"]
    if users["count"] > 1:
        goodput = several([users[f"goodput_{name}_bps"] for name in ("min", "mean", "max")], "bit/s")
        fairness = "" if users["jain"] is None else f"; Jain index {users['jain']:.3f}"
        yield "users", f"{users['count']}, goodput to the end {goodput} (min / mean / max){fairness}"
    lost = {words: total(flows, key) for key, words in _columns.lost().items()}
    if count := sum(lost.values()):
        # Packets in flight at the end have no fate yet.
        share = count / (total(flows, "received_packets") + count)
        named = ", ".join(f"{count} {words}" for words, count in lost.items() if count)
        yield "lost", f"{percent(share)} of the packets with data: {named}"
    # A flow counts packets, a listener what the call sent: QUIC puts several datagrams into a packet.
    calls = result.reports("voice")
    if len(calls) and (late := total(calls, "late_packets")):
        yield "late", f"{percent(late / total(calls, 'received_packets'))} of the packets of calls that arrived: {late}"
    for begun, times in _flow_kinds.transfers(flows):
        ended = f"{len(times)} ended" if begun is None else f"{len(times)} of {begun} ended"
        spread: Any = [times.min(), times.median(), times.max()]
        yield "transfers", ended + (f", in {several(spread, 's')} (min / median / max)" if len(times) else "")


def _pages(users: pl.DataFrame) -> Iterator[Fact]:
    """Yields the lines on web users, each with its `row`: pages loaded, requests that arrived, and their times."""
    if users.is_empty():
        return
    if clicks := total(users, "clicks"):
        count, means = total(users, "pages"), {}
        for [row], own in users.group_by("row", maintain_order=True):
            means[row] = quantity(_summary.mean_of_reports(own, "load_mean_s", "pages"), "s")
        told = [f"{mean} ({row})" for row, mean in means.items()] if len(means) > 1 else means.values()
        yield "pages", f"{count} of {clicks} loaded" + (f", in {', '.join(told)} on average" if count else "")
    if count := total(users, "requests"):
        mean = _summary.mean_of_reports(users, "request_mean_s", "requests")
        spread: Any = [users["request_min_s"].min(), mean, users["request_max_s"].max()]
        arrived = f"{count} arrived, in {several(spread, 's')} (min / mean / max)"
        yield "requests", f"{arrived}, the opening of their connection included"


def _return_link(access: dict[str, Any]) -> Iterator[Fact]:
    link_parts = []
    if access["plr"] is not None:
        packets = counted(access["decoded_packets"] + access["lost_packets"], "packet")
        link_parts.append(
            f"{packets} at random, {percent(access['plr'])} lost, load {access['normalized_load']:.3g} a slot"
        )
    if granted := access["dedicated_slots_granted"]:
        used = access["dedicated_slots_used"]
        link_parts.append(f"{counted(granted, 'slot')} granted, {100 * used / granted:.1f} % used")
    if access["waiting_mean_s"] is not None:
        link_parts.append(f"datagrams wait for {delay(access['waiting_mean_s'])} on average")
    yield "return link", f"{access['method']}: {'; '.join(link_parts) or 'nothing was sent'}"


def _last_hop(hop: dict[str, Any], channel: dict[str, Any]) -> Iterator[Fact]:
    reasons = ", ".join(f"{hop[key]} {words}" for key, words in _columns.dropped("last_hop").items() if hop[key])
    lost = f"; lost: {reasons}" if reasons else ""
    marked = f"; {hop['marked_packets']} marked" if hop["marked_packets"] else ""
    useful = hop["spectral_efficiency"]
    efficiency = "" if useful is None else f", {useful:.3f} useful bits per coded bit"
    busy = f"{100 * hop['utilisation']:.1f} % busy{efficiency}"
    yield "last hop", f"{counted(hop['offered_packets'], 'packet')} offered{lost}{marked}; {busy}"
    harq, snr = hop["harq"], channel["reference_snr_db"]
    mean = " on average" if channel["reference_varies"] else ""
    channel_words = [] if snr is None else [f"Es/N0 {snr:.1f} dB in a line of sight{mean}"]
    if len(harq["decoded_after"]) == 1 and harq["failed"]:
        channel_words.append(f"{harq_failed(harq)} of the packets lost")
    if channel_words:
        yield "channel", "; ".join(channel_words)
    if len(harq["decoded_after"]) > 1 and harq["bits_per_packet_mean"] is not None:
        bits = f"{harq['bits_per_packet_mean']:.0f} coded bits a packet"
        yield "HARQ", f"decoded after {harq_shares(harq)}; never {harq_failed(harq)}; {bits}"
    buffer = hop["reordering"]
    if buffer["held_packets"]:
        times = f"{counted(buffer['flushed_full'], 'time')} full, {counted(buffer['flushed_failed'], 'time')} after a"
        held = f"{counted(buffer['held_packets'], 'packet')} held for {delay(buffer['wait_mean_s'])} on average"
        yield "reordering", f"{held}; flushed {times} failure"


def _proxies(result: Result) -> Iterator[Fact]:
    proxies = result.reports("pep")
    if len(proxies):
        most: Any = proxies["held_bytes_max"].max()
        split = f"{len(proxies)} of {counted(len(result.flows), 'flow')} split at the gateway"
        yield "proxy", f"{split}, which held {quantity(most, 'B')} of one at most"


def path(path: dict[str, Any]) -> Iterator[Fact]:
    """Yields the lines on the path: its delay, and how its satellites were seen."""
    delays = [path[f"one_way_delay_{name}_s"] for name in ("min", "mean", "max")]
    outage = f", no route {100 * path['outage_ratio']:.1f} % of the time" if path["outage_ratio"] else ""
    if None in delays:
        yield "path", f"one-way delay {NONE}{outage}"
    else:
        unit, scale = delay_unit(max(delays))
        told = f"{' / '.join(f'{each / scale:.1f}' for each in delays)} {unit} (min / mean / max)"
        yield "path", f"one-way delay {told}{outage}"
    if path["elevation_max_deg"] is None:
        return
    handovers = (
        f"{counted(path['user_handovers'], 'handover')} of the users, {path['gateway_handovers']} of the gateway, "
        f"{counted(path['route_changes'], 'other change')} of the route"
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


def total(flows: pl.DataFrame, key: str) -> int:
    """The sum of a count over flows."""
    return int(flows[key].sum())


def _plain(value: Any) -> str:
    return number(value, 5) if isinstance(value, float) else str(value)


def _option(option: dict[str, Any]) -> Fact:
    default = "" if option.get("default") is None else f" = {option['default']}"
    return f"    {option['name']}{default}", _in_a_line(str(option.get("description") or ""))


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
