"""What a command has changed in places that others run later, in real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.environments.kept_places import KeptPlaces


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-b", "main")
    (root / "a.txt").write_text("a")
    return root


def changed_by(root: Path, change: object) -> list[str]:
    """The names of what counts as changed after `change`, and none of it is left when it is put back."""
    places = KeptPlaces((root,))
    before = places.before()
    assert callable(change)
    change()
    found = places.changed(before)
    for each in found:
        places.put_back(each)
    assert places.changed(before) == ()
    return [str(each.path.relative_to(root)) for each in found]


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "user.name", "Ann"),
        ("remote", "add", "origin", "https://example.com/a.git"),
        ("config", "branch.main.remote", "origin"),
        ("checkout", "-b", "other"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--allow-empty", "-m", "x"),
        ("config", "core.autocrlf", "input"),
        ("init",),
    ],
    ids=" ".join,
)
def test_everyday_git_changes_nothing_that_counts(root: Path, arguments: tuple[str, ...]) -> None:
    assert changed_by(root, lambda: git(root, *arguments)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core.hooksPath", "/srv/x"),
        ("core.fsmonitor", "evil"),
        ("core.sshCommand", "evil"),
        ("alias.st", "!evil"),
        ("filter.x.clean", "evil"),
        ("diff.x.textconv", "evil"),
        ("merge.x.driver", "evil"),
        ("credential.helper", "!evil"),
        ("credential.https://example.com.helper", "!evil"),
        ("include.path", "../x"),
        ("includeIf.onbranch:main.path", "../x"),
        ("url.https://evil.example/.insteadOf", "https://example.com/"),
        ("gpg.program", "evil"),
        ("remote.origin.uploadpack", "evil"),
        ("core.pager", "evil"),
    ],
)
def test_settings_that_make_git_run_programs_count(root: Path, name: str, value: str) -> None:
    assert changed_by(root, lambda: git(root, "config", name, value)) == [".git/config"]
    config = (root / ".git/config").read_text()
    assert value not in config


def test_a_setting_that_was_there_before_does_not_count_again(root: Path) -> None:
    git(root, "config", "alias.st", "status")
    assert changed_by(root, lambda: git(root, "config", "user.name", "Ann")) == []


@pytest.mark.parametrize(
    "text",
    ["[core] fsmonitor = evil\n", "[ALIAS]x=!evil\n[core]\n\tfsmonitor = \\\n evil\n", "[core]\nFSMonitor=x ;y\n"],
)
def test_settings_are_seen_however_they_are_written(root: Path, text: str) -> None:
    config = root / ".git/config"
    assert changed_by(root, lambda: config.write_text(config.read_text() + text)) == [".git/config"]


def test_hooks_count_but_samples_do_not(root: Path) -> None:
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)

    def change() -> None:
        (hooks / "pre-commit").write_text("#!/bin/sh\nevil\n")
        (hooks / "other.sample").write_text("x")

    assert changed_by(root, change) == [".git/hooks/pre-commit"]
    assert not (hooks / "pre-commit").exists()
    assert (hooks / "other.sample").exists()


def test_a_hook_that_was_there_is_what_it_was_again_with_its_mode(root: Path) -> None:
    hook = root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("mine\n")
    hook.chmod(0o750)
    assert changed_by(root, lambda: hook.write_text("evil\n")) == [".git/hooks/pre-push"]
    assert (hook.read_text(), hook.stat().st_mode & 0o777) == ("mine\n", 0o750)


def test_a_file_that_becomes_executable_or_a_link_counts(root: Path, tmp_path: Path) -> None:
    hook = root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("mine\n")
    hook.chmod(0o640)
    assert changed_by(root, lambda: hook.chmod(0o750)) == [".git/hooks/pre-push"]
    assert hook.stat().st_mode & 0o777 == 0o640

    def to_link() -> None:
        hook.unlink()
        hook.symlink_to(tmp_path / "elsewhere")

    assert changed_by(root, to_link) == [".git/hooks/pre-push"]
    assert hook.read_text() == "mine\n"


def test_hooks_at_a_place_that_the_settings_name_count(root: Path) -> None:
    git(root, "config", "core.hooksPath", ".githooks")
    (root / ".githooks").mkdir()
    assert changed_by(root, lambda: (root / ".githooks/pre-commit").write_text("x")) == [".githooks/pre-commit"]


def test_the_repository_of_a_worktree_and_of_a_submodule_count(root: Path, tmp_path: Path) -> None:
    git(root, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--allow-empty", "-m", "x")
    git(root, "worktree", "add", str(tmp_path / "tree"))
    config = root / ".git/config"
    places = KeptPlaces((tmp_path / "tree",))
    before = places.before()
    git(root, "config", "core.editor", "evil")
    assert [change.path.resolve() for change in places.changed(before)] == [config]
    module = root / ".git/modules/sub"
    module.mkdir(parents=True)
    assert changed_by(root, lambda: (module / "config").write_text("[core]\nfsmonitor=x\n")) == [
        ".git/modules/sub/config"
    ]


@pytest.mark.parametrize(
    "name", [".envrc", ".vscode/tasks.json", ".mcp.json", ".husky/pre-commit", ".hermes/config.yaml"]
)
def test_what_editors_and_agents_run_counts(root: Path, name: str) -> None:
    def change() -> None:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("{}")

    assert changed_by(root, change) == [name]


def test_what_has_gone_does_not_count(root: Path) -> None:
    (root / ".envrc").write_text("x")
    assert changed_by(root, (root / ".envrc").unlink) == []


def test_a_place_without_a_repository_has_nothing_to_look_at(tmp_path: Path) -> None:
    assert changed_by(tmp_path, lambda: git(tmp_path, "init")) == []


def test_while_somebody_is_not_to_be_trusted_the_last_look_counts(root: Path) -> None:
    places = KeptPlaces((root,))
    places.before()
    (root / ".envrc").write_text("evil")
    assert [change.path.name for change in places.changed(places.before(keep=True))] == [".envrc"]
    (root / ".envrc").write_text("mine")
    assert places.changed(places.before()) == ()
