"""The loop of one turn: ask the model, do what it calls for, until it has said its last word. A method per verb."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Self
from zlib import crc32

from agent_core.callbacks import AgentCallbacks, Status, Step
from agent_core.cancel import CancelToken
from agent_core.compaction.session_compaction import CompressionListeners, SessionCompression, TurnCompression
from agent_core.compaction.view import shown
from agent_core.errors import AuthRequired, ModelFailed
from agent_core.guardrails import Thresholds, with_warning
from agent_core.injected_messages import ask_hooked, hooks_want, inject, pass_on, show_unread
from agent_core.mcp.names import PREFIX as MCP_PREFIX
from agent_core.messages import Message, ToolCall, injected_message, parse_arguments, tool_call, tool_message
from agent_core.model_request.caller import Asker, Patience
from agent_core.model_request.fallback_chain import Route
from agent_core.model_request.response import CallIds, Reply
from agent_core.notifications import deliver, learn_from
from agent_core.prompt.rules_files import nested_rules
from agent_core.providers.base import CacheTtl, ModelRequest, ReasoningEffort, Usage
from agent_core.providers.choice import ModelChoice, is_small
from agent_core.providers.pricing import cost_of
from agent_core.services import SessionServices, TurnServices
from agent_core.settings.project import ContextFileSettings
from agent_core.stop_reasons import CLOSING_NOTE, Ending
from agent_core.tool_calls import NestedCalls, Refuse, ToolRunner, outcome_of, result_content, sees_images
from agent_core.turn import PROGRAMMATIC, STOP, StopReason, Turn
from agent_core.verification import Nudge
from agent_core.workspace import Workspace
from tools.context import Delegation, DelegationLimits, describing
from tools.files.seen import FilesSeen
from tools.light_dataclass import dataclass
from tools.result import ToolResult
from tools.toolsets import MORE_TOOLS, called, get_tool_definitions, more_tools_entry, select, small_choice

if TYPE_CHECKING:
    from agent_core.settings.model import Settings


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Of an agent and its sub-agents.

    Attributes:
        cache_ttl: how long servers should keep the conversation's beginning, where they let us choose.
        patience: how long one request is tried.
        guardrails: when a model that goes round in circles is warned and stopped.
        verify_on_stop: before a turn ends that leaves something undone (edits without a check that passed, an open
            plan, a step that was only announced), the model is told so once.
    """

    cache_ttl: CacheTtl = "5m"
    patience: Patience = field(default_factory=Patience)
    guardrails: Thresholds = field(default_factory=Thresholds)
    verify_on_stop: bool = True

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As the user's settings have it."""
        return cls(
            cache_ttl=settings.prompt_caching.cache_ttl,
            patience=Patience(settings.agent.api_max_retries),
            guardrails=Thresholds.of(settings.tool_loop_guardrails),
            verify_on_stop=settings.agent.verify_on_stop,
        )


def runners_of(
    turn: Turn,
    session_id: str,
    workspace: Workspace,
    session: SessionServices,
    offered: frozenset[str],
    *,
    delegation: Callable[[Turn], Delegation | None] = lambda _: None,
) -> tuple[ToolRunner, NestedCalls]:
    """Who runs the calls of an answer of the turn, and who runs what these call.

    Args:
        offered: the names of the tools that the model was told of.
        delegation: who has sub-agents work for a turn.
    """
    route = turn.route
    make = partial(
        ToolRunner,
        offered=offered,
        session_id=session_id,
        turn_id=turn.id,
        task_id=turn.task_id,
        listener=turn.callbacks.tool_progress_callback,
    )

    def services(nested: NestedCalls) -> TurnServices:
        return TurnServices(session, workspace.approvals, turn.callbacks, nested, lambda: delegation(turn))

    # It is given what it belongs to: if it kept that, the turn's history would wait for the collector.
    def nested_runner(
        nested: NestedCalls, parent: str, token: CancelToken, seen: FilesSeen, refuse: Refuse
    ) -> ToolRunner:
        here = replace(workspace, seen=seen, settings=workspace.settings.for_programs())
        return make(here, services(nested), token=token, refuse=refuse, parent=parent, for_program=True)

    nested = NestedCalls(
        turn, CallIds(session.call_ids), offered, workspace.seen, nested_runner, tools=workspace.tools
    )
    runner = make(
        workspace,
        services(nested),
        token=turn.token,
        images=lambda: sees_images(route.lessons.adapted(route.choice), session.omissions),
        window=route.choice.context_length,
        refuse=turn.repeats.refusal,
    )
    return runner, nested


