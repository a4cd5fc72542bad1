"""The session's proxy: an HTTP proxy on a port of this machine, on a loop and a thread of its own."""

from __future__ import annotations

import asyncio
import base64
import functools
import hmac
import ipaddress
import logging
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Literal

from tools.environments.sandbox.network.connections import ProxyDoor
from tools.environments.sandbox.network.hosts import host_name
from tools.environments.sandbox.network.upstream import (
    CHUNK,
    NotReached,
    ProgramProtocol,
    Reaching,
    Way,
    Wire,
    Wish,
    ask_for_tunnel,
    both,
    connected,
    proxy_login,
    pump,
    refuse,
)
from tools.light_dataclass import dataclass

# The head of a request to the proxy, read strictly: what two readers could take for different things is refused.

MOST_HEAD = 64 * 1024
"""Bytes of a head; a longer one is refused."""

_LINE = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*?)[ \t]*")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/?#]+)(?::([0-9]{1,5}))?", re.ASCII)
_ABSOLUTE = re.compile(r"http://([^/?#]*)(.*)", re.IGNORECASE | re.ASCII)
_HOP = frozenset(
    {
        b"connection",
        b"expect",
        b"host",
        b"keep-alive",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"upgrade",
    }
)
_LAST_PORT = 65_535
_HTTP = 80

Fields = tuple[tuple[bytes, bytes], ...]


class BadRequest(ValueError):
    """The request is none that a proxy can serve; the message is for the program."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        host: as `host_name` has it.
        path: as it is sent to the server; b"" for a tunnel.
        fields: names in lower case, those left out that are meant for the proxy, and the host.
        body: how many bytes follow; None if they come in chunks.
        authorization: what the program tells the proxy of itself.
    """

    method: bytes
    host: str
    port: int
    path: bytes
    fields: Fields
    body: int | None
    authorization: bytes
    expects: bool

    @property
    def is_tunnel(self) -> bool:
        """Whether it asks for a connection (CONNECT)."""
        return self.method == b"CONNECT"


def read_request(head: bytes) -> Request:
    """Read a head, with the empty line at its end.

    Raises:
        BadRequest.
    """
    if len(head) > MOST_HEAD:
        raise BadRequest(f"The request's head is longer than {MOST_HEAD} bytes.")
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if not (line := _LINE.fullmatch(first)):
        raise BadRequest("This is an HTTP proxy: its requests are «METHOD URL HTTP/1.1».")
    fields = tuple(_field(each) for each in lines)
    method, target = line[1], line[2].decode("ascii")
    if method == b"CONNECT":
        host, port = _authority(target, None)
        path = b""
    elif absolute := _ABSOLUTE.fullmatch(target):
        host, port = _authority(absolute[1], _HTTP)
        path = absolute[2].encode("ascii")
        path = path if path.startswith(b"/") else b"/" + path
    else:
        raise BadRequest("This is an HTTP proxy: it is asked for http://HOST/PATH, or with CONNECT for HOST:PORT.")
    named = {
        name for value in _values(fields, b"connection") for name in value.lower().replace(b" ", b"").split(b",")
    }
    kept = tuple((name, value) for name, value in fields if name not in _HOP and name not in named - _FRAMING)
    authorization = next(iter(_values(fields, b"proxy-authorization")), b"")
    return Request(
        method, host, port, path, kept, _body(fields), authorization, expects=bool(_values(fields, b"expect"))
    )


def without_hop(fields: Fields) -> bytes:
    """The lines of an answer's fields, without those that were meant for the proxy."""
    return b"".join(name + b": " + value + b"\r\n" for name, value in fields if name not in _HOP)


def read_fields(head: bytes) -> tuple[bytes, Fields]:
    """The first line of an answer's head, and its fields.

    Raises:
        BadRequest.
    """
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    return first, tuple(_field(line) for line in lines)


_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


def _field(line: bytes) -> tuple[bytes, bytes]:
    if not (found := _FIELD.fullmatch(line)):
        raise BadRequest("A line of the request's head is not «NAME: VALUE».")
    return found[1].lower(), found[2]


def _values(fields: Fields, name: bytes) -> list[bytes]:
    return [value for key, value in fields if key == name]


