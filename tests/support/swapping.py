"""A process that swaps two names as fast as it can: what a hostile one would do while files are read and written."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(one: Path, other: Path) -> None:
    """Swap what is at two paths, in one step.

    Raises:
        OSError: there is nothing at one of them, or the system cannot do it.
    """
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Meanwhile each of the two is now at its own place, now at the other's. At the end they are where they were."""
    command = [sys.executable, "-S", "-m", "tests.support.swapping", str(one), str(other)]
    here = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"begins\n"
            yield
        finally:
            process.stdin.close()
            process.wait()


def _swap_until_the_end_of_stdin(one: Path, other: Path) -> None:
    sys.stdout.write("begins\n")
    sys.stdout.flush()
    os.set_blocking(0, False)
    while True:
        for _ in range(20):
            exchange(one, other)
        try:
            if not os.read(0, 1):
                return
        except BlockingIOError:
            continue


if __name__ == "__main__":
    _swap_until_the_end_of_stdin(Path(sys.argv[1]), Path(sys.argv[2]))
