"""What is read out of a failure, in whatever form it came, and how long the server asks us to wait."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderStatusError
from agent_core.providers.transport_errors import LONGEST_WAIT, asked_wait, body_wait, read_facts, stated_wait
from tests.agent_core.providers.error_bodies import NOW
from tests.support.each import each

DAY = 24 * 3600


def facts_of(body="", status=429, **headers):
    text = body if isinstance(body, str) else json.dumps(body)
    return read_facts(ProviderStatusError("text", status, text, {k.replace("_", "-"): v for k, v in headers.items()}))


@each(
    ("body", "said", "codes"),
    [
        ({"error": {"message": "the cause", "type": "T", "code": "C"}}, "the cause", {"t", "c"}),
        ([{"error": {"message": "the cause", "status": "UNAVAILABLE"}}], "the cause", {"unavailable"}),
        ({"error": "the cause"}, "the cause", set()),
        ({"message": "the cause", "__type": "com.amazon#Throttling"}, "the cause", {"throttling"}),
        ({"detail": "the cause"}, "the cause", set()),
        ({"detail": [{"loc": ["body"], "msg": "the cause", "type": "missing"}]}, "the cause", {"missing"}),
        ({"base_resp": {"status_code": 1039, "status_msg": "the cause"}}, "the cause", {"1039"}),
        ({"error": {"message": "outer", "innererror": {"code": "Inner"}}}, "outer", {"inner"}),
        ({"error": {"message": "outer", "metadata": {"raw": "the cause"}}}, "the cause", set()),
        ({"error": {"message": "outer", "metadata": {"raw": "x", "provider_name": "P"}}}, "P: x", set()),
        ({"error": {"message": json.dumps({"error": {"message": "the cause"}})}}, "the cause", set()),
        ({"error": {"message": 'Wrapped: {"error": {"message": "the cause"}} end'}}, "the cause", set()),
        ({"error": {"message": 'unknown field {"x": 1}'}}, 'unknown field {"x": 1}', set()),
        ("plain words", "plain words", set()),
        ('Unauthorized: {"error": {"message": "the cause"}}data: {}', "the cause", set()),
        ("<400> not a page", "<400> not a page", set()),
        ("<!DOCTYPE html><html>page</html>", "", set()),
        ("  <html>page</html>", "", set()),
        ('{"error": {"mess', '{"error": {"mess', set()),
        ({"error": {"code": True, "message": None, "type": 1.5}}, "", set()),
        ("", "", set()),
    ],
)  # fmt: skip
def test_the_cause_is_the_words_nearest_to_it(body, said, codes):
    facts = facts_of(body)
    assert (facts.said, facts.codes) == (said, codes)


@each(
    ("stated", "body", "status"),
    [
        (503, {"error": {"code": 429}}, 503),
        (None, {"error": {"code": 429}}, 429),
        (None, {"error": {"code": "502"}}, 502),
        (200, {"error": {"code": 429}}, 429),
        (None, {"error": {"code": 5}}, None),
        (None, {"error": "words"}, None),
    ],
)
def test_the_status_is_that_of_the_answer_else_the_one_within(stated, body, status):
    assert facts_of(body, stated).status == status


def test_the_name_of_an_error_of_amazon_comes_from_its_header():
    assert "throttlingexception" in facts_of("{}", x_amzn_errortype="ThrottlingException:http://x/").codes


@each(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7),
        ({"retry_after": "0"}, 0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after": "Tue, 31 Mar 2026 10:31:30 GMT"}, 90),
        ({"retry_after": "Tue, 31 Mar 2026 10:00:00 GMT"}, None),
        ({"retry_after": "-3"}, 0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "9999999"}, LONGEST_WAIT),
        ({"retry_after_ms": "1500", "retry_after": "7"}, 1.5),
        ({"retry_after": "7", "x_ratelimit_reset_requests": "1s"}, 7),
        ({"x_ratelimit_reset_requests": "88ms"}, 0.088),
        ({"x_ratelimit_reset_requests": "1s", "x_ratelimit_reset_tokens": "6m0s"}, 1),
        ({"x_ratelimit_reset_requests": "1s", "x_ratelimit_reset_tokens": "6m0s",
          "x_ratelimit_remaining_tokens": "0"}, 360),
        ({"anthropic_ratelimit_tokens_reset": "2026-03-31T10:30:40Z"}, 40),
        ({"anthropic_ratelimit_tokens_reset": "2026-03-31T10:30:40Z",
          "anthropic_ratelimit_requests_reset": "2026-03-31T10:31:40+00:00",
          "anthropic_ratelimit_requests_remaining": "0"}, 100),
        ({"x_ratelimit_reset": str(int(NOW) + 60)}, 60),
        ({"x_ratelimit_reset": str((int(NOW) + 60) * 1000)}, 60),
        ({"x_ratelimit_reset": "30"}, 30),
        ({"x_ratelimit_limit_requests": "60"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_headers_say_how_long_to_wait(headers, seconds):
    assert asked_wait(facts_of("", **headers), NOW) == seconds


@each(
    ("words", "seconds"),
    [
        ("Please try again in 1.898s. Visit the docs", 1.898),
        ("try again in 20ms.", 0.02),
        ("You may try again in 5 minutes", 300),
        ("Please retry in 36.5s.", 36.5),
        ("Please retry after 86400 seconds.", DAY),
        ("Try again in 4 hours 20 minutes 9 seconds.", 4 * 3600 + 20 * 60 + 9),
        ("try again in 1h5m3s", 3903),
        ("Rate limited,\n wait about 2 min and go on", 120),
        ("try again in 4 days 20 hours", LONGEST_WAIT),
        ("You will regain access on 2026-03-31 at 11:30 UTC.", 3600),
        ("Your limit will reset at 2026-03-31T12:30:00+01:00", 3600),
        ("resets at 2026-03-31 08:00:00", None),
        ("Resets at 10:31 UTC.", 60),
        ("Resets at 10:29 UTC.", DAY - 60),
        ("Resets at 25:00 UTC.", None),
        ("Please try again later.", None),
        ("try again in 3 months", None),
        ("Limit 200000, Used 162960", None),
    ],
)
def test_words_say_how_long_to_wait(words, seconds):
    assert stated_wait(facts_of({"error": {"message": words}}), NOW) == pytest.approx(seconds)


@each(
    ("field", "seconds"),
    [
        ({"resets_in_seconds": 90}, 90),
        ({"resets_at": NOW + 30}, 30),
        ({"resets_at": (NOW + 30) * 1000}, 30),
        ({"resets_at": "2026-03-31T10:31:00Z"}, 60),
        ({"retry_after": "5"}, 5),
        ({"details": [{"@type": "type.example/RetryInfo", "retryDelay": "36s"}]}, 36),
        ({"details": [{"retryDelay": "1.5s"}]}, 1.5),
        ({"resets_at": None, "message": "try again in 4s"}, 4),
        ({"resets_at": [1], "resets_in_seconds": True}, None),
    ],
)
def test_fields_of_the_body_say_how_long_to_wait(field, seconds):
    assert body_wait(facts_of({"error": field}), NOW) == seconds


def test_a_gateway_reports_the_headers_of_the_server_behind_it():
    reset = str(int(NOW * 1000) + 60_000)
    body = {
        "error": {"code": 429, "metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}}}
    }
    assert asked_wait(facts_of(body), NOW) == 60
    assert stated_wait(facts_of(body), NOW) is None


@each(
    "body",
    [
        "[" * 100_000,
        '{"error":' * 5000,
        json.dumps({"error": {"message": ["a", {"message": {"message": 7}}], "code": {"x": []}, "details": "text"}}),
        json.dumps([[[[{"error": [{"error": {}}]}]]]]),
        '{"error": {"message": "\\ud800", "code": 99999999999999999999}}',
        "\x00\xff\x00",
    ],
)
def test_no_body_can_make_reading_fail(body):
    facts = facts_of(body)
    assert asked_wait(facts, NOW) is None
    assert isinstance(facts.said, str)


def test_a_body_within_a_body_is_read_only_so_deep():
    body = {"message": "the innermost"}
    for _ in range(30):
        body = {"error": body}
    assert facts_of(body).said == ""


@pytest.mark.parametrize(("status", "wait"), [(500, None), (429, 3000.0)])
def test_a_limit_that_is_not_used_up_says_nothing_about_a_server_error(status, wait):
    headers = {"x-ratelimit-remaining": "4999", "x-ratelimit-reset": "3000"}
    assert asked_wait(read_facts(ProviderStatusError("no", status, "", headers)), NOW) == wait
