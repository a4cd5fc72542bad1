"""One turn while it runs: what it adds to the conversation, what the person says meanwhile, and what it came to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Literal, TypedDict

from agent_core.callbacks import AgentCallbacks, Status
from agent_core.cancel import CancelToken
from agent_core.compaction.engine import Compaction
from agent_core.errors import TurnInterrupted
from agent_core.guardrails import Repeats
from agent_core.hooks.session_hooks import SessionHooks
from agent_core.messages import (
    INTERRUPTED_TURN,
    Content,
    Message,
    assistant_message,
    closing,
    holds_others_words,
    repaired,
    unanswered,
    user_message,
)
from agent_core.model_request.fallback_chain import Route, TurnRoute
from agent_core.providers.base import FinishReason, Usage
from agent_core.sessions.records import PromptLeft
from agent_core.sessions.store import SessionStore
from agent_core.verification import LooseEnds
from tools.approval.approvals import Approvals
from tools.light_dataclass import dataclass

# What a turn came to.

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]

STOP: dict[FinishReason, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "end_turn",
    "length": "max_tokens",
    "oversized": "max_tokens",
    "refusal": "refusal",
    "unknown": "end_turn",
}


class TurnUsage(TypedDict):
    """Tokens of all requests of a turn; what a provider does not say counts as 0."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int


class ConversationResult(TypedDict):
    """What a turn came to.

    `messages` is the whole conversation without the system prompt, `model` the one that answered last, `cost` what
    the turn cost in US dollars, None where a price or a count is not known.
    """

    final_response: str
    messages: list[Message]
    usage: TurnUsage
    cost: float | None
    stop_reason: StopReason
    interrupted: bool
    iterations: int
    model: str
    turn_id: str


def no_usage() -> TurnUsage:
    """Nothing yet."""
    return TurnUsage(input_tokens=0, output_tokens=0, cached_tokens=0, reasoning_tokens=0)


def add_usage(total: TurnUsage, usage: Usage) -> None:
    """Add a request's tokens."""
    total["input_tokens"] += usage.input_tokens or 0
    total["output_tokens"] += usage.output_tokens or 0
    total["cached_tokens"] += usage.cached_tokens or 0
    total["reasoning_tokens"] += usage.reasoning_tokens or 0


def never_begun(messages: list[Message], model: str, turn_id: str) -> ConversationResult:
    """A turn that was given up before it began: it must not take the place of one that runs now."""
    return ConversationResult(
        final_response="",
        messages=messages,
        usage=no_usage(),
        cost=None,
        stop_reason="cancelled",
        interrupted=True,
        iterations=0,
        model=model,
        turn_id=turn_id,
    )


# How many model requests a turn may make.

PROGRAMMATIC = frozenset({"execute_code"})
"""Tools whose calls are programs that call other tools: an answer of nothing else gives its request back."""

_LAST_PART = 10


@dataclass(slots=True)
class IterationBudget:
    """Counts a turn's model requests against `limit`. Safe to use from several threads."""

    limit: int
    used: int = 0
    _refunded: int = 0
    _has_warned: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def left(self) -> int:
        """Requests that may still be made."""
        return self.limit - self.used

    def spend(self) -> bool:
        """Take one request; False when none is left."""
        with self._lock:
            if self.used >= self.limit:
                return False
            self.used += 1
            return True

    def refund(self) -> bool:
        """Give a request back that was spent; False, and nothing happens, where none was, or `limit` were given back.

        So a turn ends, whatever is given back: after twice `limit` requests at the latest.
        """
        with self._lock:
            if not self.used or self._refunded >= self.limit:
                return False
            self.used -= 1
            self._refunded += 1
            return True

    def warning(self) -> str:
        """What the model is to be told once, when a tenth of the requests is left; else ''."""
        with self._lock:
            left = self.limit - self.used
            if self._has_warned or not 0 < left <= self.limit // _LAST_PART:
                return ""
            self._has_warned = True
        are = "request is" if left == 1 else "requests are"
        return (
            f"{left} of this turn's {self.limit} model {are} left. Finish what you have begun, leave nothing half "
            "changed, and tell the user what remains to be done."
        )


