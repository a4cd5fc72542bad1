"""A turn whose conversation does not fit goes on with a summary: ahead of a request, and after one was refused."""

from __future__ import annotations

import threading

import pytest

from agent_core.cancel import CancelToken
from agent_core.compaction.engine import Compaction, Compressed
from agent_core.errors import ModelFailed, StoreError, TurnInterrupted
from agent_core.messages import assistant_message, user_message
from agent_core.model_request.fallback_chain import Route
from agent_core.model_request.side_models import Completion
from agent_core.providers.base import Usage
from agent_core.services import SessionServices
from agent_core.sessions.database import Database
from agent_core.sessions.store import SessionStore
from tests.support.agents import Ears, MemoryStore, assert_well_formed, in_background
from tests.support.foreign_engine import ForeignEngine
from tests.support.model_server import Reply, Status, ToolCall
from tests.support.wire_agents import pooled, wired

LONG = "lorem ipsum dolor sit amet " * 100  # about 700 tokens
SMALL = 20_000  # a window with few tools in the list
WINDOW = 30_000


def summary(messages, token):
    return Completion("they talked", "custom:small", Usage(100, 10), 0.25)


def services_with(engine=None, summarise=summary):
    services = SessionServices()
    services.engine, services.summarise = engine or ForeignEngine(), summarise
    return services


def talk(agent, server, count, first=0, **options):
    """So many turns of long prompts; their results."""
    results = []
    for number in range(first, first + count):
        server.add(Reply(f"answer {number}"))
        results.append(agent.run_conversation(f"prompt {number}: {LONG}", **options))
    return results


def fixed_part(agent):
    """Tokens of system prompt and tools: thresholds of these tests stand on it."""
    return agent.services.meter.fixed("any", agent.services.system, agent.services.tools)


@pytest.fixture
def small(model_server, over, protocol):
    """An agent whose window holds its tools and about five turns of `talk` before it is time to compress."""
    model_server.add(Reply("hi"))
    probe = over(wired(model_server.base_url, protocol, context_length=SMALL))
    probe.chat("hello")
    window = 2 * (fixed_part(probe) + 5 * 700)

    def make(**options):
        options.setdefault("services", services_with())
        return over(wired(model_server.base_url, protocol, context_length=window), **options)

    return make


