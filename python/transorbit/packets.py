"""Packet captures as tables: what a run recorded with `record.packets = "pcapng"`, one row for each packet.

The files are read here because a run writes the simplest there are (one section, one interface, whole headers). Of the
libraries for pcapng, scapy is under the GPL, and dpkt and python-pcapng have had no release since 2022.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

# https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng: block types, and the byte order of a section.
_SECTION, _ENHANCED_PACKET = 0x0A0D0D0A, 6
_LITTLE = b"\x4d\x3c\x2b\x1a"
_BLOCK = struct.Struct("<II")
# After the interface: the time in nanoseconds, upper half first, bytes captured and on the wire.
_ENHANCED = struct.Struct("<12xIIII")
# From the start of the frame: IP's service, identification, protocol and addresses.
_IP = struct.Struct("!14xBB2xH3xB2x4s4s")
_ETHERNET = 14
# From the start of IPv6's header: version and traffic class, next header and addresses (RFC 8200 section 3).
_IPV6 = struct.Struct("!I2xBx16s16s")
# Extension headers that may stand before the transport's: a length in units of 8 bytes follows the next header's kind.
_EXTENSIONS, _FRAGMENT = {0, 43, 60}, 44
# The offset of a fragment, with flags above or below.
_OFFSET = struct.Struct("!H")
_PORTS = struct.Struct("!HH")
# From the start of TCP's header: both numbers, offset, flags and window.
_HEADER = struct.Struct("!4xIIBBH")
_TCP, _UDP = 6, 17
_PROTOCOLS = {1: "icmp", _TCP: "tcp", _UDP: "udp", 58: "icmpv6"}
_UDP_HEADER = 8
_FIN, _SYN, _RST, _ACK = 1, 2, 4, 16
# TCP's options (RFC 9293 section 3.1, RFC 7323, RFC 2018).
_END, _NOTHING, _WINDOW_SCALE, _SACK = 0, 1, 3, 5
# Most segments carry timestamps and nothing else, padded before.
_TIMESTAMPS_ALONE, _TIMESTAMPS_BYTES = b"\x01\x01\x08\x0a", 12

Scales = dict[tuple[bytes, bytes, int | None, int | None], int | None]


class _Addresses(dict[bytes, str]):
    """Addresses as text, each formatted once: a capture has few."""

    def __missing__(self, address: bytes) -> str:
        self[address] = str(ipaddress.ip_address(address))
        return self[address]


def read(path: str | Path) -> pl.DataFrame:
    """The packets of a capture, in the order of time.

    Returns:
        `time_s` (simulated); `source`, `destination` (addresses); `source_port`, `destination_port` (null without
        ports); `protocol` ("tcp", "udp", "icmp", "icmpv6", or null); `identification` (of IPv4: the same at each
        place); `ecn` (0 to 3, 3 is congestion experienced); `bytes` (on the wire); `payload_bytes` (after the headers
        of IP, TCP and UDP). Of TCP besides `sequence` and `acknowledgment` (raw, 32 bits), the flags `syn`,
        `fin`, `rst` and `ack`, `window` (bytes, scaled as both ends agreed), `sack` (pairs of sequence numbers).

    Raises:
        ScenarioError: the file is no capture that a run wrote.
        OSError: it cannot be read.
    """
    from pathlib import Path

    import polars as pl

    content = Path(path).read_bytes()
    if content[:4] != _SECTION.to_bytes(4, "little") or content[8:12] != _LITTLE:
        raise ScenarioError(f"{path}: is no capture of packets (pcapng) that a run wrote")
    scales: Scales = {}
    addresses = _Addresses()
    rows = [_packet(at, wire, frame, scales, addresses) for at, wire, frame in _frames(content)]
    kinds = _schema()
    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(kinds) + 1)
    # Column by column, and lists separately: row by row takes many times as long.
    table = pl.DataFrame(
        [pl.Series(name, own, kind) for (name, kind), own in zip(kinds.items(), columns, strict=False)]
    )
    blocks = [(index, *edges) for index, sack in enumerate(columns[-1]) for edges in sack]
    edges = pl.DataFrame(blocks, {"row": pl.UInt32, "left": pl.Int64, "right": pl.Int64}, orient="row")
    sacks = edges.group_by("row", maintain_order=True).agg(pl.concat_list("left", "right").alias("sack"))
    indexed = table.with_row_index("row").join(sacks, on="row", how="left", maintain_order="left").drop("row")
    none = pl.lit([], pl.List(pl.List(pl.Int64)))
    return indexed.with_columns(pl.when(pl.col("protocol") == "tcp").then(pl.col("sack").fill_null(none)))


def _schema() -> dict[str, Any]:
    import polars as pl

    flags = dict.fromkeys(("syn", "fin", "rst", "ack"), pl.Boolean)
    return {
        "time_s": pl.Float64,
        "source": pl.String,
        "destination": pl.String,
        "source_port": pl.Int64,
        "destination_port": pl.Int64,
        "protocol": pl.String,
        "identification": pl.Int64,
        "ecn": pl.Int64,
        "bytes": pl.Int64,
        "payload_bytes": pl.Int64,
        "sequence": pl.Int64,
        "acknowledgment": pl.Int64,
        **flags,
        "window": pl.Int64,
    }


def _frames(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Nanoseconds, bytes on the wire and captured headers of each packet; a block that was cut off ends the file."""
    position = 0
    while position + _BLOCK.size <= len(content):
        kind, length = _BLOCK.unpack_from(content, position)
        if length < _BLOCK.size or position + length > len(content):
            return
        if kind == _ENHANCED_PACKET:
            high, low, captured, wire = _ENHANCED.unpack_from(content, position)
            start = position + _ENHANCED.size
            yield high << 32 | low, wire, content[start : start + captured]
        position += length


