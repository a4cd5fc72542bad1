"""What the editor has been sent of each open tool call, so that an update holds only what is new."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

_FINAL = frozenset({"completed", "failed"})
_NAMING = frozenset({"sessionUpdate", "toolCallId", "_meta"})
_UNKNOWN = object()
_OWN = ("title", "kind", "rawInput")


class CardFields:
    """The fields of one session's open cards as they were last sent. Safe to use from several threads.

    (ACP v1, tool calls: an update carries only the fields that change.)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[str, dict[str, Any]] = {}
        self._before_question: dict[str, dict[str, Any]] = {}

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

    def ask(self, call: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """What a permission question with these fields of a card sends: first an update of the card, then itself.

        Some clients show the question's fields, some only the card's. So both have them, and what the question has
        put on the card is known: the update that follows takes its title back.

        Returns:
            the update, None where the card is not open or has all that; and the question's `toolCall`. A call that
            runs already goes on running, and a terminal stays, unless there are changes to show.
        """
        card = dict(call)
        with self._lock:
            sent = self._sent.get(str(call.get("toolCallId")))
            if sent is None:
                return None, card
            card["status"] = sent.get("status", card["status"])
            if _has(sent.get("content"), "terminal") and not _has(card["content"], "diff"):
                card["content"] = sent["content"]
            sent.setdefault("locations", [])
            call_id = card["toolCallId"]
            before = self._before_question.pop(call_id, None) or {name: sent[name] for name in _OWN if name in sent}
            update = self._changed({"sessionUpdate": "tool_call_update", **card})
            self._before_question[call_id] = before
            return update, card

    def _changed(self, update: dict[str, Any]) -> dict[str, Any] | None:
        call_id = update["toolCallId"]
        sent = self._sent.get(call_id)
        if sent is None:
            return update
        before = self._before_question.pop(call_id, {})
        update = {**update, **{name: value for name, value in before.items() if name not in update}}
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


def _has(content: object, kind: str) -> bool:
    return isinstance(content, list) and any(item.get("type") == kind for item in content)
