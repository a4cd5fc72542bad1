"""What went over the wire, as the fake editor keeps it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Frame:
    """One message. `ours` tells that the editor sent it; `at` is monotonic time."""

    ours: bool
    at: float
    message: dict[str, Any]

    @classmethod
    def sent(cls, message: dict[str, Any]) -> Self:
        return cls(True, time.monotonic(), message)

    @classmethod
    def received(cls, message: dict[str, Any]) -> Self:
        return cls(False, time.monotonic(), message)

    @property
    def id(self) -> Any:
        return self.message.get("id")

    @property
    def method(self) -> str | None:
        return self.message.get("method")

    @property
    def params(self) -> dict[str, Any]:
        return self.message.get("params") or {}

    @property
    def update(self) -> dict[str, Any]:
        """The update of a session/update, else an empty object."""
        return self.params.get("update", {}) if self.method == "session/update" else {}

    @property
    def session_id(self) -> str | None:
        return self.params.get("sessionId")

    def is_update(self, session_id: str, kind: str | None = None) -> bool:
        """Tell whether this is an update of that session (and of that kind)."""
        if self.ours or not self.update or self.session_id != session_id:
            return False
        return kind is None or self.update.get("sessionUpdate") == kind


def merged_cards(updates: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Tool calls by id after all their updates: a field that comes again replaces what it was."""
    cards: dict[str, dict[str, Any]] = {}
    for update in updates:
        if update["sessionUpdate"] == "tool_call":
            cards[update["toolCallId"]] = {"status": "pending", **update}
        elif update["sessionUpdate"] == "tool_call_update":
            cards.setdefault(update["toolCallId"], {}).update(update)
    for card in cards.values():
        card.pop("sessionUpdate", None)
    return cards


def summary(frames: Sequence[Frame], exit_code: int | None = None, stderr: str = "") -> str:
    """The end of a conversation, for the message of a failed test."""
    lines = ["The last messages:"]
    for frame in frames[-8:]:
        text = json.dumps(frame.message, ensure_ascii=False)
        lines.append(f"  {'editor' if frame.ours else 'agent '} {text[:300]}")
    if exit_code is not None:
        lines.append(f"The process ended with exit code {exit_code}.")
    if stderr.strip():
        lines.append(f"Its stderr:\n{stderr[-2000:]}")
    return "\n".join(lines)
