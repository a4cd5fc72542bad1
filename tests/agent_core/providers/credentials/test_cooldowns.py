"""How long a key rests, and when a provider says that its limit is lifted."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from agent_core.providers.credentials import LONGEST, KeyRecord, remaining, rest_after
from agent_core.providers.errors import Reason
from tests.agent_core.providers.credentials.conftest import NOW
from tests.support.each import each

DAY = 24 * 3600.0


@each(
    ("reason", "retry_after", "seconds"),
    [
        ("auth", None, 300),
        ("auth", 10.0, 300),
        ("auth_permanent", None, DAY),
        ("rate_limit", None, 3600),
        ("rate_limit", 12.5, 12.5),
        ("rate_limit", 0.0, 0),
        ("rate_limit", -5.0, 0),
        ("rate_limit", math.nan, 3600),
        ("rate_limit", math.inf, 3600),
        ("billing", None, 3600),
        ("billing", 5 * DAY, 5 * DAY),
        ("billing", 900 * DAY, LONGEST),
    ],
)
def test_a_key_rests_for_its_reason_or_as_long_as_the_provider_says(reason, retry_after, seconds):
    assert rest_after(reason, retry_after) == seconds


@each("reason", sorted(set(get_args(Reason)) - {"auth", "auth_permanent", "rate_limit", "billing"}))
def test_a_failure_that_is_not_the_keys_lets_no_key_rest(reason):
    assert rest_after(reason, 60.0) is None


def test_a_rest_ends_on_its_own():
    record = KeyRecord(until=NOW + 10, failed_at=NOW, reason="rate_limit")
    assert remaining(record, NOW + 4, "") == 6
    assert remaining(record, NOW + 10, "") == 0
    assert remaining(record, NOW + 11, "") == 0


@pytest.mark.parametrize(
    ("reason", "left"), [("auth", 0), ("auth_permanent", 0), ("rate_limit", 10), ("billing", 10)]
)
def test_only_a_refused_key_is_forgiven_when_the_set_of_keys_changes(reason, left):
    record = KeyRecord(until=NOW + 10, failed_at=NOW, reason=reason, key_set="before")
    assert remaining(record, NOW, "before") == 10
    assert remaining(record, NOW, "after") == left


def test_a_failure_from_the_future_counts_for_nothing():
    assert remaining(KeyRecord(until=NOW + 7200, failed_at=NOW + 3600, reason="rate_limit"), NOW, "") == 0


def test_no_rest_is_longer_than_the_longest_limit():
    record = KeyRecord(until=NOW + 900 * DAY, failed_at=NOW, reason="rate_limit")
    assert remaining(record, NOW, "") == LONGEST
