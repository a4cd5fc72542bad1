"""The home: whether it can be used, who else may, what was left in it, and the room for more."""

import json
import os
import shutil
import time
from dataclasses import asdict
from typing import NamedTuple

import pytest

from acp_adapter.cli.doctor.configuration import (
    LITTLE_SPACE,
    check_home,
    check_leftovers,
    check_permissions,
    check_space,
)
from agent_core.sessions.leases import ProcessIdentity

HOUR = 3600


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def states(look, case):
    return [(finding.check, finding.state) for finding in look(case)]


def older(path, text=""):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.utime(path, (time.time() - 2 * HOUR,) * 2)
    return path


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
    assert (finding.state, finding.mends, finding.facts["files"]) == ("fail", True, [str(home / ".env")])


def test_drafts_of_killed_processes_are_found_and_nothing_else(case, home):
    left = {
        older(home / "config.yaml.a1b2c3d4.tmp"),
        older(home / "oauth_tokens.json.tmp"),
        older(home / "hermes-acp.db.4711.new"),
        older(home / "run" / "99999999.json", "{}"),
    }
    for other in ("config.yaml", "auth.json.tmp", "hermes-acp.db", "hermes-acp.db.broken-1", "notes.tmp", ".env"):
        older(home / other)
    (home / ".env.a1b2c3d4.tmp").write_text("being written just now")
    (finding,) = check_leftovers(case())
    assert finding.state == "warn"
    assert set(finding.facts["files"]) == {str(path) for path in left}


def test_the_report_of_a_process_that_lives_is_no_leftover(case, home):
    older(home / "run" / "1.json", json.dumps({"process": asdict(ProcessIdentity.current().holder(0.0))}))
    assert states(check_leftovers, case()) == []


@pytest.mark.parametrize(("free", "state"), [(LITTLE_SPACE, "ok"), (LITTLE_SPACE - 1, "fail")])
def test_little_space_is_told(case, monkeypatch, free, state):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free, 0, free))
    assert states(check_space, case()) == [("disk", state)]
