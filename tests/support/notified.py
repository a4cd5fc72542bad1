"""Starts a program whose `connect` and `listen` wait for an answer, with nothing else of the sandbox around it."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

from tools.environments.sandbox.network.session_network import SessionNetwork, Watched
from tools.environments.sandbox.seccomp import why_not

WHY_NOT = why_not()
"""Why this machine cannot run such tests; '' if it can."""

_CALLS = {"x86_64": (317, (42, 50)), "aarch64": (277, (203, 201))}
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
_NO_NEW_PRIVS = 38
_SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5


def start_notified(
    network: SessionNetwork,
    arguments: Sequence[str],
    *,
    also: Sequence[int] = (),
    adopt: dict[str, Any] | None = None,
    **popen: Any,
) -> tuple[subprocess.Popen[bytes], Watched]:
    """A filter belongs to the thread that makes it, and to what that thread starts: so it is one of its own."""
    found: list[Any] = []

    def start() -> None:
        try:
            found.append(_filter(also))
            found.append(subprocess.Popen(arguments, **popen))
        except OSError as problem:
            found.append(problem)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    listener, process = found
    if isinstance(process, OSError):
        os.close(listener)
        raise process
    return process, network.adopt(listener, **(adopt or {}))


def _filter(also: Sequence[int]) -> int:
    seccomp, calls = _CALLS[platform.machine()]
    numbers = (*calls, *also)
    steps = [struct.pack("=HBBI", _LOAD, 0, 0, 0)]
    steps += [struct.pack("=HBBI", _IF_EQUAL, len(numbers) - at, 0, call) for at, call in enumerate(numbers)]
    steps += [struct.pack("=HBBI", _RETURN, 0, 0, _ALLOW), struct.pack("=HBBI", _RETURN, 0, 0, _NOTIFY)]
    code = ctypes.create_string_buffer(b"".join(steps))
    program = struct.pack("=HxxxxxxQ", len(steps), ctypes.addressof(code))
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    listener = int(library.syscall(seccomp, _SET_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return listener
