"""One model's answer to a side task: what counts as one, and the keys that it is asked with."""

from __future__ import annotations

import pytest

from agent_core.model_request.fallback_chain import Member
from agent_core.providers.credentials import CredentialPool, PoolState
from tests.support.model_server import Disconnect, Garbage, Reply, Status, ToolCall, Usage
from tests.support.side_tasks import QUESTION, SECOND_KEY, at, key_of, refusal
from tests.support.wire_agents import KEY


def test_the_next_key_is_used_when_one_is_refused(model_server, auxiliary, protocol):
    model_server.add(refusal(401, "Incorrect API key provided"), Reply("A title."))
    client = auxiliary(model=at(model_server, protocol, default="test-model", api_keys=[SECOND_KEY]))
    assert client.complete("title", QUESTION).text == "A title."
    assert [key_of(request) for request in model_server.requests] == [KEY, SECOND_KEY]


def test_no_key_is_tried_twice(model_server, second, auxiliary):
    again = refusal(429, "Rate limit reached", {"Retry-After": "0"})
    model_server.add(*[again] * 9)
    client = auxiliary(
        model=at(model_server, default="test-model", api_keys=[SECOND_KEY]),
        fallback_providers=[at(second, model="other-model")],
    )
    assert client.complete("title", QUESTION).text == "from the second"
    keys = [key_of(request) for request in model_server.requests]
    assert len(keys) == len(set(keys))


def test_a_model_whose_keys_rest_is_passed_over(model_server, second, auxiliary, caplog):
    state = PoolState()

    def member(_config, choice):
        return Member(choice, CredentialPool(choice.base_url, [choice.api_key], "fill_first", state))

    client = auxiliary(
        member,
        model=at(model_server, default="test-model"),
        fallback_providers=[at(second, model="other-model")],
    )
    pool = CredentialPool(model_server.base_url, [KEY], "fill_first", state)
    pool.failed(pool.take(), "rate_limit", 300)
    assert client.complete("title", QUESTION).text == "from the second"
    assert model_server.requests == []


class SignIn:
    """Stands in for `OAuthBearer`."""

    def __init__(self, *tokens):
        self.problem = "There is no sign-in at example.com. Sign in."
        self._tokens = list(tokens)

    def current(self, cancelled=None):
        return self._tokens[0] if self._tokens else None

    def refreshed(self, after, cancelled=None):
        return self._tokens.pop() if self._tokens[-1] != after else None


def test_a_sign_in_that_is_refused_is_renewed_once(model_server, auxiliary):
    model_server.add(refusal(401), Reply("A title."))
    signed_in = SignIn("token-1", "token-2")
    client = auxiliary(lambda _, choice: Member(choice, bearer=signed_in), model=at(model_server, default="m"))
    assert client.complete("title", QUESTION).text == "A title."
    assert [key_of(request) for request in model_server.requests] == ["token-1", "token-2"]


@pytest.mark.parametrize(("tokens", "requests", "said"), [((), 0, "no sign-in"), (("token-1",), 1, "custom:m: auth")])
def test_a_sign_in_that_has_ended_is_no_error_of_the_turn(model_server, auxiliary, caplog, tokens, requests, said):
    model_server.add(*[refusal(401)] * 3)
    client = auxiliary(lambda _, choice: Member(choice, bearer=SignIn(*tokens)), model=at(model_server, default="m"))
    assert client.complete("title", QUESTION) is None
    assert len(model_server.requests) == requests
    assert said in caplog.records[-1].getMessage()
    assert "token-1" not in caplog.text


USELESS = {
    "garbage": Garbage(),
    "no events": Garbage(b"<html>", "text/html"),
    "an empty body": Garbage(b""),
    "JSON of another kind": Garbage(b"data: 42\n\n"),
    "fields of another kind": Garbage(b'data: {"choices": 7, "type": [], "delta": 3}\n\n'),
    "JSON without a bottom": Garbage(b"data: " + b"[" * 100_000 + b"\n\n"),
    "no connection": Disconnect(before_headers=True),
    "half an answer": Disconnect(Reply("one two", split=3), after=1),
    "no text": Reply(""),
    "blanks": Reply(" \n"),
    "thoughts alone": Reply("", reasoning="hm"),
    "thoughts that were cut": Reply("<think>hm", finish_reason="length"),
    "a tool call": Reply("", tool_calls=[ToolCall("c", "read_file", "{]")]),
    "a refusal": Reply("I cannot help with that.", finish_reason="content_filter"),
    "a page": Status(404, "<html>not found</html>"),
    "an error of no kind": Status(418, "\x00"),
}


@pytest.mark.parametrize("answer", USELESS.values(), ids=USELESS)
def test_an_answer_of_no_use_is_a_failure_and_the_next_model_is_asked(
    model_server, second, auxiliary, protocol, answer
):
    model_server.add(answer)
    client = auxiliary(
        model=at(model_server, protocol, default="test-model"), fallback_providers=[at(second, model="other-model")]
    )
    assert client.complete("title", QUESTION).text == "from the second"
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<think>\nA title?\n</think>\n\nA title.", "A title."),
        ("<thinking>x</thinking>A title.", "A title."),
        ("How <think> works", "How <think> works"),
    ],
)
def test_thoughts_within_the_answer_are_no_part_of_it(model_server, auxiliary, said, text):
    model_server.add(Reply(said, split=2))
    client = auxiliary(model=at(model_server, default="test-model"))
    assert client.complete("title", QUESTION).text == text


def test_an_answer_that_was_cut_says_so(model_server, auxiliary, protocol):
    model_server.add(Reply("half a summ", finish_reason="length"))
    completion = auxiliary(model=at(model_server, protocol, default="test-model")).complete("compression", QUESTION)
    assert (completion.text, completion.truncated) == ("half a summ", True)


def test_what_an_answer_costs_is_told_where_it_is_known(model_server, auxiliary):
    model_server.add(Reply("A title.", usage=Usage(1_000_000, 0)))
    client = auxiliary(model=at(model_server, default="gpt-4o") | {"provider": "openai"})
    assert client.complete("title", QUESTION).cost == pytest.approx(2.5)
