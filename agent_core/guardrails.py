"""A model that goes round in circles through one turn: it is counted, warned, its call is not run, its turn is ended.

`Guardrails` decides from plain numbers, `Repeats` counts. Three things are counted, each without anything having come
of the turn in between:

same_call      the same call (tool and arguments) failed
same_tool      calls of the same tool failed, one after the other, with whatever arguments
no_progress    the same call, of a tool that only reads, gave the same result
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from agent_core.messages import ToolCall, parse_arguments
from tools.light_dataclass import dataclass
from tools.result import ToolResult

if TYPE_CHECKING:
    from agent_core.settings.sections import GuardrailSettings

Circle = Literal["same_call", "same_tool", "no_progress"]
Step = Literal["go", "warn", "block", "halt"]

_RISING: tuple[Step, ...] = ("go", "warn", "block", "halt")
_NEVER = 0


@dataclass(frozen=True, slots=True)
class Steps:
    """From which count on what is done; 0 is never.

    Attributes:
        warn: the model reads a note in the result.
        block: a further call is not run; it counts all the same.
        halt: the turn ends.
    """

    warn: int
    block: int
    halt: int

    def at(self, count: int) -> Step:
        """What is due at that count."""
        if _NEVER < self.halt <= count:
            return "halt"
        if _NEVER < self.block <= count:
            return "block"
        return "warn" if _NEVER < self.warn <= count else "go"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The steps for each kind of circle."""

    same_call: Steps = Steps(2, 4, 6)
    same_tool: Steps = Steps(3, 6, 10)
    no_progress: Steps = Steps(2, 4, 6)

    @classmethod
    def of(cls, settings: GuardrailSettings) -> Thresholds:
        """What the user has set; what is not set stays as it is here."""
        usual = cls()
        return cls(
            _steps(settings, usual.same_call, "exact_failure"),
            _steps(settings, usual.same_tool, "same_tool_failure"),
            _steps(settings, usual.no_progress, "idempotent_no_progress"),
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each has happened by now, for one call."""

    same_call: int = 0
    same_tool: int = 0
    no_progress: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is due, because of what, which has happened so often."""

    step: Step = "go"
    circle: Circle = "same_call"
    count: int = 0


def decide(tally: Tally, thresholds: Thresholds) -> Verdict:
    """The gravest of what is due. Of two that are equal, the one that says more about the call."""
    due = (
        Verdict(thresholds.same_call.at(tally.same_call), "same_call", tally.same_call),
        Verdict(thresholds.no_progress.at(tally.no_progress), "no_progress", tally.no_progress),
        Verdict(thresholds.same_tool.at(tally.same_tool), "same_tool", tally.same_tool),
    )
    return max(due, key=lambda verdict: _RISING.index(verdict.step))


def _steps(settings: GuardrailSettings, usual: Steps, circle: str) -> Steps:
    def count(set_: object, otherwise: int) -> int:
        given: int | None = getattr(set_, circle)
        return otherwise if given is None else given

    return Steps(
        warn=count(settings.warn_after, usual.warn) if settings.warnings_enabled else _NEVER,
        block=count(settings.block_after, usual.block) if settings.hard_stop_enabled else _NEVER,
        halt=count(settings.hard_stop_after, usual.halt) if settings.hard_stop_enabled else _NEVER,
    )


_STUCK = "end your turn and tell the user what stands in the way."

_WARNINGS: Mapping[Circle, str] = {
    "same_call": "This call has failed {count} times with the same arguments, and nothing was changed in between. "
    "Do not repeat it: change the arguments or the approach.",
    "same_tool": "{tool} has failed {count} times in a row. Stop and look at what the errors have in common, and at "
    "what is really there, before you call it again.",
    "no_progress": "This call has given the same result {count} times, and nothing was changed in between. "
    "Use the result, or do something else.",
}
_REFUSALS: Mapping[Circle, str] = {
    "same_call": "Not run: this call has failed {count} times in this turn with the same arguments, and nothing was "
    "changed in between. Change the arguments, use another tool, or look at what is there now. If you cannot go on, "
    f"{_STUCK}",
    "same_tool": "Not run: {tool} has failed {count} times in a row. First look at something new, or get something "
    f"else done; then {{tool}} is run again. If you cannot go on, {_STUCK}",
    "no_progress": "Not run: this call has given the same result {count} times in this turn, and nothing was changed "
    "in between. Go on with that result. If you wait for something, wait with a command; if you cannot go on, end "
    "your turn and tell the user.",
}
_DONE: Mapping[Circle, str] = {
    "same_call": "called {tool} {count} times with the same arguments, which failed each time",
    "same_tool": "called {tool} {count} times in a row, and it failed each time",
    "no_progress": "made the same call of {tool} {count} times and got the same result",
}


def warning(verdict: Verdict, tool: str) -> str:
    """What the model reads with the result."""
    return _WARNINGS[verdict.circle].format(count=verdict.count, tool=tool)


def refusal(verdict: Verdict, tool: str) -> str:
    """What the model gets in place of a result of a call that was not run."""
    return _REFUSALS[verdict.circle].format(count=verdict.count, tool=tool)


def farewell(verdict: Verdict, tool: str) -> str:
    """Why the turn ends, for the person."""
    done = _DONE[verdict.circle].format(count=verdict.count, tool=tool)
    return (
        f"Stopped: the model went round in circles. It {done} (limit: tool_loop_guardrails.hard_stop_after). "
        "Send another prompt to go on; it helps to say what to do differently."
    )


def with_warning(text: str, told: str, key: str = "loop_warning") -> str:
    """A result's text with a warning: as `key` of a JSON object, else before the line of facts at the end."""
    if not told:
        return text
    whole = text.strip()
    if whole.startswith("{") and whole.endswith("}") and _is_object(whole):
        gap = "" if whole[1:-1].strip() == "" else ", "
        return f'{whole[:-1].rstrip()}{gap}"{key}": {json.dumps(told, ensure_ascii=False)}}}'
    body, _, facts = text.rpartition("\n")
    if body and facts.startswith("[") and facts.endswith("]"):
        return f"{body}\n\n[{told}]\n{facts}"
    return f"{text}\n\n[{told}]"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


# The counting. Calls of one answer were made without a look at each other's results: the same one counts once.
# Something has come of the turn when a call that can change something worked that has not worked before in this turn;
# then counting begins anew, as it does with new words of the person's.

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
