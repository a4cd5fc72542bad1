"""The settings: what is read from where, and what is said when something in them is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_core.config import ConfigSource, Overrides, load
from agent_core.errors import SettingsError
from agent_core.home import Home

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def read(home: Path):
    def read(text: str | bytes | None = None, **options):
        if text is not None:
            (home / "config.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(Home(home), **options)

    return read


def test_no_file_gives_the_defaults(read):
    settings = read().settings
    assert settings.model.default is None
    assert settings.agent.max_turns == 90
    assert (settings.approvals.mode, settings.approvals.timeout) == ("auto", 1800)
    assert settings.command_allowlist == ()


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "model:\nagent:\napprovals:\ncommand_allowlist:\n"])
def test_empty_files_and_empty_parts_give_the_defaults(read, text):
    assert read(text).settings == read("").settings


def test_a_plain_name_is_the_models_name(read):
    assert read("model: gpt-x\n").settings.model.default == "gpt-x"


def test_every_nested_setting_is_read(read):
    settings = read("""
model:
  default: qwen
  provider: custom
  base_url: http://127.0.0.1:11434/v1/
  api_key: secret
  api_mode: chat_completions
  context_length: 32768
  max_tokens: 4096
agent: {max_turns: 5}
approvals: {mode: "off", timeout: 12.5}
command_allowlist: [make test, git status]
""").settings
    model = settings.model
    assert (model.default, model.provider, model.base_url) == ("qwen", "custom", "http://127.0.0.1:11434/v1")
    assert (model.api_key, model.api_mode, model.context_length, model.max_tokens) == (
        "secret",
        "chat_completions",
        32768,
        4096,
    )
    assert (settings.agent.max_turns, settings.approvals.mode, settings.approvals.timeout) == (5, "off", 12.5)
    assert settings.command_allowlist == ("make test", "git status")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("auto", "auto"),
        ("all", "all"),
        ("manual", "auto"),
        ("smart", "auto"),
        ("ask", "auto"),
        ("off", "off"),
        ('"off"', "off"),
    ],
)
def test_the_names_of_approval_modes_that_others_use_are_understood(read, written, meant):
    approvals = read(f"approvals:\n  mode: {written}\n").settings.approvals
    assert (approvals.mode, approvals.smart) == (meant, written == "smart")


def test_a_model_that_judges_can_be_turned_off_whatever_the_mode_is_called(read):
    assert not read("approvals: {mode: smart, smart: false}\n").settings.approvals.smart
    assert read("approvals: {smart: true}\n").settings.approvals.smart


def test_rules_are_read_as_they_may_be_written(read):
    text = "approvals:\n  deny:\n  - run: git push*\n  - npm publish\n  allow:\n  - 'host: Example.com'\n"
    approvals = read(text).settings.approvals
    assert approvals.deny == ("run: git push*", "run: npm publish")
    assert approvals.allow == ("host: example.com",)


def test_a_rule_that_is_none_is_an_error_with_its_place(read, home):
    with pytest.raises(SettingsError) as failure:
        read("approvals:\n  deny:\n  - git push\n  - rum: x\n")
    told = str(failure.value)
    assert "approvals.deny.1" in told
    assert "`rum` is no kind of rule" in told
    assert str(home / "config.yaml") in told


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("agent:\n  max_turns: none at all\n", "agent.max_turns", "none at all"),
        ("agent:\n  max_turns: 0\n", "agent.max_turns", "0"),
        ("approvals:\n  mode: yolo\n", "approvals.mode", "yolo"),
        ("approvals:\n  timeout: -1\n", "approvals.timeout", "-1"),
        ("model:\n  base_url: localhost:11434\n", "model.base_url", "localhost:11434"),
        ("model: 5\n", "model", "5"),
        ("command_allowlist: make\n", "command_allowlist", "make"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_its_file(read, home, text, key, value):
    with pytest.raises(SettingsError) as caught:
        read(text)
    assert f"{key} = " in caught.value.public
    assert value in caught.value.public
    assert str(home / "config.yaml") in caught.value.public


@pytest.mark.parametrize(
    "text",
    [
        f"model:\n  api_key: [{SECRET}]\n",
        f"model:\n  api_key: {{value: {SECRET}}}\n",
        f"model:\n  - api_key: {SECRET}\n",
        f"agent:\n  max_turns: {{api_key: {SECRET}}}\n",
    ],
)
def test_a_wrong_setting_never_shows_a_key(read, text):
    with pytest.raises(SettingsError) as caught:
        read(text)
    assert SECRET not in caught.value.public


def test_a_date_that_there_is_not_is_told_as_wrong_yaml(read):
    with pytest.raises(SettingsError, match="not valid YAML"):
        read("model: 2001-99-99\n")


def test_several_wrong_values_are_told_at_once(read):
    with pytest.raises(SettingsError, match=r"agent\.max_turns.*approvals\.timeout"):
        read("agent: {max_turns: x}\napprovals: {timeout: y}\n")


def test_the_settings_do_not_show_a_key_when_they_are_printed(read):
    assert SECRET not in repr(read(f"model:\n  api_key: {SECRET}\n").settings)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("modle: x\n", "modle is not a setting of this program and is ignored; did you mean model?"),
        ("agent:\n  max_turn: 5\n", "agent.max_turn is not a setting of this program and is ignored"),
        ("agent:\n  max_turn: 5\n", "did you mean max_turns?"),
        ("toolsets: [a]\n", "toolsets is not a setting of this program and is ignored"),
    ],
)
def test_an_unknown_key_is_warned_of_with_the_nearest_name(read, text, warning):
    assert warning in "".join(read(text).warnings)


def test_the_keys_of_other_programs_in_a_shared_home_never_fail(read):
    config = read("""
