"""What is known of a stored session, its turns, messages and events. Times are seconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from agent_core.events import SessionEvent
from agent_core.messages import Content, Message
from agent_core.providers.pricing import Spent
from tools.context import TodoItem
from tools.light_dataclass import dataclass

SUB_AGENT = "sub-agent"
"""The source of sessions that worked for another one, their parent: they are in no list. (SQL has it as text.)"""

Hidden = Literal["", "withdrawn", "undone"]
"""Why a message is not in the model's history: '' it is; the model refused it; the person took it back."""

COMMAND, RESET, COMPACTED = "command", "reset", "compacted"
"""Outcomes of turns without messages: a command that the person typed, with its answer, which no undo takes back; one
from which on the model begins anew, whatever was said before; and one in which the person had the conversation
compressed. (SQL has them as text.)"""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that prompts sessions. `until` is when its word ends unless it is renewed.

    Attributes:
        token: names this process and no other, ever.
        started: the machine's start, the table that process numbers belong to, and when the process began: with the
            number they identify it.
        host, program: what the machine and the process are to a person; they identify neither.
        beats: it renews its word for as long as it holds the session, also at rest.
    """

    token: str
    host: str
    pid: int
    started: str
    program: str
    until: float = 0.0
    beats: bool = False


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to be stored.

    Attributes:
        roots: directories beside `cwd`.
        source: who opened it: the client's name for itself, else acp.
        mode: the permission mode.
        options: further choices of the person, by their id.
        parent_id: the session that it works for; None for one of the person's.
    """

    id: str
    cwd: str
    roots: tuple[str, ...] = ()
    source: str = "acp"
    mode: str = "default"
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A stored session.

    Attributes:
        parent_id: the session it was forked from, or works for; None if there is none. The parent may be gone.
        root_id: the first session of that line; its own id if it was not forked.
        model: provider:model that it uses; None before the first turn.
        turns: how many turns are in view: neither undone nor empty, nor commands.
        is_damaged: its options or its roots could not be read. Without options its mode is the one that asks.
    """

    id: str
    cwd: str
    roots: tuple[str, ...]
    source: str
    mode: str
    model: str | None
    options: Mapping[str, Any]
    title: str | None
    parent_id: str | None
    root_id: str
    created_at: float
    updated_at: float
    archived: bool
    turns: int
    spent: Spent
    holder: Holder | None = None
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of sessions, newest first. `next_cursor` leads to the next, None at the end."""

    sessions: tuple[SessionRecord, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn of a session. `number` counts from 1 and is never used twice.

    Attributes:
        ended_at: None while it runs, and for ever if its process died.
        outcome: the stop reason, «error», COMMAND, RESET, COMPACTED, or None like `ended_at`.
        note: for an error, what the person was told.
        undone: the person took it back.
    """

    number: int
    id: str
    began_at: float
    ended_at: float | None = None
    outcome: str | None = None
    note: str = ""
    undone: bool = False


@dataclass(frozen=True, slots=True)
class PromptLeft:
    """What a person said in a turn that was killed or cancelled before the model was told.

    No hook may have been asked about it.

    Attributes:
        turn, turn_id: of that turn, its number and its id.
        content: as the model gets it, with links named and not read.
    """

    turn: int
    turn_id: str
    began_at: float
    content: Content


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as the model saw or said it. `id` grows through all sessions."""

    id: int
    turn: int
    message: Message
    created_at: float
    hidden: Hidden = ""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One finished thing that happened in a turn: merged text, or a tool call from request to end.

    Attributes:
        position: its place in the turn.
        events: what showed it, in order: one event, or those of a tool call.
        open: it had not ended when it was last seen.
    """

    turn: int
    position: int
    created_at: float
    events: tuple[SessionEvent, ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything of one session that is in view, for replay and for export: nothing undone."""

    session: SessionRecord
    turns: tuple[TurnRecord, ...]
    messages: tuple[StoredMessage, ...]
    events: tuple[StoredEvent, ...]


# What a session keeps between its turns, as one value that can be stored.


@dataclass(frozen=True, slots=True)
class KeptState:
    """The value. What the model was told of itself and of its tools belongs to the program that told it.

    Attributes:
        system, tools: the system prompt and the tool definitions; None before the first request.
        prompt_layers: the parts of the system prompt: each one's name and its characters.
        prompt_notes: what was left out of it, for the person.
        program: the version of the program that made them.
        model: provider:model that the session uses; '' before the first request.
        omitted_results: ids of tool calls whose results the model is not shown any more.
        sealed_before, images_before: positions in the history, as in `history_filter.Omissions`.
    """

    plan: tuple[TodoItem, ...] = ()
    system: str | None = None
    tools: tuple[dict[str, object], ...] | None = None
    program: str = ""
    model: str = ""
    spent: Spent = field(default_factory=Spent)
    omitted_results: frozenset[str] = frozenset()
    sealed_before: int = 0
    images_before: int = 0
    prompt_layers: tuple[tuple[str, int], ...] = ()
    prompt_notes: tuple[str, ...] = ()
