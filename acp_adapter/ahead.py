"""What is served ahead of the protocol's SDK: the first prompt, if it is plain text, and cancels.

To load the SDK takes longer than all that such a prompt still needs. It is loaded while the model thinks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from acp_adapter.blocks import texts_of
from acp_adapter.errors import logged_error
from acp_adapter.jsonrpc import Incoming
from acp_adapter.prompting import Prompting
from acp_adapter.session import Ticket
from acp_adapter.transport import Transport
from agent_core.interrupt import CancelToken
from agent_core.prompt_parts import SaidPart


class AheadOfSdk:
    """Lives on the loop, from the server's start until the SDK receives the messages.

    Args:
        session_id: the session that the front door has opened; '' for none.
        load: loads the SDK; called on a worker thread.
        run: runs a function on a worker thread.
        head_start: seconds that the prompt has the interpreter to itself; by then its request is on the way.
    """

    def __init__(
        self,
        transport: Transport,
        prompting: Prompting,
        session_id: str,
        *,
        load: Callable[[], None],
        run: Callable[[Callable[[], None]], Awaitable[None]],
        head_start: float = 0.5,
    ) -> None:
        self._transport = transport
        self._prompting = prompting
        self._session_id = session_id
        self._load = load
        self._run = run
        self._head_start = head_start
        self._prompt: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def until_loaded(self) -> bool:
        """Serve what needs no SDK, and load it; False where the connection was over before that."""
        serving = asyncio.create_task(self._serve())
        try:
            await asyncio.sleep(0)  # what has come already is taken up
            if self._prompt is not None:
                await asyncio.wait({serving}, timeout=self._head_start)
            if _is_over(serving):
                return False
            loading = asyncio.ensure_future(self._run(self._load))
            await asyncio.wait({loading, serving}, return_when=asyncio.FIRST_COMPLETED)
            if _is_over(serving):
                return False
            await loading
            return True
        finally:
            serving.cancel()

    async def close(self) -> None:
        """The connection is over: nobody waits for what still runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self) -> bool:
        """Take up what comes until something needs the SDK; False at the end of the connection."""
        while (message := await self._transport.peek()) is not None:
            if (work := self._work_of(message)) is None:
                return True
            self._transport.take()
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if "id" in message:
                self._prompt = task
        return False

    def _work_of(self, message: Incoming) -> Coroutine[Any, Any, None] | None:
        method, params = message["method"], message["params"]
        if params.get("sessionId") != self._session_id:
            return None
        if method == "session/cancel" and "id" not in message:
            return self._prompting.cancel(self._session_id)
        if method != "session/prompt" or self._prompt is not None or (said := texts_of(params)) is None:
            return None
        return self._answer(message, said)

    async def _answer(self, message: Incoming, said: Sequence[SaidPart]) -> None:
        request_id = message["id"]
        try:
            answered = await self._prompting.answer(self._session_id, said, Ticket(request_id, CancelToken()))
        except Exception as problem:  # noqa: BLE001 - the client is told
            self._transport.answer(request_id, error=logged_error(problem, "prompt"))
        else:
            self._transport.answer(request_id, result=answered.result())


def _is_over(serving: asyncio.Task[bool]) -> bool:
    return serving.done() and not serving.result()
