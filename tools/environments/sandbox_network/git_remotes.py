"""The hosts of a workspace's git remotes, read from git's files as text: no program runs for it.

They are read once, when the session begins: what a command writes into `.git/config` later allows it nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tools.environments.sandbox_network.hosts import host_name
from tools.web.addresses import inside_by_name

_MOST_BYTES = 256 * 1024
_SECTION = re.compile(r"\s*\[\s*(\w+)", re.ASCII)
_URL = re.compile(r"\s*(?:push)?url\s*=\s*\"?(https://[^\s\"#;]+)", re.IGNORECASE | re.ASCII)


def remote_hosts(roots: Iterable[Path]) -> frozenset[str]:
    """Hosts that the repositories of these directories (or above them) fetch from by https on its usual port.

    Hosts that are not on the public internet by their name are left out: those ask.
    """
    return frozenset(host for root in roots for host in _hosts(_config(root)))


def _hosts(text: str) -> Iterator[str]:
    is_remote = False
    for line in text.splitlines():
        if section := _SECTION.match(line):
            is_remote = section[1].lower() == "remote"
            continue
        if not is_remote or not (found := _URL.match(line)):
            continue
        try:
            parts = urlsplit(found[1])
            host = host_name(parts.hostname or "")
            is_usual = parts.port in {None, 443}
        except ValueError:
            continue
        if is_usual and inside_by_name(host) is None:
            yield host


def _config(root: Path) -> str:
    """The text of the repository's settings, '' where there is none."""
    for directory in (root, *root.parents):
        git = directory / ".git"
        if git.is_dir():
            return _text(git / "config")
        if git.is_file():  # a worktree or a submodule: «gitdir: PATH»
            folder = (directory / _text(git).removeprefix("gitdir:").strip()).resolve()
            common = _text(folder / "commondir").strip()
            return _text((folder / common if common else folder) / "config")
    return ""


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
