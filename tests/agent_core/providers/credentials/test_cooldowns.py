"""How long a key rests, and when a provider says that its limit is lifted."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from agent_core.providers.credentials import LONGEST, KeyRecord, remaining, reset_time, rest_after
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


@each(
    ("value", "expected"),
    [
        (30, NOW + 30),
        ("30", NOW + 30),
        (" 1.5 ", NOW + 1.5),
        (0, NOW),
        (NOW + 90, NOW + 90),
        (str(int(NOW + 90)), NOW + 90),
        ((NOW + 90) * 1000, NOW + 90),
        (int(NOW + 90) * 1000, NOW + 90),
        ("2027-01-15T08:01:30Z", NOW + 90),
        ("2027-01-15T08:01:30", NOW + 90),
        ("2027-01-15T09:01:30+01:00", NOW + 90),
        ("2027-01-15T08:01:30.250Z", NOW + 90.25),
        ("2027-01-15 08:01:30+00:00", NOW + 90),
    ],
)
def test_a_reset_time_is_read_in_every_form_that_providers_use(value, expected):
    assert reset_time(value, NOW) == pytest.approx(expected, abs=1e-3)


@each(
    "value",
    [None, "", "soon", "nan", "inf", "-3", -3, math.nan, math.inf, True, [], {}, 1e30, 10**400, "9" * 500, "13:61"],
)
def test_what_is_no_reset_time_is_none(value):
    assert reset_time(value, NOW) is None


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
