"""Files with credentials in a workspace, found by their names."""

from __future__ import annotations

from pathlib import Path

from tools.environments.workspace_secrets import WorkspaceSecrets


def _names(root: Path, secrets: WorkspaceSecrets) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in secrets())


def test_they_are_found_in_the_root_and_one_below_and_again_after_a_change(tmp_path: Path) -> None:
    for name in (".env", "app/.env.local", "app/main.py", ".env.example", "node_modules/x.pem", "deep/er/.env"):
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