# What the person says while a turn runs, on its way to the model.


class Steering:
    """The words of one turn that the model has not been told yet. Put from any thread, taken by the turn's worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: list[str] = []
        self._closed = False

    def put(self, text: str) -> bool:
        """Add words; False, and nothing happens, once the turn takes none any more."""
        with self._lock:
            if not self._closed:
                self._words.append(text)
            return not self._closed

    def take(self) -> str:
        """The words so far, '' if there are none; each is given once."""
        with self._lock:
            words, self._words = self._words, []
        return "\n\n".join(words)

    def take_or_close(self) -> str:
        """As `take`; where there are none, none are taken from now on: the turn may end."""
        with self._lock:
            words, self._words = self._words, []
            self._closed = self._closed or not words
        return "\n\n".join(words)

    def close(self) -> str:
        """Take no more; the words that the model was never told."""
        with self._lock:
            words, self._words = self._words, []
            self._closed = True
        return "\n\n".join(words)


# A session's history as every server takes it, from turn to turn: each message is looked at once.


@dataclass(slots=True)
class SoundHistory:
    """Takes a session's messages up when a turn begins. Used by one turn at a time."""

    _sound: list[Message] = field(default_factory=list)

    def take_up(self, messages: Sequence[Message], call_ids: set[str]) -> list[Message]:
        """The messages, repaired; a list of one's own.

        Args:
            call_ids: gets the ids of the calls in messages that were not seen before.
        """
        known = len(self._sound)
        if list(messages[:known]) != self._sound:
            known = 0
        # Those that are known themselves, where they were read anew: what was made of them is found by them.
        whole = repaired([*self._sound[:known], *messages[known:]], known)
        self._sound = [] if unanswered(whole) else whole.copy()
        for message in whole[known:]:
            for call in message.get("tool_calls", ()):
                call_ids.add(call["id"])
        return whole


# What one turn adds to the conversation: each message is stored before anything is done about it.