def _authority(text: str, port: int | None) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    number = int(found[2]) if found and found[2] else port
    if not found or number is None or not 0 < number <= _LAST_PORT:
        raise BadRequest(f"{text[:100]!r} is not HOST:PORT (without a user name or a password).")
    try:
        return host_name(found[1]), number
    except ValueError as problem:
        raise BadRequest(f"{problem}.") from problem


def _body(fields: Fields) -> int | None:
    lengths, codings = set(_values(fields, b"content-length")), _values(fields, b"transfer-encoding")
    if codings:
        if lengths or [value.lower() for value in codings] != [b"chunked"]:
            raise BadRequest("The length of the request's body is told in two ways, or in one that is not known.")
        return None
    if not lengths:
        return 0
    (length, *others) = lengths
    if others or not length.isdigit() or len(length) > 18:  # noqa: PLR2004
        raise BadRequest("The Content-Length of the request is not one number.")
    return int(length)


# Whom a TLS client asks for: the server name in its client hello (RFC 8446, RFC 6066, RFC 9849).

MOST_BYTES = 64 * 1024
"""How much of a connection is looked at: no client's first message is as long."""

_RECORD, _HELLO, _SERVER_HELLO, _SERVER_NAME, _HOST = 22, 1, 2, 0, 0
_BEFORE_HELLO = frozenset({20, 21})  # a change of ciphers, an alert
# Encrypted Client Hello, and the draft before it that encrypted the name alone.
_HIDING = frozenset({0xFE0D, 0xFFCE})
_MAJOR = 3
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_VERSION_AND_RANDOM = 34
# The random value of a server's hello that asks for another client hello: HelloRetryRequest (RFC 8446, 4.1.3).
_AGAIN = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")


@dataclass(frozen=True, slots=True)
class Hello:
    """How a connection begins.

    Attributes:
        kind: `more` bytes are needed; `plain` is no TLS; `broken` begins like TLS and cannot be read; `tls`.
        name: in lower case; '' where the client names none.
        hides: it may name another host in a part that is encrypted.
        size: of the first message, in bytes of the connection.
    """

    kind: Literal["more", "plain", "broken", "tls"]
    name: str = ""
    hides: bool = False
    size: int = 0


class _Short(Exception):
    """There is less than the message says."""


def read_hello(data: bytes) -> Hello:
    """Look at the first bytes of a connection."""
    if not data:
        return Hello("more")
    if data[0] != _RECORD or (len(data) > 1 and data[1] != _MAJOR):
        return Hello("plain")
    try:
        message, size = _first_message(data)
    except _Short:
        return Hello("more" if len(data) < MOST_BYTES else "broken")
    except ValueError:
        return Hello("broken")
    # A server could take what else is in its records for another client hello.
    if message[0] != _HELLO or len(message) != _MESSAGE_HEAD + int.from_bytes(message[1:4]):
        return Hello("broken")
    try:
        return Hello("tls", *_named(message[_MESSAGE_HEAD:]), size)
    except (_Short, UnicodeDecodeError, ValueError):
        return Hello("broken")


def asks_again(data: bytes) -> bool | None:
    """Whether a server, by the first bytes from it, asks for another client hello; None: more are needed."""
    undecided = None if len(data) < MOST_BYTES else False
    while data and data[0] in _BEFORE_HELLO:
        if (size := other_record(data)) is None:
            return undecided
        data = data[size:]
    if data and data[0] != _RECORD:
        return False
    try:
        message, _ = _first_message(data)
    except _Short:
        return undecided
    except ValueError:
        return False
    return message[0] == _SERVER_HELLO and message[_MESSAGE_HEAD + 2 : _MESSAGE_HEAD + _VERSION_AND_RANDOM] == _AGAIN


def other_record(data: bytes) -> int | None:
    """The bytes of the first record, where it is none of a handshake; 0 where it is one; None: more are needed."""
    if data and data[0] == _RECORD:
        return 0
    size = _RECORD_HEAD + int.from_bytes(data[3:_RECORD_HEAD])
    return size if len(data) >= size else None


