"""What of a message is searched, and how text is made ready for the index. A query's words are made ready alike."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator

from agent_core.messages import FunctionCall, Message, said_in

_SAID_CHARS = 64 * 1024
_DONE_CHARS = 8 * 1024
_PARSED_CHARS = 1024 * 1024
# Scripts written without spaces: CJK, and Thai, Lao, Burmese and Khmer.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00016fe0-\U00018dff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003ffff]+"
)
# Encoded bytes: nobody looks for them, and each would be a word of its own.
_ENCODED = re.compile(r"[A-Za-z0-9+/]{256,}={0,2}")
_ESCAPES = re.compile(r'\\(?:u[0-9a-fA-F]{4}|[nrtbf"\\/])')


def searchable(message: Message) -> str:
    """The text that `message` is found by, not made ready yet; '' where it is not to be found.

    64 K characters of what was said, 8 K of the tools that an answer calls, 8 K of a tool's result.
    """
    if message.get("injected") or message["role"] == "system":
        return ""
    if message["role"] == "tool":
        return result_text(message, _DONE_CHARS)
    calls = (part for call in message.get("tool_calls", ()) for part in _of_call(call["function"]))
    return f"{said(message, _SAID_CHARS)}\n{_joined(calls, _DONE_CHARS)}".strip()


def said(message: Message, limit: int) -> str:
    """The first `limit` characters of the message's own text, without images and documents."""
    content = said_in(message)
    if isinstance(content, str):
        return content[:limit]
    return _joined((part["text"] for part in content or () if part["type"] == "text"), limit)


def result_text(message: Message, limit: int) -> str:
    """The first `limit` characters of what a tool answered, without the JSON around it."""
    text = said(message, _PARSED_CHARS)
    return _joined(_from_json(text, limit), limit) if text.lstrip()[:1] in {"{", "["} else text[:limit]


def prepared(text: str) -> str:
    """`text` for the index: one form of each character, and those of scripts without spaces each a word."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
        text = _SPACELESS.sub(lambda run: f" {' '.join(run[0])} ", text)
    return _ENCODED.sub(" ", text)


def _of_call(call: FunctionCall) -> Iterator[str]:
    yield call["name"]
    yield from _from_json(call["arguments"], _DONE_CHARS)


def _from_json(text: str, limit: int) -> Iterator[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # It was cut, or the model wrote it so.
        value = _ESCAPES.sub(" ", text[:limit])
    return _strings(value)


def _strings(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as members:
                waiting.extend(reversed(members.values()))
            case list() as members:
                waiting.extend(reversed(members))


def _joined(texts: Iterable[str], limit: int) -> str:
    kept: list[str] = []
    left = limit
    for text in texts:
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(text) + 1
    return "\n".join(kept)
