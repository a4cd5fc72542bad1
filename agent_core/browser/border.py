"""What a session's browser may reach. A page is asked for like any other; what a page does may not lead inside."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from tools.approval.actions import ReachHost
from tools.environments.http_connect import LookUp, look_up
from tools.errors import Denied, ToolError
from tools.ports import WebError
from tools.web.addresses import Inside, Target, inside, inside_by_name, target_of

Allow = Callable[[ReachHost], object]
"""Returns when the host may be reached; raises Denied or ToolInterrupted. It may wait for the person."""

_MOST_SEEN = 5_000
# Whom the browser itself would tell what it does, were it not for this.
_OF_THE_BROWSER = frozenset(
    {
        "android.clients.google.com",
        "clients2.google.com",
        "clients2.googleusercontent.com",
        "content-autofill.googleapis.com",
        "edgedl.me.gvt1.com",
        "mtalk.google.com",
        "optimizationguide-pa.googleapis.com",
        "redirector.gvt1.com",
        "safebrowsing.googleapis.com",
        "safebrowsingohttpgateway.googleapis.com",
        "update.googleapis.com",
    }
)


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
