"""Measurements in other programs' formats, as columns of a path over time: delay, rate and loss with their units."""

from __future__ import annotations

import io
import json
import re
import shlex
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The bytes of a delivery opportunity of mahimahi: a packet of 1500 B.
_OPPORTUNITY_BITS = 1500 * 8
# Times since 1970 are larger, those since the start of a measurement smaller.
_CALENDAR_S = 1e8


@dataclass
class Measurement:
    """A path over time, as somebody measured it.

    Attributes:
        kind: the format, in words.
        table: `time_s` (or `unix_time_s`) and quantities with their units, as a path of kind `trace` reads them.
        notes: what was understood, and what was left out, each as a sentence.
        repeats: whether it begins anew at its end, as who measured it means it.
    """

    kind: str
    table: pl.DataFrame
    notes: list[str] = field(default_factory=list)
    repeats: bool = False


def read(name: str, contents: bytes, columns: Mapping[str, str], step_s: float | None) -> Measurement:
    """Read a measurement, whose format is recognised from its contents.

    Raises:
        ScenarioError: it is none of the formats, or a line of it is wrong.
    """
    if contents[:4] == b"PAR1":
        return _table(name, pl.read_parquet(io.BytesIO(contents)), columns, "a Parquet table")
    try:
        text = contents.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{name}: neither text in UTF-8 nor Parquet") from None
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ScenarioError(f"{name}: the file is empty")
    if not columns:
        for is_format, reader in _FORMATS:
            if is_format(lines):
                return reader(name, text, step_s)
    return _csv(name, text, columns)


def _is_json(lines: list[str]) -> bool:
    return lines[0].lstrip().startswith("{")


def _json(name: str, text: str, _: float | None) -> Measurement:
    try:
        content = json.loads(text)
    except ValueError:
        try:
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise ScenarioError(f"{name}: no JSON: {error}") from None
        return _table(name, pl.DataFrame(rows, infer_schema_length=None), {}, "JSON lines")
    if "round_trips" in content:
        return _irtt(name, content)
    if "intervals" in content and "start" in content:
        return _iperf3(content)
    raise ScenarioError(f"{name}: JSON that is neither of irtt (round_trips) nor of iperf3 (start, intervals)")


def _irtt(name: str, content: dict[str, Any]) -> Measurement:
    """`irtt client -o`: times in ns; one-way delays only help where both clocks agree, so round trips are taken."""
    rows = content["round_trips"]
    sent, rtt = [], []
    for row in rows:
        stamps = row.get("timestamps", {}).get("client", {}).get("send", {})
        wall = stamps.get("wall") or stamps.get("monotonic")
        if wall is None:
            raise ScenarioError(f"{name}: round trip {row.get('seqno')}: has no time at which it was sent")
        sent.append(wall / 1e9)
        answered = row.get("lost", "false") == "false" and "rtt" in row.get("delay", {})
        rtt.append(row["delay"]["rtt"] / 1e6 if answered else None)
    notes = ["delay.rtt is the round trip, in ns; a lost probe is an outage up to the next answer"]
    return Measurement("a log of irtt", _timed(sent, {"rtt_ms": rtt}), notes)


def _iperf3(content: dict[str, Any]) -> Measurement:
    """`iperf3 -J`: bits per second of each interval, and the losses of UDP."""
    test = content["start"].get("test_start", {})
    directions = {False: "down" if test.get("reverse") else "up", True: "up" if test.get("reverse") else "down"}
    begin = float(content["start"].get("timestamp", {}).get("timesecs", 0))
    protocol = test.get("protocol", "TCP")
    times, columns = [], {f"rate_{directions[False]}_mbps": [], "loss_percent": []}  # type: ignore[var-annotated]
    backwards = [each["sum_bidir_reverse"] for each in content["intervals"] if "sum_bidir_reverse" in each]
    for each in content["intervals"]:
        part = each["sum"]
        times.append(begin + part["start"])
        columns[f"rate_{directions[False]}_mbps"].append(part["bits_per_second"] / 1e6)
        columns["loss_percent"].append(part.get("lost_percent"))
    if len(backwards) == len(times) and backwards:
        columns[f"rate_{directions[True]}_mbps"] = [part["bits_per_second"] / 1e6 for part in backwards]
    if not any(value is not None for value in columns["loss_percent"]):
        del columns["loss_percent"]
    reverse = "on" if test.get("reverse") else "off"
    notes = [f"sum.bits_per_second of {protocol}, the rate {directions[False]} (reverse is {reverse})"]
    if protocol == "TCP":
        controller = content.get("end", {}).get("sender_tcp_congestion", "its congestion control")
        notes.append(
            f"this is what TCP got ({controller}), not what the path could carry: as a rate it is a lower bound"
        )
    notes.append('no delay: a path needs delay = "20 ms" beside it')
    return Measurement("a result of iperf3", _timed(times, columns), notes)


