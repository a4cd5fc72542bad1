"""Why a request failed and what helps, told from what providers really answer."""

from __future__ import annotations

import json
import ssl
from typing import get_args

import pytest

from agent_core.errors import ProviderConnectionError, ProviderError, ProviderProtocolError, ProviderStatusError
from agent_core.providers.error_patterns import ADVICE, FLAGS
from agent_core.providers.errors import Reason, classify
from tests.agent_core.providers.error_bodies import ERROR_BODIES, NOW
from tests.support.choices import choice_for
from tests.support.each import each

ADDRESS = "https://api.example/v1"
KEY, SPARE = "sk-test-0123456789", "sk-test-0123456789-spare"
STEPS = [told.step.partition("{wait}")[2] or told.step for told in ADVICE.values()]


def failure(status=400, body="", *, headers=None, provider="custom", tokens=None, **options):
    text = body if isinstance(body, str) else json.dumps(body)
    choice = choice_for(ADDRESS, provider=provider, model="some-model", **options)
    return classify(
        ProviderStatusError("text", status, text, headers or {}), choice, context_tokens=tokens, now=lambda: NOW
    )


def broken(fault, words="it broke", *, cause=None, tokens=None, **options):
    choice = choice_for(ADDRESS, model="some-model", **options)
    problem = ProviderConnectionError(f"{choice.endpoint} could not be reached ({words}). Check it.", fault)
    problem.__cause__ = cause
    return classify(problem, choice, context_tokens=tokens)


def message(text, **fields):
    return {"error": {"message": text, **fields}}


@each("entry", ERROR_BODIES)
def test_a_real_failure_has_its_reason(entry):
    told = failure(entry.status, entry.body, provider=entry.provider)
    assert told.reason == entry.reason
    assert told.retry_after == (pytest.approx(entry.wait) if entry.wait is not None else None)
    assert told.status_code == entry.status or entry.status is None


@each("entry", ERROR_BODIES)
def test_a_message_names_provider_address_model_and_next_step_in_one_line(entry):
    text = failure(entry.status, entry.body, provider=entry.provider).public_message
    assert text.startswith(f"{entry.provider} ({ADDRESS}) failed for model some-model: ")
    assert any(step in text for step in STEPS)
    assert len(text.splitlines()) == 1
    assert len(text) < 650


def test_the_table_holds_enough_bodies_of_enough_providers():
    assert len(ERROR_BODIES) >= 90
    assert len({entry.provider for entry in ERROR_BODIES}) >= 15
    assert all(entry.source.startswith("https://") for entry in ERROR_BODIES)
    assert len({entry.provider for entry in ERROR_BODIES if entry.reason == "context_overflow"}) >= 10


def test_every_reason_has_flags_and_advice():
    assert set(FLAGS) == set(get_args(Reason))
    assert set(ADVICE) >= set(get_args(Reason))


@each(
    ("reasons", "flags"),
    [
        ("rate_limit", (True, False, True, True)),
        ("overloaded server_error timeout connection unknown", (True, False, False, True)),
        ("thinking_signature broken_answer", (True, False, False, True)),
        ("auth auth_permanent billing", (False, False, True, True)),
        ("context_overflow payload_too_large", (False, True, False, False)),
        ("long_context_tier", (False, True, False, True)),
        ("model_not_found tools_unsupported tool_schema tls", (False, False, False, True)),
        ("provider_policy_blocked format_error", (False, False, False, True)),
        ("image_too_large content_policy", (False, False, False, False)),
    ],
)
def test_what_a_reason_allows(reasons, flags):
    for reason in reasons.split():
        told = FLAGS[reason]
        assert (told.retryable, told.compress, told.rotate, told.fallback) == flags, reason


@each(
    ("status", "reason"),
    [
        (400, "format_error"),
        (401, "auth"),
        (402, "billing"),
        (403, "auth"),
        (404, "format_error"),
        (405, "format_error"),
        (408, "timeout"),
        (409, "server_error"),
        (413, "payload_too_large"),
        (422, "format_error"),
        (429, "rate_limit"),
        (451, "provider_policy_blocked"),
        (500, "server_error"),
        (502, "server_error"),
        (503, "overloaded"),
        (504, "timeout"),
        (520, "server_error"),
        (524, "timeout"),
        (529, "overloaded"),
        (None, "unknown"),
    ],
)
@each("body", ["", "words that nobody knows", "<html>a page</html>"])
def test_a_status_without_known_words_tells_by_itself(status, reason, body):
    if body.startswith("<") and status == 403:
        reason = "provider_policy_blocked"
    assert failure(status, body).reason == reason


