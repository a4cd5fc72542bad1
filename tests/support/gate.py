"""The client's pipe as an outbox sees it: open, or full."""

from __future__ import annotations

from collections.abc import Callable


class Gate:
    """A pipe that may be full: what is sent then counts as written when it is open again."""

    def __init__(self) -> None:
        self.unwritten: list[Callable[[], None]] = []
        self._open = True

    def set(self) -> None:
        self._open = True
        waiting, self.unwritten = self.unwritten, []
        for callback in waiting:
            callback()

    def clear(self) -> None:
        self._open = False

    def once_written(self, _: int, callback: Callable[[], None]) -> bool:
        if not self._open:
            self.unwritten.append(callback)
        return self._open
