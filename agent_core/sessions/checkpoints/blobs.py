"""Contents of files, each kept once, under the hash of what it is.

`ab/cdef…` holds the content whose SHA-256 is `abcdef…`: one byte that tells how the rest is packed, then the rest.
Files are readable by the user alone, and appear whole or not at all: they are written beside their place and renamed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from agent_core.errors import StoreError, StoreFault
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC

_PLAIN, _ZLIB = b"\0", b"\1"
_LEVEL = 1
_TRIED_BYTES = 65_536
_WORTH_PACKING = 0.9
_HASH = re.compile(r"[0-9a-f]{64}")
# A blob in use is marked as young again at most this often, so that the usual `put` of known content only looks.
_YOUNG = 1200.0
_FAULTS: dict[int, StoreFault] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EFBIG: "full",
    errno.EROFS: "read-only",
    errno.EACCES: "read-only",
    errno.EPERM: "read-only",
}


@dataclass(frozen=True, slots=True)
class BlobFile:
    """One kept content on disk. `size` is in bytes as packed, `used_at` when it was last put, in seconds."""

    hash: str
    size: int
    used_at: float


class BlobStore:
    """Keeps contents below `root`, which is made when it is needed. Safe for threads and processes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, content: bytes) -> str:
        """Keep `content`; its SHA-256 in hexadecimal digits. Content that is there already costs a look.

        Raises:
            StoreError: it cannot be kept (full, read-only, unavailable).
        """
        name = hashlib.sha256(content).hexdigest()
        path = self._path(name)
        try:
            if not _is_there(path):
                _write(path, content)
        except OSError as problem:
            raise self._failed("keep what a file was in", path, problem) from problem
        return name

    def get(self, name: str) -> bytes:
        """The content with that hash.

        Raises:
            StoreError: it is not there (unavailable), it cannot be read, or it is not what it was (corrupt).
        """
        path = self._path(name)
        try:
            stored = path.read_bytes()
        except FileNotFoundError as problem:
            raise StoreError(f"What the file was is not kept any more: {path} is missing.") from problem
        except OSError as problem:
            raise self._failed("read what a file was from", path, problem) from problem
        content = _unpacked(stored)
        if content is None or hashlib.sha256(content).hexdigest() != name:
            raise StoreError(
                f"What the file was cannot be restored: {path} is damaged (its content does not have its hash).",
                "corrupt",
            )
        return content

    def has(self, name: str) -> bool:
        """Whether content with that hash is kept; it is not read."""
        return self._path(name).is_file()

    def files(self) -> Iterator[BlobFile]:
        """Every kept content, in no order. Files that vanish meanwhile are left out."""
        for entry in self._entries():
            name = Path(entry.path).parent.name + entry.name
            if not _HASH.fullmatch(name):
                continue
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield BlobFile(name, facts.st_size, facts.st_mtime)

    def drop(self, name: str) -> None:
        """Delete a content; one that is not there is ignored.

        Raises:
            OSError: it cannot be deleted.
        """
        self._path(name).unlink(missing_ok=True)

    def drop_leftovers(self, before: float) -> None:
        """Delete files that a writer has left half-written, last touched before that time.

        Raises:
            OSError: one cannot be deleted.
        """
        for entry in self._entries():
            try:
                if entry.name.endswith(".tmp") and entry.stat(follow_symlinks=False).st_mtime < before:
                    Path(entry.path).unlink(missing_ok=True)
            except FileNotFoundError:
                continue

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        try:
            folders = [Path(entry.path) for entry in os.scandir(self.root) if len(entry.name) == 2]  # noqa: PLR2004
        except FileNotFoundError:
            return
        for folder in sorted(folders):
            with os.scandir(folder) as entries:
                yield from entries

    def _path(self, name: str) -> Path:
        if not _HASH.fullmatch(name):
            raise StoreError(f"{name!r} is not the hash of a kept file content.", "corrupt")
        return self.root / name[:2] / name[2:]

    @staticmethod
    def _failed(trying: str, path: Path, problem: OSError) -> StoreError:
        kind = _FAULTS.get(problem.errno or 0, "unavailable")
        return StoreError(f"Could not {trying} {path}: {problem.strerror or problem}.", kind)


def _is_there(path: Path) -> bool:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return False
    if facts.st_size == 0:
        return False  # left by a machine that lost power: even empty content has its first byte
    if time.time() - facts.st_mtime > _YOUNG:
        try:
            os.utime(path)
        except FileNotFoundError:
            return False  # dropped right now
    return True


def _write(path: Path, content: bytes) -> None:
    path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for piece in _packed(content):
                stream.write(piece)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _packed(content: bytes) -> tuple[bytes, bytes]:
    # A look at the beginning tells pictures and archives, which would be packed for nothing.
    tried = content[:_TRIED_BYTES]
    if len(zlib.compress(tried, _LEVEL)) >= len(tried) * _WORTH_PACKING:
        return _PLAIN, content
    return _ZLIB, zlib.compress(content, _LEVEL)


def _unpacked(stored: bytes) -> bytes | None:
    header, rest = stored[:1], stored[1:]
    if header == _PLAIN:
        return rest
    if header != _ZLIB:
        return None
    try:
        return zlib.decompress(rest)
    except zlib.error:
        return None
