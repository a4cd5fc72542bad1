"""A running browser: its start, its tabs, and what can be done with a page. All of it lives on the service loop."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import shlex
import time
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from agent_core.browser.network import Border, CheckedProxy
from agent_core.service_loop import programs_get
from tools.browser.port import (
    BrowserError,
    ConsoleLine,
    Outline,
    PageView,
    StaleRef,
    fields_with_values,
    find_chromium,
    missing,
    outline,
)
from tools.environments.child_env import child_environment
from tools.environments.guardian import Guardian, signal_group
from tools.environments.temp_directories import own_directory
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL, own_user
from tools.settings import BrowserSettings

if TYPE_CHECKING:
    from playwright.async_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Download,
        ElementHandle,
        Frame,
        Page,
        Playwright,
        ProxySettings,
        Request,
        Response,
        Route,
    )


# Starts the driver and the browser, or connects to one that runs, and makes sure that ours ends.

log = logging.getLogger(__name__)

_START_SECONDS = 60.0
_END_SECONDS = 5.0
_MAX_REASON = 400
# What the driver does not switch off by itself: everything that would talk to others than the page's servers.
_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# It stays in front of the browser's name, whose process is the leader of its group.
_WRAPPER = '#!/bin/sh\necho "$$" > {note}\nexec {program} "$@"\n'


@dataclass(frozen=True, slots=True)
class Launched:
    """A browser in use. `group` is the process group of one that we started; None for somebody else's."""

    driver: Playwright
    browser: Browser
    context: BrowserContext
    group: int | None


