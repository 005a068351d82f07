"""`channel.held`: the series goes on with the clock, with bursts, or in blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

import transorbit as to

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "leo-tcp.toml"
BURST = {"kind": "burst", "step": "20 ms"}
BLOCK = {"kind": "block", "length": "100 ms", "step": "2 s"}
QUIET = {"record.series": False, "last_hop.reordering.enabled": False}


def run(held: object, **changes: object) -> dict[str, object]:
    """The summary of a minute."""
    settings = {"duration": "60 s", **QUIET, **({"channel.held": held} if held else {}), **changes}
    return to.Scenario.load(SCENARIO).replace(settings).run(seed=3).summary


def test_default_is_the_clock_and_each_reading_repeats_itself() -> None:
    over_time, named = run(None), run({"kind": "time"})
    assert over_time["digest"] == named["digest"]
    digests = [run(held)["digest"] for held in (BURST, BLOCK, BURST, BLOCK)]
    assert digests[:2] == digests[2:]
    assert len({over_time["digest"], *digests}) == 3


def lost_of_calls(tmp_path: Path, held: object) -> tuple[int, int]:
    """Packets sent and lost by a call, a packet in 20 ms, over rows of 10 ms of which each second is a deep fade."""
    (tmp_path / "fades.csv").write_text("".join(f"{row / 100:.2f},{40 * (row % 2)}\n" for row in range(100)))
    channel = {"kind": "trace", "file": str(tmp_path / "fades.csv"), "reference_snr": "20 dB", "held": held}
    call = {"transport": {"kind": "udp"}, "traffic": {"kind": "voice"}}
    changes = {"channel": channel, "last_hop.harq": {"kind": "none"}, "flows": [call], "duration": "60 s", **QUIET}
    (flow,) = to.Scenario.load(SCENARIO).replace(changes).run(seed=1).summary["flows"]
    return flow["sent_packets"], flow["lost_harq"]


def test_a_burst_takes_the_series_a_row_further_whenever_it_is_sent(tmp_path: Path) -> None:
    sent, lost = lost_of_calls(tmp_path, {"kind": "burst", "step": "10 ms"})
    assert sent > 1000
    assert abs(lost - sent / 2) <= 10, "each second burst, but for packets in flight at the end"
    _, over_time = lost_of_calls(tmp_path, {"kind": "time"})
    assert over_time < 0.1 * sent or over_time > 0.9 * sent, "packets are two rows apart"


@pytest.mark.parametrize(
    ("held", "says"),
    [
        ({"kind": "burst", "step": "0 s"}, "channel.held.step: 0 s is out of range"),
        ({"kind": "block", "length": "1 s", "step": "5 ms"}, "must be at least 1 s"),
        ({"kind": "burts", "step": "5 ms"}, "burst"),
        ({"kind": "burst"}, "step"),
    ],
)
def test_says_what_is_wrong(held: object, says: str) -> None:
    with pytest.raises(to.ScenarioError, match=r"channel\.held") as refusal:
        to.Scenario.load(SCENARIO).replace({"channel.held": held}).check()
    assert says in str(refusal.value)


def test_what_follows_the_orbit_needs_the_clock() -> None:
    with pytest.raises(to.ScenarioError, match=r"channel\.held\.kind.*orbit"):
        to.Scenario.load(SCENARIO).replace({"channel.held": BURST, "channel.elevation": "orbit"}).check()
