"""What a session's browser may reach, and the proxy that it reaches it through."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from tools.approval.actions import ReachHost
from tools.environments.http_connect import LookUp, look_up, proxy_for
from tools.environments.sandbox.network.connections import shown_place
from tools.environments.sandbox.network.proxy import MOST_HEAD, BadRequest, Request, plain, read_request, tunnelled
from tools.environments.sandbox.network.upstream import NotReached, Way, Wire, both, pump, refuse
from tools.errors import Denied, ToolError, ToolInterrupted
from tools.ports import WebError
from tools.web.addresses import Inside, Target, inside, inside_by_name, target_of

# The border. A page is asked for like any other; what a page does may not lead inside.

Allow = Callable[[ReachHost], object]
"""Returns when the host may be reached; raises Denied or ToolInterrupted. It may wait for the person."""

_MOST_SEEN = 5_000
# Whom the browser itself would tell what it does, were it not for this.
_OF_THE_BROWSER = frozenset({
    "android.clients.google.com", "clients2.google.com", "clients2.googleusercontent.com",
    "content-autofill.googleapis.com", "edgedl.me.gvt1.com", "mtalk.google.com",
    "optimizationguide-pa.googleapis.com", "redirector.gvt1.com", "safebrowsing.googleapis.com",
    "safebrowsingohttpgateway.googleapis.com", "update.googleapis.com",
})  # fmt: skip


class Border:
    """Lives on the service loop; only `allow` is called on another thread, as it waits.

    A place (a host with its port) that was allowed stays so until the browser is closed. New ones are asked about
    when a tab goes to them, and only while a tool is at work.

    Args:
        tops: the addresses of the open tabs; of one that is empty, of the page that opened or filled it.
        is_driven: whether a script of the model's may be at work in one of them.
        find: looks names up.
    """

    def __init__(
        self,
        tops: Callable[[], Collection[str]],
        *,
        allow_private: bool,
        find: LookUp = look_up,
        is_driven: Callable[[], bool] = lambda: False,
    ) -> None:
        self._tops = tops
        self._is_driven = is_driven
        self._allow_private = allow_private
        self._find = find
        self._allowed: set[tuple[str, str]] = set()
        self._inside: dict[str, str] = {}
        self._seen: set[str] = set()
        self._refused: dict[tuple[str, str], ToolError] = {}
        self._pending: dict[object, str] = {}
        self._allow: Allow | None = None
        self._asking = asyncio.Lock()
        self._still = asyncio.Event()
        self._still.set()
        self._asked_since: float | None = None
        self._asked = 0.0
        self.problem: ToolError | None = None

    @contextmanager
    def working(self, allow: Allow) -> Iterator[None]:
        """A tool is at work; `allow` is its call's gate."""
        self._allow, self.problem = allow, None
        self._refused.clear()
        try:
            yield
        finally:
            self._allow = None

    def waited(self) -> float:
        """Seconds that the person has been asked so far."""
        running = 0.0 if self._asked_since is None else time.monotonic() - self._asked_since
        return self._asked + running

    async def enter(self, url: str) -> None:
        """A tab goes to `url`.

        Raises:
            WebError: there is no such place, or it is closed to everybody. Denied, ToolInterrupted.
        """
        target = target_of(url)
        named = self._judged(target, inside_by_name(target.host))
        if named or not self._knows(target.place):
            await self._ask(target, named)
        try:
            found = await self._addresses(target)
        except WebError:
            if named:
                raise
            return  # many that need a proxy know no names at all; the browser's own proxy says what is wrong
        for where in self._where(target, found):
            await self._ask(target, where)

    def is_entered(self, url: str) -> bool:
        """Whether the place of `url` was allowed to tabs."""
        return self._knows(target_of(url).place)

    async def load(self, url: str, top: str, *, is_driven: bool = False) -> None:
        """A page (`top` is its tab's address) asks for something of its own; names alone are looked at here.

        Args:
            is_driven: a script of the model's runs in the page, and may ask for anything in its name.

        Raises:
            WebError: it may not have that. Denied, ToolInterrupted.
        """
        target = target_of(url)
        # A connection that is still open from before leads inside without being asked for again.
        where = self._judged(target, inside_by_name(target.host)) or self._inside.get(target.place, "")
        if where and not self._is_inside(top):
            raise _led_inside(target, where)
        if is_driven and target.place not in self._seen and not self._knows(target.place):
            await self._ask(target, where)
        if len(self._seen) < _MOST_SEEN:
            self._seen.add(target.place)

    async def reach(self, url: str) -> Sequence[str]:
        """The browser is about to connect; the addresses of the place, all of them checked.

        Raises:
            WebError, Denied, ToolInterrupted: it may not.
        """
        target = target_of(url)
        is_known = target.place in self._seen or self._knows(target.place)
        if target.host in _OF_THE_BROWSER and not is_known:
            raise WebError(f"{target.host} is asked by the browser itself, not by a page: refused.", "address")
        try:
            return await self._reached(target)
        except ToolError as problem:
            self.fail(target, problem)
            raise

    def fail(self, target: Target, problem: ToolError) -> None:
        """A connection came to nothing; that is told where a tab waits for it."""
        if target.place in self._pending.values() or (self._pending and isinstance(problem, Denied)):
            self.problem = problem

    def begin(self, navigation: object, url: str) -> None:
        """A tab is on its way to `url`: until `end`, a place that was not heard of is where it is redirected to."""
        self._pending[navigation] = target_of(url).place
        self._stand()

    def end(self, navigation: object) -> None:
        """It has arrived, or not."""
        self._pending.pop(navigation, None)
        self._stand()

    @property
    def is_under_way(self) -> bool:
        """Whether a tab is on its way, or the person is asked about it."""
        return bool(self._pending) or self._asked_since is not None

    async def arrived(self) -> None:
        """Wait until no tab is on its way, and nobody is asked."""
        await self._still.wait()

    def _stand(self) -> None:
        if self.is_under_way:
            self._still.clear()
        else:
            self._still.set()

    async def _reached(self, target: Target) -> Sequence[str]:
        self._judged(target, inside_by_name(target.host))
        found = await self._addresses(target)
        places = self._where(target, found)
        if not places:
            is_theirs = not self._pending and not self._is_driven()
            if not is_theirs and target.place not in self._seen and not self._knows(target.place):
                await self._ask(target, "")
            return found
        for where in sorted(places):
            if not self._pending and any(not self._is_inside(top) for top in self._tops()):
                raise _led_inside(target, where)
            await self._ask(target, where)
        return found

    async def _addresses(self, target: Target) -> Sequence[str]:
        try:
            found = await asyncio.to_thread(self._find, target.host, target.port)
        except (OSError, UnicodeError) as problem:
            raise WebError(
                f"The host {target.host} was not found ({problem}). Check the name, or find it with web_search.",
                "connection",
            ) from problem
        if not found:
            raise WebError(f"The host {target.host} has no address.", "connection")
        return found

    def _where(self, target: Target, addresses: Sequence[str]) -> set[str]:
        """What the addresses are that are not public, in words."""
        return {where for address in addresses if (where := self._judged(target, inside(address)))}

    def _judged(self, target: Target, what: Inside | None) -> str:
        if what is not None and what.is_closed:
            raise WebError(
                f"{target.url} is not asked for: {target.host} is {what.what}. Do not try another way.", "address"
            )
        return "" if what is None or self._allow_private else what.what

    async def _ask(self, target: Target, where: str) -> None:
        key = (target.place, where)
        async with self._asking:
            if key in self._allowed:
                return
            if key in self._refused:
                raise self._refused[key]
            if self._allow is None:
                raise WebError(f"The page wanted to go to {target.url} while no tool was at work.", "address")
            self._asked_since = time.monotonic()
            self._stand()
            try:
                await asyncio.to_thread(self._allow, ReachHost(target.url, target.place, where))
            except Denied as problem:
                self._refused[key] = problem
                raise
            finally:
                self._asked += time.monotonic() - self._asked_since
                self._asked_since = None
                self._stand()
            self._allowed.add(key)
            if where:
                self._inside[target.place] = where

    def _knows(self, place: str) -> bool:
        return any(known == place for known, _ in self._allowed)

    def _is_inside(self, url: str) -> bool:
        """Whether a tab's page is one that the person allowed as being inside; an empty tab asks for nothing."""
        if not url.startswith(("http:", "https:")):
            return True
        return target_of(url).place in self._inside


