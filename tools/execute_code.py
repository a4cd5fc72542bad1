"""The tool `execute_code`: run a Python program that calls tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tools import arguments
from tools.context import AgentServices, ToolContext, require_context
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome, Interrupt, Program, ProgramOutcome, Programs
from tools.registry import registry
from tools.result import ShownOutput, ToolResult, ended_with, error
from tools.shell.commands import NO_OUTPUT, LiveText, conventional_code, end_of, put_back_of
from tools.text.terminal_output import for_model

# The functions by which a program calls tools: their text for the program, and their names for the model.


@dataclass(frozen=True, slots=True)
class Stub:
    """A function that calls the tool of its name.

    Attributes:
        parameters: as they stand in its definition; what is None is not passed on.
        returns: the keys of the dict that comes back, for the model.
        more: what may be named beside the parameters.
    """

    name: str
    parameters: str
    returns: str
    more: str = ""


STUBS = (
    Stub("read_file", "path, offset=None, limit=None", "content (whole text, unnumbered), total_lines"),
    Stub("write_file", "path, content", "status"),
    Stub("patch", "path=None, old_string=None, new_string=None, replace_all=None, patch=None", "diff", "edits"),
    Stub(
        "search_files",
        "pattern, target='content', path='.', file_glob=None, limit=1000, offset=0",
        "matches [{path, line, text}] or files, next_offset if more",
        "type output_mode context fixed ignore_case multiline include_ignored",
    ),
    Stub(
        "terminal",
        "command, timeout=None, workdir=None",
        "output, exit_code",
        "background pty unsandboxed notify_on_complete watch_patterns",
    ),
    Stub("web_search", "query, limit=None", "results"),
    Stub("web_extract", "urls", "results", "char_limit"),
)
"""The tools that a program may call, if the session has them."""

_NOT_NEEDED = re.compile(r"=(?!1)\S+")

NAMES = frozenset(stub.name for stub in STUBS)


def offered(tools: Collection[str]) -> tuple[Stub, ...]:
    """Those of the stubs whose tools are among `tools`."""
    return tuple(stub for stub in STUBS if stub.name in tools)


def module_text(tools: Collection[str]) -> str:
    """Python for the end of the module `hermes_tools`: a function for each of these tools that a program may call."""
    return "\n\n".join(_definition(stub) for stub in offered(tools)) + "\n"


def described(tools: Collection[str]) -> Iterator[str]:
    """A line for each function, for the model: all that it takes, what need not be given with a `?`."""
    for stub in offered(tools):
        takes = [_NOT_NEEDED.sub("?", part) for part in stub.parameters.split(", ")]
        yield f"{stub.name}({', '.join((*takes, *(f'{name}?' for name in stub.more.split())))}) → {stub.returns}"


def _definition(stub: Stub) -> str:
    return (
        f"def {stub.name}({stub.parameters}, **more):\n"
        f'    """Call {stub.name}; gives a dict: {stub.returns}."""\n'
        f"    return _call({stub.name!r}, locals())\n"
    )


# What is told of a program that has ended: its output, what its end means, and which calls it has made.


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


# The tool.

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
    strangers = [name for name in tools if (entry := registry.get(name)) is not None and entry.untrusted]
    result = told(program, outcome, strangers)
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
