"""Turns, model requests and tool calls as spans, named as OpenTelemetry's conventions for generative AI name them.

Source: OpenTelemetry semantic conventions, «gen_ai» spans (invoke_agent, chat, execute_tool). No text of prompts,
answers, arguments or results is in them.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from agent_core.callbacks import AgentCallbacks, CallFinished, CallRequested, CallRunning, Step, ToolProgress
from agent_core.errors import ModelFailed

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AttributeValue

    from agent_core.turn import Turn

AGENT = "hermes-acp"
_NANO = 1_000_000_000


class SessionSpans:
    """Makes the spans of one session's turns.

    Args:
        under: what they stand below; None: each turn is a trace of its own.
    """

    def __init__(self, tracer: Tracer, under: Context | None = None) -> None:
        self._tracer = tracer
        self._under = under
        self._now: Context | None = under

    def begin(self, session_id: str, turn_id: str) -> TurnSpans:
        """Open a turn's span."""
        facts: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": AGENT,
            "gen_ai.conversation.id": session_id,
            "hermes.turn.id": turn_id,
        }
        span = self._tracer.start_span(f"invoke_agent {AGENT}", self._under, SpanKind.INTERNAL, facts)
        self._now = trace.set_span_in_context(span)
        return TurnSpans(self._tracer, span)

    def of_sub_agent(self) -> SessionSpans:
        """For a sub-agent: its turns stand below the turn that runs now."""
        return SessionSpans(self._tracer, self._now)


class TurnSpans:
    """The spans of one turn. Its listeners are called on several threads."""

    def __init__(self, tracer: Tracer, span: Span) -> None:
        self._tracer = tracer
        self._span = span
        self._lock = threading.Lock()
        self._calls: dict[str, Span] = {}

    def heard(self, callbacks: AgentCallbacks) -> AgentCallbacks:
        """The listeners, which are heard here first."""
        on_tool, on_step = callbacks.tool_progress_callback, callbacks.step_callback

        def tool(progress: ToolProgress) -> None:
            self._on_tool(progress)
            if on_tool is not None:
                on_tool(progress)

        def step(made: Step) -> None:
            self._on_step(made)
            if on_step is not None:
                on_step(made)

        return replace(callbacks, tool_progress_callback=tool, step_callback=step)

    def end(self, turn: Turn | None, outcome: str, failure: Exception | None) -> None:
        """Close the turn's span, and those of calls that never came to an end."""
        with self._lock:
            left, self._calls = list(self._calls.values()), {}
        for span in left:
            span.set_attribute("error.type", "interrupted")
            span.end()
        if turn is not None:
            self._span.set_attributes(_used(turn.usage["input_tokens"], turn.usage["output_tokens"]))
            model, requests = turn.route.choice.model, turn.budget.used
            self._span.set_attributes({"gen_ai.request.model": model, "hermes.requests": requests})
            if turn.cost is not None:
                self._span.set_attribute("hermes.cost_usd", turn.cost)
        self._span.set_attribute("hermes.stop_reason", outcome)
        if outcome == "error":
            # Its words may be the server's, with the conversation or a key in them.
            self._span.set_attribute("error.type", _kind_of(failure))
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()

    def _on_step(self, step: Step) -> None:
        provider, _, model = step.model.partition(":")
        facts: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.response.finish_reasons": (step.finish,),
            **_used(step.usage.input_tokens, step.usage.output_tokens),
        }
        if step.usage.cached_tokens is not None:
            facts["gen_ai.usage.cache_read.input_tokens"] = step.usage.cached_tokens
        if step.cost is not None:
            facts["hermes.cost_usd"] = step.cost
        began = round(step.began * _NANO) or None
        self._tracer.start_span(
            f"chat {model}", trace.set_span_in_context(self._span), SpanKind.CLIENT, facts, start_time=began
        ).end()

    def _on_tool(self, progress: ToolProgress) -> None:
        match progress:
            case CallRequested():
                self._open(progress)
            case CallRunning(call_id=call_id):
                with self._lock:
                    span = self._calls.get(call_id)
                if span is not None:
                    span.add_event("allowed")
            case CallFinished():
                self._close(progress)

    def _open(self, call: CallRequested) -> None:
        facts: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.call_id,
            "gen_ai.tool.type": "function",
        }
        if call.by:
            facts["gen_ai.agent.name"] = call.by
        with self._lock:
            if call.call_id in self._calls:
                return
            above = self._calls.get(call.parent, self._span)
            self._calls[call.call_id] = self._tracer.start_span(
                f"execute_tool {call.name}", trace.set_span_in_context(above), SpanKind.INTERNAL, facts
            )

    def _close(self, finished: CallFinished) -> None:
        with self._lock:
            span = self._calls.pop(finished.call_id, None)
        if span is None:
            return
        if not finished.ran:
            span.set_attribute("error.type", "refused")
        elif finished.result.failed:
            span.set_attribute("error.type", "tool_error")
            span.set_status(Status(StatusCode.ERROR))
        span.end()


def _kind_of(failure: Exception | None) -> str:
    return failure.reason if isinstance(failure, ModelFailed) else type(failure).__name__


def _used(read: int | None, written: int | None) -> dict[str, AttributeValue]:
    named = {"gen_ai.usage.input_tokens": read, "gen_ai.usage.output_tokens": written}
    return {name: count for name, count in named.items() if count is not None}
