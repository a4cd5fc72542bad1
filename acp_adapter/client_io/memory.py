"""What a session has learned of its editor: whether it answers, and which texts it had in common with the disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from acp_adapter.client_io.buffer_text import digest
from tools.context import Interrupt

_MOST_SILENCES = 2
_MOST_FILES = 10_000


class EditorMemory:
    """Shared by all calls of a session; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn: Interrupt | None = None
        self._silences = 0
        self._common: OrderedDict[Path, bytes] = OrderedDict()

    def may_ask(self, turn: Interrupt) -> bool:
        """Whether the editor is worth asking: not if it was silent several times in a row, in this turn."""
        with self._lock:
            return turn is not self._turn or self._silences < _MOST_SILENCES

    def was_silent(self, turn: Interrupt) -> None:
        """The editor has not answered in time."""
        with self._lock:
            self._silences = self._silences + 1 if turn is self._turn else 1
            self._turn = turn

    def has_answered(self, turn: Interrupt) -> None:
        """The editor has answered, with whatever."""
        with self._lock:
            self._turn, self._silences = turn, 0

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
        with self._lock:
            return self._common.get(path) == digest(buffer)
