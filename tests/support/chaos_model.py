"""A model that does what its prompts have planned, and looks at each request as a strict server would."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.model_replies import Answer, Recorded, Reply, ToolCall
from tests.support.strict_protocols import chat_problems

_MARK = "PLAN "
Call = tuple[str, Mapping[str, Any]]
Plan = Sequence[Sequence[Call]]


def planned(plan: Plan, last: str) -> str:
    """The words of a prompt, or of a goal: the calls of each answer, and the last words."""
    return _MARK + json.dumps({"steps": plan, "last": last})


class PlannedModel:
    """Plays `ModelServer`'s `default`.

    Attributes:
        problems: what was wrong with requests.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def answer(self, request: Recorded) -> Answer:
        """The next answer of the plan that the last prompt with one has."""
        body = request.body
        if not body.get("tools"):
            return Reply("Nothing of note.")
        if found := list(chat_problems(body)):
            with self._lock:
                self.problems += [f"request {request.number}: {problem}" for problem in found]
        messages = body["messages"]
        position, plan = _last_plan(messages)
        done = sum(1 for message in messages[position:] if message.get("tool_calls"))
        if done >= len(plan["steps"]):
            return Reply(plan["last"], split=4)
        calls = [
            ToolCall(f"c{request.number}-{number}", name, arguments)
            for number, (name, arguments) in enumerate(plan["steps"][done])
        ]
        return Reply(f"Step {done + 1}. ", tool_calls=calls, split=20 if done % 2 else 0)


def _last_plan(messages: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    for position in range(len(messages) - 1, -1, -1):
        text = _text(messages[position])
        if messages[position]["role"] == "user" and _MARK in text:
            found, _ = json.JSONDecoder().raw_decode(text, text.index(_MARK) + len(_MARK))
            return position, found
    return len(messages), {"steps": [], "last": "There is no plan."}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
