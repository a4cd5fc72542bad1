"""What a server may want of us while it works for a call: a question to the person, a model's answer, the roots.

A wish travels to the thread that waits for the call, which can ask the person; a server for which no call runs gets
nothing. Used on the service loop, except `Wish.answer` and `Wish.refuse`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from agent_core.interrupt import CancelToken
from agent_core.mcp.specs import ServerSpec
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext
    from mcp_types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
    )

WishKind = Literal["ask", "sample"]

_MINUTE = 60.0
_MOST_WISHES = 20
_MOST_TOLD = 1_000
_REFUSED = -1  # MCP, sampling: the person has refused


class Wish:
    """Something that a server wants, until it has it.

    Attributes:
        params: of its request, as JSON.
        over: cancelled when nobody waits for it any more.
    """

    def __init__(self, kind: WishKind, params: Mapping[str, Any]) -> None:
        self.kind = kind
        self.params = params
        self.over = CancelToken()
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Mapping[str, Any] | str] = self._loop.create_future()

    def answer(self, result: Mapping[str, Any]) -> None:
        """Grant it; from any thread."""
        self._put(result)

    def refuse(self, reason: str) -> None:
        """Do not; `reason` is for the server."""
        self._put(reason)

    async def come_true(self) -> Mapping[str, Any] | str:
        """Wait for the answer as JSON, or the reason why there is none."""
        try:
            return await self._answer
        finally:
            self.over.cancel()

    def _put(self, value: Mapping[str, Any] | str) -> None:
        def put() -> None:
            if not self._answer.done():
                self._answer.set_result(value)

        self._loop.call_soon_threadsafe(put)


Events = SimpleQueue["str | Wish"]
"""What a call tells the thread that waits for it: words for its card, wishes; '' when it is over."""


@dataclass(eq=False, slots=True)
class RunningCall:
    """A call that a server works for; its time does not run while the person is asked.

    Attributes:
        told: so many words for the card have come.
        asked: so many wishes are open; `left`: of its time, in seconds, while there are some.
    """

    events: Events
    limit: asyncio.Timeout | None = None
    wishes: list[Wish] = field(default_factory=list)
    told: int = 0
    asked: int = 0
    left: float = 0.0

    def tell(self, words: str) -> None:
        """Words for its card; of a flood only the beginning is kept."""
        self.told += 1
        if self.told <= _MOST_TOLD:
            self.events.put(words)

    def end(self) -> None:
        """It is over: what the server still wants of it is not granted."""
        for wish in tuple(self.wishes):
            wish.over.cancel()
            wish.refuse("The call is over.")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the call's time, until nothing more is asked."""
        limit, now = self.limit, asyncio.get_running_loop().time
        if limit is None:
            yield
            return
        if not self.asked and (end := limit.when()) is not None:
            self.left = max(end - now(), 0.0)
            limit.reschedule(None)
        self.asked += 1
        try:
            yield
        finally:
            self.asked -= 1
            if not self.asked and not limit.expired():
                limit.reschedule(now() + self.left)


class Inbound:
    """Answers the requests of one server, by way of the call that it works for."""

    def __init__(
        self, spec: ServerSpec, roots: Sequence[Path], *, samples: bool, changed: Callable[[str], None]
    ) -> None:
        """Make it.

        Args:
            samples: there is a model that could be asked.
            changed: told of the method of a notification that a list has changed.
        """
        self._policy = spec.policy
        self._roots = tuple(roots)
        self.samples = samples and spec.policy.sampling != "off"
        self.asks = spec.policy.asks
        self._changed = changed
        self._running: list[RunningCall] = []
        self._sampled: deque[float] = deque()

    @contextmanager
    def serving(self, call: RunningCall) -> Iterator[RunningCall]:
        """The server works for this call."""
        self._running.append(call)
        try:
            yield call
        finally:
            self._running.remove(call)
            call.end()

    async def on_message(self, message: Any) -> None:
        """Take a notification."""
        method = getattr(message, "method", "")
        if isinstance(method, str) and method.endswith("list_changed"):
            self._changed(method)

    async def on_elicit(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK names it
        params: ElicitRequestParams,
    ) -> ElicitResult | ErrorData:
        """The server asks the person something."""
        from mcp_types import INVALID_REQUEST, ElicitResult, ErrorData  # noqa: PLC0415

        answer = await self._wish("ask", params.model_dump(by_alias=True, mode="json", exclude_none=True))
        if isinstance(answer, str):
            return ErrorData(code=INVALID_REQUEST, message=answer)
        return ElicitResult.model_validate(answer)

    async def on_sample(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK names it
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult | ErrorData:
        """The server wants a model's answer."""
        from mcp_types import CreateMessageResult, ErrorData  # noqa: PLC0415

        if not self._may_sample():
            return ErrorData(code=_REFUSED, message="Too many requests in a minute. Try again later.")
        answer = await self._wish("sample", params.model_dump(by_alias=True, mode="json", exclude_none=True))
        if isinstance(answer, str):
            return ErrorData(code=_REFUSED, message=answer)
        return CreateMessageResult.model_validate(answer)

    async def on_roots(self, context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG002 - the SDK names it
        """The server asks where the session works."""
        from mcp_types import ListRootsResult, Root  # noqa: PLC0415
        from pydantic import FileUrl  # noqa: PLC0415

        roots = [Root(uri=FileUrl(path.absolute().as_uri()), name=path.name or None) for path in self._roots]
        return ListRootsResult(roots=roots)

    async def _wish(self, kind: WishKind, params: Mapping[str, Any]) -> Mapping[str, Any] | str:
        if not self._running:
            return "This is possible only while a call of this server runs."
        # Which of several it is for, the protocol does not say.
        call, wish = self._running[-1], Wish(kind, params)
        if len(call.wishes) >= _MOST_WISHES:
            return "Too many requests at once. Wait for the answers to those that are open."
        call.wishes.append(wish)
        call.events.put(wish)
        try:
            with call.paused():
                return await wish.come_true()
        finally:
            call.wishes.remove(wish)

    def _may_sample(self) -> bool:
        now = time.monotonic()
        while self._sampled and now - self._sampled[0] >= _MINUTE:
            self._sampled.popleft()
        if len(self._sampled) >= self._policy.sampling_per_minute:
            return False
        self._sampled.append(now)
        return True
