"""Where a command runs, and what is told of its outcome and of background processes."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.context import ToolContext
from tools.errors import Denied, ToolError
from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome
from tools.result import ShownOutput, ShownText, ToolResult, ended_with
from tools.shell.exit_codes import ExitMeaning, explain_exit, failed_parts
from tools.shell.session import ProcessInfo, ProcessView, ShellCommand, ShellMemory, ShellOutcome, ShellState
from tools.text.terminal_output import FULL_SCREEN, for_model

# Where one command runs, with which variables, and what the session remembers of it afterwards.


@dataclass(frozen=True, slots=True)
class ShellPlace:
    """The shell's state at a command's start.

    Attributes:
        cwd: where the command runs.
        state: what the session's shell keeps; its directory is not `cwd` when the call names one of its own.
        home: the session's directory.
        roots: the session's directories; the shell stays in none but these.
        is_here: they are on this machine, where links can be followed.
        note: what the model should know, '' for nothing.
    """

    cwd: Path
    state: ShellState
    home: Path
    memory: ShellMemory | None = None
    note: str = ""
    roots: tuple[Path, ...] = ()
    is_here: bool = True

    def remember(self, outcome: CommandOutcome) -> str:
        """Keep what the command has left, where it tells.

        Returns:
            what the model should know of the directory that it has left behind, '' for nothing.
        """
        if self.memory is None or not isinstance(outcome, ShellOutcome) or outcome.left is None:
            return ""
        left = outcome.left.cwd
        # The directory of a call that names its own is for that call only.
        stays = self.cwd != self.state.cwd
        is_outside = not stays and left != self.state.cwd and not self._is_inside(left)
        kept = self.state.cwd if stays or is_outside else left
        self.memory.keep(ShellState(kept, outcome.left.variables))
        if not is_outside:
            return ""
        return (
            f"{left} is outside the session's directories, so it was left again: the next command runs in {kept}. "
            "Use workdir for a command elsewhere."
        )

    def _is_inside(self, path: Path) -> bool:
        paths = {Path(os.path.normpath(path))}
        roots = set(self.roots)
        if self.is_here:
            paths = {Path(os.path.realpath(path))}
            roots |= {Path(os.path.realpath(root)) for root in self.roots}
        return any(each == root or root in each.parents for each in paths for root in roots)

    def moved_to(self) -> str:
        """The directory in which the next command starts, '' where it is the session's."""
        now = self.memory.state().cwd if self.memory is not None else self.home
        return "" if now == self.home else str(now)


def find_place(workdir: str | None, ctx: ToolContext) -> ShellPlace:
    """Where a command runs that names `workdir`, or None.

    Raises:
        ToolError: it is no directory. Denied: it may not be looked at.
    """
    memory = ctx.processes.memory if ctx.processes is not None else None
    state = memory.state() if memory is not None else ShellState(ctx.cwd)
    if workdir:
        return _place(_named(workdir, ctx), state, memory, ctx)
    if memory is None or state.cwd == ctx.cwd or _may_be_used(state.cwd, memory, ctx):
        return _place(state.cwd, state, memory, ctx)
    memory.go_home()
    note = f"{state.cwd}, where the shell was, is gone: this ran in {ctx.cwd}."
    return _place(ctx.cwd, memory.state(), memory, ctx, note)


def _place(cwd: Path, state: ShellState, memory: ShellMemory | None, ctx: ToolContext, note: str = "") -> ShellPlace:
    return ShellPlace(cwd, state, ctx.cwd, memory, note, ctx.roots, is_here=not ctx.elsewhere)


def _named(workdir: str, ctx: ToolContext) -> Path:
    path = ctx.resolve(workdir)
    facts = ctx.fs.stat(path)
    if facts is None or facts.kind != "directory":
        raise ToolError(f"terminal: `workdir` {path} is not a directory. Nothing was run.")
    return path


def _may_be_used(cwd: Path, memory: ShellMemory, ctx: ToolContext) -> bool:
    """Whether the shell's directory is still there. One outside of the session's asks, as a `workdir` does."""
    try:
        facts = ctx.fs.stat(cwd)
    except Denied as no:
        memory.go_home()
        nothing_run = f"Nothing was run in {cwd}; the next command starts in {ctx.cwd} again."
        raise Denied(f"{no} {nothing_run}", no.shown and f"{no.shown} {nothing_run}") from no
    return facts is not None and facts.kind == "directory"


# What is told of a command that has ended: its output, what its end means, and what became of the shell's state.

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


# What the model is told of a background process, and a person of all of them.

_MAX_CHARS = 20_000
_COMMAND_CHARS = 200


