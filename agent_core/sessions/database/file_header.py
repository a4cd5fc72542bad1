"""What a database file says of itself, read without SQLite: looking must not change a file that is not ours."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

from agent_core.own_files import open_file
from tools.light_dataclass import dataclass

APPLICATION_ID = 0x48414350
"""«HACP»: marks this program's databases."""

_MAGIC = b"SQLite format 3\x00"
_HEADER = 100
_LOOKED_AT = _HEADER + 8  # the header, and that of the schema table's first page
_LEAF = 0x0D
_WAL_FORMAT = 2
_WAL_HEADER = 32
_FRAME_HEADER = 24
_BIGGEST_PAGE = 65536


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The beginning of a database file.

    Attributes:
        is_sqlite: False: it is no SQLite database; nothing else counts then.
        is_zeroed: it begins with zeros, as files do whose beginning was lost.
        version: `user_version`, the schema's.
        is_empty: it has no tables.
        is_wal: it is in WAL mode.
        identity: device and inode.
    """

    is_sqlite: bool
    identity: tuple[int, int]
    is_zeroed: bool = False
    application_id: int = 0
    version: int = 0
    is_empty: bool = False
    is_wal: bool = False
    page_size: int = 4096


def read_header(path: Path) -> FileHeader | None:
    """The header as the next reader would see it; None where there is no file, or one without any content.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with open_file(path) as stream:
            facts = os.fstat(stream.fileno())
            start = stream.read(_LOOKED_AT)
    except FileNotFoundError:
        return None
    if not start:
        return None
    identity = (facts.st_dev, facts.st_ino)
    if not start.startswith(_MAGIC) or len(start) < _LOOKED_AT:
        return FileHeader(is_sqlite=False, identity=identity, is_zeroed=not start.strip(b"\x00"))
    is_wal = start[18] == _WAL_FORMAT
    if is_wal:
        start = _first_page_in_wal(wal_of(path), _page_size(start)) or start
    return FileHeader(
        is_sqlite=True,
        identity=identity,
        application_id=struct.unpack_from(">I", start, 68)[0],
        version=struct.unpack_from(">I", start, 60)[0],
        is_empty=start[_HEADER] == _LEAF and struct.unpack_from(">H", start, _HEADER + 3)[0] == 0,
        is_wal=is_wal,
        page_size=_page_size(start),
    )


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at `path`; None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def wal_of(path: Path) -> Path:
    """The write-ahead log beside the database, or where it would be; SQLite follows a link first."""
    return Path(f"{os.path.realpath(path)}-wal")


def shm_of(path: Path) -> Path:
    """The index of the write-ahead log."""
    return Path(f"{os.path.realpath(path)}-shm")


def journal_of(path: Path) -> Path:
    """The rollback journal."""
    return Path(f"{os.path.realpath(path)}-journal")


def files_of(path: Path) -> tuple[Path, ...]:
    """The database and everything that SQLite keeps beside it, resolved.

    No process that has the database open may open one of them in another way: closing that drops, as POSIX has it,
    the locks that SQLite holds on the file. Others then take the database for unused and remove its log.
    """
    real = os.path.realpath(path)
    return Path(real), *(Path(f"{real}-{kind}") for kind in ("wal", "shm", "journal"))


def _page_size(start: bytes) -> int:
    size: int = struct.unpack_from(">H", start, 16)[0]
    return _BIGGEST_PAGE if size == 1 else size


def _first_page_in_wal(wal: Path, page_size: int) -> bytes | None:
    """The start of page 1 as the log's last commit left it; None where the log does not have it."""
    try:
        with wal.open("rb") as stream:
            return _last_committed(stream, page_size)
    except OSError:
        return None


def _last_committed(stream: BinaryIO, page_size: int) -> bytes | None:
    salts = stream.read(_WAL_HEADER)[16:24]
    seen: bytes | None = None
    committed: bytes | None = None
    while len(frame := stream.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salts:
        page, pages_after_commit = struct.unpack_from(">II", frame)
        start = stream.read(_LOOKED_AT) if page == 1 else b""
        stream.seek(page_size - len(start), os.SEEK_CUR)
        if page == 1 and start.startswith(_MAGIC):
            seen = start
        if pages_after_commit:
            committed = seen
    return committed