def _led_inside(target: Target, where: str) -> WebError:
    return WebError(f"The page asked for {target.url}, which is {where}: refused.", "address")


# The proxy: it connects to addresses that were checked, to no others.

Reach = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses that may be connected to for a URL; raises ToolError where none may."""

_HEAD_SECONDS = 60.0
_HTTP = 80


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
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MOST_HEAD)
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
                await self._serve(Wire(reader, writer))
        finally:
            self._work.discard(task)
            writer.close()

    async def _serve(self, here: Wire) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                request = read_request(await here.reader.readuntil(b"\r\n\r\n"))
            shown = shown_place(request.host, request.port)
            is_tls = request.is_tunnel and request.port != _HTTP
            target = target_of(f"{'https' if is_tls else 'http'}://{shown}{request.path.decode('ascii') or '/'}")
            try:
                await self._passed_on(request, target, here)
            except NotReached as problem:
                self._fail(target, WebError(f"{problem} Is the server up?", "connection"))
                await refuse(here.writer, problem.status, str(problem))
        except BadRequest as problem:
            await refuse(here.writer, 400, str(problem))
        except ToolError as problem:
            await refuse(here.writer, 403, str(problem))

    async def _passed_on(self, request: Request, target: Target, here: Wire) -> None:
        upstream = proxy_for(target)
        try:
            addresses = tuple(await self._reach(target.url))
        except WebError as problem:
            # Behind a proxy, names may be known to it alone.
            if upstream is None or problem.kind != "connection":
                raise
            addresses = ()
        if upstream is None:
            way = Way(addresses, request.port, None, is_listed=False)
        else:
            way = Way((upstream.host,), upstream.port, upstream, is_listed=False)
        shown = shown_place(request.host, request.port)
        if not request.is_tunnel:
            await plain(request, way, shown, here)
            return
        there = await tunnelled(way, shown, here)
        try:
            up, down = (pump(here.reader, there), pump(there.reader, here))
            await both(asyncio.create_task(up), asyncio.create_task(down))
        finally:
            there.writer.close()
