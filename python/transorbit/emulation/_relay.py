"""Services of this host, at the server's address inside: connections and datagrams handed on."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

_PIECE = 1 << 16


class Relay:
    """Hands on what comes to `sockets` (one that listens and one for datagrams a port) to `targets`, in a thread."""

    def __init__(
        self, sockets: Sequence[tuple[socket.socket, socket.socket]], targets: Sequence[tuple[str, int]]
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._thread.start()
        for (stream, datagrams), target in zip(sockets, targets, strict=True):
            asyncio.run_coroutine_threadsafe(self._serve(stream, datagrams, target), self._loop).result()

    def close(self) -> None:
        """End every connection, and the thread."""
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_end_others(), self._loop).result(timeout=2)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2)

    async def _serve(self, stream: socket.socket, datagrams: socket.socket, target: tuple[str, int]) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                there = await asyncio.open_connection(*target)
            except OSError:
                writer.transport.abort()
                return
            # Python 3.11 reports a cancelled task of the server as an error.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))

        await asyncio.start_server(connected, sock=stream)
        await self._loop.create_datagram_endpoint(lambda: _Datagrams(target), sock=datagrams)


async def _end_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
        return
    writer.transport.abort()


class _Datagrams(asyncio.DatagramProtocol):
    """A socket towards the target for each address inside."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._there: dict[Any, asyncio.DatagramTransport] = {}
        self._waiting: dict[Any, list[bytes]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inside = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if there := self._there.get(addr):
            there.sendto(data)
            return
        waiting = self._waiting.setdefault(addr, [])
        waiting.append(data)
        if len(waiting) == 1:
            self._opening = asyncio.ensure_future(self._open(addr))

    async def _open(self, addr: Any) -> None:
        inside: Any = self._inside

        class Back(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, _: Any) -> None:
                inside.sendto(data, addr)

        loop = asyncio.get_running_loop()
        there, _ = await loop.create_datagram_endpoint(Back, remote_addr=self._target)
        self._there[addr] = there
        for data in self._waiting.pop(addr):
            there.sendto(data)
