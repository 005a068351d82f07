"""How long the first packet of a delayed acknowledgment waits for the second, from a capture at the receiver."""

import struct
from collections.abc import Iterator
from pathlib import Path

_ENHANCED_PACKET = 6
_ETHERNET = 14


def waits(capture: Path) -> tuple[list[float], int]:
    """Figure 5.11: waiting times, in seconds, and how many packets waited until the timer expired.

    A pair is two packets that one acknowledgment answers on arrival of the second. Both are in order: what is not, or
    closes a gap, is answered at once and so alone.
    """
    pairs, expired = [], 0
    unanswered: list[float] = []
    for time, payload in _packets(capture):
        if payload:
            unanswered.append(time)
        else:
            if len(unanswered) == 2 and unanswered[1] == time:
                pairs.append(unanswered[1] - unanswered[0])
            elif len(unanswered) == 1 and unanswered[0] < time:
                expired += 1
            unanswered = []
    return pairs, expired


def _packets(capture: Path) -> Iterator[tuple[float, int]]:
    """Time in seconds and payload bytes of every packet; those without payload are acknowledgments."""
    data = capture.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == _ENHANCED_PACKET:
            high, low = struct.unpack_from("<II", data, at + 12)
            ip = at + 28 + _ETHERNET
            header, total = 4 * (data[ip] & 15), struct.unpack_from(">H", data, ip + 2)[0]
            yield (high << 32 | low) / 1e9, total - header - 4 * (data[ip + header + 12] >> 4)
        at += length
