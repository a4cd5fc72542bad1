"""How a repository stands, found out without running anything of it and without waiting for it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tools.environments.git_state import GitState, git_root, git_state


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    done = subprocess.run(("git", *identity, *arguments), cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_branch_commit_and_changes_are_told(workspace):
    commit = git(workspace, "log", "-1", "--format=%h %cs")
    clean = git_state(workspace / "tests", seconds=20)
    assert clean == GitState(workspace, "main", is_dirty=False, commit=commit)
    (workspace / "new.txt").touch()
    assert git_state(workspace, seconds=20) == dataclasses.replace(clean, is_dirty=True)


def test_a_changed_file_is_a_change_and_an_ignored_one_is_none(workspace):
    (workspace / ".git" / "info").mkdir(exist_ok=True)
    (workspace / ".git" / "info" / "exclude").write_text("*.log\n")
    (workspace / "a.log").touch()
    assert git_state(workspace, seconds=20).is_dirty is False
    (workspace / "sums.py").write_text("changed\n")
    assert git_state(workspace, seconds=20).is_dirty is True


def test_very_many_changes_are_not_all_read(workspace):
    for number in range(600):
        (workspace / f"{'long-name-' * 8}{number}").touch()
    assert git_state(workspace, seconds=20).is_dirty is True


def test_no_branch_and_no_commit_are_told_as_none(workspace, tmp_path):
    git(workspace, "checkout", "-q", "--detach")
    assert git_state(workspace, seconds=20).branch == ""
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "trunk")
    assert git_state(fresh, seconds=20) == GitState(fresh, "trunk", is_dirty=False)


def test_outside_of_a_repository_there_is_none(tmp_path):
    assert git_state(tmp_path) is None
    assert git_root(tmp_path / "missing") is None


@pytest.mark.parametrize(
    "settings",
    [
        ("core.fsmonitor", "touch {mark}; false"),
        ("filter.x.clean", "touch {mark}; cat"),
        ("diff.external", "touch {mark}"),
        ("include.path", "more"),
    ],
)
def test_nothing_that_the_repository_names_is_run(workspace, tmp_path, settings):
    mark = tmp_path / "mark"
    name, value = settings
    (workspace / ".git" / "more").write_text(f'[core]\n\tfsmonitor = "touch {mark}; false"\n')
    (workspace / ".gitattributes").write_text("* filter=x\n")
    git(workspace, "config", name, value.format(mark=mark))
    (workspace / "sums.py").write_text("def add(a, b):\n    return b - a\n")
    found = git_state(workspace, seconds=20)
    assert found == GitState(workspace, "main")
    assert not mark.exists()


def test_hooks_are_not_run(workspace, tmp_path):
    mark = tmp_path / "mark"
    hook = workspace / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    os.utime(workspace / "sums.py", (1, 1))
    assert git_state(workspace, seconds=20).is_dirty is False
    assert not mark.exists()


def _slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return programs


def test_a_git_that_hangs_is_ended_with_all_that_it_started(workspace, tmp_path, monkeypatch):
    pids = tmp_path / "pids"
    _slow_git(tmp_path, monkeypatch, f"sleep 60 & echo $! >> {pids}; wait")
    began = time.monotonic()
    assert git_state(workspace, seconds=0.5) == GitState(workspace, "main")
    assert time.monotonic() - began < 20
    for pid in pids.read_text().split():
        wait_until(lambda pid=int(pid): has_ended(pid))


def test_without_git_the_branch_is_read_from_its_file(workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    assert git_state(workspace) == GitState(workspace, "main")


def test_a_failing_git_tells_nothing(workspace, tmp_path, monkeypatch):
    _slow_git(tmp_path, monkeypatch, "echo rubbish; exit 128")
    assert git_state(workspace, seconds=20) == GitState(workspace, "main")


def test_the_variables_of_a_hook_do_not_lead_to_another_repository(workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "other")
    variables = {**os.environ, "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    assert git_state(workspace, variables, seconds=20).branch == "main"
