"""The hosts of a workspace's remotes come from git's files as text."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.environments.git import remote_hosts


def git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    subprocess.run(("git", *identity, *arguments), cwd=directory, check=True, stdin=subprocess.DEVNULL)


def test_the_hosts_of_https_remotes_are_found_from_a_directory_below(workspace: Path) -> None:
    git(workspace, "remote", "add", "origin", "https://user:secret@Code.Example.org/team/project.git")
    git(workspace, "remote", "add", "fork", "git@other.example.org:me/project.git")
    git(workspace, "remote", "set-url", "--push", "fork", "https://push.example.org/me/project.git")
    assert remote_hosts([workspace / "tests"]) == {"code.example.org", "push.example.org"}


def test_a_worktree_has_the_remotes_of_its_repository(workspace: Path, tmp_path: Path) -> None:
    git(workspace, "remote", "add", "origin", "https://code.example.org/p.git")
    git(workspace, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert remote_hosts([tmp_path / "tree"]) == {"code.example.org"}


@pytest.mark.parametrize(
    "text",
    [
        '[remote "a"]\nurl = http://plain.example.org/p.git\n',
        '[remote "a"]\nurl = ssh://git@ssh.example.org/p.git\n',
        '[remote "a"]\nurl = https://odd.example.org:8443/p.git\n',
        '[remote "a"]\nurl = https://127.0.0.1/p.git\n',
        '[remote "a"]\nurl = https://169.254.169.254/p.git\n',
        '[remote "a"]\nurl = https://wiki.corp/p.git\n',
        '[remote "a"]\nurl = https://[::1/p.git\n',
        '[url "https://hidden.example.org/"]\ninsteadOf = https://x/\n',
        "[http]\nproxy = https://proxy.example.org\nurl = https://section.example.org\n",
        '[user]\nname = a\f[remote "a"]\n url = https://no.line.example.org\n',
        '[user]\nname = a\\\n[remote "a"]\n url = https://continued.example.org\n',
    ],
)
def test_other_urls_and_other_places_allow_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(text, encoding="utf-8")
    assert remote_hosts([tmp_path]) == frozenset()


@pytest.mark.parametrize("text", ["gitdir: /nowhere/at/all\n", "rubbish\n", "gitdir:\n"])
def test_a_git_file_that_leads_nowhere_allows_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / ".git").write_text(text, encoding="utf-8")
    assert remote_hosts([tmp_path]) == frozenset()


def test_a_pipe_instead_of_settings_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "config")
    assert remote_hosts([tmp_path]) == frozenset()
