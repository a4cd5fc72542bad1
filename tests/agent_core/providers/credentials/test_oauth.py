"""Renewing a sign-in once for all, and the token that a request is made with."""

from __future__ import annotations

import threading

import pytest

from agent_core.errors import TurnInterrupted
from agent_core.providers.token_renewal import OAuthBearer, refresh
from agent_core.providers.token_store import OAuthToken, RefreshFailed, RefreshRefused, TokenStore
from tests.agent_core.providers.credentials.conftest import NOW
from tests.support.waiting import wait_until

RENEW = """
import sys
from pathlib import Path
from agent_core.providers.token_renewal import refresh
from agent_core.providers.token_store import TokenStore

polls = 0

def cancelled():
    global polls
    polls += 1
    if polls == 3:
        print("waiting", flush=True)
    return False

store = TokenStore(Path(sys.argv[1]))
assert store.get("example").access_token == "old"
print(refresh(store, "example", "old", cancelled=cancelled).access_token)
"""


class Hook:
    """Renews tokens from memory: `new-1`, `new-2`, …; or raises `problem`."""

    def __init__(self, **fields) -> None:
        self.asked: list[OAuthToken] = []
        self.problem: Exception | None = None
        self._fields = fields

    def __call__(self, token: OAuthToken) -> OAuthToken:
        self.asked.append(token)
        if self.problem is not None:
            raise self.problem
        number = len(self.asked)
        return OAuthToken(f"new-{number}", **{"refresh_token": f"renewal-{number}", **self._fields})


@pytest.fixture
def hook():
    return Hook(expires_at=NOW + 3600)


@pytest.fixture
def signed_in(store):
    token = OAuthToken("old", "renewal", expires_at=NOW + 3600)
    store.put("example", token)
    return token


@pytest.fixture
def bearer(store, hook, clock):
    return OAuthBearer(store, "example", hook, clock)


def test_a_token_that_failed_is_renewed_and_stored(store, tokens_file, signed_in, hook, clock):
    renewed = refresh(store, "example", "old", hook, clock=clock)
    assert renewed.access_token == "new-1"
    assert hook.asked == [signed_in]
    assert TokenStore(tokens_file).get("example") == renewed


def test_a_token_that_another_process_renewed_is_adopted_and_nobody_is_asked(
    store, tokens_file, signed_in, hook, clock
):
    theirs = OAuthToken("theirs", "single-use", expires_at=NOW + 3600)
    TokenStore(tokens_file).put("example", theirs)
    assert refresh(store, "example", "old", hook, clock=clock) == theirs
    assert hook.asked == []


def test_a_token_of_another_process_that_has_ended_is_renewed(store, signed_in, hook, clock):
    clock.now += 3600
    assert refresh(store, "example", "even-older", hook, clock=clock).access_token == "new-1"
    assert hook.asked == [signed_in]


def test_a_hook_that_gives_no_refresh_token_keeps_the_old_one(store, signed_in, clock):
    refresh(store, "example", "old", Hook(refresh_token=None), clock=clock)
    assert store.get("example").refresh_token == "renewal"


def test_a_refused_sign_in_is_kept_as_dead_and_not_asked_for_again(store, tokens_file, signed_in, hook, clock):
    hook.problem = RefreshRefused("The server refused.", "revoked by the user")
    assert refresh(store, "example", "old", hook, clock=clock) is None
    assert refresh(store, "example", "old", hook, clock=clock) is None
    assert len(hook.asked) == 1
    dead = TokenStore(tokens_file).get("example")
    assert (dead.dead, dead.dead_reason, dead.dead_at) == (True, "revoked by the user", NOW)
    assert (dead.access_token, dead.refresh_token) == ("old", "renewal")


def test_a_new_sign_in_brings_a_dead_one_back_to_life(store, signed_in, bearer, hook):
    hook.problem = RefreshRefused("The server refused.", "revoked")
    assert bearer.refreshed("old") is None
    assert bearer.current() is None
    store.put("example", OAuthToken("signed-in-again", "renewal", expires_at=NOW + 3600))
    assert bearer.current() == "signed-in-again"
    assert bearer.problem == ""


def test_a_renewal_that_failed_for_now_leaves_the_store_as_it_is(store, signed_in, hook, clock):
    hook.problem = RefreshFailed("The server answered 503.")
    with pytest.raises(RefreshFailed, match="503"):
        refresh(store, "example", "old", hook, clock=clock)
    assert store.get("example") == signed_in
    hook.problem = None
    assert refresh(store, "example", "old", hook, clock=clock).access_token == "new-2"


@pytest.mark.parametrize("token", [None, OAuthToken("old")])
def test_what_cannot_be_renewed_is_none(store, hook, token):
    if token is not None:
        store.put("example", token)
    assert refresh(store, "example", "old", hook) is None
    assert hook.asked == []


def test_two_processes_that_renew_at_once_ask_once(store, tokens_file, endpoint, other):
    store.put("example", OAuthToken("old", "single-use", token_url=endpoint.url))
    endpoint.answer = lambda _: (200, {"access_token": f"new-{len(endpoint.forms)}", "refresh_token": "next"})
    endpoint.gate.clear()
    first = other(RENEW, tokens_file)
    endpoint.wait_for_request()
    second = other(RENEW, tokens_file)
    assert second.line() == "waiting"
    endpoint.gate.set()
    assert first.result().splitlines()[-1] == second.result() == "new-1"
    assert len(endpoint.forms) == 1
    assert store.get("example").refresh_token == "next"


