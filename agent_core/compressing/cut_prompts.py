"""Notices a server that silently cuts prompts to its window: it counts far fewer tokens than it was sent.

Counts are not to be trusted blindly: estimates err, some servers leave out what their cache had, and images count
differently everywhere. So only what nothing else explains is called cut.
"""

from __future__ import annotations

from dataclasses import field

from agent_core.context.estimate import message_tokens
from agent_core.messages import Message
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice, ServedWindow
from tools.light_dataclass import dataclass

_LEAST_COUNT, _LEAST_SENT = 512, 3_000
_ESTIMATE_ERRS, _FITS = 1.1, 1.02
_FAR_FEWER = 0.5
_NEW_MAY_COUNT, _ADDED_BY_SERVER = 2.0, 1_000
_SAME, _GREW = 16, 500
_ENOUGH_DOUBTS = 2


@dataclass(frozen=True, slots=True)
class Counted:
    """A request that was answered.

    Attributes:
        sent: tokens that it was, estimated without what its server's counts have taught.
        new: of these, tokens that the server cannot have had in its cache; None where that is not known.
        count: what the server said; 0 for nothing.
    """

    model: str
    messages: tuple[Message, ...]
    sent: float
    new: float | None
    count: int


@dataclass(slots=True)
class CutPrompts:
    """What a session has seen of its servers' counts.

    Attributes:
        last: the request that was answered last.
        told: the person knows; once a session is enough.
    """

    last: Counted | None = None
    told: bool = False
    _before: dict[str, Counted] = field(default_factory=dict)
    _doubts: int = 0

    def counted(self, choice: ModelChoice, request: ModelRequest, usage: Usage, sent: float) -> None:
        """A request has its answer; `sent` is the estimate of all of it."""
        if self.last is not None:
            self._before[self.last.model] = self.last
        messages = tuple(request.messages)
        self.last = Counted(choice.name, messages, sent, self._new(choice.name, messages), _count(usage))

    def is_cut(self, window: int | None) -> bool:
        """Whether the server has read only a part of the last request.

        Args:
            window: of its model; None where it is not known.
        """
        now = self.last
        if now is None or now.count < _LEAST_COUNT or now.sent < _LEAST_SENT or _has_attachment(now.messages):
            return False
        if window is not None and now.count <= _FITS * window and now.sent > _ESTIMATE_ERRS * window:
            return True
        if now.new is None:
            return False
        if now.count < _FAR_FEWER * now.new:
            return True
        before = self._before.get(now.model)
        if before is not None and abs(now.count - before.count) <= _SAME and now.new >= _GREW:
            return True  # as much as before, though there is more
        # Too few for all of it, and too many for what was new alone. Once may be a cache that was lost in part.
        if now.count < _FAR_FEWER * now.sent and now.count > _NEW_MAY_COUNT * now.new + _ADDED_BY_SERVER:
            self._doubts += 1
        return self._doubts >= _ENOUGH_DOUBTS

    def words(self, choice: ModelChoice, served: ServedWindow | None) -> str:
        """A message to the person about the last request, with what to type."""
        from agent_core.providers.model_windows import advice  # noqa: PLC0415 - few servers cut

        self.told = True
        window, sent, count = choice.context_length, 0.0 if self.last is None else self.last.sent, self._last_count
        its = f"its window of {window:,} tokens" if window else "its window"
        known = served if served is not None and served.kind else ServedWindow(choice.provider)
        return (
            f"{choice.endpoint} has read only {count:,} of about {round(sent, -2):,.0f} tokens: it cuts what does "
            f"not fit into {its}, without saying so, and {choice.model} does not know what was in there. "
            f"{advice(known, choice.model, round(sent))}"
        )

    @property
    def _last_count(self) -> int:
        return 0 if self.last is None else self.last.count

    def _new(self, model: str, messages: tuple[Message, ...]) -> float | None:
        before = self._before.get(model)
        if before is None:
            # Of a session that goes on in a new process, the server may still have everything.
            return None if len(messages) > 2 else sum(map(message_tokens, messages[1:]))  # noqa: PLR2004
        if messages[: len(before.messages)] != before.messages:
            return None
        return sum(map(message_tokens, messages[len(before.messages) :]))


def _count(usage: Usage) -> int:
    given = usage.input_tokens or 0
    beside = (usage.cached_tokens or 0) + (usage.written_tokens or 0)
    return given + beside if beside > given else given


def _has_attachment(messages: tuple[Message, ...]) -> bool:
    return any(
        part["type"] != "text"
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
    )
