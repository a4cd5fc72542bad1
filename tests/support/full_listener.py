"""A loopback port that takes no connection and refuses none."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def full_listener() -> Iterator[int]:
    """The port of a listener whose queue is full: on Linux another connection to it is never answered."""
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        # The queue takes one; it is there before the next one asks.
        opened.enter_context(socket.create_connection(listener.getsockname()))
        yield int(listener.getsockname()[1])
