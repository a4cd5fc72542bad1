"""A model request as a server's cache sees it: what comes before the conversation, then block after block."""

from __future__ import annotations

import json
from typing import Any

PARTS = {"chat_completions": "messages", "anthropic_messages": "messages", "codex_responses": "input"}
"""The field of a request that has the conversation, by protocol."""

_MARK = '"cache_control"'


def unmarked(value: Any) -> Any:
    """Without cache markers, which move along with the conversation's end."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


def head(body: dict[str, Any], part: str) -> str:
    """What comes before the conversation; the order of the fields counts."""
    return json.dumps(unmarked({key: value for key, value in body.items() if key != part}))


def entries(body: dict[str, Any], part: str) -> list[str]:
    """The conversation's blocks, one after the other: a message that grows by a block has kept its beginning."""
    found = []
    for message in body[part]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [content]
        frame = {key: value for key, value in message.items() if key != "content"}
        found += [_text([frame, block]) for block in blocks]
    return found


def _text(entry: list[Any]) -> str:
    text = json.dumps(entry)
    return json.dumps(unmarked(entry)) if _MARK in text else text
