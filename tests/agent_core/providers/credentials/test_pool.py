"""Several keys of one provider."""

from __future__ import annotations

import hashlib
import logging
import threading

import pytest

from agent_core.providers.credentials import (
    NO_KEY,
    Credential,
    CredentialPool,
    PoolState,
    credential_for,
)

A, B = credential_for("sk-secret-a"), credential_for("sk-secret-b")


@pytest.fixture
def state():
    return PoolState()


@pytest.fixture
def pool(state, clock):
    def pool(*keys: str, strategy="fill_first", provider="openai") -> CredentialPool:
        return CredentialPool(provider, keys, strategy, state, clock)

    return pool


def test_a_credential_shows_its_fingerprint_and_never_its_key():
    assert A.id == hashlib.sha256(b"sk-secret-a").hexdigest()[:12]
    assert repr(A) == f"Credential(id='{A.id}')"
    assert A.id != B.id


def test_a_key_that_failed_rests_and_the_next_one_is_taken(pool, clock):
    keys = pool(A.key, B.key)
    assert keys.take() == A
    assert keys.others(A)
    keys.failed(A, "auth")
    assert keys.take() == B
    assert not keys.others(B)
    assert keys.others(A)
    clock.now += 300
    assert keys.take() == A


def test_there_is_no_key_while_all_rest_and_the_first_to_end_its_rest_can_be_asked_for(pool, clock):
    keys = pool(A.key, B.key)
    keys.failed(A, "rate_limit")
    keys.failed(B, "rate_limit", 30)
    assert keys.take() is None
    assert keys.take(even_cooling=True) == B
    assert keys.soonest() == 30
    clock.now += 30
    assert keys.soonest() is None
    assert keys.take() == B


def test_even_cooling_takes_a_usable_key_where_there_is_one(pool):
    keys = pool(A.key, B.key)
    keys.failed(A, "rate_limit", 5)
    assert keys.take(even_cooling=True) == B


def test_a_pool_of_one_lets_its_key_rest_too_so_that_the_next_model_is_asked(pool):
    keys = pool(A.key)
    keys.failed(A, "billing")
    assert keys.take() is None
    assert keys.take(even_cooling=True) == A
    assert not keys.others(A)
    assert keys.soonest() == 3600


def test_a_key_that_serves_again_no_longer_rests(pool):
    keys = pool(A.key)
    keys.failed(A, "billing")
    keys.served(keys.take(even_cooling=True))
    assert keys.take() == A
    assert keys.soonest() is None


def test_a_shorter_limit_does_not_end_a_longer_rest(pool):
    keys = pool(A.key)
    keys.failed(A, "rate_limit", 600)
    keys.failed(A, "rate_limit", 5)
    assert keys.soonest() == 600
    keys.failed(A, "rate_limit", 900)
    assert keys.soonest() == 900


@pytest.mark.parametrize("reason", ["overloaded", "server_error", "timeout", "context_overflow", "unknown"])
def test_a_failure_of_the_server_leaves_the_key_alone(pool, reason):
    keys = pool(A.key)
    keys.failed(A, reason, 60)
    assert keys.take() == A


def test_a_refused_key_is_tried_again_once_the_keys_were_changed(pool):
    keys = pool(A.key, B.key)
    keys.failed(A, "auth_permanent")
    keys.failed(B, "rate_limit")
    assert pool(B.key, A.key).take() is None
    assert pool(A.key, B.key, "sk-new").take() == A
    assert pool(A.key).take() == A
    assert pool(B.key).take() is None


def test_pools_over_one_state_know_of_each_other_and_providers_do_not(pool):
    pool(A.key, B.key).failed(A, "rate_limit")
    assert pool(A.key, B.key).take() == B
    assert pool(A.key, B.key, provider="groq").take() == A


@pytest.mark.parametrize("keys", [(), ("",)])
def test_a_provider_without_keys_is_always_asked_without_one(pool, keys):
    empty = pool(*keys, strategy="round_robin")
    empty.failed(NO_KEY, "auth")
    empty.served(NO_KEY)
    assert empty.take() == empty.take(even_cooling=True) == NO_KEY == Credential(None, "none")
    assert not empty.others(NO_KEY)
    assert empty.soonest() is None


def test_repeated_keys_count_once(pool):
    keys = pool(A.key, B.key, A.key)
    assert len(keys) == 2
    keys.failed(A, "auth")
    assert keys.take() == B


def test_the_failure_of_a_key_that_is_not_in_the_pool_is_nothing(pool, state):
    pool(A.key).failed(B, "rate_limit")
    assert state.read("openai").keys == {}


def test_taking_from_one_key_or_filling_first_writes_nothing(home, clock):
    for number, (strategy, keys) in enumerate([("round_robin", ["k"]), ("least_used", ["k"]), ("fill_first", "kl")]):
        path = home / f"{number}.json"
        pool = CredentialPool("openai", keys, strategy, PoolState(path, clock), clock)
        pool.take()
        pool.served(pool.take())
        assert not path.exists()


def test_no_key_reaches_file_or_log(home, clock, caplog):
    caplog.set_level(logging.DEBUG)
    path = home / "state.json"
    keys = CredentialPool("openai", [A.key, B.key], "least_used", PoolState(path, clock), clock)
    for reason in ("auth", "rate_limit"):
        credential = keys.take()
        keys.failed(credential, reason)
    shown = path.read_text(encoding="utf-8") + caplog.text
    assert A.id in shown
    assert "secret" not in shown


def test_threads_that_take_in_turn_get_every_key_equally_often(pool):
    keys, taken = pool(*"abc", strategy="round_robin"), []

    def take() -> None:
        taken.extend(keys.take().key for _ in range(30))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: taken.count(key) for key in "abc"} == dict.fromkeys("abc", 40)