_PING = re.compile(r"\b(?:icmp_)?seq=(\d+)")
_PING_TIME = re.compile(r"time=([\d.]+) ?ms")
_PING_STAMP = re.compile(r"^\[([\d.]+)\]")
_PING_TOTAL = re.compile(r"^(\d+) packets transmitted.* time (\d+) ?ms")
_PING_INTERVAL_S = 1.0
_MAHIMAHI_STEP_S = 0.01


def _is_ping(lines: list[str]) -> bool:
    return any(_PING.search(line) for line in lines[:20])


def _ping_interval(text: str, step_s: float | None) -> tuple[float, str]:
    """The time between probes without timestamps, and how it is known."""
    if step_s is not None:
        return step_s, "--step"
    for line in reversed(text.splitlines()):
        if (total := _PING_TOTAL.match(line)) and int(total[1]) > 1:
            return int(total[2]) / 1e3 / (int(total[1]) - 1), "by its last lines"
    return _PING_INTERVAL_S, "ping's own interval; --step says another"


def _ping(name: str, text: str, step_s: float | None) -> Measurement:
    """Iputils' ping, also with -D and -O: a lost probe was sent evenly between its neighbours."""
    probes: dict[int, tuple[float | None, float]] = {}
    latest, stamped = 0, False
    for line in text.splitlines():
        found, took = _PING.search(line), _PING_TIME.search(line)
        if not found or not took or line.endswith("(DUP!)"):
            continue
        number = latest + ((int(found[1]) - latest + 32768) % 65536 - 32768)
        latest = number
        stamp, rtt_ms = _PING_STAMP.match(line), float(took[1])
        stamped = stamped or stamp is not None
        probes[number] = (float(stamp[1]) - rtt_ms / 1e3 if stamp else None, rtt_ms)
    if not probes:
        raise ScenarioError(f'{name}: no line tells a round trip, as "icmp_seq=1 … time=40.0 ms" does')
    first, last = min(probes), max(probes)
    if stamped and any(sent is None for sent, _ in probes.values()):
        raise ScenarioError(f"{name}: either all lines have a timestamp in brackets, or none")
    numbers = pl.DataFrame({"number": range(first, last + 1)}, schema={"number": pl.Int64})
    answers = pl.DataFrame(
        [(number, sent, rtt) for number, (sent, rtt) in probes.items()],
        schema={"number": pl.Int64, "sent": pl.Float64, "rtt_ms": pl.Float64},
        orient="row",
    )
    table = numbers.join(answers, on="number", how="left", maintain_order="left")
    if stamped:
        table = table.with_columns(sent=pl.col("sent").interpolate_by("number"))
    else:
        interval_s, known = _ping_interval(text, step_s)
        table = table.with_columns(sent=(pl.col("number") - first) * interval_s)
    lost = table["rtt_ms"].null_count()
    when = "timestamps of -D" if stamped else f"no timestamps: a probe every {interval_s:.4g} s ({known})"
    notes = [f"time= is the round trip; {when}", f"{lost} of {table.height} probes without an answer: outages"]
    return Measurement("a log of ping", _timed(table["sent"].to_list(), {"rtt_ms": table["rtt_ms"].to_list()}), notes)


def _numbers(lines: list[str], separator: str | None) -> list[list[float]] | None:
    try:
        return [[float(cell) for cell in line.split(separator)] for line in lines[:50]]
    except ValueError:
        return None


def _is_mahimahi(lines: list[str]) -> bool:
    rows = _numbers(lines, None)
    if not rows or any(len(row) != 1 for row in rows) or not all(line.strip().isdigit() for line in lines[:50]):
        return False
    times = [row[0] for row in rows]
    return times == sorted(times)


