"""Which sockets listen on this machine, which of them are the session's own, and a fence around those."""

from __future__ import annotations

import ctypes
import errno
import ipaddress
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.web.addresses import IPAddress

# The kernel's own list of sockets: sock_diag(7). Its cost does not grow with the connections of the machine.

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
    # A kernel without IPv6 has no such table, and answers no question about it.
    families = (socket.AF_INET, socket.AF_INET6) if Path("/proc/net/tcp6").exists() else (socket.AF_INET,)
    return frozenset(number for family in families for number in _listening_on(family, port))


def _listening_on(family: int, port: int) -> list[int]:
    place = struct.pack("!H", port)
    question = _TCP_QUESTION.pack(family, socket.IPPROTO_TCP, 0, LISTENING, place)
    entries = (_TCP_ENTRY.unpack_from(body) for body in dump(question))
    return [number for found, number in entries if found == place]


# Which socket listens at a place of the file system, or under an abstract name: sock_diag(7) tells it.

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


# Which sockets the session's own commands listen on: those they may also connect to.


class OwnListeners:
    """Sockets are known by the number that the kernel gives each once; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: set[int] = set()

    def note(self, duplicate: socket.socket) -> None:
        """A command of the session is about to listen on this socket, or on what this is a duplicate of."""
        with self._lock:
            self._numbers.add(os.fstat(duplicate.fileno()).st_ino)

    def have_port(self, port: int) -> bool | None:
        """Whether all that listens on this TCP port of the machine is the session's own; None if nothing listens.

        Where the kernel does not tell, it may be anybody's.
        """
        try:
            return self._are_own(listening_on(port))
        except OSError:
            return False

    def have_path(self, place: os.stat_result) -> bool:
        """Whether the socket at this place of the file system is the session's own."""
        try:
            numbers = at_path(place)
            return bool(self._are_own(numbers)) and any(is_at(number, place) for number in numbers)
        except OSError:
            return False

    def have_name(self, name: bytes) -> bool:
        """Whether what listens under this abstract name is the session's own."""
        try:
            return bool(self._are_own(under_name(name)))
        except OSError:
            return False

    def _are_own(self, numbers: frozenset[int]) -> bool | None:
        with self._lock:
            return numbers <= self._numbers if numbers else None


def is_of_this_machine(address: IPAddress) -> bool:
    """Whether connecting to this address stays on this machine: loopback, or an address of one of its interfaces."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET  # noqa: PLR2004
    with socket.socket(family, socket.SOCK_DGRAM) as unused:
        try:
            unused.connect((str(address), 9))  # sends nothing; the kernel says which address it would come from
            source = unused.getsockname()[0]
        except OSError:
            return False
    return ipaddress.ip_address(source.partition("%")[0]) == address


# The fence: a program's socket listens so that only this machine reaches it, whatever address it is bound to.
# The program must not do it itself: its socket could be another one by then, with no fence around it. A filter on the
# socket (socket(7), SO_ATTACH_FILTER) sees every packet before a connection comes of it; connections that are
# accepted have it, too, and the program cannot take it off.

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
