"""The client's requests while they are unanswered, and how much of them and of their answers there may be.

Whoever sends faster than we work is read more slowly; whoever reads no answers is not read on. What comes without an
id (a cancel) and the client's answers to us are never held up here: a client that reads comes through with both.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from acp_adapter.errors import INVALID_REQUEST
from acp_adapter.jsonrpc import Rejected, RequestId
from tools.light_dataclass import dataclass

_PROMPT = "session/prompt"
_LOOK_SECONDS = 0.5
_ANSWER_OVERHEAD = 100
_BUSY = "Too much waits for an answer: {}. Wait for some of it{}, then send this again."


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be under way.

    Attributes:
        requests, request_bytes: what is unanswered, but for prompts; beyond that reading waits. One is always let in.
        patience: seconds that it waits for an answer to any of them; then requests are refused.
        prompts, prompt_bytes: unanswered prompts; more are refused. Reading must not wait for these, because they may
            wait for what the client says next.
        unread_bytes: answers that the client has not read; beyond that its requests are not read either.
    """

    requests: int = 256
    request_bytes: int = 64 << 20
    patience: float = 10.0
    prompts: int = 1024
    prompt_bytes: int = 256 << 20
    unread_bytes: int = 16 << 20


class IncomingRequests:
    """What the client has asked and was not answered, by id. Safe for threads; one of them reads, and may be held."""

    def __init__(self, is_hung_up: Callable[[], bool], limits: Limits | None = None) -> None:
        """Make it.

        Args:
            is_hung_up: whether the client will send nothing any more. Then nothing is held: what is left is little,
                and behind it stands the end.
        """
        self._is_hung_up = is_hung_up
        self._limits = limits or Limits()
        self._condition = threading.Condition()
        self._open: dict[RequestId, tuple[bool, int]] = {}
        self._counts, self._bytes = [0, 0], [0, 0]  # of others, of prompts
        self._cancelled: set[RequestId] = set()
        self._after_answer: dict[RequestId, list[Callable[[], None]]] = {}
        self._unread: deque[tuple[int, int]] = deque()
        self._unread_bytes = 0
        self._is_stuck = False
        self._is_over = False

    @property
    def is_empty(self) -> bool:
        """Whether all is answered."""
        return not self._open

    def open(self, request_id: RequestId, method: str, size: int) -> Rejected | None:
        """Let a request of `size` bytes in, once there is room for it; else how it is to be answered."""
        is_prompt = method == _PROMPT
        with self._condition:
            if request_id in self._open:
                return Rejected(request_id, INVALID_REQUEST, "The id is in use by a request that is still running.")
            refused = self._refuse_prompt(size) if is_prompt else self._wait_for_place(size)
            if refused is not None:
                return Rejected(request_id, INVALID_REQUEST, refused)
            self._open[request_id] = is_prompt, size
            self._counts[is_prompt] += 1
            self._bytes[is_prompt] += size
        return None

    def wait_for_reader(self) -> None:
        """Wait while the client leaves too many answers unread. What makes another answer comes behind this."""
        if self._unread_bytes <= self._limits.unread_bytes:
            return
        with self._condition:
            self._held(lambda: self._unread_bytes <= self._limits.unread_bytes)

    def note_answer(self, end: int, size: int) -> None:
        """An answer of `size` bytes is queued, up to the position `end` of what is written."""
        with self._condition:
            self._unread.append((end, size + _ANSWER_OVERHEAD))
            self._unread_bytes += size + _ANSWER_OVERHEAD

    def note_written(self, reached: float) -> None:
        """All up to a position is written."""
        if not self._unread:
            return
        with self._condition:
            while self._unread and self._unread[0][0] <= reached:
                self._unread_bytes -= self._unread.popleft()[1]
            self._condition.notify_all()

    def settle(self, request_id: RequestId) -> list[Callable[[], None]]:
        """A request is answered; what is to be called now."""
        with self._condition:
            known = self._open.pop(request_id, None)
            if known is not None:
                is_prompt, size = known
                self._counts[is_prompt] -= 1
                self._bytes[is_prompt] -= size
                self._is_stuck = self._is_stuck and is_prompt
                self._condition.notify_all()
            self._cancelled.discard(request_id)
            return self._after_answer.pop(request_id, [])

    def after_answer(self, request_id: RequestId, callback: Callable[[], None]) -> bool:
        """Have `settle` return `callback`; False where no such request is unanswered."""
        with self._condition:
            if request_id not in self._open:
                return False
            self._after_answer.setdefault(request_id, []).append(callback)
            return True

    def cancel(self, request_id: RequestId) -> bool:
        """Remember that the client has cancelled it; False where that is known, or it is answered."""
        with self._condition:
            if request_id not in self._open or request_id in self._cancelled:
                return False
            self._cancelled.add(request_id)
            return True

    def is_cancelled(self, request_id: RequestId) -> bool:
        """Whether the client has cancelled it, and it is not answered."""
        return request_id in self._cancelled

    def end(self) -> None:
        """The connection is over: nobody is held any more."""
        with self._condition:
            self._is_over = True
            self._condition.notify_all()

    def _refuse_prompt(self, size: int) -> str | None:
        count, limits = self._counts[True], self._limits
        if not count or (count < limits.prompts and self._bytes[True] + size <= limits.prompt_bytes):
            return None
        return _BUSY.format(f"{count} prompts of {self._bytes[True]:,} bytes", ", or cancel some")

    def _wait_for_place(self, size: int) -> str | None:
        limits = self._limits

        def has_place() -> bool:
            count = self._counts[False]
            return not count or (count < limits.requests and self._bytes[False] + size <= limits.request_bytes)

        if has_place() or (not self._is_stuck and self._held(has_place, limits.patience)):
            return None
        self._is_stuck = True
        return _BUSY.format(f"{self._counts[False]} requests, and none was answered for long", "")

    def _held(self, is_free: Callable[[], bool], patience: float = float("inf")) -> bool:
        """Wait until it is free; whether to go on."""
        waited = 0.0
        while not (self._condition.wait_for(lambda: is_free() or self._is_over, _LOOK_SECONDS) or self._is_hung_up()):
            waited += _LOOK_SECONDS
            if waited >= patience:
                return False
        return True
