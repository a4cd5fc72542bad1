"""The browser as one tool call gets it: what it reaches passes the call's gate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from agent_core.browser.driver import LiveBrowser, evaluated
from agent_core.browser.session_browser import SessionBrowser, reason_of
from tools.approval.actions import UseBrowser
from tools.approval.gate import Gate
from tools.browser.port import BrowserError, ConsoleLine, Direction, PageImage, PageView, ref_of
from tools.ports import Interrupt, WebError
from tools.settings import BrowserSettings
from tools.web.addresses import target_of

if TYPE_CHECKING:
    from playwright.async_api import Response

_T = TypeVar("_T")
_MOST_IMAGES = 100
_SCREENSHOT_SECONDS = 20.0
EVALUATE_SECONDS = 10.0
_MAX_PIXELS = 8_000
_SCROLL = "by => window.scrollBy({top: by * window.innerHeight * 0.85, behavior: 'instant'})"
_PLACE = "() => [Math.round(scrollY), Math.round(innerHeight), document.documentElement.scrollHeight]"
_IMAGES = """most => [...document.images].filter(image => image.getClientRects().length).slice(0, most).map(
  image => [image.currentSrc || image.src, image.alt, image.naturalWidth, image.naturalHeight])"""


class GatedBrowser:
    """A `BrowserPort` for one call. The browser is the session's, the gate the call's."""

    def __init__(self, browser: SessionBrowser, gate: Gate, settings: BrowserSettings) -> None:
        self._browser = browser
        self._gate = gate
        self._settings = settings

    def navigate(self, url: str, interrupt: Interrupt) -> PageView:
        """As in the port."""
        wanted = target_of(url)
        fragment = url.strip().partition("#")[2]
        address = f"{wanted.url}#{fragment}" if fragment else wanted.url

        async def work(live: LiveBrowser) -> PageView:
            page = await live.usable_page()
            # Asked about here, what is refused does not even begin.
            await live.border.enter(wanted.url)
            status = await _opened(live, page.goto(address, wait_until="domcontentloaded", timeout=0))
            return await live.view(status=status)

        return self._run(work, interrupt)

    def snapshot(self, interrupt: Interrupt, *, full: bool = False) -> PageView:
        """As in the port."""

        async def work(live: LiveBrowser) -> PageView:
            await live.settle()
            await live.stay_inside()
            return await live.view(full=full)

        return self._run(work, interrupt)

    def click(self, ref: str, interrupt: Interrupt) -> PageView:
        """As in the port."""
        name = _name(ref)

        async def work(live: LiveBrowser) -> None:
            await (await live.element(name)).click(timeout=self._settings.action_timeout * 1000, no_wait_after=True)

        return self._act(work, f"click @{name}", f"@{name} could not be clicked", interrupt)

    def type(self, ref: str, text: str, interrupt: Interrupt) -> PageView:
        """As in the port."""
        name = _name(ref)

        async def work(live: LiveBrowser) -> None:
            await (await live.element(name)).fill(text, timeout=self._settings.action_timeout * 1000)

        return self._act(work, f"type into @{name}", f"@{name} could not be typed into", interrupt)

    def press(self, key: str, interrupt: Interrupt) -> PageView:
        """As in the port."""

        async def work(live: LiveBrowser) -> None:
            await (await live.page()).keyboard.press(key)

        return self._act(work, f"press {key}", f"The key {key!r} could not be pressed", interrupt)

    def scroll(self, direction: Direction, interrupt: Interrupt) -> PageView:
        """As in the port."""

        async def work(live: LiveBrowser) -> PageView:
            page = await live.page()
            await live.within(page.evaluate(_SCROLL, 1 if direction == "down" else -1), EVALUATE_SECONDS)
            await live.settle()
            await live.stay_inside()
            top, height, whole = await live.within(page.evaluate(_PLACE), EVALUATE_SECONDS)
            live.tabs.note(f"Shown are the pixels {top} to {top + height} of {whole}.")
            return await live.view(looked=False)

        return self._run(work, interrupt)

    def back(self, interrupt: Interrupt) -> PageView:
        """As in the port."""

        async def work(live: LiveBrowser) -> PageView:
            page = await live.page()
            before = page.url
            status = await _opened(live, page.go_back(wait_until="domcontentloaded", timeout=0))
            if page.url == before:
                live.tabs.note("There is no page to go back to.")
            return await live.view(status=status)

        return self._run(work, interrupt)

    def images(self, interrupt: Interrupt) -> Sequence[PageImage]:
        """As in the port."""

        async def work(live: LiveBrowser) -> Sequence[PageImage]:
            page = await live.page()
            found = await live.within(page.evaluate(_IMAGES, _MOST_IMAGES), EVALUATE_SECONDS)
            return [PageImage(str(url), str(alt), int(width), int(height)) for url, alt, width, height in found]

        return self._run(work, interrupt)

    def console(self, interrupt: Interrupt, *, clear: bool = False) -> Sequence[ConsoleLine]:
        """As in the port."""

        async def work(live: LiveBrowser) -> Sequence[ConsoleLine]:
            await live.page()
            lines = tuple(live.tabs.console)
            if clear:
                live.tabs.console.clear()
            return lines

        return self._run(work, interrupt)

    def evaluate(self, expression: str, interrupt: Interrupt) -> str:
        """As in the port."""
        self._check_may_act(f"evaluate {expression}")

        async def work(live: LiveBrowser) -> str:
            page = await live.page()
            live.tabs.drive(page)
            found = await live.within(evaluated(page, expression), EVALUATE_SECONDS)
            await live.settle()
            await live.stay_inside()
            return found

        return self._run(work, interrupt)

    def screenshot(self, interrupt: Interrupt, *, full: bool = False) -> bytes:
        """As in the port."""

        async def work(live: LiveBrowser) -> bytes:
            page = await live.page()
            _, _, whole = await live.within(page.evaluate(_PLACE), EVALUATE_SECONDS)
            is_whole = full and whole <= _MAX_PIXELS
            taken: bytes = await live.within(
                page.screenshot(full_page=is_whole, animations="disabled", timeout=0), _SCREENSHOT_SECONDS
            )
            return taken

        return self._run(work, interrupt)

    def _check_may_act(self, act: str) -> None:
        """A page that is used may order, send or delete: the policy decides, and in plan mode it is only looked at.

        Raises:
            Denied: it may not be used.
        """
        self._gate.authorize(UseBrowser("the open page", act))

    def _act(
        self,
        work: Callable[[LiveBrowser], Coroutine[Any, Any, None]],
        act: str,
        failed: str,
        interrupt: Interrupt,
    ) -> PageView:
        self._check_may_act(act)

        async def acted(live: LiveBrowser) -> PageView:
            from playwright.async_api import Error  # noqa: PLC0415 - only who browses pays for it

            before, tabs = live.tabs.arrivals, len(live.tabs.pages)
            try:
                # A page whose script never ends answers nothing, and the driver waits for it for ever.
                await live.within(work(live), self._settings.action_timeout + EVALUATE_SECONDS)
            except Error as problem:
                # Not chained: the driver's words may hold what was typed.
                raise BrowserError(
                    f"{failed} ({reason_of(problem)}). It may be hidden, covered or disabled: see browser_snapshot."
                ) from None
            await live.settle()
            await live.stay_inside()
            return await live.view(looked=(before, tabs) != (live.tabs.arrivals, len(live.tabs.pages)))

        return self._run(acted, interrupt)

    def _run(self, work: Callable[[LiveBrowser], Awaitable[_T]], interrupt: Interrupt) -> _T:
        return self._browser.run(work, self._gate.authorize, interrupt)


async def _opened(live: LiveBrowser, way: Coroutine[Any, Any, Response | None]) -> int | None:
    """Go the `way` to another page and wait until it is there; its HTTP status.

    Raises:
        WebError, Denied: what stood in the way. BrowserError: too slow, or no page.
    """
    from playwright.async_api import Error  # noqa: PLC0415 - only who browses pays for it

    response, failure = None, None
    try:
        response = await live.within(way, live.settings.timeout)
    except Error as problem:
        failure = problem
    await live.settle()
    await live.stay_inside()
    if failure is not None:
        told = " ".join(live.tabs.take_notes())
        raise WebError(f"The page could not be opened: {told or reason_of(failure)}", "connection") from failure
    return None if response is None else response.status


def _name(ref: str) -> str:
    name = ref_of(ref)
    if name is None:
        raise BrowserError(
            f"{ref!r} is no reference to an element. Take a browser_snapshot; references look like @e12."
        )
    return name
