"""The tabs of a session's browser: which is in front, what happens in them, and what they may load."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_core.browser.border import Border
from tools.browser.port import ConsoleLine
from tools.errors import ToolError, ToolInterrupted

if TYPE_CHECKING:
    from playwright.async_api import (
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Download,
        Frame,
        Page,
        Request,
        Response,
        Route,
    )

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
