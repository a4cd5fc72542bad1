"""What a port has to say about how a call's effects came about, put into its result for the model and the person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tools.result import ShownText, ToolResult


def remarked(result: ToolResult, remarks: Sequence[str]) -> ToolResult:
    """`result` with `remarks` as its `note`, or at the end of its error; whole sentences each."""
    if not remarks:
        return result
    said = " ".join(remarks)
    # A result that shows nothing of its own is shown as its text.
    shown = (*result.shown, ShownText(said)) if result.shown else ()
    return with_value(replace(result, text=_with(result.text, said), shown=shown), said)


def with_value(result: ToolResult, said: str, key: str = "note") -> ToolResult:
    """The result with `said` in what a program gets of it: as `key`, or at the end of its error."""
    value = result.value
    return result if value is None else replace(result, value=lambda: _joined(value(), said, key))


def _with(text: str, said: str) -> str:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict):
        return f"{text}\n\n{said}"
    return json.dumps(_joined(payload, said, "note"), ensure_ascii=False)


def _joined(payload: Mapping[str, Any], said: str, key: str) -> dict[str, Any]:
    key = "error" if isinstance(payload.get("error"), str) else key
    before = f"{payload[key]} " if isinstance(payload.get(key), str) else ""
    return {**payload, key: f"{before}{said}"}
