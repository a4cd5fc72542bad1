"""ripgrep and git: there, missing, or broken."""

import pytest

from acp_adapter.cli.doctor.installation import check_git, check_search


@pytest.fixture
def broken(program_folder):
    program = program_folder / "git"
    program.write_text("#!/bin/sh\necho 'libcurl.so: not found' >&2\nexit 127\n")
    program.chmod(0o755)
    return program


def test_what_is_there_is_told_with_its_version(case):
    for look in (check_search, check_git):
        (finding,) = look(case())
        assert finding.state == "ok"
        assert finding.facts["version"][0].isdigit()


@pytest.mark.usefixtures("no_ripgrep")
def test_no_ripgrep_is_a_warning(case):
    (finding,) = check_search(case())
    assert finding.state == "warn"
    assert "find and grep search" in finding.text


def test_no_git_is_a_warning_and_one_that_fails_too(case, broken):
    (missing,) = check_git(case(PATH="/nowhere"))
    (fails,) = check_git(case(PATH=str(broken.parent)))
    assert (missing.state, fails.state) == ("warn", "warn")
    assert "no program git on PATH" in missing.text
    assert "exit code 127" in fails.text


def test_one_that_cannot_be_started_is_a_warning(case, broken):
    broken.write_text("#!/nowhere/sh\n")
    (finding,) = check_git(case(PATH=str(broken.parent)))
    assert finding.state == "warn"
    assert "could not be run" in finding.text


def test_doctor_runs_no_git_that_anyone_may_have_put_there(case, tmp_path):
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    (finding,) = check_git(case(PATH=str(tmp_path)))
    assert finding.state == "warn"
    assert f"The only git on PATH is {program}" in finding.text
    assert "programs.git" in finding.text
    assert not (tmp_path / "ran").exists()
