"""What a recording may say of a message: no secret, no values of variables and headers, nothing of enormous size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.redaction.redactor import Redact
from tools.redaction.structure import redacted

Entry = dict[str, Any]
"""A line of a recording: `dir`, `t`, and `frame` (the message) or `line` (what was none)."""

_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_NAMED_VALUES = frozenset({"env", "headers"})
HIDDEN = "[redacted: value]"
_MOST_TEXT = 100_000
_KEPT_TEXT = 20_000
_MOST_HELD = 500


class Cleaner:
    """Cleans the lines of one recording, in their order.

    A secret may come in pieces, in several chunks of one message. So chunks that follow one another are held back
    until something else comes, and are judged as one text.
    """

    def __init__(self, redacting: Redact) -> None:
        self._redact = redacting
        self._held: list[Entry] = []

    @property
    def holds(self) -> bool:
        """Whether lines are held back."""
        return bool(self._held)

    def cleaned(self, entry: Entry) -> Iterator[Entry]:
        """The lines that can be written now that `entry` came: those that were held back, and it, or neither."""
        chunk = _stream(entry)
        if self._held and (chunk is None or chunk != _stream(self._held[0]) or len(self._held) >= _MOST_HELD):
            yield from self.rest()
        if chunk is not None:
            self._held.append(entry)
            return
        yield redacted(_bounded(_without_values(entry)), self._redact)

    def rest(self) -> Iterator[Entry]:
        """The lines that are held back."""
        held, self._held = self._held, []
        texts = [_text(entry) for entry in held]
        clean = self._redact("".join(texts))
        if clean == "".join(texts):
            yield from (redacted(_bounded(entry), self._redact) for entry in held)
            return
        for place, entry in enumerate(held):
            whole = clean if place == 0 else ""
            update = entry["frame"]["params"]["update"]
            content = {**update["content"], "text": whole}
            params = {**entry["frame"]["params"], "update": {**update, "content": content}}
            yield redacted(_bounded({**entry, "frame": {**entry["frame"], "params": params}}), self._redact)


def _stream(entry: Entry) -> tuple[object, ...] | None:
    """Which text this line is a piece of; None for a line that is no piece of one."""
    match entry.get("frame"):
        case {
            "method": "session/update",
            "params": {
                "sessionId": str(session),
                "update": {"sessionUpdate": str(kind), "content": {"type": "text", "text": str()}},
            },
        } if kind in _CHUNKS:
            return (entry["dir"], session, kind)
    return None


def _text(entry: Entry) -> str:
    text = entry["frame"]["params"]["update"]["content"]["text"]
    return text if isinstance(text, str) else ""


def _without_values(value: Any) -> Any:
    """`value` without the values of environment variables and HTTP headers: they are what keys are passed in."""
    if isinstance(value, list):
        return [_without_values(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _hidden(each) if key in _NAMED_VALUES else _without_values(each) for key, each in value.items()}


def _hidden(values: Any) -> Any:
    if isinstance(values, list):
        return [{**each, "value": HIDDEN} if isinstance(each, dict) and "value" in each else each for each in values]
    if isinstance(values, dict):
        return dict.fromkeys(values, HIDDEN)
    return values


def _bounded(value: Any) -> Any:
    """`value` with what is enormous in it cut: a picture is not what a recording is read for."""
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        return f"{value[:_KEPT_TEXT]}… [{len(value) - _KEPT_TEXT} characters left out of the recording]"
    if isinstance(value, list):
        return [_bounded(each) for each in value]
    if isinstance(value, dict):
        return {key: _bounded(each) for key, each in value.items()}
    return value
