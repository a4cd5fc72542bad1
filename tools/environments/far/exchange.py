"""What a program on this machine prints while it takes its input, and no more than is asked for.

Whatever runs at its other end may be anything by now: it may print without an end.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import IO

MOST_BYTES = 257 * 1024 * 1024
"""The largest file that is fetched, and what is told of it."""

_MOST_COMPLAINT = 4_000
_PIECE = 65_536


class TooMuch(OSError):
    """It prints more than was asked for."""


def exchanged(
    process: subprocess.Popen[bytes], given: bytes, seconds: float, most: int = MOST_BYTES
) -> tuple[bytes, bytes]:
    """What the program prints, and the end of what it complains of (if that is a pipe), once it has ended.

    Args:
        given: its input, which is a pipe.
        most: bytes that it may print.

    Raises:
        subprocess.TimeoutExpired: it has not ended within `seconds`. TooMuch.
    """
    until = time.monotonic() + seconds
    printed, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        _register(selector, process, given)
        while selector.get_map():
            for key, _ in selector.select(max(0.0, until - time.monotonic())):
                if key.fileobj is process.stdin:
                    _give(selector, process.stdin, key.data)
                elif not (data := os.read(key.fd, _PIECE)):
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    printed += data
                    if len(printed) > most:
                        raise TooMuch(f"it prints more than {most:,} bytes")
                else:
                    complaint += data
                    del complaint[:-_MOST_COMPLAINT]
            if time.monotonic() >= until:
                raise subprocess.TimeoutExpired(process.args, seconds)
    process.wait(max(0.0, until - time.monotonic()))
    return bytes(printed), bytes(complaint)


def _register(selector: selectors.BaseSelector, process: subprocess.Popen[bytes], given: bytes) -> None:
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            selector.register(stream, selectors.EVENT_READ)
    if process.stdin is not None:
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE, [memoryview(given)])


def _give(selector: selectors.BaseSelector, stdin: IO[bytes], left: list[memoryview]) -> None:
    """Write what it takes just now; close it behind the last."""
    try:
        left[0] = left[0][os.write(stdin.fileno(), left[0][:_PIECE]) :]
    except BlockingIOError:
        return
    except BrokenPipeError:  # it wants no more
        left[0] = left[0][:0]
    if not left[0]:
        selector.unregister(stdin)
        stdin.close()
