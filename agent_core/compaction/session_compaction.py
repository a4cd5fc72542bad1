"""When a session's history is compressed, what becomes of it, and who is told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from agent_core.callbacks import CompressionStep, Status
from agent_core.cancel import CancelToken
from agent_core.compaction.engine import (
    Compaction,
    CompactionReason,
    CompressionRequest,
    ContextEngine,
    Prose,
    WindowUse,
    is_possible,
)
from agent_core.compaction.tokens import TokenMeter
from agent_core.compaction.view import last_words, shown
from agent_core.errors import TurnInterrupted
from agent_core.messages import Message, repaired, text_of, user_message
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice
from agent_core.services import SessionServices
from agent_core.turn import TurnHistory
from tools.light_dataclass import dataclass

# One compression, from the flush of the session's memory to the stored outcome.
# Nothing is used before it is stored, and nothing is stored that no model could be shown: an engine may be anyone's.

log = logging.getLogger(__name__)

Measure = Callable[[Sequence[Message]], int]

_BROKE = (
    "The conversation could not be compressed: the engine {name!r} failed. The log has the details; "
    "`compression.engine: compressor` in the settings brings the usual one back."
)


@dataclass(frozen=True, slots=True)
class CompressionListeners:
    """Who is told of a compression.

    Attributes:
        step: how far it is.
        status: what the person should know.
        count: tokens and US dollars that its summary took; None where a price or a count is not known.
    """

    step: Callable[[CompressionStep], None] | None = None
    status: Callable[[Status], None] | None = None
    count: Callable[[Usage, float | None], None] | None = None


@dataclass(slots=True)
class SessionCompression:
    """Compresses for one turn, or for one command of the person.

    Attributes:
        keep: stores a compression before it is used; False where this turn may not store any more.
        forget_files: the model is not shown any more what it has read.
    """

    services: SessionServices
    engine: ContextEngine
    keep: Callable[[Compaction], bool]
    forget_files: Callable[[], None]
    token: CancelToken
    listeners: CompressionListeners
    _is_told: bool = False
    _is_broken: bool = False

    def is_due(self, use: WindowUse, *, switched: bool) -> bool:
        """Whether the engine would compress ahead of the next request.

        Args:
            switched: another model is asked from now on.
        """
        try:
            if switched:
                self.engine.switched(use.window)
            return bool(self.engine.is_due(use))
        except Exception:  # an engine may be anyone's
            log.exception("the context engine %s failed", self.engine.name)
            self._broke()
            return False

    def compress(
        self, messages: Sequence[Message], use: WindowUse, measure: Measure, reason: CompactionReason, topic: str = ""
    ) -> Compaction | None:
        """Compress, store it, and have it in effect; None where nothing can be made smaller.

        Args:
            measure: tokens of messages, for the model that is asked next.

        Raises:
            TurnInterrupted: it was cancelled, or the turn may store nothing any more. Nothing was changed.
        """
        services = self.services
        request = CompressionRequest(
            messages, services.compaction, use, measure, reason, topic, services.plan, services.summary_window()
        )
        try:
            if services.before_compression is not None:
                # What is worth keeping for ever goes to the memory while it is still in view.
                services.before_compression(request)
        except TurnInterrupted:
            raise
        except Exception:  # a memory that fails must not keep the conversation from going on
            log.exception("the memory was not flushed before a compression")
        problem = "There is nothing left that could be made smaller."
        try:
            made = self.engine.compress(request, lambda asked: self._summarise(asked, use.window))
            if made is not None and not self._is_smaller(request, made.compaction):
                made = None
        except TurnInterrupted:
            self._end(CompressionStep("cancelled"))
            raise
        except Exception:  # an engine may be anyone's
            log.exception("the context engine %s failed", self.engine.name)
            made, problem = None, self._broke()
        if made is None:
            self._end(CompressionStep("failed", error=problem))
            return None
        if self.token.is_set():
            self._tell(CompressionStep("cancelled"))
            raise TurnInterrupted
        self._is_told = False
        # Told first: what is shown of it is stored together with it.
        compaction, cost = made.compaction, services.spent.cost
        self._tell(CompressionStep("done", compaction, window=use.window, session_cost=cost))
        if not self.keep(compaction):
            raise TurnInterrupted
        services.compaction = compaction
        services.prefix.expect("compression")
        self.forget_files()
        if made.warning:
            self.say(made.warning)
        return compaction

    def _is_smaller(self, request: CompressionRequest, made: Compaction) -> bool:
        """Whether it gains anything.

        Raises:
            ValueError: no model could be shown it, or the person's last message is not in it.
        """
        messages, omissions = request.messages, self.services.omissions
        if not is_possible(made, len(messages)):
            raise ValueError("a compression that says nothing of this history")
        words = last_words(messages)
        if words is not None and not (words < made.head or words >= made.up_to or words in made.kept):
            raise ValueError("a compression without the person's last message")
        before, view = shown(messages, omissions, self.services.compaction), shown(messages, omissions, made)
        begins = {message["role"] for message in view[:1]}
        if repaired(view) != list(view) or not begins <= {"user", before[0]["role"]}:
            raise ValueError("a compression that no server would take")
        return request.measure(view) < request.measure(before)

    def _broke(self) -> str:
        """The engine went wrong: the person learns of it, once; the words."""
        text = _BROKE.format(name=self.engine.name)
        if not self._is_broken:
            self.say(text)
        self._is_broken = True
        return text

    def _summarise(self, messages: Sequence[Message], window: int) -> Prose | None:
        """What a model writes. It may take seconds, so the person is told before."""
        if self.services.summarise is None:
            return None
        if not self._is_told:
            self._tell(CompressionStep("running", window=window))
            self._is_told = True
        self.services.activity.turn("compressing")
        answer = self.services.summarise(messages, self.token)
        if answer is None:
            return None
        if self.listeners.count is not None:
            self.listeners.count(answer.usage, answer.cost)
        return Prose(answer.text, answer.model)

    def _end(self, step: CompressionStep) -> None:
        """End what the person was told to be running."""
        if self._is_told:
            self._tell(step)
        self._is_told = False

    def _tell(self, step: CompressionStep) -> None:
        if self.listeners.step is not None:
            self.listeners.step(step)

    def say(self, text: str) -> None:
        """Tell the person."""
        if self.listeners.status is not None:
            self.listeners.status(Status("compression", text))


# When a turn compresses: ahead of a request that fills the window too far, and after one that was too large.

_MOST_REFUSALS = 3
_SMALL_WINDOW = 32_768
_TO_DO = "Send a shorter prompt, or type /reset to let the model begin anew."
_NOTHING_LEFT = f"There is nothing in the conversation that could be compressed. {_TO_DO}"
_SURELY = 0.75
"""Of the tokens that a text is estimated to be, so many it has at least."""
_TOO_LARGE = (
    "Send less text, or name the file instead of attaching it, so that the model reads it bit by bit: the prompt has "
    "about {size:,} tokens, and the window of {name} has {window:,}, of which the system prompt and tools take "
    "{fixed:,}. Nothing was sent, and the conversation was not compressed."
)
_NOT_BY_ITSELF = (
    "It is not compressed by itself, because compression.enabled is false in the settings: type /compact and send "
    "the prompt again."
)

Build = Callable[[ModelChoice, Sequence[Message]], ModelRequest]


@dataclass(slots=True)
class TurnCompression:
    """What the turn's model is shown of the history, kept within its window.

    Attributes:
        build: the request to a model; its first message is the system prompt.
        session: does it; None where the history is not compressed by itself.
        made: how often the request at hand was made smaller after a server had refused it.
    """

    services: SessionServices
    history: TurnHistory
    build: Build
    session: SessionCompression | None = None
    made: int = 0
    _is_over: bool = False
    _before: Compaction | None = None

    def ahead(self, choice: ModelChoice) -> None:
        """Compress before a request to `choice` if it is time to.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        window = choice.context_length
        if self.session is None or window is None:
            return
        use, asked = self._use(choice), (choice.name, window)
        switched = self.services.asked != asked
        self.services.asked = asked
        if self.session.is_due(use, switched=switched):
            self.session.compress(self.history.messages, use, self._measure(choice), "preflight")

    def too_large(self, choice: ModelChoice) -> str:
        """Why no compression could make room for what the person has just sent, and what to do; '' where one could.

        Only text is counted: how many tokens an image or a document is, its server alone knows.
        """
        messages, window = self.history.messages, choice.context_length
        at = last_words(messages)
        if self.session is None or not window or at is None or at < self.history.start:
            return ""
        size = self._measure(choice)([user_message(text_of(messages[at]["content"]))])
        if size * _SURELY < window / 2:
            return ""
        fixed = self._use(choice).fixed
        if fixed + size * _SURELY <= window:
            return ""
        return _TOO_LARGE.format(size=size, name=choice.name, window=window, fixed=fixed)

    def request(self, choice: ModelChoice) -> ModelRequest:
        """The request as it is sent."""
        return self.build(choice, shown(self.history.messages, self.services.omissions, self.services.compaction))

    @property
    def is_open(self) -> bool:
        """Whether a request that was too large may be made smaller once more."""
        return self.session is not None and not self._is_over and self.made < _MOST_REFUSALS

    def refused(self, choice: ModelChoice) -> bool:
        """A server has refused a request as too large: compress; False where that makes it no smaller.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        if self.session is None:
            return False
        self._before = self.services.compaction
        made = self.session.compress(self.history.messages, self._use(choice), self._measure(choice), "overflow")
        self._is_over = made is None
        self.made += made is not None
        return made is not None

    def take_back(self) -> None:
        """The last compression has not helped."""
        if self.session is not None:
            self.services.compaction = self._before
            self.session.keep(self._before or Compaction(0, 0, ""))
            self.session.say("A shorter conversation did not help: the model sees all of it again.")

    def fills_half(self, choice: ModelChoice) -> bool:
        """Whether the next request fills half of the window, or of a usual small one where it is not known."""
        return self._use(choice).tokens > (choice.context_length or _SMALL_WINDOW) / 2

    def counted(self, choice: ModelChoice, request: ModelRequest, usage: Usage) -> None:
        """A request has its answer, and its server says what it was."""
        services = self.services
        services.cuts.counted(choice, request, usage, services.meter.estimate(request))
        services.meter.learn(choice.name, request, usage)

    def answered(self) -> None:
        """The request at hand has its answer."""
        self.made, self._is_over = 0, False

    @property
    def advice(self) -> str:
        """Where a request stays too large: what was tried, and what the person can do."""
        if self.session is None:
            return "" if self.services.engine is None else _NOT_BY_ITSELF
        if not self.made:
            return _NOTHING_LEFT
        times = "once" if self.made == 1 else f"{self.made} times"
        return f"The conversation was compressed {times}, and is still too large. {_TO_DO}"

    def _use(self, choice: ModelChoice) -> WindowUse:
        return window_use(self.services.meter, self.request(choice), choice)

    def _measure(self, choice: ModelChoice) -> Measure:
        return self.services.meter.measure(choice.name)


def window_use(meter: TokenMeter, request: ModelRequest, choice: ModelChoice) -> WindowUse:
    """How full the window is with a request to `choice`, whose first message is the system prompt."""
    system = text_of(request.messages[0]["content"])
    return WindowUse(
        meter.tokens(choice.name, request),
        meter.fixed(choice.name, system, request.tools),
        choice.context_length or 0,
        request.max_tokens or 0,
    )
