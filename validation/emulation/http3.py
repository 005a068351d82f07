"""HTTP/3 over `transorbit emulate`: `http3.py serve` answers, `http3.py ask` loads a page and its objects at once.

Needs aioquic. The certificate is made for the occasion and not checked: what is measured is the transport.
"""

from __future__ import annotations

import asyncio
import datetime
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

if TYPE_CHECKING:
    from aioquic.quic.events import QuicEvent

PORT = 4433


class Server(QuicConnectionProtocol):
    """Answers a request for /N with N bytes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.http = H3Connection(self._quic)

    def quic_event_received(self, event: QuicEvent) -> None:
        """Something came."""
        for got in self.http.handle_event(event):
            if isinstance(got, HeadersReceived):
                size = int(dict(got.headers)[b":path"][1:])
                self.http.send_headers(got.stream_id, [(b":status", b"200")])
                self.http.send_data(got.stream_id, bytes(size), end_stream=True)
                self.transmit()


class Client(QuicConnectionProtocol):
    """Asks, and waits for whole answers."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.http = H3Connection(self._quic)
        self.whole: dict[int, asyncio.Future[None]] = {}

    async def ask(self, size: int) -> None:
        """Until the last byte of the answer."""
        stream = self._quic.get_next_available_stream_id()
        self.whole[stream] = asyncio.get_running_loop().create_future()
        names = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"server"), (b":path", b"/%d" % size)]
        self.http.send_headers(stream, names, end_stream=True)
        self.transmit()
        await self.whole[stream]

    def quic_event_received(self, event: QuicEvent) -> None:
        """Something came."""
        for got in self.http.handle_event(event):
            if isinstance(got, HeadersReceived | DataReceived) and got.stream_ended:
                self.whole[got.stream_id].set_result(None)


async def run_server() -> None:
    """Until it is stopped."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    today = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(today).not_valid_after(today + datetime.timedelta(days=1))
    pem = serialization.Encoding.PEM
    shapes = (pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    with tempfile.TemporaryDirectory() as folder:
        certificate, secret = Path(folder) / "certificate.pem", Path(folder) / "key.pem"
        certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
        secret.write_bytes(key.private_bytes(*shapes))
        configuration.load_cert_chain(certificate, secret)
    await serve("::", PORT, configuration=configuration, create_protocol=Server)
    await asyncio.Future()


async def run_client(main: int, size: int, count: int) -> None:
    """The page, then its objects all at once; prints the seconds from the start of the connection."""
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=0, server_name="server")
    since = time.monotonic()
    async with connect("server", PORT, configuration=configuration, create_protocol=Client) as client:
        assert isinstance(client, Client)
        await client.ask(main)
        await asyncio.gather(*(client.ask(size) for _ in range(count)))
        print(time.monotonic() - since)


if __name__ == "__main__":
    asyncio.run(run_server() if sys.argv[1] == "serve" else run_client(*map(int, sys.argv[2:5])))
