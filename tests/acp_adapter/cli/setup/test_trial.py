"""Whether a model answers: one short question, bounded in time."""

from __future__ import annotations

import pytest

from acp_adapter.cli.model_trial import try_model
from tests.support.choices import choice_for
from tests.support.model_server import Disconnect, Garbage, Hang, ModelServer, Reply, Status


def test_a_model_that_answers_has_no_problem_and_was_asked_little(model_server: ModelServer) -> None:
    model_server.add(Reply("ready"))
    assert try_model(choice_for(model_server.base_url)) == ""
    (request,) = model_server.requests
    assert 0 < request.body["max_tokens"] <= 64
    assert not request.body.get("tools")


def test_a_model_that_thinks_until_the_limit_works_too(model_server: ModelServer) -> None:
    model_server.add(Reply("", finish_reason="length"))
    assert try_model(choice_for(model_server.base_url)) == ""


@pytest.mark.parametrize(
    "reply", [Status(401, "No such key."), Garbage(), Disconnect(Reply("half an answer"), after=1)]
)
def test_a_failure_is_told_in_words(model_server: ModelServer, reply: object) -> None:
    model_server.add(reply)  # type: ignore[arg-type]
    assert try_model(choice_for(model_server.base_url))


def test_a_model_that_is_silent_is_given_up(model_server: ModelServer) -> None:
    model_server.add(Hang(Reply("never")))
    assert "within 0.2 s" in try_model(choice_for(model_server.base_url), seconds=0.2)
