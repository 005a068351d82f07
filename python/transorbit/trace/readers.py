"""Measurements in other programs' formats, as columns of a path over time: delay, rate and loss with their units."""

from __future__ import annotations

import gzip
import io
import json
import re
import shlex
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._core import ScenarioError
from transorbit.trace import iperf3, mahimahi, ping
from transorbit.trace.measurement import CALENDAR_S, Measurement, numbers, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def read(name: str, contents: bytes, columns: Mapping[str, str], step_s: float | None) -> Measurement:
    """Read a measurement, whose format is recognised from its contents.

    Raises:
        ScenarioError: it is none of the formats, or a line of it is wrong.
    """
    if contents[:2] == b"\x1f\x8b":
        try:
            contents = gzip.decompress(contents)
        except (OSError, EOFError) as error:
            raise ScenarioError(f"{name}: no whole file of gzip: {error}") from None
    if contents[:4] in _CAPTURES:
        raise ScenarioError(f"{name}: a capture of packets, which is not read: give the log of a program that measures")
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
        for program, (line, read) in _UNREAD.items():
            if any(line.search(one) for one in lines[:20]):
                raise ScenarioError(f"{name}: a log of {program}, which is not read: {read}")
    elif _is_json(lines):
        raise ScenarioError(f"{name}: JSON, whose quantities have names of their own: columns are those of a table")
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
        if rows and all(isinstance(row, dict) and "event" in row for row in rows):
            told = "events, as of iperf3 --json-stream, which are not read: iperf3 --json is"
            raise ScenarioError(f"{name}: {told}") from None
        return _table(name, pl.DataFrame(rows, infer_schema_length=None), {}, "JSON lines")
    if "round_trips" in content:
        return _irtt(name, content)
    if "intervals" in content and "start" in content:
        return iperf3.read(name, content)
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
    return Measurement("a log of irtt", timed(sent, {"rtt_ms": rtt}), notes)


def _is_probes(lines: list[str]) -> bool:
    rows = numbers(lines, None)
    return bool(rows) and all(len(row) == 3 and row[0] > CALENDAR_S for row in rows or [])


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
        if took == 0:
            raise ScenarioError(f"{name}: line {number}: a round trip of 0 ms; a lost probe is -1")
        times.append(sent)
        rtt.append(None if took < 0 else took)
    lost = sum(value is None for value in rtt)
    times, rtt = _short_outages(times, rtt)
    notes = [
        "no header; the columns must be time since 1970 in s, number of the probe, round trip in ms (-1: lost)",
        f"{lost} probes without an answer: an outage each, of the time between two probes",
    ]
    return Measurement("rows of probes, as LENS has them", timed(times, {"rtt_ms": rtt}), notes)


def _is_hypatia(lines: list[str]) -> bool:
    rows = numbers(lines, ",")
    return bool(rows) and all(len(row) == 2 for row in rows or []) and max(max(row) for row in rows or []) > 1e6


def _hypatia(_name: str, text: str, _: float | None) -> Measurement:
    """Hypatia's `networkx_rtt_…txt`: rows `time_ns,rtt_ns`, 0 for no route."""
    rows = [[float(cell) for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    rtt = [rtt / 1e6 if rtt > 0 else None for _, rtt in rows]
    notes = ["no header; as Hypatia's networkx_rtt_….txt: time in ns, round trip in ns, 0 without a route"]
    return Measurement("round trips of Hypatia", timed([at / 1e9 for at, _ in rows], {"rtt_ms": rtt}), notes)


_FORMATS: list[tuple[Callable[[list[str]], bool], Callable[[str, str, float | None], Measurement]]] = [
    (_is_json, _json),
    (ping.is_log, ping.read),
    (mahimahi.is_trace, mahimahi.read),
    (_is_probes, _probes),
    (_is_hypatia, _hypatia),
]

# Logs that are not read, each by a line that it has, and what is read instead.
_PING = "ping of Linux, macOS or BusyBox is"
_UNREAD = {
    "Windows' ping": (re.compile(r"^Pinging \S+.* with \d+ bytes of data"), _PING),
    "fping": (re.compile(r"^\S+ : (\[\d+\]|xmt/rcv/%loss)"), _PING),
    "iperf3 for people": (re.compile(r"^\[ *(ID|\d+)\] "), "what iperf3 --json writes is"),
}

# The first bytes of captures: pcapng, and pcap of either byte order with microseconds or nanoseconds.
_CAPTURES = [bytes.fromhex(magic) for magic in ("0a0d0d0a", "d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d")]

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
            schema = {"time_s": pl.Float64, "one_way_delay_s": pl.Float64}
            table = pl.read_csv(io.StringIO(text), comment_prefix="#", has_header=False, schema=schema)
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
        taken = {_DISH[meaning][0]: _numbers(name, table[at]) * _DISH[meaning][1] for meaning, at in dish.items()}
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
        taken = {meaning: _numbers(name, table[at]) for meaning, at in chosen.items()}
        _check_round_trips(name, [column for meaning, column in taken.items() if meaning.startswith("rtt")])
        notes += [f"{at} is {meaning}" for meaning, at in chosen.items() if at != meaning]
        when = _time(name, table, next((at for meaning, at in columns.items() if meaning not in chosen), None))
    seconds, at = when
    notes.insert(0, f"{at} is the time")
    result = timed(seconds, {meaning: values.to_list() for meaning, values in taken.items()})
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


def _numbers(name: str, column: pl.Series) -> pl.Series:
    """The numbers of a column; an empty cell is none.

    Raises:
        ScenarioError: a cell holds something else.
    """
    if column.dtype.is_numeric():
        return column
    cells = column.cast(pl.String).str.strip_chars()
    cells_as_numbers = cells.cast(pl.Float64, strict=False)
    _refuse(name, column, cells_as_numbers.is_null() & (cells != ""), "is not a number")
    return cells_as_numbers


def _check_round_trips(name: str, columns: list[pl.Series]) -> None:
    for column in columns:
        _refuse(name, column, column <= 0, "must be more than 0; leave the cell of a lost probe empty")


def _refuse(name: str, column: pl.Series, wrong: pl.Series, why: str) -> None:
    """Raises `ScenarioError` for the first cell that is wrong, with its line and column."""
    if wrong.any():
        row = wrong.arg_max() or 0
        raise ScenarioError(f'{name}: line {row + 2}, column "{column.name}": {column[row]!r} {why}')


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
        _refuse(name, column, read.is_null(), "is neither seconds nor a date")
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
