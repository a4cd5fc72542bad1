"""A turn is a trace: its model requests and tool calls stand below it, with figures and without any text."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from agent_core.agent import AIAgent
from agent_core.errors import ModelFailed, ProviderConnectionError
from agent_core.providers.base import Usage, UsageReport
from agent_core.services import SessionServices
from agent_core.telemetry.spans import SessionSpans
from tests.support.agents import Ears, make_agent
from tests.support.delegating import delegates, delegating_agent
from tests.support.scripted_provider import says, uses


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def services(exporter: InMemorySpanExporter) -> SessionServices:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    services = SessionServices()
    services.tracing = SessionSpans(provider.get_tracer("test"))
    return services


def named(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    spans = exporter.get_finished_spans()
    assert len({span.name for span in spans}) == len(spans)
    return {span.name: span for span in spans}


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def run(agent: AIAgent, said: str, ears: Ears | None = None) -> None:
    agent.run_conversation(said, callbacks=None if ears is None else ears.callbacks())


def test_requests_and_calls_stand_below_their_turn(
    tmp_path: Path, services: SessionServices, exporter: InMemorySpanExporter
) -> None:
    (tmp_path / "note.txt").write_text("remember\n")
    first = [UsageReport(Usage(10, 5, 2, 1)), *uses(("a", "read_file", {"path": "note.txt"}))]
    agent = make_agent(tmp_path, first, services=services)
    ears = Ears()
    with pytest.raises(Exception, match="script"):
        run(agent, "read it", ears)
    spans = named(exporter)
    turn, chat, tool = spans["invoke_agent hermes-acp"], spans["chat test-model"], spans["execute_tool read_file"]
    assert parent(turn) is None
    assert parent(chat) == parent(tool) == turn.context.span_id
    assert chat.attributes is not None
    assert {name: chat.attributes[f"gen_ai.usage.{name}"] for name in ("input_tokens", "output_tokens")} == {
        "input_tokens": 10,
        "output_tokens": 5,
    }
    assert chat.start_time is not None
    assert turn.start_time <= chat.start_time + 1_000_000 <= tool.start_time + 1_000_000  # type: ignore[operator]
    assert [event.name for event in tool.events] == ["allowed"]
    assert ears.heard, "the other listeners hear all of it too"


def test_no_text_of_the_conversation_is_in_a_span(
    tmp_path: Path, services: SessionServices, exporter: InMemorySpanExporter
) -> None:
    (tmp_path / "note.txt").write_text("the-files-text\n")
    agent = make_agent(
        tmp_path, uses(("a", "read_file", {"path": "note.txt"})), says("the-answers-text"), services=services
    )
    # Two requests of one model have the same name.
    run(agent, "the-prompts-text")
    told = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert not [
        text for text in ("the-files-text", "the-answers-text", "the-prompts-text", "note.txt") if text in told
    ]


def test_a_turn_that_failed_says_so_and_not_in_the_servers_words(
    tmp_path: Path, services: SessionServices, exporter: InMemorySpanExporter
) -> None:
    agent = make_agent(tmp_path, [ProviderConnectionError("It does not like the-prompts-text.")], services=services)
    with pytest.raises(ModelFailed, match="the-prompts-text"):
        run(agent, "hello")
    turn = named(exporter)["invoke_agent hermes-acp"]
    assert turn.status.status_code is StatusCode.ERROR
    assert "the-prompts-text" not in turn.to_json()
    assert (turn.attributes or {})["error.type"] == "connection"


def test_a_call_that_failed_and_one_that_was_refused_are_told_apart(
    tmp_path: Path, services: SessionServices, exporter: InMemorySpanExporter
) -> None:
    calls = (("a", "read_file", {"path": "absent.txt"}), ("b", "write_file", {"path": "x", "content": "y"}))
    agent = make_agent(tmp_path, uses(*calls), says("done"), services=services, mode="plan")
    run(agent, "go")
    kinds = {
        span.name: (span.attributes or {}).get("error.type")
        for span in exporter.get_finished_spans()
        if span.name.startswith("execute_tool")
    }
    assert kinds == {"execute_tool read_file": "tool_error", "execute_tool write_file": "refused"}


def test_what_a_sub_agent_does_stands_below_the_turn_that_it_works_for(
    tmp_path: Path, services: SessionServices, exporter: InMemorySpanExporter
) -> None:
    (tmp_path / "note.txt").write_text("remember\n")
    run(delegating_agent(tmp_path, services=services), delegates("read note.txt"))
    spans = exporter.get_finished_spans()
    agents = [span for span in spans if span.name == "invoke_agent hermes-acp"]
    (outer,) = [span for span in agents if span.parent is None]
    (inner,) = [span for span in agents if span.parent is not None]
    assert parent(inner) == outer.context.span_id
    assert parent(next(span for span in spans if span.name == "execute_tool read_file")) == inner.context.span_id
    assert len({span.context.trace_id for span in spans}) == 1
