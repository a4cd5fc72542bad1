"""The tool `vision_analyze`: a look at an image, by the model itself or, where it does not see, by one that does."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import ToolError
from tools.images import MAX_IMAGE_BYTES, ImageFacts, image_facts, other_format, refusal
from tools.ports import WebRequest
from tools.registry import registry
from tools.result import ResultImage, ShownText, ToolResult, ok

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "image_url": {"type": "string", "description": "Path or URL"},
        "question": {"type": "string"},
    },
    "required": ["image_url", "question"],
}
DESCRIPTION = "Answer a question about an image."
_LOOK = "The image comes with this result. Answer the question from it."
_TEXTS = ("text/", "application/json", "application/xhtml")
_NO_FILES = frozenset({"http", "https", "data"})
_OK = 200


def vision_analyze(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Give the image to the model that asks, or its question to a model that sees.

    Args:
        args: image_url (a path, an http, https, file or data URL), question.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with image, format and size; with the answer where another model looked, else with the image beside.

    Raises:
        ToolError: no image, one that models do not take, or nobody who sees. ToolInterrupted.
    """
    ctx = require_context(kw)
    source = arguments.text(args, "image_url").strip()
    question = arguments.text(args, "question").strip()
    if not source or not question:
        raise ToolError("vision_analyze needs both: image_url (a path or a URL) and a question about the image.")
    image, facts, found = _image(source, ctx)
    payload: dict[str, Any] = {"image": image.name, "format": str(facts)}
    if ctx.images():
        told = ok({**payload, "note": _LOOK}, ShownText(f"{image.name} ({facts})"), **found)
        return ToolResult(told.text, told.shown, told.facts, images=(image,))
    if ctx.agent is None:
        raise ToolError(f"{image.name} is an image ({facts}), but there is no model here that could look at it.")
    answer = ctx.agent.look(image, question, ctx.interrupt)
    return ok({**payload, "answer": answer}, ShownText(answer), **found)


def _image(source: str, ctx: ToolContext) -> tuple[ResultImage, ImageFacts, dict[str, Any]]:
    """The image, what it is, and the result's facts.

    Raises:
        ToolError: it cannot be had, or is none that models take.
    """
    found: dict[str, Any] = {}
    match _scheme(source):
        case "http" | "https":
            name, data = source, _fetched(source, ctx)
        case "data":
            name, data = "The image", _decoded(source)
        case _:
            name, data, found = _read(source, ctx)
    facts = image_facts(data)
    if facts is None:
        kind = other_format(data)
        what = f"is {kind}" if kind else "is no image that is known"
        raise ToolError(
            f"{name} {what}; models take PNG, JPEG, GIF and WebP. Convert it first, as with `magick IN OUT.png`, "
            "or read it as what it is."
        )
    if problem := refusal(facts, len(data)):
        raise ToolError(f"{name} {problem}")
    return ResultImage(data, facts.mime_type, name), facts, found


def _scheme(source: str) -> str:
    return source[:8].lower().partition(":")[0] if ":" in source[:8] else ""


def _path_of(source: str) -> str:
    if _scheme(source) != "file":
        return source
    try:
        return unquote(urlsplit(source).path)
    except ValueError as problem:
        raise ToolError(f"{source[:200]!r} is not a URL ({problem}). Give the path of a file instead.") from problem


def _read(source: str, ctx: ToolContext) -> tuple[str, bytes, dict[str, Any]]:
    path = arguments.path({"image_url": _path_of(source)}, ctx, "image_url")
    with ctx.fs.open(path) as stream:
        data = stream.read(MAX_IMAGE_BYTES + 1)
        size = stream.seek(0, 2)
    name = arguments.display(path, ctx)
    if size > MAX_IMAGE_BYTES and (facts := image_facts(data)) is not None:
        raise ToolError(f"{name} {refusal(facts, size)}")
    return name, data, {"path": str(path)}


def _fetched(url: str, ctx: ToolContext) -> bytes:
    if ctx.web is None:
        raise ToolError(
            "The web cannot be reached from here. Give the path of a file, or get the image with the terminal first."
        )
    request = WebRequest(url, headers={"accept": "image/*"}, max_bytes=MAX_IMAGE_BYTES)
    response = ctx.web.fetch(request, ctx.interrupt)
    if response.status != _OK:
        raise ToolError(f"{url} could not be fetched: the server answered with status {response.status}.")
    kind = response.headers.get("content-type", "")
    if kind.lower().startswith(_TEXTS) and image_facts(response.body) is None:
        name = PurePosixPath(urlsplit(url).path).name or url
        raise ToolError(f"{url} is no image but {kind.partition(';')[0]}. Find the address of {name} itself.")
    return response.body


def _decoded(url: str) -> bytes:
    head, comma, data = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise ToolError("The data URL cannot be read: it has to be data:image/png;base64,… Give a path instead.")
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except ValueError as problem:  # binascii.Error is one; characters that are not ASCII are told by another
        raise ToolError(f"The data URL cannot be read: {problem}. Give the path of a file instead.") from problem


def _paths(args: Mapping[str, Any]) -> list[str]:
    source = str(args["image_url"])
    return [] if _scheme(source) in _NO_FILES else [_path_of(source)]


registry.register(
    name="vision_analyze",
    toolset="vision",
    schema=SCHEMA,
    handler=vision_analyze,
    description=DESCRIPTION,
    parallel="safe",
    paths_fn=_paths,
)
