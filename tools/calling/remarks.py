"""What a port has to say about how a call's effects came about, put into its result for the model and the person."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tools.result import ShownText, ToolResult


def remarked(result: ToolResult, remarks: Sequence[str]) -> ToolResult:
    """`result` with `remarks` as its `note`, or at the end of its error; whole sentences each."""
    if not remarks:
        return result
    said = " ".join(remarks)
    # A result that shows nothing of its own is shown as its text.
    shown = (*result.shown, ShownText(said)) if result.shown else ()
    return replace(result, text=_with(result.text, said), shown=shown)


def _with(text: str, said: str) -> str:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict):
        return f"{text}\n\n{said}"
    key = "error" if isinstance(payload.get("error"), str) else "note"
    before = f"{payload[key]} " if isinstance(payload.get(key), str) else ""
    return json.dumps({**payload, key: f"{before}{said}"}, ensure_ascii=False)