def _first_message(data: bytes) -> tuple[bytes, int]:
    """The first message of a handshake with what follows in its records, and the bytes that these take.

    Raises:
        _Short: more are needed. ValueError: it is none.
    """
    message = bytearray()
    rest = data
    while len(message) < _MESSAGE_HEAD or len(message) < _MESSAGE_HEAD + int.from_bytes(message[1:4]):
        length = int.from_bytes(rest[3:_RECORD_HEAD])
        if len(rest) < _RECORD_HEAD or len(rest) < _RECORD_HEAD + length:
            raise _Short
        if rest[0] != _RECORD or not length:
            raise ValueError("a record that is no part of a handshake")
        message += rest[_RECORD_HEAD : _RECORD_HEAD + length]
        rest = rest[_RECORD_HEAD + length :]
    return bytes(message), len(data) - len(rest)


def _named(hello: bytes) -> tuple[str, bool]:
    """The host that the message names, and whether it may hide another."""
    rest = hello[_VERSION_AND_RANDOM:]
    for size in (1, 2, 1):  # the session, the cipher suites, the compression methods
        _, rest = _vector(rest, size)
    if not rest:
        return "", False
    extensions, _ = _vector(rest, 2)
    names: list[str] = []
    hides = False
    while extensions:
        kind = int.from_bytes(extensions[:2])
        body, extensions = _vector(extensions[2:], 2)
        if kind == _SERVER_NAME:
            names.append(_only_host(body))
        hides |= kind in _HIDING
    if len(names) > 1:
        raise ValueError("several server names")
    return (names[0] if names else ""), hides


def _only_host(body: bytes) -> str:
    entries, rest = _vector(body, 2)
    host, more = _vector(entries[1:], 2)
    if rest or more or entries[:1] != bytes([_HOST]):
        raise ValueError("not one name")
    return host.decode("ascii").lower().removesuffix(".")


def _vector(data: bytes, size: int) -> tuple[bytes, bytes]:
    """What stands behind its length of `size` bytes, and the rest."""
    length = int.from_bytes(data[:size])
    if len(data) < size + length:
        raise _Short
    return data[size : size + length], data[size + length :]


# What the proxy passes on: a tunnel whose client hello names the host that was asked for, or one plain request.

_HELLO_SECONDS = 60.0
_HEXADECIMAL = re.compile(rb"[0-9A-Fa-f]{1,16}")


async def tunnel(way: Way, wish: Wish, here: Wire, reaching: Reaching) -> None:
    """Serve a CONNECT.

    Raises:
        NotReached: nothing has been answered yet. OSError, EOFError: one of the two is gone.
    """
    there = await tunnelled(way, wish.shown, here)
    try:
        retried = asyncio.get_running_loop().create_future()
        check = functools.partial(_check, way, wish, reaching)
        upwards = _upwards(here, there, check, retried, is_patient=not way.is_listed)
        await both(asyncio.create_task(upwards), asyncio.create_task(_downwards(here, there, retried)))
    finally:
        there.writer.close()


async def tunnelled(way: Way, shown: str, here: Wire) -> Wire:
    """The connection of a CONNECT to `shown`, once the program has been told of it; raises as `tunnel`."""
    there = await connected(way, shown)
    try:
        if way.upstream is not None:
            await ask_for_tunnel(there, shown, way.upstream)
        await here.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
    except BaseException:
        there.writer.close()
        raise
    return there


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


async def plain(request: Request, way: Way, shown: str, here: Wire) -> None:
    """Serve one request for http://…; the connection ends with it, so none is passed on that was not checked.

    Args:
        shown: the place that is asked for.

    Raises:
        NotReached: nothing has been answered yet. OSError, EOFError: one of the two is gone.
    """
    there = await connected(way, shown)
    try:
        await there.send(_head(request, way, shown))
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


def _head(request: Request, way: Way, place: str) -> bytes:
    shown = place.removesuffix(f":{_HTTP}").encode() if request.port == _HTTP else place.encode()
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


# The environment variables that lead programs to the proxy.

USER = "sandbox"
_DIRECT = "localhost,127.0.0.1,::1"


def proxy_variables(port: int, password: str, base: Mapping[str, str]) -> dict[str, str]:
    """For curl, pip, npm, yarn, cargo, go, gem, git, apt, Node's fetch, Maven and Gradle.

    Java's programs cannot give a password to a proxy; behind the supervisor they need none.

    Args:
        base: the environment to which they are added: what is set there for Java and git is kept.
    """
    proxy = f"http://{USER}:{password}@127.0.0.1:{port}"
    found = {"NO_PROXY": _DIRECT, "no_proxy": _DIRECT, "NODE_USE_ENV_PROXY": "1", "CARGO_HTTP_PROXY": proxy}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        found |= {name: proxy, name.lower(): proxy}
    for name in ("YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"):
        found[name] = proxy
    for name in ("MAVEN_OPTS", "GRADLE_OPTS"):
        found[name] = f"{base.get(name, '')} {_java(port)}".strip()
    return found | _git(proxy, base)


