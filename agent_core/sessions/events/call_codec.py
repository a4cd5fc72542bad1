"""A tool call, from its first sight to its end, ⇄ JSON ⇄ the events that show it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent_core.events import SessionEvent, ToolAnnounced, ToolFinished, ToolOutput, ToolRequested, ToolRunning
from agent_core.sessions.events.stored_values import (
    Body,
    list_in,
    mapping_in,
    number_or_none,
    plain,
    plain_text,
    text_in,
    text_or_none,
)
from tools.light_dataclass import dataclass
from tools.result import ResultImage, Shown, ShownDiff, ShownOutput, ShownText, ToolResult


@dataclass(frozen=True, slots=True)
class CallSoFar:
    """All that is known of a tool call.

    Attributes:
        arguments: None while only the name is known.
        requested: the arguments were shown before the end.
        ran: it was allowed.
        output: what it printed while it ran.
        tail: the end of `output`, as `ToolOutput` has it.
        result: None while it is open.
        parent: the call under whose card it stands, '' for none.
        by: the sub-agent that makes it, '' for the session's own agent.
    """

    call_id: str
    name: str
    cwd: str
    arguments: Mapping[str, Any] | None = None
    requested: bool = False
    ran: bool = False
    output: str = ""
    tail: str = ""
    result: ToolResult | None = None
    parent: str = ""
    by: str = ""


def call_body(call: CallSoFar) -> dict[str, Any]:
    """A call as JSON."""
    body: dict[str, Any] = {
        "id": plain_text(call.call_id),
        "name": plain_text(call.name),
        "cwd": plain_text(call.cwd),
        "arguments": plain(call.arguments),
        "requested": call.requested,
        "ran": call.ran,
    }
    if call.output or call.tail:
        body["output"], body["tail"] = plain_text(call.output), plain_text(call.tail)
    if call.parent:
        body["parent"] = plain_text(call.parent)
    if call.by:
        body["by"] = plain_text(call.by)
    if call.result is not None:
        body["result"] = _result_body(call.result)
    return body


def read_call(body: Body) -> CallSoFar:
    """A call from its JSON.

    Raises:
        KeyError, TypeError, ValueError: it is not one.
    """
    return CallSoFar(
        call_id=text_in(body, "id"),
        name=text_in(body, "name"),
        cwd=text_in(body, "cwd"),
        arguments=None if body["arguments"] is None else mapping_in(body, "arguments"),
        requested=bool(body["requested"]),
        ran=bool(body["ran"]),
        output=text_in(body, "output", ""),
        tail=text_in(body, "tail", ""),
        result=None if body.get("result") is None else _read_result(mapping_in(body, "result")),
        parent=text_in(body, "parent", ""),
        by=text_in(body, "by", ""),
    )


def events_of(call: CallSoFar) -> Iterator[SessionEvent]:
    """What shows the call as it stands; `ToolRunning` only while it is open, since the end says it too."""
    arguments = call.arguments or {}
    if call.requested:
        yield ToolRequested(call.call_id, call.name, arguments, call.cwd, False, call.parent, call.by)
    else:
        yield ToolAnnounced(call.call_id, call.name, call.cwd, call.parent)
    if call.ran and call.result is None:
        yield ToolRunning(call.call_id, call.name, arguments, call.cwd, call.by)
    if call.output or call.tail:
        yield ToolOutput(call.call_id, call.output, call.tail, call.name, arguments)
    if call.result is not None:
        yield ToolFinished(call.call_id, call.name, arguments, call.cwd, call.result, call.ran, by=call.by)


def _result_body(result: ToolResult) -> dict[str, Any]:
    body: dict[str, Any] = {"text": plain_text(result.text), "failed": result.failed}
    if result.shown:
        body["shown"] = [_shown_body(shown) for shown in result.shown]
    if result.facts:
        body["facts"] = plain(result.facts)
    if result.images:
        body["images"] = [_image_body(image) for image in result.images]
    return body


def _image_body(image: ResultImage) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    return {"mime_type": plain_text(image.mime_type), "name": plain_text(image.name), "data": data}


def _shown_body(shown: Shown) -> dict[str, Any]:
    match shown:
        case ShownText(text=text, language=language):
            return {"kind": "text", "text": plain(text), "language": plain(language)}
        case ShownDiff(path=path, before=before, after=after):
            return {"kind": "diff", "path": plain(str(path)), "before": plain(before), "after": plain(after)}
        case ShownOutput(output=output, exit_code=code, signal=signal):
            return {"kind": "output", "output": plain(output), "exit_code": code, "signal": plain(signal)}


def _read_result(body: Body) -> ToolResult:
    return ToolResult(
        text=text_in(body, "text"),
        shown=tuple(_read_shown(shown) for shown in list_in(body, "shown")) if "shown" in body else (),
        facts=mapping_in(body, "facts") if "facts" in body else {},
        failed=bool(body["failed"]),
        images=tuple(_read_image(image) for image in list_in(body, "images")) if "images" in body else (),
    )


def _read_image(body: Body) -> ResultImage:
    data = base64.b64decode(text_in(body, "data"), validate=True)
    return ResultImage(data, text_in(body, "mime_type"), text_in(body, "name"))


def _read_shown(body: Body) -> Shown:
    match text_in(body, "kind"):
        case "text":
            return ShownText(text_in(body, "text"), text_or_none(body, "language"))
        case "diff":
            return ShownDiff(Path(text_in(body, "path")), text_or_none(body, "before"), text_or_none(body, "after"))
        case "output":
            return ShownOutput(
                text_in(body, "output"), number_or_none(body, "exit_code"), text_or_none(body, "signal")
            )
        case kind:
            raise ValueError(f"a result shows no {kind!r}")