@dataclass(slots=True)
class TurnHistory:
    """The conversation as the turn sees it.

    Attributes:
        messages: all of it, without the system prompt.
        start: how many of them were there before the turn.
        token: the turn's.
        on_trouble: is told when storing fails, and when it works again.
        withdrawn: what of the turn the model is not shown again.
        broken_off: the text of the last answer as far as the person has seen it, while no message has it.
        approvals: know whether the session has read what others wrote, which is kept with its messages.
    """

    store: SessionStore
    session_id: str
    turn_id: str
    messages: list[Message]
    start: int
    token: CancelToken = field(default_factory=CancelToken)
    listener: Callable[[Message], None] | None = None
    on_trouble: Callable[[Status], None] | None = None
    withdrawn: tuple[Message, ...] = ()
    broken_off: str = ""
    approvals: Approvals | None = None
    _trouble: str = ""

    def remember(self, message: Message) -> None:
        """Store a message.

        Raises:
            TurnInterrupted: another turn has taken this one's place.
        """
        self._mark(message)
        if not self.store.append(self.session_id, self.turn_id, message):
            raise TurnInterrupted
        self.tell_trouble()
        self.messages.append(message)
        if message["role"] == "assistant":
            self.broken_off = ""
        if self.listener is not None:
            self.listener(message)

    def tell_trouble(self) -> None:
        """Tell what was found damaged, and whether storing has begun to fail or works again, since this was told."""
        if self.on_trouble is not None and (damage := self.store.take_damage(self.session_id)):
            self.on_trouble(Status("storage", damage))
        trouble = self.store.trouble(self.session_id)
        if trouble == self._trouble:
            return
        if bool(trouble) != bool(self._trouble):
            self._tell(trouble or "The conversation is being saved again.")
        self._trouble = trouble

    def _tell(self, text: str) -> None:
        if self.on_trouble is not None:
            self.on_trouble(Status("storage", text))

    def close_off(self, note: str) -> None:
        """Make the history end well: open calls get a result, the assistant has the last word."""
        self._close(closing(self.messages, note, self.broken_off))
        self.broken_off = ""

    def _close(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if self.store.append(self.session_id, self.turn_id, message):
                self.messages.append(message)

    def close_earlier(self) -> None:
        """The same at the turn's begin: an earlier one may have been left in the middle."""
        self._close(self._closing_earlier())

    def _closing_earlier(self) -> list[Message]:
        if not closing(self.messages, INTERRUPTED_TURN):
            return []
        return closing(self.messages, INTERRUPTED_TURN, self.store.answer_left(self.session_id, self.turn_id))

    def catch_up(self, left: PromptLeft, beside: str) -> None:
        """Tell the model what was said in a turn that ended before it was told, in front of all that this one says.

        Args:
            beside: what it is told beside that, '' for nothing.

        Raises:
            TurnInterrupted: another turn has taken this one's place.
        """
        messages = [
            *self._closing_earlier(),
            user_message(left.content, beside),
            assistant_message(INTERRUPTED_TURN),
        ]
        for message in messages:
            self._mark(message)
        if not self.store.tell_left(self.session_id, self.turn_id, left, messages):
            raise TurnInterrupted
        self.messages += messages
        self.start = len(self.messages)

    def withdraw(self) -> None:
        """Take the turn out of what the model is shown from now on; the store keeps it."""
        if self.store.withdraw(self.session_id, self.turn_id):
            self.broken_off = ""
            self.withdrawn = tuple(self.messages[self.start :])
            del self.messages[self.start :]

    def _mark(self, message: Message) -> None:
        """Keep with a message, if it is of the user's side, that what others wrote was read by now."""
        if self.approvals is None or message["role"] == "assistant":
            return
        if not self.approvals.has_read_others and holds_others_words(message):
            self.approvals.note_others()
        if self.approvals.has_read_others:
            message["others"] = True

    def answered(self) -> bool:
        """Whether the model has said anything since the person's last message."""
        for message in reversed(self.messages):
            if message["role"] == "user" and not message.get("injected"):
                return False
            if message["role"] == "assistant" and not message.get("unfinished"):
                return True
        return False


def remember_prompt(
    history: TurnHistory, content: Content, complete: Callable[[], Content] | None, note: Callable[[], str]
) -> None:
    """Put the person's message into the history: completed, or as it is where completing it was broken off.

    Args:
        complete: makes what the model gets of it; None where it is complete.
        note: what the model is told beside it, '' for nothing.

    Raises:
        TurnInterrupted: completing it was broken off.
    """
    try:
        content = content if complete is None else complete()
    finally:
        history.remember(user_message(content, note()))


@dataclass(slots=True)
class Turn:
    """What one turn has to hand.

    Attributes:
        task_id: names the turn's work for tools.
        platform: where the person is, as hooks are told.
        system: the system prompt.
        planned: the route that `route` was begun on.
        cost: US dollars so far; None once a price or a count was not known.
        continuations: how often the model was asked to go on at the output limit.
        keeps: stores a compression of the history; None where the history is not the stored one.
        repeats: what the model does again and again.
        began: seconds since the epoch.
        closing: the budget is spent, and the model is asked for its last words alone.
        told_unread: the model was told that a tool call in its text cannot be read.
        loose_ends: what it would leave undone if it ended now.
        renew: builds the system prompt again, for a window of another size; None where it is not the agent's own.
    """

    id: str
    task_id: str
    system: str
    token: CancelToken
    budget: IterationBudget
    history: TurnHistory
    planned: Route
    route: TurnRoute
    callbacks: AgentCallbacks
    hooks: SessionHooks
    platform: str
    keeps: Callable[[Compaction], bool] | None = None
    usage: TurnUsage = field(default_factory=no_usage)
    cost: float | None = 0.0
    continuations: int = 0
    closing: bool = False
    began: float = field(default_factory=time.time)
    steering: Steering = field(default_factory=Steering)
    repeats: Repeats = field(default_factory=Repeats)
    told_unread: bool = False
    loose_ends: LooseEnds = field(default_factory=LooseEnds)
    renew: Callable[[], str] | None = None

    def count(self, usage: Usage, cost: float | None) -> None:
        """Add what one request used."""
        add_usage(self.usage, usage)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
