"""Has a program's socket listen so that only this machine reaches it, whatever address it is bound to.

The program must not do it itself: its socket could be another one by then, with no fence around it. A filter on the
socket (socket(7), SO_ATTACH_FILTER) sees every packet before a connection comes of it; connections that are accepted
have it, too, and the program cannot take it off.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading

from tools.environments.sandbox_network.listening import OwnListeners

_ATTACH_FILTER, _LOCK_FILTER = 26, 44
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_INTERFACE = 0xFFFFF000 + 8
_LOOPBACK, _WHOLE = 1, 0xFFFFFFFF
_MOST_WAITING = 0x7FFFFFFF
# What comes over the loopback interface, whose number is always the same: also what this machine sends to itself at
# its other addresses.
_FROM_HERE = b"".join(
    struct.pack("=HBBI", *step)
    for step in (
        (_LOAD, 0, 0, _INTERFACE),
        (_EQUAL, 0, 1, _LOOPBACK),
        (_RETURN, 0, 0, _WHOLE),
        (_RETURN, 0, 0, 0),
    )
)
_INTERNET = frozenset({socket.AF_INET, socket.AF_INET6})


class NotFenced(Exception):
    """The socket may not listen: other machines could reach it."""


class Fence:
    """For the sockets of one session; safe to use from several threads."""

    def __init__(self, own: OwnListeners) -> None:
        self._own = own
        self._lock = threading.Lock()
        self._fenced: set[int] = set()

    def listen(self, duplicate: socket.socket, backlog: int, *, everywhere: bool) -> None:
        """Listen on a duplicate of the program's socket, which is the session's own from now on.

        Args:
            backlog: as the program gave it; below 0 the most there can be.
            everywhere: other machines may connect, too.

        Raises:
            NotFenced: it cannot be kept from other machines. OSError: as listen(2).
        """
        if not everywhere:
            self._close(duplicate)
        self._own.note(duplicate)
        duplicate.listen(_MOST_WAITING if backlog < 0 else backlog)

    def _close(self, duplicate: socket.socket) -> None:
        if duplicate.family == socket.AF_UNIX:
            return
        if duplicate.family not in _INTERNET or duplicate.proto != socket.IPPROTO_TCP:
            raise NotFenced("listening with something that is not TCP: other machines could reach it")
        number = os.fstat(duplicate.fileno()).st_ino
        with self._lock:
            if number in self._fenced:
                return  # listens again, to have more connections wait
            _attach(duplicate)
            self._fenced.add(number)


def _attach(duplicate: socket.socket) -> None:
    kept = ctypes.create_string_buffer(_FROM_HERE, len(_FROM_HERE))
    program = struct.pack("@HP", len(_FROM_HERE) // 8, ctypes.addressof(kept))
    try:
        duplicate.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
        duplicate.setsockopt(socket.SOL_SOCKET, _LOCK_FILTER, 1)
    except OSError as problem:
        # The program has locked a filter of its own, or the kernel has none.
        raise NotFenced(f"listening: other machines cannot be kept from the socket ({problem.strerror})") from problem
