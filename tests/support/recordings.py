"""A recording as tests need it: a connection in which everything happens that a page shows."""

from __future__ import annotations

import json
from typing import Any


def sample_lines(*, run: str = "r1") -> list[str]:
    """A session with streamed text, an edit with a question, an error, a request without an answer, a stray line."""
    told = [
        json.dumps({"recording": 1, "run": run, "program": "hermes-acp 9", "pid": 1, "at": "2026-11-22T10:00:00Z"})
    ]
    told += [json.dumps({"run": run, "dir": way, "t": at, **_body(said)}) for way, at, said in _LINES]
    return told


def _body(said: Any) -> dict[str, Any]:
    return {"line": said} if isinstance(said, str) else {"frame": {"jsonrpc": "2.0", **said}}


def _update(named: str, **fields: Any) -> dict[str, Any]:
    update = {"sessionUpdate": named, **fields}
    return {"method": "session/update", "params": {"sessionId": "s1", "update": update}}


def _text(text: str) -> dict[str, Any]:
    return _update("agent_message_chunk", content={"type": "text", "text": text})


_DIFF = {"type": "diff", "path": "/srv/sums.py", "oldText": "return a - b\n", "newText": "return a + b\n"}
_HOSTILE = "</script><img src=x onerror=alert(1)>"
_PROMPT = {"sessionId": "s1", "prompt": [{"type": "text", "text": "Mend it."}]}
_CARD = {"toolCallId": "t1", "title": "Edit sums.py", "kind": "edit", "status": "pending", "content": [_DIFF]}
_QUESTION = {"sessionId": "s1", "toolCall": {"title": "Edit sums.py"}}
_WRITING = {"sessionId": "s1", "path": "/srv/sums.py", "content": "x"}
_LINES: list[tuple[str, float, Any]] = [
    ("out", 0.0, {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "an editor", "version": "7"}}}),
    ("in", 0.02, {"id": 0, "result": {"agentInfo": {"name": "hermes-acp", "version": "9"}}}),
    ("out", 0.1, {"id": "a", "method": "session/new", "params": {"cwd": "/srv"}}),
    ("in", 1.3, {"id": "a", "result": {"sessionId": "s1"}}),
    ("out", 2.0, {"id": 2, "method": "session/prompt", "params": _PROMPT}),
    ("in", 2.1, _text("I look ")),
    ("in", 2.2, _text("at ")),
    ("in", 2.3, _text(_HOSTILE)),
    ("in", 2.4, _update("tool_call", **_CARD)),
    ("in", 2.5, {"id": 2, "method": "session/request_permission", "params": _QUESTION}),
    ("out", 9.5, {"id": 2, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}}),
    ("in", 9.6, {"id": 3, "method": "fs/write_text_file", "params": _WRITING}),
    ("out", 9.7, {"id": 3, "error": {"code": -32603, "message": "The disk is full."}}),
    ("in", 9.8, "a print of somebody's"),
    ("in", 9.9, {"id": 2, "result": {"stopReason": "end_turn"}}),
    ("out", 10.0, {"id": 5, "method": "session/list", "params": {}}),
    ("in", 10.1, {"id": 77, "result": {}}),
]  # fmt: skip
