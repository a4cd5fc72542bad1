"""Where sign-ins are kept."""

from __future__ import annotations

import json
import stat
from dataclasses import replace

import pytest

from agent_core.providers.shared_file import SharedFileError
from agent_core.providers.token_store import OAuthToken, TokenStore, keep_or_remember
from tests.agent_core.providers.credentials.conftest import NOW

TOKEN = OAuthToken(
    "at-secret",
    "rt-secret",
    expires_at=NOW + 3600,
    token_url="https://auth.example.org/token",
    client_id="the-client",
    client_secret="cs-secret",
    scope="models",
    extra={"account": "a1"},
)


@pytest.mark.parametrize("token", [TOKEN, OAuthToken("bare"), replace(TOKEN, dead_reason="revoked", dead_at=NOW)])
def test_a_token_comes_back_as_it_was_put_also_for_others(store, tokens_file, token):
    assert store.get("example") is None
    store.put("example", token)
    assert store.get("example") == TokenStore(tokens_file).get("example") == token
    assert store.get("other") is None


def test_the_file_is_for_its_owner_alone(store, tokens_file):
    store.put("example", TOKEN)
    assert stat.S_IMODE(tokens_file.stat().st_mode) == 0o600


def test_a_forgotten_token_is_gone_and_others_stay(store):
    store.put("example", TOKEN)
    store.put("other", OAuthToken("bare"))
    store.forget("example")
    store.forget("never-there")
    assert store.get("example") is None
    assert store.get("other") == OAuthToken("bare")


def test_fields_that_this_version_does_not_know_are_kept(store, tokens_file):
    store.put("example", TOKEN)
    content = json.loads(tokens_file.read_text(encoding="utf-8"))
    content["providers"]["example"]["label"] = "work"
    tokens_file.write_text(json.dumps(content), encoding="utf-8")
    store.put("example", replace(TOKEN, access_token="at-new"))
    entry = json.loads(tokens_file.read_text(encoding="utf-8"))["providers"]["example"]
    assert (entry["label"], entry["access_token"]) == ("work", "at-new")


@pytest.mark.parametrize("entry", [None, [], "text", {}, {"access_token": ""}, {"access_token": 7}])
def test_an_entry_without_an_access_token_is_none(store, tokens_file, entry):
    tokens_file.write_text(json.dumps({"version": 1, "providers": {"example": entry}}), encoding="utf-8")
    assert store.get("example") is None


def test_values_of_the_wrong_kind_count_as_not_there(store, tokens_file):
    entry = {
        "access_token": "bare",
        "refresh_token": 3,
        "expires_at": "soon",
        "extra": [],
        "dead": "yes",
        "scope": None,
    }
    tokens_file.write_text(json.dumps({"version": 1, "providers": {"example": entry}}), encoding="utf-8")
    assert store.get("example") == OAuthToken("bare")


def test_a_token_shows_none_of_its_secrets():
    assert "secret" not in repr(TOKEN).replace("client_secret", "")


def test_a_sign_in_that_cannot_be_stored_is_an_error(home):
    (home / "file").write_text("a file")
    with pytest.raises(SharedFileError, match="could not be locked"):
        TokenStore(home / "file" / "tokens.json").put("example", TOKEN)


def test_a_renewed_token_that_cannot_be_stored_serves_this_process_until_another_one_is_there(
    store, tokens_file, caplog
):
    store.put("example", TOKEN)
    for name in ("at-1", "at-2"):
        with store.locked("example") as held:
            in_the_way = tokens_file.with_name(f"{tokens_file.name}.tmp")
            in_the_way.mkdir()
            keep_or_remember(store, "example", held, replace(TOKEN, access_token=name))
            in_the_way.rmdir()
        assert store.get("example").access_token == name
    assert TokenStore(tokens_file).get("example") == TOKEN
    assert "kept by this process alone" in caplog.text
    assert "at-1" not in caplog.text

    TokenStore(tokens_file).put("example", OAuthToken("signed-in-again"))
    assert store.get("example").access_token == "signed-in-again"


def test_what_could_not_be_stored_is_stored_with_the_next_renewal(store, tokens_file):
    store.put("example", TOKEN)
    store.remember("example", TOKEN, replace(TOKEN, access_token="at-1"))
    with store.locked("example") as held:
        assert held.token.access_token == "at-1"
        held.keep(replace(held.token, access_token="at-2"))
    assert store.get("example") == TokenStore(tokens_file).get("example") == replace(TOKEN, access_token="at-2")
    store.put("example", TOKEN)
    assert store.get("example") == TOKEN
