"""Misspelt keys are corrected where they stand, after a look and a yes, and only if that makes nothing worse."""

import pytest

from acp_adapter.cli.doctor.fixes import corrected, mend_typos
from tests.acp_adapter.cli.doctor.conftest import Decided

TEXT = "# mine\nmodel:\n  defualt: gpt-x   # the big one\r\nsandbox: {levle: read-only}\n"
MENDED = "# mine\nmodel:\n  default: gpt-x   # the big one\r\nsandbox: {level: read-only}\n"


@pytest.fixture
def config(home):
    path = home / "config.yaml"
    path.write_bytes(TEXT.encode())
    path.chmod(0o600)
    return path


def test_all_are_corrected_with_one_yes_and_what_was_there_stays(case, config):
    person = Decided(True)
    (mended,) = mend_typos(case(), person)
    assert mended.done
    assert config.read_bytes().decode() == MENDED
    assert config.with_name("config.yaml.bak").read_bytes().decode() == TEXT
    (shown,) = person.shown
    assert "-  defualt: gpt-x" in shown
    assert "+  default: gpt-x" in shown


def test_earlier_backups_stay(case, config):
    config.with_name("config.yaml.bak").write_text("older")
    list(mend_typos(case(), Decided(True)))
    assert config.with_name("config.yaml.bak").read_text() == "older"
    assert config.with_name("config.yaml.bak1").exists()


def test_without_a_yes_nothing_changes(case, config, home):
    (left,) = mend_typos(case(), Decided(False))
    assert (left.done, left.harm) == (False, False)
    assert config.read_bytes().decode() == TEXT
    assert [path.name for path in home.iterdir()] == ["config.yaml"]


def test_what_changed_while_the_person_thought_is_left(case, config):
    class Slow(Decided):
        def agrees(self, title, change):
            config.write_text("agent: {}\n")
            return True

    (left,) = mend_typos(case(), Slow(True))
    assert (left.done, left.harm) == (False, True)
    assert config.read_text() == "agent: {}\n"


@pytest.mark.parametrize(
    ("text", "path", "meant"),
    [
        ("modle: x\nmodel: y\n", ("modle",), "model"),  # the name is taken
        ("agent:\n  max_turn: many\n", ("agent", "max_turn"), "max_turns"),  # the value would be wrong
        ("a: &x {max_turn: 3}\nagent: *x\n", ("agent", "max_turn"), "max_turns"),  # it would change something else
        ("agent: {}\n", ("agent", "max_turn"), "max_turns"),  # it is not there any more
    ],
)
def test_a_correction_that_would_do_harm_is_not_made(text, path, meant):
    assert corrected(text, path, meant) is None


def test_one_that_cannot_be_made_is_told_and_the_others_are_made(case, config):
    config.write_text("agent:\n  max_turn: many\nmodle: x\n")
    left, mended = mend_typos(case(), Decided(True))
    assert (left.done, mended.done) == (False, True)
    assert config.read_text() == "agent:\n  max_turn: many\nmodel: x\n"


def test_settings_that_are_wrong_elsewhere_do_not_hold_a_correction_up(case, config):
    config.write_text("agent: {max_turns: many}\nmodle: x\n")
    assert [mended.done for mended in mend_typos(case(), Decided(True))] == [True]


def test_keys_in_quotes_and_behind_a_mark_are_found():
    assert corrected('\ufeff"modle": x\n', ("modle",), "model") == "\ufeffmodel: x\n"


def test_without_typos_nobody_is_asked(case):
    person = Decided(True)
    assert list(mend_typos(case(), person)) == []
    assert person.shown == []


def test_keys_in_the_entries_of_model_servers_are_corrected_too(case, config):
    text = "providers: {a: {context_lenght: 9}}\ncustom_providers:\n- {name: b}\n- {name: c, base_ur: 'http://x'}\n"
    config.write_text(text)
    assert [mended.done for mended in mend_typos(case(), Decided(True))] == [True]
    corrected_text = text.replace("context_lenght", "context_length").replace("base_ur:", "base_url:")
    assert config.read_text() == corrected_text
