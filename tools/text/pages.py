"""One page of a text file's lines. A file of a usual size is read at once, of a large one no more than is needed."""

from __future__ import annotations

import codecs
import functools
import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import BinaryIO

from tools.errors import ToolError
from tools.files.seen import digest_of, new_digest
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

_BLOCK = 1 << 18
_AT_ONCE = 4 << 20

_Decoder = Callable[[], codecs.IncrementalDecoder]


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


@dataclass(frozen=True, slots=True)
class _Raw:
    """A line without its ending, or the beginning of a long one; `size` is that of all of it in bytes."""

    data: bytes
    size: int
    whole: bool


def read_page(stream: BinaryIO, offset: int, limit: int, settings: ReadSettings) -> Page:
    """Lines `offset` … `offset + limit - 1` of a seekable stream; fewer when they exceed the settings' size.

    Raises:
        NotText: the content is binary.
    """
    at_once = min(_AT_ONCE, settings.max_bytes)
    # Asked for more than there is, the stream makes room for all of it first.
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    data = stream.read(min(size, at_once) + 1)
    if len(data) <= min(size, at_once):
        return _page_of(data, offset, limit, settings)
    stream.seek(0)
    page = page_of_many(stream, offset, limit, settings)
    if page.total is None:
        return page
    stream.seek(0)
    digest = hashlib.file_digest(stream, new_digest).hexdigest()  # type: ignore[arg-type]  # any binary stream will do
    return replace(page, digest=digest)


def page_of_lines(lines: Sequence[str], offset: int, limit: int, settings: ReadSettings) -> tuple[str, ...]:
    """The page of `lines` that begins at line `offset`, long ones cut; fewer when they exceed the settings' size."""
    page = lines[offset - 1 : offset - 1 + limit]
    if max(map(len, page), default=0) > settings.max_line_chars:
        page = [_cut(line, len(line.encode("utf-8", "surrogateescape")), settings.max_line_chars) for line in page]
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


def page_of_many(stream: BinaryIO, offset: int, limit: int, settings: ReadSettings) -> Page:
    """The page from line `offset` on, of a text that is read piece by piece."""
    stream, encoding = _as_utf8(stream, settings.max_bytes)
    if not _skip_lines(stream, offset - 1):
        return Page(offset, (), _count_from_start(stream), more=False, encoding=encoding)
    start = stream.tell()
    try:
        lines = _take(stream, offset, limit, settings, _decoder("utf-8", "strict"))
        guess = Guess(encoding)
    except UnicodeDecodeError:
        lines, guess = _take_otherwise(stream, start, offset, limit, settings)
    rest = _count_rest(stream, settings.max_bytes)
    total = None if rest is None else offset - 1 + len(lines) + rest
    is_ended = bool(lines) and rest == 0 and _last_byte(stream) == b"\n"
    more = rest != 0
    return Page(offset, tuple(lines), total, more, guess.encoding, is_ended=is_ended, others=guess.others)


def _take_otherwise(
    stream: BinaryIO, start: int, offset: int, limit: int, settings: ReadSettings
) -> tuple[list[str], Guess]:
    """The lines from `start` on of a file that is not valid UTF-8, and its encoding."""
    stream.seek(start)
    block = _whole_lines(stream.read(_BLOCK))
    stream.seek(0)
    # The file's beginning too, so that its pages are read alike.
    sample = _whole_lines(stream.read(_AT_ONCE)) + block
    stream.seek(start)
    if is_mostly_utf8(sample):
        lines = _take(stream, offset, limit, settings, _decoder("utf-8", "surrogateescape"))
        return lines, Guess("utf-8")
    guess = guess_encoding(sample)
    # Further on there may be bytes that this encoding lacks.
    lines = _take(stream, offset, limit, settings, _decoder(guess.encoding, "replace"))
    return lines, guess


def _whole_lines(data: bytes) -> bytes:
    """`data` up to its last line ending: no character is cut."""
    return data[: data.rfind(b"\n") + 1] or data


def _decoder(encoding: str, errors: str) -> _Decoder:
    return functools.partial(codecs.getincrementaldecoder(encoding), errors)


def _as_utf8(stream: BinaryIO, max_bytes: int) -> tuple[BinaryIO, str]:
    """The stream behind its byte order mark, recoded where it is not UTF-8."""
    sample = stream.read(SAMPLE_BYTES)
    mark, encoding = byte_order_mark(sample)
    if not mark:
        if looks_binary(sample):
            raise NotText("it is a binary file")
        encoding = unmarked_wide(sample) or encoding
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


def _take(stream: BinaryIO, offset: int, limit: int, settings: ReadSettings, decoder: _Decoder) -> list[str]:
    lines: list[str] = []
    chars = 0
    while len(lines) < limit:
        position = stream.tell()
        raw = _read_line(stream, settings.max_line_chars * 4, settings.max_bytes)
        if raw is None:
            break
        line = _decode(raw, decoder, settings.max_line_chars)
        chars += len(f"{offset + len(lines)}|{line}\n")
        if lines and chars > settings.max_chars:
            stream.seek(position)
            break
        lines.append(line)
    return lines


def _read_line(stream: BinaryIO, keep: int, most: int) -> _Raw | None:
    """The next line; of one longer than `most`, `size` is what was looked at."""
    data = stream.readline(keep + 2)
    if not data:
        return None
    first, size, end = data, len(data), data
    while not end.endswith(b"\n") and size <= most and (more := stream.readline(_BLOCK)):
        size += len(more)
        end = more
    size -= len(end) - len(_without_ending(end))
    if end is first:
        return _Raw(_without_ending(data), size, whole=True)
    return _Raw(data[:keep], size, whole=False)


def _without_ending(line: bytes) -> bytes:
    return line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")


def _decode(raw: _Raw, decoder: _Decoder, max_chars: int) -> str:
    # A line that was cut may end inside a character.
    text = decoder().decode(raw.data, final=raw.whole)
    if raw.whole and len(text) <= max_chars:
        return text
    return _cut(text, raw.size, max_chars, always=True)


def _cut(line: str, size: int, max_chars: int, *, always: bool = False) -> str:
    if len(line) <= max_chars and not always:
        return line
    return f"{line[:max_chars]}… [line cut: it has {size:,} bytes]"


def _count_rest(stream: BinaryIO, max_bytes: int) -> int | None:
    count, size, last = 0, 0, b"\n"
    while block := stream.read(_BLOCK):
        count += block.count(b"\n")
        size += len(block)
        last = block[-1:]
        if size > max_bytes:
            return None
    return count + (last != b"\n")


def _last_byte(stream: BinaryIO) -> bytes:
    stream.seek(-1, io.SEEK_END)
    return stream.read(1)


def _count_from_start(stream: BinaryIO) -> int | None:
    stream.seek(0)
    # The file was read to its end once already: no limit.
    return _count_rest(stream, max_bytes=1 << 62)
