"""Texts as an editor holds them: what it loses or adds at the ends of lines and of the file."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.text.encoding import TextFile, with_newlines

# The editor's text of a file, and the file's bytes: when they are the same, and how one becomes the other.
# Editors keep byte order mark, encoding and line endings apart from the text. So a text that differs in these alone
# is the file as it is on disk, and one that differs in more gets them from the disk's file.

_MARK = "\ufeff"
_UNREADABLE = "\ufffd"


@dataclass(frozen=True, slots=True)
class DiskText:
    """A text file on disk: its bytes, and what they say."""

    data: bytes
    file: TextFile

    def is_what(self, buffer: str) -> bool:
        """Whether the editor's text is the file as it is on disk; a newline at the very end is no difference.

        A file that is not UTF-8 is also the same where the editor took it for another encoding than we do.
        """
        if is_same_text(buffer, self.file.text):
            return True
        if not self.file.is_unmarked:
            return False
        guesses = ("latin-1", "cp1252", "utf-8")
        return any(is_same_text(buffer, self.data.decode(encoding, "replace")) for encoding in guesses)

    def bytes_of(self, buffer: str) -> bytes | None:
        """The editor's text in the encoding of this file, with its mark and its line endings.

        None where that is not to be trusted: characters that the editor could not read would be lost for good.
        """
        text = buffer.removeprefix(_MARK)
        if _UNREADABLE in text and _UNREADABLE not in self.file.text:
            return None
        if self.file.newline == "\r\n" and "\r" not in text:
            text = with_newlines(text, "\r\n")
        try:
            return self.file.encode(text)
        except UnicodeEncodeError:
            return _utf8(text)

    def text_to_send(self, data: bytes, buffer: str) -> str | None:
        """`data`, which is to take this file's place, as text for an editor that shows the file as `buffer`.

        An editor that shows no mark and no Windows line endings for a file that has them adds them when it saves.
        None where the editor could not save it as it is: no UTF-8, or a mixture of line endings that it hides.
        """
        text = sendable(data)
        if text is None:
            return None
        if self.file.mark and buffer and not buffer.startswith(_MARK):
            text = text.removeprefix(_MARK)
        if "\r" not in self.file.text or "\n" not in buffer or "\r" in buffer:
            return text
        return None if self.file.newline is None else with_newlines(text, "\n")


def sendable(data: bytes) -> str | None:
    """`data` as a text that can go to an editor, None where it is not UTF-8 text."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def plain(text: str) -> str:
    """`text` without a byte order mark, and with line feeds as its only line endings."""
    return text.lstrip(_MARK).replace("\r\n", "\n").replace("\r", "\n")


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but a mark, line endings and a newline at the very end."""
    return differ_at_the_end(plain(one), plain(other))


def differ_at_the_end(one: str, other: str) -> bool:
    """Whether two texts with line feeds alone are the same but for a newline at the very end, or altogether."""
    return one in (other, f"{other}\n") or f"{one}\n" == other


def digest(text: str) -> bytes:
    """The same for two texts that differ in nothing but a mark, line endings and the newline of the last line."""
    return hashlib.sha256(plain(text).removesuffix("\n").encode("utf-8", "surrogatepass")).digest()


def _utf8(text: str) -> bytes | None:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: no file holds it
        return None


# Ends of files and of lines, where a client has them otherwise than the agent meant them.
# Editors that keep a text as lines have no final newline in it: some leave it out when they are asked for the text,
# some write one more than they were given. Others lose Windows line endings or a byte order mark. Nobody meant that.

MOST_FILES = 10_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
            while len(self._of_files) > MOST_FILES:
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
    if data.startswith(_BYTE_ORDER_MARK) and not landed.startswith(_BYTE_ORDER_MARK):
        return "without its byte order mark"
    if b"\r\n" in data and b"\n" in landed and b"\r\n" not in landed:
        return "with Unix line endings instead of Windows ones"
    return ""


def _newlines_after(text: str) -> int:
    return len(text) - len(text.rstrip("\n"))


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
