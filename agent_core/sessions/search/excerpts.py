"""What is told of a message: a bounded piece of its text, around what was found in it."""

from __future__ import annotations

import re

from agent_core.messages import Message
from agent_core.sessions.search.texts import result_text, said

_MAX_TEXT = 256 * 1024
_MAX_CALL = 200
_LEAD = 0.3
_CUT = "…"


def told(message: Message) -> str:
    """The message in words: its text, the tools it calls with the beginning of their arguments, a tool's answer."""
    if message["role"] == "tool":
        return _clean(result_text(message, _MAX_TEXT))
    calls = [
        f"[{call['function']['name']} {beginning(call['function']['arguments'], _MAX_CALL)}]"
        for call in message.get("tool_calls", ())
    ]
    return _clean("\n".join(part for part in (said(message, _MAX_TEXT), *calls) if part))


def beginning(text: str, limit: int) -> str:
    """`text`, cut after `limit` characters."""
    return text if len(text) <= limit else text[:limit].rstrip() + _CUT


def around_match(text: str, pattern: re.Pattern[str], limit: int) -> str:
    """About `limit` characters of `text` with the first place that `pattern` fits, else its beginning."""
    if len(text) <= limit:
        return text
    match = pattern.search(text)
    start = max(0, match.start() - int(limit * _LEAD)) if match else 0
    if start == 0:
        return beginning(text, limit)
    start = min(start, len(text) - limit)
    return _CUT + beginning(text[start:], limit).lstrip()


def _clean(text: str) -> str:
    # A model may have written half of a surrogate pair, which no file and no socket takes.
    return text.encode("utf-8", "replace").decode("utf-8").strip()
