"""The times of web pages, rebuilt from captures by the sentences of docs/models/traffic.md."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

import pytest

import transorbit as to
from transorbit.packets import read

if TYPE_CHECKING:
    from collections.abc import Sequence

# Bytes of a request, of the main object and of each embedded one, of which a page has three.
REQUEST, MAIN, EMBEDDED, OBJECTS = 350, 5000, 20000, 3

SURF = """
duration = "8 s"

[path]
kind  = "fixed"
delay = "20 ms"

[channel]
kind = "bernoulli"

[last_hop]
rate      = "2 Mbit/s"
delay     = "5 ms"
scheduler = { kind = "droptail", buffer = "100 packets" }
harq      = { kind = "none" }

[[flows]]
transport = "tcp"

[flows.traffic]
kind    = "web"
reading = "100 ms"

[record]
packets = "pcapng"
"""


class Way:
    """The bytes that one end sends to the other, as captures have them. `opens`: it is the end that sends first."""

    def __init__(self, result: to.Result, begins: str, ends: str, opens: bool) -> None:
        left, came = (read(result.captures[place]).to_dicts() for place in (begins, ends))
        client = left[0]["source"]
        first = next(row for row in left if row["syn"] and (row["source"] == client) == opens)
        self._source, self._base = first["source"], first["sequence"] + 1
        self.sent, self.came = self._segments(left), self._segments(came)

    def _segments(self, rows: Sequence[dict[str, int]]) -> list[tuple[float, int, int]]:
        own = [row for row in rows if row["source"] == self._source and row["payload_bytes"]]
        offsets = [(row["sequence"] - self._base) % 2**32 for row in own]
        return [(row["time_s"], at, at + row["payload_bytes"]) for row, at in zip(own, offsets, strict=True)]

    def leaves(self, offset: int) -> float:
        """When the byte there was first sent; infinity for never."""
        return min((time for time, begin, end in self.sent if begin <= offset < end), default=math.inf)

    def arrives(self, end: int) -> float:
        """When all bytes before `end` have come; infinity for never."""
        whole, waiting = 0, set[tuple[int, int]]()
        for time, *segment in self.came:
            waiting.add((segment[0], segment[1]))
            for begin, stop in sorted(waiting):
                whole = max(whole, stop) if begin <= whole else whole
            if whole >= end:
                return time
        return math.inf


def surfed(result: to.Result, requests: str) -> tuple[list[float], list[float], list[float]]:
    """The times of pages, of requests and of responses, of what was over before the run was."""
    up, down = Way(result, "receiver", "sender", opens=True), Way(result, "sender", "receiver", opens=False)
    pages, asked, answered = [], [], []
    requested = responded = 0
    while True:
        # What is asked for first goes at once, because all before it was acknowledged.
        written = click = up.leaves(requested) if requested else result.summary["flows"][0]["opened_s"]
        for index, size in enumerate([MAIN, *[EMBEDDED] * OBJECTS]):
            if index == 1:
                written = up.leaves(requested)
            elif index > 1 and requests == "sequential":
                written = answered[-1] + written
            requested, responded = requested + REQUEST, responded + size
            asked.append(up.arrives(requested) - written)
            answered.append(down.arrives(responded) - written)
            if not math.isfinite(answered[-1]):
                return pages, [time for time in asked if math.isfinite(time)], answered[:-1]
        pages.append(answered[-1] + written - click)


@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("requests", ["pipelined", "sequential"])
def test_times_of_pages_requests_and_responses_are_those_of_captures(requests: str, loss: float) -> None:
    sizes = {"request": REQUEST, "main": MAIN, "embedded": EMBEDDED}
    changes = {f"flows.0.traffic.{key}": f"{size} B" for key, size in sizes.items()}
    asked_for = {
        "flows.0.traffic.requests": requests,
        "flows.0.traffic.objects": {"kind": "constant", "count": OBJECTS},
    }
    result = to.Scenario.from_toml(SURF).replace({**changes, **asked_for, "channel.loss": loss}).run()
    report = result.summary["flows"][0]["web"]
    pages, asked, answered = surfed(result, requests)
    assert [report[key] for key in ("pages", "requests", "responses")] == [len(pages), len(asked), len(answered)]
    assert len(pages) > 5
    for key, times in {"load": pages, "request": asked, "response": answered}.items():
        assert report[f"{key}_mean_s"] == pytest.approx(statistics.fmean(times), abs=1e-6)
        assert report[f"{key}_median_s"] == pytest.approx(sorted(times)[(len(times) - 1) // 2], abs=1e-6)
    assert report["load_p95_s"] == pytest.approx(sorted(pages)[math.ceil(0.95 * len(pages)) - 1], abs=1e-6)
    for key, times in {"request": asked, "response": answered}.items():
        assert [report[f"{key}_{end}_s"] for end in ("min", "max")] == pytest.approx([min(times), max(times)], abs=1e-6)
