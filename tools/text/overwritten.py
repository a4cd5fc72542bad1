"""Leaves out what a program has written over, while its output comes in pieces."""

from __future__ import annotations

import re

# A carriage return that ends a line is no overwriting.
_STATES = re.compile(r"\r(?!\n|\Z)")


class Overwritten:
    """Passes text on, of each line only its last state; an unfinished line waits until it is finished.

    Escape sequences stay. A very long unfinished line is passed on in parts: it is no progress bar.
    """

    def __init__(self, longest_line: int = 16_384) -> None:
        self._longest_line = longest_line
        self._line = ""

    def settled(self, text: str) -> str:
        """What `text` makes certain: finished lines, each in its last state."""
        if "\r" not in text and not self._line and text.endswith("\n"):
            return text
        finished, end, line = (self._line + text).rpartition("\n")
        self._line = last_state(line) if "\r" in line else line
        if "\r" in finished:
            finished = "\n".join(last_state(part) if "\r" in part else part for part in finished.split("\n"))
        if len(self._line) <= self._longest_line:
            return finished + end
        line, self._line = self._line, ""
        return finished + end + line

    def rest(self) -> str:
        """The unfinished line: no more text comes."""
        line, self._line = self._line, ""
        return line


def last_state(line: str) -> str:
    """What is to be seen of a line after its carriage returns; one at its end stays."""
    states = [state for state in _STATES.split(line) if state.strip("\r")]
    return states[-1] if states else line[-1:]
