"""The hosts of a workspace's git remotes, read from git's files as text: no program runs for it.

They are read once, when the session begins: what a command writes into `.git/config` later allows it nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tools.environments.git_settings import all_settings
from tools.environments.sandbox_network.hosts import host_name
from tools.os_flags import O_CLOEXEC, O_NOCTTY, O_NONBLOCK
from tools.web.addresses import inside_by_name

_MOST_BYTES = 256 * 1024
_ADDRESS = re.compile(r"remote\..*\.(?:push)?url", re.DOTALL)


def remote_hosts(roots: Iterable[Path]) -> frozenset[str]:
    """Hosts that the repositories of these directories (or above them) fetch from by https on its usual port.

    Hosts that are not on the public internet by their name are left out: those ask.
    """
    return frozenset(host for root in roots for host in _hosts(_config(root)))


def _hosts(config: bytes) -> Iterator[str]:
    for name, value in all_settings(config):
        if not _ADDRESS.fullmatch(name) or not value.lower().startswith("https://"):
            continue
        try:
            parts = urlsplit(value)
            host = host_name(parts.hostname or "")
            is_usual = parts.port in {None, 443}
        except ValueError:
            continue
        if is_usual and inside_by_name(host) is None:
            yield host


def _config(root: Path) -> bytes:
    """The repository's settings as they stand in its file, b"" where there is none."""
    for directory in (root, *root.parents):
        git = directory / ".git"
        if git.is_dir():
            return _read(git / "config")
        if git.is_file():  # a worktree or a submodule: «gitdir: PATH»
            folder = (directory / _text(git).removeprefix("gitdir:").strip()).resolve()
            common = _text(folder / "commondir").strip()
            return _read((folder / common if common else folder) / "config")
    return b""


def _text(path: Path) -> str:
    return _read(path).decode("utf-8", "replace")


def _read(path: Path) -> bytes:
    """A regular file's beginning. A pipe in its place must not make the session wait."""
    try:
        descriptor = os.open(path, os.O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    except OSError:
        return b""
    with open(descriptor, "rb") as file:  # noqa: PTH123 - by descriptor
        return file.read(_MOST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
