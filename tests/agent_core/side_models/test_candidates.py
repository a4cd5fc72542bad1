"""Which models a side task asks, and in which order."""

from __future__ import annotations

import logging

import pytest

from agent_core.messages import user_message
from tests.support.model_server import Reply
from tests.support.side_tasks import LIMIT_FIELD, QUESTION, at, key_of, refusal
from tests.support.wire_agents import KEY


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"title": {"provider": "auto", "model": "", "base_url": "", "api_key": ""}},
        {"title": {"timeout": 5, "max_tokens": 33}},
        {"vision": {"model": "other-model"}},
    ],
)
def test_without_a_model_of_its_own_a_task_asks_the_sessions(model_server, auxiliary, protocol, written):
    model_server.add(Reply("A title."))
    client = auxiliary(model=at(model_server, protocol, default="test-model"), auxiliary=written)
    assert client.complete("title", QUESTION, max_tokens=33).model == "custom:test-model"
    assert model_server.requests[0].body[LIMIT_FIELD[protocol]] == 33


def test_a_model_alone_is_one_of_the_sessions_server(model_server, auxiliary):
    model_server.add(Reply("yes"))
    client = auxiliary(model=at(model_server, default="test-model"), auxiliary={"approval": {"model": "small-model"}})
    assert client.complete("approval", QUESTION).model == "custom:small-model"
    assert key_of(model_server.requests[0]) == KEY


def test_own_model_session_and_fallbacks_are_asked_in_turn_each_once(model_server, auxiliary, protocol):
    model_server.add(*[refusal(500)] * 3, Reply("at last"))
    named = {name: at(model_server, protocol) for name in ("a", "b", "c", "d")}
    client = auxiliary(
        providers=named,
        model={"provider": "b", "default": "two"},
        auxiliary={"title": {"provider": "a", "model": "one"}},
        fallback_providers=["c:three", "b:two", "a:one", "d:four"],
    )
    assert client.complete("title", QUESTION).model == "d:four"
    assert [request.model for request in model_server.requests] == ["one", "two", "three", "four"]


def test_the_tasks_own_entry_goes_before_the_same_model_of_the_session(model_server, auxiliary):
    model_server.add(refusal(500))
    same = at(model_server, model="test-model", headers={"X-Side": "yes"})
    client = auxiliary(model=at(model_server, default="test-model"), auxiliary={"title": same})
    assert client.complete("title", QUESTION) is None
    (request,) = model_server.requests
    assert request.headers["x-side"] == "yes"


def test_an_entry_that_cannot_be_used_is_left_out_and_logged_once(model_server, auxiliary, caplog):
    model_server.add(Reply("one"), Reply("two"))
    client = auxiliary(
        model=at(model_server, default="test-model"), auxiliary={"title": {"provider": "nonesuch", "model": "m"}}
    )
    assert [client.complete("title", QUESTION).text for _ in range(2)] == ["one", "two"]
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "title" in told
    assert "nonesuch" in told


def test_the_tasks_model_answers_where_the_session_has_none(model_server, auxiliary):
    model_server.add(refusal(500), Reply("A title."))
    client = auxiliary(
        auxiliary={"title": at(model_server, model="small-model")},
        fallback_providers=[at(model_server, model="third-model")],
    )
    assert client.complete("title", QUESTION).model == "custom:third-model"


def test_models_that_see_no_images_are_not_shown_any(model_server, second, auxiliary):
    blind = at(model_server, default="gpt-audio") | {"provider": "openai"}
    client = auxiliary(model=blind, fallback_providers=[at(second, model="other-model")])
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    assert client.complete("vision", [user_message([picture])]).text == "from the second"
    assert model_server.requests == []
    model_server.add(Reply("A title."))
    assert client.complete("title", QUESTION).text == "A title."