log = logging.getLogger(__name__)

_CONTINUATIONS = 3
_GO_ON = (
    "[Your answer reached the output limit here. The person has seen it up to this point. "
    "Go on exactly where it stops, and repeat nothing.]"
)
_UNREAD = (
    "[Not from the user. Your message ends with what looks like a tool call, but it is none: {problem}. Nothing was "
    "run. Call the tool again as you were told to call tools, or answer in words.]"
)
_SPEAK = (
    "[Not from the user. Your answer was empty: the person has seen nothing of what the tools said. If the task is "
    "not done, go on with it; if it is, say in words what was done and what was found.]"
)
_OVERSIZED = (
    "The answer was ended here, because it is too large: over 32 MiB, or over 8 MiB in one piece. What had come "
    "until then was kept."
)


@dataclass(frozen=True, slots=True)
class Target:
    """Which models are asked, the first one first, and how much they shall think."""

    route: Route
    reasoning: ReasoningEffort | None = None


@dataclass(slots=True)
class Aim:
    """What is asked now; it may be another at each request."""

    target: Target


@dataclass(frozen=True, slots=True)
class TurnLoop:
    """Runs the turns of one agent. It knows nothing of the agent, so that both are gone as soon as nobody has them.

    Attributes:
        toolsets, disabled: which tools the model is told of.
        context_files: what is set about rules files, for those of sub-folders.
        delegation: who has sub-agents work for a turn.
        limits: how much may be delegated, as the tools tell it.
    """

    session_id: str
    workspace: Workspace
    services: SessionServices
    aim: Aim
    toolsets: tuple[str, ...]
    disabled: tuple[str, ...]
    settings: AgentSettings
    context_files: ContextFileSettings = field(default_factory=ContextFileSettings)
    delegation: Callable[[TurnLoop, Turn], Delegation | None] = lambda _, __: None
    limits: DelegationLimits = field(default_factory=DelegationLimits)

    def run(self, turn: Turn, ending: Ending) -> tuple[StopReason, str]:
        """Run the turn: why it stopped, and the answer's text."""
        answered = self._answer(turn, ending)
        if (copied := self.workspace.copied) is not None and self._may_have_changed_files(turn):
            files = self.workspace.files(turn.token)
            copied.end(self.workspace.approvals, files, turn.id, turn.token, turn.callbacks)
        return answered

    def _may_have_changed_files(self, turn: Turn) -> bool:
        """Whether this turn has called tools, or something of earlier ones still runs."""
        called = any(message["role"] == "tool" for message in turn.history.messages[turn.history.start :])
        return called or self.workspace.terminal.is_busy()

    def _answer(self, turn: Turn, ending: Ending) -> tuple[StopReason, str]:
        self._renew_tools(turn)
        asker = self._asker(turn)
        while turn.budget.spend():
            self._follow_target(turn, asker)
            reply = self._ask(turn, asker)
            if reply.finish == "refusal":
                return ending.refused("".join((*asker.carried, reply.text)))
            if reply.tool_calls:
                if (over := self._called(turn, asker, reply, ending)) is not None:
                    return over
            elif reply.unread and not turn.told_unread:
                self._ask_again(turn, asker, reply)
            elif reply.finish == "length" and reply.text.strip() and turn.continuations < _CONTINUATIONS:
                turn.continuations += 1
                asker.keep_unfinished(reply.text, _GO_ON)
            elif self._asks_for_words(turn, asker, reply):
                continue
            elif not reply.text.strip():
                return ending.without_words(reply, asker.carried)
            else:
                answer = "".join((*asker.carried, reply.text))
                self._remember(turn, asker, reply)
                if not self._goes_on(turn, reply):
                    return STOP[reply.finish], answer
        return self._sum_up(turn, asker, ending)

    def _called(self, turn: Turn, asker: Asker, reply: Reply, ending: Ending) -> tuple[StopReason, str] | None:
        """Do what an answer calls for; how the turn ends, where it ends with that."""
        reply, notes = self._understood(reply)
        self._remember(turn, asker, reply)
        self._use_tools(turn, reply, notes)
        if all(call["function"]["name"] in PROGRAMMATIC for call in reply.tool_calls):
            turn.budget.refund()
        if pass_on(turn, turn.steering.take()) or self._tell_news(turn):
            turn.repeats.begin_anew()
        if turn.repeats.halted:
            return ending.in_a_circle(turn.repeats.halted)
        why = self.workspace.hooks.ends
        return None if why is None else ending.by_hook(why)

    def _ask_again(self, turn: Turn, asker: Asker, reply: Reply) -> None:
        """Tell the model that what it meant to be a tool call cannot be read."""
        turn.told_unread = True
        self._remember(turn, asker, reply)
        inject(
            turn,
            _UNREAD.format(problem=reply.unread_problem.rstrip(".")),
            "The model has written a tool call into its text that cannot be read: it is asked to send it again.",
        )

    def _asks_for_words(self, turn: Turn, asker: Asker, reply: Reply) -> bool:
        """Ask a model for words that would end its turn without any; once, until it has called another tool."""
        if reply.text.strip() or reply.finish not in {"stop", "tool_calls"} or asker.carried or not turn.budget.left:
            return False
        if turn.history.messages[-1].get("content") == _SPEAK:
            return False
        inject(turn, _SPEAK, "The model ended without a word: it is asked for an answer.")
        return True

    def _goes_on(self, turn: Turn, reply: Reply) -> bool:
        """Whether the model, which wants to end with an answer that is stored by now, is told something first."""
        if reply.finish in {"stop", "unknown"} and (nudge := self._nudge(turn, reply)) is not None:
            inject(turn, nudge.text, nudge.told)
            return True
        if wanted := hooks_want(turn, reply):
            inject(turn, wanted, "A hook of yours wants more: the model goes on.")
            return True
        while words := self._last_words(turn):
            if pass_on(turn, words):
                return True
        if words is not None:
            self._tell_news(turn)
        return words is not None

    def _sum_up(self, turn: Turn, asker: Asker, ending: Ending) -> tuple[StopReason, str]:
        """The budget is spent: one more request, for words alone."""
        turn.closing = True
        # Behind words of the person's the note stands in their message; an answer that was cut goes on as it is.
        if turn.history.messages[-1]["role"] != "user":
            turn.history.remember(injected_message(CLOSING_NOTE))
        self._follow_target(turn, asker)
        try:
            reply = self._ask(turn, asker)
        except (ModelFailed, AuthRequired):
            log.info("the model gave no closing words", exc_info=True)
            return ending.out_of_budget(asker.carried)
        return ending.summed_up(reply, asker.carried)

    def _asker(self, turn: Turn) -> Asker:
        return Asker(
            route=turn.route,
            history=turn.history,
            compression=self._compression(turn),
            token=turn.token,
            callbacks=self._naming(turn.callbacks),
            ids=CallIds(self.services.call_ids),
            omissions=self.services.omissions,
            prefix=self.services.prefix,
            habits=self.services.habits,
            count=lambda usage, choice: self._count(turn, usage, choice),
            patience=self.settings.patience,
        )

    def _naming(self, callbacks: AgentCallbacks) -> AgentCallbacks:
        """The listeners, of which the one that hears of a call's beginning hears the tool's real name."""
        begun = callbacks.tool_gen_callback
        if begun is None:
            return callbacks

        def named(call_id: str, name: str) -> None:
            offered = self.tool_names()
            if name not in offered:
                from tools.call_meaning import announced_name  # noqa: PLC0415 - most names are right

                name = announced_name(name, offered, self.workspace.tools.get)
            begun(call_id, name)

        return replace(callbacks, tool_gen_callback=named)

    def _compression(self, turn: Turn) -> TurnCompression:
        services, session = self.services, None
        if services.engine is not None and services.by_itself and turn.keeps is not None:
            listeners = CompressionListeners(
                turn.callbacks.compression_callback,
                turn.callbacks.status_callback,
                lambda usage, cost: self._count_cost(turn, usage, cost),
            )
            session = SessionCompression(
                services, services.engine, turn.keeps, self.workspace.seen.forget_all, turn.token, listeners
            )
        return TurnCompression(
            services, turn.history, lambda choice, messages: self._request(turn, choice, messages), session
        )

    def _follow_target(self, turn: Turn, asker: Asker) -> None:
        """Go on with other models, where they were switched since the last request."""
        route = self.aim.target.route
        if route is not turn.planned:
            turn.planned, turn.route = route, route.begin(turn.token)
            asker.route = turn.route

    def _request(self, turn: Turn, choice: ModelChoice, messages: Sequence[Message]) -> ModelRequest:
        self._follow_window(turn, choice)
        return ModelRequest(
            model=choice.model,
            messages=({"role": "system", "content": turn.system}, *messages),
            tools=self._tool_definitions(),
            max_tokens=choice.sent_limit,
            reasoning=self.aim.target.reasoning,
            cache_ttl=self.settings.cache_ttl,
            session_id=self.session_id,
            words_only=turn.closing,
        )

    def _ask(self, turn: Turn, asker: Asker) -> Reply:
        self.services.activity.turn("waiting_for_model", turn.route.choice.name)
        began = time.time()
        reply = ask_hooked(turn, asker.ask)
        if reply.finish == "oversized":
            reply = replace(reply, text=f"{reply.text}\n\n[{_OVERSIZED}]".lstrip())
            if turn.callbacks.status_callback is not None:
                turn.callbacks.status_callback(Status("oversized", _OVERSIZED))
        if reply.unread and (turn.told_unread or turn.closing):
            show_unread(turn, reply)

        if reply.finish == "unknown" and not reply.tool_calls and turn.callbacks.status_callback is not None:
            told = (
                f"The server ended the answer for a reason that is not known here ({reply.finish_word}): it may not "
                "be complete. Ask for the rest if something is missing."
            )
            turn.callbacks.status_callback(Status("unknown_end", told))
        choice = turn.route.choice
        self._tell_of_cuts(turn)
        if turn.callbacks.step_callback is not None:
            turn.callbacks.step_callback(
                Step(
                    iteration=turn.budget.used,
                    finish=reply.finish,
                    usage=reply.usage,
                    context_length=choice.context_length,
                    estimated=self._estimated(turn, asker, reply),
                    model=choice.name,
                    cost=cost_of(reply.usage, choice.facts, self.settings.cache_ttl),
                    session_cost=self.services.spent.cost,
                    began=began,
                )
            )
        return reply

    def _estimated(self, turn: Turn, asker: Asker, reply: Reply) -> int:
        """Tokens of the prompt, for the person, where its server has not counted them."""
        choice = turn.route.choice
        if reply.usage.input_tokens or choice.api_mode == "offline":
            return 0
        return self.services.meter.tokens(choice.name, asker.compression.request(choice))

    def _tell_of_cuts(self, turn: Turn) -> None:
        """Tell the person, once a session, that the model's server does not read all that it is sent."""
        choice, services = turn.route.choice, self.services
        cuts = services.cuts
        if not cuts.is_cut:
            return
        services.meter.forget(choice.name)
        if not cuts.told and turn.callbacks.status_callback is not None:
            turn.callbacks.status_callback(Status("context", cuts.words(choice, turn.route.served)))

    def _count(self, turn: Turn, usage: Usage, choice: ModelChoice) -> None:
        self._count_cost(turn, usage, cost_of(usage, choice.facts, self.settings.cache_ttl))

    def _count_cost(self, turn: Turn, usage: Usage, cost: float | None) -> None:
        turn.count(usage, cost)
        self.services.spend(usage, cost)

    @staticmethod
    def _remember(turn: Turn, asker: Asker, reply: Reply) -> None:
        turn.history.remember(reply.message(turn.route.choice))
        asker.carried.clear()

    def _understood(self, reply: Reply) -> tuple[Reply, Mapping[str, str]]:
        """The answer with each call as it is meant, and notes for the model on the names that it used, by call id.

        So it is stored and given back: servers refuse calls of tools that they were not told of.
        """
        from tools.call_meaning import understood  # noqa: PLC0415 - not before the first call

        notes: dict[str, str] = {}
        calls: list[ToolCall] = []
        offered = self.tool_names()
        for call in reply.tool_calls:
            said = call["function"]
            meant = None
            if call["id"] not in reply.problems:
                with contextlib.suppress(ValueError):
                    given = parse_arguments(said["arguments"])
                    meant = understood(said["name"], given, offered, self.workspace.tools.get)
            if meant is None:
                calls.append(call)
                continue
            calls.append(tool_call(call["id"], meant.name, json.dumps(meant.arguments, ensure_ascii=False)))
            if meant.note:
                notes[call["id"]] = meant.note
        return replace(reply, tool_calls=tuple(calls)), notes

    def _use_tools(self, turn: Turn, reply: Reply, notes: Mapping[str, str]) -> None:
        workspace = self.workspace
        if self.services.behind:
            workspace = replace(workspace, tools=workspace.tools.plus(more_tools_entry(self.services.behind)))
        runner, nested = runners_of(
            turn,
            self.session_id,
            workspace,
            self.services,
            self.tool_names(),
            delegation=partial(self.delegation, self),
        )
        turn.repeats.begin_answer()
        workspace.approvals.begin_answer()
        meant = [call if call["id"] in reply.problems else self._meant(call) for call in reply.tool_calls]
        for said, (call, result) in zip(reply.tool_calls, runner.run(meant, reply.problems), strict=True):
            turn.loose_ends.see(call, result)
            learn_from(self.services.news, call, result)
            text = with_warning(result.text, notes.get(call["id"], ""), "name_note")
            text = with_warning(text, nested.take_warnings(call["id"]), "calls_warning")
            text = with_warning(text, turn.repeats.see(call, result))
            if said is reply.tool_calls[-1]:
                text = with_warning(text, turn.budget.warning(), "budget_warning")
            told = replace(result, text=text)
            content = result_content(self._with_rules(turn, call, told))
            turn.history.remember(tool_message(said, content, outcome_of(result)))

    def _meant(self, call: ToolCall) -> ToolCall:
        """The call itself, where the model calls a tool that is not in its list: nothing about it is different."""
        if call["function"]["name"] != MORE_TOOLS or not self.services.behind:
            return call
        found = called(parse_arguments(call["function"]["arguments"]), self.services.behind)
        return call if found is None else tool_call(call["id"], found[0], json.dumps(found[1], ensure_ascii=False))

    def _with_rules(self, turn: Turn, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result with the rules of the sub-folders that the call worked in."""

        def tell(note: str) -> None:
            if turn.callbacks.status_callback is not None:
                turn.callbacks.status_callback(Status("context", note))

        rules = nested_rules(self.workspace, self.context_files)
        return rules.added(call, result, lambda: self._shown(turn), tell)

    def _shown(self, turn: Turn) -> Sequence[Message]:
        return shown(turn.history.messages, self.services.omissions, self.services.compaction)

    def _nudge(self, turn: Turn, reply: Reply) -> Nudge | None:
        """What the model is told of what it would leave undone; None where the turn may end."""
        if turn.route.choice.provider == "offline" or self.workspace.approvals.mode == "plan" or turn.token.is_set():
            return None
        return turn.loose_ends.nudge(
            reply.text,
            self.services.plan,
            turn.budget.left,
            can_check="terminal" in self.tool_names(),
            is_awaited=any(task.is_live and task.tells for task in self.services.tasks.list()),
        )

    def _tell_news(self, turn: Turn) -> bool:
        """Tell the model what happened in the background; what the turn has no request left for waits."""
        return bool(turn.budget.left) and deliver(turn, self.services.news)

    def _last_words(self, turn: Turn) -> str | None:
        """What the model has to be told before the turn ends: the person's words, '' for news; None: it may end."""
        if turn.budget.left and self.services.news.waiting():
            return turn.steering.take()
        return turn.steering.take_or_close() or None

    def listed_names(self) -> frozenset[str]:
        """The names of the tools in the model's list."""
        return frozenset(str(tool["function"]["name"]) for tool in self._tool_definitions())  # type: ignore[index]

    def tool_names(self) -> frozenset[str]:
        """The names of the tools that the model can call, in its list or not."""
        return self.listed_names() | {entry.name for entry in self.services.behind}

    def _follow_window(self, turn: Turn, choice: ModelChoice) -> None:
        """Have the list of tools and the system prompt fit the window of who is asked now."""
        services, small = self.services, is_small(choice.context_length)
        if services.small is not None and services.small != small:
            services.small, services.tools = small, None
            if self.workspace.mcp is not None:
                self.workspace.mcp.fit(choice.context_length, self.session_id)
            services.prefix.expect("window")
        self._tool_definitions()
        if turn.renew is not None and bool(services.behind) != services.has_small_prompt:
            turn.system = turn.renew()

    def _renew_tools(self, turn: Turn) -> None:
        """Tell the model of tools that came or went with the session's servers; else its list stays as it is."""
        if self.workspace.mcp is not None:
            self.workspace.mcp.fit(turn.route.choice.context_length, self.session_id)
        if self.services.tools is not None and self.services.extra_tools != self._extra_tools():
            self.services.tools = None
            self.services.prefix.expect("tools")
        if self.workspace.mcp is not None and any(name.startswith(MCP_PREFIX) for name in self.tool_names()):
            # What servers say of their tools is their words.
            self.workspace.approvals.note_others()

    def _tool_definitions(self) -> Sequence[dict[str, object]]:
        services = self.services
        if services.tools is None:
            if services.small is None:
                services.small = is_small(self.aim.target.route.first.context_length)
            services.extra_tools = self._extra_tools()
            with describing(self.limits):
                told = get_tool_definitions(self.toolsets, self.disabled, toolbox=self.workspace.tools)
                services.behind = ()
                if services.small:
                    told, services.behind = small_choice(
                        told, select(self.toolsets, self.disabled, self.workspace.tools)
                    )
            services.tools = told
        return services.tools

    def offered_tools(self) -> frozenset[str]:
        """The names of the tools that the model is offered, and of their toolsets."""
        entries = select(self.toolsets, self.disabled, self.workspace.tools)
        return frozenset(name for entry in entries for name in (entry.name, entry.toolset))

    def _extra_tools(self) -> tuple[str, ...]:
        extra = self.workspace.tools.extra()
        # A server may change what a tool takes, and leave its name.
        return tuple([f"{each.name} {crc32(repr((each.description, each.schema)).encode())}" for each in extra])
