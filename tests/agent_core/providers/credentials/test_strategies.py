"""Which of several keys is taken."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import get_args

import pytest

from agent_core.providers.credentials import (
    STRATEGIES,
    CredentialPool,
    KeyRecord,
    PoolState,
    ProviderRecord,
    credential_for,
)
from agent_core.settings.model import PoolStrategy
from tests.support.each import each

KEYS = ("key-a", "key-b", "key-c", "key-d")
ALL = tuple(credential_for(key) for key in KEYS)
SUBSETS = [subset for size in range(1, 5) for subset in combinations(ALL, size)]


def taken(pool: CredentialPool, times: int) -> list[str]:
    """The keys of that many requests."""
    keys = []
    for _ in range(times):
        credential = pool.take()
        keys.append(credential.key)
    return keys


@pytest.fixture
def pool(clock):
    def pool(strategy: PoolStrategy, state=None) -> CredentialPool:
        return CredentialPool("openai", KEYS, strategy, state or PoolState(), clock)

    return pool


def test_there_is_a_function_for_every_strategy_of_the_settings():
    assert set(STRATEGIES) == set(get_args(PoolStrategy))


@each("strategy", STRATEGIES)
@each("usable", SUBSETS)
def test_every_strategy_takes_a_usable_key_whatever_was_taken_before(strategy, usable):
    for last in ("", "gone", *(credential.id for credential in ALL)):
        record = ProviderRecord(last, {ALL[0].id: KeyRecord(uses=3), ALL[2].id: KeyRecord(uses=1)})
        assert STRATEGIES[strategy](ALL, usable, record) in usable


def test_fill_first_stays_with_the_first_key_until_it_rests(pool):
    keys = pool("fill_first")
    assert taken(keys, 3) == ["key-a"] * 3
    keys.failed(credential_for("key-a"), "rate_limit")
    assert taken(keys, 3) == ["key-b"] * 3


def test_round_robin_goes_round_and_passes_over_keys_that_rest(pool):
    keys = pool("round_robin")
    assert taken(keys, 6) == ["key-a", "key-b", "key-c", "key-d", "key-a", "key-b"]
    keys.failed(credential_for("key-c"), "rate_limit")
    assert taken(keys, 4) == ["key-d", "key-a", "key-b", "key-d"]


def test_round_robin_goes_on_in_another_session(pool):
    state = PoolState()
    first, second = pool("round_robin", state), pool("round_robin", state)
    assert [*taken(first, 1), *taken(second, 1), *taken(first, 1)] == ["key-a", "key-b", "key-c"]


def test_least_used_spreads_the_requests_evenly_and_knows_those_of_other_sessions(pool):
    state = PoolState()
    first, second = pool("least_used", state), pool("least_used", state)
    counts = Counter(taken(first, 5) + taken(second, 7))
    assert counts == dict.fromkeys(KEYS, 3)


def test_least_used_gives_what_a_resting_key_missed_when_it_is_back(pool, clock):
    keys = pool("least_used")
    keys.failed(credential_for("key-a"), "rate_limit", 60)
    assert "key-a" not in taken(keys, 6)
    clock.now += 60
    assert taken(keys, 2) == ["key-a", "key-a"]


def test_random_takes_every_key_in_the_end(pool):
    assert set(taken(pool("random"), 400)) == set(KEYS)
