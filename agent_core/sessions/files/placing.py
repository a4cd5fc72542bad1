"""Brings a path to a state, if it still is what was seen there, whole or not at all.

The path's directory is held open for all of it: a link that takes its place meanwhile leads nowhere.
"""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack, suppress
from pathlib import Path

from agent_core.sessions.files.looking import FileState, Found, look_at
from tools.environments.atomic_writes import Spot, create_at, holding, move_at, replace_at, told_as_file_error
from tools.errors import FileChanged
from tools.os_compat import O_DIRECTORY, O_NONBLOCK, set_mode

_PERMISSION_BITS = 0o7777


def place(path: Path, seen: Found, wanted: FileState, content: bytes | None) -> None:
    """Put `wanted` where `seen` is. Links are replaced, never followed; missing directories are made.

    Args:
        seen: what `look` found.
        content: of `wanted`: a file's bytes, a link's target; None where nothing is wanted, or only another mode.

    Raises:
        FileChanged: something else is at the path by now. FileAccessError: a link has come into its directories, or
            it failed half-way. OSError.
    """
    with ExitStack() as held:
        with told_as_file_error("bring back", path):
            spot = held.enter_context(holding(path, make=content is not None))
        _place_at(spot, seen, wanted, content)


def place_folder(path: Path, mode: int | None) -> None:
    """Make a directory if there is none, and give it these permissions.

    Raises:
        FileAccessError: a link has come into its directories. OSError.
    """
    with ExitStack() as held:
        with told_as_file_error("bring back", path):
            spot = held.enter_context(holding(path, make=True))
        with suppress(FileExistsError):
            os.mkdir(spot.name, dir_fd=spot.folder)
        descriptor = spot.open(os.O_RDONLY | O_DIRECTORY | O_NONBLOCK)
        try:
            if mode is not None:
                set_mode(descriptor, mode)
        finally:
            os.close(descriptor)


def _place_at(spot: Spot, seen: Found, wanted: FileState, content: bytes | None) -> None:
    now = look_at(spot, 0)
    if (now.kind, now.state) != (seen.kind, seen.state):
        raise _changed(spot)
    if wanted.hash is None:
        os.unlink(spot.name, dir_fd=spot.folder)
    elif content is None:
        _change_mode(spot, now, wanted.mode if wanted.mode is not None else now.state.mode or 0o600)
    elif seen.kind in {"file", "link"}:
        _replace(spot, seen, wanted, content)
    else:
        _create(spot, wanted, content)


def _change_mode(spot: Spot, now: Found, mode: int) -> None:
    # The call that takes a name would follow a link that has just come there.
    descriptor = spot.open(os.O_RDONLY | O_NONBLOCK)
    try:
        if now.facts is None or not os.path.samestat(os.fstat(descriptor), now.facts):
            raise _changed(spot)
        set_mode(descriptor, mode)
    finally:
        os.close(descriptor)


def _replace(spot: Spot, seen: Found, wanted: FileState, content: bytes) -> None:
    if seen.kind == "file" and not wanted.is_link and seen.content is not None and seen.facts is not None:
        replace_at(spot, content, seen.content, _facts(seen.facts, wanted.mode))
        return
    temporary = _temporary(spot, wanted, content)
    try:
        os.replace(temporary.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    finally:
        temporary.unlink()


def _create(spot: Spot, wanted: FileState, content: bytes) -> None:
    if look_at(spot, 0).kind == "directory":
        _remove_empty(spot)
    if wanted.mode is None:
        create_at(spot, content)
        return
    temporary = _temporary(spot, wanted, content)
    try:
        move_at(temporary, spot)
    finally:
        temporary.unlink()


def _temporary(spot: Spot, wanted: FileState, content: bytes) -> Spot:
    temporary = spot.beside(f".hermes-{secrets.token_hex(6)}.tmp")
    if wanted.is_link:
        os.symlink(os.fsdecode(content), temporary.name, dir_fd=spot.folder)
        return temporary
    descriptor = temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            set_mode(descriptor, 0o600 if wanted.mode is None else wanted.mode)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _facts(facts: os.stat_result, mode: int | None) -> os.stat_result:
    """The facts with another mode: the owner stays."""
    wanted = facts.st_mode if mode is None else (facts.st_mode & ~_PERMISSION_BITS) | mode
    return os.stat_result((wanted, *tuple(facts)[1:10]))


def _remove_empty(folder: Spot) -> None:
    """Remove a tree of directories without files; an OSError tells of one that has any."""
    for _, names, _, descriptor in os.fwalk(folder.name, topdown=False, dir_fd=folder.folder):
        for name in names:
            os.rmdir(name, dir_fd=descriptor)
    os.rmdir(folder.name, dir_fd=folder.folder)


def _changed(spot: Spot) -> FileChanged:
    return FileChanged(f"{spot.path} has changed while it was looked at; nothing was written.")
