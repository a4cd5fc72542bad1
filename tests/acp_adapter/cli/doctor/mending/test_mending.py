"""What --fix mends without a question, editors' entries with one, and what it leaves alone."""

import errno
import json
import os
import time
from pathlib import Path

import pytest

from acp_adapter.cli.doctor import fixes
from acp_adapter.cli.doctor.configuration import check_leftovers, check_permissions
from acp_adapter.cli.doctor.fixes import mend_database, mend_editors, mend_leftovers, mend_permissions
from acp_adapter.cli.editors import EDITORS, own_command
from tests.acp_adapter.cli.doctor.conftest import Decided
from tests.support.filled_database import counted, fill, overwrite, pages_of

BY_NAME = {editor.name: editor for editor in EDITORS}
NOBODY = Decided(False)


@pytest.fixture
def zed():
    path = BY_NAME["zed"].settings_file(Path.home())
    path.parent.mkdir(parents=True)
    path.write_text('{"theme": "x", // mine\n "agent_servers": {"Hermes": {"command": "/gone/hermes-acp"}}}\n')
    return path


def test_permissions_of_others_are_taken_away_and_nobody_elses_files_touched(case, home, tmp_path):
    (home / ".env").write_text("A=1")
    (home / "notes.md").write_text("shared")
    (tmp_path / "linked.yaml").write_text("")
    (tmp_path / "linked.yaml").chmod(0o644)
    (home / "config.yaml").symlink_to(tmp_path / "linked.yaml")
    made = case()
    for path in (home, home / ".env", home / "notes.md"):
        path.chmod(0o755)
    done = list(mend_permissions(made, NOBODY))
    assert [mended.done for mended in done] == [True, True, False]
    assert [path.stat().st_mode & 0o777 for path in (home, home / ".env", home / "notes.md")] == [0o700, 0o700, 0o755]
    assert (tmp_path / "linked.yaml").stat().st_mode & 0o777 == 0o644
    assert [finding.state for finding in check_permissions(made)] == ["ok"]
    assert [mended.done for mended in mend_permissions(made, NOBODY)] == [False]


def test_a_directory_for_all_users_keeps_its_permissions(case, tmp_path):
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    made = case(shared)
    assert list(mend_permissions(made, NOBODY)) == []
    assert shared.stat().st_mode & 0o7777 == 0o1777
    assert [(finding.state, finding.mends) for finding in check_permissions(made)] == [("fail", False)]


def test_a_file_in_the_homes_place_keeps_its_permissions(case, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0o644)
    assert list(mend_permissions(case(tmp_path / "file"), NOBODY)) == []


def test_what_cannot_be_mended_does_not_keep_the_rest_from_it(case, home, monkeypatch):
    def broken(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "/x")

    monkeypatch.setitem(fixes.MENDERS, "leftovers", broken)
    home.chmod(0o755)
    done = list(fixes.mend(case(), NOBODY))
    assert [(each.check, each.done, each.harm) for each in done] == [
        ("permissions", True, False),
        ("leftovers", False, True),
    ]
    assert done[1].text == "leftovers: /x: Permission denied"


def test_leftovers_are_removed_and_their_neighbours_stay(case, home):
    for name in ("config.yaml.a1b2c3d4.tmp", "config.yaml"):
        (home / name).write_text("")
        os.utime(home / name, (time.time() - 7200,) * 2)
    (mended,) = mend_leftovers(case(), NOBODY)
    assert mended.done
    assert [path.name for path in home.iterdir()] == ["config.yaml"]
    assert list(check_leftovers(case())) == []


def test_a_damaged_database_is_set_aside_and_saved(case, home):
    path = home / "hermes-acp.db"
    fill(path, sessions=4)
    overwrite(path, pages_of(path, "messages")[1])
    broken = path.read_bytes()
    done = list(mend_database(case(), NOBODY))
    assert all(mended.done for mended in done)
    assert [aside.read_bytes() for aside in home.glob("*.broken-*")] == [broken]
    assert counted(path)["sessions"] == 4


def test_another_programs_database_is_left_and_that_is_a_failure(case, home):
    path = home / "hermes-acp.db"
    fill(path, sessions=1)
    with path.open("r+b") as stream:
        stream.seek(68)
        stream.write(b"else")
    before = path.read_bytes()
    (left,) = mend_database(case(), NOBODY)
    assert (left.done, left.harm) == (False, True)
    assert path.read_bytes() == before


def test_an_editors_entry_is_corrected_after_a_yes_with_a_backup(case, zed):
    before = zed.read_text()
    person = Decided(True)
    (mended,) = mend_editors(case(), person)
    assert mended.done
    assert '"command": "/gone/hermes-acp"' in person.shown[0]
    assert f'"command": "{own_command(None, os.environ)[0]}"' in zed.read_text()
    assert "// mine" in zed.read_text()
    assert zed.with_name("settings.json.before-hermes").read_text() == before
    assert list(mend_editors(case(), person)) == []


def test_without_a_yes_an_editors_settings_stay(case, zed):
    before = zed.read_text()
    (left,) = mend_editors(case(), Decided(False))
    assert (left.done, left.harm) == (False, False)
    assert zed.read_text() == before
    assert [path.name for path in zed.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("servers", [{}, {"mine": {"command": "/gone/hermes-acp"}}])
def test_editors_without_an_entry_of_ours_are_left_to_setup(case, zed, servers):
    zed.write_text(json.dumps({"agent_servers": servers}))
    assert list(mend_editors(case(), Decided(True))) == []


def test_settings_that_cannot_be_read_are_left(case, zed):
    zed.write_text('{"agent_servers": ')
    assert list(mend_editors(case(), Decided(True))) == []
