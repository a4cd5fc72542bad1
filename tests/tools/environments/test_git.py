"""Git on this program's own behalf: which repository it looks at, and that it stays within it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.agents import in_background
from tools.environments.git import Git, borrowed, find_repository, git_root, write_repository
from tools.errors import ToolError, ToolInterrupted

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    done = subprocess.run(("git", *identity, *arguments), cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_git_directory_that_is_empty_does_not_lead_to_the_repository_above(workspace):
    inner = workspace / "inner"
    (inner / ".git").mkdir(parents=True)
    assert git_root(inner) == inner
    assert find_repository(inner) is None


def test_a_git_directory_above_counts_only_where_not_everyone_may_write(tmp_path):
    shared, inner = tmp_path / "shared", tmp_path / "shared" / "a" / "b"
    inner.mkdir(parents=True)
    git(tmp_path, "init", "-q", str(shared))
    assert git_root(inner) == shared
    shared.chmod(0o1777)
    assert git_root(inner) is None
    assert git_root(shared) == shared


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_a_git_file_loses_line_ends(workspace, tmp_path, end):
    top = tmp_path / "tree"
    top.mkdir()
    (top / ".git").write_bytes(f"gitdir: {workspace}/.git{end}".encode())
    assert find_repository(top).git_dir == workspace / ".git"


@pytest.mark.parametrize("content", ["gitdir: {dir} ", "gitdir: {dir}\t\n", "gitdir:{dir}", "{dir}", "", "gitdir: "])
def test_a_git_file_is_read_as_git_reads_it(workspace, tmp_path, content):
    """With a blank at its end it names another directory."""
    top = tmp_path / "tree"
    top.mkdir()
    (top / ".git").write_text(content.format(dir=workspace / ".git"))
    assert find_repository(top) is None


def test_a_commondir_that_ends_in_a_blank_names_another_directory(workspace, tmp_path):
    git(workspace, "worktree", "add", "-q", str(tmp_path / "side"))
    place = workspace / ".git" / "worktrees" / "side" / "commondir"
    assert find_repository(tmp_path / "side").common_dir == workspace / ".git"
    place.write_text("../.. \n")
    assert find_repository(tmp_path / "side") is None


@pytest.mark.parametrize("what", ["HEAD", "objects", "refs"])
def test_what_git_would_not_take_for_a_repository_is_none(workspace, what):
    (workspace / ".git" / what).rename(workspace / ".git" / "gone")
    assert find_repository(workspace) is None


@pytest.mark.parametrize("head", ["ref: ../../etc/passwd", "ref: refs/heads/a b", "\0", "x" * 5000, "0123"])
def test_a_git_head_of_another_form_is_none(workspace, head):
    (workspace / ".git" / "HEAD").write_text(head)
    assert find_repository(workspace) is None


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes with names")
@pytest.mark.parametrize("name", ["HEAD", "config", "index", "commondir"])
def test_a_pipe_in_place_of_a_git_file_holds_up_nobody(workspace, name):
    place = workspace / ".git" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    found = find_repository(workspace)
    assert found is None or found.head()


@needs_root
def test_a_git_repository_of_another_user_counts_where_it_is_declared_safe(workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home").mkdir()
    settings = tmp_path / "home" / ".gitconfig"
    for place in (workspace, *workspace.rglob("*")):
        os.lchown(place, 12345, 12345)
    assert git_root(workspace) == workspace
    assert find_repository(workspace) is None
    for declared, counts in [
        (f"directory = {workspace}", True),
        ("directory = *", True),
        ("directory = /elsewhere", False),
        (f"directory = {workspace}\n\tdirectory =\n\tdirectory = /elsewhere", False),
    ]:
        settings.write_text(f"[safe]\n\t{declared}\n")
        assert (find_repository(workspace) is not None) is counts, declared


@needs_root
def test_settings_of_another_users_git_directory_do_not_count(workspace):
    os.lchown(workspace / ".git", 12345, 12345)
    assert find_repository(workspace) is None


def test_git_is_given_settings_of_ours_alone(workspace):
    git(workspace, "config", "core.fsmonitor", "evil")
    git(workspace, "config", "core.autocrlf", "input")
    git(workspace, "config", "core.eol", "a/path")
    with borrowed(find_repository(workspace)) as seen, Git() as own:
        listed = own.run("config", "--list", "--show-origin", cwd=workspace, git_dir=seen).decode()
    assert "evil" not in listed
    assert "core.autocrlf=input" in listed
    assert "a/path" not in listed
    origins = {line.split("\t")[0] for line in listed.splitlines()}
    assert origins == {"command line:", f"file:{seen}/config"}


def test_git_ends_with_the_turn(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    token = CancelToken()
    write_repository(tmp_path / "own")

    def hash_it() -> bytes:
        with Git(interrupt=token) as own:
            return own.run("hash-object", "pipe", cwd=tmp_path, git_dir=tmp_path / "own")

    waiting = in_background(hash_it)
    with (tmp_path / "pipe").open("wb"):  # git has begun to read
        token.cancel()
        with pytest.raises(ToolInterrupted):
            waiting.result(10)


def test_git_writes_only_where_it_may(tmp_path):
    from tools.environments.sandbox.probe import why_none  # noqa: PLC0415 - only this test needs one

    if why_none():
        pytest.skip(f"no sandbox works here: {why_none()}")
    write_repository(tmp_path / "own")
    (tmp_path / "file").write_text("text")
    words = ("hash-object", "-w", "file")
    with Git() as own, pytest.raises(ToolError, match="hash-object failed"):
        own.run(*words, cwd=tmp_path, git_dir=tmp_path / "own")
    with Git((tmp_path / "own",)) as own:
        assert own.run(*words, cwd=tmp_path, git_dir=tmp_path / "own")


def test_without_git_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    write_repository(tmp_path / "own")
    with (
        Git(advice="Leave it.") as own,
        pytest.raises(ToolError, match=r"no program git on PATH.*programs\.git.*Leave it"),
    ):
        own.run("version", cwd=tmp_path, git_dir=tmp_path / "own")