def _packet(at: int, wire: int, frame: bytes, scales: Scales, addresses: _Addresses) -> tuple[Any, ...]:
    """A row in the order of the columns; `scales` keeps the window scale of each end's SYN."""
    service, identification, protocol, source, destination, end = _network(frame)
    ports = protocol in (_TCP, _UDP)
    source_port, destination_port = _PORTS.unpack_from(frame, end) if ports else (None, None)
    if protocol == _TCP:
        sequence, acknowledgment, offset, flags, window = _HEADER.unpack_from(frame, end)
        start = end + 4 * (offset >> 4)
    else:
        start = end + _UDP_HEADER * ports
    row = (
        at / 1e9,
        addresses[source],
        addresses[destination],
        source_port,
        destination_port,
        _PROTOCOLS.get(protocol),
        identification,
        service & 3,
        wire,
        wire - start,
    )
    if protocol != _TCP:
        return (*row, *(None,) * 7, ())
    options = frame[end + 20 : start]
    tcp_options = {} if options[:4] == _TIMESTAMPS_ALONE and len(options) == _TIMESTAMPS_BYTES else _options(options)
    syn = bool(flags & _SYN)
    if syn:
        scales[source, destination, source_port, destination_port] = tcp_options.get("scale")
    else:
        # Scaled if both ends offered it, and never in a SYN (RFC 7323 section 2.2).
        scale = scales.get((source, destination, source_port, destination_port))
        other = scales.get((destination, source, destination_port, source_port))
        window <<= 0 if scale is None or other is None else scale
    bits = (syn, bool(flags & _FIN), bool(flags & _RST), bool(flags & _ACK))
    return (*row, sequence, acknowledgment, *bits, window, tcp_options.get("sack", ()))


def _network(frame: bytes) -> tuple[int, int | None, int, bytes, bytes, int]:
    """Of IP's header: service, identification, protocol, addresses, and where it ends.

    The protocol is -1 of a fragment after the first, which has no header but IP's.
    """
    version, service, identification, protocol, source, destination = _IP.unpack_from(frame)
    if version >> 4 != 6:
        later = _OFFSET.unpack_from(frame, _ETHERNET + 6)[0] & 0x1FFF
        return service, identification, -1 if later else protocol, source, destination, _ETHERNET + 4 * (version & 15)
    first, protocol, source, destination = _IPV6.unpack_from(frame, _ETHERNET)
    end = _ETHERNET + 40
    while protocol in _EXTENSIONS or protocol == _FRAGMENT:
        length = 8 if protocol == _FRAGMENT else 8 + 8 * frame[end + 1]
        later = protocol == _FRAGMENT and _OFFSET.unpack_from(frame, end + 2)[0] >> 3
        protocol, end = -1 if later else frame[end], end + length
    return first >> 20 & 0xFF, None, protocol, source, destination, end


def _options(options: bytes) -> dict[str, Any]:
    """The window scale and the SACK blocks among TCP's options."""
    tcp_options: dict[str, Any] = {}
    position = 0
    while position < len(options) and options[position] != _END:
        if options[position] == _NOTHING:
            position += 1
            continue
        kind, length = options[position], (options[position + 1 : position + 2] or b"\0")[0]
        if length < 2 or position + length > len(options):
            break  # captured in part
        value = options[position + 2 : position + length]
        if kind == _WINDOW_SCALE:
            tcp_options["scale"] = value[0]
        elif kind == _SACK:
            tcp_options["sack"] = [list(edges) for edges in struct.iter_unpack("!II", value)]
        position += length
    return tcp_options
