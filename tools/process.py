"""`process`: look after the commands that `terminal` runs in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import Shown, ShownOutput, ShownText, ToolResult, plain
from tools.shell.commands import body_of, describe, ending_of, listed, news, page
from tools.shell.session import Processes, ProcessInfo
from tools.text.terminal_output import plain_text

_ACTIONS = ("list", "poll", "log", "wait", "kill", "write", "submit", "close")
_SCHEMA = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": list(_ACTIONS)},
        "session_id": {"type": "string"},
        "data": {"type": "string"},
        "timeout": {"type": "number"},
        "offset": {"type": "integer"},
        "limit": {"type": "integer"},
    },
    "required": ["action"],
}
_DESCRIPTION = (
    "Background commands of `terminal`. poll: new output; log: lines from offset; wait: until it ends or asks; "
    "write, submit (+Enter): data; close: end input."
)
_DEFAULT_LINES, _MAX_LINES = 200, 2000
_COMMAND_CHARS = 200


def process(args: dict[str, Any], **kw: Any) -> ToolResult:
    """Do `args["action"]` with the process `session_id`."""
    ctx = require_context(kw)
    if ctx.processes is None:
        raise ToolError("process: there are no background processes here.")
    action = arguments.choice(args, "action", _ACTIONS, "")
    if action == "list":
        return _list(ctx.processes)
    if not action:
        raise ToolError(f"process: the argument 'action' has to be one of {', '.join(_ACTIONS)}.")
    return _HANDLERS[action](arguments.text(args, "session_id"), args, ctx, ctx.processes)


def _list(processes: Processes) -> ToolResult:
    known = processes.list()
    told = [{**describe(info), "command": info.command[:_COMMAND_CHARS], **_age(info)} for info in known]
    lines = "\n".join(map(listed, known)) or "There are none."
    return plain(lines, [], {"processes": told}, ShownText(lines, ""))


def _poll(name: str, _args: Mapping[str, Any], _ctx: ToolContext, processes: Processes) -> ToolResult:
    view = processes.poll(name)
    return _told({**describe(view.info), **news(view), **_age(view.info)}, view.info, view.output)


def _log(name: str, args: Mapping[str, Any], _ctx: ToolContext, processes: Processes) -> ToolResult:
    offset = arguments.integer(args, "offset", 0) if "offset" in args else None
    limit = arguments.integer(args, "limit", _DEFAULT_LINES, minimum=1, maximum=_MAX_LINES)
    view = processes.log(name)
    told = page(view, offset, limit)
    return _told({**describe(view.info), **told}, view.info, told["output"])


def _wait(name: str, args: Mapping[str, Any], ctx: ToolContext, processes: Processes) -> ToolResult:
    view = processes.wait(name, _seconds(args, ctx), ctx.interrupt)
    return _told({**describe(view.info), **news(view), **_age(view.info)}, view.info, view.output)


def _kill(name: str, _args: Mapping[str, Any], _ctx: ToolContext, processes: Processes) -> ToolResult:
    was_running = processes.log(name).info.running
    info = processes.kill(name)
    note = {} if was_running else {"note": "It had ended before."}
    return _told({**describe(info), **note}, info)


def _write(name: str, args: Mapping[str, Any], _ctx: ToolContext, processes: Processes) -> ToolResult:
    info = processes.write(name, arguments.text(args, "data"))
    return _told(describe(info), info)


def _submit(name: str, args: Mapping[str, Any], _ctx: ToolContext, processes: Processes) -> ToolResult:
    info = processes.write(name, arguments.text(args, "data", ""), submit=True)
    return _told(describe(info), info)


def _close(name: str, _args: Mapping[str, Any], _ctx: ToolContext, processes: Processes) -> ToolResult:
    info = processes.end_input(name)
    return _told(describe(info), info)


def _age(info: ProcessInfo) -> dict[str, Any]:
    return {"seconds": round(info.seconds, 1)}


def _seconds(args: Mapping[str, Any], ctx: ToolContext) -> float:
    limits = ctx.settings.terminal
    seconds: float = args.get("timeout", limits.default_timeout)
    if not seconds >= 0:
        raise ToolError(f"process: `timeout` must be a number of seconds, not {args['timeout']!r}.")
    return min(seconds, limits.max_timeout)


def _told(payload: Mapping[str, Any], info: ProcessInfo, output: str = "") -> ToolResult:
    """What was asked for succeeded, however the process itself ended."""
    return plain(
        body_of(payload),
        ending_of(payload),
        payload,
        _shown(info, output),
        process=info.id,
        command=info.command,
        running=info.running,
        exit_code=info.exit_code,
    )


def _shown(info: ProcessInfo, output: str) -> Shown:
    if not info.running:
        return ShownOutput(output, info.exit_code, info.signal)
    return ShownText(plain_text(output), "") if output.strip() else ShownText("It is running.")


_Handler = Callable[[str, Mapping[str, Any], ToolContext, Processes], ToolResult]
_HANDLERS: Mapping[str, _Handler] = {
    "poll": _poll,
    "log": _log,
    "wait": _wait,
    "kill": _kill,
    "write": _write,
    "submit": _submit,
    "close": _close,
}

registry.register(
    name="process",
    toolset="terminal",
    schema=_SCHEMA,
    handler=process,
    description=_DESCRIPTION,
    emoji="⚙️",
    parallel="never",
)
