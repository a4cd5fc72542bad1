"""What is loaded while the person types, and the first prompt, which is served before the protocol's SDK is there."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from acp_adapter.content import texts_of
from acp_adapter.jsonrpc import Incoming, logged_error
from acp_adapter.session import Ticket
from acp_adapter.transport import Transport
from acp_adapter.turn import Prompting
from agent_core.cancel import CancelToken
from agent_core.events import SaidPart
from tools.light_dataclass import complete_all, dataclass

if TYPE_CHECKING:
    from agent_core.factory import AgentFactory


# The first prompt, if it is plain text, and cancels, are served ahead of the protocol's SDK: to load that takes
# longer than all that such a prompt still needs. It is loaded while the model thinks.

log = logging.getLogger(__name__)

_END_SECONDS = 1.0


class AheadOfSdk:
    """Lives on the loop, from the server's start until the SDK receives the messages.

    Args:
        session_id: the session that the front door has opened, if it has.
        load: loads the SDK; called on a worker thread.
        run: runs a function on a worker thread.
        head_start: seconds that a prompt may come in, and has the interpreter to itself; then the SDK is loaded.
    """

    def __init__(
        self,
        transport: Transport,
        prompting: Prompting,
        session_id: str | None,
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
        self._needed = asyncio.Event()
        self._prompt: asyncio.Task[None] | None = None
        self._cancel: asyncio.Task[None] | None = None

    async def until_loaded(self) -> bool:
        """Serve what needs no SDK, and load it; False where the connection was over before that.

        Raises:
            Exception: it cannot be loaded. The prompt that ran meanwhile is answered.
        """
        serving, needed = asyncio.create_task(self._serve()), asyncio.create_task(self._needed.wait())
        try:
            await asyncio.wait({serving, needed}, timeout=self._head_start, return_when=asyncio.FIRST_COMPLETED)
            if _is_over(serving):
                return False
            loading = asyncio.create_task(self._loaded())
            await asyncio.wait({serving, loading}, return_when=asyncio.FIRST_COMPLETED)
            if _is_over(serving):
                loading.cancel()
                return False
            try:
                loading.result()
            except Exception:  # whatever it is, it is raised again: behind the answer that somebody waits for
                if self._prompt is not None:
                    await asyncio.wait({serving, self._prompt}, return_when=asyncio.FIRST_COMPLETED)
                raise
            return True
        finally:
            needed.cancel()
            serving.cancel()

    async def close(self) -> None:
        """The connection is over: nobody waits for what still runs."""
        running = self._running()
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_END_SECONDS)

    def _running(self) -> set[asyncio.Task[None]]:
        return {task for task in (self._prompt, self._cancel) if task is not None and not task.done()}

    async def _loaded(self) -> None:
        try:
            await self._run(self._load)
        except Exception:  # threads that load at once may meet half of a module
            log.info("the protocol's SDK could not be loaded; it is tried once more", exc_info=True)
            await self._run(self._load)

    async def _serve(self) -> None:
        """Take up what comes until something needs the SDK; behind that, only look for cancels and for the end."""
        while (message := await self._transport.peek()) is not None and self._takes(message):
            self._transport.inbox.take()
        self._needed.set()
        seen = 0
        while None not in (waiting := await self._transport.inbox.waiting(seen)):
            seen += len(waiting)
            if any(message is not None and self._is_cancel(message) for message in waiting):
                # It stays where it is: the prompts in front of it are still to come.
                self._begin_cancel()

    def _takes(self, message: Incoming) -> bool:
        if self._is_cancel(message):
            self._begin_cancel()
            return True
        if message["method"] != "session/prompt" or self._prompt is not None or not self._is_of_session(message):
            return False
        if (said := texts_of(message["params"])) is None:
            return False
        self._prompt = asyncio.create_task(self._answer(message, said))
        return True

    def _is_cancel(self, message: Incoming) -> bool:
        return message.get("method") == "session/cancel" and "id" not in message and self._is_of_session(message)

    def _is_of_session(self, message: Incoming) -> bool:
        return self._session_id is not None and message["params"].get("sessionId") == self._session_id

    def _begin_cancel(self) -> None:
        if self._session_id is not None and (self._cancel is None or self._cancel.done()):
            self._cancel = asyncio.create_task(self._prompting.cancel(self._session_id))

    async def _answer(self, message: Incoming, said: Sequence[SaidPart]) -> None:
        request_id, session_id = message["id"], message["params"]["sessionId"]
        try:
            answered = await self._prompting.answer(session_id, said, Ticket(request_id, CancelToken()))
            result = answered.result()
        except Exception as problem:  # noqa: BLE001 - the client is told
            self._transport.answer(request_id, error=logged_error(problem, "prompt"))
        else:
            self._transport.answer(request_id, result=result)


def _is_over(serving: asyncio.Task[None]) -> bool:
    """Whether the connection is. Raises what `serving` has raised."""
    if not serving.done():
        return False
    serving.result()
    return True


# What the first prompt needs, and then what its calls need.

_LOOKS = 10


@dataclass(slots=True)
class Warming:
    """Of one process, once.

    Attributes:
        executor: whose threads load.
        is_prompted: whether a prompt runs.
        look_again: is called when the first prompt has all it needs, `on_loaded` when all is loaded.
        pause: seconds until it is looked again whether a prompt that was sent at once is over; ten times at most.
    """

    factory: AgentFactory
    executor: Executor
    is_prompted: Callable[[], bool]
    on_loaded: Callable[[], None]
    look_again: Callable[[asyncio.AbstractEventLoop], None]
    pause: float = 0.1
    _begun: bool = False

    def begin(self, *, for_stored: bool = False) -> None:
        """Begin, if that was not done before. On the loop.

        Args:
            for_stored: the session that was opened is a stored one.
        """
        if not self._begun:
            self._begun = True
            self.executor.submit(self._for_the_prompt, asyncio.get_running_loop(), for_stored)

    def _for_the_prompt(self, loop: asyncio.AbstractEventLoop, for_stored: bool) -> None:
        try:
            self.factory.warm(for_stored=for_stored)
        except Exception:  # the first prompt meets it again, and tells it
            log.exception("what the first prompt needs could not be loaded")
        self.look_again(loop)
        _soon(loop, lambda: self._go_on(loop, _LOOKS))

    def _go_on(self, loop: asyncio.AbstractEventLoop, looks: int) -> None:
        """Whoever has prompted at once shares the interpreter with what is loaded: the prompt goes first."""
        if looks and self.is_prompted():
            loop.call_later(self.pause, self._go_on, loop, looks - 1)
            return
        with contextlib.suppress(RuntimeError):  # the process ends
            self.executor.submit(self._for_calls)

    def _for_calls(self) -> None:
        try:
            self.factory.warm_calls()
            from acp_adapter.sdk import rehearse_prompt  # noqa: PLC0415 - not before a prompt that was sent at once

            # Under a prompt, what is needed completes itself.
            if not self.is_prompted():
                rehearse_prompt()
                complete_all()
        except Exception:  # whoever needs it first meets it again
            log.exception("what the first calls need could not be loaded")
        self.on_loaded()


def _soon(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the connection is over
        loop.call_soon_threadsafe(function)
