"""What --fix mends, and what it leaves alone."""

import errno

from acp_adapter.cli.doctor import run
from acp_adapter.cli.doctor.configuration import check_permissions
from acp_adapter.cli.doctor.run import mend_database, mend_permissions
from tests.support.filled_database import counted, fill, overwrite, pages_of


def test_permissions_of_others_are_taken_away_and_nobody_elses_files_touched(case, home, tmp_path):
    (home / ".env").write_text("A=1")
    (home / "notes.md").write_text("shared")
    (tmp_path / "linked.yaml").write_text("")
    (tmp_path / "linked.yaml").chmod(0o644)
    (home / "config.yaml").symlink_to(tmp_path / "linked.yaml")
    made = case()
    for path in (home, home / ".env", home / "notes.md"):
        path.chmod(0o755)
    done = list(mend_permissions(made))
    assert [mended.done for mended in done] == [True, True, False]
    assert [path.stat().st_mode & 0o777 for path in (home, home / ".env", home / "notes.md")] == [0o700, 0o700, 0o755]
    assert (tmp_path / "linked.yaml").stat().st_mode & 0o777 == 0o644
    assert [finding.state for finding in check_permissions(made)] == ["ok"]
    assert [mended.done for mended in mend_permissions(made)] == [False]


def test_a_directory_for_all_users_keeps_its_permissions(case, tmp_path):
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    made = case(shared)
    assert list(mend_permissions(made)) == []
    assert shared.stat().st_mode & 0o7777 == 0o1777
    assert [(finding.state, finding.mends) for finding in check_permissions(made)] == [("fail", False)]


def test_a_file_in_the_homes_place_keeps_its_permissions(case, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0o644)
    assert list(mend_permissions(case(tmp_path / "file"))) == []


def test_what_cannot_be_mended_does_not_keep_the_rest_from_it(case, home, monkeypatch):
    def broken(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "/x")

    monkeypatch.setitem(run.MENDERS, "database", broken)
    home.chmod(0o755)
    done = list(run.mend(case()))
    assert [(each.check, each.done, each.harm) for each in done] == [
        ("permissions", True, False),
        ("database", False, True),
    ]
    assert done[1].text == "database: /x: Permission denied"


def test_a_damaged_database_is_set_aside_and_saved(case, home):
    path = home / "hermes-acp.db"
    fill(path, sessions=4)
    overwrite(path, pages_of(path, "messages")[1])
    broken = path.read_bytes()
    done = list(mend_database(case()))
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
    (left,) = mend_database(case())
    assert (left.done, left.harm) == (False, True)
    assert path.read_bytes() == before
