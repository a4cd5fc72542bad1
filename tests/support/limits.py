"""What the system allows a process for a moment."""

from __future__ import annotations

import resource


class size_limit:  # noqa: N801 - reads as a verb
    """No file may grow over so many bytes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.before[1]))

    def __exit__(self, *_exc: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)