def _java(port: int) -> str:
    return " ".join(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}" for scheme in ("http", "https"))


def _git(proxy: str, base: Mapping[str, str]) -> dict[str, str]:
    """A setting of git's own goes before the variables: it must not lead past ours."""
    count = int(base["GIT_CONFIG_COUNT"]) if base.get("GIT_CONFIG_COUNT", "").isdecimal() else 0
    return {
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": "http.proxy",
        f"GIT_CONFIG_VALUE_{count}": proxy,
    }


log = logging.getLogger(__name__)

NOT_ANNOUNCED = 0
"""The number of the command of a connection that shows the password, and was not announced by a supervisor."""

_START_SECONDS = 10.0
_HEAD_SECONDS = 60.0
_BACKLOG = 256
_MOST_CONNECTIONS = 512


class SandboxProxy:
    """Serves CONNECT and requests for http://…, for programs that were announced at the door or know the password."""

    def __init__(self, door: ProxyDoor, reaching: Reaching, password: str) -> None:
        self._door = door
        self._reaching = reaching
        self._login = base64.b64encode(f"{USER}:{password}".encode())
        self._started: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, name="sandbox-proxy", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()

    def start(self) -> int:
        """Listen; the port.

        Raises:
            OSError: it cannot.
        """
        self._thread.start()
        return self._started.result(_START_SECONDS)

    def close(self) -> None:
        """Cut every connection, and listen no more."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(5)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as problem:
            if not self._started.done():
                self._started.set_exception(problem)

    async def _serve(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        server = await loop.create_server(self._protocol, "127.0.0.1", 0, backlog=_BACKLOG)
        self._started.set_result(int(server.sockets[0].getsockname()[1]))
        await self._stop.wait()
        server.close()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        reader = asyncio.StreamReader(CHUNK)
        ended = asyncio.Event()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._accept(Wire(reader, writer), ended))
            self._work.add(task)
            task.add_done_callback(self._work.discard)

        return ProgramProtocol(reader, accept, ended)

    async def _accept(self, here: Wire, ended: asyncio.Event) -> None:
        try:
            # A connection that breaks off is nothing unusual.
            with suppress(OSError, EOFError, ValueError):
                await self._answer(here, ended)
        except Exception:  # one connection that fails must not leave the others without a word in the log
            log.exception("serving a connection to the sandbox's proxy")
        finally:
            here.writer.close()

    async def _answer(self, here: Wire, ended: asyncio.Event) -> None:
        command = self._door.take(int(here.writer.get_extra_info("peername")[1]))
        if len(self._work) > _MOST_CONNECTIONS:
            await refuse(here.writer, 503, "Too many connections are open through the sandbox's proxy.")
            return
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await here.reader.readuntil(b"\r\n\r\n")
            request = read_request(head)
        except (BadRequest, asyncio.LimitOverrunError) as problem:
            await refuse(here.writer, 400, str(problem))
            return
        if command is None and not self._knows_password(request):
            message = "This proxy needs the user name and the password of the address in HTTPS_PROXY."
            await refuse(here.writer, 407, message, ('Proxy-Authenticate: Basic realm="sandbox"',))
            return
        wish = Wish(command or NOT_ANNOUNCED, request.host, request.port, request.is_tunnel, ended)
        try:
            await self._fulfil(wish, request, here)
        except NotReached as problem:
            await refuse(here.writer, problem.status, str(problem))

    async def _fulfil(self, wish: Wish, request: Request, here: Wire) -> None:
        way = await self._reaching.way(wish)
        if request.is_tunnel:
            await tunnel(way, wish, here, self._reaching)
        else:
            await plain(request, way, wish.shown, here)

    def _knows_password(self, request: Request) -> bool:
        scheme, _, given = request.authorization.partition(b" ")
        return scheme.lower() == b"basic" and hmac.compare_digest(given.strip(), self._login)
