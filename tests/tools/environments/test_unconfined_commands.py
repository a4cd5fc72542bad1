"""What a safe command would run all the same where nothing confines it: of PATH, and of git's settings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.environments.unconfined_commands import runs_along, unplain_settings

LOOKS = (
    "git status",
    "git log -1",
    "git diff",
    "cd tests && git log",
    "timeout 5 git show",
    "ls; git -C . log | head",
)


@pytest.fixture
def repository(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    git(workspace, "remote", "add", "origin", "https://git.example.org/x.git")
    git(workspace, "config", "user.name", "Tester")
    git(workspace, "config", "branch.main.remote", "origin")
    return workspace


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com", "-c", "protocol.file.allow=always")
    subprocess.run(("git", *identity, *arguments), cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("command", LOOKS)
def test_git_in_a_plain_repository_runs_nothing_else(repository, command):
    assert runs_along(command, repository) == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core.fsmonitor", "touch x; false"),
        ("core.pager", "touch x"),
        ("diff.external", "touch x"),
        ("diff.x.textconv", "touch x"),
        ("filter.x.clean", "touch x"),
        ("filter.x.process", "touch x"),
        ("gpg.program", "touch x"),
        ("log.showSignature", "true"),
        ("alias.lfs", "!touch x"),
        ("lfs.extension.x.clean", "touch x"),
        ("lfs.customtransfer.x.path", "./x"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.sshCommand", "touch x"),
        ("merge.x.driver", "touch x"),
        ("core.alternateRefsCommand", "touch x"),
        ("a.setting.of.tomorrow", "x"),
    ],
)
def test_git_settings_that_name_a_program_are_named(repository, name, value):
    git(repository, "config", name, value)
    for command in LOOKS:
        assert name.lower() in runs_along(command, repository).lower(), command
    assert runs_along("ls", repository) == ""


def test_git_settings_that_others_include_are_read_as_git_reads_them(repository):
    long = "# filler\n" * 100_000
    with (repository / ".git" / "config").open("a") as config:
        config.write(f'[include]\n\tpath = more\n{long}[filter "x"]\n\tclean = y\n')
    (repository / ".git" / "more").write_text("\ufeff[core]\n\tfsmon\\\nitor = no\n")
    assert runs_along("git log", repository)
    (repository / ".git" / "more").write_text('[includeIf "gitdir:**"]\n\tpath = third\n')
    (repository / ".git" / "third").write_text('[CORE]\n\tPAGER = "touch\\tx"\n')
    assert "include.path" in runs_along("git log", repository)


def test_git_settings_of_a_worktree_count(repository):
    git(repository, "config", "extensions.worktreeConfig", "true")
    assert runs_along("git log", repository) == ""
    git(repository, "config", "--worktree", "core.fsmonitor", "touch x")
    assert "core.fsmonitor" in runs_along("git log", repository)


def test_a_git_hook_that_runs_when_files_are_compared_is_named(repository, tmp_path):
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.touch()
    assert runs_along("git status", repository) == str(hook)
    hook.unlink()
    git(repository, "config", "core.hooksPath", str(tmp_path / "hooks"))
    assert runs_along("git status", repository) == ""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "post-index-change").touch()
    assert runs_along("git status", repository) == str(tmp_path / "hooks" / "post-index-change")


def test_git_settings_of_a_submodule_count(repository, tmp_path):
    source = tmp_path / "source"
    subprocess.run(("git", "clone", "-q", str(repository), str(source)), check=True, capture_output=True)
    git(repository, "submodule", "add", "-q", str(source), "inner")
    assert runs_along("git status", repository) == ""
    assert runs_along("git status", repository / "tests") == ""
    git(repository / "inner", "config", "filter.x.clean", "touch x")
    for directory in (repository, repository / "tests", repository / "inner"):
        assert "filter.x.clean" in runs_along("git status", directory)


@pytest.mark.parametrize("value", ["/", "..", "../../tests", "{home}"])
def test_a_git_work_tree_that_lies_elsewhere_counts(repository, tmp_path, value):
    """Files of it that the index names would be printed by `git diff`."""
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(("git", "init", "-q", str(home)), check=True, capture_output=True)
    git(repository, "config", "core.worktree", value.format(home=home))
    assert bool(runs_along("git diff", repository)) is (value != "..")


def test_an_empty_git_directory_leads_to_the_repository_above_as_git_has_it(repository):
    inner = repository / "inner"
    (inner / ".git").mkdir(parents=True)
    git(repository, "config", "core.fsmonitor", "touch x")
    assert "core.fsmonitor" in runs_along("git log", inner)


def test_git_in_a_directory_that_is_not_known_is_asked_about(repository):
    for command in ('cd "$(cat where)" && git log', 'git -C "$X" log', "cd $HOME/x; git -C */ log"):
        assert "not known" in runs_along(command, repository), command


def test_outside_of_a_repository_git_runs_nothing_else(tmp_path):
    assert runs_along("git log", tmp_path) == ""


@pytest.mark.parametrize("path", ["{ws}/.venv/bin:/usr/bin:/bin", "bin:/usr/bin:/bin", ":/usr/bin:/bin"])
@pytest.mark.parametrize("command", ["cat README.md", "git log", "head x | wc -l", "nice cat x", "echo $(cat x)"])
def test_a_program_of_the_workspace_that_is_first_on_path_is_named(repository, path, command):
    for folder in (".venv/bin", "bin", "."):
        (repository / folder).mkdir(parents=True, exist_ok=True)
        for name in ("cat", "git", "wc", "nice"):
            (repository / folder / name).write_text("#!/bin/sh\n")
            (repository / folder / name).chmod(0o755)
    searched = path.format(ws=repository)
    assert "in the workspace or in a temporary directory" in runs_along(command, repository, searched)
    assert runs_along("echo fine; cd tests; /usr/bin/head x", repository, searched) == ""


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        (b"local\0core.bare\nfalse\0global\0core.pager\nless\0", ""),
        (b"system\0filter.lfs.clean\ngit-lfs\0local\0core.fsmonitor\ntrue\0", ""),
        (b"local\0core.fsmonitor\ntrue x\0", "core.fsmonitor"),
        (b"worktree\0core.pager\nless\0", "core.pager"),
        (b"local\0remote.a\nb.url\nx\0", "remote.a"),
        (b"", ""),
    ],
)
def test_only_git_settings_of_the_repository_itself_are_judged(listed, found):
    assert unplain_settings(listed) == ([found] if found else [])
