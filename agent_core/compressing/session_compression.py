"""One compression of a session's history, from the flush of its memory to the stored outcome.

Nothing is used before it is stored, and nothing is stored that no model could be shown: an engine may be anyone's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Literal

from agent_core.callbacks import CompressionStep, Status
from agent_core.context.compaction import Compaction, CompactionReason, is_possible
from agent_core.context.cutting import last_words
from agent_core.context.engine import Compressed, CompressionRequest, ContextEngine, Prose, WindowUse
from agent_core.context.view import shown
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import Message, repaired
from agent_core.providers.base import Usage
from agent_core.services import SessionServices
from tools.light_dataclass import dataclass

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
        made = self.draft(messages, use, measure, reason, topic)
        if made is None:
            return None
        self.adopt(made, use.window)
        return made.compaction

    def draft(
        self, messages: Sequence[Message], use: WindowUse, measure: Measure, reason: CompactionReason, topic: str = ""
    ) -> Compressed | None:
        """Make a compression that is not in effect before it is adopted; arguments and errors as of `compress`."""
        services = self.services
        request = CompressionRequest(
            messages,
            services.compaction,
            use,
            measure,
            reason,
            topic,
            plan=services.plan,
            summary_window=services.summary_window(),
        )
        self._flush(request)
        made = self._made(request, use.window)
        if made is None:
            self._end("failed", "There is nothing left that could be made smaller.")
        elif self.token.is_set():
            self._tell(CompressionStep("cancelled"))
            raise TurnInterrupted
        return made

    def adopt(self, made: Compressed, window: int) -> None:
        """Store a draft, and have it in effect.

        Raises:
            TurnInterrupted: the turn may store nothing any more.
        """
        self._is_told = False
        # Told first: what is shown of it is stored together with it.
        step = CompressionStep("done", made.compaction, window=window, session_cost=self.services.spent.cost)
        self._tell(step)
        if not self.keep(made.compaction):
            raise TurnInterrupted
        self._use(made.compaction)
        if made.warning and self.listeners.status is not None:
            self.listeners.status(Status("compression", made.warning))

    def drop(self) -> None:
        """The draft is of no use: nothing has changed."""
        self._end("failed", "It did not help, and the conversation is whole again.")

    def _end(self, how: Literal["failed", "cancelled"], why: str = "") -> None:
        """End what the person was told to be running."""
        if self._is_told:
            self._tell(CompressionStep(how, error=why))
        self._is_told = False

    def _flush(self, request: CompressionRequest) -> None:
        """What is worth keeping for ever goes to the memory while it is still in view."""
        if self.services.before_compression is None:
            return
        try:
            self.services.before_compression(request)
        except TurnInterrupted:
            raise
        except Exception:  # a memory that fails must not keep the conversation from going on
            log.exception("the memory was not flushed before a compression")

    def _made(self, request: CompressionRequest, window: int) -> Compressed | None:
        try:
            made = self.engine.compress(request, lambda messages: self._summarise(messages, window))
            return made if made is None or self._is_smaller(request, made.compaction) else None
        except TurnInterrupted:
            self._end("cancelled")
            raise
        except Exception:  # an engine may be anyone's
            log.exception("the context engine %s failed", self.engine.name)
            self._end("failed", self._broke())
            return None

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
        """The engine went wrong: the person is told so, once; with these words."""
        text = _BROKE.format(name=self.engine.name)
        if not self._is_broken and self.listeners.status is not None:
            self.listeners.status(Status("compression", text))
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

    def _use(self, made: Compaction) -> None:
        self.services.compaction = made
        self.services.prefix.expect("compression")
        self.forget_files()

    def _tell(self, step: CompressionStep) -> None:
        if self.listeners.step is not None:
            self.listeners.step(step)
