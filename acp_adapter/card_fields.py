"""What the editor has been sent of each open tool call, so that an update holds only what is new."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

_FINAL = frozenset({"completed", "failed"})
_NAMING = frozenset({"sessionUpdate", "toolCallId", "_meta"})
_UNKNOWN = object()


class CardFields:
    """The fields of one session's open cards as they were last sent. Safe to use from several threads.

    (ACP v1, tool calls: an update carries only the fields that change.)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[str, dict[str, Any]] = {}

    def trim(self, update: dict[str, Any]) -> dict[str, Any] | None:
        """`update` without what the editor has already; None where nothing is left to send."""
        match update.get("sessionUpdate"):
            case "tool_call":
                with self._lock:
                    self._sent[update["toolCallId"]] = _fields(update)
            case "tool_call_update":
                with self._lock:
                    return self._changed(update)
        return update

    def fold(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """What a permission question with these fields of a card sends: a call that runs already goes on running.

        Some editors take the fields over into the card, some show them with the question only. So what is not the
        same in both is sent again.
        """
        with self._lock:
            sent = self._sent.get(str(call.get("toolCallId")))
            if sent is None:
                return dict(call)
            if sent.get("status") == "in_progress":
                call = {name: value for name, value in call.items() if name != "status"}
            asked = _fields(call).items()
            sent.update({name: _UNKNOWN for name, value in asked if sent.get(name, _UNKNOWN) != value})
            return dict(call)

    def _changed(self, update: dict[str, Any]) -> dict[str, Any] | None:
        call_id = update["toolCallId"]
        sent = self._sent.get(call_id)
        if sent is None:
            return update
        fields = _fields(update)
        new = {name: value for name, value in fields.items() if sent.get(name, _UNKNOWN) != value}
        if fields.get("status") in _FINAL:
            del self._sent[call_id]
        else:
            sent.update(new)
        if not new and "_meta" not in update:
            return None
        return {name: value for name, value in update.items() if name in _NAMING or name in new}


def _fields(card: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in card.items() if name not in _NAMING}
