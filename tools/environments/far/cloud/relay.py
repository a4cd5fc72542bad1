"""A program on this machine whose streams are those of a script in a sandbox, which only an SDK can reach.

All else of another machine is built on programs and their streams. So a small one carries bytes between its own
streams and a socket, and two threads here carry them between the socket and the SDK.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading

from tools.environments.child_env import bare_environment
from tools.environments.far.cloud.port import Wire
from tools.environments.far.machine import Streams

log = logging.getLogger(__name__)

_MOST = 65_536
_END_SECONDS = 10.0
# Two threads, since a script may want its output to be taken before it takes more input.
_PROGRAM = """
import os, socket, sys, threading
wire = socket.socket(fileno=int(sys.argv[1]))
def give():
    try:
        while data := os.read(0, 65536):
            wire.sendall(data)
    except OSError:
        pass
    try:
        wire.shutdown(socket.SHUT_WR)
    except OSError:
        pass
threading.Thread(target=give, daemon=True).start()
try:
    while data := wire.recv(65536):
        while data:
            data = data[os.write(1, data):]
except OSError:
    pass
os._exit(0)
"""


def relay(wire: Wire, streams: Streams) -> subprocess.Popen[bytes]:
    """The program, with a group of its own; it ends with the script, and the script with it.

    Where the connection breaks off it ends by a signal.

    Raises:
        OSError: it could not be started.
    """
    near, far = socket.socketpair()
    try:
        with far:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, str(far.fileno())],
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
                pass_fds=(far.fileno(),),
                env=bare_environment(os.environ),
                start_new_session=True,
            )
    except OSError:
        near.close()
        raise
    threading.Thread(target=_carry, args=(wire, near, process), name="a script in a sandbox", daemon=True).start()
    return process


def _carry(wire: Wire, near: socket.socket, process: subprocess.Popen[bytes]) -> None:
    giving = threading.Thread(target=_give, args=(wire, near), name="input of a script in a sandbox", daemon=True)
    giving.start()
    try:
        for chunk in wire.chunks():
            near.sendall(chunk)
    except OSError as problem:
        log.debug("a script in a sandbox ended early: %s", problem)
        _break(process)
    except Exception as problem:  # noqa: BLE001 - whatever the SDK raises, the connection is over
        log.info("the connection to a script in a sandbox broke off: %r", problem)
        _break(process)
    finally:
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)
        _quietly(wire.kill)
        giving.join(_END_SECONDS)
        near.close()


def _give(wire: Wire, near: socket.socket) -> None:
    """Carry the input, and see when the program is gone."""
    try:
        while data := near.recv(_MOST):
            wire.send(data)
    except Exception as problem:  # noqa: BLE001 - as above; its output tells how it ends
        log.debug("the input of a script in a sandbox ended early: %r", problem)
    _quietly(wire.end_input)
    gone = select.poll()
    gone.register(near, 0)  # a socket whose both ways are closed tells so unasked
    with contextlib.suppress(OSError):
        gone.poll()
    _quietly(wire.kill)


def _break(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)


def _quietly(end: object) -> None:
    if not callable(end):
        return
    try:
        end()
    except Exception as problem:  # noqa: BLE001 - whatever the SDK raises, there is nobody to tell
        log.debug("a script in a sandbox could not be ended: %r", problem)
