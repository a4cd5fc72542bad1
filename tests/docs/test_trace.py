"""The messages of docs/trace.md are those that the agent sends."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.doc_blocks import DocBlock, blocks
from tests.support.editor import PLAIN
from tests.support.editor_profiles import SHOWS_NAMES
from tests.support.in_memory import serving

_LIVE = {**SHOWS_NAMES, "_meta": {"terminal_output": True, **SHOWS_NAMES["_meta"]}}
_TEXTS, *_BLOCKS = [block for block in blocks("trace.md") if block.language in {"text", "json"}]
_LONG = next(block for block in _BLOCKS if "Full output" in block.code)
_OF_OTHERS = next(block for block in _BLOCKS if block is not _LONG and "```" in block.code)


def _messages(block: DocBlock) -> list[dict[str, Any]]:
    decoder, found, rest = json.JSONDecoder(), [], block.code.strip()
    while rest:
        message, end = decoder.raw_decode(rest)
        found.append(message)
        rest = rest[end:].strip()
    return found


async def _sent(home: Path, workspace: Path, profile: Mapping[str, Any], prompt: str) -> list[Any]:
    """Updates and requests that the agent sent, with the names that the page has for what differs."""
    async with serving(home) as editor:
        await editor.initialize(profile)
        session = await editor.new_session(workspace)
        await editor.prompt(session, prompt)
        frames = [frame.message for frame in editor.frames if not frame.ours]
    text = json.dumps(frames)
    names = dict.fromkeys(re.findall(r'"toolCallId": "([^"]+)"', text))
    for number, name in enumerate(names, 1):
        text = text.replace(name, f"call-{number}")
    for place, shown in (
        (str(workspace.resolve()), "/ws"),
        (str(home), "/home/me/.hermes"),
        (f"{workspace.name}/", "ws/"),
    ):
        text = text.replace(place, shown)
    messages = json.loads(text)
    updates = [message["params"]["update"] for message in messages if "update" in message.get("params", {})]
    return [*messages, *_joined(updates)]


def _joined(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The updates, with the pieces of a message as one: how many there are is up to the pipe."""
    found: list[dict[str, Any]] = []
    for update in updates:
        last = found[-1] if found else {}
        if "messageId" in update and update["messageId"] == last.get("messageId"):
            last["content"]["text"] += update["content"]["text"]
        else:
            found.append(update)
    return found


def _fits(shown: Any, sent: Any) -> bool:
    """Whether what the page shows is in what was sent: fields may be left out, «…» is any text, times differ."""
    if isinstance(shown, dict):
        return isinstance(sent, dict) and all(
            key in sent and (key == "duration" or _fits(value, sent[key])) for key, value in shown.items()
        )
    if isinstance(shown, list):
        return isinstance(sent, list) and len(shown) == len(sent) and all(map(_fits, shown, sent))
    if isinstance(shown, str) and isinstance(sent, str):
        pattern = ".*".join(map(re.escape, re.split(r"…|session-1|turn-1", shown)))
        return re.fullmatch(pattern, sent, re.DOTALL) is not None
    return bool(shown == sent)


@pytest.mark.parametrize("live", [True, False], ids=["live terminal", "other clients"])
async def test_the_turn_of_the_page_sends_the_messages_of_the_page(home: Path, workspace: Path, live: bool) -> None:
    sent = await _sent(home, workspace, _LIVE if live else SHOWS_NAMES, _TEXTS.code.strip())
    without = (_OF_OTHERS, _LONG) if live else (_LONG, *(block for block in _BLOCKS if "terminal_info" in block.code))
    shown = [message for block in _BLOCKS if block not in without for message in _messages(block)]
    assert len(shown) > 5
    assert [message for message in shown if not any(_fits(message, each) for each in sent)] == []


async def test_a_long_result_is_shown_as_on_the_page(home: Path, workspace: Path) -> None:
    sent = await _sent(home, workspace, PLAIN, "say a\nsay b\nrun seq 1 50000")
    [shown] = _messages(_LONG)
    shown = json.loads(json.dumps(shown).replace("call-3", "call-1"))
    assert [each for each in sent if _fits(shown, each)]


def test_a_message_that_is_not_sent_is_found() -> None:
    sent = {"title": "Edit sums.py", "more": 1, "rawOutput": {"duration": 2}}
    assert _fits({"title": "Edit …", "rawOutput": {"duration": 1}}, sent)
    assert not _fits({"title": "Edit it"}, sent)
    assert not _fits({"kind": "edit"}, sent)
