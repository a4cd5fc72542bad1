"""Decides what the proxy may connect to, asks where it has to, and makes the connections."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from tools.environments.http_connect import LookUp, Proxy, look_up, proxy_for
from tools.environments.sandbox.network.connections import Desk, Place, ProxyDoor, Refusals, shown_place
from tools.environments.sandbox.network.hosts import Allowance, HostRules
from tools.environments.sandbox.network.sockets import OwnListeners, is_of_this_machine
from tools.light_dataclass import dataclass
from tools.ports import WebError
from tools.web.addresses import Inside, Target, inside, inside_by_name

_LOOK_UP_SECONDS = 20.0
_PATIENCE = 3.0
_THIS_MACHINE = "this machine"


class NotReached(Exception):
    """There is no way there.

    Attributes:
        status: of the answer to the program: 403 for a no, 502 for what went wrong.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Wish:
    """What a program wants to reach. `ended` is set when it does not wait for it any more."""

    command: int
    host: str
    port: int
    is_tunnel: bool
    ended: asyncio.Event

    @property
    def shown(self) -> str:
        """As "example.org:443"."""
        return shown_place(self.host, self.port)


@dataclass(frozen=True, slots=True)
class Way:
    """How to get there: one of the addresses with the port, and from there on through `upstream` if there is one.

    `is_listed`: nobody has decided about this host but our own lists.
    """

    addresses: tuple[str, ...]
    port: int
    upstream: Proxy | None
    is_listed: bool


class Reaching:
    """Lives on the proxy's loop; what may take long is done on other threads.

    Args:
        find: looks names up.
        proxies: the user's own proxies by scheme, as `urllib.request.getproxies` has them; None: the environment's.
    """

    def __init__(
        self,
        own: OwnListeners,
        door: ProxyDoor,
        desk: Desk,
        rules: HostRules,
        refusals: Refusals,
        *,
        find: LookUp = look_up,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        self._own = own
        self._door = door
        self._desk = desk
        self._rules = rules
        self._refusals = refusals
        self._find = find
        self._proxies = proxies

    async def way(self, wish: Wish) -> Way:
        """Returns when the host may be reached. The name is looked up after the yes: that tells it to others.

        Raises:
            NotReached: it may not, or cannot. ConnectionError: the program is gone.
        """
        if self._rules.denies(wish.host, wish.port):
            raise self.refused(wish, "the settings deny it")
        allowance = self._rules.allowance(wish.host, wish.port)
        named = self._open(wish, inside_by_name(wish.host))
        if named == _THIS_MACHINE:
            return await self._here(wish, allowance)
        if allowance == "no" or (named and allowance != "user"):
            await self._ask(wish, named)
        upstream = self._upstream(wish)
        addresses = await self._checked(wish, allowance, named, upstream)
        if allowance != "no":
            self._desk.reached()
        is_listed = allowance == "listed"
        if upstream is None:
            return Way(addresses, wish.port, None, is_listed)
        found = await self._addresses(upstream.host, upstream.port, _LOOK_UP_SECONDS)
        return Way(tuple(found), upstream.port, upstream, is_listed)

    def refused(self, wish: Wish, why: str) -> NotReached:
        """Take down that the wish is not fulfilled; the error to raise."""
        self._refusals.add(wish.command, f"{wish.shown}: {why}")
        return NotReached(403, f"The sandbox does not let this command reach {wish.shown}: {why}.")

    async def _here(self, wish: Wish, allowance: Allowance) -> Way:
        own = self._own.have_port(wish.port)
        if own is None or wish.port == self._door.port:
            raise NotReached(502, f"Nothing listens on {wish.shown}.")
        if not own and allowance != "user":
            await self._ask(wish, _THIS_MACHINE)
        return Way(tuple(await self._addresses(wish.host, wish.port, _PATIENCE)), wish.port, None, is_listed=False)

    async def _checked(self, wish: Wish, allowance: Allowance, named: str, upstream: Proxy | None) -> tuple[str, ...]:
        """The host's addresses. Behind a proxy of the user's names may be known to that alone: then none."""
        try:
            found = await self._addresses(wish.host, wish.port, _LOOK_UP_SECONDS if upstream is None else _PATIENCE)
        except NotReached:
            if upstream is None:
                raise
            return ()
        where = {self._judged(wish, address) for address in found} - {"", named}
        for each in sorted(where) if allowance != "user" else ():
            await self._ask(wish, each)
        return tuple(found)

    def _judged(self, wish: Wish, address: str) -> str:
        """What the address is in words, if it is not public; '' also for a server of this session's commands."""
        if self._rules.denies(address, wish.port):
            raise self.refused(wish, f"the settings deny {address}, which it is")
        where = self._open(wish, inside(address))
        if where and is_of_this_machine(ipaddress.ip_address(address.partition("%")[0])):
            if wish.port == self._door.port:
                raise NotReached(502, f"{wish.shown} is this proxy.")
            return "" if self._own.have_port(wish.port) else _THIS_MACHINE
        return where

    def _open(self, wish: Wish, what: Inside | None) -> str:
        if what is not None and what.is_closed:
            raise self.refused(wish, f"it is {what.what}, which nobody can allow")
        return "" if what is None else what.what

    async def _ask(self, wish: Wish, where: str) -> None:
        host = "localhost" if where == _THIS_MACHINE and wish.host in {"127.0.0.1", "::1"} else wish.host
        with self._desk.asked(Place(wish.command, host, wish.port, where)) as answer:
            left = asyncio.create_task(wish.ended.wait())
            asked = asyncio.wrap_future(answer)
            waited: set[asyncio.Future[Any]] = {asked, left}
            try:
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                is_allowed = asked.done() and asked.result()
            finally:
                left.cancel()
                asked.cancel()
        if not is_allowed:
            if wish.ended.is_set():
                raise ConnectionAbortedError
            raise self.refused(wish, "the answer was no" + (f" (it is {where})" if where else ""))

    def _upstream(self, wish: Wish) -> Proxy | None:
        scheme = "https" if wish.is_tunnel else "http"
        target = Target(f"{scheme}://{wish.shown}/", scheme, wish.host, wish.port, b"/")
        try:
            return proxy_for(target, self._proxies)
        except WebError as problem:
            raise NotReached(502, str(problem)) from problem

    async def _addresses(self, host: str, port: int, seconds: float) -> Sequence[str]:
        try:
            async with asyncio.timeout(seconds):
                found = await _on_a_thread(lambda: self._find(host, port))
        except (OSError, UnicodeError) as problem:  # TimeoutError is one
            raise NotReached(502, f"The host {host} was not found ({problem or 'no answer'}).") from problem
        if not found:
            raise NotReached(502, f"The host {host} has no address.")
        return found


async def _on_a_thread(work: Callable[[], Sequence[str]]) -> Sequence[str]:
    """As `asyncio.to_thread`, on a thread that nobody waits for in the end: looking up cannot be interrupted."""
    result: Future[Sequence[str]] = Future()
    result.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result.set_result(work())
        except (OSError, UnicodeError) as problem:
            result.set_exception(problem)

    threading.Thread(target=run, name="name-look-up", daemon=True).start()
    return await asyncio.wrap_future(result)


# The proxy's connections, to the program and to the server.

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
