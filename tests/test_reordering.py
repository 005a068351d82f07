"""The numbers by which the reordering buffer orders packets, from scenario to summary."""

from __future__ import annotations

from pathlib import Path

import transorbit as to

LEO = Path(__file__).resolve().parents[1] / "scenarios" / "leo-tcp.toml"
SHORT = {"duration": "60 s", "channel.reference_snr": "7 dB", "record.series": False}
FLOW_BLIND = {"last_hop.reordering.numbering": "flow-blind"}


def run(changes: dict[str, object]) -> to.Result:
    """The scenario of chapter 4, shortened."""
    return to.Scenario.load(LEO).replace({**SHORT, **changes}).run()


def test_the_default_is_the_link_and_either_is_deterministic() -> None:
    link, blind = run({}), run(FLOW_BLIND)
    assert link.summary["digest"] == run({"last_hop.reordering.numbering": "link"}).summary["digest"]
    assert blind.summary["digest"] == run(FLOW_BLIND).summary["digest"]
    assert link.summary["digest"] != blind.summary["digest"]
    off = {"last_hop.reordering.enabled": False}
    assert run(off).summary["digest"] == run({**off, **FLOW_BLIND}).summary["digest"]
