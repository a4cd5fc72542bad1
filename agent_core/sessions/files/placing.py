"""Brings a path to a state, if it still is what was seen there, whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from agent_core.sessions.files.looking import FileState, Found, look
from tools.environments.file_errors import told_as_file_error
from tools.environments.replacing import create_file, move_file, replace_file
from tools.environments.resolved_open import holding
from tools.errors import FileChanged

_PERMISSION_BITS = 0o7777


def place(path: Path, seen: Found, wanted: FileState, content: bytes | None) -> None:
    """Put `wanted` where `seen` is. Links are replaced, never followed; missing directories are made.

    Args:
        seen: what `look` found.
        content: of `wanted`: a file's bytes, a link's target; None where nothing is wanted, or only another mode.

    Raises:
        FileChanged: something else is at the path by now. FileAccessError: it failed half-way. OSError.
    """
    with told_as_file_error("bring back", path), holding(path, make=content is not None):
        pass  # no link has come into its directories since, that would lead elsewhere
    now = look(path, 0)
    if (now.kind, now.state) != (seen.kind, seen.state):
        raise FileChanged(f"{path} has changed while it was looked at; nothing was written.")
    if wanted.hash is None:
        path.unlink()
    elif content is None:
        path.chmod(wanted.mode if wanted.mode is not None else now.state.mode or 0o600)
    elif seen.kind in {"file", "link"}:
        _replace(path, seen, wanted, content)
    else:
        _create(path, wanted, content)


def _replace(path: Path, seen: Found, wanted: FileState, content: bytes) -> None:
    if seen.kind == "file" and not wanted.is_link and seen.content is not None and seen.facts is not None:
        replace_file(path, content, seen.content, _facts(seen.facts, wanted.mode))
        return
    temporary = _temporary(path.parent, wanted, content)
    try:
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _create(path: Path, wanted: FileState, content: bytes) -> None:
    if path.is_dir():
        _remove_empty(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if wanted.mode is None:
        create_file(path, content)
        return
    temporary = _temporary(path.parent, wanted, content)
    try:
        move_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(folder: Path, wanted: FileState, content: bytes) -> Path:
    temporary = folder / f".hermes-{secrets.token_hex(6)}.tmp"
    if wanted.is_link:
        temporary.symlink_to(os.fsdecode(content))
        return temporary
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(descriptor, 0o600 if wanted.mode is None else wanted.mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _facts(facts: os.stat_result, mode: int | None) -> os.stat_result:
    """The facts with another mode: the owner stays."""
    wanted = facts.st_mode if mode is None else (facts.st_mode & ~_PERMISSION_BITS) | mode
    return os.stat_result((wanted, *tuple(facts)[1:10]))


def _remove_empty(folder: Path) -> None:
    """Remove a tree of directories without files; an OSError tells of one that has any."""
    for parent, _, _ in os.walk(folder, topdown=False):
        Path(parent).rmdir()
