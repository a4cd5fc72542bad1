"""Editors: which are here, and whether what they start is this program."""

import json
from pathlib import Path

import pytest

from acp_adapter.cli.doctor.installation import check_editors
from acp_adapter.cli.editors import EDITORS, enter, known_in, own_command, planned_entry

BY_NAME = {editor.name: editor for editor in EDITORS}


@pytest.fixture
def bare(case, tmp_path):
    """A case whose PATH has no editors."""
    (tmp_path / "bin").mkdir()

    def bare(monkeypatch):
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        return case()

    return bare


@pytest.fixture
def zed():
    path = BY_NAME["zed"].settings_file(Path.home())
    path.parent.mkdir(parents=True)

    def zed(text):
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    return zed


def test_no_editor_is_no_fault(bare, monkeypatch):
    (finding,) = check_editors(bare(monkeypatch))
    assert finding.state == "ok"
    assert "no editor" in finding.text


def test_editors_of_which_none_knows_the_agent_are_one_warning(bare, zed, monkeypatch):
    zed('{"theme": "x"} // mine')
    here, none = check_editors(bare(monkeypatch))
    assert (here.state, "does not start hermes-acp" in here.text, none.state) == ("ok", True, "warn")
    assert "hermes-acp setup" in none.fix


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_what_setup_enters_is_known_and_well(bare, name, monkeypatch):
    enter(planned_entry(BY_NAME[name], Path.home(), own_command("work", {})))
    (finding,) = check_editors(bare(monkeypatch))
    assert (finding.state, "starts this program" in finding.text) == ("ok", True)


def test_an_entry_whose_program_is_gone_is_a_problem_that_setup_mends(bare, zed, monkeypatch):
    for gone in ("/gone/bin/hermes-acp", "~nobody-of-this-name/bin/hermes-acp"):
        zed({"agent_servers": {"Hermes": {"command": gone, "args": []}}})
        (finding,) = check_editors(bare(monkeypatch))
        assert (finding.state, "hermes-acp setup --editor zed" in finding.fix) == ("fail", True)
        assert f"{gone}, which is not there" in finding.text


def test_an_entry_under_another_name_is_found_and_left_to_its_owner(bare, zed, monkeypatch):
    zed({"agent_servers": {"mine": {"command": "/gone/bin/hermes-acp"}, "other": {"command": "/bin/gemini"}}})
    (finding,) = check_editors(bare(monkeypatch))
    assert (finding.state, "hermes-acp setup" in finding.fix) == ("fail", False)


def test_an_entry_that_starts_another_installation_is_a_warning(bare, zed, tmp_path, monkeypatch):
    other = tmp_path / "hermes-acp"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    zed({"agent_servers": {"Hermes": {"command": str(other)}}})
    (finding,) = check_editors(bare(monkeypatch))
    assert finding.state == "warn"
    assert "another program than this one" in finding.text


@pytest.mark.parametrize("text", ['{"agent_servers": ', '{"agent_servers": []}'])
def test_settings_that_cannot_be_read_are_told(bare, zed, text, monkeypatch):
    zed(text)
    assert next(iter(check_editors(bare(monkeypatch)))).state == "warn"


def test_the_older_form_of_an_entry_is_understood(zed):
    zed({"agent_servers": {"Hermes": {"command": {"path": "/x/hermes-acp", "args": ["--offline"]}}}})
    (known,) = known_in(BY_NAME["zed"], Path.home())
    assert known.command == ("/x/hermes-acp", "--offline")


def test_comments_of_start_up_files_are_no_entries(tmp_path):
    (tmp_path / ".emacs").write_text(';; (setq x \'("hermes-acp"))\n(setq y "about hermes")\n')
    assert known_in(BY_NAME["emacs"], tmp_path) == ()
