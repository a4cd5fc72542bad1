"""What the proxy passes on: a tunnel whose client hello names the host that was asked for, or one plain request."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import re
from collections.abc import Callable

from tools.environments.sandbox_network.client_hello import Hello, asks_again, other_record, read_hello
from tools.environments.sandbox_network.reaching import NotReached, Reaching, Way, Wish
from tools.environments.sandbox_network.requests import Request, read_fields, without_hop
from tools.environments.sandbox_network.wire import CHUNK, Wire, ask_for_tunnel, both, connected, proxy_login, pump

_HELLO_SECONDS = 60.0
_HTTP = 80
_HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]{1,16}")


async def tunnel(way: Way, wish: Wish, here: Wire, reaching: Reaching) -> None:
    """Serve a CONNECT.

    Raises:
        NotReached: nothing has been answered yet. OSError, EOFError: one of the two is gone.
    """
    there = await connected(way, wish.shown)
    try:
        if way.upstream is not None:
            await ask_for_tunnel(there, wish.shown, way.upstream)
        await here.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        retried = asyncio.get_running_loop().create_future()
        check = functools.partial(_check, way, wish, reaching)
        upwards = _upwards(here, there, check, retried, is_patient=not way.is_listed)
        await both(asyncio.create_task(upwards), asyncio.create_task(_downwards(here, there, retried)))
    finally:
        there.writer.close()


async def _upwards(
    here: Wire, there: Wire, check: Callable[[Hello], None], retried: asyncio.Future[bool], *, is_patient: bool
) -> None:
    data, hello = await _beginning(here, b"", is_patient=is_patient)
    check(hello)
    if hello.kind == "tls":
        # What follows waits for the server's word: it may ask for another client hello, and go by that one.
        await there.send(data[: hello.size])
        data = data[hello.size :]
        async with asyncio.timeout(_HELLO_SECONDS):
            is_retried = await asyncio.shield(retried)
        if is_retried:
            data = await _second_hello(here, there, check, data)
    await there.send(data)
    await pump(here.reader, there)


async def _downwards(here: Wire, there: Wire, retried: asyncio.Future[bool]) -> None:
    """Pass on what the server says, and find out by its beginning whether it asks for another client hello."""
    data = b""
    while more := await there.reader.read(CHUNK):
        data += more
        if (found := asks_again(data)) is not None:
            retried.set_result(found)
            await here.send(more)
            break
        await here.send(more)
    else:
        retried.set_result(False)
    await pump(there.reader, here)


async def _second_hello(here: Wire, there: Wire, check: Callable[[Hello], None], data: bytes) -> bytes:
    """The program's second client hello, checked as the first; what comes before it is passed on."""
    while (size := other_record(data)) != 0:
        if size is None:
            if not (more := await here.reader.read(CHUNK)):
                return data
            data += more
        else:
            await there.send(data[:size])
            data = data[size:]
    data, hello = await _beginning(here, data, is_patient=False)
    check(hello if hello.kind == "tls" else Hello("broken"))
    return data


def _check(way: Way, wish: Wish, reaching: Reaching, hello: Hello) -> None:
    """Whether a connection may go on that begins so.

    Raises:
        ConnectionAbortedError: it is for something else than what was asked for, or may be; it is taken down.
    """
    why = ""
    if hello.kind == "broken" or (hello.kind == "plain" and way.is_listed):
        why = "the connection is not encrypted in a way that shows which host it is for"
    elif hello.kind == "tls" and not hello.name and not _is_address(wish.host):
        why = "TLS without a server name (SNI): the program has to name the host that it connects to"
    elif hello.kind == "tls" and hello.name not in {"", wish.host}:
        why = f"the connection asks for another host, {hello.name[:100]!r}"
    elif hello.hides and way.is_listed:
        why = "TLS with an encrypted client hello (ECH), which can hide another host: switch it off in the program"
    if why:
        reaching.refused(wish, why)
        raise ConnectionAbortedError(why)


