"""A descriptor that becomes readable when a child process has exited."""

from __future__ import annotations

import os
import subprocess
import threading


def open_exit_watch(process: subprocess.Popen[bytes]) -> int:
    """A descriptor to poll for reading; the caller closes it.

    The process is not reaped where the system allows that, so that its group's number stays its own meanwhile.
    """
    if hasattr(os, "pidfd_open"):
        try:
            return os.pidfd_open(process.pid)
        except OSError:
            # An old kernel or a sandbox that does not know the call: the thread serves as well.
            return _watching_thread(process)
    return _watching_thread(process)


def _watching_thread(process: subprocess.Popen[bytes]) -> int:
    reader, writer = os.pipe()

    def watch() -> None:
        try:
            _wait(process)
        finally:
            os.close(writer)  # the reader sees the end of the pipe

    threading.Thread(target=watch, name=f"exit of {process.pid}", daemon=True).start()
    return reader


def _wait(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()
