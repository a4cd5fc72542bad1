"""A model that does what its prompts have planned, and looks at each request as a strict server would."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.support.model_anthropic import AnthropicDialect
from tests.support.model_chat import ChatDialect
from tests.support.model_replies import Answer, Recorded, Reply, ToolCall
from tests.support.model_responses import ResponsesDialect
from tests.support.strict_protocols import PROBLEMS

_MARK = "PLAN "
_BEGINS = re.compile(rf"^{_MARK}", re.MULTILINE)
"""Where a plan stands: the titles of sub-agents in news have one in the middle of a line."""
Call = tuple[str, Mapping[str, Any]]
Plan = Sequence[Sequence[Call]]


def planned(plan: Plan, last: str) -> str:
    """The words of a prompt, or of a goal: the calls of each answer, and the last words."""
    return _MARK + json.dumps({"steps": plan, "last": last})


class PlannedModel:
    """Plays `ModelServer`'s `default`, in each protocol that it speaks.

    Attributes:
        problems: what was wrong with requests.
        protocols: those that were spoken.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.protocols: set[str] = set()
        self._lock = threading.Lock()

    def answer(self, request: Recorded) -> Answer:
        """The next answer of the plan that the last prompt with one has."""
        body = request.body
        if not body.get("tools"):
            return Reply("Nothing of note.")
        protocol = protocol_of(request)
        found = list(PROBLEMS[protocol](body))
        with self._lock:
            self.protocols.add(protocol)
            self.problems += [f"request {request.number}: {problem}" for problem in found]
        done, plan = _progress(_SAID[protocol](body))
        if done >= len(plan["steps"]):
            return Reply(plan["last"], split=4)
        calls = [
            ToolCall(f"c{request.number}-{number}", name, arguments)
            for number, (name, arguments) in enumerate(plan["steps"][done])
        ]
        return Reply(f"Step {done + 1}. ", tool_calls=calls, split=20 if done % 2 else 0)


def protocol_of(request: Recorded) -> str:
    """The name of the protocol that a request is written in."""
    return _BY_PATH[request.path.partition("?")[0]]


def _progress(said: Iterable[str | None]) -> tuple[int, dict[str, Any]]:
    """The last plan, and how many of its answers were given: a text is the person's, None an answer with calls."""
    done = 0
    plan: dict[str, Any] = {"steps": [], "last": "There is no plan."}
    for text in said:
        if text is None:
            done += 1
        elif (found := _BEGINS.search(text)) is not None:
            plan, _ = json.JSONDecoder().raw_decode(text, found.end())
            done = 0
    return done, plan


def _in_chat(body: Mapping[str, Any]) -> Iterator[str | None]:
    for message in body["messages"]:
        if message.get("tool_calls"):
            yield None
        elif message["role"] == "user":
            yield _text(message["content"])


def _in_anthropic(body: Mapping[str, Any]) -> Iterator[str | None]:
    for message in body["messages"]:
        if any(block["type"] == "tool_use" for block in message["content"]):
            yield None
        elif message["role"] == "user":
            yield _text(message["content"])


def _in_responses(body: Mapping[str, Any]) -> Iterator[str | None]:
    before = ""
    for item in body["input"]:
        if item["type"] == "function_call" != before:
            yield None
        elif item.get("role") == "user":
            yield _text(item["content"])
        before = item["type"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


_BY_PATH = {
    ChatDialect.path: "chat_completions",
    AnthropicDialect.path: "anthropic_messages",
    ResponsesDialect.path: "codex_responses",
}
PROTOCOLS = tuple(_BY_PATH.values())
_SAID = dict(zip(PROTOCOLS, (_in_chat, _in_anthropic, _in_responses), strict=True))
