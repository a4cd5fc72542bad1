"""What is told of a program that has ended: its output, what its end means, and which calls it has made."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tools.ports import CommandOutcome
from tools.programs.port import Program, ProgramOutcome
from tools.result import ShownOutput, ToolResult, ended_with
from tools.shell.outcome_telling import NO_OUTPUT, conventional_code, end_of, put_back_of
from tools.text.terminal_output import for_model


def told(program: Program, outcome: ProgramOutcome, strangers: Collection[str]) -> ToolResult:
    """What the model and the person get of it.

    Args:
        strangers: tools whose results others have written; what a program that called one prints may be theirs.
    """
    ended = outcome.command
    code = conventional_code(ended)
    payload: dict[str, Any] = {"output": for_model(ended.output), "exit_code": code}
    if ended.timed_out:
        payload["timed_out"] = True
    if ended.truncated_chars:
        payload["truncated_chars"] = ended.truncated_chars
        if ended.saved is not None:
            payload["full_output"] = str(ended.saved.path)
    if outcome.calls:
        payload["calls"] = dict(outcome.calls)
    if notes := [note for note in (_end(program, ended), _refused(ended), put_back_of(ended)) if note]:
        payload["note"] = " ".join(notes)
    calls = ", ".join(f"{name} {count}" for name, count in outcome.calls.items())
    ending = [*end_of(ended, code), f"calls: {calls}" if calls else "", *notes]
    return ToolResult(
        ended_with(payload["output"] or NO_OUTPUT, ending),
        shown=(ShownOutput(ended.output, ended.exit_code, ended.signal),),
        facts={
            "cwd": str(program.cwd),
            "exit_code": ended.exit_code,
            **({"signal": ended.signal} if ended.signal else {}),
            **({"timed_out": True} if ended.timed_out else {}),
            "duration": round(ended.duration, 3),
            "calls": dict(outcome.calls),
            **({"saved": ended.saved.facts()} if ended.saved else {}),
        },
        failed=code != 0,
        changed=ended.changed,
        untrusted=not outcome.calls.keys().isdisjoint(strangers),
        value=lambda: {**payload, "output": ended.output},
    )


def _end(program: Program, ended: CommandOutcome) -> str:
    if ended.timed_out:
        return (
            f"It was still running after {program.limits.timeout:g} s and was ended. Do less in one program, or run "
            "what takes long with terminal(background=true)."
        )
    return f"Ended by {ended.signal}." if ended.signal else ""


def _refused(ended: CommandOutcome) -> str:
    if ended.unreached:
        return f"Not reached: {'; '.join(ended.unreached)}. Do not try another way."
    if not ended.refused:
        return ""
    return f"The sandbox kept it from {ended.refused}. " + (
        ended.kept_in
        or "If the task needs that, do that part with terminal(unsandboxed=true): then the user is asked."
    )
