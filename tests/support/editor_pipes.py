"""The two pipe ends of the fake editor, on the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Self


class Inbox(asyncio.Protocol):
    """Splits what arrives into lines. A last line without its newline is a line too."""

    def __init__(self) -> None:
        self._on_line: Callable[[bytes], None]
        self._on_end: Callable[[], None]
        self._rest: list[bytes] = []
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.ReadTransport

    @classmethod
    async def open(cls, descriptor: int) -> Self:
        pipe = os.fdopen(descriptor, "rb", 0)
        _, inbox = await asyncio.get_running_loop().connect_read_pipe(cls, pipe)
        return inbox

    def listen(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """Say where lines and the end go; nothing is read before."""
        self._on_line, self._on_end = on_line, on_end
        self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport
        self._transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._rest.append(line)
            self._flush()
        if rest:
            self._rest.append(rest)

    def eof_received(self) -> None:
        if self._rest:
            self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        self._closed.set_result(None)
        self._on_end()

    def pause(self) -> None:
        self._transport.pause_reading()

    def resume(self) -> None:
        self._transport.resume_reading()

    def close(self) -> None:
        self._transport.close()

    async def closed(self) -> None:
        self.close()
        await self._closed

    def _flush(self) -> None:
        line, self._rest = b"".join(self._rest), []
        self._on_line(line)


class Outbox(asyncio.BaseProtocol):
    """Writes without ever waiting: what the agent does not read stays in memory."""

    def __init__(self) -> None:
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.WriteTransport

    @classmethod
    async def open(cls, descriptor: int) -> Self:
        pipe = os.fdopen(descriptor, "wb", 0)
        _, outbox = await asyncio.get_running_loop().connect_write_pipe(cls, pipe)
        return outbox

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._closed.set_result(None)

    def pause_writing(self) -> None:
        """Asked by the transport; nothing waits here."""

    def resume_writing(self) -> None:
        """Asked by the transport; nothing waits here."""

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def finish(self) -> None:
        """Close after what was written has gone out."""
        self._transport.close()

    async def closed(self) -> None:
        """Close, and drop what the agent has not read."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()
        await self._closed
