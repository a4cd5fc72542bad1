"""One page of a text file's lines, read without loading the file."""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass
from typing import BinaryIO

from tools.errors import ToolError
from tools.settings import ReadSettings
from tools.text.encoding import SAMPLE_BYTES, byte_order_mark, looks_binary

_BLOCK = 1 << 18


class NotText(ToolError):
    """The file is not text."""


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of a file from line `first` (1-based) on.

    Attributes:
        total: how many lines the file has; None when it is too big to count them.
        more: there are lines after the page.
    """

    first: int
    lines: tuple[str, ...]
    total: int | None
    more: bool
    encoding: str


@dataclass(frozen=True, slots=True)
class _Raw:
    """A line without its ending, or the beginning of a long one; `size` is that of the whole line."""

    data: bytes
    size: int
    whole: bool


def read_page(stream: BinaryIO, offset: int, limit: int, settings: ReadSettings) -> Page:
    """Lines `offset` … `offset + limit - 1` of a seekable stream; fewer when they exceed the settings' size.

    Raises:
        NotText: the content is binary.
    """
    stream, encoding = _as_utf8(stream, settings.max_bytes)
    if not _skip_lines(stream, offset - 1):
        return Page(offset, (), _count_from_start(stream), more=False, encoding=encoding)
    start = stream.tell()
    try:
        lines = _take(stream, offset, limit, settings, "utf-8")
    except UnicodeDecodeError:
        encoding = "latin-1"
        stream.seek(start)
        lines = _take(stream, offset, limit, settings, encoding)
    rest = _count_rest(stream, settings.max_bytes)
    total = None if rest is None else offset - 1 + len(lines) + rest
    return Page(offset, tuple(lines), total, more=rest != 0, encoding=encoding)


def _as_utf8(stream: BinaryIO, max_bytes: int) -> tuple[BinaryIO, str]:
    """The stream behind its byte order mark, recoded where it is not UTF-8."""
    sample = stream.read(SAMPLE_BYTES)
    mark, encoding = byte_order_mark(sample)
    if not mark and looks_binary(sample):
        raise NotText("it is a binary file")
    stream.seek(len(mark))
    if encoding == "utf-8":
        return stream, encoding
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise NotText(f"it is {encoding} text of more than {max_bytes:,} bytes")
    try:
        return io.BytesIO(data.decode(encoding).encode()), encoding
    except UnicodeError as problem:
        raise NotText(f"it begins like {encoding} text, but is not") from problem


def _skip_lines(stream: BinaryIO, count: int) -> bool:
    """Go behind `count` line endings; False when the file has no line there."""
    left = count
    while left:
        block = stream.read(_BLOCK)
        if not block:
            return False
        found = block.count(b"\n")
        if found >= left:
            end = -1
            for _ in range(left):
                end = block.index(b"\n", end + 1)
            stream.seek(end + 1 - len(block), io.SEEK_CUR)
            left = 0
        else:
            left -= found
    return count == 0 or _is_more(stream)


def _is_more(stream: BinaryIO) -> bool:
    if not stream.read(1):
        return False
    stream.seek(-1, io.SEEK_CUR)
    return True


def _take(stream: BinaryIO, offset: int, limit: int, settings: ReadSettings, encoding: str) -> list[str]:
    lines: list[str] = []
    chars = 0
    while len(lines) < limit:
        position = stream.tell()
        raw = _read_line(stream, settings.max_line_chars * 4)
        if raw is None:
            break
        line = _decode(raw, encoding, settings.max_line_chars)
        chars += len(f"{offset + len(lines)}|{line}\n")
        if lines and chars > settings.max_chars:
            stream.seek(position)
            break
        lines.append(line)
    return lines


def _read_line(stream: BinaryIO, keep: int) -> _Raw | None:
    data = stream.readline(keep + 2)
    if not data:
        return None
    size, end = len(data), data
    while not end.endswith(b"\n") and (end := stream.readline(_BLOCK)):
        size += len(end)
    if size == len(data):
        return _Raw(data.removesuffix(b"\n").removesuffix(b"\r"), size, whole=True)
    return _Raw(data[:keep], size, whole=False)


def _decode(raw: _Raw, encoding: str, max_chars: int) -> str:
    # A line that was cut may end inside a character.
    text = codecs.getincrementaldecoder(encoding)().decode(raw.data, final=raw.whole)
    if raw.whole and len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}… [line cut: it has {raw.size:,} bytes]"


def _count_rest(stream: BinaryIO, max_bytes: int) -> int | None:
    count, size, last = 0, 0, b"\n"
    while block := stream.read(_BLOCK):
        count += block.count(b"\n")
        size += len(block)
        last = block[-1:]
        if size > max_bytes:
            return None
    return count + (last != b"\n")


def _count_from_start(stream: BinaryIO) -> int | None:
    stream.seek(0)
    # The file was read to its end once already: no limit.
    return _count_rest(stream, max_bytes=1 << 62)
