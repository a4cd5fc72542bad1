"""What of the home is for its owner alone."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from agent_core.home import Home
from tools.os_compat import own_user

OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FOLDERS = ("blobs", "cache", "logs", "memories", "outputs", "run", "trajectories")
_FILES = (
    ".env",
    "config.yaml",
    "config.yaml.bak*",
    "permissions.yaml",
    "hermes-acp.db*",
    "oauth_tokens.json",
    "credential_state.json",
)


def open_places(home: Home) -> Iterator[Path]:
    """The home itself, its files and folders that hold what is private, as far as others may use them.

    Links are somebody's arrangement, and are followed only to look.
    """
    if is_shared(home.root) or not home.root.is_dir():
        return
    for path in (home.root, *_private(home.root)):
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & OTHERS:
            yield path


def is_shared(root: Path) -> bool:
    """Whether it is a directory that all users need, as /tmp is: its permissions are not ours to change."""
    try:
        return root == root.parent or bool(root.stat().st_mode & stat.S_ISVTX)
    except OSError:
        return False


def close(path: Path) -> bool:
    """Take the others' permissions away; whether that was done. A link, and what is another user's, stay."""
    if path.is_symlink() or path.stat().st_uid != own_user():
        return False
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
    return True


def _private(root: Path) -> Iterator[Path]:
    for name in _FOLDERS:
        yield root / name
    for pattern in _FILES:
        yield from sorted(root.glob(pattern))
