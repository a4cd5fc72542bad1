"""A refused request that nobody can explain: what is changed of it, one thing at a time, and what that teaches.

First the fields that the server may not know, then images and other attachments, then the length of the conversation.
A change that does not help is undone. One that helps is kept: for the server and the model for a week, or, of a
conversation that was too long, as any other compression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from agent_core.asking.policy import Change
from agent_core.asking.view import Omissions
from agent_core.compaction.session_compaction import TurnCompression
from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.errors import ClassifiedError
from agent_core.providers.lessons import IMAGES, PLAIN, WORDS, Lessons
from agent_core.providers.protocol import sent_attachments
from agent_core.turn.history import TurnHistory
from tools.light_dataclass import dataclass

_MOST = 3
_WITH_OPTIONAL_FIELDS = frozenset({"chat_completions", "codex_responses"})
_WITHOUT = {
    "fields": "without optional fields",
    "attachments": "without the images and documents",
    "history": "with a shorter conversation",
}


@dataclass(slots=True)
class Trials:
    """The changes of one turn's requests.

    Attributes:
        without: the lessons that are tried with the request at hand.
    """

    history: TurnHistory
    compression: TurnCompression
    omissions: Omissions
    lessons: Lessons
    without: tuple[str, ...] = ()
    _made: int = 0
    _tried: set[Change] = field(default_factory=set)
    _now: Change | None = None
    _sealed_before: int = 0
    _was_told: bool = False

    def applied(self, request: ModelRequest) -> ModelRequest:
        """The request with what is tried."""
        return replace(request, without=self.without) if self.without else request

    def open(self, failure: ClassifiedError, choice: ModelChoice) -> tuple[Change, ...]:
        """What may still be changed of a request that failed, in order."""
        if failure.reason == "images_not_taken":
            return ("attachments",) if "attachments" not in self._tried and self._attachments(choice) else ()
        if not failure.unexplained or self._made >= _MOST:
            return ()
        ways: dict[Change, Callable[[], bool]] = {
            "fields": lambda: self._has_optional_fields(choice),
            "attachments": lambda: bool(self._attachments(choice)),
            "history": lambda: self.compression.is_open and self.compression.fills_half(choice),
        }
        return tuple(change for change, is_open in ways.items() if change not in self._tried and is_open())

    def begin(self, change: Change, failure: ClassifiedError, choice: ModelChoice) -> str | None:
        """Change the next request; how, for the person. None where that is not possible after all.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        self._tried.add(change)
        self._was_told = failure.reason == "images_not_taken"
        self._made += failure.unexplained
        if change == "history" and not self.compression.try_smaller(choice):
            return None
        self._now = change
        match change:
            case "fields":
                self.without = (PLAIN,)
            case "attachments":
                found = self._attachments(choice)
                self.without = (IMAGES,) if failure.reason == "images_not_taken" and IMAGES in found else found
                # A seal covers all that came before it: where that has changed, servers refuse it.
                self._sealed_before = self.omissions.sealed_before
                self.omissions.sealed_before = len(self.history.messages)
        return _WITHOUT[change]

    def begin_anew(self) -> None:
        """Another model is asked, of which nothing was tried yet."""
        self._tried.clear()

    def undo(self) -> None:
        """What is tried has not helped: the request is as it was."""
        self.compression.undo()
        if self._now == "attachments":
            self.omissions.sealed_before = self._sealed_before
        self.without, self._now = (), None

    def worked(self, choice: ModelChoice) -> str:
        """The request has its answer: what that teaches is kept. What was learned, for the person; '' for nothing.

        Raises:
            TurnInterrupted: the turn may store nothing any more.
        """
        learned, tried, self.without, self._now = self.without, self._now, (), None
        if tried == "attachments" and not self._was_told and choice.facts.vision:
            # The model does see: it was something about these attachments.
            self.omissions.images_before = len(self.history.messages)
            learned = ()
        self._tried.clear()
        self.compression.adopt()
        if not learned:
            return ""
        self.lessons.keep(choice, learned)
        return " and ".join(WORDS[name] for name in learned)

    @property
    def is_on(self) -> bool:
        """Whether something is tried with the request at hand."""
        return self._now is not None

    def _has_optional_fields(self, choice: ModelChoice) -> bool:
        known = self.lessons.adapted(choice)
        return choice.api_mode in _WITH_OPTIONAL_FIELDS and self.lessons.adapted(choice, (PLAIN,)) != known

    def _attachments(self, choice: ModelChoice) -> tuple[str, ...]:
        return sent_attachments(self.compression.request(choice).messages, self.lessons.adapted(choice))
