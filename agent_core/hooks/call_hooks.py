"""Hooks around a tool call: before it, at a question about it, after it. Several threads may be in here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from agent_core.hooks.asking import HookAsker
from tools.approval.actions import Action, CallMcpTool, describe
from tools.approval.questions import Answer, Question
from tools.context import CallRefused, ToolContext
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ToolResult, remarked
from tools.toolsets import meant


@dataclass(slots=True)
class CallsUnderWay:
    """What is known of them by id; a session shares it with its sub-agents, whose questions come through it."""

    asked: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)
    beside: dict[str, list[str]] = field(default_factory=dict)


class CallHooks:
    """The hooks around tool calls. Implements `tools.context.SessionCallHooks`."""

    def __init__(self, asker: HookAsker, calls: CallsUnderWay) -> None:
        self._asker = asker
        self._calls = calls

    def before(self, name: str, arguments: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        """The arguments after every hook has seen them; the same object where none changed them.

        Raises:
            CallRefused: a hook says no, or has to be asked and cannot be.
            Denied: the person was asked for one, and says no.
            ToolInterrupted: the turn is over.
        """
        asker, call_id = self._asker, ctx.tool_call_id
        called, given = meant(name, arguments)
        sent, asks = given, list[str]()
        for hook in asker.hooks("pre_tool_call"):
            facts = {**_facts(called, ctx), "args": dict(given)}
            verdict = asker.answer(hook, "pre_tool_call", facts, ctx.interrupt)
            if verdict.refusal or verdict.ends is not None:
                refusal = verdict.refusal or verdict.ends or "It ends the turn."
                raise CallRefused(f"{refusal} (said by {hook.source}; the call of {called} was not made)")
            if verdict.arguments is not None:
                given = {**given, **verdict.arguments}
                # Whoever said yes before has not seen these.
                self._calls.allowed.discard(call_id)
            if verdict.permission == "ask":
                asks.append(verdict.reason or f"{hook.source} wants it to be asked about")
            elif verdict.permission == "allow" and asker.may_allow(hook):
                self._calls.allowed.add(call_id)
            if verdict.context:
                self._calls.beside.setdefault(call_id, []).append(verdict.context)
        if asker.has("permission"):
            self._calls.asked[call_id] = called, given
        if asks:
            self._calls.allowed.discard(call_id)
            ctx.confirm(called, "; ".join(asks))
        if given is sent:
            return arguments
        return dict(given) if called == name else {**arguments, "arguments": given}

    def after(
        self, name: str, arguments: Mapping[str, Any], result: ToolResult, ctx: ToolContext, seconds: float
    ) -> ToolResult:
        """The result after every hook has seen it.

        Args:
            seconds: how long the call took.
        """
        called, given = meant(name, arguments)
        said = self._calls.beside.get(ctx.tool_call_id, [])
        for hook in self._asker.hooks("post_tool_call"):
            facts = {
                **_facts(called, ctx),
                "args": dict(given),
                "result": result.text,
                "response": _response(result),
                "failed": result.failed,
                "duration_ms": round(seconds * 1000),
            }
            verdict = self._asker.answer(hook, "post_tool_call", facts, ctx.interrupt)
            before = result.text
            if isinstance(verdict.result, ToolResult):
                result = verdict.result
            elif verdict.result is not None:
                result = replace(result, text=verdict.result)
            if result.text != before:
                # What a hook has written in place of the text, programs get as well.
                result = replace(result, value=None)
            said = [*said, *(text for text in (verdict.refusal, verdict.context) if text)]
        return remarked(result, [f"[A hook of the user's says: {text}]" for text in said])

    def over(self, call_id: str) -> None:
        """A call has ended, in whatever way."""
        self._calls.asked.pop(call_id, None)
        self._calls.allowed.discard(call_id)
        self._calls.beside.pop(call_id, None)

    def permission(self, question: Question, interrupt: Interrupt) -> Answer | None:
        """What a hook answers in the person's place; None where the person is to be asked.

        Raises:
            ToolInterrupted: the turn is over.
        """
        asker = self._asker
        if question.tool_call_id in self._calls.allowed and not _is_new_each_time(question.action):
            return Answer(allowed=True)
        if asker.has("permission"):
            found = asker.asked("permission", self._question(question), interrupt)
            for hook, verdict in found:
                if verdict.permission == "deny" or verdict.refusal or verdict.ends is not None:
                    why = verdict.reason or verdict.refusal or verdict.ends
                    return Answer(allowed=False, note=f"{hook.source} refuses it{f': {why}' if why else ''}")
            if any(verdict.permission == "allow" and asker.may_allow(hook) for hook, verdict in found):
                return Answer(allowed=True)
        if asker.has("notification"):
            message = f"Permission is needed: {describe(question.action)}"
            asker.asked("notification", {"message": message, "notification_type": "permission_prompt"}, interrupt)
        return None

    def _question(self, question: Question) -> dict[str, Any]:
        name, arguments = self._calls.asked.get(question.tool_call_id, ("", {}))
        return {
            "tool_name": name,
            "args": dict(arguments),
            "tool_call_id": question.tool_call_id,
            "action": describe(question.action),
            "kind": type(question.action).__name__,
            "reason": question.reason,
            "is_risky": question.is_risky,
        }


def _is_new_each_time(action: Action) -> bool:
    """Whether it is another matter than the call that it is asked for, which a yes to that does not mean."""
    return isinstance(action, CallMcpTool) and action.each


def _response(result: ToolResult) -> object:
    """The result as a value, for programs."""
    if result.value is not None:
        return result.value()
    try:
        return json.loads(result.text)
    except (ValueError, RecursionError):
        return result.text


def _facts(name: str, ctx: ToolContext) -> dict[str, Any]:
    return {"tool_name": name, "tool_call_id": ctx.tool_call_id, "task_id": ctx.task_id}
