"""What worker threads ask the editor: its files, its terminals, and the person before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from acp_adapter.events import Outbox
from acp_adapter.jsonrpc import ClientGone, ClientRefused
from acp_adapter.projection import CardFields
from acp_adapter.transport import Transport
from tools.errors import ToolInterrupted
from tools.ports import Interrupt

_PERMISSION = "session/request_permission"


class EditorProblem(Exception):
    """The editor could not be asked, or gave no usable answer."""


class EditorRefused(EditorProblem):
    """The editor answered with an error. `code` is JSON-RPC's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"The editor answered with an error ({code}): {text}")
        self.code = code
        self.text = text


class EditorGone(EditorProblem):
    """The connection to the editor is over."""


class EditorSilent(EditorProblem):
    """The editor did not answer in time; the request was withdrawn."""


class EditorCalls:
    """The editor of one session, for worker threads."""

    def __init__(
        self,
        transport: Transport,
        loop: asyncio.AbstractEventLoop,
        session_id: str,
        outbox: Outbox,
        cards: CardFields,
    ) -> None:
        """Make it.

        Args:
            cards: puts what a permission question shows on the card.
        """
        self._transport = transport
        self._loop = loop
        self._session_id = session_id
        self._outbox = outbox
        self._cards = cards

    def call(
        self, method: str, params: Mapping[str, Any], interrupt: Interrupt, timeout: float | None = None
    ) -> dict[str, Any]:
        """Send a request about this session, and wait for its result; updates that were put before go first.

        Args:
            params: without `sessionId`, which is added.
            interrupt: the turn's; its cancel withdraws the request (ACP v1, `$/cancel_request`).
            timeout: seconds; None waits for ever.

        Returns:
            the result, an object; empty for null.

        Raises:
            EditorRefused, EditorGone, EditorSilent: there is no answer.
            ToolInterrupted: the turn is over.
        """
        if interrupt.is_set():  # nothing is asked for a turn that is over, not even to be withdrawn at once
            raise ToolInterrupted
        request = self._request(method, {"sessionId": self._session_id, **params}, interrupt)
        try:
            future = asyncio.run_coroutine_threadsafe(request, self._loop)
        except RuntimeError as problem:  # the loop is closed
            request.close()
            raise EditorGone(f"The connection is over; {method} was not asked.") from problem
        future.add_done_callback(lambda _: interrupt.notify())
        if not interrupt.wait_for(future.done, timeout):
            future.cancel()
            if interrupt.is_set():
                raise ToolInterrupted
            raise EditorSilent(f"The editor did not answer {method} within {timeout:g} seconds.")
        return _result(method, future)

    async def _request(self, method: str, params: Mapping[str, Any], interrupt: Interrupt) -> Any:
        # Withdrawn at once, whenever the worker wakes: the editor is not to show what nobody waits for.
        forget = interrupt.on_cancel(self._canceller())
        try:
            # The card that the request is about, and all that came before it, must be there when it comes.
            await self._outbox.drain()
            if interrupt.is_set():  # its withdrawal has not come here yet, and its card may have ended
                raise asyncio.CancelledError
            if method == _PERMISSION:
                update, card = self._cards.ask(params["toolCall"])
                if update is not None:
                    self._transport.notify("session/update", {"sessionId": self._session_id, "update": update})
                params = {**params, "toolCall": card}
            return await self._transport.request(method, params)
        finally:
            forget()

    def _canceller(self) -> Callable[[], None]:
        """Cancels the task that asks for it, from any thread."""
        task = asyncio.current_task()
        assert task is not None, "called by a coroutine"  # noqa: S101

        def cancel() -> None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(task.cancel)

        return cancel


def _result(method: str, future: Future[Any]) -> dict[str, Any]:
    try:
        result = future.result()
    except ClientRefused as problem:
        raise EditorRefused(problem.code, problem.text) from problem
    except ClientGone as problem:
        raise EditorGone(f"The editor left before it answered {method}.") from problem
    except CancelledError as problem:
        raise EditorGone(f"The connection ended before {method} was answered.") from problem
    if result is None:
        return {}
    if not isinstance(result, dict):
        raise EditorRefused(0, f"its answer to {method} is no object")
    return result
