"""The model of a soak: plays each plan once, keeps nothing of what it was sent."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any

from tests.soak.plans import Plan
from tests.support.model_replies import Answer, Hang, Recorded, Reply, ToolCall
from tests.support.strict_protocols import PROBLEMS

_TASK = re.compile(r"^TASK-(\d+)$", re.MULTILINE)
_PROTOCOL = "chat_completions"
_SUMMARY = "### Done\nThe tasks were worked on in turn; they say little of gates.\n### Next\nDo the next task."


class SoakModel:
    """Plays `ModelServer`'s `default`.

    It counts the steps itself, since a compression may take them out of what it is shown.

    Attributes:
        problems: what was wrong with requests.
        asked: how many requests came.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.asked = 0
        self._plans: dict[int, Plan] = {}
        self._done: dict[int, int] = {}
        self._lock = threading.Lock()

    def expect(self, plan: Plan) -> str:
        """Be ready to play it; the prompt to ask for it with."""
        with self._lock:
            for one in plan.all():
                self._plans[one.number], self._done[one.number] = one, 0
        return plan.prompt

    def forget(self, plan: Plan) -> None:
        """It will not be asked for any more, but by what goes on in the background."""
        with self._lock:
            del self._plans[plan.number], self._done[plan.number]

    def answer(self, request: Recorded) -> Answer:
        """The next answer of the plan that was asked for last."""
        body = request.body
        if not body.get("tools"):
            return Reply(_SUMMARY)
        found = [f"request {request.number}: {problem}" for problem in PROBLEMS[_PROTOCOL](body)]
        number = _asked_for(body)
        with self._lock:
            self.asked += 1
            self.problems += found
            plan, done = self._plans.get(number), self._done.get(number, 0)
            if plan is None:
                return Reply("There is nothing to do.")
            self._done[number] = done + 1
        if done < len(plan.steps):
            calls = [ToolCall(f"t{number}-{done}-{at}", *call) for at, call in enumerate(plan.steps[done])]
            return Reply(f"Step {done + 1}. ", tool_calls=calls, split=40)
        if plan.hangs:
            return Hang(Reply("I begin to think, and think on.", split=4), after=3)
        return Reply(plan.last, split=30)


def _asked_for(body: Mapping[str, Any]) -> int:
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            content = message["content"]
            text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
            if found := _TASK.findall(text):
                return int(found[-1])
    return 0
