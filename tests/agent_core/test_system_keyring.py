"""Keys in the system's keyring: read when one is needed, and nobody waits for a keyring that does not answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from keyring.errors import KeyringLocked

from agent_core.config import ConfigSource, Configuration, load, teach
from agent_core.errors import SettingsError
from agent_core.home import Home
from agent_core.providers.resolve import resolve_model
from agent_core.settings import keyring as system_keyring
from agent_core.settings.keyring import KeptVariables
from tests.support.settings_files import configure
from tools.errors import install_line
from tools.redaction import Redactor

keyring = pytest.importorskip("keyring", reason=f"keyring is missing: {install_line('dev')}")
keyrings = pytest.importorskip("tests.support.keyrings", reason=f"keyrings.alt is missing: {install_line('dev')}")
KEY = "plainly-kept-0123456789"


@pytest.fixture
def use() -> Iterator[Callable[[object], None]]:
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


@pytest.fixture
def kept(home: Path, use: Callable[[object], None]) -> Home:
    """A home whose key is in a keyring."""
    use(keyrings.GoodKeyring())
    system_keyring.write("hermes-acp", "OPENAI_API_KEY", KEY)
    configure(home, {"model": {"provider": "openai", "default": "gpt-5"}})
    (home / ".env").write_text("OPENAI_API_KEY=keyring:hermes-acp\nOTHER=1\n")
    return Home(home)


def test_a_key_that_env_says_is_in_the_keyring_is_the_models(kept: Home) -> None:
    assert resolve_model(load(kept)).api_key == KEY
    assert load(kept).environ["OTHER"] == "1"


def test_the_environment_goes_before_the_keyring(kept: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-0123456789")
    assert resolve_model(load(kept)).api_key == "sk-mine-0123456789"


def test_it_is_asked_for_one_key_when_that_is_needed_and_once(kept: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    read = keyring.get_password
    monkeypatch.setattr(keyring, "get_password", lambda service, name: (asked.append(name), read(service, name))[1])
    environ = load(kept).environ
    assert "OPENAI_API_KEY" not in dict(environ)
    assert asked == []
    assert [environ.get("OPENAI_API_KEY"), environ.get("OPENAI_API_KEY"), environ.get("ABSENT")] == [KEY, KEY, None]
    assert asked == ["OPENAI_API_KEY"]


def test_what_was_read_is_taken_out_of_logs_from_then_on(kept: Home) -> None:
    redactor = Redactor()
    source = ConfigSource(kept, None, lambda config: teach(redactor.learn, config))
    resolve_model(source.load())
    assert KEY not in redactor(f"the key is {KEY}")


def test_its_library_is_not_loaded_where_no_key_is_in_it(home: Path) -> None:
    (home / ".env").write_text("OPENAI_API_KEY=sk-plain-0123456789\n")
    words = "import sys; from agent_core.config import load; from agent_core.home import find_home; "
    words += (
        "load(find_home({'HERMES_HOME': sys.argv[1]})).environ['OPENAI_API_KEY']; print('keyring' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", words, str(home)], check=True, capture_output=True, text=True, timeout=50
    )
    assert ran.stdout == "False\n"


@pytest.mark.parametrize(
    ("backend", "told"),
    [
        ("LockedKeyring", "is locked. Unlock"),
        ("SilentKeyring", "not answer within 0.1 s"),
        ("fail", "There is no"),
    ],
)
def test_a_keyring_that_gives_nothing_is_an_error_that_says_what_to_do(
    backend: str, told: str, kept: Home, use: Callable[[object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from keyring.backends import fail  # noqa: PLC0415 - an extra

    use(fail.Keyring() if backend == "fail" else getattr(keyrings, backend)())
    monkeypatch.setattr(system_keyring, "SECONDS", 0.1)
    with pytest.raises(SettingsError, match=told) as refused:
        resolve_model(load(kept))
    assert "hermes-acp setup --key-store file" in refused.value.public
    assert "OPENAI_API_KEY" in refused.value.public
    assert "sk-of-somebody" not in refused.value.public


def test_one_that_does_not_answer_is_not_waited_for_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [100.0], []

    def read(_service: str, name: str) -> str:
        asked.append(name)
        if len(asked) == 1:
            raise KeyringLocked
        return KEY

    monkeypatch.setattr(keyring, "get_password", read)
    environ = KeptVariables({}, {"A": "hermes-acp", "B": "hermes-acp"}, clock=lambda: now[0])
    assert [environ.get("A"), environ.get("B")] == [None, None]
    assert "is locked." in environ.problem_of("A")
    now[0] += 31
    assert environ.get("B") == KEY
    assert asked == ["A", "B"]


def test_an_entry_that_is_gone_is_told(kept: Home) -> None:
    system_keyring.remove("hermes-acp", "OPENAI_API_KEY")
    with pytest.raises(SettingsError, match="is not there: run hermes-acp setup"):
        resolve_model(load(kept))


def test_without_the_library_the_line_that_installs_it_is_told(kept: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(SettingsError) as refused:
        resolve_model(load(kept))
    assert install_line("keyring") in refused.value.public


def test_a_key_that_is_taken_and_not_kept_is_told(use: Callable[[object], None]) -> None:
    use(keyrings.ForgetfulKeyring())
    with pytest.raises(system_keyring.KeyringFailed, match="did not keep"):
        system_keyring.write("hermes-acp", "A", KEY)


def test_homes_have_their_own_entries(tmp_path: Path) -> None:
    named = {system_keyring.service_of(Home(path)) for path in (Path.home() / ".hermes", tmp_path, tmp_path / "b")}
    assert len(named) == 3
    assert "hermes-acp" in named


def test_reading_all_variables_reads_none_of_the_keyrings(kept: Home) -> None:
    config: Configuration = load(kept)
    assert isinstance(config.environ, KeptVariables)
    assert config.environ.keeps("OPENAI_API_KEY")
    assert len(config.environ) == len(list(config.environ))
