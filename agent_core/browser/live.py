"""A running browser and what can be done with it. All of it is async and lives on the service loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from agent_core.browser.border import Border
from agent_core.browser.launching import Launched, end, is_reached_through_us, launch
from agent_core.browser.proxy import CheckedProxy
from agent_core.browser.tabs import Tabs
from tools.browser.port import BrowserError, Outline, PageView, StaleRef, fields_with_values, outline
from tools.environments.guardian import Guardian
from tools.settings import BrowserSettings

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Page

_T = TypeVar("_T")
_LOOK_SECONDS = 15.0
_TICK = 0.03
_QUIET_SECONDS = 0.15
_TURN_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_TURN = "new Promise(done => setTimeout(done))"
_MAX_QUIET_WAIT = 2.0
_MOST_FIELDS = 200


class LiveBrowser:
    """One browser of one session. Make it with `start`."""

    def __init__(self, settings: BrowserSettings, guardian: Guardian, variables: Mapping[str, str]) -> None:
        self.settings = settings
        self.tabs = Tabs()
        self.border = Border(self.tabs.addresses, allow_private=settings.allow_private, is_driven=self.tabs.is_driven)
        self._guardian = guardian
        self._variables = variables
        self._launched: Launched | None = None
        self._proxy: CheckedProxy | None = None

    async def start(self) -> None:
        """Start the browser, with an empty tab.

        Raises:
            BrowserError: it cannot be started.
        """
        port = None
        if is_reached_through_us(self.settings):
            self._proxy = CheckedProxy(self.border.reach, self.border.fail)
            port = await self._proxy.start()
        try:
            self._launched = await launch(self.settings, port, self._guardian, self._variables)
            await self.tabs.follow(self._launched.context, self.border)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End it; nothing if it has ended."""
        launched, self._launched = self._launched, None
        if launched is not None:
            await end(launched, self._guardian)
        if self._proxy is not None:
            await self._proxy.close()

    @property
    def is_alive(self) -> bool:
        """Whether the browser still answers."""
        return self._launched is not None and self._launched.browser.is_connected()

    async def page(self) -> Page:
        """The tab in front; a new one where all were closed."""
        if not self.tabs.pages:
            assert self._launched is not None  # noqa: S101 - whoever asks has started it
            await self._launched.context.new_page()
        return self.tabs.pages[-1]

    async def usable_page(self) -> Page:
        """As `page`; one whose script never ends is given up for a new tab, as nothing can leave it any more."""
        from playwright.async_api import Error  # noqa: PLC0415 - only who browses pays for it

        page = await self.page()
        try:
            await asyncio.wait_for(page.evaluate("1"), _ANSWER_SECONDS)
        except Error:
            return page
        except TimeoutError:
            self.tabs.give_up(page)
            self.tabs.note("The page before did not answer and was closed.")
            assert self._launched is not None  # noqa: S101 - whoever asks has started it
            return await self._launched.context.new_page()
        return page

    async def element(self, ref: str) -> ElementHandle:
        """The element of the last snapshot that `ref` names.

        Raises:
            StaleRef: it is not there.
        """
        from playwright.async_api import Error  # noqa: PLC0415 - only who browses pays for it

        page = await self.page()
        try:
            found = await page.locator(f"aria-ref={ref}").element_handles()
        except Error:  # of a frame that is no more
            found = []
        if not found:
            raise StaleRef(
                f"There is no element @{ref} on the page now ({page.url}): it has changed, or was not looked at yet. "
                "Take a browser_snapshot and use a reference from it."
            )
        return found[0]

    async def view(self, *, full: bool = False, looked: bool = True, status: int | None = None) -> PageView:
        """The tab in front as it is now, with its outline if it is `looked` at."""
        page = await self.page()
        found = await self._outline(page, full=full) if looked else None
        title = await self.within(page.title(), _LOOK_SECONDS)
        text, left = (found.text, found.left_out) if found is not None else (None, 0)
        return PageView(page.url, title, text, left, self.tabs.take_notes(), status)

    async def settle(self) -> None:
        """Wait until what was begun has led somewhere: a navigation to its end, other requests for a moment.

        Raises:
            BrowserError: it takes too long.
        """
        await self._turned()
        await self.within(self._arrived(), self.settings.timeout)
        started, quiet_since = time.monotonic(), time.monotonic()
        while (now := time.monotonic()) - quiet_since < _QUIET_SECONDS and now - started < _MAX_QUIET_WAIT:
            if self.tabs.loading > 0:
                quiet_since = now
            await asyncio.sleep(_TICK)
        if self.border.is_under_way:
            await self.within(self._arrived(), self.settings.timeout)

    async def stay_inside(self) -> None:
        """Leave a page that nobody has allowed: one that was reached on a way on which it could not be asked about.

        Raises:
            ToolError: what stood in the way of this call.
        """
        problem = self.border.problem
        for page in list(self.tabs.pages):
            if not page.url.startswith(("http:", "https:")) or self.border.is_entered(page.url):
                continue
            try:
                if problem is None:
                    await self.border.enter(page.url)
            except Exception:
                await self._empty(page)
                raise
            if problem is not None:
                await self._empty(page)
        if problem is not None:
            raise problem

    async def _empty(self, page: Page) -> None:
        await page.goto("about:blank")
        self.tabs.forget(page)

    async def within(self, work: Coroutine[Any, Any, _T], seconds: float) -> _T:
        """What `work` yields, if it does so in time; the person's time to answer does not count.

        Raises:
            BrowserError: it does not.
        """
        task = asyncio.ensure_future(work)
        started, waited = time.monotonic(), self.border.waited()
        try:
            while (left := seconds + self.border.waited() - waited - (time.monotonic() - started)) > 0:
                done, _ = await asyncio.wait({task}, timeout=max(left, _TICK))
                if done:
                    return task.result()
        finally:
            task.cancel()
        where = self.tabs.pages[-1].url if self.tabs.pages else "the page"
        raise BrowserError(
            f"It took longer than {seconds:g} seconds ({where}). Take a browser_snapshot of what is there."
        )

    async def _turned(self) -> None:
        """Wait until the page has done what it does at once; one that is being left does not answer."""
        from playwright.async_api import Error  # noqa: PLC0415 - only who browses pays for it

        page = await self.page()
        with suppress(Error, TimeoutError):
            await asyncio.wait_for(page.evaluate(_TURN), _TURN_SECONDS)

    async def _arrived(self) -> None:
        await self.border.arrived()
        page = await self.page()
        await page.wait_for_load_state("domcontentloaded")

    async def _outline(self, page: Page, *, full: bool) -> Outline:
        tree = await self.within(page.aria_snapshot(mode="ai"), _LOOK_SECONDS)
        limit = self.settings.full_chars if full else self.settings.outline_chars
        fields = fields_with_values(tree)
        secret = await self.within(self._secret(page, fields[:_MOST_FIELDS]), _LOOK_SECONDS)
        return outline(tree, limit, secret | frozenset(fields[_MOST_FIELDS:]))

    @staticmethod
    async def _secret(page: Page, refs: Sequence[str]) -> frozenset[str]:
        """Those of the fields that hold a password; one that cannot be asked counts as such."""

        async def is_secret(ref: str) -> bool:
            found = await page.locator(f"aria-ref={ref}").element_handles()
            return not found or bool(await found[0].evaluate("field => field.type === 'password'"))

        told = await asyncio.gather(*(is_secret(ref) for ref in refs), return_exceptions=True)
        return frozenset(ref for ref, answer in zip(refs, told, strict=True) if answer is not False)


async def evaluated(page: Page, expression: str) -> str:
    """What the expression yields, as JSON."""
    found = await page.evaluate(expression)
    try:
        return json.dumps(found, ensure_ascii=False, default=str)
    except (ValueError, RecursionError) as problem:
        raise BrowserError(
            "The result holds itself and cannot be written as JSON. Let the expression yield the parts that you need."
        ) from problem
