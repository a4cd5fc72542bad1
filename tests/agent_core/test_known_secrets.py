"""The secrets that settings hold are known by their value."""

from __future__ import annotations

from pathlib import Path

from agent_core.config import load, secrets_of
from agent_core.home import Home
from agent_core.mcp.oauth import ServerTokens
from agent_core.providers.token_store import FILE_NAME, OAuthToken, TokenStore
from tests.support.settings_files import configure

ENVIRON = {"PATH": "/usr/bin", "HOME": "/home/me", "EDITOR": "some-editor"}


def secrets(home: Path, environ: dict[str, str] | None = None) -> frozenset[str]:
    return secrets_of(load(Home(home), environ={**ENVIRON, **(environ or {})})) - {""}


def test_keys_of_every_server_in_the_settings_are_known(home: Path) -> None:
    configure(
        home,
        {
            "model": {"default": "m", "base_url": "http://me:in-the-address@127.0.0.1:1/v1", "api_key": "of-model"},
            "providers": {"one": {"base_url": "http://127.0.0.1:1", "api_keys": ["of-one-a", "of-one-b"]}},
            "custom_providers": [{"name": "two", "base_url": "http://127.0.0.1:1", "api_key": "of-two"}],
            "fallback_providers": [{"provider": "one", "model": "m", "api_key": "of-fallback"}],
            "auxiliary": {"title": {"provider": "one", "api_key": "of-auxiliary"}},
        },
    )

    assert secrets(home) == {
        "in-the-address",
        "of-model",
        "of-one-a",
        "of-one-b",
        "of-two",
        "of-fallback",
        "of-auxiliary",
    }


def test_headers_that_sign_in_are_known_and_others_are_not(home: Path) -> None:
    headers = {"Authorization": "Bearer of-header", "X-Api-Key": "of-other-header", "X-Title": "my-program"}
    configure(home, {"model": {"default": "m", "base_url": "http://127.0.0.1:1/v1", "headers": headers}})

    assert secrets(home) == {"of-header", "of-other-header"}


def test_variables_are_known_by_their_name_or_because_the_settings_name_them(home: Path) -> None:
    configure(
        home,
        {
            "model": {"default": "m", "base_url": "http://127.0.0.1:1", "api_key": "${MINE}"},
            "providers": {"one": {"base_url": "http://127.0.0.1:1", "key_env": "ODD_NAME"}},
        },
    )
    (home / ".env").write_text("OPENAI_API_KEY=from-env-file\n")
    environ = {
        "MINE": "by-reference",
        "ODD_NAME": "by-key-env",
        "GITHUB_TOKEN": "from-environment",
        "DB_PASSWORD": "also-this-one",
        "SSH_KEY": "/home/me/.ssh/id",
        "MAX_TOKENS": "many-of-them",
        "KEYBOARD": "not-a-secret",
        "SHORT_KEY": "none",
    }

    assert secrets(home, environ) == {
        "by-reference",
        "by-key-env",
        "from-env-file",
        "from-environment",
        "also-this-one",
    }


def test_the_tokens_of_stored_sign_ins_are_known(home: Path) -> None:
    store = TokenStore(home / FILE_NAME)
    store.put("one", OAuthToken("access-of-one", "refresh-of-one", client_secret="client-of-one"))
    store.put("two", OAuthToken("access-of-two"))

    assert secrets(home) == {"access-of-one", "refresh-of-one", "client-of-one", "access-of-two"}


def test_sign_ins_that_cannot_be_read_hide_no_other_secrets(home: Path) -> None:
    configure(home, {"model": {"default": "m", "base_url": "http://127.0.0.1:1/v1", "api_key": "of-model"}})
    (home / FILE_NAME).write_text("{ this is no JSON")

    assert "of-model" in secrets(home)


def test_what_is_written_into_mcp_servers_and_kept_of_sign_ins_there_is_known(home: Path) -> None:
    servers = {
        "a": {"command": "x", "env": {"API_TOKEN": "of-a-program", "PORT": "8080", "KEY": "${ELSEWHERE}"}},
        "b": {"url": "https://me:in-the-url@example.com", "headers": {"Authorization": "Bearer of-a-header"}},
        "c": {"url": "https://example.com/c", "oauth": {"client_id": "id", "client_secret": "of-a-client"}},
    }
    configure(home, {"mcp_servers": servers})
    ServerTokens(home).keep("https://example.com/c", tokens={"access_token": "of-a-sign-in"})
    assert secrets(home) == {"of-a-program", "in-the-url", "of-a-header", "of-a-client", "of-a-sign-in"}
