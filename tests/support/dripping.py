"""A loopback server that sends its one answer piece by piece."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterable
from typing import Self

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


class Dripping:
    """Answers one request with these pieces, a moment after each other, until its client leaves or they are over."""

    def __init__(self, pieces: Iterable[bytes], pause: float = 0.01) -> None:
        self._pieces, self._pause = pieces, pause
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.left, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve, name="dripping")
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            with connection:
                connection.recv(65_536)
                self._drip(connection)

    def _drip(self, connection: socket.socket) -> None:
        try:
            for piece in self._pieces:
                connection.sendall(piece)
                if self._stopped.wait(self._pause):
                    return
        except OSError:
            self.left.set()
