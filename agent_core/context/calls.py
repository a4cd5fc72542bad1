"""Tool calls of a history with what they gave, read for what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_core.messages import Message, text_of
from tools.light_dataclass import dataclass
from tools.result import reason_of
from tools.toolsets import MORE_TOOLS, meant

_DECODER = json.JSONDecoder(strict=False)
_LONGEST_PAYLOAD = 200_000
_OF_COMMANDS = frozenset({"exit_code", "signal", "timed_out"})
_ENDING = re.compile(r"^\[(.+)\]$", re.MULTILINE)
_LONGEST_ENDING = 2_000
_CODE = re.compile(r'"exit_code": (-?\d{1,9})\b')
_FENCE = re.compile(r"\[untrusted (\w+) [^\n\]]*\]")
_WHERE_FENCES_BEGIN = 200


@dataclass(slots=True)
class MadeCall:
    """A call with its result; what is read from it is read once.

    Attributes:
        text: the result's text.
        position: where the result is in the history.
    """

    id: str
    name: str
    raw_arguments: str
    result: Message
    text: str
    position: int
    _arguments: Mapping[str, Any] | None = None
    _problem: str | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments; empty where they are no JSON object."""
        if self._arguments is None:
            self._arguments = _object(self.raw_arguments)
        return self._arguments

    @property
    def outcome(self) -> Mapping[str, Any] | None:
        """What came of the call, for programs; None where an earlier version has stored it: then its text says it."""
        return self.result.get("outcome")

    @property
    def problem(self) -> str:
        """What a failed call says; '' for one that did not fail, and for a command that did."""
        if self._problem is None:
            self._problem = self._read_problem()
        return self._problem

    def _read_problem(self) -> str:
        outcome = self.outcome
        if outcome is not None:
            is_command = not outcome.keys().isdisjoint(_OF_COMMANDS)
            return reason_of(self.text) if outcome.get("failed") and not is_command else ""
        # A result is not read whole only to find that it is no failure.
        said = payload_of(self.text).get("error") if self.text.startswith('{"error"') else ""
        return said if isinstance(said, str) else ""

    @property
    def fence(self) -> re.Match[str] | None:
        """The line that marks the result as written by others; group 1 is its number."""
        return _FENCE.search(self.text, 0, _WHERE_FENCES_BEGIN)

    @property
    def exit_code(self) -> int | None:
        """The exit code in a command's result; None where there is none."""
        if self.outcome is not None:
            code = self.outcome.get("exit_code")
            return code if isinstance(code, int) else None
        # What stands in the output has a backslash before its quotes.
        place = self.text.rfind('"exit_code": ')
        found = _CODE.match(self.text, place) if place > 0 and self.text[place - 1] != "\\" else None
        return None if found is None else int(found[1])

    @property
    def output(self) -> str:
        """What a command has printed, for people to read."""
        if self.text.startswith("{") and self.outcome is None:
            return str(payload_of(self.text).get("output") or "")
        return self.text[: at if (at := self.text.rfind("\n[")) >= 0 else None]

    @property
    def ending(self) -> str:
        """The last line of a result, without its brackets, for people to read."""
        found = _ENDING.findall(self.text[-_LONGEST_ENDING:])
        return next((line for line in reversed(found) if not line.startswith("ignored: ")), "")

    def argument(self, name: str) -> str:
        """An argument as text; '' where it is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""


def made_calls(messages: Sequence[Message], first: int, end: int) -> Iterator[MadeCall]:
    """The calls whose results are from `first` to `end`, in order; of ids that stand twice the latest call counts."""
    open_calls: dict[str, tuple[str, str]] = {}
    for position in range(first, end):
        message = messages[position]
        for call in message.get("tool_calls", ()):
            open_calls[call["id"]] = call["function"]["name"], call["function"]["arguments"]
        if message["role"] != "tool":
            continue
        found = open_calls.pop(message.get("tool_call_id", ""), None)
        if found is not None:
            name, raw = _meant(*found)
            yield MadeCall(message.get("tool_call_id", ""), name, raw, message, text_of(message["content"]), position)


def _meant(name: str, raw: str) -> tuple[str, str]:
    """The call itself, where it was made by a tool's name."""
    if name != MORE_TOOLS:
        return name, raw
    name, arguments = meant(name, _object(raw))
    return name, json.dumps(arguments, ensure_ascii=False)


def payload_of(text: str) -> Mapping[str, Any]:
    """The JSON object that a result begins with; empty where there is none."""
    return _object(text) if text.startswith("{") and len(text) <= _LONGEST_PAYLOAD else {}


def _object(text: str) -> Mapping[str, Any]:
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
