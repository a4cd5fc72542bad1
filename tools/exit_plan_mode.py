"""The tool `exit_plan_mode`: the finished plan goes to the person, who decides in which mode the work begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools import arguments
from tools.approval.approvals import PlanAnswer
from tools.approval.policy import Mode
from tools.context import require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ShownText, ToolResult, ok

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"plan": {"type": "string", "description": "Markdown"}},
    "required": ["plan"],
}
DESCRIPTION = "In plan mode only: show the user your finished plan and ask to begin."

_MAX_CHARS = 50_000
_MODES: Mapping[Mode, str] = {
    "default": "each edit is shown to the user first",
    "accept_edits": "files are edited without asking",
}


def exit_plan_mode(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Put the plan to the person and wait for the answer.

    Args:
        args: plan, as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with the mode that the session is in now.

    Raises:
        ToolError: the session is not in plan mode, the plan is empty or too long, or the person said no.
        ToolInterrupted: the turn is over.
    """
    ctx = require_context(kw)
    if ctx.agent is None:
        raise ToolError("There is no plan mode here: this tool needs a running agent.")
    plan = arguments.text(args, "plan")
    if not plan.strip():
        raise ToolError("The argument 'plan' has to be the plan itself, as Markdown text.")
    if len(plan) > _MAX_CHARS:
        raise ToolError(f"A plan of {len(plan)} characters is more than a person reads; stay below {_MAX_CHARS}.")
    return _told(plan, ctx.agent.leave_plan(plan, ctx.tool_call_id, ctx.interrupt))


def _told(plan: str, answer: PlanAnswer) -> ToolResult:
    match answer:
        case PlanAnswer(outcome="approved", mode=mode):
            how = _MODES.get(mode, "") if mode is not None else ""
            payload = {"approved": True, "mode": mode, "next": f"Begin with the plan now{how and f': {how}'}."}
            return ok(payload, ShownText(plan), mode=mode)
        case PlanAnswer(outcome="elsewhere"):
            raise ToolError("This session is not in plan mode, so there is none to leave. Go on with the task.")
        case PlanAnswer(words=words) if words:
            raise ToolError(
                f"The user wants the plan changed, and said: «{words}» The session stays in plan mode. Change the "
                "plan and call exit_plan_mode again.",
                f'Rejected. You said: "{words}"',
            )
        case PlanAnswer(note=note):
            raise ToolError(
                f"The plan was not approved ({note or 'the user said no'}). The session stays in plan mode. Ask the "
                "user what to change; do not begin with the work.",
                f"Rejected: {note}." if note else "Rejected.",
            )


registry.register(
    name="exit_plan_mode",
    toolset="planning",
    schema=SCHEMA,
    handler=exit_plan_mode,
    description=DESCRIPTION,
    parallel="never",
)
