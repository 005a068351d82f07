"""Results of iperf3, as `iperf3 --json` writes them."""

from __future__ import annotations

from typing import Any

from transorbit._core import ScenarioError
from transorbit._numbers import counted
from transorbit.trace.measurement import Measurement, timed


def read(name: str, content: dict[str, Any]) -> Measurement:
    """Bits per second of each interval, and the losses of UDP; without the intervals that `-O` omits."""
    test = content["start"].get("test_start", {})
    own, other = ("down", "up") if test.get("reverse") else ("up", "down")
    intervals = [each for each in content["intervals"] if not each["sum"].get("omitted")]
    omitted = len(content["intervals"]) - len(intervals)
    if not intervals:
        raise ScenarioError(f"{name}: iperf3 has measured no interval{_error(content)}")
    parts = [each["sum"] for each in intervals]
    protocol = test.get("protocol", "TCP")
    columns: dict[str, list[float | None]] = {f"rate_{own}_mbps": _mbps(parts)}
    notes = [f"sum.bits_per_second of {protocol}, the rate {own} (reverse is {'on' if test.get('reverse') else 'off'})"]
    if any(part.get("lost_percent") is not None for part in parts):
        columns["loss_percent"] = [part.get("lost_percent") for part in parts]
    backwards = [each["sum_bidir_reverse"] for each in intervals if "sum_bidir_reverse" in each]
    if len(backwards) == len(intervals):
        columns[f"rate_{other}_mbps"] = _mbps(backwards)
        notes.append(f"sum_bidir_reverse.bits_per_second, the rate {other}")
    if omitted:
        notes.append(f"{counted(omitted, 'interval')} left out, as omitted (-O)")
    if "error" in content:
        notes.append(f"iperf3 ended with an error{_error(content)}")
    notes += [
        *_doubts(protocol, own, parts, content.get("end", {})),
        'no delay: a path needs delay = "20 ms" beside it',
    ]
    begin = float(content["start"].get("timestamp", {}).get("timesecs", 0))
    # A row where the last interval ends: a path may begin anew there.
    times = [begin + part["start"] for part in parts] + [begin + parts[-1]["end"]]
    closed = {column: [*values, values[-1]] for column, values in columns.items()}
    return Measurement("a result of iperf3", timed(times, closed), notes)


def _mbps(parts: list[dict[str, Any]]) -> list[float | None]:
    return [part["bits_per_second"] / 1e6 for part in parts]


def _error(content: dict[str, Any]) -> str:
    return f": {content['error']}" if "error" in content else ""


def _doubts(protocol: str, direction: str, parts: list[dict[str, Any]], end: dict[str, Any]) -> list[str]:
    """Why a rate is not that of the path."""
    if protocol == "TCP":
        controller = end.get("sender_tcp_congestion", "its congestion control")
        return [f"this is what TCP got ({controller}), not what the path could carry: as a rate it is a lower bound"]
    if not parts[0].get("sender"):
        return []
    lost = (end.get("sum_received") or end.get("sum") or {}).get("lost_percent")
    told = "" if lost is None else f", of which {lost:.3g} % were lost"
    return [f"the rate {direction} is what was sent{told}, not what the path carried: measure it from the other end"]