2: two
true: yes
display: {theme: dark}
custom_providers: [{name: x, base_url: 7}]
model: {default: m, extra_body: {deep: [1, 2]}}
agent: {personalities: {pirate: arr}}
tts:
approvals: {mode: manual, cron_mode: deny}
""")
    assert config.settings.model.default == "m"
    assert len(config.warnings) == 8


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("providers: 5\n", "providers = a int: it must hold `key: value` lines; it is left out"),
        ("providers: {x: sk-secret}\n", "providers.x = a str: it must hold `key: value` lines; it is left out"),
        ("providers: {x: {base_url: nowhere}}\n", "providers.x.base_url = 'nowhere'"),
        ("providers: {x: {api_mode: codex_app_server}}\n", "providers.x.api_mode = 'codex_app_server'"),
        ("providers: {2: {base_url: 'http://a'}}\n", "providers.2"),
        ("custom_providers: {name: x}\n", "custom_providers = a dict: it must be a list"),
        ("custom_providers: [sk-secret]\n", "custom_providers.0 = a str"),
        ("custom_providers: [{name: [x]}]\n", "custom_providers.0.name = a list"),
        ("fallback_providers: [5]\n", "fallback_providers.0 = a int"),
        ("fallback_model: {base_url: nowhere}\n", "fallback_providers.0.base_url = 'nowhere'"),
        ("auxiliary: {vision: {timeout: never}}\n", "auxiliary.vision.timeout = 'never'"),
        ("credential_pool_strategies: {openai: sometimes}\n", "credential_pool_strategies.openai = 'sometimes'"),
    ],
)
def test_a_wrong_entry_that_may_be_another_programs_is_a_warning(read, text, warned):
    config = read(f"model: m\n{text}")
    assert config.settings.model.default == "m"
    assert len(config.warnings) == 1
    assert warned in config.warnings[0]
    assert "sk-secret" not in config.warnings[0]


def test_the_right_entries_beside_a_wrong_one_stay(read):
    config = read("""
