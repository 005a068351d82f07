"""Packet captures: where they are kept, and that tshark counts in them what the summary says.

The comparisons need tshark (Debian: `apt install tshark`) and are skipped without it.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest

import transorbit as to
from transorbit.packets import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

FILES = {"packets-sender.pcapng", "packets-satellite.pcapng", "packets-receiver.pcapng"}
needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


# Read as a table


def pcapng(*given: bytes) -> bytes:
    """A capture of these IP packets, each at the second of its number."""
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
    blocks = []
    for second, packet in enumerate(given):
        frame = bytes(12) + (b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00") + packet
        padded = frame + bytes(-len(frame) % 4)
        at, length = second * 10**9, 32 + len(padded)
        head = struct.pack("<IIIIIII", 6, length, 0, at >> 32, at & 0xFFFFFFFF, len(frame), len(frame))
        blocks.append(head + padded + struct.pack("<I", length))
    return section + interface + b"".join(blocks)


def test_packets_of_other_programs_are_read(tmp_path: Path) -> None:
    one, two = b"\x20\x01" + bytes(13) + b"\x01", b"\x20\x01" + bytes(13) + b"\x02"
    tcp = struct.pack("!HHIIBBHHH", 4711, 80, 5, 6, 5 << 4, 16, 1000, 0, 0)
    ipv6 = struct.pack("!IHBB", 6 << 28 | 3 << 20, 8 + len(tcp) + 7, 0, 64) + one + two
    hop_by_hop = bytes([6, 0, 1, 4, 0, 0, 0, 0])
    ping = struct.pack("!BBHHHBBH", 0x45, 0, 28, 77, 0, 64, 1, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + bytes(8)
    # The second part of a datagram, and options of which the capture has a part.
    part = struct.pack("!IHBB", 6 << 28, 11, 44, 64) + one + two + bytes([17, 0, 0, 9, 0, 0, 0, 1]) + b"abc"
    cut = struct.pack("!IHBB", 6 << 28, 8 + len(tcp) + 2, 6, 64) + one + two
    cut += struct.pack("!HHIIBBHHH", 4711, 80, 9, 6, 8 << 4, 16, 1000, 0, 0) + bytes([5, 10, 0, 0])
    (tmp_path / "c.pcapng").write_bytes(pcapng(ipv6 + hop_by_hop + tcp + b"payload", ping, part, cut))

    rows = read(tmp_path / "c.pcapng").to_dicts()

    shown = ("source", "destination", "source_port", "protocol", "identification", "ecn", "payload_bytes", "sequence")
    assert [[row[name] for name in shown] for row in rows] == [
        ["2001::1", "2001::2", 4711, "tcp", None, 3, 7, 5],
        ["10.0.0.1", "10.0.0.2", None, "icmp", 77, 0, 8, None],
        ["2001::1", "2001::2", None, None, None, 0, 3, None],
        ["2001::1", "2001::2", 4711, "tcp", None, 0, -8, 9],
    ]
    assert (rows[0]["window"], rows[0]["ack"], rows[1]["window"]) == (1000, True, None)


# Kept with the result


def test_a_run_keeps_its_packets_in_the_result_folder(command: Callable[..., Outcome], here: Path) -> None:
    arguments = ("run", "scenarios/lab-fixed.toml", "--set", "duration=2 s", "--set", "record.packets=pcapng")
    done = command(*arguments, "--out", "results/kept", "--no-plots")

    assert done.code == 0, done.err
    assert {path.name for path in (here / "results/kept").iterdir()} >= FILES
    assert {path.name for path in (here / "results").iterdir()} == {"kept"}, "nothing is left beside it"
    result = to.Result.load(here / "results/kept")
    assert set(result.captures) == {"sender", "satellite", "receiver"}

    # An earlier result with packets is replaced, and one without has none.
    again = (*arguments[:4], "--out", "results/kept", "--no-plots")
    assert command(*again).code == 2
    assert {path.name for path in (here / "results/kept").iterdir()} >= FILES
    assert command(*again, "--force").code == 0
    assert not FILES & {path.name for path in (here / "results/kept").iterdir()}


def test_packets_without_a_folder_are_not_written(command: Callable[..., Outcome], here: Path) -> None:
    done = command(
        "run", "scenarios/lab-fixed.toml", "--set", "duration=1 s", "--set", "record.packets=pcapng", "--json"
    )

    assert done.code == 0
    assert "without --out there is no folder for the packets" in done.err
    assert not list(here.rglob("*.pcapng"))


def test_packets_of_a_result_go_with_it_unless_saved(lab: to.Scenario, tmp_path: Path) -> None:
    wanted = lab.replace({"duration": "1 s", "record.packets": "pcapng"})
    plain, result = lab.replace({"duration": "1 s"}).run(), wanted.run(scratch=tmp_path / "scratch")

    assert result.summary == plain.summary
    assert plain.captures == {}
    files = list(result.captures.values())
    assert {file.name for file in files} == FILES
    assert all(file.is_relative_to(tmp_path / "scratch") for file in files)
    result.save(tmp_path / "kept", plots=False)
    result.save(tmp_path / "again", plots=False)
    del result
    assert not any(file.exists() for file in files)
    kept = [(tmp_path / folder / name).read_bytes() for folder in ("kept", "again") for name in sorted(FILES)]
    assert kept[:3] == kept[3:]


def test_a_folder_that_cannot_be_written_is_an_error(lab: to.Scenario, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OSError, match="file"):
        lab.replace({"record.packets": "pcapng"}).run(scratch=tmp_path / "file")


def test_the_folders_above_its_packets_go_with_a_result(lab: to.Scenario, tmp_path: Path) -> None:
    wanted = lab.replace({"duration": "100 ms", "record.packets": "pcapng"})
    result = wanted.run(scratch=tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    del result
    assert list(tmp_path.iterdir()) == []
    wanted.run(scratch=tmp_path / "own").save(tmp_path / "own" / "result", plots=False)
    assert [each.name for each in (tmp_path / "own").iterdir()] == ["result"]


# Beside tshark

BEHIND = [f"tcp.analysis.{name}" for name in ("retransmission", "spurious_retransmission", "out_of_order")]
"""What lies below the highest byte seen; which name it gets is a guess from times (see docs/models/packets.md)."""
BAD = ["_ws.malformed", "_ws.short"]
CHECKED = ["ip.checksum.status", "tcp.checksum.status"]
FIELDS = ["ip.id", "tcp.seq_raw", "ip.src", "ip.dst", "tcp.flags.syn", "ip.dsfield.ecn", "tcp.analysis.duplicate_ack"]


def dissected(file: Path) -> list[dict[str, str]]:
    """The packets of a capture as tshark sees them."""
    options = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-T", "fields", "-E", "separator=;"]
    fields = [*FIELDS, *BEHIND, *BAD, *CHECKED]
    named = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(["tshark", "-r", str(file), *options, *named], capture_output=True, text=True, check=True)
    return [dict(zip(fields, line.split(";"), strict=True)) for line in done.stdout.splitlines()]


def identity(packet: dict[str, str]) -> tuple[str, str]:
    """What a packet is found by at another place; the identification of IP alone comes again after 65,536 packets."""
    return packet["ip.id"], packet["tcp.seq_raw"]


def behind(packet: dict[str, str]) -> bool:
    return any(packet[field] for field in BEHIND) and packet["tcp.flags.syn"] in {"0", "False"}


SCENARIOS = {
    "losses and late packets put in order": {},
    "losses and reordering": {"last_hop.reordering.enabled": False},
    "a stack that tolerates reordering": {
        "last_hop.reordering.enabled": False,
        "flows.0.transport.profile": "linux",
    },
    "marks": {
        "channel": {"kind": "clear"},
        "last_hop.rate": "5 Mbit/s",
        "last_hop.harq": {"kind": "none"},
        "last_hop.queue": {"kind": "codel"},
        "flows.0.transport.ecn": True,
    },
    "no options": {"flows.0.transport.timestamps": False, "flows.0.transport.sack": False},
    "a proxy": {"flows.0.pep": {"delay": "20 ms"}},
}


@needs_tshark
@pytest.mark.parametrize("changes", SCENARIOS.values(), ids=SCENARIOS)
def test_tshark_counts_what_we_count(leo: to.Scenario, changes: dict[str, object]) -> None:
    scenario = leo.replace({"duration": "30 s", "flows.0.count": 2, "record.packets": "pcapng", **changes})
    result = scenario.run()
    seen = {place: dissected(file) for place, file in result.captures.items()}
    # With a proxy the connection over the satellites begins at the gateway.
    near = "gateway" if "gateway" in seen else "sender"

    for packets in seen.values():
        assert len(packets) > 100
        assert not any(packet[field] for packet in packets for field in BAD)
        # 0 is bad, 2 is not verified: a payload that was not captured cannot be.
        assert {packet[field] for packet in packets for field in CHECKED} <= {"1", "2"}
        assert {packet["ip.checksum.status"] for packet in packets} == {"1"}
    for flow in result.summary["flows"]:
        user = f"10.128.0.{flow['id'] + 1}"
        mine = {place: [p for p in packets if user in (p["ip.src"], p["ip.dst"])] for place, packets in seen.items()}
        sent_again = {identity(packet) for packet in mine[near] if behind(packet)}
        assert len(sent_again) == flow["retransmitted_packets"]
        duplicates = [packet for packet in mine[near] if packet["tcp.analysis.duplicate_ack"]]
        assert len(duplicates) == flow["duplicate_acks"]
        # At the receiver what lies below the highest byte is late: retransmitted, or a first transmission out of order.
        late = {identity(packet) for packet in mine["receiver"] if behind(packet)}
        assert len(late - sent_again) == flow["reordered_packets"]
        marked = [packet for packet in mine["receiver"] if packet["ip.dsfield.ecn"] == "3"]
        assert len(marked) == flow["marked_packets"]


def test_spurious_retransmissions_are_those_whose_data_a_capture_shows_as_received_before_or_later(
    leo: to.Scenario,
) -> None:
    """A copy is received if the receiver's next acknowledgment covers its data; two here are refused by PAWS."""
    changes = {
        "duration": "300 s",
        "last_hop.reordering.enabled": False,
        "flows.0.transport": {
            "kind": "tcp",
            "congestion": "cubic",
            "profile": "classic",
            "mss": "1000 B",
            "dupthresh": "adaptive",
            "delayed_ack": False,
            "timestamps": True,
        },
        "record.series": False,
        "record.packets": "pcapng",
    }
    result = leo.replace(changes).run()
    server = read(result.captures["sender"])["source"][0]
    copies: dict[int, list[int]] = {}
    for packet in read(result.captures["sender"]).iter_rows(named=True):
        if packet["source"] == server and packet["payload_bytes"]:
            copies.setdefault(packet["sequence"], []).append(packet["identification"])
    held: set[int] = set()
    received: dict[int, set[int]] = {}
    arrived = None
    for packet in read(result.captures["receiver"]).iter_rows(named=True):
        if packet["source"] == server:
            arrived = packet if packet["payload_bytes"] else None
        elif arrived:
            at = arrived["sequence"]
            if at < packet["acknowledgment"] or any(begin <= at < end for begin, end in packet["sack"] or []):
                held.add(at)
            if at in held:
                received.setdefault(at, set()).add(arrived["identification"])
            arrived = None
    spurious = 0
    for at, own in copies.items():
        first = next((index for index, copy in enumerate(own) if copy in received.get(at, ())), len(own) - 1)
        spurious += len(own) - 1 - first

    flow = result.summary["flows"][0]
    assert sum(len(own) - 1 for own in copies.values()) == flow["retransmitted_packets"]
    assert spurious == flow["spurious_retransmissions"] > 100


@needs_tshark
def test_tshark_calls_reordering_out_of_order_where_nothing_is_lost(lab: to.Scenario) -> None:
    # A window of two segments: a second duplicate acknowledgment would make it look like a fast retransmission.
    changes = {
        "duration": "200 s",
        "path.jitter": {"probability": 0.2, "extra": "5 ms"},
        "flows.0.transport.mss": "1000 B",
        "flows.0.transport.receive_buffer": "2000 B",
        "record.packets": "pcapng",
    }
    result = lab.replace(changes).run()
    flow = result.summary["flows"][0]

    assert flow["retransmitted_packets"] == 0
    found = [packet for packet in dissected(result.captures["receiver"]) if packet["tcp.analysis.out_of_order"]]
    assert flow["reordered_packets"] == len(found) > 10
