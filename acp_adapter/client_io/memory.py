"""What a session has learned of its editor: whether it answers, which texts it had in common with the disk, and what
it was asked to write and has not answered. What it does to ends is the client's, in all of its sessions.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from acp_adapter.client_io.buffer_text import digest
from acp_adapter.client_io.endings import EndingHabits
from tools.ports import Interrupt

_MOST_SILENCES = 2
_MOST_FILES = 10_000


class EditorMemory:
    """Shared by all calls of a session; safe for threads. `endings` is shared by all sessions of the client."""

    def __init__(self, endings: EndingHabits | None = None) -> None:
        self.endings = endings or EndingHabits()
        self._lock = threading.Lock()
        self._turn: Interrupt | None = None
        self._silences = 0
        self._common: OrderedDict[Path, bytes] = OrderedDict()
        self._awaited: dict[Path, bytes] = {}

    def may_ask(self, turn: Interrupt) -> bool:
        """Whether the editor is worth asking: not if it was silent several times in a row, in this turn."""
        with self._lock:
            return turn is not self._turn or self._silences < _MOST_SILENCES

    def was_silent(self, turn: Interrupt) -> None:
        """The editor has not answered in time."""
        with self._lock:
            self._silences = self._silences + 1 if turn is self._turn else 1
            self._turn = turn

    def has_answered(self, turn: Interrupt, written: Path | None = None) -> None:
        """The editor has answered, with whatever.

        Args:
            written: the file that it was asked to write; what it was asked earlier for this file is over as well.
        """
        with self._lock:
            self._turn, self._silences = turn, 0
            if written is not None:
                self._awaited.pop(written, None)

    def awaits(self, path: Path, data: bytes) -> None:
        """The editor was asked to write `data` and has not answered: it may do so at any time."""
        with self._lock:
            self._awaited[path] = hashlib.sha256(data).digest()

    def is_awaited(self, path: Path, look: Callable[[], bytes | None]) -> bool:
        """Whether the editor may still write this file, as far as we know: it has not answered, and not written.

        Args:
            look: what is in the file now, None for nothing; called only where it matters.
        """
        with self._lock:
            awaited = self._awaited.get(path)
        if awaited is None:
            return False
        found = look()
        if found is None or hashlib.sha256(found).digest() != awaited:
            return True
        with self._lock:
            self._awaited.pop(path, None)
        return False

    def in_common(self, path: Path, text: str) -> None:
        """The editor's text of the file and the disk's are both `text`."""
        with self._lock:
            self._common[path] = digest(text)
            self._common.move_to_end(path)
            while len(self._common) > _MOST_FILES:
                self._common.popitem(last=False)

    def is_outdated(self, path: Path, buffer: str) -> bool:
        """Whether the editor's text, which is not the disk's, is what both had before.

        Then the disk has changed, by a command perhaps, and the editor has not noticed yet: nothing in it is unsaved.
        """
        shown = {digest(buffer)}
        if self.endings.adds(path):
            shown.add(digest(buffer.removesuffix("\n")))
        with self._lock:
            return self._common.get(path) in shown