def test_ahead_of_a_request_that_would_fill_the_window_the_model_gets_a_summary(model_server, small):
    ears = Ears()
    agent = small()
    results = talk(agent, model_server, 9, callbacks=ears.callbacks())
    told = [step.state for step in ears.of("compression")]
    assert told
    assert told == ["running", "done"] * (len(told) // 2)
    last = model_server.requests[-1].raw.decode()
    assert "earlier messages: they talked" in last
    assert "prompt 0" in last
    assert "prompt 1" not in last
    assert "prompt 8" in last
    assert set(agent.services.prefix.breaks) == {"compression"}
    assert_well_formed(results[-1]["messages"])
    assert [m["content"][:8] for m in results[-1]["messages"] if m["role"] == "user"] == [
        f"prompt {number}" for number in range(9)
    ]
    done = ears.of("compression")[1]
    assert done.made.tokens_after < done.made.tokens_before
    assert done.made.reason == "preflight"
    assert done.window
    assert not ears.of("status")


def attached(text, size):
    return [
        {"type": "text", "text": text},
        {"type": "text", "text": f"<attachment>{'lorem ipsum ' * size}</attachment>"},
    ]


@pytest.mark.parametrize(
    "prompt",
    [attached("Look at this", 60_000), "lorem ipsum dolor " * 60_000],
    ids=["attachment", "text"],
)
def test_a_prompt_too_large_for_the_window_fails_before_anything_is_compacted(model_server, small, prompt):
    ears, agent = Ears(), small()
    talk(agent, model_server, 4)
    asked = len(model_server.requests)
    with pytest.raises(ModelFailed) as caught:
        agent.run_conversation(prompt, callbacks=ears.callbacks())
    assert caught.value.reason == "context_overflow"
    assert caught.value.public.startswith("Send less text, or name the file")
    assert "was not compressed" in caught.value.public
    assert len(model_server.requests) == asked
    assert ears.of("compression") == []
    assert agent.services.compaction is None
    (result,) = talk(agent, model_server, 1, 4)
    assert [m["content"][:8] for m in result["messages"] if m["role"] == "user"] == [
        f"prompt {number}" for number in range(5)
    ]
    assert_well_formed(result["messages"])


def test_a_large_attachment_that_fits_once_there_is_room_is_sent(model_server, small):
    agent = small()
    talk(agent, model_server, 4)
    model_server.add(Reply("seen"))
    assert agent.run_conversation(attached("Look at this", 2_500))["final_response"] == "seen"


def test_a_prompt_too_large_for_a_model_goes_to_one_with_a_larger_window(model_server, over, protocol):
    first = wired(model_server.base_url, protocol, context_length=SMALL)
    second = wired(model_server.base_url, protocol, context_length=400_000)
    ears, agent = Ears(), over(first, second, services=services_with())
    model_server.add(Reply("seen"))
    result = agent.run_conversation(attached("Look at this", 60_000), callbacks=ears.callbacks())
    assert result["final_response"] == "seen"
    assert [status.kind for status in ears.of("status")] == ["fallback"]


def test_what_the_summary_cost_is_counted_with_the_session(model_server, small):
    ears = Ears()
    agent = small()
    results = talk(agent, model_server, 9, callbacks=ears.callbacks())
    made = sum(step.state == "done" for step in ears.of("compression"))
    # The answers cost nothing that is known; requests are counted with the summaries.
    assert agent.services.spent.requests == 9 + made
    assert sum(result["usage"]["output_tokens"] >= 10 for result in results) >= made


def test_a_request_that_a_server_refuses_as_too_large_is_made_smaller_and_sent_again(model_server, over, protocol):
    ears, services = Ears(), services_with()
    agent = over(wired(model_server.base_url, protocol), services=services)
    talk(agent, model_server, 6)
    model_server.add(_too_large())
    (result,) = talk(agent, model_server, 1, 6, callbacks=ears.callbacks())
    assert result["final_response"] == "answer 6"
    refused, again = (request.raw.decode() for request in model_server.requests[-2:])
    assert "prompt 2" in refused
    assert "prompt 2" not in again
    assert "they talked" in again
    assert [step.state for step in ears.of("compression")] == ["running", "done"]
    assert [status.kind for status in ears.of("status")] == ["retry"]
    assert services.prefix.breaks == ["compression"]
    assert services.compaction.reason == "overflow"


def test_a_conversation_that_stays_too_large_ends_with_what_was_tried_and_what_to_do(model_server, over, protocol):
    services = services_with(_Shrinking())
    agent = over(wired(model_server.base_url, protocol), services=services)
    talk(agent, model_server, 6)
    asked = len(model_server.requests)
    model_server.add(*[_too_large()] * 4)
    with pytest.raises(ModelFailed) as caught:
        agent.run_conversation(LONG)
    assert len(model_server.requests) == asked + 4
    assert "compressed 3 times" in caught.value.public
    assert "/reset" in caught.value.public
    (result,) = talk(agent, model_server, 1, 6)
    assert result["stop_reason"] == "end_turn"
    assert_well_formed(result["messages"])


def test_where_nothing_can_be_made_smaller_the_prompt_is_named_as_too_large(model_server, over, protocol):
    agent = over(wired(model_server.base_url, protocol), services=services_with())
    model_server.add(_too_large())
    with pytest.raises(ModelFailed, match="shorter"):
        agent.run_conversation(LONG)
    assert len(model_server.requests) == 1


def test_a_cancel_while_the_summary_is_written_ends_the_turn_and_changes_nothing(model_server, small):
    asked, ears, token = threading.Event(), Ears(), CancelToken()

    def slowly(messages, token):
        asked.set()
        token.wait_for(lambda: False, 30)
        raise TurnInterrupted

    services = services_with(summarise=slowly)
    agent = small(services=services)
    running = in_background(lambda: talk(agent, model_server, 9, token=token, callbacks=ears.callbacks()))
    assert asked.wait(30)
    token.cancel()
    assert running.result(30)[-1]["interrupted"]
    assert [step.state for step in ears.of("compression")] == ["running", "cancelled"]
    assert services.compaction is None
    assert services.prefix.breaks == []


@pytest.mark.parametrize("broken", ["none", "raises"])
def test_without_a_summary_it_is_made_by_rule_with_a_warning(model_server, small, broken):
    def nobody(messages, token):
        return None

    ears, services = Ears(), services_with(summarise=None if broken == "none" else nobody)
    talk(small(services=services), model_server, 9, callbacks=ears.callbacks())
    assert services.compaction.made_by == ""
    assert "Nobody wrote a summary" in model_server.requests[-1].raw.decode()
    assert {status.kind for status in ears.of("status")} == {"compression"}


class _Engine(ForeignEngine):
    """One that goes wrong."""

    def __init__(self, outcome):
        super().__init__(threshold=0.01)
        self.outcome = outcome

    def compress(self, request, summarise):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return Compressed(self.outcome(request)) if self.outcome is not None else None


class _Shrinking(ForeignEngine):
    """One that always finds a little more."""

    def is_due(self, use):
        return False

    def compress(self, request, summarise):
        up_to = (request.before.up_to if request.before is not None else 1) + 2
        return Compressed(Compaction(1, up_to, "[Earlier messages.]", sealed_before=len(request.messages)))


WRONG = {
    "raises": RuntimeError("a bug"),
    "nothing": None,
    "beyond the end": lambda request: Compaction(1, len(request.messages) + 1, "x"),
    "larger": lambda request: Compaction(0, 0, "", cuts={0: 10**9}),
    "two prompts in a row": lambda request: Compaction(1, 2, ""),
    "all of it": lambda request: Compaction(0, len(request.messages), ""),
    "without the prompt": lambda request: Compaction(0, len(request.messages), "They talked."),
    "kept beyond the end": lambda request: Compaction(0, 2, "They talked.", kept=(99,)),
    "begins with an answer": lambda request: Compaction(0, 1, ""),
    "a text in place of it": lambda request: "They talked.",
    "a number as a line": lambda request: Compaction(0, 2, "They talked.", results={"a": 1}),
    "no text": lambda request: Compaction(0, 2, None),
}


@pytest.mark.parametrize("outcome", WRONG.values(), ids=WRONG)
def test_an_engine_that_goes_wrong_costs_the_turn_nothing(model_server, over, outcome):
    services = services_with(_Engine(outcome))
    agent = over(wired(model_server.base_url, context_length=WINDOW), services=services)
    results = talk(agent, model_server, 3)
    assert [result["final_response"] for result in results] == ["answer 0", "answer 1", "answer 2"]
    assert services.compaction is None
    assert services.prefix.breaks == []


@pytest.mark.parametrize("method", ["is_due", "switched", "compress"])
def test_an_engine_that_raises_is_told_of_once_a_turn(model_server, over, method):
    def broken(*_args):
        raise RuntimeError("a bug")

    services, ears = services_with(ForeignEngine(threshold=0.01)), Ears()
    setattr(services.engine, method, broken)
    agent = over(wired(model_server.base_url, context_length=WINDOW), services=services)
    model_server.add(Reply(tool_calls=(ToolCall("c", "todo"),)), Reply("done"))
    result = agent.run_conversation("look", callbacks=ears.callbacks())
    assert result["final_response"] == "done"
    (status,) = ears.of("status")
    assert "'foreign' failed" in status.text
    assert services.compaction is None


def test_a_memory_that_fails_does_not_keep_it_from_being_done(model_server, small):
    seen = []

    def flush(request):
        seen.append(len(request.messages))
        raise OSError("no space")

    services = services_with()
    services.before_compression = flush
    talk(small(services=services), model_server, 9)
    assert seen
    assert services.compaction is not None


def test_another_process_sends_the_same_beginning(model_server, small, tmp_path):
    database = Database(tmp_path / "hermes-acp.db")
    first = SessionStore(database, background=False)
    agent = small(session_store=first)
    talk(agent, model_server, 8)
    services = services_with()
    kept = first.kept(agent.session_id)
    before = agent.services.compaction
    first.release(agent.session_id)
    services.restore(kept, same_prompt=True)
    services.prefix = agent.services.prefix
    breaks = list(services.prefix.breaks)
    second = SessionStore(database, background=False)
    services.engine.threshold = 1.0
    talk(small(session_store=second, session_id=agent.session_id, services=services), model_server, 1, 8)
    assert services.compaction == before
    assert services.prefix.breaks == breaks
    first.close()
    second.close()
    database.close()


def test_an_engine_is_told_of_the_window_of_each_model_that_is_asked(model_server, over):
    services = services_with(ForeignEngine(threshold=0.9))
    large, little = (
        wired(model_server.base_url, context_length=window, model=model)
        for window, model in ((200_000, "test-model"), (20_000, "other-model"))
    )
    agent = over(large, services=services)
    talk(agent, model_server, 2)
    connect = agent.route.connect
    agent.switch(Route([pooled(little)], connect), None)
    talk(agent, model_server, 2, 2)
    assert services.engine.windows == [200_000, 20_000]


def test_an_engine_is_told_of_another_model_with_the_same_window(model_server, over):
    services = services_with(ForeignEngine(threshold=0.9))
    agent = over(wired(model_server.base_url, context_length=200_000), services=services)
    talk(agent, model_server, 2)
    other = wired(model_server.base_url, context_length=200_000, model="other-model")
    agent.switch(Route([pooled(other)], agent.route.connect), None)
    talk(agent, model_server, 2, 2)
    assert services.engine.windows == [200_000, 200_000]


def test_a_history_of_somebody_elses_is_not_compressed(model_server, small):
    services = services_with(ForeignEngine(threshold=0.01))
    agent = small(services=services)
    given = [message for number in range(9) for message in (user_message(f"{number}"), assistant_message("yes"))]
    model_server.add(Reply("done"))
    agent.run_conversation("more", conversation_history=given)
    assert services.compaction is None


def test_what_is_turned_off_is_not_done_by_itself(model_server, over, protocol):
    services = services_with()
    services.by_itself = False
    agent = over(wired(model_server.base_url, protocol), services=services)
    talk(agent, model_server, 6)
    model_server.add(_too_large())
    with pytest.raises(ModelFailed, match="type /compact"):
        agent.run_conversation("more")
    assert services.compaction is None


class _Unreadable(MemoryStore):
    """Forgets compressions when the test says so, as a database does that cannot be read."""

    fails = False

    def compaction(self, session_id):
        if self.fails:
            raise StoreError("The disk failed.", "disk")
        return super().compaction(session_id)


def test_what_cannot_be_read_any_more_stays_in_effect_in_memory(model_server, small):
    store, services = _Unreadable(), services_with()
    agent = small(services=services, session_store=store)
    talk(agent, model_server, 8)
    before, store.fails = services.compaction, True
    services.engine.threshold = 1.0
    talk(agent, model_server, 1, 8)
    assert services.compaction is before is not None


def _too_large():
    return Status(400, {"error": {"message": "This model's maximum context length is 8192 tokens.", "type": "error",
                                  "code": "context_length_exceeded"}})  # fmt: skip
