"""The proxy's connections, to the program and to the server."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence

from tools.environments.http_proxy import Proxy
from tools.environments.sandbox_network.reaching import NotReached, Way
from tools.light_dataclass import dataclass

CHUNK = 1 << 18
"""Bytes that are taken at a time."""

Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
"""Is called with each new connection."""

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Wire:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Raises: OSError."""
        self.writer.write(data)
        await self.writer.drain()


class ProgramProtocol(asyncio.StreamReaderProtocol):
    """asyncio's streams, with an event for the end of what comes in."""

    def __init__(self, reader: asyncio.StreamReader, accept: Accept, ended: asyncio.Event) -> None:
        super().__init__(reader, accept)
        self._told = ended

    def eof_received(self) -> bool | None:
        """The program has sent all, or is gone."""
        self._told.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._told.set()
        super().connection_lost(exc)


async def connected(way: Way, shown: str) -> Wire:
    """A connection to the first of the way's addresses that answers.

    Raises:
        NotReached: none does.
    """
    problem: OSError = OSError("no address")
    for address in way.addresses:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return Wire(*await asyncio.open_connection(address, way.port, limit=CHUNK))
        except OSError as failure:  # TimeoutError is one
            problem = failure
    raise NotReached(502, f"No connection to {shown}: {problem or 'no answer'}.") from problem


async def ask_for_tunnel(there: Wire, shown: str, upstream: Proxy) -> None:
    """Have the user's own proxy make a tunnel.

    Raises:
        NotReached: it does not. OSError, EOFError.
    """
    await there.send(f"CONNECT {shown} HTTP/1.1\r\nHost: {shown}\r\n".encode() + proxy_login(upstream) + b"\r\n")
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            head = await there.reader.readuntil(b"\r\n\r\n")
    except (TimeoutError, asyncio.LimitOverrunError) as problem:
        raise NotReached(502, f"The proxy {upstream.host} did not answer as HTTP asks for.") from problem
    status = head.split(b"\r\n", 1)[0].decode("latin-1")
    if status.split(" ")[1:2] != ["200"]:
        raise NotReached(502, f"The proxy {upstream.host} does not lead to {shown}: {status[:200]}.")


def proxy_login(upstream: Proxy) -> bytes:
    """The line with which the user's own proxy lets us in; b"" where it asks for none."""
    if upstream.auth is None:
        return b""
    return b"Proxy-Authorization: Basic " + base64.b64encode(b":".join(upstream.auth)) + b"\r\n"


async def pump(source: asyncio.StreamReader, sink: Wire) -> None:
    """Pass on what comes until it ends, and the end too.

    Raises:
        OSError: one of the two is gone.
    """
    while data := await source.read(CHUNK):
        await sink.send(data)
    if sink.writer.can_write_eof():
        sink.writer.write_eof()


async def both(*work: asyncio.Task[None]) -> None:
    """Wait for all; when one fails, the others are cut off and its error is raised."""
    try:
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
    for task in done:
        task.result()


async def refuse(writer: asyncio.StreamWriter, status: int, message: str, fields: Sequence[str] = ()) -> None:
    """Answer with an error. Many programs show the words of the first line alone, so the message is there, too."""
    words = message.encode("ascii", "replace").decode().replace("\r", " ").replace("\n", " ")[:300]
    body = f"{message}\n".encode()
    lines = (f"HTTP/1.1 {status} {words}", "Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}")
    writer.write("\r\n".join((*lines, *fields, "Connection: close", "", "")).encode("latin-1", "replace") + body)
    await writer.drain()
