"""Bodies of answers that a server may make as long as it likes: read up to a limit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2


class BoundedBody(httpx2.AsyncByteStream):
    """Passes on what `inner` gives, at most `most` bytes of it.

    Args:
        on_failure: called when there is more; reading fails then.
    """

    def __init__(self, inner: httpx2.AsyncByteStream, most: int, on_failure: Callable[[], None]) -> None:
        self._inner = inner
        self._left = most
        self._on_failure = on_failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                self._on_failure()
                raise httpx2.ReadError("the answer is too long")
            yield part

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()
