"""Text that came in pieces, put together: how many there are depends on the pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.support.editor_frames import Frame
from tests.support.scenarios.stage import is_picture

Json = dict[str, Any]
_STREAMED = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


def merged(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames, adjacent pieces of one text as one frame, pictures of live output without their content."""
    held: Frame | None = None
    for frame in frames:
        joined = _joined(held, frame) if held is not None else None
        if joined is not None:
            held = joined
            continue
        if held is not None:
            yield held
        held = _first(frame)
    if held is not None:
        yield held


def _first(frame: Frame) -> Frame:
    if frame.ours or not is_picture(frame.update):
        return frame
    return _with_update(frame, {**frame.update, "content": "<live>"})


def _joined(one: Frame, other: Frame) -> Frame | None:
    if one.ours or other.ours or one.session_id != other.session_id or not one.update or not other.update:
        return None
    first, second = one.update, other.update
    if first["sessionUpdate"] != second["sessionUpdate"]:
        return None
    if first["sessionUpdate"] in _STREAMED:
        return _joined_text(one, first, second)
    if first.get("toolCallId") != second.get("toolCallId"):
        return None
    if first.get("content") == "<live>" and is_picture(second):
        return one
    texts = [_only_output(update) for update in (first, second)]
    if None in texts:
        return None
    output = {**first["_meta"]["terminal_output"], "data": "".join(text or "" for text in texts)}
    return _with_update(one, {**first, "_meta": {"terminal_output": output}})


def _joined_text(one: Frame, first: Json, second: Json) -> Frame | None:
    blocks = first["content"], second["content"]
    if first.get("messageId") != second.get("messageId") or any(block["type"] != "text" for block in blocks):
        return None
    text = blocks[0]["text"] + blocks[1]["text"]
    return _with_update(one, {**first, "content": {**blocks[0], "text": text}})


def _only_output(update: Json) -> str | None:
    if set(update) - {"status"} != {"sessionUpdate", "toolCallId", "_meta"} or set(update["_meta"]) != {
        "terminal_output"
    }:
        return None
    return str(update["_meta"]["terminal_output"]["data"])


def _with_update(frame: Frame, update: Json) -> Frame:
    params = {**frame.params, "update": update}
    return Frame(frame.ours, frame.at, {**frame.message, "params": params})
