"""The editor's text of a file, and the file's bytes: when they are the same, and how one becomes the other.

Editors keep byte order mark, encoding and line endings apart from the text. So a text that differs in these alone is
the file as it is on disk, and one that differs in more gets them from the disk's file.
"""

from __future__ import annotations

import hashlib

from tools.light_dataclass import dataclass
from tools.text.encoding import TextFile, with_newlines

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
