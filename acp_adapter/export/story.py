"""A stored session as a reader meets it: turns, and in each what was said and done, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agent_core.prompt_parts import SaidPart
from agent_core.sessions.records import SessionRecord
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.result import Shown, ShownDiff, ShownOutput

CardStatus = Literal["completed", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the person sent."""

    parts: tuple[SaidPart, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent wrote, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought, or a note of the agent's."""

    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """A tool call.

    Attributes:
        kind: the ACP tool kind: read, edit, execute, …
        shown: what came of it, for the person.
        seconds: how long it took, with the wait for a permission; None if that is not known.
    """

    name: str
    kind: str
    title: str
    status: CardStatus
    cwd: str
    arguments: Mapping[str, Any]
    shown: tuple[Shown, ...] = ()
    seconds: float | None = None

    @property
    def diffs(self) -> tuple[ShownDiff, ...]:
        """The files that it changed."""
        return tuple(shown for shown in self.shown if isinstance(shown, ShownDiff))

    @property
    def exit_code(self) -> int | None:
        """A command's exit code; None for what is no command, or was ended otherwise."""
        return next((shown.exit_code for shown in self.shown if isinstance(shown, ShownOutput)), None)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan as it was then."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class Mode:
    """From here on, the session's permission mode is another."""

    mode: str


Item = Prompt | Answer | Thought | Card | Plan | Mode


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and all that came of it.

    Attributes:
        outcome: the stop reason, «error», or None if it never ended.
        note: for an error, what the person was told.
        seconds: from the prompt to the end, or to the last thing that is known.
        tokens: by how much the conversation grew.
        is_estimate: `tokens` is a guess by the length of the text.
        cost: US dollars; None if that is not known.
    """

    number: int
    began_at: float
    outcome: str | None
    note: str
    items: tuple[Item, ...]
    seconds: float
    tokens: int
    is_estimate: bool
    cost: float | None


@dataclass(frozen=True, slots=True)
class Story:
    """The session and its turns. `title` is never empty; `compressions` counts how often it was compressed."""

    session: SessionRecord
    title: str
    turns: tuple[Turn, ...]
    compressions: int = 0
