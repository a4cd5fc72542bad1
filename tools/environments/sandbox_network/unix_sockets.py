"""Which socket listens at a place of the file system, or under an abstract name: sock_diag(7) tells it."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tools.environments.sandbox_network.sock_diag import LISTENING, aligned, dump
from tools.light_dataclass import dataclass

_QUESTION = struct.Struct("=BBHIIIII")
_ENTRY = struct.Struct("=BBBBIII")
_ATTRIBUTE = struct.Struct("=HH")
_FILE = struct.Struct("=II")
_SHOW_NAME, _SHOW_FILE = 1, 2
_NAME, _VFS = 0, 1
_WORD = 0xFFFFFFFF
_MINOR_BITS = 20


@dataclass(frozen=True, slots=True)
class Listening:
    """A listening unix socket. `file` is the inode and the device of its path as the kernel counts devices."""

    number: int
    name: bytes
    file: tuple[int, int] | None


def at_path(place: os.stat_result) -> frozenset[int]:
    """Numbers of the sockets that may be the one that listens at this place.

    The kernel tells 32 bits of the place's inode; where they are those of several sockets, all are returned.

    Raises:
        OSError: the kernel does not tell.
    """
    return frozenset(found.number for found in _listening() if found.file and found.file[0] == place.st_ino & _WORD)


def is_at(number: int, place: os.stat_result) -> bool:
    """Whether the socket with this number is bound to this place, by its device or by the name that it was given.

    Raises:
        OSError: the kernel does not tell.
    """
    device = os.major(place.st_dev) << _MINOR_BITS | os.minor(place.st_dev)
    for found in _listening():
        if found.number != number or found.file is None:
            continue
        if found.file == (place.st_ino & _WORD, device):
            return True
        with suppress(OSError, ValueError):  # some file systems show programs another device
            return os.path.samestat(Path(os.fsdecode(found.name.rstrip(b"\0"))).stat(), place)
    return False


def under_name(name: bytes) -> frozenset[int]:
    """Numbers of the sockets that listen under an abstract name, given without its leading NUL.

    Raises:
        OSError: the kernel does not tell.
    """
    return frozenset(found.number for found in _listening() if found.name == b"\0" + name)


def _listening() -> Iterator[Listening]:
    question = _QUESTION.pack(socket.AF_UNIX, 0, 0, LISTENING, 0, _SHOW_NAME | _SHOW_FILE, _WORD, _WORD)
    return map(_entry, dump(question))


def _entry(body: bytes) -> Listening:
    number = _ENTRY.unpack_from(body)[4]
    name, file = b"", None
    rest = body[_ENTRY.size :]
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        value = rest[_ATTRIBUTE.size : length]
        if kind == _NAME:
            name = value
        elif kind == _VFS:
            inode, device = _FILE.unpack(value)
            file = (inode, device)
        rest = rest[max(aligned(length), _ATTRIBUTE.size) :]
    return Listening(number, name, file)
