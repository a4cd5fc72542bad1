"""The model behind the agent: does what a prompt has planned, keeps each request, stands still where it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.model.calls import MARK
from tests.support.model_replies import Answer, Gate, Recorded, Reply, ToolCall
from tests.support.strict_protocols import PROBLEMS


class ToldModel:
    """Plays `ModelServer`'s `default`.

    Attributes:
        problems: what was wrong with requests.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._requests: dict[str, list[Mapping[str, Any]]] = {}
        self._held: dict[tuple[str, int], tuple[Gate, int]] = {}
        self._lock = threading.Lock()

    def hold(self, name: str, step: int, after: int) -> Gate:
        """Stand still in the answer number `step` of a turn, after so many pieces of it."""
        gate = Gate()
        with self._lock:
            self._held[name, step] = gate, after
        return gate

    def let_go(self) -> None:
        """Hold nothing any more."""
        with self._lock:
            for gate, _ in self._held.values():
                gate.set()
            self._held.clear()

    def requests(self, name: str) -> list[Mapping[str, Any]]:
        """The bodies of a turn's requests."""
        with self._lock:
            return list(self._requests.get(name, ()))

    def offered(self, name: str, step: int, tool: str) -> bool:
        """Whether the request that a turn's answer number `step` came from has offered a tool."""
        requests = self.requests(name)
        tools = requests[step]["tools"] if step < len(requests) else ()
        return any(each["function"]["name"] == tool for each in tools)

    def answer(self, request: Recorded) -> Answer:
        """The next answer of the plan that the last prompt has."""
        body = request.body
        if not body.get("tools"):
            return Reply("Nothing of note.")
        plan, done = _progress(body["messages"])
        name, steps = plan["name"], plan["steps"]
        with self._lock:
            self.problems += [f"request of {name}: {problem}" for problem in PROBLEMS["chat_completions"](body)]
            self._requests.setdefault(name, []).append(body)
            gate, after = self._held.get((name, done), (None, 0))
        if done >= len(steps):
            return Reply(f"All of {name} is done.", split=4, gate=gate, gate_after=after)
        calls = [
            ToolCall(f"{name}-{done}-{place}", tool, arguments) for place, (tool, arguments) in enumerate(steps[done])
        ]
        return replace(Reply(f"Step {done + 1}. ", tool_calls=calls, split=30), gate=gate, gate_after=after)


def _progress(messages: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    plan: dict[str, Any] = {"name": "", "steps": []}
    done = 0
    for message in messages:
        if message.get("tool_calls"):
            done += 1
        elif message["role"] == "user" and (at := str(message["content"]).find(MARK)) >= 0:
            plan, _ = json.JSONDecoder().raw_decode(message["content"], at + len(MARK))
            done = 0
    return plan, done
