"""Text that comes in many small pieces."""

from __future__ import annotations


class GrowingText:
    """Text that grows: adding costs what is added, reading what there is. Not safe for several threads."""

    def __init__(self, limit: int | None = None) -> None:
        """Nothing yet.

        Args:
            limit: about how many characters are kept, a fifth of them from the beginning and the rest from the end;
                a note stands where text is left out. None keeps all.
        """
        self._limit = limit
        self._head = ""
        self._left_out = 0
        self._pieces: list[str] = []
        self._size = 0

    def __len__(self) -> int:
        """How many characters are kept."""
        return len(self._head) + self._size

    def add(self, text: str) -> None:
        """Add a piece."""
        self._pieces.append(text)
        self._size += len(text)
        if self._limit is not None and len(self) > 2 * self._limit:
            self._cut(self._limit)

    def text(self) -> str:
        """All that is kept."""
        if self._limit is not None and len(self) > self._limit:
            self._cut(self._limit)
        whole = "".join(self._pieces)
        self._pieces = [whole]
        if not self._left_out:
            return whole
        return f"{self._head}\n[… {self._left_out} characters are left out here …]\n{whole}"

    def _cut(self, limit: int) -> None:
        rest = "".join(self._pieces)
        head = limit // 5
        if not self._left_out:
            self._head, rest = rest[:head], rest[head:]
        kept = rest[-(limit - head) :]
        self._left_out += len(rest) - len(kept)
        self._pieces, self._size = [kept], len(kept)
