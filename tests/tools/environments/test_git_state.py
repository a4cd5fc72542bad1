"""The state of a git repository, found out without running anything of it and without waiting for it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tools.environments.git import GitState, branch_of, git_state


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    done = subprocess.run(("git", *identity, *arguments), cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_git_state_has_branch_commit_and_changes(workspace):
    commit = git(workspace, "log", "-1", "--format=%h %cs")
    clean = git_state(workspace / "tests", seconds=20)
    assert clean == GitState(workspace, "main", is_dirty=False, commit=commit, subject="Begin")
    (workspace / "new.txt").touch()
    assert git_state(workspace, seconds=20) == dataclasses.replace(clean, is_dirty=True)


def test_git_state_is_dirty_with_a_changed_file_and_not_with_an_ignored_one(workspace):
    (workspace / ".git" / "info").mkdir(exist_ok=True)
    (workspace / ".git" / "info" / "exclude").write_text("*.log\n")
    (workspace / "a.log").touch()
    assert git_state(workspace, seconds=20).is_dirty is False
    (workspace / "sums.py").write_text("changed\n")
    assert git_state(workspace, seconds=20).is_dirty is True


def test_git_state_is_not_dirty_with_what_the_user_ignores_everywhere(workspace, tmp_path, monkeypatch):
    (tmp_path / "settings" / "git").mkdir(parents=True)
    (tmp_path / "settings" / "git" / "ignore").write_text(".DS_Store\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    (workspace / ".DS_Store").touch()
    assert git_state(workspace, seconds=20).is_dirty is False


def test_git_state_of_very_many_changes_does_not_read_them_all(workspace):
    for number in range(600):
        (workspace / f"{'long-name-' * 8}{number}").touch()
    assert git_state(workspace, seconds=20).is_dirty is True


def test_git_state_without_branch_or_commit_has_none(workspace, tmp_path):
    git(workspace, "checkout", "-q", "--detach")
    assert git_state(workspace, seconds=20).branch == ""
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "trunk")
    assert git_state(fresh, seconds=20) == GitState(fresh, "trunk", is_dirty=False)


def test_there_is_no_git_state_outside_of_a_repository(tmp_path):
    assert git_state(tmp_path) is None
    assert branch_of(tmp_path / "missing") == ""


def test_git_state_of_a_worktree_is_its_own(workspace, tmp_path):
    git(workspace, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert git_state(tmp_path / "side", seconds=20).branch == "side"
    (tmp_path / "side" / "new.txt").touch()
    assert git_state(tmp_path / "side", seconds=20).is_dirty is True
    assert git_state(workspace, seconds=20).is_dirty is False


@pytest.mark.parametrize(
    "prepare",
    [
        ("update-index", "--split-index"),
        ("pack-refs", "--all"),
        ("gc", "-q"),
        ("sparse-checkout", "set", "--cone", "tests"),
        ("update-index", "--untracked-cache"),
    ],
    ids=lambda words: words[0] if words[1][:2] == "-q" else " ".join(words[:2]),
)
def test_git_state_of_each_form_of_repository_is_found(workspace, prepare):
    git(workspace, *prepare)
    found = git_state(workspace, seconds=20)
    assert (found.branch, found.is_dirty) == ("main", False)
    assert found.commit


def test_git_state_of_a_sha256_repository_is_found(tmp_path):
    top = tmp_path / "sha256"
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", str(top))
    (top / "a.txt").touch()
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    found = git_state(top, seconds=20)
    assert (found.is_dirty, found.commit[:4] == git(top, "rev-parse", "HEAD")[:4]) == (False, True)


@pytest.mark.parametrize(
    "settings",
    [
        ("core.fsmonitor", "touch {mark}; false"),
        ("filter.x.clean", "touch {mark}; cat"),
        ("diff.external", "touch {mark}"),
        ("include.path", "more"),
    ],
)
def test_git_state_runs_nothing_that_the_repository_names(workspace, tmp_path, settings):
    mark = tmp_path / "mark"
    name, value = settings
    (workspace / ".git" / "more").write_text(f'[core]\n\tfsmonitor = "touch {mark}; false"\n')
    (workspace / ".gitattributes").write_text("* filter=x\n")
    commit = git(workspace, "log", "-1", "--format=%h %cs")
    git(workspace, "config", name, value.format(mark=mark))
    (workspace / "sums.py").write_text("def add(a, b):\n    return b - a\n")
    assert git_state(workspace, seconds=20) == GitState(
        workspace, "main", is_dirty=True, commit=commit, subject="Begin"
    )
    assert not mark.exists()


def test_git_state_runs_no_hooks(workspace, tmp_path):
    mark = tmp_path / "mark"
    hook = workspace / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    os.utime(workspace / "sums.py", (1, 1))
    assert git_state(workspace, seconds=20).is_dirty is False
    assert not mark.exists()


@pytest.fixture
def fake_git(tmp_path, own_programs):
    def make(script: str) -> Path:
        program = tmp_path / "programs" / "git"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        own_programs({"git": str(program)})
        return program

    return make


def _running(word: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (place / "cmdline").read_bytes().split(b"\0"):
                found.append(place.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc on this system")
def test_a_git_that_hangs_is_ended_with_all_that_it_started(workspace, fake_git):
    fake_git("sleep 6001.53 & wait")
    assert git_state(workspace, seconds=0.5) == GitState(workspace, "main")
    wait_until(lambda: all(has_ended(int(pid)) for pid in _running("6001.53")))


def test_without_git_the_branch_is_read_from_its_file(workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(workspace) == GitState(workspace, "main")


def test_of_a_failing_git_only_the_branch_is_known(workspace, fake_git):
    fake_git("echo rubbish; exit 128")
    assert git_state(workspace, seconds=20) == GitState(workspace, "main")


def test_git_variables_of_this_process_do_not_lead_to_another_repository(workspace, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert git_state(workspace, seconds=20).branch == "main"
