"""What the model is told of a background process, and a person of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.shell.exit_codes import explain_exit
from tools.shell.processes import ProcessInfo, ProcessView
from tools.text.terminal_output import for_model

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
