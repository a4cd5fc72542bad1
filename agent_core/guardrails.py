"""What is done about a model that goes round in circles: it is warned, its call is not run, its turn is ended.

Here is the decision alone, from plain numbers; `agent_core.calls.repeats` counts. Three things are counted, each
without anything having come of the turn in between:

same_call      the same call (tool and arguments) failed
same_tool      calls of the same tool failed, one after the other, with whatever arguments
no_progress    the same call, of a tool that only reads, gave the same result
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from tools.light_dataclass import dataclass

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


def warning(verdict: Verdict, tool: str) -> str:
    """What the model reads with the result."""
    count = verdict.count
    match verdict.circle:
        case "same_call":
            return (
                f"This call has failed {count} times with the same arguments, and nothing was changed in between. "
                "Do not repeat it: change the arguments or the approach."
            )
        case "same_tool":
            return (
                f"{tool} has failed {count} times in a row. Stop and look at what the errors have in common, and at "
                "what is really there, before you call it again."
            )
        case "no_progress":
            return (
                f"This call has given the same result {count} times, and nothing was changed in between. "
                "Use the result, or do something else."
            )


def refusal(verdict: Verdict, tool: str) -> str:
    """What the model gets in place of a result of a call that was not run."""
    count = verdict.count
    match verdict.circle:
        case "same_call":
            return (
                f"Not run: this call has failed {count} times in this turn with the same arguments, and nothing was "
                "changed in between. Change the arguments, use another tool, or look at what is there now. If you "
                "cannot go on, end your turn and tell the user what stands in the way."
            )
        case "same_tool":
            return (
                f"Not run: {tool} has failed {count} times in a row. First look at something new, or get something "
                f"else done; then {tool} is run again. If you cannot go on, end your turn and tell the user what "
                "stands in the way."
            )
        case "no_progress":
            return (
                f"Not run: this call has given the same result {count} times in this turn, and nothing was changed "
                "in between. Go on with that result. If you wait for something, wait with a command; if you cannot "
                "go on, end your turn and tell the user."
            )


def farewell(verdict: Verdict, tool: str) -> str:
    """Why the turn ends, for the person."""
    count = verdict.count
    match verdict.circle:
        case "same_call":
            done = f"called {tool} {count} times with the same arguments, which failed each time"
        case "same_tool":
            done = f"called {tool} {count} times in a row, and it failed each time"
        case "no_progress":
            done = f"made the same call of {tool} {count} times and got the same result"
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
