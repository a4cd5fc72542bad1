"""Signals that came just before a wait began are sent again: else they would be seen only once it is over."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

_SECONDS_TO_BE_HANDLED = 0.3


@contextmanager
def nudged(numbers: Collection[int], is_handled: Callable[[], bool]) -> Iterator[None]:
    """While the block runs, a signal of `numbers` is sent to the main thread until it `is_handled`. Main thread only.

    A line editor that is about to wait for a key does not see that a signal has come; a handler in Python runs only
    once that wait is over.
    """
    if not hasattr(signal, "pthread_kill"):
        yield
        return
    hears, tells = socket.socketpair()
    tells.setblocking(False)
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    main = threading.get_ident()

    def work() -> None:
        while came := hears.recv(1):
            if came[0] not in numbers:
                continue
            time.sleep(_SECONDS_TO_BE_HANDLED)
            if not is_handled():
                signal.pthread_kill(main, came[0])  # which is told to us again

    thread = threading.Thread(target=work, name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        tells.close()
        thread.join()
        hears.close()
