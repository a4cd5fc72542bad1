"""Waits between attempts."""

from __future__ import annotations

import random

import pytest

from agent_core.model_request.retry_policy import Backoff
from tests.support.each import each


@each("seed", range(20))
def test_a_wait_is_never_shorter_than_the_base_nor_longer_than_the_cap_and_grows_at_most_threefold(seed):
    backoff = Backoff(base=0.5, cap=10.0, chance=random.Random(seed))
    before = 0.5
    for _ in range(50):
        wait = backoff.next()
        assert 0.5 <= wait <= min(10.0, before * 3)
        before = wait


def test_waits_grow_on_the_whole():
    rounds = [[Backoff(base=1, cap=100, chance=random.Random(seed)).next() for _ in range(1)] for seed in range(200)]
    first = sum(wait for (wait,) in rounds) / 200
    later = 0.0
    for seed in range(200):
        backoff = Backoff(base=1, cap=100, chance=random.Random(seed))
        waits = [backoff.next() for _ in range(5)]
        later += waits[-1] / 200
    assert later > 2 * first


def test_sessions_that_failed_together_come_back_at_different_times():
    assert len({Backoff().next() for _ in range(50)}) == 50


@pytest.mark.parametrize("asked", [0, 0.2, 5, 600])
def test_what_a_server_asks_for_is_waited_in_full_and_hardly_longer(asked):
    waits = [Backoff(chance=random.Random(seed)).after(asked) for seed in range(50)]
    assert all(asked <= wait <= asked + min(1.0, asked * 0.1) for wait in waits)
