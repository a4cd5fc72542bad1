"""Ends of files and of lines, where a client has them otherwise than the agent meant them.

Editors that keep a text as lines have no final newline in it: some leave it out when they are asked for the text,
some write one more than they were given. Others lose Windows line endings or a byte order mark. Nobody meant that.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from acp_adapter.client_io.buffer_text import differ_at_the_end, is_same_text, plain, sendable

_MOST_FILES = 10_000
_MARK = b"\xef\xbb\xbf"


class EndingHabits:
    """What one client does to the end of a text, as far as it was seen. Safe for threads.

    A client may treat open files in one way and others in another, so it is remembered of each file, and of the
    client for files that were not written yet.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_files: OrderedDict[Path, int] = OrderedDict()
        self._usual = 0
        self._leaves_out = False

    def as_read(self, buffer: str, saved: str) -> str:
        """The client's text of a file that is `saved` on disk, with the final newline that the client leaves out."""
        shown, on_disk = plain(buffer), plain(saved)
        with self._lock:
            if on_disk and f"{shown}\n" == on_disk:
                self._leaves_out = True
            misses = self._leaves_out and on_disk.endswith("\n") and not shown.endswith("\n")
        return f"{buffer}{_newline(buffer)}" if misses else buffer

    def as_sent(self, path: Path, text: str) -> str:
        """What to send so that the file holds `text`."""
        with self._lock:
            more = self._of_files.get(path, self._usual)
        if not more or not text.endswith("\n"):
            return text
        return text.removesuffix("\n").removesuffix("\r") if more > 0 else f"{text}{_newline(text)}"

    def adds(self, path: Path) -> bool:
        """Whether the client adds a newline to whatever it writes there."""
        with self._lock:
            return self._of_files.get(path, self._usual) > 0

    def has_written(self, path: Path, sent: str, landed: bytes) -> None:
        """The client was given `sent`, and the file holds `landed`."""
        found = sendable(landed)
        if found is None or not differ_at_the_end(plain(sent), plain(found)):
            return
        more = _newlines_after(plain(found)) - _newlines_after(plain(sent))
        if more > 0 and not sent.endswith("\n"):
            return  # it has ended the last line, as editors may be set to do
        with self._lock:
            self._of_files[path] = more
            self._of_files.move_to_end(path)
            self._usual = more or self._usual
            while len(self._of_files) > _MOST_FILES:
                self._of_files.popitem(last=False)


def as_meant(landed: bytes, data: bytes, before: bytes | None, *, adds: bool) -> bytes:
    """What a file should hold that was to hold `data`, and holds `landed` now that a client has written it.

    Args:
        before: what it held, None for a new file.
        adds: the client adds a newline to whatever it writes.

    Returns:
        `landed`, where the client has changed more than ends: it may format what it saves, and it may end a last line
        that the agent has left open.
    """
    found, meant = sendable(landed), sendable(data)
    if landed == data or found is None or meant is None or not is_same_text(found, meant):
        return landed
    is_ended = plain(found) == f"{plain(meant)}\n" and not meant.endswith("\n")
    if is_ended and not adds and (not before or before.endswith(b"\n")):
        return data + _newline(meant).encode()
    return data


def what_was_lost(landed: bytes, data: bytes) -> str:
    """What a client has taken from `data`, as a clause; '' where neither mark nor line endings are lost."""
    if data.startswith(_MARK) and not landed.startswith(_MARK):
        return "without its byte order mark"
    if b"\r\n" in data and b"\n" in landed and b"\r\n" not in landed:
        return "with Unix line endings instead of Windows ones"
    return ""


def _newlines_after(text: str) -> int:
    return len(text) - len(text.rstrip("\n"))


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