@each(
    ("body", "headers", "reason", "wait"),
    [
        (message("Usage limit: try again in 5 minutes"), {}, "rate_limit", 300),
        (message("Weekly quota used, resets in 3 hours"), {}, "rate_limit", 3 * 3600),
        (message("In-flight budget"), {"retry-after": "4"}, "rate_limit", 4),
        (message("You have used your requests per day"), {}, "rate_limit", None),
        (message("Insufficient Balance"), {}, "billing", None),
        (message("Payment required"), {"x-ratelimit-reset": "9"}, "billing", None),
    ],
)
def test_a_402_that_passes_by_itself_is_a_limit_and_no_bill(body, headers, reason, wait):
    told = failure(402, body, headers=headers)
    assert (told.reason, told.retry_after) == (reason, wait)


@each(
    ("status", "body", "reason"),
    [
        # A provider's own words come before the status, whoever passes them on.
        (500, message("prompt is too long: 9 tokens > 8 maximum"), "context_overflow"),
        (429, message("Extra usage is required for long context requests."), "long_context_tier"),
        # Status and words before the code.
        (429, message("Request too large for gpt-4o", code="rate_limit_exceeded"), "payload_too_large"),
        (404, {"detail": "Not Found"}, "format_error"),
        (404, message("Invalid URL (POST /v1/v1/chat/completions)", type="invalid_request_error"), "format_error"),
        # The code before the words.
        (429, message("rate limit", code="insufficient_quota"), "billing"),
        (400, message("Rate limit reached", code="context_length_exceeded"), "context_overflow"),
        # Words before what a code or a status says of many failures.
        (500, message("insufficient balance", type="api_error"), "billing"),
        (400, message("Incorrect API key provided", type="invalid_request_error"), "auth"),
        (None, message("odd", type="invalid_request_error"), "format_error"),
        (None, message("odd", type="api_error"), "server_error"),
        (400, message("odd", type="api_error"), "format_error"),
        (502, message("odd", type="api_error"), "server_error"),
        # LiteLLM's limit of a user, which no waiting lifts.
        (429, message("Budget has been exceeded! Current cost: 11.0, Max budget: 10.0"), "billing"),
        (400, message("ExceededBudget: User=me over budget. Spend=11.0, Budget=10.0"), "billing"),
        (400, message("odd", type="budget_exceeded"), "billing"),
        (500, message("The upstream server timed out"), "timeout"),
        (403, message("Add credits to go on"), "billing"),
        (404, message("There is no deployment x"), "model_not_found"),
        (400, message("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
         "thinking_signature"),
        (400, message("User location is not supported for the API use."), "provider_policy_blocked"),
        (429, message("Your prepayment credits are depleted.", status="RESOURCE_EXHAUSTED"), "billing"),
    ],
)  # fmt: skip
def test_what_tells_more_comes_first(status, body, reason):
    assert failure(status, body).reason == reason


@each(
    ("reason", "codes"),
    [
        ("context_overflow", "context_length_exceeded exceed_context_size_error"),
        ("thinking_signature", "invalid_encrypted_content"),
        ("image_too_large", "invalid_image_format image_parse_error"),
        ("content_policy", "content_filter ResponsibleAIPolicyViolation data_inspection_failed"),
        ("provider_policy_blocked", "unsupported_country_region_territory"),
        ("auth_permanent", "account_deactivated organization_restricted"),
        ("billing", "insufficient_quota billing_error Arrearage exceeded_current_quota_error usage_not_included"),
        ("auth", "invalid_api_key API_KEY_INVALID authentication_error permission_error UNAUTHENTICATED"),
        ("model_not_found", "model_not_found DeploymentNotFound model_decommissioned"),
        ("payload_too_large", "request_too_large"),
        ("overloaded", "overloaded_error server_is_overloaded slow_down engine_overloaded_error UNAVAILABLE"),
        (
            "rate_limit",
            "rate_limit_exceeded rate_limit_error usage_limit_reached ThrottlingException RESOURCE_EXHAUSTED",
        ),
        ("timeout", "timeout_error DEADLINE_EXCEEDED"),
        ("server_error", "server_error api_error INTERNAL internalServerException"),
    ],
)
def test_a_code_tells_where_the_words_do_not(reason, codes):
    for code in codes.split():
        assert failure(None, message("odd", code=code)).reason == reason, code
        assert failure(None, message("odd", type=code)).reason == reason, code


@each(
    ("reason", "numbers"),
    [
        ("auth_permanent", "1110 1112"),
        ("billing", "1113 1309"),
        ("model_not_found", "1211"),
        ("context_overflow", "1261"),
        ("content_policy", "1301"),
        ("rate_limit", "1302 1303 1305 1308"),
        ("overloaded", "1312"),
    ],
)
def test_the_numbers_of_zai(reason, numbers):
    for number in numbers.split():
        assert failure(400, message("odd", code=number), provider="zai").reason == reason, number


@pytest.mark.quirk(
    "llama.cpp, vLLM",
    "fail with 500 or 400 where the model's chat template cannot render a conversation",
    "not tried again; the message names the options that set another template",
)
@each(
    ("status", "said"),
    [
        (
            500,
            "Unable to generate parser for this template. Error: Jinja Exception: Only user and assistant roles are",
        ),
        (500, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (400, "System role not supported"),
        (
            400,
            "As of transformers v4.44, default chat template is no longer allowed, so you must provide one",
        ),
    ],
)
def test_a_chat_template_that_does_not_fit_is_named_and_not_tried_again(status, said):
    told = failure(status, message(said))
    assert (told.reason, told.retryable, told.unexplained) == ("format_error", False, False)
    assert "--chat-template" in told.public_message


def test_the_numbers_of_one_provider_mean_nothing_elsewhere():
    body = message("odd", code="1261")
    assert failure(400, body, provider="zai").reason == "context_overflow"
    assert failure(400, body, provider="custom").reason == "format_error"
    choice = choice_for("https://open.bigmodel.cn/api/paas/v4", provider="custom")
    assert classify(ProviderStatusError("text", 400, json.dumps(body)), choice).reason == "context_overflow"


@pytest.mark.parametrize("body", ["<html>nginx</html>", "404 page not found", "", {"detail": "Not Found"}])
def test_a_wrong_address_is_no_missing_model(body):
    told = failure(404, body)
    assert told.reason == "format_error"
    assert "model.base_url" in told.public_message
    assert not told.retryable


@pytest.mark.parametrize("reason", ["auth", "context_overflow", "model_not_found", "format_error"])
def test_waiting_is_named_only_where_it_helps(reason):
    entry = next(entry for entry in ERROR_BODIES if entry.reason == reason)
    told = failure(entry.status, entry.body, headers={"retry-after": "5"}, provider=entry.provider)
    assert (told.reason, told.retry_after) == (reason, None)


def test_what_a_body_says_of_waiting_counts_only_where_it_helps():
    for status, wait in ((404, None), (402, 5), (429, 5)):
        assert failure(status, message("no such thing", retry_after=5)).retry_after == wait


@each(
    ("seconds", "words"),
    [
        ("0", "a moment"),
        ("0.2", "1 s"),
        ("36", "36 s"),
        ("120", "120 s"),
        ("121", "3 min"),
        ("600", "10 min"),
        ("7200", "120 min"),
        ("7201", "3 h"),
        ("80000", "23 h"),
    ],
)
def test_the_wait_is_told_in_words(seconds, words):
    assert f"Wait {words} and" in failure(429, headers={"retry-after": seconds}).public_message


@each(
    ("status", "body", "details"),
    [
        (404, message("no such thing"), " (404, «no such thing»)"),
        (404, "", " (404)"),
        (None, message("odd"), " («odd»)"),
        (None, "", ""),
    ],
)
def test_a_message_quotes_what_the_server_said(status, body, details):
    told = failure(status, body)
    advice = ADVICE["wrong_address" if status else "unknown"]
    assert told.public_cause == f"custom ({ADDRESS}) failed for model some-model: {advice.cause}{details}."
    assert told.public_message == f"{told.public_cause} {advice.step}"


@each(
    ("status", "body", "step"),
    [
        (401, "", "model.api_key"),
        (402, "", "Top it up"),
        (400, message("prompt is too long"), "a larger window"),
        (404, message("The model `x` does not exist"), "«hermes-acp models»"),
        (400, message("failed to parse grammar"), "leave the tool out"),
        (400, message("Invalid `signature` in `thinking` block"), "begin a new session"),
    ],
)
def test_the_next_step_fits_the_reason(status, body, step):
    assert step in failure(status, body).public_message


@pytest.mark.parametrize(
    "body",
    [
        message(f"Incorrect API key provided: {SPARE}."),
        message("outer", metadata={"raw": f"bad key {KEY}", "provider_name": "P"}),
        f"key {KEY} and {SPARE} are wrong",
        message("x" * 290 + KEY),
    ],
)
def test_no_key_is_ever_in_a_message(body):
    told = failure(401, body, api_key=KEY, spare_keys=(SPARE,))
    assert "0123456789" not in told.public_message
    assert "spare" not in told.public_message


def test_a_key_in_the_headers_of_the_settings_is_not_in_a_message_either():
    choice = choice_for(ADDRESS, headers=(("X-Gateway-Token", "abcdef-123456"), ("X-Title", "an editor's")))
    problem = ProviderStatusError("text", 401, "the token abcdef-123456 of an editor's is wrong")
    text = classify(problem, choice).public_message
    assert "«the token [key] of an editor's is wrong»" in text


def test_the_longer_of_two_keys_is_hidden_whole():
    keys = {"api_key": "test-0123456789", "spare_keys": ("a-test-0123456789-spare",)}
    assert "«key [key]»" in failure(401, message("key a-test-0123456789-spare"), **keys).public_message


def test_a_key_of_eight_letters_is_a_secret():
    assert "«it is [key] here»" in failure(401, message("it is harmless here"), api_key="harmless").public_message


def test_a_key_that_is_only_a_word_is_no_secret():
    told = failure(404, message('model "x" not found in ollama'), provider="ollama", api_key="ollama")
    assert told.public_message.startswith(f"ollama ({ADDRESS})")
    assert "in ollama" in told.public_message


@each(
    ("fault", "reason"),
    [
        ("connect", "connection"),
        ("proxy", "connection"),
        ("cut", "connection"),
        ("timeout", "timeout"),
        ("stall", "timeout"),
    ],
)
def test_a_failed_connection_is_told_by_its_fault(fault, reason):
    told = broken(fault)
    assert (told.reason, told.retryable, told.should_fallback, told.should_compress) == (reason, True, True, False)
    assert told.status_code is None
    assert told.public_message == f"Model some-model: custom ({ADDRESS}) could not be reached (it broke). Check it."


def test_the_next_step_of_a_failed_connection_is_no_part_of_its_cause():
    choice = choice_for(ADDRESS, model="some-model", api_key=KEY)
    problem = ProviderConnectionError(f"It\nbroke at {KEY}.", "cut", f"Check\n {KEY}.")
    told = classify(problem, choice)
    assert told.public_cause == "Model some-model: It broke at [key]."
    assert told.public_message == "Model some-model: It broke at [key]. Check [key]."


def test_an_address_stays_whole_where_a_key_is_a_part_of_it():
    choice = choice_for("https://my-own-key.example/v1", model="some-model", api_key="my-own-key")
    told = classify(
        ProviderConnectionError(f"my-own-key: {choice.endpoint} broke, {choice.endpoint} is down."), choice
    )
    assert told.public_cause == f"Model some-model: [key]: {choice.endpoint} broke, {choice.endpoint} is down."


@each(
    ("words", "cause", "retryable"),
    [
        ("[SSL: RECORD_LAYER_FAILURE] record layer failure (_ssl.c:2580)", None, True),
        ("EOF occurred in violation of protocol (_ssl.c:1131)", None, True),
        ("[SSL: DECRYPTION_FAILED_OR_BAD_RECORD_MAC] decryption failed or bad record mac", None, True),
        ("broke", ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), True),
        ("certificate verify failed: self-signed certificate", None, False),
        ("unexpected eof", ssl.SSLCertVerificationError(1, "certificate verify failed"), False),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", None, False),
    ],
)
def test_tls_that_broke_is_tried_again_and_tls_without_trust_is_not(words, cause, retryable):
    told = broken("tls", words, cause=cause)
    assert (told.reason, told.retryable, told.should_fallback, told.should_compress) == (
        "tls",
        retryable,
        True,
        False,
    )
    assert "some-model" in told.public_message
    assert ADDRESS in told.public_message
    assert ("Send the prompt again" in told.public_message) == retryable
    if retryable:
        quoted = f" («{cause}»)" if cause else ""
        assert told.public_cause.endswith(f"the secured connection broke{quoted}.")


@pytest.mark.parametrize(
    ("tokens", "window", "large"),
    [(80_001, 100_000, True), (80_000, 100_000, False), (90_000, None, False), (None, 100_000, False)],
)
def test_a_silent_failure_near_the_end_of_the_window_may_be_one_of_size(tokens, window, large):
    size = {"tokens": tokens, "context_length": window}
    silent = [
        broken("cut", **size),
        broken("timeout", **size),
        failure(500, "", **size),
        failure(502, "<html>bad gateway</html>", **size),
        failure(500, message("Internal server error", type="server_error"), **size),
        failure(524, "", **size),
    ]
    assert [(told.retryable, told.should_compress) for told in silent] == [(True, large)] * len(silent)
    assert {told.reason for told in silent} <= {"connection", "timeout", "server_error"}
    told_why = [
        broken("connect", **size),
        failure(429, "", **size),
        failure(503, message("overloaded"), **size),
        failure(500, message("The upstream server timed out"), **size),
    ]
    assert not any(told.should_compress for told in told_why)


def test_an_answer_that_nobody_understands_is_tried_again_and_names_the_model():
    choice = choice_for(ADDRESS, model="some-model", api_key=KEY)
    told = classify(ProviderProtocolError(f"{choice.endpoint} sent {KEY} that is not JSON."), choice)
    assert (told.reason, told.retryable, told.should_fallback) == ("unknown", True, True)
    assert not told.should_compress
    assert told.public_message == f"Model some-model: custom ({ADDRESS}) sent [key] that is not JSON."
    assert classify(ProviderError("odd"), choice).reason == "unknown"
