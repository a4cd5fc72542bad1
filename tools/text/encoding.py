"""Bytes to text and back without loss: byte order marks, encodings, line endings, and what is not text."""

from __future__ import annotations

import codecs
import re
from typing import Literal

from tools.light_dataclass import dataclass
from tools.text.legacy import guess_encoding

SAMPLE_BYTES = 8192

# The longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HARMLESS_CONTROLS = b"\t\n\r\f\b\x1b"
_CONTROLS = bytes(set(range(32)) - set(_HARMLESS_CONTROLS)) + b"\x7f"
_LATE_CONTROLS = re.compile("[\x80-\x9f\ufffe\uffff]")
_MAX_CONTROL_SHARE = 0.15
_MAX_LEGACY_CONTROL_SHARE = 0.02
_MIN_NULS = 0.3
_MAX_STRAY_NULS = 0.02
_UNICODE = frozenset({"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's content as text. `text` has no byte order mark and the line endings of the file."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def is_legacy(self) -> bool:
        """Whether the encoding was guessed: it is none of Unicode's."""
        return self.encoding not in _UNICODE

    @property
    def is_unmarked(self) -> bool:
        """Whether nothing but its bytes tells the encoding, which is not UTF-8."""
        return not self.mark and self.encoding != "utf-8"

    @property
    def newline(self) -> Literal["\n", "\r\n"] | None:
        """The line ending that every line has; None for a mixture, or where there is none."""
        windows = self.text.count("\r\n")
        if windows:
            return "\r\n" if self.text.count("\n") == windows else None
        return "\n" if "\n" in self.text else None

    def encode(self, text: str) -> bytes:
        """`text` in the encoding of this file, with its mark.

        Raises:
            UnicodeEncodeError: the encoding lacks one of the characters.
        """
        return self.mark + text.encode(self.encoding)


def decode(data: bytes) -> TextFile | None:
    """The text that `data` is, None when it is not text. Encoding its text again gives `data`.

    What is not valid UTF-8 and has no mark is UTF-16 where every other byte is NUL, and else in one of the encodings
    that were used before Unicode.
    """
    mark, encoding = byte_order_mark(data)
    if not mark:
        sample = data[:SAMPLE_BYTES]
        encoding = unmarked_wide(sample) or encoding
        if encoding == "utf-8" and looks_binary(sample):
            return None
    try:
        return TextFile(data[len(mark) :].decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        if mark or encoding != "utf-8":
            return None
    encoding = guess_encoding(data)
    return TextFile(data.decode(encoding), encoding)


def byte_order_mark(data: bytes) -> tuple[bytes, str]:
    """The mark that `data` begins with and the encoding it names; `(b"", "utf-8")` without one."""
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def looks_binary(sample: bytes) -> bool:
    """True when the beginning of a file has NUL bytes or many characters that no text has."""
    if not sample:
        return False
    if b"\0" in sample:
        return unmarked_wide(sample) is None
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if sample.isascii():
        return controls > len(sample) * _MAX_CONTROL_SHARE
    try:
        # The sample may end inside a character.
        text = codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        # Its bytes above 127 say nothing in an encoding that is not known yet.
        return controls > len(sample) * _MAX_LEGACY_CONTROL_SHARE
    return controls + len(_LATE_CONTROLS.findall(text)) > len(text) * _MAX_CONTROL_SHARE


def unmarked_wide(sample: bytes) -> str | None:
    """UTF-16 without a mark, by the NUL bytes that its ASCII characters have; None where it is not that."""
    pairs = len(sample) // 2
    if b"\0" not in sample or pairs < 2:  # noqa: PLR2004 - one character proves nothing
        return None
    even, odd = sample[: pairs * 2 : 2].count(0), sample[1 : pairs * 2 : 2].count(0)
    if max(even, odd) < pairs * _MIN_NULS or min(even, odd) > pairs * _MAX_STRAY_NULS:
        return None
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return None
    controls = sum(ord(char) < ord(" ") and ord(char) not in _HARMLESS_CONTROLS for char in text)
    return encoding if controls <= len(text) * _MAX_LEGACY_CONTROL_SHARE else None


def with_newlines(text: str, newline: str) -> str:
    """`text` with every line ending made `newline`."""
    unix = text.replace("\r\n", "\n")
    return unix if newline == "\n" else unix.replace("\n", newline)


def count_lines(text: str) -> int:
    """How many lines `text` has; the last may lack its line ending."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)
