"""What is told of a command that has ended: its output, what its end means, and what became of the shell's state."""

from __future__ import annotations

import re
import signal
from typing import Any

from tools.ports import CommandOutcome
from tools.result import ShownOutput, ShownText, ToolResult, ended_with
from tools.shell.exit_codes import ExitMeaning, explain_exit
from tools.shell.memory import ShellCommand, ShellOutcome
from tools.shell.pipes import failed_parts
from tools.shell.place import ShellPlace
from tools.text.prompts import FULL_SCREEN
from tools.text.terminal_output import for_model

_TIMED_OUT = 124
_SIGNAL_BASE = 128
_NOTABLE_SECONDS = 10
NO_OUTPUT = "(no output)"
_MOVES_OR_SETS = re.compile(r"\b(?:cd|pushd|popd|export)\b")


def told(spec: ShellCommand, outcome: CommandOutcome, place: ShellPlace, left: str = "") -> ToolResult:
    """What the model and the person get of a command that has ended.

    Args:
        left: what the model should know of the directory in which the shell was at its end.
    """
    code = conventional_code(outcome)
    meaning = _meaning(spec, outcome, code)
    payload: dict[str, Any] = {"output": for_model(outcome.output), "exit_code": code}
    if outcome.timed_out:
        payload["timed_out"] = True
    if outcome.truncated_chars:
        payload["truncated_chars"] = outcome.truncated_chars
        if outcome.saved is not None:
            payload["full_output"] = str(outcome.saved.path)
    statuses, failed = _pipe(spec, outcome)
    if failed:
        payload["pipe_statuses"] = statuses
    moved = place.moved_to()
    if moved:
        payload["cwd"] = moved
    notes = (
        meaning.note,
        place.note,
        left,
        _not_kept(spec.command, outcome),
        refused_of(outcome),
        put_back_of(outcome),
    )
    if any(notes):
        payload["note"] = " ".join(note for note in notes if note)
    how, *more = end_of(outcome, code)
    parts = ", ".join(failed)
    how += f", {'but ' if code == 0 else ''}{parts}" if parts else ""
    ending = [how, *more, f"cwd {moved}" if moved else "", *notes]
    return ToolResult(
        ended_with(payload["output"] or NO_OUTPUT, ending),
        shown=(
            ShownOutput(f"{outcome.output}{pipe_note(spec, outcome)}", outcome.exit_code, outcome.signal),
            *_why_ended(spec, outcome),
        ),
        facts={
            "command": spec.command,
            "cwd": str(spec.cwd),
            **({"moved_to": moved} if moved else {}),
            "exit_code": outcome.exit_code,
            **({"signal": outcome.signal} if outcome.signal else {}),
            **({"timed_out": True} if outcome.timed_out else {}),
            **({"pipe_statuses": statuses} if failed else {}),
            "duration": round(outcome.duration, 3),
            **({"saved": outcome.saved.facts()} if outcome.saved else {}),
        },
        failed=meaning.failed,
        changed=outcome.changed,
        # Without what is done for a model to read it, which would be wrong for who counts lines.
        value=lambda: {**payload, "output": outcome.output},
    )


def end_of(outcome: CommandOutcome, code: int | None) -> list[str]:
    """How a command has ended, and how much of its output is not here: parts of a result's last line."""
    parts = ["no exit code" if code is None else f"exit {code}"]
    if outcome.timed_out:
        parts.append("timed out")
    elif outcome.duration >= _NOTABLE_SECONDS:
        parts.append(f"{outcome.duration:.0f} s")
    if outcome.truncated_chars:
        saved = "" if outcome.saved is None else f", all of it is in {outcome.saved.path}"
        parts.append(f"{outcome.truncated_chars} characters left out{saved}")
    return parts


