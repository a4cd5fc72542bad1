"""The port to whatever keeps a conversation within the model's window, and a compression as a value to store.

`ContextCompressor` is the usual engine. The history itself always stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

from agent_core.messages import Message
from tools.context import TodoItem
from tools.light_dataclass import dataclass

CompactionReason = Literal["preflight", "overflow", "asked"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What the model is shown in place of a part of the history, from this compression on until the next.

    Positions count the messages of the history as `SessionStore.messages` gives them. What is shown instead of
    something is held as it is shown, so that a later version of the program shows the very same.

    Attributes:
        head: messages before this position are shown as they are.
        up_to: messages from `head` to this position are replaced by `summary`; equal to `head` where only results
            and arguments were shortened.
        summary: what the model reads in their place; '' where nothing was replaced.
        prose: the part of `summary` that a model wrote; the next compression goes on from it. '' for none.
        kept: positions from `head` to `up_to` that are shown all the same, right behind the summary: the user's last
            message, where the work on it alone fills the window.
        results: the line that is shown in place of a result, by the id of its tool call; all are behind `up_to`.
        arguments: the JSON text that is shown in place of a call's arguments, by its id; all are behind `up_to`.
        cuts: positions of messages of whose text only the two ends are shown, with how many characters of it.
        images_before: messages behind `up_to` and before this position are shown without images, documents and
            recordings.
        sealed_before: messages from `head` to this position are shown without sealed reasoning: it covers what came
            before it, which was another thing when it was sealed.
        tokens_before, tokens_after: the size of what is shown, estimated, with system prompt and tools.
        reason: why it was made: ahead of a request, after a server refused one as too large, or asked for.
        topic: what the person asked to be kept above all, '' for nothing.
        made_by: provider:model that wrote the summary's prose; '' where code alone made it.
        created_at: seconds since the epoch.
    """

    head: int
    up_to: int
    summary: str
    prose: str = ""
    kept: tuple[int, ...] = ()
    results: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[int, int] = field(default_factory=dict)
    images_before: int = 0
    sealed_before: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    reason: CompactionReason = "preflight"
    topic: str = ""
    made_by: str = ""
    created_at: float = 0.0


def is_possible(made: Compaction, length: int) -> bool:
    """Whether a history of `length` messages can be shown so, and `made` be stored. Its maker may be anyone."""
    texts = (made.summary, made.prose, made.topic, made.made_by)
    lines = (made.results, made.arguments)
    numbers = (made.head, made.up_to, made.images_before, made.sealed_before, made.tokens_before, made.tokens_after)
    return (
        all(isinstance(text, str) for text in texts)
        and all(_maps(each, str, str) for each in lines)
        and _maps(made.cuts, int, int)
        and all(isinstance(number, int) for number in (*numbers, *made.kept))
        and 0 <= made.head <= made.up_to <= length
        and all(made.head <= position < made.up_to for position in made.kept)
        and list(made.kept) == sorted(set(made.kept))
    )


def _maps(value: Any, key: type, to: type) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, key) and isinstance(v, to) for k, v in value.items())


@dataclass(frozen=True, slots=True)
class WindowUse:
    """How full the window is with the next request.

    Attributes:
        tokens: the whole request, estimated: system prompt, tools and what is shown of the history.
        fixed: of these, system prompt and tools.
        window: the model's window, in tokens.
        reserved: of the window, what the answer may take.
    """

    tokens: int
    fixed: int
    window: int
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class CompressionRequest:
    """What is to be compressed.

    Attributes:
        messages: the whole history, as it is stored; a valid one.
        before: the compression in effect, which is gone on from; None for the first.
        use: how full the window is now.
        reason, topic: as in `Compaction`.
        plan: the session's plan; its open items are kept.
        measure: tokens of messages as the model is shown them, calibrated for the model that is asked.
        summary_window: tokens of the window of the model that `Summarise` asks first; None where it is not known.
    """

    messages: Sequence[Message]
    before: Compaction | None
    use: WindowUse
    measure: Callable[[Sequence[Message]], int]
    reason: CompactionReason = "preflight"
    topic: str = ""
    plan: tuple[TodoItem, ...] = ()
    summary_window: int | None = None


@dataclass(frozen=True, slots=True)
class Prose:
    """What an auxiliary model wrote; `made_by` is provider:model."""

    text: str
    made_by: str


Summarise = Callable[[Sequence[Message]], "Prose | None"]
"""Put a question to an auxiliary model; None where there is no answer. May raise `TurnInterrupted`."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """A compression that was made.

    Attributes:
        warning: for the person, where it could not be done as it should (no summary was written); '' for none.
    """

    compaction: Compaction
    warning: str = ""


class ContextEngine(Protocol):
    """Decides when a session's history is compressed, and does it. One for each session; called on one thread."""

    @property
    def name(self) -> str:
        """What the settings call it."""
        ...

    def is_due(self, use: WindowUse) -> bool:
        """Whether the history should be compressed before the next request is sent."""
        ...

    def compress(self, request: CompressionRequest, summarise: Summarise) -> Compressed | None:
        """Compress; None where nothing can be made smaller, or trying again would gain nothing.

        Raises:
            TurnInterrupted: the turn was cancelled; nothing was changed.
        """
        ...

    def switched(self, window: int) -> None:
        """Another model is asked from now on, or the same with another window.

        What was learnt of the last one no longer holds.
        """
        ...
