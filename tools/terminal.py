"""`terminal`: run a shell command, to its end or in the background."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import ToolError, ToolInterrupted
from tools.registry import registry
from tools.result import ShownOutput, ToolResult, ended_with
from tools.shell.commands import LiveText, body_of, describe, ending_of, find_place, news, pipe_note, told
from tools.shell.session import Processes, ProcessSpec, ShellCommand

_SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Shell command (bash)"},
        "background": {"type": "boolean", "description": "Return at once: for servers and long work; see `process`"},
        "timeout": {"type": "number", "description": "Seconds; default 180, at most 600"},
        "workdir": {"type": "string", "description": "Directory for this call only"},
        "pty": {"type": "boolean", "description": "Run at a terminal: for REPLs and prompts"},
        "unsandboxed": {"type": "boolean", "description": "Ask the user to run it without the sandbox"},
        "notify_on_complete": {"type": "boolean", "description": "Background: you are told of its end"},
        "watch_patterns": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Background: tell of lines with these texts",
        },
    },
    "required": ["command"],
}
_DESCRIPTION = (
    "Run a shell command; stdout and stderr come back together. `cd` and exported variables last. "
    "Nobody can type into it: use non-interactive flags. A pipe's exit code is its last part's; if one fails, "
    "each part's status is told. Do not use it to read, search or edit files where another tool can."
)
_FIRST_LOOK_SECONDS = 0.25


def terminal(args: dict[str, Any], **kw: Any) -> ToolResult:
    """Run `args["command"]`, in `workdir` or where the session's shell is, for at most `timeout` seconds."""
    ctx = require_context(kw)
    command = arguments.text(args, "command")
    if not command.strip():
        raise ToolError("terminal: `command` must be a shell command, not empty.")
    if arguments.boolean(args, "background"):
        return _in_background(command, args, ctx)
    timeout, is_cut = _seconds(args.get("timeout"), ctx)
    place = find_place(args.get("workdir"), ctx)
    if is_cut:
        note = f"timeout was set to {timeout:g} s, the most that there is; what takes longer needs background=true."
        place = replace(place, note=f"{note} {place.note}".strip())
    live = LiveText(ctx)
    spec = ShellCommand(
        command,
        place.cwd,
        timeout,
        place.state.added() or None,
        save_to=ctx.output_file,
        unset=place.state.removed(),
        pty=arguments.boolean(args, "pty"),
        outside=arguments.boolean(args, "unsandboxed"),
        most_chars=ctx.settings.terminal.max_output_chars,
    )
    outcome = ctx.terminal.run(spec, live.show, ctx.interrupt)
    if outcome.interrupted:
        raise ToolInterrupted
    if note := pipe_note(spec, outcome):
        live.show(note)
    live.end(outcome)
    return told(spec, outcome, place, place.remember(outcome))


def _in_background(command: str, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
    processes = _processes(ctx)
    place = find_place(args.get("workdir"), ctx)
    spec = ProcessSpec(
        command,
        place.cwd,
        place.state.added() or None,
        place.state.removed(),
        pty=arguments.boolean(args, "pty"),
        notify_on_complete=arguments.boolean(args, "notify_on_complete"),
        watch_patterns=tuple(args.get("watch_patterns", ())),
        save_to=ctx.output_file,
        outside=arguments.boolean(args, "unsandboxed"),
    )
    started = processes.start(spec)
    # Most commands that cannot work fail at once; the model need not ask for that.
    view = processes.wait(started.id, _FIRST_LOOK_SECONDS, ctx.interrupt)
    ctx.progress(view.output)
    payload = {**describe(view.info), "cwd": str(place.cwd), **news(view)}
    if place.note:
        payload["note"] = place.note
    failed = not view.info.running and view.info.exit_code != 0
    return ToolResult(
        ended_with(body_of(payload), ending_of(payload)),
        shown=(ShownOutput(view.output, view.info.exit_code, view.info.signal),),
        facts={
            "command": command,
            "cwd": str(place.cwd),
            "process": started.id,
            "running": view.info.running,
            "exit_code": view.info.exit_code,
        },
        failed=failed,
        value=lambda: payload,
    )


def _processes(ctx: ToolContext) -> Processes:
    if ctx.processes is None:
        raise ToolError(
            "terminal: background is not available here. Run the command in the foreground with a timeout; a server "
            "can be started with `… > server.log 2>&1 &`, it ends with the session."
        )
    return ctx.processes


def _seconds(timeout: float | None, ctx: ToolContext) -> tuple[float, bool]:
    """The seconds that a command has, and whether more were wanted than it may have."""
    limits = ctx.settings.terminal
    if timeout is None:
        return limits.default_timeout, False
    if not timeout > 0:
        raise ToolError(f"terminal: `timeout` must be a number of seconds above 0, not {timeout!r}.")
    return min(float(timeout), limits.max_timeout), timeout > limits.max_timeout


registry.register(
    name="terminal",
    toolset="terminal",
    schema=_SCHEMA,
    handler=terminal,
    description=_DESCRIPTION,
    emoji="💻",
    parallel="never",
)
