"""What --fix mends, and what it leaves alone."""

from acp_adapter.cli.doctor.configuration import check_permissions, mend_database, mend_permissions
from tests.support.filled_database import counted, fill, overwrite, pages_of


def test_permissions_of_others_are_taken_from_the_home_and_nothing_else_is_touched(case, home):
    (home / ".env").write_text("A=1")
    made = case()
    for path in (home, home / ".env"):
        path.chmod(0o755)
    assert [mended.done for mended in mend_permissions(made)] == [True]
    assert [path.stat().st_mode & 0o777 for path in (home, home / ".env")] == [0o700, 0o755]
    assert [finding.state for finding in check_permissions(made)] == ["ok"]
    assert list(mend_permissions(made)) == []


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
    assert not left.done
    assert path.read_bytes() == before
