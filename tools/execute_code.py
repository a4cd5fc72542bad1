"""`execute_code`: run a Python program that calls tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tools import arguments
from tools.context import AgentServices, ToolContext, require_context
from tools.errors import ToolError, ToolInterrupted
from tools.ports import Interrupt
from tools.programs.port import Program, Programs
from tools.programs.stubs import NAMES, described, module_text
from tools.programs.telling import told
from tools.registry import registry
from tools.result import ToolResult, error
from tools.shell.live_text import LiveText

_SCHEMA = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "Python; what it prints comes back"}},
    "required": ["code"],
}
_DESCRIPTION = (
    "Run a Python program that can call tools: for many calls, or results that need filtering. "
    "In the project's Python, sandboxed as commands are."
)
_FUNCTIONS = "from hermes_tools import ...; each returns a dict, or raises ToolError, Denied if it is refused:"
_MOST_CHARS = 100_000


def execute_code(args: dict[str, Any], **kw: Any) -> ToolResult:
    """Run `args["code"]`: its output, its exit code, and how many calls it has made of which tool.

    Raises:
        ToolError: it could not be run. ToolInterrupted.
    """
    ctx = require_context(kw)
    code = arguments.text(args, "code")
    if not code.strip():
        raise ToolError("execute_code: `code` must be a Python program, not empty.")
    if len(code) > _MOST_CHARS:
        raise ToolError(
            f"execute_code: the program has {len(code):,} characters; at most {_MOST_CHARS:,} can be run. Write data "
            "to a file and read it in the program."
        )
    programs, agent = _ports(ctx)
    tools = NAMES & agent.offered_tools()
    program = Program(
        code,
        ctx.cwd,
        module_text(tools),
        ctx.settings.programs,
        ctx.processes.memory.state().variables if ctx.processes is not None else {},
        save_to=ctx.output_file,
    )

    worked_in: dict[str, None] = {}

    def call(name: str, given: Mapping[str, Any], over: Interrupt) -> ToolResult:
        if name not in tools:
            return error(f"A program cannot call {name!r}. It can call: {', '.join(sorted(tools)) or 'no tool'}.")
        result = agent.call_tool(name, given, ctx.tool_call_id, over)
        worked_in.update(dict.fromkeys(_places(name, result)))
        return result

    live = LiveText(ctx)
    outcome = programs.run(program, call, live.show, ctx.interrupt)
    if outcome.command.interrupted:
        raise ToolInterrupted
    live.end(outcome.command)
    result = told(program, outcome, [name for name in tools if _is_untrusted(name)])
    return replace(result, facts={**result.facts, "worked_in": list(worked_in)}) if worked_in else result


def _places(name: str, result: ToolResult) -> Iterator[str]:
    """The files and directories that a call was about, for the rules that hold there."""
    if result.failed:
        return
    places = result.facts.get("locations", ()) if name == "patch" else ()
    found = [result.facts.get("cwd" if name == "terminal" else "path"), *(place.get("path") for place in places)]
    yield from (path for path in found if isinstance(path, str))


def _ports(ctx: ToolContext) -> tuple[Programs, AgentServices]:
    if ctx.programs is None:
        raise ToolError(
            "execute_code: programs cannot be run where this session's commands run. Use the tools one by one."
        )
    if ctx.agent is None:
        raise ToolError("execute_code: this needs a running session (it was called without an agent).")
    return ctx.programs, ctx.agent


def _is_untrusted(name: str) -> bool:
    entry = registry.get(name)
    return entry is not None and entry.untrusted


def _described(offered: frozenset[str]) -> dict[str, Any]:
    """The description with the functions of the tools that the session has."""
    functions = list(described(offered))
    return {"description": "\n".join([_DESCRIPTION, _FUNCTIONS, *functions]) if functions else _DESCRIPTION}


registry.register(
    name="execute_code",
    toolset="code_execution",
    schema=_SCHEMA,
    handler=execute_code,
    description=_DESCRIPTION,
    emoji="🐍",
    parallel="never",
    overrides_with=_described,
)
