"""Where `hermes-acp setup` puts keys: .env or the system's keyring, and neither when something goes wrong."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dotenv import dotenv_values

from acp_adapter.cli.setup.main import TOOL_KEYS, choose_tool_keys
from agent_core.config import load
from agent_core.home import Home, find_home
from agent_core.providers.resolve import resolve_model
from agent_core.workspace_factory import tool_settings
from tests.support.subcommands import main_of
from tests.support.terminal import Terminal
from tests.support.typed_lines import Script
from tools.errors import install_line

main = main_of("setup")

keyring = pytest.importorskip("keyring", reason=f"keyring is missing: {install_line('dev')}")
keyrings = pytest.importorskip("tests.support.keyrings", reason=f"keyrings.alt is missing: {install_line('dev')}")
KEY = "sk-test-0123456789"
MODEL = ("--non-interactive", "--provider", "openai", "--model", "gpt-5", "--skip-test")
Run = Callable[..., int]


@pytest.fixture
def use() -> Iterator[Callable[[object], None]]:
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, use: Callable[[object], None]) -> Run:
    use(keyrings.GoodKeyring())

    def run(*words: str, stdin: str = "") -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        return main([*MODEL, *words])

    return run


def variables(home: Path) -> dict[str, str | None]:
    return dict(dotenv_values(home / ".env", interpolate=False))


def service(home: Path) -> str:
    return f"hermes-acp {home}" if home != Path.home() / ".hermes" else "hermes-acp"


def test_a_key_in_the_keyring_is_in_no_file_and_is_used(
    home: Path, given: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert given("--key-stdin", "--key-store", "keyring", stdin=KEY) == 0
    assert variables(home) == {"OPENAI_API_KEY": f"keyring:{service(home)}"}
    assert keyring.get_password(service(home), "OPENAI_API_KEY") == KEY
    assert not [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert resolve_model(load(Home(home))).api_key == KEY
    said = capsys.readouterr().out
    assert "In the system's keyring" in said
    assert KEY not in said


def test_a_new_key_goes_where_the_old_one_was(home: Path, given: Run) -> None:
    assert given("--key-stdin", "--key-store", "keyring", stdin=KEY) == 0
    assert given("--key-stdin", stdin="sk-newer-0123456789") == 0
    assert KEY not in (home / ".env").read_text()
    assert resolve_model(load(Home(home))).api_key == "sk-newer-0123456789"


def test_a_key_moves_there_and_back_without_being_given_again(home: Path, given: Run) -> None:
    assert given("--key-stdin", stdin=KEY) == 0
    assert variables(home) == {"OPENAI_API_KEY": KEY}
    assert given("--key-store", "keyring") == 0
    assert variables(home) == {"OPENAI_API_KEY": f"keyring:{service(home)}"}
    assert given("--key-store", "file") == 0
    assert variables(home) == {"OPENAI_API_KEY": KEY}
    assert (home / ".env").stat().st_mode & 0o777 == 0o600
    assert keyring.get_password(service(home), "OPENAI_API_KEY") is None, "what is not used does not lie about"


@pytest.mark.parametrize("backend", ["LockedKeyring", "ForgetfulKeyring"])
def test_a_keyring_that_does_not_take_it_changes_nothing_and_says_what_to_do(
    backend: str, home: Path, given: Run, use: Callable[[object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    use(getattr(keyrings, backend)())
    assert given("--key-stdin", "--key-store", "keyring", stdin=KEY) == 1
    assert list(home.iterdir()) == []
    said = capsys.readouterr().err
    assert "--key-store file" in said
    assert KEY not in said


def test_settings_that_cannot_be_written_leave_the_keyring_as_it_was(home: Path, given: Run) -> None:
    assert given("--key-stdin", "--key-store", "keyring", stdin=KEY) == 0
    (home / "config.yaml").write_text("model: [a]\n")
    (home / "config.yaml").write_text("model: {provider: openai, default: old}\n")
    assert given("--key-stdin", "--key-store", "keyring", stdin="sk-newer-0123456789") == 1
    assert keyring.get_password(service(home), "OPENAI_API_KEY") == KEY


def test_a_home_that_cannot_be_written_leaves_the_keyring_as_it_was(home: Path, given: Run) -> None:
    (home / "config.yaml").mkdir()
    assert given("--key-stdin", "--key-store", "keyring", stdin=KEY) == 1
    assert keyring.get_password(service(home), "OPENAI_API_KEY") is None


def test_at_a_terminal_a_keyring_is_offered_only_where_there_is_one(home: Path) -> None:
    asks = "Keep keys in the system's keyring?"
    for backend, offered in (("tests.support.keyrings.GoodKeyring", True), ("keyring.backends.fail.Keyring", False)):
        env = {**os.environ, "TERM": "dumb", "PATH": "/nowhere", "PYTHON_KEYRING_BACKEND": backend}
        command = [sys.executable, "-P", "-m", "acp_adapter", "setup", *MODEL[1:]]
        with Terminal(command, env) as terminal:
            terminal.read_until("(not shown): ")
            terminal.type(f"{KEY}\n")
            if offered:
                terminal.read_until(asks)
                terminal.type("y\n")
            assert terminal.end() == 0, terminal.text
            assert (asks in terminal.text) is offered
        assert (KEY in (home / ".env").read_text()) is not offered
        (home / ".env").unlink()


def test_a_script_stores_the_keys_of_tools_from_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
    assert main(["--non-interactive", "--tool-key-env", "TAVILY_API_KEY"]) == 0
    monkeypatch.delenv("TAVILY_API_KEY")
    assert variables(home) == {"TAVILY_API_KEY": "tvly-0123456789"}
    assert (home / ".env").stat().st_mode & 0o777 == 0o600
    assert not (home / "config.yaml").exists(), "the model was not spoken of"
    assert tool_settings(load(find_home(os.environ))).web.keys.tavily == "tvly-0123456789"
    assert "tvly" not in capsys.readouterr().out


def test_a_key_that_is_not_there_is_told_with_the_page_that_makes_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--non-interactive", "--tool-key-env", "EXA_API_KEY"])
    assert ended.value.code == 2
    assert "https://dashboard.exa.ai" in capsys.readouterr().err
    assert list(home.iterdir()) == []


def test_each_tools_key_is_offered_with_where_it_is_got_unless_it_is_there() -> None:
    person = Script("")
    assert choose_tool_keys(person, {"BRAVE_SEARCH_API_KEY": "x"}) == {}
    heard = "\n".join(person.heard)
    assert [key.title for key in TOOL_KEYS if key.page not in heard] == ["Brave Search"]
    assert "there is a key for Brave Search" in heard


def test_what_cannot_be_a_key_or_an_address_is_asked_again() -> None:
    person = Script("9", "4", "searx.example.com", "http://searx.example.com", "2", "two words", "tvly-1", "")
    assert choose_tool_keys(person, {}) == {"SEARXNG_URL": "http://searx.example.com", "TAVILY_API_KEY": "tvly-1"}
    assert "begins with http" in "\n".join(person.heard)


def test_what_is_no_number_of_the_list_is_told_and_no_means_none() -> None:
    person = Script("9", "no")
    assert choose_tool_keys(person, {}) == {}
    assert "'9' is no number of this list" in "\n".join(person.heard)
