"""Counts, through one turn, what a model does again and again, and says when that goes on for too long.

Calls of one answer were made without a look at each other's results: the same one counts once. Something has come of
the turn when a call that can change something worked that has not worked before in this turn; then counting begins
anew, as it does with new words of the person's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import field

from agent_core.guardrails import Circle, Tally, Thresholds, decide, farewell, refusal, warning
from agent_core.messages import ToolCall, parse_arguments
from tools.light_dataclass import dataclass
from tools.result import ToolResult

# What works without anything having come of it: the model only talks to itself.
_IDLE = frozenset({"todo"})


@dataclass(slots=True)
class _Failing:
    """A tool whose last calls failed. `looked`: something new was found out since."""

    count: int = 0
    looked: bool = False


@dataclass(slots=True)
class Repeats:
    """What was repeated in one turn. Not safe for several threads: the loop of the turn uses it.

    Attributes:
        only_reads: whether the tool of that name cannot change anything.
        halted: why the turn has to end, for the person; '' while it may go on.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    only_reads: Callable[[str], bool] = lambda _: False
    halted: str = ""
    _failed: dict[str, int] = field(default_factory=dict)
    _failing: dict[str, _Failing] = field(default_factory=dict)
    _results: dict[str, tuple[str, int]] = field(default_factory=dict)
    _worked: set[str] = field(default_factory=set)
    _answer: set[str] = field(default_factory=set)
    _refused: dict[str, Circle] = field(default_factory=dict)

    def begin_answer(self) -> None:
        """The calls that come now are those of another answer."""
        self._answer.clear()
        self._refused.clear()

    def refusal(self, call: ToolCall) -> str:
        """What the model is told of a call that is not to be run, '' of one that is; asked right before it runs."""
        tool = call["function"]["name"]
        failing = self._failing.get(tool)
        stuck = failing is not None and not failing.looked
        verdict = decide(self._tally(tool, _name_of(call), in_a_row=stuck), self.thresholds)
        if verdict.step not in {"block", "halt"}:
            return ""
        self._refused[call["id"]] = verdict.circle
        return refusal(verdict, tool)

    def see(self, call: ToolCall, result: ToolResult) -> str:
        """Count what came of a call; in the order of the answer's calls.

        Returns:
            what the model has to be warned of, '' if nothing.
        """
        tool, name = call["function"]["name"], _name_of(call)
        if name not in self._answer:
            self._count(tool, name, result, self._refused.get(call["id"]))
            self._answer |= {name, tool}
        verdict = decide(self._tally(tool, name, in_a_row=result.failed), self.thresholds)
        if verdict.step == "halt":
            self.halted = self.halted or farewell(verdict, tool)
        if verdict.step == "go" or call["id"] in self._refused:
            return ""
        return warning(verdict, tool)

    def begin_anew(self) -> None:
        """The person said something: what was before does not count any more."""
        self._forget()
        self._worked.clear()
        self.halted = ""

    def _count(self, tool: str, name: str, result: ToolResult, refused: Circle | None) -> None:
        if refused == "no_progress":
            before, times = self._results.get(name, ("", 0))
            self._results[name] = before, times + 1
        elif result.failed:
            self._count_failure(tool, name)
        else:
            self._count_success(tool, name, result)

    def _count_failure(self, tool: str, name: str) -> None:
        self._failed[name] = self._failed.get(name, 0) + 1
        self._results.pop(name, None)
        failing = self._failing.setdefault(tool, _Failing())
        failing.looked = False
        if tool not in self._answer:
            failing.count += 1

    def _count_success(self, tool: str, name: str, result: ToolResult) -> None:
        self._failing.pop(tool, None)
        self._failed.pop(name, None)
        only_reads = self.only_reads(tool)
        digest = _digest_of(result) if only_reads else ""
        before, times = self._results.get(name, ("", 0))
        if only_reads and before and result.facts.get("again"):
            digest = before  # the tool itself says that this is what it said before
        is_new = digest != before if only_reads else name not in self._worked
        if is_new and tool not in _IDLE:
            self._note_news(changes=not only_reads)
        self._worked.add(name)
        if only_reads:
            self._results[name] = digest, 1 if is_new else times + 1

    def _note_news(self, *, changes: bool) -> None:
        if changes:
            self._forget()
        for failing in self._failing.values():
            failing.looked = True

    def _tally(self, tool: str, name: str, *, in_a_row: bool) -> Tally:
        failing = self._failing.get(tool)
        return Tally(
            same_call=self._failed.get(name, 0),
            same_tool=failing.count if in_a_row and failing is not None else 0,
            no_progress=self._results.get(name, ("", 0))[1],
        )

    def _forget(self) -> None:
        self._failed.clear()
        self._failing.clear()
        self._results.clear()


def _name_of(call: ToolCall) -> str:
    """One name for a tool with these arguments, in whatever order and with whatever blanks they are written."""
    text = call["function"]["arguments"]
    with contextlib.suppress(ValueError):
        text = json.dumps(parse_arguments(text), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(
        f"{call['function']['name']}\n{text}".encode("utf-8", "replace"), digest_size=16
    ).hexdigest()


def _digest_of(result: ToolResult) -> str:
    digest = hashlib.blake2b(result.text.encode("utf-8", "replace"), digest_size=16)
    for image in result.images:
        digest.update(image.data)
    return digest.hexdigest()
