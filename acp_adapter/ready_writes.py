"""Writing without waiting, and without touching the descriptor's flags, which other processes may share."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable

WriteNow = Callable[[bytes], int]
"""Writes what there is room for and returns how many bytes that were; 0 also where it went wrong."""


def write_now(fd: int) -> WriteNow:
    """The way for this descriptor; of one that may block whatever is asked first, it writes nothing."""
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return _nothing
    if stat.S_ISFIFO(mode) and hasattr(select, "poll"):
        return _to_pipe(fd)
    return _to_socket(fd) if stat.S_ISSOCK(mode) else _nothing


def _nothing(_: bytes) -> int:
    return 0


def _to_pipe(fd: int) -> WriteNow:
    room = select.poll()
    room.register(fd, select.POLLOUT)

    def write(data: bytes) -> int:
        # A pipe with any room takes this much at once (POSIX: PIPE_BUF).
        if len(data) > select.PIPE_BUF:
            return 0
        try:
            return os.write(fd, data) if room.poll(0) else 0
        except OSError:
            return 0

    return write


def _to_socket(fd: int) -> WriteNow:
    import socket  # noqa: PLC0415 - few editors use one, and the first answer must not wait for it

    if not hasattr(socket, "MSG_DONTWAIT") or not hasattr(socket, "AF_UNIX"):
        return _nothing

    def write(data: bytes) -> int:
        # Not `with`: the descriptor stays open. Its kind is told so that it is not asked for; sending needs none.
        borrowed = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd)
        try:
            return borrowed.send(data, socket.MSG_DONTWAIT)
        except OSError:
            return 0
        finally:
            borrowed.detach()

    return write
