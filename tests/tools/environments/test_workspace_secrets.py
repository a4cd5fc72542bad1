"""Files with credentials in a workspace, found by their names."""

from __future__ import annotations

from pathlib import Path

from tools.environments.sandbox.places import WorkspaceSecrets


def _names(root: Path, secrets: WorkspaceSecrets) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in secrets())


def test_they_are_found_in_the_root_and_two_below_and_again_after_a_change(tmp_path: Path) -> None:
    for name in (".env", "app/.env.local", "app/main.py", ".env.example", "node_modules/x.pem", "a/deep/er/.env"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    secrets = WorkspaceSecrets((tmp_path,))
    assert _names(tmp_path, secrets) == [".env", "app/.env.local"]
    (tmp_path / "app/server.pem").write_text("x")
    (tmp_path / ".env").unlink()
    assert _names(tmp_path, secrets) == ["app/.env.local", "app/server.pem"]


def test_a_workspace_that_is_sensitive_as_a_whole_stays_visible(tmp_path: Path) -> None:
    root = tmp_path / ".ssh"
    root.mkdir()
    (root / "id_rsa").write_text("x")
    assert WorkspaceSecrets((root,))() == ()


def test_a_root_that_is_gone_has_none(tmp_path: Path) -> None:
    assert WorkspaceSecrets((tmp_path / "gone",))() == ()


def test_settings_count_only_while_there_is_a_secret_in_them(tmp_path: Path) -> None:
    secrets, settings = WorkspaceSecrets((tmp_path,)), tmp_path / ".npmrc"
    settings.write_text("save-exact=true\n")
    assert secrets() == ()
    # The directory does not change with it.
    settings.write_text("//registry.npmjs.org/:_authToken=npm_x\n")
    assert _names(tmp_path, secrets) == [".npmrc"]


def test_what_a_command_names_outside_of_the_workspace_is_none_of_its_secrets(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / ".env").write_text("A=1")
    (root / "led.env").symlink_to(tmp_path / ".env")
    secrets = WorkspaceSecrets((root,))
    assert secrets.reachable("sh x ../.env; cd .. && sh x", root) == {root: (tmp_path / ".env",)}
    (root / "led.env").unlink()
    assert secrets.reachable("sh x ../.env; cd .. && sh x", root) == {root: ()}


def test_the_file_that_leads_a_work_tree_of_git_to_its_repository_is_no_secret(tmp_path: Path) -> None:
    """It was hidden from commands that only look, so that `git status` found no repository."""
    for name in (".git", "module/.git"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("gitdir: /srv/repository/.git/worktrees/x\n")
    assert WorkspaceSecrets((tmp_path,)).reachable("git status", tmp_path) == {tmp_path: ()}


def test_what_git_keeps_in_its_directory_is_no_secret_but_for_addresses_with_passwords(tmp_path: Path) -> None:
    for name in ("HEAD", "config", "index", "description", "hooks/pre-commit"):
        (tmp_path / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".git" / name).write_text("[core]\n\tbare = false\n")
    secrets = WorkspaceSecrets((tmp_path,))
    for command in ("tar czf x.tgz .git", "cd .git && cat HEAD", "cat .git/config", "git --git-dir .git log"):
        assert secrets.reachable(command, tmp_path) == {tmp_path: ()}, command
    (tmp_path / ".git" / "config").write_text('[remote "o"]\n\turl = https://me:secret-word@host.example/x\n')
    assert secrets.reachable("cat .git/config", tmp_path) == {tmp_path: (tmp_path / ".git" / "config",)}
