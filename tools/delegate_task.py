"""The tool `delegate_task`: work that stands alone is done by sub-agents, which report back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from tools import arguments
from tools.context import (
    AgentBegun,
    AgentReport,
    AgentRole,
    AgentTask,
    Delegation,
    ToolContext,
    require_context,
    told_limits,
)
from tools.errors import ToolError
from tools.registry import registry
from tools.result import Shown, ShownText, ToolResult, ok

_TASK: dict[str, Any] = {
    "goal": {"type": "string"},
    "context": {"type": "string"},
    "toolsets": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Fewer than yours: files, terminal, web",
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **_TASK,
        "tasks": {
            "type": "array",
            "items": {"type": "object", "properties": {"goal": {"type": "string"}, "context": {"type": "string"}}},
            "description": "Instead of goal",
        },
        "isolated": {"type": "boolean", "description": "On a copy; its changes come back as edits"},
        "background": {"type": "boolean", "description": "Return now; the report comes later"},
        "role": {
            "type": "string",
            "enum": list(get_args(AgentRole)),
            "description": "orchestrator: may delegate too",
        },
        "model": {"type": "string"},
    },
}
_TELLS = (
    "Let a sub-agent do work that stands alone, or several do tasks side by side ({at_once} at once). Each sees only "
    "its goal and context, not this conversation: give paths, what is known, what to report."
)
DESCRIPTION = _TELLS.format(at_once=told_limits().at_once)
_MOST_TASKS = 32
_LONGEST_SHOWN = 6_000


def delegate_task(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Delegate, and report what came of it.

    Args:
        args: as in SCHEMA; role, model and background where the session allows them.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with a report for each task in their order; in the background, the ids of the sub-agents.

    Raises:
        ToolError: arguments that do not go together, or nothing can be delegated here.
    """
    ctx = require_context(kw)
    delegation = None if ctx.agent is None else ctx.agent.delegation()
    if delegation is None:
        raise ToolError("There are no sub-agents here: do the work yourself.")
    tasks = _tasks(args)
    isolated = arguments.boolean(args, "isolated")
    if arguments.boolean(args, "background"):
        if isolated:
            raise ToolError(
                "What an isolated sub-agent changes is brought back in this turn, with the person's consent: "
                "leave out background, or isolated."
            )
        return _told_begun(delegation.begin(tasks, ctx))
    return _told(delegation, delegation.run(tasks, ctx, isolated=isolated), ctx)


def _tasks(args: Mapping[str, Any]) -> list[AgentTask]:
    given = args.get("tasks", ())
    if not given:
        return [_task(args, {}, "goal")]
    if len(given) > _MOST_TASKS:
        raise ToolError(f"One call takes at most {_MOST_TASKS} tasks, not {len(given)}. Nothing was begun.")
    # What is said beside the list holds for each of them.
    common = {key: args.get(key) for key in ("context", "toolsets", "role", "model")}
    return [_task(value, common, f"tasks[{number}].goal") for number, value in enumerate(given)]


def _task(given: Mapping[str, Any], common: Mapping[str, Any], where: str) -> AgentTask:
    merged = {**common, **{key: part for key, part in given.items() if part is not None}}
    goal = arguments.text(merged, "goal", "").strip()
    if not goal:
        raise ToolError(f"{where} is missing: say what the sub-agent shall do. Nothing was begun.")
    role: AgentRole = (
        "orchestrator"
        if arguments.choice(merged, "role", ("leaf", "orchestrator"), "leaf") == "orchestrator"
        else "leaf"
    )
    context = arguments.text(merged, "context", "").strip()
    return AgentTask(goal, context, _names(merged.get("toolsets")), role, arguments.text(merged, "model", "").strip())


def _names(value: object) -> tuple[str, ...] | None:
    if value is None or value == "":
        return None
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ToolError("The argument 'toolsets' has to be a list of names, as files, terminal, web.")
    return tuple(name.strip() for name in names if name.strip()) or None


def _told(delegation: Delegation, reports: Sequence[AgentReport], ctx: ToolContext) -> ToolResult:
    several = len(reports) > 1
    told = [_payload(report, ctx, several=several) for report in reports]
    shown: list[Shown] = []
    for number, report in enumerate(reports, 1):
        head = f"**{number}. {_first_line(report.goal)}** — " if several else ""
        open_ones = f"\n\nNot brought back: {report.kept}" if report.kept else ""
        shown.append(ShownText(f"{head}{_outcome(report)}\n\n{_cut(report.summary)}{open_ones}".strip()))
        shown.extend(report.diffs)
    facts = {"agents": [_facts(report) for report in reports], "at_once": delegation.limits.at_once}
    payload = {"results": told} if several else told[0]
    return replace(
        ok(payload, *shown, **facts),
        failed=all(report.status != "done" for report in reports),
        has_fenced=any(report.untrusted for report in reports),
    )


def _payload(report: AgentReport, ctx: ToolContext, *, several: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"agent": report.agent}
    if several:
        told["goal"] = _first_line(report.goal)
    told |= {"status": report.status, "summary": report.told_summary(ctx.session_id)}
    if report.note:
        told["note"] = report.note
    if report.full is not None:
        told["full_report"] = str(report.full)
    if report.files:
        told["files_changed"] = [arguments.display(path, ctx) for path in report.files]
    if report.patch is not None:
        told["patch"] = str(report.patch)
    if report.brought or report.kept:
        told["brought_back"] = [arguments.display(path, ctx) for path in report.brought]
    if report.kept:
        told["not_brought_back"] = report.kept
    told["tools"] = dict(report.calls)
    return told | {"requests": report.requests, "tokens": report.tokens, "seconds": round(report.seconds, 1)}


def _facts(report: AgentReport) -> dict[str, Any]:
    return {
        "agent": report.agent,
        "status": report.status,
        "files": [str(path) for path in report.files],
        "calls": dict(report.calls),
        "requests": report.requests,
        "tokens": report.tokens,
        "cost": report.cost,
        "seconds": round(report.seconds, 3),
    }


def _outcome(report: AgentReport) -> str:
    calls = sum(report.calls.values())
    files = f", {_many(len(report.files), 'file')} changed" if report.files else ""
    return f"{report.status.replace('_', ' ')}: {_many(calls, 'tool call')}{files}, {report.seconds:.1f} s"


def _told_begun(begun: Sequence[AgentBegun]) -> ToolResult:
    agents = [{"agent": one.agent, "goal": _first_line(one.goal)} for one in begun]
    note = (
        "They work in the background. You are told of each that is done: go on with other work, do not wait for it."
    )
    lines = [f"{one.agent} began: {_first_line(one.goal)}" for one in begun]
    return ok({"begun": agents, "note": note}, ShownText("\n\n".join(lines)), agents=agents)


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _first_line(text: str) -> str:
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= 120 else f"{line[:119]}…"  # noqa: PLR2004


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text) - _LONGEST_SHOWN} more)"


def _live_schema() -> dict[str, Any]:
    """What is told of it in a session: nothing that its limits do not allow."""
    limits = told_limits()
    allowed = {"background": limits.background, "role": limits.orchestrators, "model": bool(limits.models)}
    properties = {name: part for name, part in SCHEMA["properties"].items() if allowed.get(name, True)}
    if limits.models:
        properties["model"] = {"type": "string", "enum": list(limits.models)}
    return {"description": _TELLS.format(at_once=limits.at_once), "properties": properties}


registry.register(
    name="delegate_task",
    toolset="delegation",
    schema=SCHEMA,
    handler=delegate_task,
    description=DESCRIPTION,
    parallel="never",
    dynamic_schema_overrides=_live_schema,
)
