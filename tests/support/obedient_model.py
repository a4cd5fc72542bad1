"""A model that does what anybody tells it: each `DO tool {"json": …}` that it reads becomes a call of that tool.

It plays `ModelServer`'s `default`. What it reads are its user's words, its system prompt and what its tools gave,
in which a line may be numbered, fenced, quoted, or inside of JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.model_replies import Recorded, Reply, ToolCall

LAST_PROCESS = "@LAST@"
"""In an order: the background process that was started last."""

_ORDER = re.compile(r"\bDO ([a-z_0-9]+) (?=\{)", re.IGNORECASE)
_PICTURE = re.compile(r"\bSHOW (\S+)")
_PROCESS = re.compile(r"\[session_id (\w+) ")
_DECODER = json.JSONDecoder()


def order(tool: str, arguments: Mapping[str, Any]) -> str:
    """The line that makes the model call a tool."""
    return f"DO {tool} {json.dumps(arguments)}"


def obey(request: Recorded) -> Reply:
    """The next order that was not followed yet; after the last, an answer with the pictures it was told to show."""
    texts = list(_read(request.body["messages"]))
    done = sum(len(message.get("tool_calls") or ()) for message in _turn(request.body["messages"]))
    orders = list(dict.fromkeys(found for text in texts for found in _orders(text)))
    if done < len(orders):
        tool, arguments = orders[done]
        processes = [name for text in texts for name in _PROCESS.findall(text)]
        if processes:
            arguments = arguments.replace(LAST_PROCESS, processes[-1])
        return Reply(tool_calls=[ToolCall(f"call-{request.number}", tool, arguments)])
    pictures = dict.fromkeys(name for text in texts for name in _PICTURE.findall(text))
    return Reply("\n".join(["Done as told.", *(f"![seen]({name})" for name in pictures)]))


def told(request: Recorded) -> str:
    """All that the model got with a request, but its own calls."""
    return "\n".join(_read(request.body["messages"]))


def _turn(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    last = max(index for index, message in enumerate(messages) if message["role"] == "user")
    return messages[last:]


def _read(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        if message["role"] == "assistant":
            continue
        content = message.get("content") or ""
        yield content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _orders(text: str) -> Iterator[tuple[str, str]]:
    # Markdown that was made of a page has backslashes before its signs.
    plain = (text, *_unwrapped(text), text.replace("\\_", "_"))
    for reading in dict.fromkeys(plain):
        for match in _ORDER.finditer(reading):
            try:
                arguments, _ = _DECODER.raw_decode(reading, match.end())
            except ValueError:
                continue
            yield match[1].lower(), json.dumps(arguments)


def _unwrapped(text: str) -> Iterator[str]:
    """The texts inside a result that is JSON."""
    start = text.find("{")
    if start < 0:
        return
    try:
        found, _ = _DECODER.raw_decode(text, start)
    except ValueError:
        return
    yield from _strings(found)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
