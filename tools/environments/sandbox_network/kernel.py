"""The kernel's calls behind the supervisor: seccomp user notification, and another process's memory and sockets.

seccomp_unotify(2), pidfd_getfd(2), proc_pid_mem(5). The calls are made with `fcntl` where Python has them.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import socket
import struct
import sys
from contextlib import suppress
from typing import Literal

from tools.light_dataclass import dataclass

if sys.platform != "win32":
    import fcntl

Call = Literal["connect", "listen", "other"]

_RECV, _SEND, _ID_VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_GO_ON = 1
_PIDFD_GETFD = 438
_GET_NOTIF_SIZES = 3
_SECCOMP = {"x86_64": 317, "aarch64": 277}
# By audit architecture: numbers mean something else in each.
_CALLS: dict[int, dict[int, Call]] = {
    0xC000003E: {42: "connect", 50: "listen"},
    0xC00000B7: {203: "connect", 201: "listen"},
}
_MOST_ADDRESS = 128


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that waits for an answer. `thread` made it, `code` is its number in the thread's architecture."""

    number: int
    thread: int
    call: Call
    code: int
    arguments: tuple[int, ...]


class Gone(Exception):
    """Whoever made the call is gone, or does not wait for it any more."""


@functools.cache
def why_not() -> str:
    """Why the supervisor cannot work on this machine, '' if it can."""
    number = _SECCOMP.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return f"seccomp notifications are not used on {sys.platform} with {platform.machine()}"
    sizes = ctypes.create_string_buffer(6)
    if _library().syscall(number, _GET_NOTIF_SIZES, 0, sizes) != 0:
        return f"the kernel has no seccomp notifications ({os.strerror(ctypes.get_errno())}; Linux 5.6 has them)"
    if struct.unpack("=HH", sizes.raw[:4]) != (_NOTIFICATION.size, _ANSWER.size):
        return "the kernel's seccomp notifications have another form than those known here"
    ours, other = os.pipe()
    try:
        os.close(_duplicate(os.getpid(), ours))
    except OSError as problem:
        return f"pidfd_getfd does not work ({problem.strerror}; Linux 5.6 has it)"
    finally:
        os.close(ours)
        os.close(other)
    return ""


def receive(listener: int) -> Notification:
    """The next call that waits; blocks until there is one.

    Raises:
        Gone: it was taken back. OSError.
    """
    buffer = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECV, buffer)
    except OSError as problem:
        if problem.errno in {errno.ENOENT, errno.EINTR}:
            raise Gone from problem
        raise
    number, thread, _, code, architecture, _, *arguments = _NOTIFICATION.unpack(buffer)
    call = _CALLS.get(architecture, {}).get(code, "other")
    return Notification(number, thread, call, code, tuple(arguments))


def answer(listener: int, notification: Notification, error: int | None) -> None:
    """Let the call return 0, fail with the errno `error`, or be made where that is None.

    Nothing happens where nobody waits for it.
    """
    made = error is None
    _send(listener, _ANSWER.pack(notification.number, 0, 0 if error is None else -error, _GO_ON if made else 0))


def is_waiting(listener: int, notification: Notification) -> bool:
    """Whether the call still waits; so what was found by its thread's number was its own."""
    try:
        fcntl.ioctl(listener, _ID_VALID, notification.number.to_bytes(8, sys.byteorder))
    except OSError:
        return False
    return True


def process_of(listener: int, notification: Notification) -> int:
    """The process of the thread that made the call.

    Raises:
        Gone, OSError.
    """
    with open(f"/proc/{notification.thread}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123
        found = next((line for line in status if line.startswith("Tgid:")), "")
    _check_waiting(listener, notification)
    return int(found.split()[1])


def socket_of(listener: int, notification: Notification) -> socket.socket:
    """A duplicate of the socket that is the call's first argument; the caller closes it.

    Raises:
        Gone. OSError: it is no socket, or the process may not be looked into.
    """
    duplicate = _duplicate(process_of(listener, notification), as_int(notification.arguments[0]))
    try:
        _check_waiting(listener, notification)
        return socket.socket(fileno=duplicate)
    except (Gone, OSError):
        os.close(duplicate)
        raise


def address_of(listener: int, notification: Notification) -> bytes:
    """A copy of the address that is the call's second argument, with the length that is its third.

    Raises:
        Gone. OSError: EINVAL, EFAULT as the kernel has them; EACCES, EPERM where the process may not be looked into.
    """
    length = as_int(notification.arguments[2])
    if not 0 < length <= _MOST_ADDRESS:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    copied = memory_of(listener, notification, notification.arguments[1], length)
    if len(copied) != length:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return copied


def memory_of(listener: int, notification: Notification, address: int, size: int) -> bytes:
    """At most `size` bytes of the thread's memory; less where it ends.

    Raises:
        Gone. OSError: EFAULT; EACCES, EPERM where the process may not be looked into.
    """
    memory = os.open(f"/proc/{notification.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check_waiting(listener, notification)
        return os.pread(memory, size, address)
    except (OverflowError, OSError) as problem:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT)) from problem
    finally:
        os.close(memory)


def as_int(argument: int) -> int:
    """A register as the C int that the kernel takes it for, if the call takes one."""
    low = argument & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _check_waiting(listener: int, notification: Notification) -> None:
    if not is_waiting(listener, notification):
        raise Gone


def _send(listener: int, response: bytes) -> None:
    with suppress(OSError):  # ENOENT: nobody waits
        fcntl.ioctl(listener, _SEND, response)


def _duplicate(process: int, descriptor: int) -> int:
    held = os.pidfd_open(process)
    try:
        duplicate: int = _library().syscall(_PIDFD_GETFD, held, descriptor, 0)
    finally:
        os.close(held)
    if duplicate < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return duplicate


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
