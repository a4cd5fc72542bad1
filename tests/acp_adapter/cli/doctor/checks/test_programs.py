"""ripgrep and git: there, or missing."""

import pytest

from acp_adapter.cli.doctor.installation import check_git, check_search


def test_what_is_there_is_told(case):
    for look in (check_search, check_git):
        (finding,) = look(case())
        assert finding.state == "ok"


@pytest.mark.usefixtures("no_ripgrep")
def test_no_ripgrep_is_a_warning(case):
    (finding,) = check_search(case())
    assert finding.state == "warn"
    assert "find and grep search" in finding.text


def test_no_git_is_a_warning(case):
    (missing,) = check_git(case(PATH="/nowhere"))
    assert missing.state == "warn"
    assert "no program git on PATH" in missing.text


def test_doctor_counts_no_git_that_anyone_may_have_put_there(case, tmp_path):
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    (finding,) = check_git(case(PATH=str(tmp_path)))
    assert finding.state == "warn"
    assert f"The only git on PATH is {program}" in finding.text
    assert "programs.git" in finding.text
    assert not (tmp_path / "ran").exists()
