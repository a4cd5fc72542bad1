"""What the model is told of a background process, and a person of all of them."""

from __future__ import annotations

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
