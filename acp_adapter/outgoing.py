"""Our own requests to the client while they are unanswered."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio  # not at run time: the first answer must not wait for it

log = logging.getLogger(__name__)

_INTERNAL_ERROR = -32603
_MOST_DATA_CHARS = 300


class ClientGone(ConnectionError):
    """The client cannot answer any more."""


class ClientRefused(Exception):
    """The client answered a request with an error. `code` is JSON-RPC's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class OutgoingRequests:
    """The futures of requests that were sent, by id. Made and settled from any thread; futures live on the loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._ended = False

    def open(self, future: asyncio.Future[Any]) -> int:
        """The id of a new request whose answer settles `future`.

        Raises:
            ClientGone: nobody will answer.
        """
        with self._lock:
            if self._ended:
                raise ClientGone("The client has closed its end; nothing can be asked any more.")
            request_id = next(self._ids)
            self._open[request_id] = future
            return request_id

    def forget(self, request_id: int) -> bool:
        """Whoever asked does not wait any more; True if there was no answer yet."""
        with self._lock:
            return self._open.pop(request_id, None) is not None

    def settle(self, message: Mapping[str, Any]) -> None:
        """Hand an answer to whoever waits for it, on the loop; one that nobody waits for is dropped."""
        with self._lock:
            future = self._open.pop(message["id"], None)
        if future is None:
            log.info("an answer came that nobody waits for (id %s)", message["id"])
            return
        _resolve(future, message)

    def end(self, on_loop: Callable[[Callable[[], None]], None]) -> None:
        """No more answers will come: whoever waits is told so."""
        with self._lock:
            self._ended = True
            waiting = list(self._open.values())
            self._open.clear()
        for future in waiting:
            on_loop(lambda future=future: _fail(future, ClientGone("The client has gone.")))  # type: ignore[misc]


def _resolve(future: asyncio.Future[Any], message: Mapping[str, Any]) -> None:
    error = message.get("error")
    if error is None:
        if not future.done():
            future.set_result(message.get("result"))
        return
    code = error.get("code")
    _fail(future, ClientRefused(code if isinstance(code, int) else _INTERNAL_ERROR, _text_of(error)))


def _text_of(error: Mapping[str, Any]) -> str:
    """The error's message, with its data where that is words: some clients say there what the matter is."""
    text, data = str(error.get("message")), error.get("data")
    if isinstance(data, Mapping):
        data = next((data[key] for key in ("details", "message", "error") if isinstance(data.get(key), str)), None)
    if not isinstance(data, str) or not data.strip() or data in text:
        return text
    return f"{text}: {data[:_MOST_DATA_CHARS]}"


def _fail(future: asyncio.Future[Any], problem: Exception) -> None:
    if not future.done():
        future.set_exception(problem)
