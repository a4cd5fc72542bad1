"""The arguments of a tool call, made valid where that is safe: the history holds JSON that every server takes."""

from __future__ import annotations

import json
from typing import Any

_EMPTY = "{}"
_CUT = (
    "The output limit cut this call off before its arguments were complete; nothing was run. "
    "Send it again in smaller pieces (a long file: write the first part, then add to it)."
)


def settled_arguments(text: str, *, cut: bool = False) -> tuple[str, str | None]:
    """The text of a JSON object, and what is wrong with the call if it must not run.

    Valid arguments stay byte for byte. Others are repaired, but never by inventing an end: half a file's content
    must not be written as if it were the whole.

    Args:
        cut: the answer was cut off at the output limit, and this call was the last of it.
    """
    if not text.strip():
        return (_EMPTY, _CUT) if cut else (_EMPTY, None)
    found = _parsed(text)
    if isinstance(found, str):  # an object that was encoded twice
        inner = _parsed(found)
        return (found, None) if isinstance(inner, dict) else (_EMPTY, _not_an_object(text))
    if isinstance(found, dict):
        return text, None
    if found is not None:
        return _EMPTY, _not_an_object(text)
    if cut:
        return _EMPTY, _CUT
    repaired = _repaired(text)
    return (_EMPTY, _not_an_object(text)) if repaired is None else (repaired, None)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> str | None:
    if not text.rstrip().endswith("}"):
        return None
    try:
        value = json.loads(text, strict=False)  # raw line breaks and tabs within strings
    except (ValueError, RecursionError):
        value = _mended(text)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and value else None


def _mended(text: str) -> Any:
    import json_repair  # noqa: PLC0415 - only for the rare call that is broken

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None


def _not_an_object(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as problem:
        return f"The arguments are not valid JSON ({problem}). Nothing was run. Send one JSON object."
    return "The arguments must be one JSON object. Nothing was run."