def is_reached_through_us(settings: BrowserSettings) -> bool:
    """Whether the browser can use a proxy on this machine: one of another machine cannot."""
    if not settings.cdp_url:
        return True
    host = urlsplit(settings.cdp_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def launch(
    settings: BrowserSettings, proxy_port: int | None, guardian: Guardian, variables: Mapping[str, str]
) -> Launched:
    """A browser with an empty profile of its own; in a browser that runs already, a window of that kind.

    Args:
        variables: what its environment, and its driver's, is made from.

    Raises:
        BrowserError: it could not be started, or not be connected to.
    """
    try:
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 - only who browses pays for it
    except ImportError as problem:
        raise BrowserError(missing()) from problem
    with programs_get(child_environment(variables)):
        driver = await async_playwright().start()
    group: int | None = None
    try:
        if settings.cdp_url:
            browser = await driver.chromium.connect_over_cdp(settings.cdp_url, timeout=_START_SECONDS * 1000)
        else:
            browser, group = await _started(driver, settings, guardian, variables)
        # An address of loopback goes through the proxy too: nothing is to pass it by.
        proxy: ProxySettings | None = None
        if proxy_port is not None:
            proxy = {"server": f"http://127.0.0.1:{proxy_port}", "bypass": "<-loopback>"}
        context = await browser.new_context(
            proxy=proxy, accept_downloads=False, service_workers="block", viewport={"width": 1280, "height": 900}
        )
        return Launched(driver, browser, context, group)
    except BaseException as problem:
        _kill(group, guardian)
        with suppress(Exception):
            await asyncio.wait_for(driver.stop(), _END_SECONDS)
        if isinstance(problem, Error | OSError):
            what = f"connect to {settings.cdp_url}" if settings.cdp_url else "start the browser"
            raise BrowserError(f"Could not {what}: {_reason(str(problem))}") from problem
        raise


async def end(launched: Launched, guardian: Guardian) -> None:
    """Close what we opened: our window, and the browser if it is ours."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            await launched.context.close()
            await launched.browser.close()
    except Exception:  # one that hangs or is gone already ends below
        log.info("the browser did not close in order", exc_info=True)
    _kill(launched.group, guardian)
    try:
        await asyncio.wait_for(launched.driver.stop(), _END_SECONDS)
    except Exception:  # it ends with its input, at the latest when we do
        log.info("the browser's driver did not end in order", exc_info=True)


async def _started(
    driver: Playwright, settings: BrowserSettings, guardian: Guardian, variables: Mapping[str, str]
) -> tuple[Browser, int]:
    program = settings.executable or find_chromium()
    if program is None:
        raise BrowserError(missing())
    await asyncio.to_thread(guardian.ready)
    with own_directory("hermes-browser-") as folder:
        wrapper, note = folder / "browser", folder / "pid"
        await asyncio.to_thread(_write_wrapper, wrapper, note, program)
        environment: dict[str, str | float | bool] = dict(child_environment(variables))
        environment["BREAKPAD_DUMP_LOCATION"] = str(folder)  # else it makes a directory in the person's home
        browser = await driver.chromium.launch(
            executable_path=str(wrapper),
            args=list(_ARGUMENTS),
            env=environment,
            chromium_sandbox=own_user() != 0,
            # Signals are ours to answer.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=_START_SECONDS * 1000,
        )
        group = int(await asyncio.to_thread(note.read_text, encoding="ascii"))
    guardian.add(group)
    return browser, group


def _write_wrapper(wrapper: Path, note: Path, program: str) -> None:
    text = _WRAPPER.format(note=shlex.quote(str(note)), program=shlex.quote(program))
    wrapper.write_text(text, encoding="utf-8")
    wrapper.chmod(0o700)


def _kill(group: int | None, guardian: Guardian) -> None:
    if group is not None:
        signal_group(group, SIGKILL)
        guardian.discard(group)


def _reason(text: str) -> str:
    """The driver's words without the browser's own log, whose last line often tells more."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next((line for line in reversed(lines) if "sandbox" in line.lower()), lines[0] if lines else "")
    return told[:_MAX_REASON]


# The tabs of a session's browser: which is in front, what happens in them, and what they may load.

_MOST_LINES = 200
_MOST_NOTES = 20
_MAX_CHARS = 500
_REDIRECTS = range(300, 400)
_PASSED = ("data:", "blob:", "about:")


class Tabs:
    """Follows a browser's window; lives on the service loop."""

    def __init__(self) -> None:
        self.console: deque[ConsoleLine] = deque(maxlen=_MOST_LINES)
        self.pages: list[Page] = []
        self.arrivals = 0
        self.loading = 0
        self._notes: dict[str, None] = {}
        self._origins: dict[Page, str] = {}
        self._driven: set[Page] = set()
        self._left: set[Page] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._border: Border | None = None
        self._first = True

    async def follow(self, context: BrowserContext, border: Border) -> None:
        """Watch the window, and open its first tab."""
        self._border = border
        context.on("page", self._opened)
        context.on("request", self._requested)
        context.on("response", self._answered)
        context.on("requestfinished", self._ended)
        context.on("requestfailed", self._ended)
        context.on("console", self._printed)
        context.on("weberror", lambda error: self._add("exception", str(error.error), ""))
        await context.route("**/*", self._route)
        await context.new_page()

    def addresses(self) -> Sequence[str]:
        """Where the tabs are; of one that is empty, who opened or filled it."""
        return [self.address(page) for page in self.pages]

    def address(self, page: Page) -> str:
        """Whose page it is: scripts of a public one go on working in an empty tab and in one that they made up."""
        url = page.url.removeprefix("blob:")
        return url if url.startswith(("http:", "https:")) else self._origins.get(page, page.url)

    def drive(self, page: Page) -> None:
        """A script of the model's begins to work in `page`, until that is another one."""
        self._driven.add(page)

    def give_up(self, page: Page) -> None:
        """Close a tab without waiting for it."""
        if page in self.pages:
            self.pages.remove(page)
        self.forget(page)
        closing = asyncio.ensure_future(page.close())
        self._closing.add(closing)
        closing.add_done_callback(self._done_closing)

    def _done_closing(self, closing: asyncio.Task[None]) -> None:
        self._closing.discard(closing)
        if not closing.cancelled():
            closing.exception()  # it was of no use any more

    def is_driven(self) -> bool:
        """Whether such a script may be at work."""
        return bool(self._driven)

    def forget(self, page: Page) -> None:
        """We have emptied the tab."""
        self._origins.pop(page, None)
        self._driven.discard(page)
        self._left.discard(page)

    def note(self, text: str) -> None:
        """Have `text` told with the next view; the same once."""
        if len(self._notes) < _MOST_NOTES:
            self._notes[text[:_MAX_CHARS]] = None

    def take_notes(self) -> tuple[str, ...]:
        """What has to be told, once."""
        notes, self._notes = tuple(self._notes), {}
        return notes

    def _opened(self, page: Page) -> None:
        self.pages.append(page)
        if not self._first:
            self.note("The page opened a new tab, which is in front now.")
        self._first = False
        page.on("close", self._closed)
        page.on("dialog", self._asked)
        page.on("download", self._offered)
        page.on("framenavigated", self._arrived)
        page.on("popup", lambda popup: self._begot(page, popup))
        page.on("crash", lambda _page: self.note("The page crashed: navigate to it again."))

    def _begot(self, page: Page, popup: Page) -> None:
        self._origins.setdefault(popup, self.address(page))
        if page in self._driven:
            self._driven.add(popup)

    def _closed(self, page: Page) -> None:
        self.forget(page)
        if page in self.pages:
            self.pages.remove(page)
            self.note("A tab was closed.")

    def _arrived(self, frame: Frame) -> None:
        if frame.parent_frame is None:
            self.arrivals += 1
            self._origins[frame.page] = self.address(frame.page)
            if frame.page in self._left:  # a script can change the address too, and goes on working
                self._left.discard(frame.page)
                self._driven.discard(frame.page)

    async def _asked(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":
            await dialog.accept()  # whoever leaves a page means it
            return
        self.note(f"The page showed a dialog ({dialog.type}), which was dismissed: {dialog.message}")
        await dialog.dismiss()

    def _offered(self, download: Download) -> None:
        self._left.discard(download.page)
        self.note(f"The page offered a download, which was refused: {download.url}. Use the terminal to get files.")

    def _printed(self, message: ConsoleMessage) -> None:
        place = message.location
        self._add(message.type, message.text, f"{place['url']}:{place['lineNumber'] + 1}" if place["url"] else "")

    def _add(self, kind: str, text: str, place: str) -> None:
        self.console.append(ConsoleLine(kind, text[:_MAX_CHARS], place[:_MAX_CHARS]))

    def _requested(self, _request: Request) -> None:
        self.loading += 1

    def _answered(self, response: Response) -> None:
        is_redirect = response.status in _REDIRECTS and "location" in response.headers
        if not is_redirect:
            self._end(response.request)
        if not is_redirect and _is_of_tab(response.request) and (page := _page_of(response.request)) is not None:
            self._left.add(page)

    def _ended(self, request: Request) -> None:
        self.loading -= 1
        if request.failure is not None:
            self._end(request)

    def _end(self, request: Request) -> None:
        first = request
        while first.redirected_from is not None:
            first = first.redirected_from
        if self._border is not None:
            self._border.end(first)

    async def _route(self, route: Route, request: Request) -> None:
        if self._border is None or request.url.startswith(_PASSED):
            await route.continue_()
            return
        try:
            await self._check(request, self._border)
        except ToolInterrupted:
            await route.abort("aborted")
        except ToolError as problem:
            self._border.problem = problem if _is_of_tab(request) else self._border.problem
            self.note(str(problem))
            await route.abort("blockedbyclient")
        except asyncio.CancelledError:
            await route.abort("aborted")
            raise
        else:
            await route.continue_()

    async def _check(self, request: Request, border: Border) -> None:
        if not _is_of_tab(request):
            page = request.frame.page
            await border.load(request.url, self.address(page), is_driven=page in self._driven)
            return
        border.begin(request, request.url)
        try:
            await border.enter(request.url)
        except BaseException:
            border.end(request)
            raise


def _is_of_tab(request: Request) -> bool:
    """Whether a tab goes there as a whole."""
    from playwright.async_api import Error  # noqa: PLC0415 - loaded long ago

    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:
        return True  # a new tab, whose frame is not there yet


def _page_of(request: Request) -> Page | None:
    from playwright.async_api import Error  # noqa: PLC0415 - loaded long ago

    try:
        return request.frame.page
    except Error:
        return None


# What can be done with a running browser. All of it is async.

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
