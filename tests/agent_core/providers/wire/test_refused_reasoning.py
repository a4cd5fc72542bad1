"""Refusals over earlier reasoning: what is missing is sent from then on, what is not known is left out."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderStatusError
from agent_core.providers.choice import Dialect
from agent_core.providers.lessons import fitting_reasoning
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.model_server import Reply, Status, ToolCall
from tests.support.wire_agents import wired

CALL = ToolCall("c1", "todo", {"todos": []})
MISSING = [
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 32",
    "Missing `reasoning_content` field in the assistant message at message index 2. See the guide",
    "reasoning_content is required for assistant messages with tool calls",
    "messages[3]: assistant message without reasoning content",
]
UNSIGNED = [
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work.",
    "Unable to submit request because function call `x` in the 2. content block is missing a `thought_signature`.",
    "thoughtSignature is required for functionCall parts",
]
UNKNOWN = [
    "'messages.2' : for 'role:assistant' the following must hold[property 'reasoning_content' is unsupported]",
    "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
    '[{"type":"extra_forbidden","loc":["body","messages",3,"assistant","reasoning_content"],"msg":"Extra inputs"}]',
    "Unrecognized request argument supplied: reasoning_details",
    "messages.1.reasoning: Extra inputs are not permitted",
    "Invalid JSON payload received. Unknown name 'extra_content' at 'messages[1].tool_calls[0]': Cannot find field",
]
OTHERS = [
    "This model does not support reasoning_effort",
    "max_tokens is required",
    "reasoning effort is required for this model",
    "Invalid `signature` in `thinking` block",
    "The model is overloaded",
    "Unsupported parameter: 'reasoning.summary'",
    "This model's maximum context length is 128000 tokens, reasoning included",
]


def learned(said, back="given", status=400):
    body = json.dumps({"error": {"message": said}})
    choice = choice_for("http://127.0.0.1/v1", dialect=Dialect(reasoning_back=back))
    return fitting_reasoning(choice, ProviderStatusError("refused", status, body))


@each("said", MISSING)
def test_a_refusal_for_missing_reasoning_asks_for_it_from_then_on(said):
    assert learned(said) == "reasoning_content"
    assert learned(said, "reasoning_content") is None


@each("said", UNSIGNED)
def test_a_refusal_for_a_missing_thought_signature_asks_for_one_from_then_on(said):
    assert learned(said, status=500) == "thought_signature"
    assert learned(said, "thought_signature") is None


@each("said", UNKNOWN)
def test_a_refusal_of_a_field_of_reasoning_leaves_placeholders_out_and_then_all_of_it(said):
    assert [learned(said, back) for back in ("reasoning_content", "given", "none")] == ["given", "none", None]


@each("said", OTHERS)
def test_a_refusal_over_something_else_says_nothing_of_reasoning(said):
    assert learned(said) is None


@each("status", [401, 404, 413, 429, 503, None])
def test_a_failure_that_is_no_refusal_of_the_request_says_nothing_of_reasoning(status):
    assert learned(MISSING[0], status=status) is None


def assistant(request):
    return next(message for message in request.body["messages"] if message["role"] == "assistant")


@pytest.mark.quirk(
    "any that is not known to insist on reasoning",
    "refuses a tool call because its reasoning is missing",
    "the request is sent again with a placeholder, and every later one too",
)
def test_a_turn_outlasts_a_server_that_turns_out_to_insist_on_reasoning(model_server, over):
    refusal = Status(400, {"error": {"message": MISSING[1]}})
    model_server.add(Reply("", tool_calls=[CALL]), refusal, Reply("ok"), Reply("again"))
    agent = over(wired(model_server.base_url))
    assert [agent.chat("go"), agent.chat("on")] == ["ok", "again"]
    given = [assistant(request).get("reasoning_content") for request in model_server.requests[1:]]
    assert given == [None, " ", " "]


@pytest.mark.quirk(
    "any that sends reasoning and does not take it back",
    "refuses the field of its own",
    "the request is sent again without it, and every later one too",
)
def test_a_turn_outlasts_a_server_that_does_not_take_its_own_reasoning_back(model_server, over):
    refusal = Status(422, {"detail": UNKNOWN[4]})
    thinking = Reply("", reasoning="hm", reasoning_field="reasoning", tool_calls=[CALL])
    model_server.add(thinking, refusal, Reply("ok"), Reply("again"))
    agent = over(wired(model_server.base_url))
    assert [agent.chat("go"), agent.chat("on")] == ["ok", "again"]
    assert ["reasoning" in assistant(request) for request in model_server.requests[1:]] == [True, False, False]