providers: {a: {base_url: 7}, b: {base_url: "http://b.example"}}
custom_providers: [{name: c, base_url: "http://c.example"}, {name: D d, base_url: 7}]
auxiliary: {title: {timeout: 3}, vision: 5}
""")
    assert list(config.settings.providers) == ["b"]
    assert [server.name for server in config.settings.custom_providers] == ["c"]
    assert list(config.settings.auxiliary) == ["title"]
    assert set(config.broken_servers) == {"a", "d-d"}
    assert len(config.warnings) == 3


def test_two_faults_of_one_entry_are_one_warning(read):
    (warning,) = read("providers: {a: {base_url: 7, max_tokens: 0}}\n").warnings
    assert "base_url" in warning
    assert "max_tokens" in warning


def test_a_wrong_value_of_our_own_is_an_error_whatever_else_is_wrong(read):
    with pytest.raises(SettingsError, match=r"agent\.max_turns") as caught:
        read("agent: {max_turns: x}\nproviders: {a: {base_url: 7}}\n")
    assert "providers" not in caught.value.public


def test_an_old_name_that_is_understood_is_not_warned_of(read):
    assert read("fallback_model: {provider: openai, model: m}\n").warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        f"model: {{api_keys: [[{SECRET}]]}}\n",
        f"model: {{headers: {{Authorization: [{SECRET}]}}}}\n",
        f"model: {{headers: {SECRET}}}\n",
    ],
)
def test_what_may_be_a_key_is_not_shown_wherever_it_stands(read, text):
    with pytest.raises(SettingsError) as caught:
        read(text)
    assert SECRET not in caught.value.public
    assert SECRET not in str(caught.value.__cause__)


def test_a_configuration_that_is_printed_shows_nothing_of_the_environment(read):
    assert SECRET not in repr(read("model: m\n", environ={"OPENAI_API_KEY": SECRET}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model: [\n", "is not valid YAML"),
        ("a: b: c\n", "is not valid YAML"),
        ("run: !!python/object/apply:os.system [x]\n", "is not valid YAML"),
        ("- one\n", "it holds a list"),
        ("just words\n", "it holds a str"),
        (b"\xff\xfe\x00", "could not be read"),
    ],
)
def test_a_file_that_is_no_settings_file_is_named_with_what_to_do(read, home, text, said):
    with pytest.raises(SettingsError, match=said) as caught:
        read(text)
    assert str(home / "config.yaml") in caught.value.public
    assert len(caught.value.public.splitlines()) == 1


def test_a_settings_file_that_cannot_be_read_is_an_error_and_not_an_empty_one(read, home):
    (home / "config.yaml").mkdir()
    with pytest.raises(SettingsError, match="could not be read"):
        read()


def test_an_env_file_is_ours_and_not_our_childrens(read, home):
    (home / ".env").write_text("OPENAI_API_KEY='from the file'\nexport OTHER=$HOME/x # note\nBARE\n")
    config = read()
    assert config.environ["OPENAI_API_KEY"] == "from the file"
    assert config.environ["OTHER"] == "$HOME/x"
    assert "BARE" not in config.environ
    assert "OPENAI_API_KEY" not in os.environ


def test_the_environment_goes_before_the_env_file(read, home, monkeypatch):
    (home / ".env").write_text("OPENAI_API_KEY=file\n")
    monkeypatch.setenv("OPENAI_API_KEY", "process")
    assert read().environ["OPENAI_API_KEY"] == "process"
    assert read(environ={}).environ["OPENAI_API_KEY"] == "file"


def test_the_mark_that_editors_of_windows_write_is_no_part_of_the_first_name(read, home, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (home / ".env").write_bytes(b"\xef\xbb\xbfOPENAI_API_KEY=file\r\nOTHER=x\r\n")
    environ = read("\ufeffmodel: x\n").environ
    assert (environ["OPENAI_API_KEY"], environ["OTHER"]) == ("file", "x")


def test_settings_that_are_a_pipe_are_refused_and_not_waited_for(read, home):
    os.mkfifo(home / "config.yaml")
    with pytest.raises(SettingsError, match=r"config\.yaml could not be read: It is a pipe"):
        read()


def test_settings_may_be_the_null_device(read, home):
    (home / "config.yaml").symlink_to(os.devnull)
    assert read().settings.model.default is None


def test_an_env_file_that_cannot_be_read_is_named(read, home):
    (home / ".env").write_bytes(b"KEY=\xff\xfe\n")
    with pytest.raises(SettingsError, match=r"\.env could not be read"):
        read()


def test_a_source_reads_again_after_a_change_and_only_then(home):
    source = ConfigSource(Home(home), Overrides(model="from the command line"))
    first = source.load()
    assert source.load() is first
    (home / "config.yaml").write_text("agent: {max_turns: 7}\n")
    second = source.load()
    assert (second.settings.agent.max_turns, second.overrides.model) == (7, "from the command line")
    (home / ".env").write_text("HERMES_MODEL=new\n")
    assert source.load().environ["HERMES_MODEL"] == "new"
    (home / "config.yaml").unlink()
    assert source.load().settings.agent.max_turns == 90


def test_a_source_recovers_when_a_broken_file_is_mended(home):
    source = ConfigSource(Home(home))
    (home / "config.yaml").write_text("agent: [\n")
    for _ in range(2):
        with pytest.raises(SettingsError):
            source.load()
    (home / "config.yaml").write_text("agent: {max_turns: 7}\n")
    assert source.load().settings.agent.max_turns == 7


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("approvals:\n  timeout: .inf\n", "seconds greater than 0"),
        ("approvals:\n  timeout: 0\n", "seconds greater than 0"),
        ("approvals:\n  mode: yolo\n", "auto (also manual, smart), all or off"),
        ("agent: 7\n", "`key: value` lines"),
        ("command_allowlist: ls\n", "it must be a list"),
    ],
)
def test_a_wrong_value_is_explained_in_the_words_of_the_settings_file(read, text, told):
    with pytest.raises(SettingsError) as failure:
        read(text)
    assert told in str(failure.value)


def test_an_address_with_a_password_is_not_shown(read):
    with pytest.raises(SettingsError) as failure:
        read("model:\n  base_url: ftp://user:hidden-word@host\n")
    assert "hidden-word" not in str(failure.value)
