"""Writing without waiting, and without touching the descriptor's flags, which other processes may share; and how much
may be written that nobody has read.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
from collections.abc import Callable

if sys.platform == "linux":
    import fcntl

WriteNow = Callable[[bytes], int]
"""Writes what there is room for and returns how many bytes that were; 0 also where it went wrong."""

MOST_UNREAD = 8 * 1024
"""How much the system holds between us and a client that does not read, in bytes, where that can be chosen."""


def hold_little(fd: int) -> None:
    """Let the system hold little of what was written to the client: what is in its pipe no cancel can overtake.

    A client that reads 40 kB a second would have to read Linux's usual 64 KiB before the answer to its cancel.
    """
    with contextlib.suppress(OSError):
        mode = os.fstat(fd).st_mode
        if stat.S_ISFIFO(mode) and sys.platform == "linux":
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, MOST_UNREAD)
        elif stat.S_ISSOCK(mode):
            import socket  # noqa: PLC0415 - as below

            # The option is the socket's, whichever descriptor sets it.
            with socket.socket(fileno=os.dup(fd)) as shared:
                shared.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_UNREAD)


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
