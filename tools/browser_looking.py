"""The tools that look behind a page: `browser_get_images`, `browser_console` and `browser_vision`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools import arguments
from tools.browser.finding import can_browse
from tools.browser.telling import STRANGERS, browser_of
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ResultImage, ShownText, ToolResult, ok

IMAGES: dict[str, Any] = {"type": "object", "properties": {}}
CONSOLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "clear": {"type": "boolean"},
        "expression": {"type": "string", "description": "JavaScript to evaluate instead"},
    },
}
VISION: dict[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string"}, "full": {"type": "boolean", "description": "The whole page"}},
    "required": ["question"],
}
_MAX_URL = 300
_NAME = "the page's picture"


def browser_get_images(args: Mapping[str, Any], **kw: Any) -> ToolResult:  # noqa: ARG001 - every handler gets them
    """List the images of the page.

    Args:
        args: none.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with images: url, alt, size in pixels.

    Raises:
        ToolError: as in `BrowserPort`. ToolInterrupted.
    """
    browser, ctx = browser_of(kw)
    images = [
        {"url": image.url[:_MAX_URL], "alt": image.alt, "size": f"{image.width}x{image.height}"}
        for image in browser.images(ctx.interrupt)
    ]
    return ok({"note": STRANGERS, "images": images}, ShownText(f"{len(images)} images"))


def browser_console(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """What the page wrote to its console, or what an expression yields in it.

    Args:
        args: clear (forget what was told), expression.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with messages (kind, text, place), or with result.

    Raises:
        ToolError: as in `BrowserPort`. ToolInterrupted.
    """
    browser, ctx = browser_of(kw)
    expression = arguments.text(args, "expression", "").strip()
    if expression:
        result = browser.evaluate(expression, ctx.interrupt)
        return ok({"note": STRANGERS, "result": result}, ShownText(result))
    lines = browser.console(ctx.interrupt, clear=arguments.boolean(args, "clear"))
    messages = [f"{line.kind}: {line.text}" + (f" ({line.place})" if line.place else "") for line in lines]
    return ok({"note": STRANGERS, "messages": messages}, ShownText("\n".join(messages) or "Nothing."))


def browser_vision(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Take a picture of the page, for the model that asks or, where it does not see, for one that does.

    Args:
        args: question, full.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with the answer, or with the picture beside.

    Raises:
        ToolError: as in `BrowserPort`, or nobody sees. ToolInterrupted.
    """
    browser, ctx = browser_of(kw)
    question = arguments.text(args, "question").strip()
    data = browser.screenshot(ctx.interrupt, full=arguments.boolean(args, "full"))
    image = ResultImage(data, "image/png", _NAME)
    if ctx.images:
        plain = ok({"note": f"The picture comes with this result. {STRANGERS}"}, ShownText("A picture of the page"))
        return ToolResult(plain.text, plain.shown, plain.facts, images=(image,))
    if ctx.agent is None:
        raise ToolError("There is no model here that sees. Use browser_snapshot, which tells the page in words.")
    answer = ctx.agent.look(image, question, ctx.interrupt)
    return ok({"note": STRANGERS, "answer": answer}, ShownText(answer))


registry.register(
    name="browser_get_images",
    toolset="browser",
    schema=IMAGES,
    handler=browser_get_images,
    description="List the page's images.",
    check_fn=can_browse,
    untrusted=True,
)
registry.register(
    name="browser_console",
    toolset="browser",
    schema=CONSOLE,
    handler=browser_console,
    description="Console messages and errors.",
    check_fn=can_browse,
    untrusted=True,
)
registry.register(
    name="browser_vision",
    toolset="browser",
    schema=VISION,
    handler=browser_vision,
    description="Look at a screenshot.",
    check_fn=can_browse,
    untrusted=True,
)
