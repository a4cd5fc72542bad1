"""The models of a turn in their order, and which key each is asked with."""

from __future__ import annotations

import pytest

from agent_core.cancel import CancelToken
from agent_core.errors import AuthRequired
from agent_core.model_request.fallback_chain import Member, Route
from agent_core.providers.credentials import CredentialPool, PoolState
from agent_core.providers.errors import ClassifiedError
from tests.support.choices import choice_for

FIRST, SECOND, THIRD = "sk-first-key", "sk-second-key", "sk-third-key"


def failure(reason="rate_limit", *, retry_after=None, rotate=True):
    return ClassifiedError(reason, True, False, rotate, True, retry_after, 429, "it failed")


class Bearer:
    """A sign-in whose tokens the test gives."""

    problem = "Sign in again: hermes-acp setup."

    def __init__(self, *tokens):
        self.tokens = list(tokens)
        self.asked_after = []

    def current(self, cancelled=None):
        return self.tokens[0] if self.tokens else None

    def refreshed(self, after, cancelled=None):
        self.asked_after.append(after)
        self.tokens = self.tokens[1:]
        return self.current()


class Desk:
    def __init__(self):
        self.state = PoolState()
        self.connected = []

    def member(self, model, *keys, bearer=None):
        choice = choice_for("http://model.example/v1", model=model, api_key=keys[0] if keys else None)
        pool = None if bearer else CredentialPool(model, keys, "fill_first", self.state)
        return Member(choice, pool, bearer)

    def turn(self, *members):
        route = Route(members, self._connect).begin(CancelToken())
        self.passed_over = route.make_ready()
        return route

    def _connect(self, choice):
        self.connected.append((choice.model, choice.api_key))
        return object()


@pytest.fixture
def desk():
    return Desk()


def asked(route):
    return route.choice.model, route.choice.api_key


def test_a_turn_begins_with_the_first_model_and_its_first_key(desk):
    assert asked(desk.turn(desk.member("one", FIRST, SECOND), desk.member("two", THIRD))) == ("one", FIRST)
    assert not desk.passed_over


def test_a_model_without_keys_is_asked_without_one(desk):
    route = desk.turn(desk.member("local"))
    assert asked(route) == ("local", None)
    route.failed(failure())
    assert not route.can_rotate()


def test_a_key_that_failed_rests_and_the_next_takes_its_place_in_later_turns_too(desk):
    members = desk.member("one", FIRST, SECOND)
    route = desk.turn(members)
    route.failed(failure())
    assert route.can_rotate()
    route.rotate()
    assert asked(route) == ("one", SECOND)
    assert asked(desk.turn(members)) == ("one", SECOND)


def test_there_is_no_other_key_when_all_rest(desk):
    route = desk.turn(desk.member("one", FIRST, SECOND))
    for _ in range(2):
        route.failed(failure(retry_after=60))
        can_rotate = route.can_rotate()
        if can_rotate:
            route.rotate()
    assert not can_rotate


def test_a_failure_that_is_not_the_keys_leaves_it_in_use(desk):
    members = desk.member("one", FIRST, SECOND)
    desk.turn(members).failed(failure("server_error", rotate=False))
    assert asked(desk.turn(members)) == ("one", FIRST)


def test_the_only_key_rests_only_as_long_as_the_server_said(desk):
    members = desk.member("one", FIRST), desk.member("two", SECOND)
    desk.turn(*members).failed(failure())
    assert asked(desk.turn(*members)) == ("one", FIRST)
    desk.turn(*members).failed(failure(retry_after=600))
    route = desk.turn(*members)
    assert asked(route) == ("two", SECOND)
    assert desk.passed_over
    assert [choice.model for choice in route.skipped] == ["one"]


def test_where_every_key_rests_the_first_model_is_asked_all_the_same(desk):
    members = desk.member("one", FIRST), desk.member("two", SECOND)
    for member in members:
        desk.turn(member).failed(failure(retry_after=600))
    assert asked(desk.turn(*members)) == ("one", FIRST)
    assert not desk.passed_over


def test_the_fallbacks_come_in_order_and_the_next_turn_begins_anew(desk):
    members = [desk.member(name, FIRST) for name in ("one", "two", "three")]
    route = desk.turn(*members)
    seen = [route.choice.model]
    while route.can_fall_back():
        assert route.fall_back()
        seen.append(route.choice.model)
    assert seen == ["one", "two", "three"]
    assert [choice.model for choice in route.skipped] == ["one", "two"]
    assert desk.turn(*members).choice.model == "one"


def test_a_provider_is_connected_once_for_each_key_that_is_used(desk):
    route = desk.turn(desk.member("one", FIRST, SECOND))
    assert route.provider is route.provider
    route.failed(failure())
    route.rotate()
    assert route.provider is route.provider
    assert desk.connected == [("one", FIRST), ("one", SECOND)]


def test_a_token_is_renewed_once_for_each_model(desk):
    bearer = Bearer("old", "new")
    route = desk.turn(desk.member("one", bearer=bearer))
    assert asked(route) == ("one", "old")
    assert route.can_refresh()
    assert route.refresh()
    assert asked(route) == ("one", "new")
    assert not route.can_refresh()
    assert bearer.asked_after == ["old"]


def test_a_token_that_cannot_be_renewed_stays(desk):
    route = desk.turn(desk.member("one", bearer=Bearer("old")))
    assert not route.refresh()
    assert asked(route) == ("one", "old")


def test_a_sign_in_that_has_ended_leaves_the_turn_to_the_fallback(desk):
    assert asked(desk.turn(desk.member("one", bearer=Bearer()), desk.member("two", FIRST))) == ("two", FIRST)
    assert desk.passed_over


def test_a_sign_in_that_has_ended_without_a_fallback_says_what_to_do(desk):
    with pytest.raises(AuthRequired, match="Sign in again"):
        desk.turn(desk.member("one", bearer=Bearer()))


def test_a_fallback_whose_sign_in_has_ended_is_none(desk):
    route = desk.turn(desk.member("one", FIRST), desk.member("two", bearer=Bearer()))
    assert route.can_fall_back()
    assert not route.fall_back()
    assert not route.can_fall_back()
    assert asked(route) == ("one", FIRST)


def test_a_fallback_beyond_one_that_is_out_of_reach_is_found(desk):
    members = desk.member("one", FIRST), desk.member("two", bearer=Bearer()), desk.member("three", THIRD)
    route = desk.turn(*members)
    assert route.fall_back()
    assert asked(route) == ("three", THIRD)


def test_a_turn_may_outlive_several_tokens(desk):
    route = desk.turn(desk.member("one", bearer=Bearer("a", "b", "c")))
    for token in ("b", "c"):
        assert route.can_refresh()
        assert route.refresh()
        assert asked(route) == ("one", token)
        route.worked()


def test_a_key_whose_rest_is_over_at_once_is_not_taken_twice_for_one_answer(desk):
    route = desk.turn(desk.member("one", FIRST, SECOND))
    route.failed(failure(retry_after=0))
    route.rotate()
    assert asked(route) == ("one", SECOND)
    route.failed(failure(retry_after=0))
    assert not route.can_rotate()
    route.worked()
    route.failed(failure(retry_after=0))
    assert route.can_rotate()
