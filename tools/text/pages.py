"""One page of a text file's lines. Of a long file only the page's own lines are decoded."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import BinaryIO

from tools.errors import ToolError
from tools.files.seen import digest_of
from tools.light_dataclass import dataclass
from tools.settings import ReadSettings
from tools.text.encoding import (
    SAMPLE_BYTES,
    Guess,
    byte_order_mark,
    decode,
    encoding_note,
    guess_encoding,
    is_mostly_utf8,
    looks_binary,
    odd_bytes_in,
    unmarked_wide,
)

_AT_ONCE = 4 << 20


class NotText(ToolError):
    """The file is not text."""


@dataclass(frozen=True, slots=True)
class Page:
    r"""Lines of a file from line `first` (1-based) on.

    Attributes:
        total: how many lines the file has; None when it is too big to count them.
        more: there are lines after the page.
        others: where the encoding was guessed, what it may be as well.
        newline: "\r\n" where the lines of the page end so, "mixed" where some do.
        digest: of the file's bytes, as `tools.files.seen` compares it; '' when it is too big.
        is_ended: the page goes to the file's end, and its last line has an ending.
    """

    first: int
    lines: tuple[str, ...]
    total: int | None
    more: bool
    encoding: str
    newline: str = "\n"
    digest: str = ""
    is_ended: bool = False
    others: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What a model should know of the encoding; '' for UTF-8."""
        return encoding_note(self.encoding, self.others, sum(map(odd_bytes_in, self.lines)))


def read_page(stream: BinaryIO, offset: int, limit: int, settings: ReadSettings) -> Page:
    """Lines `offset` … `offset + limit - 1` of a seekable stream; fewer when they exceed the settings' size.

    Of a file that is longer than the settings' bytes only so much is looked at.

    Raises:
        NotText: the content is binary, or the lines are behind what is looked at.
    """
    # Asked for more than there is, the stream makes room for all of it first.
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    data = stream.read(min(size, settings.max_bytes) + 1)
    if len(data) <= min(_AT_ONCE, settings.max_bytes):
        return _page_of(data, offset, limit, settings)
    return page_of_many(data, offset, limit, settings)


def page_of_lines(lines: Sequence[str], offset: int, limit: int, settings: ReadSettings) -> tuple[str, ...]:
    """The page of `lines` that begins at line `offset`, long ones cut; fewer when they exceed the settings' size."""
    return _shown(lines[offset - 1 : offset - 1 + limit], offset, settings)


def _shown(page: Sequence[str], offset: int, settings: ReadSettings) -> tuple[str, ...]:
    if max(map(len, page), default=0) > settings.max_line_chars:
        page = [_cut(line, settings.max_line_chars) for line in page]
    room = settings.max_chars - len(page) * (len(str(offset + len(page))) + 2)
    if sum(map(len, page)) > room:
        page = _fitting(page, offset, settings.max_chars)
    return tuple(page)


def _page_of(data: bytes, offset: int, limit: int, settings: ReadSettings) -> Page:
    file = decode(data)
    if file is None:
        mark, encoding = byte_order_mark(data)
        raise NotText(f"it begins like {encoding} text, but is not" if mark else "it is a binary file")
    lines = file.text.split("\n")
    if not lines[-1]:
        lines.pop()
    total, newline = len(lines), "\n"
    if "\r" in file.text and "\r\n" in file.text:  # one character is found much faster than two
        # Only what the page holds is stripped: the file may be long.
        window = lines[offset - 1 : offset - 1 + limit]
        ends = sum(line.endswith("\r") for line in window)
        is_last = offset - 1 + len(window) == total and not file.text.endswith("\n")
        newline = "\r\n" if ends >= len(window) - is_last else "mixed" if ends else "\n"
        # A last line without an ending may end in a carriage return of its own.
        kept = window[-1:] if is_last else []
        lines[offset - 1 : offset - 1 + limit] = [
            *(line.removesuffix("\r") for line in window[: len(window) - len(kept)]),
            *kept,
        ]
    page = page_of_lines(lines, offset, limit, settings)
    more = bool(page) and offset - 1 + len(page) < total
    is_ended = bool(page) and not more and file.text.endswith("\n")
    return Page(offset, page, total, more, file.encoding, newline, digest_of(data), is_ended, file.others)


def _fitting(page: Sequence[str], offset: int, max_chars: int) -> Sequence[str]:
    """The lines that fit into so many characters with their numbers; at least one."""
    chars = 0
    for index, line in enumerate(page):
        chars += len(f"{offset + index}|{line}\n")
        if index and chars > max_chars:
            return page[:index]
    return page


def page_of_many(data: bytes, offset: int, limit: int, settings: ReadSettings) -> Page:
    """The page from line `offset` on, of a long text: only its lines are decoded."""
    is_cut = len(data) > settings.max_bytes
    text, encoding = _as_utf8(data, settings.max_bytes)
    start = _place(text, 0, offset - 1)
    if start is None:
        if is_cut:
            raise NotText(f"line {offset} is behind its first {settings.max_bytes:,} bytes: use sed or tail for it")
        return Page(offset, (), _count(text), more=False, encoding=encoding, digest=digest_of(data))
    end = _place(text, start, limit)
    block = text[start:end]
    try:
        found, guess = block.decode(), Guess(encoding)
    except UnicodeDecodeError:
        # By the file's beginning too, so that its pages are read alike.
        sample = text[: text.rfind(b"\n", 0, _AT_ONCE) + 1 or _AT_ONCE] + block
        guess = Guess("utf-8") if is_mostly_utf8(sample) else guess_encoding(sample)
        # Further on there may be bytes that this encoding lacks.
        found = block.decode(guess.encoding, "surrogateescape" if guess.encoding == "utf-8" else "replace")
    lines = [line.removesuffix("\r") for line in found.split("\n")]
    if found.endswith("\n"):
        lines.pop()
    else:
        lines[-1] = found.rpartition("\n")[2]
    page = _shown(lines, offset, settings)
    total = None if is_cut else _count(text)
    more = len(page) < len(lines) or end is not None
    is_ended = not more and not is_cut and text.endswith(b"\n")
    digest = "" if is_cut else digest_of(data)
    return Page(offset, page, total, more or is_cut, guess.encoding, "\n", digest, is_ended, guess.others)


def _as_utf8(data: bytes, max_bytes: int) -> tuple[bytes, str]:
    """The text behind its byte order mark, recoded where its characters are wide."""
    mark, encoding = byte_order_mark(data)
    if not mark:
        if looks_binary(data[:SAMPLE_BYTES]):
            raise NotText("it is a binary file")
        encoding = unmarked_wide(data[:SAMPLE_BYTES]) or encoding
    if encoding == "utf-8":
        return data[len(mark) :], encoding
    if len(data) > max_bytes:
        raise NotText(f"it is {encoding} text of more than {max_bytes:,} bytes")
    try:
        return data[len(mark) :].decode(encoding).encode(), encoding
    except UnicodeError as problem:
        raise NotText(f"it begins like {encoding} text, but is not") from problem


def _place(text: bytes, start: int, count: int) -> int | None:
    """What is behind `count` line endings from `start` on; None where there is nothing."""
    for _ in range(count):
        start = text.find(b"\n", start) + 1
        if not start:
            return None
    return start if start < len(text) else None


def _count(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n") and text != b"")


def _cut(line: str, max_chars: int) -> str:
    if len(line) <= max_chars:
        return line
    return f"{line[:max_chars]}… [line cut: it has {len(line.encode('utf-8', 'surrogateescape')):,} bytes]"
