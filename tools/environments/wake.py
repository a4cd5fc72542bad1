"""A way for any thread to wake one that sleeps in `poll`."""

from __future__ import annotations

import contextlib
import os
import threading


class WakePipe:
    """A pipe that becomes readable at `wake`. `close` may race with `wake`: a late one does nothing."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._open = True
        # Without it a late wake could write into whatever file has the number by then.
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """The descriptor to poll for reading."""
        return self._reader

    def wake(self) -> None:
        """Make the pipe readable, from then on."""
        with self._lock:
            if self._open:
                # Full means readable already.
                with contextlib.suppress(BlockingIOError):
                    os.write(self._writer, b"!")

    def close(self) -> None:
        """Give the descriptors back."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._reader)
                os.close(self._writer)
