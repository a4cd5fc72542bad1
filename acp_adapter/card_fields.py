"""What the editor has been sent, as far as the next update depends on it: the fields of open cards, and whether its
last line of text is finished.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

_FINAL = frozenset({"completed", "failed"})
_NAMING = frozenset({"sessionUpdate", "toolCallId", "_meta"})
_UNKNOWN = object()
_GAP = "\n\n"
_OWN = ("title", "kind", "rawInput", "locations")


class CardFields:
    """The fields of one session's open cards as they were last sent. Safe to use from several threads.

    (ACP v1, tool calls: an update carries only the fields that change. The status is repeated all the same: a popular
    extension takes an update without one for the end of the call.)

    It also keeps a message from beginning in the middle of another's line: many clients run together whatever text
    comes, and a notice would read as a part of the answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[str, dict[str, Any]] = {}
        # The message whose text was sent last, and how that ends.
        self._message: object = None
        self._end = _GAP
        self._before_question: dict[str, dict[str, Any]] = {}

    def trim(self, update: dict[str, Any]) -> dict[str, Any] | None:
        """`update` without what the editor has already; None where nothing is left to send."""
        with self._lock:
            match update.get("sessionUpdate"):
                case "tool_call":
                    self._end = _GAP
                    self._sent[update["toolCallId"]] = _fields(update)
                case "tool_call_update":
                    return self._changed(update)
                case "agent_message_chunk":
                    return self._apart(update)
                case "user_message_chunk" | "plan":
                    self._end = _GAP
        return update

    def prompted(self) -> None:
        """The person has said something, which the editor shows by itself: what comes next is behind that."""
        with self._lock:
            self._end = _GAP

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
        head = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": sent.get("status", "pending")}
        return head | {name: value for name, value in update.items() if name in _NAMING or name in new}

    def _apart(self, update: dict[str, Any]) -> dict[str, Any]:
        """The update with a blank line before its text, where another message's line would go on with it."""
        message, content = update.get("messageId"), update["content"]
        text = content.get("text", "")
        if not text:
            return update
        gap = "" if message == self._message else _GAP.removeprefix(self._end[len(self._end.rstrip("\n")) :])
        gap = gap[len(text) - len(text.lstrip("\n")) :]
        self._message, self._end = message, (self._end + text)[-len(_GAP) :]
        return {**update, "content": {**content, "text": gap + text}} if gap else update


def _fields(card: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in card.items() if name not in _NAMING}


def _has(content: object, kind: str) -> bool:
    return isinstance(content, list) and any(item.get("type") == kind for item in content)
