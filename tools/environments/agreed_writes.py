"""What was agreed to while a command runs: what calls of tools that a program makes were allowed to write, what the
person has seen on the command's own card, the files that the command names. Nobody is asked about it again.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Agreed:
    digest: bytes
    is_link: bool
    may_run: bool


class AgreedWrites:
    """The writes of one session, noted while programs or background commands run. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._programs = 0
        self._contents: dict[Path, _Agreed] = {}
        self._named: Counter[Path] = Counter()

    @contextlib.contextmanager
    def noting(self, named: Collection[Path] = ()) -> Iterator[None]:
        """While it lasts, a program runs, or a command for which something was agreed to.

        Args:
            named: files and directories (resolved) that the command names, and that it may therefore write to.
        """
        with self._lock:
            self._programs += 1
            self._named.update(named)
        try:
            yield
        finally:
            with self._lock:
                self._programs -= 1
                self._named.subtract(named)
                if not self._programs:
                    self._contents.clear()

    def note(
        self,
        path: Path,
        content: bytes | None,
        *,
        is_left: bool = False,
        is_link: bool = False,
        may_run: bool = False,
    ) -> None:
        """It was allowed to write this to `path` (resolved); None: to remove it.

        Args:
            is_left: commands run in the background, whose changes are looked at later.
            is_link: as a symbolic link that points there.
            may_run: as a file that may be executed.
        """
        with self._lock:
            if (self._programs or is_left) and content is not None:
                self._contents[path] = _Agreed(hashlib.sha256(content).digest(), is_link, may_run)

    def covers(self, path: Path, content: bytes | None, *, is_link: bool, begins_to_run: bool) -> bool:
        """Whether that is what was allowed last.

        Args:
            begins_to_run: it could not be executed before.
        """
        with self._lock:
            if not is_link and any(path.is_relative_to(each) for each, count in self._named.items() if count > 0):
                return True
            agreed = self._contents.get(path)
        if agreed is None or content is None or agreed.is_link != is_link or begins_to_run > agreed.may_run:
            return False
        return agreed.digest == hashlib.sha256(content).digest()
