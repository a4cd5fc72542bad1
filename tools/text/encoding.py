"""Bytes to text and back without loss: byte order marks, encodings, line endings, and what is not text."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Literal

SAMPLE_BYTES = 8192

# The longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HARMLESS_CONTROLS = frozenset("\t\n\r\f\b\x1b")
_MAX_CONTROL_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's content as text. `text` has no byte order mark and the line endings of the file."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

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
    """The text that `data` is, None when it is not text. What is not valid UTF-8 is taken for Latin-1."""
    mark, encoding = byte_order_mark(data)
    if not mark and looks_binary(data[:SAMPLE_BYTES]):
        return None
    for candidate in (encoding,) if mark else (encoding, "latin-1"):
        try:
            return TextFile(data[len(mark) :].decode(candidate), candidate, mark)
        except UnicodeDecodeError:
            continue
    return None


def byte_order_mark(data: bytes) -> tuple[bytes, str]:
    """The mark that `data` begins with and the encoding it names; `(b"", "utf-8")` without one."""
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def looks_binary(sample: bytes) -> bool:
    """True when the beginning of a file has NUL bytes or many characters that no text has."""
    if not sample:
        return False
    if b"\0" in sample:
        return True
    try:
        # The sample may end inside a character.
        text = codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        text = sample.decode("latin-1")
    controls = sum(1 for char in text if not char.isprintable() and char not in _HARMLESS_CONTROLS)
    return controls > len(text) * _MAX_CONTROL_SHARE


def with_newlines(text: str, newline: str) -> str:
    """`text` with every line ending made `newline`."""
    unix = text.replace("\r\n", "\n")
    return unix if newline == "\n" else unix.replace("\n", newline)


def count_lines(text: str) -> int:
    """How many lines `text` has; the last may lack its line ending."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)
