"""The tools that use a page: `browser_click`, `browser_type` and `browser_press`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools import arguments
from tools.browser.finding import can_browse
from tools.browser.telling import browser_of, told
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ToolResult

CLICK: dict[str, Any] = {"type": "object", "properties": {"ref": {"type": "string"}}, "required": ["ref"]}
TYPE: dict[str, Any] = {
    "type": "object",
    "properties": {"ref": {"type": "string"}, "text": {"type": "string"}},
    "required": ["ref", "text"],
}
PRESS: dict[str, Any] = {
    "type": "object",
    "properties": {"key": {"type": "string", "description": "Enter, Tab, Control+a"}},
    "required": ["key"],
}
_SIZE = 100_000


def browser_click(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Click on an element.

    Args:
        args: ref, of the last outline.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with url, title and notes; with page (the outline) where the click led to another page.

    Raises:
        ToolError: as in `BrowserPort`; a reference that is no more is one. ToolInterrupted.
    """
    browser, ctx = browser_of(kw)
    return told(browser.click(arguments.text(args, "ref"), ctx.interrupt))


def browser_type(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Put text in place of a field's content. `args`: ref, text. Returns and raises as `browser_click`."""
    browser, ctx = browser_of(kw)
    return told(browser.type(arguments.text(args, "ref"), arguments.text(args, "text"), ctx.interrupt))


def browser_press(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Press a key. `args`: key. Returns and raises as `browser_click`."""
    browser, ctx = browser_of(kw)
    key = arguments.text(args, "key").strip()
    if not key:
        raise ToolError("The argument 'key' is empty; it has to name a key, as Enter, Tab or Control+a.")
    return told(browser.press(key, ctx.interrupt))


registry.register(
    name="browser_click",
    toolset="browser",
    schema=CLICK,
    handler=browser_click,
    description="Click an element.",
    check_fn=can_browse,
    untrusted=True,
    max_result_size_chars=_SIZE,
)
registry.register(
    name="browser_type",
    toolset="browser",
    schema=TYPE,
    handler=browser_type,
    description="Replace a field's text.",
    check_fn=can_browse,
    untrusted=True,
    max_result_size_chars=_SIZE,
)
registry.register(
    name="browser_press",
    toolset="browser",
    schema=PRESS,
    handler=browser_press,
    description="Press a key.",
    check_fn=can_browse,
    untrusted=True,
    max_result_size_chars=_SIZE,
)