def test_sessions_of_one_process_that_renew_at_once_ask_once(store, signed_in, hook, clock):
    together, renewed = threading.Barrier(4), []

    def renew() -> None:
        together.wait(10)
        renewed.append(refresh(store, "example", "old", hook, clock=clock).access_token)

    threads = [threading.Thread(target=renew) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert renewed == ["new-1"] * 4
    assert len(hook.asked) == 1


def test_a_cancel_while_the_server_is_silent_lets_go_at_once_and_still_stores_the_answer(store, endpoint):
    store.put("example", OAuthToken("old", "single-use", token_url=endpoint.url))
    endpoint.gate.clear()
    with pytest.raises(TurnInterrupted):
        refresh(store, "example", "old", cancelled=lambda: bool(endpoint.forms))
    assert store.get("example").access_token == "old"
    endpoint.gate.set()
    wait_until(lambda: store.get("example").access_token == "new", 10)


def test_a_cancel_while_another_one_renews_asks_nobody(store, signed_in, hook):
    polls = iter([False, False])
    with store.locked("example"), pytest.raises(TurnInterrupted):
        refresh(store, "example", "old", hook, cancelled=lambda: next(polls, True))
    wait_until(lambda: "outlasting" not in {thread.name for thread in threading.enumerate()})
    assert hook.asked == []


def test_a_token_that_lasts_is_used_as_it_is(bearer, signed_in, hook):
    assert bearer.current() == "old"
    assert hook.asked == []


@pytest.mark.parametrize(("left", "expected"), [(61, "old"), (60, "new-1"), (0, "new-1"), (-500, "new-1")])
def test_a_token_that_is_about_to_end_is_renewed_before_it_is_used(bearer, signed_in, clock, left, expected):
    clock.now = signed_in.expires_at - left
    assert bearer.current() == expected


def test_a_token_whose_end_is_unknown_is_used_until_the_server_refuses_it(store, bearer):
    store.put("example", OAuthToken("old", "renewal"))
    assert bearer.current() == "old"
    assert bearer.refreshed("old") == "new-1"
    assert bearer.current() == "new-1"


def test_a_token_that_cannot_be_renewed_is_used_to_its_end_and_beyond(store, bearer, clock):
    store.put("example", OAuthToken("old", expires_at=NOW - 5))
    assert bearer.current() == "old"
    assert bearer.refreshed("old") is None
    assert "cannot be renewed by itself. Sign in again" in bearer.problem


def test_an_early_renewal_that_fails_leaves_the_token_in_use_and_is_not_tried_at_every_request(
    bearer, signed_in, hook, clock, caplog
):
    hook.problem = RefreshFailed("The server answered 503.")
    clock.now = signed_in.expires_at - 60
    assert bearer.current() == bearer.current() == "old"
    assert len(hook.asked) == 1
    assert "503" in caplog.text
    assert bearer.problem == ""
    hook.problem = None
    clock.now += 30
    assert bearer.current() == "new-2"


def test_a_refused_early_renewal_ends_the_sign_in_and_says_why(bearer, signed_in, hook, clock):
    hook.problem = RefreshRefused("The server refused.", "revoked by the user")
    clock.now = signed_in.expires_at
    assert bearer.current() is None
    assert bearer.current() is None
    assert bearer.problem == (
        "example refused to renew the sign-in (2027-01-15 09:00 UTC): «revoked by the user». Sign in again."
    )


def test_a_refused_token_is_renewed_and_a_renewal_that_fails_says_why(bearer, signed_in, hook):
    hook.problem = RefreshFailed("The server answered 503.")
    assert bearer.refreshed("old") is None
    assert bearer.problem == "The server answered 503."
    hook.problem = None
    assert bearer.refreshed("old") == "new-2"
    assert bearer.problem == ""


def test_a_renewal_that_brings_the_same_token_is_none(store, signed_in, clock):
    bearer = OAuthBearer(store, "example", lambda token: token, clock)
    assert bearer.refreshed("old") is None
    assert "Sign in again" in bearer.problem


def test_without_a_sign_in_there_is_no_token_and_a_step_to_take(bearer):
    assert bearer.current() is None
    assert bearer.problem == "There is no sign-in at example. Sign in, or set an API key for it."


def test_a_store_that_cannot_be_read_is_a_problem_with_its_name(bearer, tokens_file):
    tokens_file.mkdir()
    assert bearer.current() is None
    assert f"{tokens_file} could not be read" in bearer.problem
    assert bearer.refreshed("old") is None
    assert f"{tokens_file} could not be read" in bearer.problem


def test_the_bearer_can_be_cancelled(store, endpoint):
    store.put("example", OAuthToken("old", "single-use", expires_at=0.0, token_url=endpoint.url))
    bearer = OAuthBearer(store, "example")
    endpoint.gate.clear()
    with pytest.raises(TurnInterrupted):
        bearer.current(lambda: bool(endpoint.forms))
    endpoint.gate.set()
    wait_until(lambda: store.get("example").access_token == "new", 10)
