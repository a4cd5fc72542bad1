"""When a turn compresses: ahead of a request that fills the window too far, and after one that was too large."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.compressing.session_compression import Measure, SessionCompression
from agent_core.context.compaction import Compaction
from agent_core.context.cutting import last_words
from agent_core.context.engine import Compressed, WindowUse
from agent_core.context.tokens import TokenMeter
from agent_core.context.view import shown
from agent_core.messages import Message, text_of, user_message
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice
from agent_core.services import SessionServices
from agent_core.turn.history import TurnHistory
from tools.light_dataclass import dataclass

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
    _tried: tuple[Compressed, Compaction | None, int] | None = None

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
        self.undo()  # what was tried was not small enough either
        use, measure = self._use(choice), self._measure(choice)
        made = self.session.compress(self.history.messages, use, measure, "overflow")
        self._is_over = made is None
        self.made += made is not None
        return made is not None

    def try_smaller(self, choice: ModelChoice) -> bool:
        """Show the model less for once: `adopt` keeps it so, `undo` takes it back. False where nothing is smaller.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        if self.session is None:
            return False
        use = self._use(choice)
        draft = self.session.draft(self.history.messages, use, self._measure(choice), "overflow")
        if draft is None:
            return False
        self._tried = draft, self.services.compaction, use.window
        self.services.compaction = draft.compaction
        return True

    def adopt(self) -> None:
        """What was tried has helped.

        Raises:
            TurnInterrupted: the turn may store nothing any more.
        """
        if self._tried is not None and self.session is not None:
            draft, self.services.compaction, window = self._tried
            self._tried = None
            self.session.adopt(draft, window)

    def undo(self) -> None:
        """What was tried has not helped."""
        if self._tried is not None and self.session is not None:
            _, self.services.compaction, _ = self._tried
            self._tried = None
            self.session.drop()

    def fills_half(self, choice: ModelChoice) -> bool:
        """Whether the next request fills half of the window, or of a usual small one where it is not known."""
        return self._use(choice).tokens > (choice.context_length or _SMALL_WINDOW) / 2

    def counted(self, choice: ModelChoice, request: ModelRequest, usage: Usage) -> None:
        """A request has its answer, and its server says what it was."""
        from agent_core.compressing.cut_prompts import CutPrompts  # noqa: PLC0415 - not before the first answer

        services = self.services
        services.cuts = services.cuts or CutPrompts()
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
