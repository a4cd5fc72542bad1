"""The port to whatever keeps a conversation within the model's window. `ContextCompressor` is the usual one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from agent_core.context.compaction import Compaction, CompactionReason
from agent_core.messages import Message
from tools.context import TodoItem
from tools.light_dataclass import dataclass


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
