"""Logs of ping."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from transorbit._core import ScenarioError
from transorbit.trace.measurement import Measurement, timed

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBER = re.compile(r"\b(?:icmp_)?seq[= ](\d+)")
_TIME = re.compile(r"time=([\d.]+) ?ms")
_STAMP = re.compile(r"^\[([\d.]+)\]")
# Of iputils "3 received", whose first probe is number 1; of others "3 packets received", whose first is 0.
_TOTAL = re.compile(r"^(\d+) packets transmitted, \d+ (packets )?received(?:.* time (\d+) ?ms)?")
_INTERVAL_S = 1.0


def is_log(lines: list[str]) -> bool:
    """Whether the first lines name probes by their numbers."""
    return any(_NUMBER.search(line) for line in lines[:20])


def read(name: str, text: str, step_s: float | None) -> Measurement:
    """Ping of Linux (also with -D and -O), macOS and BusyBox: a lost probe was sent evenly between its neighbours."""
    lines = text.splitlines()
    answers: dict[int, tuple[float | None, float]] = {}
    latest, numbers = 0, set()
    for line in lines:
        found, took = _NUMBER.search(line), _TIME.search(line)
        if not found or line.endswith("(DUP!)"):
            continue
        latest += (int(found[1]) - latest + 32768) % 65536 - 32768
        numbers.add(latest)
        if took:
            stamp, rtt_ms = _STAMP.match(line), float(took[1])
            answers.setdefault(latest, (float(stamp[1]) - rtt_ms / 1e3 if stamp else None, rtt_ms))
    if not answers:
        raise ScenarioError(f'{name}: no line tells a round trip, as "icmp_seq=1 … time=40.0 ms" does')
    stamped = any(sent is not None for sent, _ in answers.values())
    if stamped and any(sent is None for sent, _ in answers.values()):
        raise ScenarioError(f"{name}: either all lines have a timestamp in brackets, or none")
    probes = _sent_probes(lines, numbers)
    if stamped:
        sent = _sent_evenly(probes, {number: at for number, (at, _) in answers.items() if at is not None})
        when = "timestamps of -D"
    else:
        interval_s, known = _interval(text, step_s)
        sent = [(number - probes[0]) * interval_s for number in probes]
        when = f"no timestamps: a probe every {interval_s:.4g} s ({known})"
    rtt = [answers[number][1] if number in answers else None for number in probes]
    notes = [
        f"time= is the round trip; {when}",
        f"{rtt.count(None)} of {len(probes)} probes without an answer: outages",
    ]
    return Measurement("a log of ping", timed(sent, {"rtt_ms": rtt}), notes)


def _interval(text: str, step_s: float | None) -> tuple[float, str]:
    """The time between probes without timestamps, and how it is known."""
    if step_s is not None:
        return step_s, "--step"
    for line in reversed(text.splitlines()):
        if (total := _TOTAL.match(line)) and total[3] and int(total[1]) > 1:
            return int(total[3]) / 1e3 / (int(total[1]) - 1), "by its last lines"
    return _INTERVAL_S, "ping's own interval; --step says another"


def _sent_probes(lines: list[str], told: set[int]) -> range:
    """The numbers of all probes: those that lines tell, and by the last lines how many there were.

    Only a log that has its first line has its first probe, too.
    """
    first, last = min(told), max(told)
    total = next((found for line in reversed(lines) if (found := _TOTAL.match(line))), None)
    if total:
        begin = 0 if total[2] else 1
        end = begin + int(total[1]) - 1
        if end >= last and any(line.startswith("PING ") for line in lines[:5]):
            first = min(first, begin)
        last = max(last, end)
    return range(first, last + 1)


def _sent_evenly(probes: range, known: Mapping[int, float]) -> list[float]:
    """When each probe was sent: between those that are known evenly, before and after them by their mean interval."""
    numbers = sorted(known)
    first, last = numbers[0], numbers[-1]
    step = (known[last] - known[first]) / (last - first) if last > first else _INTERVAL_S

    def sent(number: int) -> float:
        if not first < number < last:
            near = min(max(number, first), last)
            return known[near] + step * (number - near)
        after = bisect_left(numbers, number)
        left, right = numbers[after - 1], numbers[after]
        return known[left] + (known[right] - known[left]) * (number - left) / (right - left)

    return [sent(number) for number in probes]