def _is_address(host: str) -> bool:
    """Whether TLS has no name for it (RFC 6066, 3)."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _beginning(here: Wire, data: bytes, *, is_patient: bool) -> tuple[bytes, Hello]:
    """The first bytes from the program, as many as it takes to know whom it means.

    Args:
        data: what has come already.
        is_patient: the program may let the server speak first, for as long as it likes.
    """
    async with asyncio.timeout(None if is_patient else _HELLO_SECONDS):
        while (hello := read_hello(data)).kind == "more":
            more = await here.reader.read(CHUNK)
            if not more:
                break
            data += more
    return data, Hello("broken") if data and hello.kind == "more" else hello


async def plain(request: Request, way: Way, wish: Wish, here: Wire) -> None:
    """Serve one request for http://…; the connection ends with it, so none is passed on that was not checked.

    Raises:
        NotReached: nothing has been answered yet. OSError, EOFError: one of the two is gone.
    """
    there = await connected(way, wish.shown)
    try:
        await there.send(_head(request, way, wish))
        if request.expects:
            await here.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        # A server may answer, and close, before it has read everything.
        sending = asyncio.create_task(_send_body(request, here, there))
        try:
            await _answer(here, there)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
    finally:
        there.writer.close()


def _head(request: Request, way: Way, wish: Wish) -> bytes:
    shown = wish.shown.removesuffix(f":{_HTTP}").encode() if wish.port == _HTTP else wish.shown.encode()
    target = request.path if way.upstream is None else b"http://" + shown + request.path
    fields = b"".join(name + b": " + value + b"\r\n" for name, value in request.fields)
    login = b"" if way.upstream is None else proxy_login(way.upstream)
    ending = b"Connection: close\r\n\r\n"
    return request.method + b" " + target + b" HTTP/1.1\r\nHost: " + shown + b"\r\n" + fields + login + ending


async def _send_body(request: Request, here: Wire, there: Wire) -> None:
    if request.body is not None:
        await _send_exactly(request.body, here, there)
        return
    try:
        await _send_chunks(here, there)
    except ValueError:
        there.writer.close()  # half a body is none, and nobody waits for an answer to it
        raise
    while (await here.reader.readuntil(b"\r\n")) != b"\r\n":
        pass  # trailers are left out
    await there.send(b"0\r\n\r\n")


async def _send_chunks(here: Wire, there: Wire) -> None:
    while size := _chunk_size(await here.reader.readuntil(b"\r\n")):
        await there.send(b"%x\r\n" % size)
        await _send_exactly(size, here, there)
        if await here.reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk does not end where it says")
        await there.send(b"\r\n")


def _chunk_size(line: bytes) -> int:
    """The length of the next chunk, where its line is what RFC 9112 7.1 has: what follows a body of which we and the
    server think differently would be another request to it, that nobody has judged.

    Raises:
        ValueError: it is not.
    """
    digits, _, _ = line.removesuffix(b"\r\n").partition(b";")
    if not _HEXADECIMAL.fullmatch(digits.rstrip(b" \t")):
        raise ValueError("the length of a chunk is no hexadecimal number")
    return int(digits, 16)


async def _send_exactly(left: int, here: Wire, there: Wire) -> None:
    while left:
        data = await here.reader.read(min(left, CHUNK))
        if not data:
            raise EOFError
        await there.send(data)
        left -= len(data)


async def _answer(here: Wire, there: Wire) -> None:
    while True:
        try:
            first, fields = read_fields(await there.reader.readuntil(b"\r\n\r\n"))
        except (EOFError, ValueError, asyncio.LimitOverrunError) as problem:
            raise NotReached(502, "The server did not answer as HTTP asks for.") from problem
        if first.split(b" ", 2)[1:2] != [b"100"]:
            break
    await here.send(first + b"\r\n" + without_hop(fields) + b"Connection: close\r\n\r\n")
    await pump(there.reader, here)
