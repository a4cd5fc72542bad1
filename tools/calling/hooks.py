"""What plugins may do before and after each tool call. They never stand in for the gates: those ask all the same.

`registry.add_hook("pre_tool_call", hook)` and `registry.add_hook("post_tool_call", hook)` add one for every session
of the process. A hook runs on the call's own thread, possibly beside others. Cards and parallel batches go by the
arguments that the model sent. The hooks of one session come after them (`tools.context.SessionCallHooks`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from tools.context import CallRefused, ToolContext
from tools.errors import ToolInterrupted
from tools.registry import Hook, ToolRegistry
from tools.result import ToolResult

log = logging.getLogger(__name__)


class PreToolCall(Protocol):
    """Looks at a call before it is made."""

    def __call__(self, name: str, arguments: Mapping[str, Any], ctx: ToolContext) -> str | Mapping[str, Any] | None:
        """None lets the call go on, a text refuses it (the model reads it), a mapping changes its arguments."""
        ...


class PostToolCall(Protocol):
    """Looks at what came of a call."""

    def __call__(
        self, name: str, arguments: Mapping[str, Any], result: ToolResult, ctx: ToolContext
    ) -> ToolResult | None:
        """None leaves the result as it is."""
        ...


def run_pre_hooks(registry: ToolRegistry, name: str, arguments: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """The arguments after every hook has seen them, each what the one before it left.

    Raises:
        CallRefused: a hook said no, or failed: one that cannot be asked may have been there to refuse.
    """
    for hook in registry.hooks("pre_tool_call"):
        try:
            answer = hook(name, dict(arguments), ctx)
        except ToolInterrupted:
            raise
        except Exception as problem:
            log.exception("the hook %s failed before a call of %s", _name_of(hook), name)
            raise CallRefused(_failed(hook, name, f"{type(problem).__name__}: {problem}")) from problem
        match answer:
            case None:
                continue
            case str():
                raise CallRefused(answer or f"A hook of the user's refuses this call of {name}.")
            case Mapping():
                arguments = dict(answer)
            case _:
                raise CallRefused(_failed(hook, name, f"it returned {type(answer).__name__}"))
    return arguments


def run_post_hooks(
    registry: ToolRegistry, name: str, arguments: Mapping[str, Any], result: ToolResult, ctx: ToolContext
) -> ToolResult:
    """The result after every hook has seen it. One that fails is passed over: what was done is done."""
    for hook in registry.hooks("post_tool_call"):
        try:
            answer = hook(name, dict(arguments), result, ctx)
        except ToolInterrupted:
            raise
        except Exception:
            log.exception("the hook %s failed after a call of %s", _name_of(hook), name)
            continue
        if isinstance(answer, ToolResult):
            # What a hook has written in place of the text, programs get as well.
            result = answer if answer.text == result.text else replace(answer, value=None)
        elif answer is not None:
            log.warning("the hook %s returned %s, not a ToolResult", _name_of(hook), type(answer).__name__)
    return result


def _failed(hook: Hook, name: str, what: str) -> str:
    return (
        f"The call of {name} was not made: a hook of the user's that is asked before calls failed "
        f"({_name_of(hook)}: {what}). Tell the person; it has to be mended or removed."
    )


def _name_of(hook: Hook) -> str:
    return f"{getattr(hook, '__module__', '')}.{getattr(hook, '__qualname__', type(hook).__name__)}"
