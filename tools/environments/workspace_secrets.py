"""Files of a workspace that hold credentials, as their names tell: what only looks need not see them.

Looked for in the session's directories and in those directly below, which is where they are kept; each directory is
read anew when it has changed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from tools.approval.sensitive import why_sensitive

_MOST_DIRECTORIES = 60
_MOST_ENTRIES = 2_000
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})


class WorkspaceSecrets:
    """Of one session; safe to use from several threads.

    Args:
        roots: the session's directories, resolved.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self._roots = roots
        self._lock = threading.Lock()
        # By directory: when it changed last, its secret files, the directories in it.
        self._known: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}

    def __call__(self) -> tuple[Path, ...]:
        """Where they are now; resolved."""
        with self._lock:
            return tuple(Path(os.path.realpath(path)) for root in self._roots for path in self._below(root))

    def behind(self, command: str, cwd: Path) -> tuple[Path, ...]:  # noqa: ARG002 - for those that can look
        """Secret files that links among a command's words lead to; none where nobody looks."""
        return ()

    def _below(self, root: Path) -> Iterator[str]:
        if why_sensitive(root / "x"):
            return  # the whole of it is: whoever works there has to see it
        secrets, directories = self._look(str(root))
        yield from secrets
        for directory in directories:
            yield from self._look(directory)[0]

    def _look(self, directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        try:
            changed = Path(directory).stat().st_mtime_ns
            known = self._known.get(directory)
            if known is None or known[0] != changed:
                known = self._known[directory] = (changed, *_read(directory))
        except OSError:
            return (), ()
        return known[1:]


def _read(directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    secrets, directories = [], []
    with os.scandir(directory) as found:
        for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False):
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _PASSED_OVER:
                    directories.append(entry.path)
            elif why_sensitive(Path(entry.path)):
                secrets.append(entry.path)
    return tuple(secrets), tuple(sorted(directories)[:_MOST_DIRECTORIES])
