"""What a command has changed in places that others run later, in real repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.environments.persistence_watch import KeptPlaces


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
        ("remote.origin.url", "https://evil.example/a.git"),
        ("remote.origin.pushurl", "https://evil.example/a.git"),
        ("branch.main.remote", "https://evil.example/a.git"),
        ("branch.main.pushRemote", "/srv/evil"),
        ("remote.pushDefault", "https://evil.example/a.git"),
        ("tar.tgz.command", "evil"),
        ("imap.tunnel", "evil"),
        ("lfs.customtransfer.x.path", "evil"),
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
    [
        "[core] fsmonitor = evil\n",
        "[ALIAS]x=!evil\n[core]\n\tfsmonitor = \\\n evil\n",
        "[core]\nFSMonitor=x ;y\n",
        "# a comment ends with its line \\\n[core]fsmonitor=evil\n",
        "[user]name = two backslashes\\\\\n[core]fsmonitor=evil\n",
        "[core]\nx = a\f[user]\nfsmonitor = evil\n",
        "[core]\nx = a\u2028[user]\nfsmonitor = evil\n",
        "[core]\nx = a\r[user]\nfsmonitor = evil\n",
    ],
)
def test_settings_are_seen_however_they_are_written(root: Path, text: str) -> None:
    config = root / ".git/config"
    assert changed_by(root, lambda: config.write_bytes(config.read_bytes() + text.encode())) == [".git/config"]


def test_settings_are_seen_behind_a_byte_order_mark(root: Path) -> None:
    config = root / ".git/config"
    assert changed_by(root, lambda: config.write_bytes(b"\xef\xbb\xbf[core]fsmonitor=evil\n")) == [".git/config"]


def test_settings_that_are_too_long_to_be_read_count(root: Path) -> None:
    config, was = root / ".git/config", (root / ".git/config").read_text()
    long = "#" * (4 * 1024 * 1024) + "\n[core]fsmonitor=evil\n"
    assert changed_by(root, lambda: config.write_text(was + long)) == [".git/config"]
    assert config.read_text() == was


def test_files_that_the_settings_include_count(root: Path) -> None:
    git(root, "config", "include.path", "../one.config")
    (root / "one.config").write_text("[include]\npath = dir/two.config\n")
    (root / "dir").mkdir()
    one = (root / "one.config").read_text() + "[core]pager=evil\n"
    assert changed_by(root, lambda: (root / "one.config").write_text(one)) == ["one.config"]
    assert changed_by(root, lambda: (root / "dir/two.config").write_text("[core]pager=evil\n")) == ["dir/two.config"]


def test_hooks_in_another_root_count(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(root, "config", "core.hooksPath", str(other))
    places = KeptPlaces((root, other))
    before = places.before()
    (other / "pre-commit").write_text("evil")
    assert [change.path for change in places.changed(before)] == [other / "pre-commit"]


def test_a_submodule_is_not_lost_among_very_many_names(root: Path) -> None:
    config = root / ".git/modules/sub/config"
    config.parent.mkdir(parents=True)
    config.write_text("")

    def change() -> None:
        config.write_text("[core]\nfsmonitor=x\n")
        for number in range(600):
            (root / f".git/modules/{number}").mkdir()

    assert changed_by(root, change) == [".git/modules/sub/config"]


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


def test_what_was_left_alone_with_the_places_counts_at_the_next_look(root: Path) -> None:
    places, hook = KeptPlaces((root,)), root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    places.leave()
    hook.write_text("evil")
    assert [each.path for each in places.changed(places.before())] == [hook]
    assert not places.is_left


def test_an_empty_look_is_a_look_too(tmp_path: Path) -> None:
    places = KeptPlaces((tmp_path,))
    places.leave()
    (tmp_path / ".envrc").write_text("evil")
    assert [each.path.name for each in places.changed(places.before(keep=True))] == [".envrc"]
    assert places.is_left


def test_what_the_person_changed_while_nothing_ran_does_not_count(root: Path) -> None:
    places = KeptPlaces((root,))
    places.changed(places.before())
    (root / ".envrc").write_text("the person's")
    assert places.changed(places.before()) == ()


@pytest.mark.parametrize("name", [".vscode", ".husky", ".git/hooks", ".cursor"])
def test_a_place_that_became_a_link_is_put_back_and_nothing_where_it_led(
    root: Path, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for each in ("settings.json", "mcp.json", "pre-commit", "id_ed25519"):
        (outside / each).write_text("the person's")
    if (root / name).exists():
        shutil.rmtree(root / name)
    assert changed_by(root, lambda: (root / name).symlink_to(outside)) == [name]
    assert not (root / name).is_symlink()
    assert sorted(each.name for each in outside.iterdir()) == [
        "id_ed25519",
        "mcp.json",
        "pre-commit",
        "settings.json",
    ]


@pytest.mark.parametrize("pointer", [".git/commondir", ".git"])
def test_a_repository_that_is_said_to_be_elsewhere_puts_nothing_there_at_risk(
    tmp_path: Path, root: Path, pointer: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "hooks").mkdir(parents=True)
    (outside / "config").write_text("[core]\npager = less\n")
    (outside / "hooks/pre-commit").write_text("the person's")
    os.utime(root / ".git/HEAD", (0, 0))

    def change() -> None:
        if pointer == ".git":
            (root / ".git").rename(root / "git")
        (root / pointer).write_text(f"gitdir: {outside}\n" if pointer == ".git" else f"{outside}\n")

    # What was `.git` is a repository still, of another name.
    assert changed_by(root, change) == ([pointer] if "/" in pointer else [pointer, "git/HEAD"])
    assert pointer != ".git" or list((root / "git").glob("HEAD.refused-*"))
    assert (outside / "hooks/pre-commit").read_text() == "the person's"
    assert (outside / "config").exists()


def test_a_link_of_the_persons_own_is_looked_behind(root: Path) -> None:
    (root / "tools/husky").mkdir(parents=True)
    (root / ".husky").symlink_to("tools/husky")
    changed = changed_by(root, lambda: (root / "tools/husky/pre-commit").write_text("evil"))
    assert changed == ["tools/husky/pre-commit"]
    assert (root / ".husky").is_symlink()


def test_a_hook_is_not_lost_among_very_many_files(root: Path) -> None:
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for number in range(600):
        (hooks / f"x{number}.sample").touch()
    assert changed_by(root, lambda: (hooks / "pre-push").write_text("evil")) == [".git/hooks/pre-push"]


def test_a_file_that_is_too_big_to_keep_is_moved_aside_and_not_lost(root: Path) -> None:
    big, small = root / ".envrc", b"#" * (4 * 1024 * 1024 + 1)
    big.write_bytes(small)
    assert changed_by(root, lambda: big.write_bytes(small + b"evil")) == [".envrc"]
    assert not big.exists()
    assert [each.stat().st_size for each in root.glob(".envrc.refused-*")] == [len(small) + 4]


def test_a_change_within_one_step_of_the_clock_counts(root: Path) -> None:
    hook = root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    places = KeptPlaces((root,))
    for number in range(50):
        hook.write_text(f"mine {number:4}\n")
        before = places.before()
        hook.write_text(f"evil {number:4}\n")
        assert [each.path for each in places.changed(before)] == [hook]


def test_every_directory_of_hooks_and_every_submodule_counts(root: Path) -> None:
    git(root, "config", "--add", "core.hooksPath", ".hooks1")
    git(root, "config", "--add", "core.hooksPath", ".hooks2")
    module = root / ".git/modules/libs/sub"
    for folder in (root / ".hooks1", root / ".hooks2", module / "hooks"):
        folder.mkdir(parents=True)
    (module / "HEAD").touch()

    def change() -> None:
        for folder in (root / ".hooks1", root / ".hooks2", module / "hooks"):
            (folder / "pre-commit").write_text("evil")

    assert sorted(changed_by(root, change)) == [
        ".git/modules/libs/sub/hooks/pre-commit", ".hooks1/pre-commit", ".hooks2/pre-commit",
    ]  # fmt: skip


def test_what_something_that_goes_on_changes_counts_at_the_next_look(root: Path) -> None:
    places = KeptPlaces((root,))
    before = places.before()
    places.go_on()
    assert places.changed(before) == ()
    (root / ".envrc").write_text("evil")
    assert [each.path.name for each in places.changed(places.before())] == [".envrc"]


def test_at_the_end_what_was_left_alone_leaves_no_hook_that_runs(root: Path) -> None:
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-push", "post-merge"):
        (hooks / name).write_text("mine")
        (hooks / name).chmod(0o755)
    places = KeptPlaces((root,))
    places.before()
    places.leave()
    (hooks / "pre-push").write_text("evil")
    (hooks / "pre-commit").write_text("evil")
    (hooks / "pre-commit").chmod(0o755)
    (root / "evil.sh").write_text("evil")
    (hooks / "commit-msg").symlink_to(root / "evil.sh")
    found = places.disarm()
    assert sorted(path.name for path in found) == ["commit-msg", "pre-commit", "pre-push"]
    modes = {path.name: path.stat().st_mode & 0o111 for path in hooks.iterdir() if path.suffix != ".sample"}
    assert modes == {"pre-push": 0, "pre-commit": 0, "post-merge": 0o111}
    assert (hooks / "pre-push").read_text() == "evil"


def test_at_the_end_nothing_is_touched_where_nothing_was_left_alone(root: Path) -> None:
    hook = root / ".git/hooks/pre-push"
    places = KeptPlaces((root,))
    places.changed(places.before())
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("the person's")
    hook.chmod(0o755)
    assert places.disarm() == ()
    assert hook.stat().st_mode & 0o777 == 0o755
