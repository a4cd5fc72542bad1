"""A session's hooks at the seams of its turns and around its tool calls."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from agent_core.errors import HookRefused
from agent_core.hooks.hook import NOTHING, Hook, HookCall, HookFailed, Verdict, in_background
from agent_core.settings.hooks import HookName
from tools.approval.actions import Action, CallMcpTool, describe
from tools.approval.questions import Answer, Question
from tools.context import CallRefused, ToolContext
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ToolResult, remarked
from tools.toolsets import meant

# Asks the hooks of a session, and keeps what goes wrong with one from everything else.

log = logging.getLogger(__name__)

CONTINUES = 3


@dataclass(frozen=True, slots=True)
class HookSet:
    """The hooks that count now.

    Attributes:
        hooks: in the order in which they are asked.
        may_allow: a yes of theirs stands for the person's.
        continues: how often in one turn they may send the model on that wants to end.
    """

    hooks: tuple[Hook, ...] = ()
    may_allow: bool = False
    continues: int = CONTINUES


@dataclass(frozen=True, slots=True)
class HookedSession:
    """Whose hooks they are.

    Attributes:
        mode: its permission mode.
        tell_later: is given what a hook in the background has to say to the model: whose it is, and the text.
        transcript: the path of a file with the conversation as it is now; '' where there is none.
    """

    id: str = ""
    cwd: Path = Path("/")
    mode: Callable[[], str] = str
    tell_later: Callable[[str, str], None] | None = None
    transcript: Callable[[], str] = str


@dataclass(slots=True)
class CallsUnderWay:
    """What is known of them by id; a session shares it with its sub-agents, whose questions come through it."""

    asked: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)
    beside: dict[str, list[str]] = field(default_factory=dict)


class SessionHooks:
    """The hooks of one session, or of one sub-agent in it. Where an event has none, a look into a dictionary says so.

    Attributes:
        tell: is told what the person should know.
        calls: the hooks around tool calls.
        are_there: whether any hears of anything in this turn.
        ends: why a hook wants the running turn to end; None where none does.
        is_subagent: its end is a `subagent_stop`, and it has no prompts and no session of its own.
        continued: how often hooks have sent the model on in the running turn.
    """

    def __init__(
        self,
        session: HookedSession | None = None,
        find: Callable[[], HookSet] = HookSet,
        calls: CallsUnderWay | None = None,
    ) -> None:
        """Make it; nothing is looked for before a turn begins.

        Args:
            find: the hooks as they are now; may block.
            calls: those of the agent that a sub-agent works for.
        """
        self.tell: Callable[[str], None] = log.warning
        self.ends: str | None = None
        self.is_subagent = calls is not None
        self.continued = 0
        self._session = session or HookedSession()
        self._find = find
        self._set = HookSet()
        self._by_event: dict[HookName, tuple[Hook, ...]] = {}
        self._calls = CallsUnderWay() if calls is None else calls
        self.calls = CallHooks(self, self._calls)
        self.are_there = False
        self._begun = False

    def for_subagent(self, cwd: Path | None = None) -> SessionHooks:
        """The same hooks for an agent that works for the session's.

        Args:
            cwd: where it works; None: where the session does.
        """
        other = SessionHooks(replace(self._session, cwd=cwd or self._session.cwd), self._find, self._calls)
        other._use(self._set)
        other.tell = self.tell
        return other

    @property
    def most_continues(self) -> int:
        """How often in one turn hooks may send the model on."""
        return self._set.continues

    def has(self, event: HookName) -> bool:
        """Whether any hook hears of it."""
        return event in self._by_event

    def of(self, event: HookName) -> tuple[Hook, ...]:
        """Those that hear of it, in the order in which they are asked."""
        return self._by_event.get(event, ())

    def may_allow(self, hook: Hook) -> bool:
        """Whether a yes of the hook's stands for the person's."""
        if not self._set.may_allow:
            log.info("%s says yes in the person's place, which hooks.may_allow does not let it", hook.source)
        return self._set.may_allow

    def begin_turn(self, tell: Callable[[str], None] | None = None) -> None:
        """Look for the hooks that count in the turn that begins. May block.

        Args:
            tell: is told, in this turn, what the person should know.
        """
        self.tell = tell or self.tell
        self.ends, self.continued = None, 0
        if not self.is_subagent:
            self._use(self._find())

    def end_turn(self) -> None:
        """The turn is over: what comes now goes to the log. Its listener would keep the turn."""
        self.tell = log.warning

    def begin_session(self, facts: Mapping[str, Any], interrupt: Interrupt) -> str:
        """The session's first turn in this process: what the model is told beside its prompt.

        Raises:
            ToolInterrupted: the turn is over.
        """
        if self._begun or self.is_subagent:
            return ""
        self._begun = True
        found = self.asked("session_start", facts, interrupt)
        for hook, verdict in found:
            if verdict.refusal:
                self.tell(f"{hook.source}: {verdict.refusal}")
        return "\n\n".join(verdict.context for _, verdict in found if verdict.context)

    def end_session(self, reason: str) -> None:
        """The session is closed or let go of, if it has begun. Blocks as long as its hooks do."""
        if self._begun:
            self._begun = False
            self.asked("session_end", {"reason": reason}, None)

    def before_compression(self, *, by_person: bool, topic: str) -> None:
        """The conversation is about to be compressed.

        Args:
            by_person: because the person said so, which may be before the session's first turn.
            topic: what is kept above all; '' for nothing.
        """
        if by_person:
            self._use(self._find())
        self.asked("pre_compact", {"trigger": "manual" if by_person else "auto", "topic": topic}, None)

    def allowed(
        self,
        event: HookName,
        facts: Mapping[str, Any],
        interrupt: Interrupt,
        refused: str,
        *,
        strictly: bool = False,
    ) -> str:
        """What the model is told beside what no hook refuses; arguments as of `answer`.

        Args:
            refused: what the person is told where one does, with `{source}` and `{why}`.

        Raises:
            HookRefused: one does. ToolInterrupted: the turn is over.
        """
        said: list[str] = []
        for hook, verdict in self.asked(event, facts, interrupt, strictly=strictly):
            if verdict.refusal or verdict.ends is not None:
                why = verdict.refusal or verdict.ends or "it does not say why"
                self.ends = None  # it is said with this
                raise HookRefused(refused.format(source=hook.source, why=why.rstrip(".")))
            if verdict.context:
                said.append(verdict.context)
        return "\n\n".join(said)

    def asked(
        self, event: HookName, facts: Mapping[str, Any], interrupt: Interrupt | None, *, strictly: bool = False
    ) -> list[tuple[Hook, Verdict]]:
        """What each hook of the event wants; arguments as of `answer`.

        Raises:
            ToolInterrupted: the turn is over.
        """
        return [(hook, self.answer(hook, event, facts, interrupt, strictly=strictly)) for hook in self.of(event)]

    def answer(
        self,
        hook: Hook,
        event: HookName,
        facts: Mapping[str, Any],
        interrupt: Interrupt | None,
        *,
        strictly: bool = False,
    ) -> Verdict:
        """What one hook wants; nothing, where it hears of other things only, or failed and need not be asked.

        Args:
            strictly: each has to be asked, whatever is set: one that fails refuses.

        Raises:
            ToolInterrupted: the turn is over.
        """
        session = self._session
        call = HookCall(event, session.id, session.cwd, session.mode(), facts, session.transcript)
        if not hook.matches(call):
            return NOTHING
        if hook.in_background:
            in_background(lambda: self._hear_later(hook, call), hook.source)
            return NOTHING
        began = time.monotonic()
        try:
            verdict = hook.run(call, interrupt)
        except HookFailed as problem:
            self.tell(f"{hook.source} {problem} (at {call.event}).")
            if not (strictly or hook.refuses_when_failing):
                return NOTHING
            return Verdict(refusal=f"It has to be asked first, and {problem}. Tell the person: it has to be mended.")
        log.debug("%s was asked at %s for %.3f s", hook.source, call.event, time.monotonic() - began)
        if verdict.note:
            self.tell(f"{hook.source}: {verdict.note}")
        if verdict.ends is not None:
            self.ends = verdict.ends or f"{hook.source} ended the turn."
        return verdict

    def _use(self, found: HookSet) -> None:
        by_event: dict[HookName, tuple[Hook, ...]] = {}
        for hook in found.hooks:
            by_event[hook.event] = (*by_event.get(hook.event, ()), hook)
        self._set, self._by_event, self.are_there = found, by_event, bool(by_event)

    def _hear_later(self, hook: Hook, call: HookCall) -> None:
        try:
            verdict = hook.run(call, None)
        except (HookFailed, ToolInterrupted) as problem:
            log.warning("%s %s (in the background, at %s)", hook.source, problem, call.event)
            return
        if (said := verdict.refusal or verdict.context) and self._session.tell_later is not None:
            self._session.tell_later(hook.source, said)


# Around a tool call: before it, at a question about it, after it. Several threads may be in here.


class CallHooks:
    """The hooks around tool calls. Implements `tools.context.SessionCallHooks`."""

    def __init__(self, hooks: SessionHooks, calls: CallsUnderWay) -> None:
        self._hooks = hooks
        self._calls = calls

    def before(self, name: str, arguments: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        """The arguments after every hook has seen them; the same object where none changed them.

        Raises:
            CallRefused: a hook says no, or has to be asked and cannot be.
            Denied: the person was asked for one, and says no.
            ToolInterrupted: the turn is over.
        """
        hooks, call_id = self._hooks, ctx.tool_call_id
        called, given = meant(name, arguments)
        sent, asks = given, list[str]()
        for hook in hooks.of("pre_tool_call"):
            facts = {**_facts(called, ctx), "args": dict(given)}
            verdict = hooks.answer(hook, "pre_tool_call", facts, ctx.interrupt)
            if verdict.refusal or verdict.ends is not None:
                refusal = verdict.refusal or verdict.ends or "It ends the turn."
                raise CallRefused(f"{refusal} (said by {hook.source}; the call of {called} was not made)")
            if verdict.arguments is not None:
                given = {**given, **verdict.arguments}
                # Whoever said yes before has not seen these.
                self._calls.allowed.discard(call_id)
            if verdict.permission == "ask":
                asks.append(verdict.reason or f"{hook.source} wants it to be asked about")
            elif verdict.permission == "allow" and hooks.may_allow(hook):
                self._calls.allowed.add(call_id)
            if verdict.context:
                self._calls.beside.setdefault(call_id, []).append(verdict.context)
        if hooks.has("permission"):
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
        for hook in self._hooks.of("post_tool_call"):
            facts = {
                **_facts(called, ctx),
                "args": dict(given),
                "result": result.text,
                "response": _response(result),
                "failed": result.failed,
                "duration_ms": round(seconds * 1000),
            }
            verdict = self._hooks.answer(hook, "post_tool_call", facts, ctx.interrupt)
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
        hooks = self._hooks
        if question.tool_call_id in self._calls.allowed and not _is_new_each_time(question.action):
            return Answer(allowed=True)
        if hooks.has("permission"):
            found = hooks.asked("permission", self._question(question), interrupt)
            for hook, verdict in found:
                if verdict.permission == "deny" or verdict.refusal or verdict.ends is not None:
                    why = verdict.reason or verdict.refusal or verdict.ends
                    return Answer(allowed=False, note=f"{hook.source} refuses it{f': {why}' if why else ''}")
            if any(verdict.permission == "allow" and hooks.may_allow(hook) for hook, verdict in found):
                return Answer(allowed=True)
        if hooks.has("notification"):
            message = f"Permission is needed: {describe(question.action)}"
            hooks.asked("notification", {"message": message, "notification_type": "permission_prompt"}, interrupt)
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
