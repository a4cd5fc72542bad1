"""The kernel's own list of sockets: sock_diag(7). Its cost does not grow with the connections of the machine."""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

LISTENING = 1 << 10
"""The state of sockets that listen, as the kernel's questions have it."""

_HEADER = struct.Struct("=IHHII")
_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_BUFFER = 64 * 1024
_SECONDS = 5

_TCP_QUESTION = struct.Struct("=BBBxI2s46x")
_TCP_ENTRY = struct.Struct("=4x2s46x16xI")
_TABLES = {socket.AF_INET: "/proc/net/tcp", socket.AF_INET6: "/proc/net/tcp6"}
_LISTENING_IN_TABLE = "0A"


def dump(question: bytes) -> Iterator[bytes]:
    """The entries that answer a question.

    Raises:
        OSError: the kernel does not answer it.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "only Linux tells who listens")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(_SECONDS)
        kernel.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + question)
        while True:
            messages = list(_messages(kernel.recv(_BUFFER)))
            for kind, body in messages:
                if kind == _BY_FAMILY:
                    yield body
                elif kind == _ERROR:
                    code = -int(struct.unpack_from("=i", body)[0])
                    raise OSError(code, os.strerror(code))
            if not messages or any(kind == _DONE for kind, _ in messages):
                return


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        if length < _HEADER.size:
            return
        yield kind, data[_HEADER.size : length]
        data = data[aligned(length) :]


def aligned(length: int) -> int:
    """Where what follows something of this length begins."""
    return (length + 3) & ~3


def listening_on(port: int) -> frozenset[int]:
    """Numbers of the sockets that listen on a TCP port, at whatever address of the machine.

    Raises:
        OSError: nothing tells.
    """
    return frozenset(number for family in _TABLES for number in _listening_on(family, port))


def _listening_on(family: int, port: int) -> list[int]:
    place = struct.pack("!H", port)
    question = _TCP_QUESTION.pack(family, socket.IPPROTO_TCP, 0, LISTENING, place)
    try:
        entries = (_TCP_ENTRY.unpack_from(body) for body in dump(question))
        return [number for found, number in entries if found == place]
    except OSError:
        return _from_table(_TABLES[socket.AddressFamily(family)], port)


def _from_table(table: str, port: int) -> list[int]:
    """For kernels that were built without the question about TCP."""
    ending = f":{port:04X}"
    if table.endswith("6") and not Path(table).exists():
        return []  # a kernel without IPv6
    with open(table, encoding="ascii") as lines:  # noqa: PTH123
        fields = [line.split() for line in lines]
    return [int(f[9]) for f in fields if f[1].endswith(ending) and f[3] == _LISTENING_IN_TABLE]
