"""`terminal`: run a shell command."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.context import CommandOutcome, CommandSpec, ToolContext, require_context
from tools.errors import ToolError, ToolInterrupted
from tools.exit_codes import ExitMeaning, explain_exit
from tools.registry import registry
from tools.result import ShownOutput, ToolResult
from tools.text.terminal_output import plain_text

_SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Shell command (bash)."},
        "timeout": {"type": "number", "description": "Seconds; default 180, at most 600."},
        "workdir": {"type": "string", "description": "Directory to run in; default: the session's."},
    },
    "required": ["command"],
}
_DESCRIPTION = (
    "Run a shell command and wait for its end; stdout and stderr come back together. Each call is a fresh shell: "
    "`cd` and variables do not last. Nobody can type into it: use non-interactive flags. Do not use it to read, "
    "search or edit files where another tool can."
)
_NOT_AVAILABLE = ("background", "pty", "notify_on_complete", "watch_patterns")
_TIMED_OUT = 124
_SIGNAL_BASE = 128
_LIVE_CHARS = 1_000_000
_END_CHARS = 10_000


def terminal(args: dict[str, Any], **kw: Any) -> ToolResult:
    """Run `args["command"]` in `workdir` for at most `timeout` seconds."""
    ctx = require_context(kw)
    _refuse_unavailable(args)
    command = args["command"]
    if not isinstance(command, str) or not command.strip():
        raise ToolError("terminal: `command` must be a shell command, not empty.")
    cwd = _directory(args.get("workdir"), ctx)
    timeout = _seconds(args.get("timeout"), ctx)
    live = _LiveText(ctx)
    spec = CommandSpec(command, cwd, timeout, save_to=ctx.output_file)
    outcome = ctx.terminal.run(spec, live.show, ctx.interrupt)
    if outcome.interrupted:
        raise ToolInterrupted
    live.end(outcome)
    return _result(command, cwd, timeout, outcome)


class _LiveText:
    """The live text on the call's card, up to a size that an editor can bear, and then the end."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._room = _LIVE_CHARS

    def show(self, text: str) -> None:
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


def _refuse_unavailable(args: Mapping[str, Any]) -> None:
    asked = [name for name in _NOT_AVAILABLE if args.get(name)]
    if asked:
        raise ToolError(
            f"terminal: {', '.join(asked)} is not available here. Run the command in the foreground with a timeout; "
            "a server can be started with `… > server.log 2>&1 &`, it ends with the session."
        )


def _directory(workdir: object, ctx: ToolContext) -> Path:
    if workdir is None or workdir == "":
        return ctx.cwd
    if not isinstance(workdir, str):
        raise ToolError("terminal: `workdir` must be a path.")
    path = ctx.resolve(workdir)
    facts = ctx.fs.stat(path)
    if facts is None or facts.kind != "directory":
        raise ToolError(f"terminal: `workdir` {path} is not a directory. Nothing was run.")
    return path


def _seconds(timeout: object, ctx: ToolContext) -> float:
    limits = ctx.settings.terminal
    if timeout is None:
        return limits.default_timeout
    try:
        seconds = float(timeout) if isinstance(timeout, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if isinstance(timeout, bool) or not seconds > 0:
        raise ToolError(f"terminal: `timeout` must be a number of seconds above 0, not {timeout!r}.")
    return min(seconds, limits.max_timeout)


def _result(command: str, cwd: Path, timeout: float, outcome: CommandOutcome) -> ToolResult:
    code = _conventional_code(outcome)
    meaning = _meaning(command, timeout, outcome, code)
    payload: dict[str, Any] = {"output": plain_text(outcome.output), "exit_code": code}
    if outcome.timed_out:
        payload["timed_out"] = True
    if outcome.truncated_chars:
        payload["truncated_chars"] = outcome.truncated_chars
    if meaning.note:
        payload["note"] = meaning.note
    return ToolResult(
        json.dumps(payload, ensure_ascii=False),
        shown=(ShownOutput(outcome.output, outcome.exit_code, outcome.signal),),
        facts={
            "command": command,
            "cwd": str(cwd),
            "exit_code": outcome.exit_code,
            "duration": round(outcome.duration, 3),
            **({"saved": outcome.saved.facts()} if outcome.saved else {}),
        },
        failed=meaning.failed,
    )


def _conventional_code(outcome: CommandOutcome) -> int | None:
    """The number that a shell would report: models know those."""
    if outcome.timed_out:
        return _TIMED_OUT
    if outcome.exit_code is not None:
        return outcome.exit_code
    number = signal.Signals.__members__.get(outcome.signal or "")
    return None if number is None else _SIGNAL_BASE + number


def _meaning(command: str, timeout: float, outcome: CommandOutcome, code: int | None) -> ExitMeaning:
    if outcome.timed_out:
        return ExitMeaning(failed=True, note=f"It was still running after {timeout:g} s and was ended.")
    if code is None:
        return ExitMeaning(failed=True, note=f"Ended by {outcome.signal or 'an unknown signal'}.")
    return explain_exit(command, code)


registry.register(
    name="terminal",
    toolset="terminal",
    schema=_SCHEMA,
    handler=terminal,
    description=_DESCRIPTION,
    emoji="💻",
    parallel="never",
)
