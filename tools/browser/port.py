"""The browser port, whether there is a browser, and the accessibility tree as models read it."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from tools.environments.program_finder import PROGRAMS
from tools.errors import ToolError, install_line
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.settings import CDP_URL, EXECUTABLE

# The port: pages as outlines, with references to their elements.

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


# Whether there is a browser to use: the driver's package, and a program or an address.

_NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
    "brave-browser",
)  # fmt: skip
_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
# Where the driver puts browsers that it was told to download.
_DOWNLOADED = (".cache/ms-playwright", "Library/Caches/ms-playwright")
_PROGRAMS = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")


def find_chromium(environ: Mapping[str, str] | None = None) -> str | None:
    """The program: the one that BROWSER_EXECUTABLE names, the system's, or one that the driver downloaded."""
    variables = os.environ if environ is None else environ
    if named := variables.get(EXECUTABLE, "").strip():
        return PROGRAMS.find(named, variables.get("PATH"))
    search = variables.get("PATH")
    found = next((path for name in _NAMES if (path := PROGRAMS.find(name, search))), None)
    return found or next((path for path in _APPLICATIONS if os.access(path, os.X_OK)), None) or _downloaded(variables)


def missing() -> str:
    """What to do where there is none."""
    return (
        f"There is no browser here. The tools need the driver ({install_line('browser')}) and a Chromium: the "
        f"system's, one that {EXECUTABLE} names, or the address of a running one in {CDP_URL}."
    )


def can_browse() -> bool:
    """Whether the tools are offered. Nothing is imported or started for it."""
    if importlib.util.find_spec("playwright") is None:
        return False
    return bool(os.environ.get(CDP_URL, "").strip()) or find_chromium() is not None


def _downloaded(variables: Mapping[str, str]) -> str | None:
    own = variables.get("PLAYWRIGHT_BROWSERS_PATH", "")
    home = Path(variables.get("HOME") or "/nonexistent")
    for folder in [Path(own)] if own else [home / name for name in _DOWNLOADED]:
        for pattern in _PROGRAMS:
            found = sorted(path for path in folder.glob(pattern) if os.access(path, os.X_OK))
            if found:
                return str(found[-1])
    return None


# A page's accessibility tree as models read it: short, bounded, with a reference where something can be done.

_REF = re.compile(r" \[ref=([\w]+)\]")
_POINTER = " [cursor=pointer]"
_LINE = re.compile(r"^(\s*)- (\S+)(.*)$")
_GIVEN = re.compile(r"^@?((?:f\d+)?e\d+)$")
_VALUE = re.compile(r"(\[ref=(\w+)\][^:]*): .*$")
_MAX_LINE = 300
_INTERACTIVE = frozenset({
    "button", "checkbox", "combobox", "gridcell", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio",
    "option", "radio", "scrollbar", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem",
})  # fmt: skip
# They say nothing by themselves.
_BARE = frozenset({"generic", "generic:"})


@dataclass(frozen=True, slots=True)
class Outline:
    """An outline, and how many lines of it were left out at the end."""

    text: str
    left_out: int


def ref_of(given: str) -> str | None:
    """The driver's name of an element for a reference as models write it: `@e12`, `e12`; None when it is none."""
    found = _GIVEN.match(given.strip())
    return found[1] if found else None


def fields_with_values(tree: str) -> tuple[str, ...]:
    """The driver's names of the fields that hold something."""
    fields = (line.strip() for line in tree.splitlines())
    return tuple(found[2] for line in fields if line.startswith("- textbox") and (found := _VALUE.search(line)))


def outline(tree: str, max_chars: int, secret: Collection[str] = ()) -> Outline:
    """The driver's tree (YAML, one element a line) shortened to at most `max_chars`, cut at a line.

    Args:
        secret: names of fields whose content is not shown.
    """
    lines = [line for raw in tree.splitlines() if (line := _told(raw, secret)) is not None]
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > max_chars:
            return Outline("\n".join(lines[:number]), len(lines) - number)
    return Outline("\n".join(lines), 0)


def _told(raw: str, secret: Collection[str]) -> str | None:
    found = _LINE.match(raw)
    if found is None:
        return raw[:_MAX_LINE]
    if (value := _VALUE.search(raw)) is not None and value[2] in secret:
        raw = f"{raw[: value.start()]}{value[1]}: ••••"
    role = found[2].rstrip(":")
    # Pages make buttons of anything by their style.
    usable = role in _INTERACTIVE or _POINTER in raw
    ref = _REF.search(raw)
    line = raw.replace(_POINTER, "")
    line = _REF.sub(f" @{ref[1]}" if usable and ref is not None else "", line, count=1)
    if line.strip().removeprefix("- ") in _BARE:
        return None
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"
