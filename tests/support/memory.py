"""How much memory something keeps."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def memory_kept() -> Iterator[Callable[[], int]]:
    """Tells how many bytes more are in use than at the block's beginning."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield lambda: tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
