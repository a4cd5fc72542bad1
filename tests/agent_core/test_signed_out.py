"""Signing out: kept in the home, and nobody's keys are lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config import load
from agent_core.errors import AuthRequired
from agent_core.home import Home
from agent_core.providers.sign_out import SignedOut, SignOutFailed, sign_out
from agent_core.providers.token_store import FILE_NAME as TOKENS_FILE
from agent_core.providers.token_store import OAuthToken, TokenStore
from tests.support.settings_files import configure


@pytest.fixture
def state(home: Path) -> SignedOut:
    return SignedOut(Home(home))


def test_nobody_is_signed_out_at_first(state: SignedOut) -> None:
    assert not state.is_set()
    state.check()
    state.clear()


def test_it_holds_for_every_process_of_the_home_until_it_is_taken_back(home: Path, state: SignedOut) -> None:
    state.mark()
    state.mark()
    again = SignedOut(Home(home))
    assert again.is_set()
    with pytest.raises(AuthRequired, match="hermes-acp setup"):
        again.check()
    (file,) = home.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    again.clear()
    state.check()
    assert list(home.iterdir()) == []


def test_a_home_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    state = SignedOut(Home(tmp_path / "a" / "home"))
    assert not state.is_set()
    state.clear()
    state.mark()
    assert state.is_set()


def test_a_home_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, where a directory should be")
    state = SignedOut(Home(tmp_path / "home"))
    assert not state.is_set()
    state.clear()
    with pytest.raises(SignOutFailed, match="Check that"):
        state.mark()


def test_the_stored_sign_in_of_the_configured_provider_is_forgotten_and_nothing_else(
    home: Path, state: SignedOut
) -> None:
    configure(home, {"model": {"provider": "codex", "default": "gpt-5", "api_key": "sk-mine"}})
    (home / ".env").write_text("OPENAI_API_KEY=sk-mine-too\n")
    written = {path: path.read_bytes() for path in home.iterdir()}
    tokens = TokenStore(home / TOKENS_FILE)
    for provider in ("codex", "nous"):
        tokens.put(provider, OAuthToken(f"token-{provider}"))
    sign_out(state, lambda: load(Home(home)), tokens)
    assert state.is_set()
    assert tokens.get("codex") is None
    assert tokens.get("nous") == OAuthToken("token-nous")
    assert {path: path.read_bytes() for path in written} == written


@pytest.mark.parametrize("settings", [{}, {"model": {"provider": "no-such", "default": "x"}}])
def test_one_can_sign_out_of_nothing(home: Path, state: SignedOut, settings: dict[str, object]) -> None:
    configure(home, settings)
    sign_out(state, lambda: load(Home(home)), TokenStore(home / TOKENS_FILE))
    assert state.is_set()
    assert not (home / TOKENS_FILE).exists()


@pytest.mark.parametrize("broken", ["model: [unclosed", "model: {api_mode: nonsense}", "just words"])
def test_one_can_sign_out_though_the_settings_are_broken(
    home: Path, state: SignedOut, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "config.yaml").write_text(broken)
    tokens = TokenStore(home / TOKENS_FILE)
    tokens.put("codex", OAuthToken("token-codex"))
    sign_out(state, lambda: load(Home(home)), tokens)
    assert state.is_set()
    assert tokens.get("codex") == OAuthToken("token-codex")
    assert "config.yaml" in caplog.text
