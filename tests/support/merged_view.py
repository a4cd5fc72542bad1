"""What a client shows after a stream of `session/update` payloads: messages merged, cards as they ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_CHUNKS = {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"}


@dataclass(slots=True)
class MergedView:
    """A client's picture of a session.

    Attributes:
        entries: messages and cards from top to bottom. Text goes on with the entry above it if that is the same
            message; a card stays where it appeared first.
        plan: its entries; an empty plan is the same as none, and so are no places.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    plan: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    other: dict[str, dict[str, Any]] = field(default_factory=dict)

    def fold(self, update: dict[str, Any]) -> None:
        """Take one more update, as the wire carried it."""
        update = dict(update)
        kind = update.pop("sessionUpdate")
        if kind in _CHUNKS:
            self._add_chunk(kind, update)
        elif kind in {"tool_call", "tool_call_update"}:
            self._change_card(update, is_new=kind == "tool_call")
        elif kind == "plan":
            self.plan = update["entries"]
        elif kind == "usage_update":
            self.usage = update
        else:
            self.other[kind] = update

    def card(self, call_id: str) -> dict[str, Any]:
        """The card of a call."""
        return next(entry for entry in self.entries if entry.get("toolCallId") == call_id)

    def texts(self, kind: str = "agent_message_chunk") -> list[str]:
        """The text of each message of that kind."""
        return [
            "".join(block.get("text", "") for block in entry["content"])
            for entry in self.entries
            if entry["kind"] == kind
        ]

    def _add_chunk(self, kind: str, update: dict[str, Any]) -> None:
        block = update["content"]
        if block.get("text") == "":
            return
        last = self.entries[-1] if self.entries else {}
        if last.get("kind") != kind or last.get("messageId") != update["messageId"]:
            last = {"kind": kind, "messageId": update["messageId"], "content": []}
            self.entries.append(last)
        blocks = last["content"]
        if blocks and block["type"] == blocks[-1]["type"] == "text":
            blocks[-1]["text"] += block["text"]
        else:
            blocks.append(dict(block))  # a view changes no message: another is made of the same ones

    def _change_card(self, update: dict[str, Any], *, is_new: bool) -> None:
        call_id, meta = update["toolCallId"], update.pop("_meta", {})
        found = [entry for entry in self.entries if entry.get("toolCallId") == call_id]
        if not found:
            assert is_new, f"an update of a card that was never made: {update}"
            found = [{"kind": "card", "terminal": {}, "data": ""}]
            self.entries += found
        card = found[0]
        card["terminal"] |= meta.get("terminal_info", {}) | meta.get("terminal_exit", {})
        card["data"] += meta.get("terminal_output", {}).get("data", "")
        card.update({name if name != "kind" else "look": value for name, value in update.items()})
        if card.get("locations") == []:
            del card["locations"]


def merged_view(updates: Iterable[dict[str, Any]]) -> MergedView:
    """The picture after all `updates`."""
    view = MergedView()
    for update in updates:
        view.fold(update)
    return view