def _mahimahi(name: str, text: str, step_s: float | None) -> Measurement:
    """Mahimahi's packet-delivery traces: each line is the millisecond at which a packet of 1500 B may leave."""
    times: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if not line.strip().isdigit() or (times and int(line) < times[-1]):
            raise ScenarioError(
                f"{name}: line {number}, column 1: {line.strip()!r} is no millisecond at or after the one before"
            )
        times.append(int(line))
    period = max(times[-1], 1)
    bins = max(round(period / 1e3 / (step_s or _MAHIMAHI_STEP_S)), 1)
    width = period / bins
    counts = [0] * bins
    for at in times:
        counts[min(int(at / width), bins - 1)] += 1
    # Where a trace ends it begins anew: its last row closes the period.
    rates = [count * _OPPORTUNITY_BITS / (width / 1e3) / 1e6 for count in counts]
    table = _timed([index * width / 1e3 for index in range(bins + 1)], {"rate_down_mbps": [*rates, rates[0]]})
    notes = [
        f"{len(times)} opportunities of 1500 B in {period / 1e3:g} s, counted in {width:g} ms (--step)",
        'mahimahi begins anew at the end: repeat = true; no delay: a path needs delay = "20 ms" beside it',
    ]
    return Measurement("a packet-delivery trace of mahimahi", table, notes, repeats=True)


def _is_probes(lines: list[str]) -> bool:
    rows = _numbers(lines, None)
    return bool(rows) and all(len(row) == 3 and row[0] > _CALENDAR_S for row in rows or [])


def _probes(name: str, text: str, _: float | None) -> Measurement:
    """Rows without a header, as LENS has them: time since 1970, number of the probe, round trip in ms (-1: lost)."""
    times, rtt = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            sent, _number, took = (float(cell) for cell in line.split())
        except ValueError:
            raise ScenarioError(f"{name}: line {number}: not a time, a number and a round trip") from None
        times.append(sent)
        rtt.append(None if took < 0 else took)
    lost = sum(value is None for value in rtt)
    times, rtt = _short_outages(times, rtt)
    notes = [
        "no header; the columns must be time since 1970 in s, number of the probe, round trip in ms (-1: lost)",
        f"{lost} probes without an answer: an outage each, of the time between two probes",
    ]
    return Measurement("rows of probes, as LENS has them", _timed(times, {"rtt_ms": rtt}), notes)


def _is_hypatia(lines: list[str]) -> bool:
    rows = _numbers(lines, ",")
    return bool(rows) and all(len(row) == 2 for row in rows or []) and max(max(row) for row in rows or []) > 1e6


