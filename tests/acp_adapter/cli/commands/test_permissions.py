"""`hermes-acp permissions`: what is allowed for good, for people at a terminal."""

from __future__ import annotations

import json

import pytest

from tests.support.subcommands import main_of
from tools.approval.grants import FILE_NAME, KeptGrants
from tools.approval.scopes import SameThing

main = main_of("permissions")


@pytest.fixture
def kept(home, tmp_path):
    found = KeptGrants(home / FILE_NAME)
    for name in ("deploy", "test\x1b[8m"):
        found.add(SameThing("own", (name,)), tmp_path)
    return found


def test_nothing_kept_is_no_error(home, capsys):
    assert main(["list"]) == 0
    assert "Nothing is allowed for good" in capsys.readouterr().out


def test_the_list_is_numbered_and_nothing_in_it_reaches_the_terminal_as_it_is(kept, tmp_path, capsys):
    assert main(["list"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"  1  call your tool deploy in sessions of {tmp_path}")
    assert second.startswith("  2  call your tool test")
    assert "\x1b" not in second


def test_as_json_it_says_what_counts(kept, tmp_path, capsys):
    assert main(["list", "--json"]) == 0
    [one, _] = json.loads(capsys.readouterr().out)
    assert (one["kind"], one["what"], one["where"], one["counts"]) == ("tool", "deploy", str(tmp_path), True)


def test_an_entry_is_taken_back_by_its_number(kept, capsys):
    assert main(["revoke", "1"]) == 0
    assert "No longer allowed: call your tool deploy" in capsys.readouterr().out
    assert len(kept.all()) == 1
    assert main(["revoke", "2"]) == 1
    assert "no entry 2" in capsys.readouterr().err


def test_a_file_that_is_broken_is_told_and_left(home, capsys):
    (home / FILE_NAME).write_text("- [")
    assert main(["list"]) == 1
    assert "not valid YAML" in capsys.readouterr().err
    assert main(["revoke", "1"]) == 1
    assert (home / FILE_NAME).read_text() == "- ["


@pytest.mark.parametrize("argv", [[], ["revoke"], ["revoke", "0"], ["revoke", "x"], ["clear"]])
def test_wrong_usage_exits_with_2(home, argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2


def test_a_no_that_is_kept_is_listed_as_one_and_taken_back(home, tmp_path, capsys):
    kept = KeptGrants(home / FILE_NAME)
    kept.add(SameThing("secrets", (str(tmp_path),)), tmp_path, is_refusal=True)
    assert main(["list"]) == 0
    assert f"  1  refused: let commands read the secret files of {tmp_path}  (" in capsys.readouterr().out
    assert main(["revoke", "1"]) == 0
    assert "No longer refused: let commands read the secret files of" in capsys.readouterr().out
    assert kept.all() == ()