def describe(info: ProcessInfo) -> dict[str, Any]:
    """The process's state: only what is the case."""
    told: dict[str, Any] = {"session_id": info.id, "running": info.running}
    if not info.running:
        told["exit_code"] = info.exit_code
        if info.signal:
            told["signal"] = info.signal
        elif info.exit_code and (note := explain_exit(info.command, info.exit_code).note):
            told["note"] = note
    if info.waits_for:
        told["waits_for"] = info.waits_for
    if info.matches:
        told["matches"] = [match.line for match in info.matches]
    return told


def body_of(told: Mapping[str, Any]) -> str:
    """The output in what is told of a process; where it was asked for and there is none, words for that."""
    output = told.get("output")
    return "" if output is None else str(output) or ("(no new output)" if told["running"] else "(no output)")


def ending_of(told: Mapping[str, Any]) -> list[str]:
    """Everything else that is told of a process: the parts of a result's last line."""
    parts = [f"session_id {told['session_id']}", *_state(told)]
    if "cwd" in told:
        parts.append(f"cwd {told['cwd']}")
    if "total_lines" in told:
        first = told["offset"]
        count = told["output"].count("\n") + 1 if told["output"] else 0
        shown = f"lines {first}–{first + count - 1} of {told['total_lines']}" if count else "no lines"
        parts.append(f"{shown}, counted from 0" if count else f"{shown} of {told['total_lines']} from offset {first}")
    if "truncated_chars" in told:
        parts.append(f"{told['truncated_chars']} characters left out")
    if "full_output" in told:
        parts.append(f"all of it is in {told['full_output']}")
    if "matches" in told:
        parts.append(f"matched: {'; '.join(told['matches'])}")
    return [*parts, str(told.get("note") or "")]


def _state(told: Mapping[str, Any]) -> list[str]:
    seconds = f" for {told['seconds']:g} s" if "seconds" in told else ""
    if told["running"]:
        waits = [f"waits for input at: {told['waits_for']}"] if "waits_for" in told else []
        return [f"running{seconds}", *waits]
    if "signal" in told:
        return [f"ended by {told['signal']}"]
    return [f"exit {told['exit_code']}"]


def listed(info: ProcessInfo) -> str:
    """`proc_1a2b  running, 12 s: npm run dev`, one line for a person."""
    if info.running:
        state = f"waits for input, {info.seconds:.0f} s" if info.waits_for else f"running, {info.seconds:.0f} s"
    else:
        state = f"ended by {info.signal}" if info.signal else f"ended with exit code {info.exit_code}"
    return f"{info.id}  {state}: {' '.join(info.command.split())[:_COMMAND_CHARS]}"


def news(view: ProcessView) -> dict[str, Any]:
    """The output that came since the last look, of much the end."""
    text = for_model(view.output)
    missed = view.missed + max(0, len(text) - _MAX_CHARS)
    told: dict[str, Any] = {"output": text[-_MAX_CHARS:]}
    if view.info.waits_for:
        told["note"] = "It waits for input: answer with submit, or kill it."
    if missed:
        told["truncated_chars"] = missed
    if view.info.log is not None:
        told["full_output"] = str(view.info.log)
    return told


def page(view: ProcessView, offset: int | None, limit: int) -> dict[str, Any]:
    """Lines of all the output that is kept, from line `offset` (from 0), or the last ones when that is None."""
    lines = for_model(view.output).split("\n")
    if lines[-1] == "":
        lines.pop()
    first = max(0, len(lines) - limit) if offset is None else offset
    shown = lines[first : first + limit]
    told: dict[str, Any] = {"output": "\n".join(shown), "offset": first, "total_lines": len(lines)}
    if view.missed:
        told["truncated_chars"] = view.missed
    if view.info.log is not None:
        told["full_output"] = str(view.info.log)
    return told


# What a command prints, live on its call's card.

LIVE_CHARS = 1_000_000
_END_CHARS = 10_000


class LiveText:
    """The live text on the call's card, up to a size that an editor can bear, and then the end."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._room = LIVE_CHARS

    def show(self, text: str) -> None:
        """More of it has come."""
        if self._room <= 0:
            return
        self._ctx.progress(text[: self._room])
        self._room -= len(text)
        if self._room <= 0:
            self._ctx.progress("\n[… too much to show live; the end follows when the command is done …]\n")

    def end(self, outcome: CommandOutcome) -> None:
        """Show the end of what was too much."""
        if self._room <= 0:
            where = f"\n[all of it: {outcome.saved.path}]\n" if outcome.saved else ""
            self._ctx.progress(f"{outcome.output[-_END_CHARS:]}{where}")
