"""Two network namespaces with a cable between them: this thread's, and another machine's."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

HERE, HERE_6 = "192.0.2.1", "2001:db8::1"
_THERE, _THERE_6 = "192.0.2.2", "2001:db8::2"
_NEW_NETWORK = 0x40000000
_CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])).close()
    print("reached")
except OSError as problem:
    print(type(problem).__name__)
"""


@dataclass(frozen=True)
class OtherMachine:
    """`process` lives on it."""

    process: int

    def connect(self, address: str, port: int, seconds: float) -> str:
        """ "reached", or the name of the error."""
        enter = ("nsenter", "-t", str(self.process), "-n", sys.executable, "-I", "-S", "-c", _CONNECT)
        ran = subprocess.run([*enter, address, str(port), str(seconds)], capture_output=True, check=True, timeout=30)
        return ran.stdout.decode().strip()


def on_one_of_two(work: Callable[[OtherMachine], None]) -> str:
    """Call `work` on a thread with a network of its own, and a cable to the other machine.

    Returns:
        '', or why this machine cannot have two networks.
    """
    found: list[BaseException | str] = []

    def run() -> None:
        try:
            with _cabled() as other:
                work(other)
        except _NotHereError as problem:
            found.append(str(problem))
        except BaseException as problem:  # noqa: BLE001 - raised below, where the test sees it
            found.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for each in found:
        if isinstance(each, BaseException):
            raise each
        return each
    return ""


class _NotHereError(Exception):
    pass


@contextmanager
def _cabled() -> Iterator[OtherMachine]:
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_NEW_NETWORK) != 0:
        raise _NotHereError(f"no network namespaces: {os.strerror(ctypes.get_errno())}")
    try:
        other = subprocess.Popen(["unshare", "-n", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as problem:
        raise _NotHereError(f"no unshare: {problem}") from problem
    with other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(b"there\n")
        other.stdin.flush()
        other.stdout.readline()  # now it is in its own
        pid = str(other.pid)
        _ip("link", "set", "lo", "up")
        _ip("link", "add", "cable0", "type", "veth", "peer", "name", "cable1", "netns", pid)
        _lay((), "cable0", HERE, HERE_6)
        _lay(("nsenter", "-t", pid, "-n"), "cable1", _THERE, _THERE_6)
        yield OtherMachine(other.pid)


def _lay(prefix: tuple[str, ...], name: str, four: str, six: str) -> None:
    _ip("addr", "add", f"{four}/24", "dev", name, prefix=prefix)
    _ip("addr", "add", f"{six}/64", "dev", name, "nodad", prefix=prefix)
    _ip("link", "set", name, "up", prefix=prefix)


def _ip(*arguments: str, prefix: tuple[str, ...] = ()) -> None:
    try:
        ran = subprocess.run([*prefix, "ip", *arguments], capture_output=True, check=False)
    except OSError as problem:
        raise _NotHereError(f"no ip: {problem}") from problem
    if ran.returncode:
        raise _NotHereError(f"ip {' '.join(arguments)}: {ran.stderr.decode().strip()}")
