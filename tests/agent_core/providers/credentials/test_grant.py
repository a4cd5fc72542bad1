"""Renewing a token as RFC 6749 says."""

from __future__ import annotations

import logging
import threading

import pytest

from agent_core.providers.token_renewal import refresh_grant
from agent_core.providers.token_store import OAuthToken, RefreshFailed, RefreshRefused
from tests.agent_core.providers.credentials.conftest import NOW

SECRETS = ("at-old-secret", "rt-old-secret", "cs-secret")


@pytest.fixture
def token(endpoint):
    return OAuthToken(
        *SECRETS[:2],
        expires_at=NOW,
        token_url=f"{endpoint.url}?tenant=7",
        client_id="the-client",
        client_secret=SECRETS[2],
        scope="models",
        extra={"account": "a1"},
    )


@pytest.fixture
def renew(clock):
    return lambda token, **options: refresh_grant(token, clock, **options)


def test_the_endpoint_gets_the_form_of_section_6(endpoint, token, renew):
    renew(token)
    assert endpoint.paths == ["/oauth/token?tenant=7"]
    assert endpoint.forms == [
        {
            "grant_type": "refresh_token",
            "refresh_token": "rt-old-secret",
            "client_id": "the-client",
            "client_secret": "cs-secret",
        }
    ]


def test_a_public_client_sends_no_secret(endpoint, renew):
    renew(OAuthToken("old", "renewal", token_url=endpoint.url, client_id="the-client"))
    assert endpoint.forms == [{"grant_type": "refresh_token", "refresh_token": "renewal", "client_id": "the-client"}]


def test_the_answer_becomes_the_new_token(endpoint, token, renew):
    endpoint.answer = lambda _: (
        200,
        {
            "access_token": "at-new",
            "refresh_token": "rt-new",
            "expires_in": 3600,
            "token_type": "Bearer",
            "scope": "models files",
            "id_token": "x.y.z",
        },
    )
    new = renew(token)
    assert (new.access_token, new.refresh_token, new.expires_at) == ("at-new", "rt-new", NOW + 3600)
    assert (new.scope, dict(new.extra)) == ("models files", {"account": "a1", "id_token": "x.y.z"})
    assert (new.token_url, new.client_id, new.client_secret) == (token.token_url, "the-client", "cs-secret")


@pytest.mark.parametrize("renewal", [{}, {"refresh_token": None}, {"refresh_token": ""}])
def test_an_answer_without_a_refresh_token_keeps_the_old_one(endpoint, token, renew, renewal):
    endpoint.answer = lambda _: (200, {"access_token": "at-new", **renewal})
    assert renew(token).refresh_token == "rt-old-secret"


@pytest.mark.parametrize(
    ("expires_in", "expires_at"),
    [("3600", NOW + 3600), (0.5, NOW + 0.5), (0, None), (-1, None), (None, None), ("soon", None), (True, None)],
)
def test_the_end_is_known_where_the_server_tells_a_lifetime(endpoint, token, renew, expires_in, expires_at):
    endpoint.answer = lambda _: (200, {"access_token": "at-new", "expires_in": expires_in})
    assert renew(token).expires_at == expires_at


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (400, {"error": "invalid_grant", "error_description": "Token has been revoked."}),
        (401, {"error": "invalid_grant", "error_description": "Token has been revoked."}),
        (401, {"error": {"code": "refresh_token_reused", "message": "Token has been revoked."}}),
        (401, {"error": {"type": "invalid_grant", "code": None, "message": "Token has been revoked."}}),
    ],
)
def test_a_refused_refresh_token_is_told_from_other_failures(endpoint, token, renew, status, answer):
    endpoint.answer = lambda _: (status, answer)
    with pytest.raises(RefreshRefused, match=r"Sign in again") as refused:
        renew(token)
    assert refused.value.said == "Token has been revoked."


@pytest.mark.parametrize(
    ("status", "answer", "text"),
    [
        (400, {"error": "invalid_client"}, r"answered 400: «invalid_client»\. Sign in again"),
        (403, {"error": "invalid_grant"}, "answered 403"),
        (400, b"", r"answered 400\. Sign in again"),
        (429, {}, r"answered 429\. Send the prompt again later"),
        (503, b"<html>busy</html>", r"answered 503\. Send the prompt again later"),
        (302, b"", "answered 302"),
        (200, b"<html>log in to the hotel</html>", "without a token"),
        (200, {"token": "at-new"}, "without a token"),
        (200, {"access_token": ""}, "without a token"),
        (200, {"access_token": "two\nlines"}, "without a token"),
        (200, {"access_token": 7}, "without a token"),
        (200, [], "without a token"),
    ],
)
def test_any_other_answer_is_a_failure_that_says_what_came_back(endpoint, token, renew, status, answer, text):
    endpoint.answer = lambda _: (status, answer)
    with pytest.raises(RefreshFailed, match=text):
        renew(token)


def test_no_secret_is_in_an_error_a_repr_or_the_log(endpoint, token, renew, caplog):
    caplog.set_level(logging.DEBUG)
    endpoint.answer = lambda form: (400, {"error": "odd", "error_description": f"{form} {SECRETS}"})
    with pytest.raises(RefreshFailed) as failed:
        renew(token)
    shown = f"{failed.value} {token!r} {caplog.text}"
    assert "[key]" in shown
    assert [secret for secret in SECRETS if secret in shown] == []
    assert "tenant" not in str(failed.value)


@pytest.mark.parametrize(
    "address",
    ["", "http://example.org/token", "ftp://example.org/", "https://user:pw@example.org/", "https://", "http://[::"],
)
def test_a_token_goes_to_no_address_that_is_not_safe(renew, address):
    with pytest.raises(RefreshFailed, match="not an https address") as failed:
        renew(OAuthToken("old", "renewal", token_url=address))
    assert "pw" not in str(failed.value)


def test_a_server_that_cannot_be_reached_is_a_failure_that_says_so(renew, refused_port):
    with pytest.raises(RefreshFailed, match=f"http://127.0.0.1:{refused_port}/token could not be reached"):
        renew(OAuthToken("old", "renewal", token_url=f"http://127.0.0.1:{refused_port}/token"))


def test_a_server_that_stays_silent_is_given_up_after_the_time_out(endpoint, token, renew):
    endpoint.gate.clear()
    with pytest.raises(RefreshFailed, match=r"gave no answer in 0\.1 s"):
        renew(token, timeout=0.1)


def test_an_answer_that_drips_is_cut_off_at_the_time_out(endpoint, token, renew):
    pause = threading.Event()

    def drip():
        yield b'{"access_token": '
        for _ in range(100):
            pause.wait(0.03)
            yield b" "
        yield b'"too-late"}'

    endpoint.answer = lambda _: (200, drip())
    # On a loaded machine the time may be over before the answer begins.
    with pytest.raises(RefreshFailed, match=r"without a token|no answer in 0\.2 s"):
        renew(token, timeout=0.2)


def test_an_answer_of_any_size_is_not_read(endpoint, token, renew):
    endpoint.answer = lambda _: (200, iter([b" " * (3 << 20), b'{"access_token": "at-new"}']))
    with pytest.raises(RefreshFailed, match="without a token"):
        renew(token)


def test_a_proxy_that_cannot_be_used_is_a_failure_that_names_it(token, renew, monkeypatch):
    monkeypatch.setenv("https_proxy", "socks9://127.0.0.1:1")
    with pytest.raises(RefreshFailed, match="https_proxy"):
        renew(token)