def _hypatia(_name: str, text: str, _: float | None) -> Measurement:
    """Hypatia's `networkx_rtt_…txt`: rows `time_ns,rtt_ns`, 0 for no route."""
    rows = [[float(cell) for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    rtt = [rtt / 1e6 if rtt > 0 else None for _, rtt in rows]
    notes = ["no header; as Hypatia's networkx_rtt_….txt: time in ns, round trip in ns, 0 without a route"]
    return Measurement("round trips of Hypatia", _timed([at / 1e9 for at, _ in rows], {"rtt_ms": rtt}), notes)


_FORMATS: list[tuple[Callable[[list[str]], bool], Callable[[str, str, float | None], Measurement]]] = [
    (_is_json, _json),
    (_is_ping, _ping),
    (_is_mahimahi, _mahimahi),
    (_is_probes, _probes),
    (_is_hypatia, _hypatia),
]

# The columns of a Starlink dish's status, by the ends of their names, and their units.
_DISH = {
    "pop_ping_latency_ms": ("rtt_ms", 1.0),
    "pop_ping_drop_rate": ("loss_percent", 100.0),
}
_TIMES = ("unix_time_s", "time_s", "@timestamp", "timestamp", "timestamp_start", "time", "datetime", "date")
_QUANTITY = re.compile(
    r"(one_way_delay|delay|rtt|rate|throughput|loss|packet_loss|download|upload)(_down|_up)?"
    r"_(s|ms|us|ns|bps|kbps|mbps|gbps|percent)"
)

_DELAYS = re.compile("rtt|round.?trip|ping|delay|latency", re.IGNORECASE)
_OFFSET = r"(?<sign>[+-])(?<hours>\d\d):?(?<minutes>\d\d)"
_MEANS = re.compile("mean|avg|average|median", re.IGNORECASE)

# Names of delays that lack a unit.
_WITHOUT_UNIT = {"rtt", "delay", "one_way_delay", "latency"}


def _csv(name: str, text: str, columns: Mapping[str, str]) -> Measurement:
    try:
        if not columns and _is_bare(text):
            table = pl.read_csv(
                io.StringIO(text), comment_prefix="#", has_header=False, new_columns=["time_s", "one_way_delay_s"]
            )
            return _table(name, table, columns, "a table without a header, of seconds and one-way delays in seconds")
        table = pl.read_csv(io.StringIO(text), comment_prefix="#", infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise ScenarioError(f"{name}: no table: {reason}") from None
    return _table(name, table, columns, "a table")


def _is_bare(text: str) -> bool:
    """Whether the first row is two numbers: as a path reads it, time and delay."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    try:
        numbers = [float(cell) for cell in first.split(",")]
    except ValueError:
        return False
    return len(numbers) == 2


def _table(name: str, table: pl.DataFrame, columns: Mapping[str, str], kind: str) -> Measurement:
    """A table with a header: by names that are given, a dish's, or those that a path reads."""
    notes = []
    if not columns and (dish := {meaning: at for at in table.columns for meaning in _DISH if at.endswith(meaning)}):
        kind = "the status of a Starlink dish"
        taken = {_DISH[meaning][0]: table[at] * _DISH[meaning][1] for meaning, at in dish.items()}
        if "rtt_ms" in taken:
            # Where no probe was answered it is -1.
            taken["rtt_ms"] = taken["rtt_ms"].set(taken["rtt_ms"] <= 0, None)
        notes += [f"{at} is {_DISH[meaning][0]}" for meaning, at in dish.items()]
        notes.append("throughput is what was used, not what the dish could carry: it is left out")
        when = _time(name, table, None)
    else:
        chosen = {meaning: at for meaning, at in columns.items() if not meaning.startswith(("time", "unix_time"))}
        if not columns:
            chosen = {at.strip().lower(): at for at in table.columns if _QUANTITY.fullmatch(at.strip().lower())}
        for meaning, at in chosen.items():
            if at not in table.columns:
                raise ScenarioError(
                    f'{name}: line 1: has no column "{at}" (for {meaning}), but {", ".join(table.columns)}'
                )
        if not chosen:
            given = ", ".join(table.columns)
            raise ScenarioError(
                f"{name}: line 1: the header names no quantity of a path: {given}; say what is what, as "
                f"--column {shlex.quote(f'rtt_ms={_like_a_delay(table)}')}"
            )
        taken = {meaning: table[at] for meaning, at in chosen.items()}
        _check_round_trips(name, {at: table[at] for meaning, at in chosen.items() if meaning.startswith("rtt")})
        notes += [f"{at} is {meaning}" for meaning, at in chosen.items() if at != meaning]
        when = _time(name, table, next((at for meaning, at in columns.items() if meaning not in chosen), None))
    seconds, at = when
    notes.insert(0, f"{at} is the time")
    result = _timed(seconds, {meaning: values.to_list() for meaning, values in taken.items()})
    told = {each for each in table.columns if each in taken or any(note.startswith(f"{each} is") for note in notes)}
    rest = [each for each in table.columns if each not in told]
    if rest:
        shown = ", ".join(rest[:6])
        notes.append(f"left out: {shown}" + (f" and {len(rest) - 6} more" if len(rest) > 6 else ""))
        notes += [
            f"{each} has no unit: --column {each}_ms={each}, if it is in milliseconds"
            for each in rest
            if each.strip().lower() in _WITHOUT_UNIT
        ]
    return Measurement(kind, result, notes)


def _check_round_trips(name: str, columns: Mapping[str, pl.Series]) -> None:
    for at, column in columns.items():
        wrong = (column.cast(pl.Float64, strict=False) <= 0).fill_null(value=False)
        if wrong.any():
            row = wrong.arg_max() or 0
            raise ScenarioError(
                f'{name}: line {row + 2}, column "{at}": {column[row]} must be more than 0; '
                "leave the cell of a lost probe empty"
            )


def _like_a_delay(table: pl.DataFrame) -> str:
    """The column of numbers whose name is most like that of a delay, a mean before others; the last if none is."""
    numbers = [each for each in table.columns if table[each].dtype.is_numeric()]
    named = [each for each in numbers if _DELAYS.search(each)]
    means = [each for each in named if _MEANS.search(each)]
    return next(iter([*means, *named, *reversed(table.columns)]))


def _time(name: str, table: pl.DataFrame, given: str | None) -> tuple[list[float], str]:
    """The time of each row in seconds, and its column."""
    at = given or next((each for each in _TIMES if each in table.columns), None)
    if at is None or at not in table.columns:
        wanted = f'"{at}"' if at else f"any of {', '.join(_TIMES)}"
        raise ScenarioError(f"{name}: line 1: no column tells the time, {wanted}: give one, as --column time_s=NAME")
    column = table[at]
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        plain = column.str.replace("T", " ").str.replace(rf"(Z|{_OFFSET})$", "")
        try:
            dates = plain.str.to_datetime(strict=False)
        except pl.exceptions.ComputeError:
            # No row looks like a date.
            dates = pl.Series(at, [None] * len(column), dtype=pl.Datetime("us"))
        dates -= _offsets(column)
        # The type of most rows; a row of another type is named.
        read = numbers if numbers.null_count() <= dates.null_count() else dates
        if read.null_count():
            wrong = int(read.is_null().arg_max() or 0)
            raise ScenarioError(
                f'{name}: line {wrong + 2}, column "{at}": {column[wrong]!r} is neither seconds nor a date'
            )
        column = read
    if column.dtype.is_temporal():
        return (column.dt.epoch("us") / 1e6).to_list(), at
    unit = next((factor for unit, factor in (("_ms", 1e-3), ("_us", 1e-6), ("_ns", 1e-9)) if at.endswith(unit)), 1.0)
    return (column.cast(pl.Float64) * unit).to_list(), at


def _offsets(dates: pl.Series) -> pl.Series:
    """The offset from UTC with which each date ends; none is UTC."""
    parts = dates.str.extract_groups(f"{_OFFSET}$").struct
    hours, minutes = (parts.field(name).cast(pl.Int64) for name in ("hours", "minutes"))
    count = pl.DataFrame({"hours": hours, "minutes": minutes, "is_west": parts.field("sign") == "-"}).select(
        pl.duration(hours=pl.col("hours"), minutes=pl.col("minutes")) * pl.when("is_west").then(-1).otherwise(1)
    )
    return count.to_series().fill_null(timedelta(0))


def _short_outages(times: list[float], rtt: list[float | None]) -> tuple[list[float], list[float | None]]:
    """A lost probe is an outage of an ordinary interval.

    A program that waits for the answer sends the next one later: a row that ends the outage is put between, with the
    answer before it.
    """
    gaps = sorted(after - before for before, after in pairwise(times))
    if not gaps:
        return times, rtt
    ordinary, last = gaps[len(gaps) // 2], next((value for value in rtt if value is not None), 0.0)
    sent_at: list[float] = []
    answers: list[float | None] = []
    for sent, value, after in zip(times, rtt, [*times[1:], times[-1]], strict=True):
        sent_at.append(sent)
        answers.append(value)
        last = last if value is None else value
        if value is None and after - sent > 2 * ordinary:
            sent_at.append(sent + ordinary)
            answers.append(last)
    return sent_at, answers


def _timed(seconds: list[float], columns: Mapping[str, list[float | None]]) -> pl.DataFrame:
    """Rows in the order of time, of several at one instant the first. Times since 1970 stay so, by their name.

    Raises:
        ScenarioError: time runs back.
    """
    at = "unix_time_s" if seconds and seconds[0] > _CALENDAR_S else "time_s"
    table = pl.DataFrame({at: seconds, **columns}, strict=False).with_columns(pl.all().cast(pl.Float64).fill_nan(None))
    back = (table[at].diff() < 0).fill_null(value=False)
    if back.any():
        row = back.arg_max() or 0
        raise ScenarioError(
            f"row {row + 1}: time {table[at][row]!r} s is before {table[at][row - 1]!r} s, that of the row before"
        )
    table = table.unique(at, keep="first", maintain_order=True)
    # To the nanosecond since the start, to the microsecond since 1970: more digits a float does not have.
    return table.with_columns(pl.col(at).round(6 if at == "unix_time_s" else 9))
