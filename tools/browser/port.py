"""The port through which tools use a session's browser: pages as outlines, with references to their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

Direction = Literal["up", "down"]


class BrowserError(ToolError):
    """The browser could not do it; the message says what to do."""


class StaleRef(BrowserError):
    """The page has no element of that reference (any more)."""


@dataclass(frozen=True, slots=True)
class PageView:
    """A page after something was done.

    Attributes:
        url, title: of the tab that is in front.
        outline: its accessibility tree, an element a line, `@e12` behind those that can be used; None when it was not
            looked at.
        left_out: lines of the outline that were over the limit.
        notes: what happened beside: a dialog, a new tab, a refused download or address.
        status: the HTTP status of a page that was opened, None where there was none.
    """

    url: str
    title: str
    outline: str | None = None
    left_out: int = 0
    notes: tuple[str, ...] = ()
    status: int | None = None


@dataclass(frozen=True, slots=True)
class PageImage:
    """An image of a page; `width` and `height` in its own pixels."""

    url: str
    alt: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """A message of a page's console. `kind` as the page has it (log, error, …), or `exception`."""

    kind: str
    text: str
    place: str = ""


class BrowserPort(Protocol):
    """One browser for a session; it starts when it is first used.

    Every method raises BrowserError when it cannot be done, WebError or Denied where an address may not be reached,
    ToolInterrupted when the turn is over.
    """

    def navigate(self, url: str, interrupt: Interrupt) -> PageView:
        """Open a page in the tab in front; http and https only."""
        ...

    def snapshot(self, interrupt: Interrupt, *, full: bool = False) -> PageView:
        """Look at the page; `full` takes a larger limit."""
        ...

    def click(self, ref: str, interrupt: Interrupt) -> PageView:
        """Click on an element; with an outline where that led to another page."""
        ...

    def type(self, ref: str, text: str, interrupt: Interrupt) -> PageView:
        """Put `text` in place of a field's content. The text is in no log and no message."""
        ...

    def press(self, key: str, interrupt: Interrupt) -> PageView:
        """Press a key: Enter, Tab, Control+a."""
        ...

    def scroll(self, direction: Direction, interrupt: Interrupt) -> PageView:
        """Scroll by most of a window."""
        ...

    def back(self, interrupt: Interrupt) -> PageView:
        """Go back in the tab's history."""
        ...

    def images(self, interrupt: Interrupt) -> Sequence[PageImage]:
        """The images of the page that are shown."""
        ...

    def console(self, interrupt: Interrupt, *, clear: bool = False) -> Sequence[ConsoleLine]:
        """What was written to the console since the start or the last `clear`, the oldest first."""
        ...

    def evaluate(self, expression: str, interrupt: Interrupt) -> str:
        """What a JavaScript expression yields in the page, as JSON."""
        ...

    def screenshot(self, interrupt: Interrupt, *, full: bool = False) -> bytes:
        """What the window shows, or the whole page, as PNG."""
        ...
