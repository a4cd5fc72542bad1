"""The home: whether it can be used, who else may, what was left in it, and the room for more."""

import os
import shutil
from typing import NamedTuple

import pytest

from acp_adapter.cli.doctor.configuration import (
    LITTLE_SPACE,
    check_home,
    check_permissions,
    check_space,
)


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def states(look, case):
    return [(finding.check, finding.state) for finding in look(case)]


def test_a_home_that_is_there_or_not_yet_there_is_well(case, home):
    assert states(check_home, case()) == [("home", "ok")]
    assert states(check_home, case(home / "later")) == [("home", "ok")]


def test_a_home_that_is_no_directory_is_told(case, tmp_path):
    (tmp_path / "file").write_text("x")
    (finding,) = check_home(case(tmp_path / "file"))
    assert finding.state == "fail"
    assert "is not a directory" in finding.text


def test_a_home_that_could_not_be_made_is_told(case, home, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("gone")
    for root, told in ((tmp_path / "file" / "home", "is not a directory"), (tmp_path / "link", "a link to gone")):
        (finding,) = check_home(case(root))
        assert (finding.state, told in finding.text) == ("fail", True)


def test_a_home_that_cannot_be_written_is_told(case, home, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    (finding,) = check_home(case())
    assert finding.state == "fail"
    assert "nothing is saved" in finding.text


def test_a_home_of_another_user_is_told(case, home, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: home.stat().st_uid + 1)
    (finding,) = check_home(case())
    assert finding.state == "fail"
    assert "belongs to another user" in finding.text


def test_a_closed_home_is_private_whatever_is_in_it(case, home):
    (home / ".env").write_text("A=1")
    (home / ".env").chmod(0o644)
    assert states(check_permissions, case()) == [("permissions", "ok")]


def test_an_open_home_is_a_warning_and_open_keys_in_it_are_a_problem(case, home):
    (home / ".env").write_text("A=1")
    (home / ".env").chmod(0o600)
    open_case = case()
    home.chmod(0o755)
    assert states(check_permissions, open_case) == [("permissions", "warn")]
    (home / ".env").chmod(0o644)
    (finding,) = check_permissions(open_case)
    assert (finding.state, finding.mends) == ("fail", True)
    assert finding.text.endswith("may look into .env")


@pytest.mark.parametrize(("free", "state"), [(LITTLE_SPACE, "ok"), (LITTLE_SPACE - 1, "fail")])
def test_little_space_is_told(case, monkeypatch, free, state):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free, 0, free))
    assert states(check_space, case()) == [("disk", state)]
