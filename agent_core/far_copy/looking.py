"""What another machine tells of the files of a copy. It may be hostile: nothing is taken on trust but contents."""

from __future__ import annotations

import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING

from agent_core.far_copy.facts import Fact, digest_of, is_name
from tools.errors import CommandError
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MOST_TOLD = 128 * 1024 * 1024
_PIECE = 65_536
_LINE = re.compile(rb"(\\?)([0-9a-f]{64}) [ *](.+)", re.DOTALL)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ESCAPES = {b"\\n": b"\n", b"\\r": b"\r", b"\\\\": b"\\"}


@dataclass(frozen=True, slots=True)
class Looked:
    """The files of a copy.

    Attributes:
        files: those whose content is known by its hash.
        unknown: regular files whose content could not be read there, or that are too large.
        odd: links, pipes, devices.
    """

    files: Mapping[str, Fact]
    unknown: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Whether anything is there."""
        return name in self.files or name in self.unknown or name in self.odd


def unzipped(stream: IO[bytes], most: int = _MOST_TOLD) -> Iterator[bytes]:
    """What was compressed, piece by piece.

    Raises:
        CommandError: it is more than `most` bytes, or not whole.
    """
    inflate, size = zlib.decompressobj(wbits=31), 0
    while data := stream.read(_PIECE):
        while data:
            try:
                piece = inflate.decompress(data, _PIECE)
            except zlib.error as problem:
                raise CommandError("What came from there is no whole stream: the connection broke off.") from problem
            size += len(piece)
            if size > most:
                raise CommandError(f"More than {most // 1024 // 1024} MB came from there; nothing of it was taken.")
            yield piece
            data = inflate.unconsumed_tail
        if inflate.eof:
            return
    raise CommandError("The connection broke off before all had come from there.")


def looked(told: bytes, token: str) -> Looked:
    """What `scripts.LOOK` has told.

    Raises:
        CommandError: it is not whole.
    """
    parts = told.split(b"\0" + token.encode() + b"\0")
    if len(parts) != 7 or parts[6] != b"end":  # noqa: PLR2004 - as the script has them
        raise CommandError("The files there could not be looked through: what was told of them is not whole.")
    files, runnable, odd, large, hashed, hashed_oddly = (part.strip(b"\0") for part in parts[:6])
    present, executable = _names(files.split(b"\0")), _names(runnable.split(b"\0"))
    digests = dict(_lines(hashed)) | dict(_pairs(hashed_oddly.split(b"\0")))
    known = {name: Fact(digests[name], name in executable) for name in present if name in digests}
    return Looked(known, present - known.keys() | _names(large.split(b"\0")), _names(odd.split(b"\0")))


def contents(stream: IO[bytes], wanted: Mapping[str, str], most: int, largest: int) -> dict[str, bytes]:
    """The contents of files, out of an archive that `scripts.FETCH` has made. Nothing is unpacked.

    Args:
        wanted: names, and the hashes that they were told to have: what is another meanwhile is left out.
        most: bytes of all of them.
        largest: bytes of one.

    Raises:
        CommandError: it is not whole.
    """
    found: dict[str, bytes] = {}
    size = 0
    try:
        pieces = io.BufferedReader(_Pieces(unzipped(stream, 2 * most)))
        with tarfile.open(fileobj=pieces, mode="r|", ignore_zeros=True) as archive:
            for entry in archive:
                name = entry.name.removeprefix("./")
                if name not in wanted or name in found:
                    continue
                if entry.islnk():
                    content = found.get(entry.linkname.removeprefix("./"))
                elif entry.isreg() and entry.size <= largest and size + entry.size <= most:
                    taken = archive.extractfile(entry)
                    content = None if taken is None else taken.read()
                else:
                    continue
                if content is not None and digest_of(content) == wanted[name]:
                    found[name] = content
                    size += len(content)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as problem:
        raise CommandError(f"What came from there is no archive as expected: {problem}.") from problem
    return found


class _Pieces(io.RawIOBase):
    """Pieces as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        view = memoryview(into).cast("B")
        if not self._held:
            self._held = next(self._pieces, b"")
        taken = self._held[: len(view)]
        view[: len(taken)] = taken
        self._held = self._held[len(taken) :]
        return len(taken)


def _names(raw: Iterable[bytes]) -> frozenset[str]:
    return frozenset(name for each in raw if (name := _name(each)))


def _name(raw: bytes) -> str:
    """The name that `find` has told, if it may be one; else ''."""
    name = os.fsdecode(raw)
    return name[2:] if name.startswith("./") and is_name(name[2:]) else ""


def _lines(hashed: bytes) -> Iterator[tuple[str, str]]:
    for line in hashed.split(b"\n"):
        if (found := _LINE.fullmatch(line)) is None:
            continue
        is_escaped, digest, raw = found.groups()
        if is_escaped:
            raw = re.sub(rb"\\[nr\\]", lambda sign: _ESCAPES[sign.group()], raw)
        if name := _name(raw):
            yield name, digest.decode()


def _pairs(parts: list[bytes]) -> Iterator[tuple[str, str]]:
    for raw, digest in zip(parts[::2], parts[1::2], strict=False):
        if (name := _name(raw)) and _DIGEST.fullmatch(digest.decode("ascii", "replace")):
            yield name, digest.decode()
