"""What a tool call prints, cut to whole lines and to a length that a transcript bears."""

from __future__ import annotations

from collections import deque

from acp_adapter.cli.terminal.safe_text import safe_text


class OutputLines:
    """Text comes in pieces, whole lines go out: the first `head` at once, the last `tail` at the end."""

    def __init__(self, head: int, tail: int) -> None:
        self._head = head
        self._shown = 0
        self._left_out = 0
        self._tail: deque[str] = deque(maxlen=tail)
        self._rest: list[str] = []

    @property
    def empty(self) -> bool:
        """Nothing was printed so far."""
        return not self._shown and not any(self._rest)

    def feed(self, text: str) -> list[str]:
        """The lines that `text` completes and that may be shown now."""
        first, *others = text.split("\n")
        self._rest.append(first)
        if not others:
            return []
        lines = ["".join(self._rest), *others[:-1]]
        self._rest = [others[-1]]
        return [line for raw in lines for line in self._take(raw)]

    def finish(self) -> list[str]:
        """The unfinished line, then how much was left out, then the last lines."""
        rest, self._rest = "".join(self._rest), []
        lines = self._take(rest) if rest else []
        hidden = self._left_out - len(self._tail)
        if hidden > 0:
            lines.append(f"({hidden} more line{'s' if hidden > 1 else ''})")
        lines += self._tail
        self._tail.clear()
        self._left_out = 0
        return lines

    def _take(self, raw: str) -> list[str]:
        lines = safe_text(raw.rstrip("\r")).split("\n")
        shown = lines[: max(0, self._head - self._shown)]
        self._shown += len(shown)
        self._left_out += len(lines) - len(shown)
        self._tail.extend(lines[len(shown) :])
        return shown