def conventional_code(outcome: CommandOutcome) -> int | None:
    """The number that a shell would report: models know those."""
    if outcome.timed_out:
        return _TIMED_OUT
    if outcome.exit_code is not None:
        return outcome.exit_code
    number = signal.Signals.__members__.get(outcome.signal or "")
    return None if number is None else _SIGNAL_BASE + number


def _meaning(spec: ShellCommand, outcome: CommandOutcome, code: int | None) -> ExitMeaning:
    if isinstance(outcome, ShellOutcome) and outcome.waits_for:
        return ExitMeaning(failed=True, note=_waited(outcome.waits_for))
    if outcome.timed_out:
        return ExitMeaning(
            failed=True,
            note=f"It was still running after {spec.timeout:g} s and was ended. What takes longer or never ends (a "
            "server) needs background=true.",
        )
    if code is None:
        return ExitMeaning(failed=True, note=f"Ended by {outcome.signal or 'an unknown signal'}.")
    return explain_exit(spec.command, code)


def _pipe(spec: ShellCommand, outcome: CommandOutcome) -> tuple[list[int], list[str]]:
    """The statuses of the parts of the last pipeline, and what is to be said of those that failed."""
    statuses = outcome.pipe_statuses if isinstance(outcome, ShellOutcome) else ()
    return (list(statuses), failed_parts(spec.command, statuses)) if any(statuses[:-1]) else ([], [])


def pipe_note(spec: ShellCommand, outcome: CommandOutcome) -> str:
    """What the person reads below the output of parts of a pipe that failed; '' where none did."""
    _, failed = _pipe(spec, outcome)
    gap = "\n" if outcome.output and not outcome.output.endswith("\n") else ""
    return f"{gap}[{', '.join(failed)}]\n" if failed else ""


def _why_ended(spec: ShellCommand, outcome: CommandOutcome) -> tuple[ShownText, ...]:
    """What the person does not see of the command itself: the signal that it ended by was ours."""
    if not outcome.timed_out or (isinstance(outcome, ShellOutcome) and outcome.waits_for):
        return ()
    return (ShownText(f"It was still running after {spec.timeout:g} s, and was ended."),)


def _waited(question: str) -> str:
    if question == FULL_SCREEN:
        return "It is a full-screen program that waits for keys, and was ended. Use one that prints and ends."
    return (
        f"It waited for input at «{question}» and was ended. Use an option that answers (as -y), or background and "
        "pty, and then process(action=submit)."
    )


def _not_kept(command: str, outcome: CommandOutcome) -> str:
    if not isinstance(outcome, ShellOutcome):
        return ""
    if outcome.left is None and outcome.exit_code == 0 and _MOVES_OR_SETS.search(command):
        # In plan mode, or where a trap of its own or `exec` took the shell's end.
        return "The directory and variables that it left are not kept for later commands."
    if not outcome.not_kept:
        return ""
    names = ", ".join(outcome.not_kept)
    return f"Not kept for later commands: {names}. Set it in each command that needs it."


def refused_of(outcome: CommandOutcome) -> str:
    """What its confinement kept it from, for the model; '' for nothing."""
    if outcome.unreached:
        return f"Not reached: {'; '.join(outcome.unreached)}. Do not try another way."
    if outcome.only_read and outcome.exit_code != 0:
        kept = f": it was kept from {outcome.refused}" if outcome.refused else ""
        return (
            f"In plan mode commands run read-only and without network{kept}. What needs more has to wait: when the "
            "plan is complete, call exit_plan_mode with it."
        )
    if not outcome.refused or outcome.only_read:
        return ""
    return f"The sandbox kept it from {outcome.refused}. " + (
        outcome.kept_in or "If the task needs that, call it with unsandboxed=true: then the user is asked."
    )


def put_back_of(outcome: CommandOutcome) -> str:
    """What of its changes was taken back, for the model; '' for nothing."""
    if not outcome.put_back:
        return ""
    names = ", ".join(map(str, outcome.put_back))
    return f"Put back to what it was, because the user did not allow its change: {names}. Do not try another way."
