"""The hosts of a workspace's git remotes, read from git's files as text: no program runs for it.

They are read once, when the session begins: what a command writes into `.git/config` later allows it nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tools.environments.git import find_repository
from tools.environments.git_settings import all_settings
from tools.environments.places_run_later import read_file
from tools.environments.sandbox_network.hosts import host_name
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
    """The repository's settings as they are in its file, b"" where there is none."""
    repository = find_repository(root)
    return b"" if repository is None else read_file(repository.common_dir / "config", _MOST_BYTES) or b""
