"""A session's browser for tool threads: it starts at its first use and ends with the session, or when it is idle."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from agent_core.service_loop import ServiceLoop
from tools.browser.port import BrowserError
from tools.environments.guardian import Guardian
from tools.errors import ToolInterrupted
from tools.ports import Interrupt
from tools.settings import BrowserSettings

if TYPE_CHECKING:
    from agent_core.browser.driver import LiveBrowser
    from agent_core.browser.network import Allow

_T = TypeVar("_T")
_END_SECONDS = 12.0
_MAX_REASON = 300

Work: TypeAlias = "Callable[[LiveBrowser], Awaitable[_T]]"


class SessionBrowser:
    """One for a session; safe to use from several threads, one call at a time is done."""

    def __init__(
        self,
        settings: BrowserSettings,
        loop: ServiceLoop,
        guardian: Guardian,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        """`variables`: what the browser's environment, and its driver's, is made from."""
        self._settings = settings
        self._loop = loop
        self._guardian = guardian
        self._variables = variables
        self._lock = threading.Lock()
        self._is_closed = False
        # All below is the loop's.
        self._one_at_a_time: asyncio.Lock | None = None
        self._live: LiveBrowser | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def run(self, work: Work[_T], allow: Allow, interrupt: Interrupt) -> _T:
        """Do `work` with the browser; what it reaches is asked of `allow`.

        Raises:
            BrowserError: it cannot be done. WebError, Denied: an address may not be reached. ToolInterrupted.
        """
        import httpx2  # noqa: F401, PLC0415 - a tenth of a second, which the loop is not to wait

        import agent_core.browser.driver  # noqa: F401, PLC0415 - likewise

        if interrupt.is_set():
            raise ToolInterrupted
        with self._lock:
            if self._is_closed:
                raise BrowserError("The session's browser is closed for good.")
            future = self._loop.submit(self._done(work, allow))

        def cancel() -> None:
            future.cancel()

        forget = interrupt.on_cancel(cancel)
        try:
            return future.result()
        except CancelledError as problem:
            raise ToolInterrupted from problem
        finally:
            forget()

    def close(self) -> None:
        """End the browser, for good."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._one_at_a_time is None:
                return
            future = self._loop.submit(self._end())
        try:
            future.result(_END_SECONDS)
        except (CancelledError, TimeoutError):
            future.cancel()  # the guardian ends what is left

    @property
    def is_running(self) -> bool:
        """Whether a browser is there now."""
        return self._live is not None

    async def _done(self, work: Work[_T], allow: Allow) -> _T:
        from playwright.async_api import Error  # noqa: PLC0415 - only who browses pays for it

        self._one_at_a_time = self._one_at_a_time or asyncio.Lock()
        async with self._one_at_a_time:
            self._stay()
            try:
                live = await self._ready()
                with live.border.working(allow):
                    return await work(live)
            except Error as problem:
                raise BrowserError(f"The browser could not do it: {reason_of(problem)}") from problem
            except TimeoutError as problem:
                raise BrowserError("The browser did not answer. Try it again.") from problem
            finally:
                self._idle = asyncio.get_running_loop().call_later(self._settings.idle_seconds, self._leave)

    async def _ready(self) -> LiveBrowser:
        if self._live is not None and not self._live.is_alive:
            await self._drop()
        if self._live is None:
            from agent_core.browser.driver import LiveBrowser  # noqa: PLC0415 - only who browses pays for it

            live = LiveBrowser(self._settings, self._guardian, self._variables)
            await live.start()
            self._live = live
        return self._live

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _leave(self) -> None:
        task = asyncio.ensure_future(self._end())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _end(self) -> None:
        assert self._one_at_a_time is not None  # noqa: S101 - made before anything can end
        async with self._one_at_a_time:
            self._stay()
            await self._drop()

    async def _drop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            await live.close()


def reason_of(problem: Exception) -> str:
    """The driver's first line: what follows may hold what was typed."""
    first = str(problem).strip().partition("\n")[0]
    return first[:_MAX_REASON] or type(problem).__name__
