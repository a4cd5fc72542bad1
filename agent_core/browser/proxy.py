"""The proxy that the browser reaches everything through: it connects to addresses that were checked, to no others."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from tools.environments.http_connect import Proxy, proxy_for
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import WebError
from tools.web.addresses import Target, target_of

Reach = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses that may be connected to for a URL; raises ToolError where none may."""

_CONNECT_SECONDS = 10.0
_HEAD_SECONDS = 60.0
_CHUNK = 1 << 16
_HTTP = 80
_HOP = (b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive")


@dataclass(frozen=True, slots=True)
class _Wire:
    """A connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class CheckedProxy:
    """An HTTP proxy on a port of this machine, for one browser. It lives on the service loop.

    Each plain request has a connection of its own, so none is passed on that was not checked.

    Args:
        fail: is told of connections that came to nothing.
    """

    def __init__(self, reach: Reach, fail: Callable[[Target, ToolError], None]) -> None:
        self._reach = reach
        self._fail = fail
        self._server: asyncio.Server | None = None
        self._work: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen; the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Listen no more, and end every connection."""
        if self._server is not None:
            self._server.close()
        work = list(self._work)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine always runs in one
        self._work.add(task)
        try:
            # A connection that breaks off is nothing unusual, and a turn's end is told elsewhere.
            with suppress(OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError, ToolInterrupted):
                await self._serve(reader, writer)
        finally:
            self._work.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
        method, address, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        here = _Wire(reader, writer)
        is_tunnel = method == "CONNECT"
        try:
            target = target_of(_url_of_tunnel(address) if is_tunnel else address)
            upstream = proxy_for(target)
            there = await self._connected(target, upstream)
        except ToolError as problem:
            await _refuse(writer, str(problem))
            return
        try:
            if is_tunnel:
                await self._tunnel(head, upstream, here, there)
            else:
                there_head = _plain_head(head, method, target, upstream)
                await _plain(head, there_head, here, there)
        finally:
            there.writer.close()

    async def _connected(self, target: Target, upstream: Proxy | None) -> _Wire:
        try:
            addresses = await self._reach(target.url)
        except WebError as problem:
            # Behind a proxy, names may be known to it alone.
            if upstream is None or problem.kind != "connection":
                raise
            addresses = ()
        hosts, port = (addresses, target.port) if upstream is None else ((upstream.host,), upstream.port)
        problem_there: OSError | None = None
        for host in hosts:
            try:
                return _Wire(*await asyncio.wait_for(asyncio.open_connection(host, port), _CONNECT_SECONDS))
            except OSError as problem:  # TimeoutError is one
                problem_there = problem
        failure = WebError(
            f"No connection to {target.place}: {problem_there or 'no address'}. Is the server up?", "connection"
        )
        self._fail(target, failure)
        raise failure from problem_there

    @staticmethod
    async def _tunnel(
        head: bytes,
        upstream: Proxy | None,
        here: _Wire,
        there: _Wire,
    ) -> None:
        if upstream is None:
            here.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            there.writer.write(_without(head, _HOP) + _auth(upstream) + b"\r\n")
        async with asyncio.TaskGroup() as both:
            both.create_task(_pump(here.reader, there.writer))
            both.create_task(_pump(there.reader, here.writer))


async def _plain(
    head: bytes,
    there_head: bytes,
    here: _Wire,
    there: _Wire,
) -> None:
    there.writer.write(there_head)
    left = int(_field(head, b"content-length") or 0)
    while left and (data := await here.reader.read(min(left, _CHUNK))):
        there.writer.write(data)
        await there.writer.drain()
        left -= len(data)
    while True:
        answer = await there.reader.readuntil(b"\r\n\r\n")
        if not answer.split(b" ", 2)[1].startswith(b"1"):
            break
    here.writer.write(_without(answer, _HOP) + b"Connection: close\r\n\r\n")
    await _pump(there.reader, here.writer)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()


async def _refuse(writer: asyncio.StreamWriter, reason: str) -> None:
    body = reason.encode()
    head = f"HTTP/1.1 403 Refused\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
    with suppress(OSError):
        await writer.drain()


def _url_of_tunnel(address: str) -> str:
    port = address.rpartition(":")[2]
    return f"http://{address}/" if port == str(_HTTP) else f"https://{address}/"


def _plain_head(head: bytes, method: str, target: Target, upstream: Proxy | None) -> bytes:
    path = target.path if upstream is None else target.url.encode("ascii")
    fields = _without(head, _HOP).split(b"\r\n", 1)[1]
    auth = b"" if upstream is None else _auth(upstream)
    return method.encode() + b" " + path + b" HTTP/1.1\r\n" + fields + auth + b"Connection: close\r\n\r\n"


def _without(head: bytes, names: Sequence[bytes]) -> bytes:
    """The head's lines but those fields, without the empty line at its end."""
    first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in fields if line.partition(b":")[0].strip().lower() not in names]
    return b"\r\n".join([first, *kept]) + b"\r\n"


def _field(head: bytes, name: bytes) -> bytes:
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return next((value.strip() for key, _, value in lines if key.strip().lower() == name), b"")


def _auth(proxy: Proxy) -> bytes:
    if proxy.auth is None:
        return b""
    return b"Proxy-Authorization: Basic " + base64.b64encode(b":".join(proxy.auth)) + b"\r\n"
