"""The tools that open pages and look at them: `browser_navigate`, `_snapshot`, `_back` and `_scroll`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tools import arguments
from tools.browser.finding import can_browse
from tools.browser.telling import browser_of, told
from tools.registry import registry
from tools.result import ToolResult

NAVIGATE: dict[str, Any] = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
SNAPSHOT: dict[str, Any] = {
    "type": "object",
    "properties": {"full": {"type": "boolean", "description": "All of a long page"}},
}
SCROLL: dict[str, Any] = {
    "type": "object",
    "properties": {"direction": {"type": "string", "enum": ["up", "down"]}},
    "required": ["direction"],
}
BACK: dict[str, Any] = {"type": "object", "properties": {}}
_SIZE = 100_000


def browser_navigate(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Open `url` and look at the page.

    Args:
        args: url, http or https.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with url, title, page (the outline), status where it is an error, notes.

    Raises:
        ToolError: as in `BrowserPort`. ToolInterrupted.
    """
    browser, ctx = browser_of(kw)
    return told(browser.navigate(arguments.text(args, "url"), ctx.interrupt))


def browser_snapshot(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Look at the page. `args`: full. Returns and raises as `browser_navigate`."""
    browser, ctx = browser_of(kw)
    return told(browser.snapshot(ctx.interrupt, full=arguments.boolean(args, "full")))


def browser_scroll(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Scroll by most of a window. `args`: direction. Returns and raises as `browser_navigate`."""
    browser, ctx = browser_of(kw)
    word = arguments.choice(args, "direction", ("up", "down"), "down")
    direction: Literal["up", "down"] = "up" if word == "up" else "down"
    return told(browser.scroll(direction, ctx.interrupt))


def browser_back(args: Mapping[str, Any], **kw: Any) -> ToolResult:  # noqa: ARG001 - every handler gets them
    """Go back to the page before. Returns and raises as `browser_navigate`."""
    browser, ctx = browser_of(kw)
    return told(browser.back(ctx.interrupt))


registry.register(
    name="browser_navigate",
    toolset="browser",
    schema=NAVIGATE,
    handler=browser_navigate,
    description="Open a page in the browser; returns its outline with refs (@e12). "
    "To only read pages use web_extract.",
    check_fn=can_browse,
    untrusted=True,
    max_result_size_chars=_SIZE,
)
registry.register(
    name="browser_snapshot",
    toolset="browser",
    schema=SNAPSHOT,
    handler=browser_snapshot,
    description="The page's outline now, with new refs.",
    check_fn=can_browse,
    untrusted=True,
    max_result_size_chars=_SIZE,
)
registry.register(
    name="browser_scroll",
    toolset="browser",
    schema=SCROLL,
    handler=browser_scroll,
    description="Scroll the page.",
    check_fn=can_browse,
    untrusted=True,
)
registry.register(
    name="browser_back",
    toolset="browser",
    schema=BACK,
    handler=browser_back,
    description="Go back in history.",
    check_fn=can_browse,
    untrusted=True,
    max_result_size_chars=_SIZE,
)
