"""A request as Bedrock's Converse takes it: messages in blocks, tools, limits, and marks for its cache.

Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, and for the marks
docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from agent_core.messages import Content, Message, ToolCall, parse_arguments, text_of
from agent_core.providers.base import CacheTtl, ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.wire.anthropic_thinking import claude, thinking
from agent_core.providers.wire.bedrock_documents import document_block, name_apart
from agent_core.providers.wire.parts import fitting

Block = dict[str, Any]
Items = Sequence[dict[str, object]]

AFTER_TEXT, AFTER_CALLS = "after_text", "after_calls"
"""Where a piece of reasoning stands in its answer: after so many characters of text and so many calls."""

_GO_ON = "Go on."
_NO_OUTPUT = "(no output)"
_ATTACHED = "Attached:"
_MARKED_MESSAGES = 3
_LONGEST_ID = 64
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_IMAGE_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_FIRST_CACHED_CLAUDE, _FIRST_CACHED_HAIKU, _FIRST_WITH_HOURS = (3, 7), (3, 5), (4, 5)


def to_converse(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    """The arguments of `converse_stream`. The same messages always become the same blocks, marks apart."""
    asked, limits, fields = _limits(request, choice)
    system, messages = _blocks(fitting(request.messages, choice), choice if asked else None)
    name_apart(messages)
    if request.cache_ttl is not None:
        _mark(system, messages, request.model, request.cache_ttl)
    body: dict[str, Any] = {"modelId": request.model, "messages": messages}
    if system:
        body["system"] = system
    if tools := _tools(request):
        body["toolConfig"] = {"tools": tools}
    if limits:
        body["inferenceConfig"] = limits
    if fields:
        body["additionalModelRequestFields"] = fields
    return body


def _limits(request: ModelRequest, choice: ModelChoice) -> tuple[bool, dict[str, Any], dict[str, Any]]:
    """Whether earlier reasoning goes back, the limits, and what only this model understands."""
    limits: dict[str, Any] = {}
    if request.max_tokens is not None:
        limits["maxTokens"] = request.max_tokens
    if claude(request.model) is None:
        if request.temperature is not None:
            limits["temperature"] = request.temperature
        return True, limits, {}
    asked = thinking(request, choice)
    if request.max_tokens is not None or "budget_tokens" in asked.fields.get("thinking", {}):
        limits["maxTokens"] = asked.max_tokens
    if request.temperature is not None and asked.sampling:
        limits["temperature"] = request.temperature
    return asked.sends_back, limits, dict(asked.fields)


def _blocks(messages: Sequence[Message], choice: ModelChoice | None) -> tuple[list[Block], list[Block]]:
    """The system prompt and the conversation: user and assistant in turn, the user first and last."""
    system: list[Block] = []
    sent: list[Block] = []
    for message in messages:
        match message["role"]:
            case "system":
                system.extend(_texts(text_of(message["content"])))
            case "assistant":
                _add(sent, "assistant", _answer(message, choice.wrote(message) if choice else ()))
            case "tool":
                _add(sent, "user", [_result(message)])
            case "user":
                _add(sent, "user", _content(message["content"]))
    if not sent or sent[0]["role"] == "assistant":
        sent.insert(0, {"role": "user", "content": [{"text": _GO_ON}]})
    if sent[-1]["role"] == "assistant":
        _add(sent, "user", [{"text": _GO_ON}])
    return system, sent


def _add(sent: list[Block], role: str, blocks: Sequence[Block]) -> None:
    if not blocks:
        return
    if sent and sent[-1]["role"] == role:
        sent[-1]["content"].extend(blocks)
    else:
        sent.append({"role": role, "content": list(blocks)})


def _answer(message: Message, items: Items) -> list[Block]:
    """The blocks of an answer, its reasoning at the places where it came."""
    text, calls = text_of(message["content"]), message.get("tool_calls", [])
    blocks: list[Block] = []
    text_at = calls_at = 0
    for item in items:
        text_to, calls_to = _place(item, AFTER_TEXT), _place(item, AFTER_CALLS)
        blocks += [*_texts(text[text_at:text_to]), *map(_call, calls[calls_at:calls_to]), *_reasoning(item)]
        text_at, calls_at = max(text_at, text_to), max(calls_at, calls_to)
    return [*blocks, *_texts(text[text_at:]), *map(_call, calls[calls_at:])]


def _place(item: dict[str, object], key: str) -> int:
    value = item.get(key, 0)
    return value if isinstance(value, int) else 0


def _reasoning(item: dict[str, Any]) -> Iterator[Block]:
    content = item.get("reasoningContent") or {}
    if sealed := content.get("redactedContent"):
        yield {"reasoningContent": {"redactedContent": base64.b64decode(sealed)}}
    elif "reasoningText" in content:
        yield {"reasoningContent": {"reasoningText": dict(content["reasoningText"])}}


def _call(call: ToolCall) -> Block:
    function = call["function"]
    try:
        arguments = parse_arguments(function["arguments"])
    except ValueError:
        arguments = {}
    return {"toolUse": {"toolUseId": _id(call["id"]), "name": _id(function["name"]), "input": arguments}}


def _result(message: Message) -> Block:
    content = _content(message["content"]) or [{"text": _NO_OUTPUT}]
    return {"toolResult": {"toolUseId": _id(message.get("tool_call_id", "")), "content": content}}


def _id(name: str) -> str:
    """`name` in the characters and the length that are allowed; different names stay different."""
    if name and len(name) <= _LONGEST_ID and not _NOT_IN_IDS.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_NOT_IN_IDS.sub('_', name)[: _LONGEST_ID - 13]}_{digest}"


def _content(content: Content | None) -> list[Block]:
    if content is None or isinstance(content, str):
        return list(_texts(content or ""))
    blocks = [block for part in content for block in _part(part)]
    if any("document" in block for block in blocks) and not any("text" in block for block in blocks):
        # A document is refused where no text stands beside it.
        blocks.insert(0, {"text": _ATTACHED})
    return blocks


def _part(part: Any) -> Iterator[Block]:
    match part["type"]:
        case "text":
            yield from _texts(part["text"])
        case "image_url":
            yield _image(part["image_url"]["url"])
        case "file":
            yield document_block(part["file"])


def _image(url: str) -> Block:
    head, _, data = url.removeprefix("data:").partition(",")
    kind = _IMAGE_FORMATS.get(head.partition(";")[0].lower())
    if not url.startswith("data:") or kind is None:
        # Converse takes the bytes of four formats only, and no address.
        shown = head if url.startswith("data:") else url
        return {"text": f"[An image that this model cannot be shown: {shown}]"}
    try:
        return {"image": {"format": kind, "source": {"bytes": base64.b64decode(data)}}}
    except binascii.Error:
        return {"text": "[An image that cannot be read]"}


def _texts(text: str) -> Iterator[Block]:
    # A block of nothing but white space is refused, and half of a surrogate pair is no text.
    if text.strip():
        yield {"text": text.encode("utf-8", "replace").decode()}


def _tools(request: ModelRequest) -> list[Block]:
    """The tools; where none are given but were used before, their bare names: calls without tools are refused."""
    if request.tools:
        return [_tool(tool["function"]) for tool in request.tools]
    calls = (call["function"]["name"] for message in request.messages for call in message.get("tool_calls", ()))
    return [_tool({"name": _id(name)}) for name in dict.fromkeys(calls)]


def _tool(function: dict[str, Any]) -> Block:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    spec: Block = {"name": function["name"], "inputSchema": {"json": schema}}
    if description := function.get("description"):
        spec["description"] = description
    return {"toolSpec": spec}


def _mark(system: list[Block], messages: list[Block], model: str, ttl: CacheTtl) -> None:
    """Mark the ends of the system prompt and of the user's last messages, for models that keep a marked prefix."""
    known, nova = claude(model), "amazon.nova-" in model.lower()
    oldest = _FIRST_CACHED_HAIKU if known is not None and known.family == "haiku" else _FIRST_CACHED_CLAUDE
    if not nova and (known is None or known.version < oldest):
        return
    longer = ttl == "1h" and known is not None and known.version >= _FIRST_WITH_HOURS
    point = {"cachePoint": {"type": "default", "ttl": ttl} if longer else {"type": "default"}}
    if system:
        system.append(point)
    # Nova refuses a mark beside tool results.
    carriers = [m for m in messages if m["role"] == "user" and not (nova and "toolResult" in m["content"][0])]
    for message in carriers[-_MARKED_MESSAGES:]:
        message["content"].append(point)
