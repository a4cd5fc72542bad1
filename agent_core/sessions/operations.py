"""What a live session stores: operations, each of which may be tried again after a failure of unknown outcome."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import ClassVar

from agent_core.background_tasks import TaskInfo
from agent_core.errors import StoreError
from agent_core.events import (
    AgentText,
    SaidAudio,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidPart,
    SaidText,
    SessionEvent,
    UserSaid,
    audio_format,
)
from agent_core.messages import Content, Part, text_of
from agent_core.notifications import News
from agent_core.sessions.database import unpack
from agent_core.sessions.event_codec import decode, plain_text
from agent_core.sessions.journal import JournalRow, TurnJournal
from agent_core.sessions.records import COMMAND, COMPACTED, NewSession, PromptLeft
from agent_core.sessions.rows import (
    IN_HISTORY,
    PackedCompaction,
    PackedEvent,
    PackedMessage,
    PackedState,
    close_turn,
    count_messages,
    delete_news,
    drop_empty_turn,
    find_turn,
    insert_compaction,
    insert_message,
    insert_new,
    insert_news,
    insert_turn,
    packed_events,
    unpack_message,
    withdraw_messages,
    write_events,
    write_state,
    write_task,
    write_title,
)
from tools.light_dataclass import dataclass

# A turn that this process runs, or ran and has not stored to its end.


@dataclass(slots=True, eq=False)
class LiveTurn:
    """The turn.

    Attributes:
        began_at: seconds since the epoch.
        number: its number in the session once it is stored.
        messages: how many were appended.
        visible: how many of them, at the end of the history, the model is shown.
        compactions: how many were made in it.
        stored: how many of them are stored; None after a failure, when only the database knows.
        taken: what the journal gave and is not stored yet; `events` is the same, packed.
        unsaved: bytes of what could not be stored of the journal when that was tried last.
    """

    id: str
    session_id: str
    journal: TurnJournal
    began_at: float
    number: int | None = None
    messages: int = 0
    visible: int = 0
    compactions: int = 0
    stored: int | None = 0
    taken: Sequence[JournalRow] = ()
    events: Sequence[PackedEvent] = ()
    unsaved: int = 0

    def take(self, *, final: bool) -> None:
        """Take what the journal has. `final`: the turn is over."""
        if self.journal.is_dirty:
            self.taken = self.journal.take(final)
            self.events = packed_events(self.taken)

    def write_events(self, connection: sqlite3.Connection) -> None:
        """Write what was taken. Twice does no harm."""
        if self.events and self.number is not None:
            write_events(connection, self.session_id, self.number, self.events)

    def settle(self) -> None:
        """What was taken is stored."""
        self.taken, self.events, self.unsaved = (), (), 0

    def fail(self) -> None:
        """What was tried may be stored or not."""
        self.journal.put_back(self.taken)
        if self.events:
            self.unsaved = sum(len(event[3]) for event in self.events)
        self.taken, self.events = (), ()
        self.stored = None

    def count_stored(self, connection: sqlite3.Connection, number: int) -> int:
        """How many of its messages are stored."""
        if self.stored is None:
            self.stored = count_messages(connection, self.session_id, number)
        return self.stored


# There is one queue of them for each session, in the order in which things happened: turns, messages, compressions,
# what files were, news of the background, what is kept between turns. Nothing leaves it but into the database, or, at
# the end of the process, into a file (`spool`).
# A commit that fails may have happened all the same. So an operation that was tried asks the database whether it is
# done: a turn is known by its id and begin, a message by how many of its turn are stored, a change of a file by its
# call and time.

_SMALL = 256


class Operation:
    """Something to be stored. Operations are done in order.

    Attributes:
        needs_lease: only the process that prompts the session may do it.
    """

    __slots__ = ()
    needs_lease: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """Bytes that it holds in memory, about."""
        return _SMALL

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, within a write transaction; once only, however often it is called."""
        raise NotImplementedError

    def instead(self, why: str) -> Operation | None:  # noqa: ARG002 - most have nothing
        """What to store in its place where it can never be; None for nothing."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class CreateSession(Operation):
    """A session begins. `now` is in seconds since the epoch."""

    new: NewSession
    now: float
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:  # noqa: ARG002 - it is in `new`
        """Store it; one that exists is left as it is."""
        insert_new(connection, self.new, self.now)


@dataclass(frozen=True, slots=True, eq=False)
class BeginTurn(Operation):
    """A turn begins."""

    turn: LiveTurn

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Give the turn its number."""
        turn = self.turn
        known = find_turn(connection, session_id, turn.id, turn.began_at) if turn.stored is None else None
        turn.number = known or insert_turn(connection, session_id, turn.id, turn.began_at)


@dataclass(frozen=True, slots=True, eq=False)
class AddMessage(Operation):
    """A message. `index` counts the turn's messages from 0."""

    turn: LiveTurn
    index: int
    message: PackedMessage

    @property
    def size(self) -> int:
        """That of the message."""
        return _SMALL + len(self.message.body)

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        number = _number(self.turn)
        if self.index >= self.turn.count_stored(connection, number):
            insert_message(connection, session_id, number, self.message)
        if self.message.news:
            # In the same transaction: told once, and not lost.
            delete_news(connection, session_id, self.message.news)


@dataclass(frozen=True, slots=True, eq=False)
class Withdraw(Operation):
    """A turn's first `count` messages leave the model's history."""

    turn: LiveTurn
    count: int

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Mark them."""
        withdraw_messages(connection, session_id, _number(self.turn), self.count)


@dataclass(frozen=True, slots=True, eq=False)
class AddCompaction(Operation):
    """A compression was made over the history as the operations before this one leave it.

    `number` counts those of the turn from 0, `messages` the messages of the history.
    """

    turn: LiveTurn
    number: int
    messages: int
    packed: PackedCompaction

    @property
    def size(self) -> int:
        """That of what was made."""
        return _SMALL + len(self.packed.body)

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        insert_compaction(connection, session_id, _number(self.turn), self.number, self.packed)


@dataclass(frozen=True, slots=True, eq=False)
class CloseTurn(Operation):
    """A turn ends. `now` is in seconds since the epoch; outcome and note as in `SessionStore.end_turn`."""

    turn: LiveTurn
    now: float
    outcome: str
    note: str

    @property
    def size(self) -> int:
        """That of the rest of its journal, once it is known."""
        return _SMALL + self.turn.unsaved

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Write the rest of its journal and how it ended; a turn in which nothing happened leaves no row."""
        number = _number(self.turn)
        self.turn.write_events(connection)
        close_turn(connection, session_id, number, ended_at=self.now, outcome=self.outcome, note=self.note)
        if not self.turn.messages:
            drop_empty_turn(connection, session_id, number)


@dataclass(frozen=True, slots=True, eq=False)
class AddEvents(Operation):
    """What the journal of a turn has to give that broke off."""

    turn: LiveTurn

    @property
    def size(self) -> int:
        """That of its journal, once it is known."""
        return _SMALL + self.turn.unsaved

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:  # noqa: ARG002 - the turn knows it
        """Write it."""
        _number(self.turn)
        self.turn.write_events(connection)


@dataclass(frozen=True, slots=True, eq=False)
class Keep(Operation):
    """What the session keeps between its turns."""

    packed: PackedState
    needs_lease: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """That of its texts."""
        texts = [text for named in (self.packed.system, self.packed.tools) if named is not None for text in named]
        return _SMALL + len(self.packed.kept) + sum(map(len, texts))

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Put it in the place of what was kept."""
        write_state(connection, session_id, self.packed)


@dataclass(slots=True, eq=False)
class NameSession(Operation):
    """A title. `is_taken`: whether the session has no better one; not known before it is stored."""

    title: str
    source: str
    is_taken: bool | None = None
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless there is a better one."""
        self.is_taken = write_title(connection, session_id, self.title, self.source)


@dataclass(frozen=True, slots=True, eq=False)
class KeepNews(Operation):
    """News of the background, until a message that tells them is stored."""

    news: News
    needs_lease: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """That of its text."""
        return _SMALL + len(self.news.text)

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        insert_news(connection, session_id, self.news)


@dataclass(frozen=True, slots=True, eq=False)
class DropNews(Operation):
    """News that need no message any more, by their ids."""

    names: tuple[str, ...]
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Remove them."""
        delete_news(connection, session_id, self.names)


@dataclass(frozen=True, slots=True, eq=False)
class KeepTask(Operation):
    """A task of the background as it is now."""

    task: TaskInfo
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Put it in the place of what was stored of it."""
        write_task(connection, session_id, self.task)


def _number(turn: LiveTurn) -> int:
    if turn.number is None:
        raise StoreError(
            f"Turn {turn.id!r} has no row yet, though it should have. Restart hermes-acp and report this."
        )
    return turn.number


# What was written down for the person, and whose turn ended before it was for the model: prompts, half an answer.
# A turn's prompt is shown again as soon as the turn is stored; what the model gets of it is stored when hooks, notes
# and links are known. Between the two the process may end, or the person cancels. Whatever a hook would have said of
# such a prompt is unknown: it is in no history until the next turn has asked, and tells it or leaves it out.

_TURNS = (
    "SELECT number, id, began_at, outcome FROM turns WHERE session_id = ? AND undone = 0 AND id != ?"
    " ORDER BY number DESC"
)
_FIRST_EVENT = "SELECT kind, version, body FROM events WHERE session_id = ? AND turn = ? ORDER BY position LIMIT 1"
_SAID_TO_MODEL = "SELECT body FROM messages WHERE session_id = ? AND turn = ? AND role = 'user'"
_LAST_TURN = f"SELECT turn FROM messages WHERE {IN_HISTORY} ORDER BY id DESC LIMIT 1"  # noqa: S608 - a constant
_ANSWERS = "SELECT body FROM messages WHERE session_id = ? AND turn = ? AND role = 'assistant' ORDER BY id"
_TEXTS = "SELECT version, body FROM events WHERE session_id = ? AND turn = ? AND kind = 'text' ORDER BY position"
_ANSWER_ID = "-message-"
BROKEN_OFF = (None, "", "cancelled")
"""How turns end that may have left a prompt; None: not yet."""

_PASSED_OVER = (COMMAND, COMPACTED, "error")
_PDF = "application/pdf"


@dataclass(frozen=True, slots=True, eq=False)
class TellLeft(Operation):
    """The model is told of the prompt that turn number `turn` has left."""

    turn: int
    messages: Sequence[PackedMessage]

    @property
    def size(self) -> int:
        """That of the messages."""
        return sum(len(message.body) for message in self.messages)

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        if not _is_told(connection, session_id, self.turn):
            for message in self.messages:
                insert_message(connection, session_id, self.turn, message)


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOut(Operation):
    """The model is not told of the prompt that turn number `turn` has left, for ever. `now` as in `CloseTurn`."""

    turn: int
    now: float
    why: str

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Let the turn have failed."""
        close_turn(connection, session_id, self.turn, ended_at=self.now, outcome="error", note=self.why)


def read_prompts_left(connection: sqlite3.Connection, session_id: str, turn_id: str) -> tuple[PromptLeft, ...]:
    """What was said since the model was told anything last, oldest first.

    Args:
        turn_id: of the turn that runs, which has left nothing yet.

    Raises:
        StoreError: a message is damaged.
    """
    found: list[PromptLeft] = []
    for number, its_id, began_at, outcome in connection.execute(_TURNS, (session_id, turn_id)):
        if outcome in _PASSED_OVER:
            continue
        if outcome not in BROKEN_OFF or _is_told(connection, session_id, number):
            break
        if said := said_first(connection, session_id, number):
            found.append(PromptLeft(number, its_id, began_at, said))
    return tuple(reversed(found))


def read_answer_left(connection: sqlite3.Connection, session_id: str, running: int | None) -> str:
    """What was shown of the answer in which the turn of the last message in the history broke off; '' for nothing.

    Args:
        running: the number of the turn that runs; None where it is not stored yet.

    Raises:
        StoreError: a message is damaged.
    """
    row = connection.execute(_LAST_TURN, (session_id,)).fetchone()
    if row is None or row[0] == running:
        return ""
    shown = _last_answer_shown(connection, session_id, row[0])
    whole = begun = ""
    for (body,) in connection.execute(_ANSWERS, (session_id, row[0])):
        message = unpack_message(body)
        begun += plain_text(text_of(message["content"]))
        if not message.get("unfinished"):
            whole, begun = begun, ""
    return "" if not begun and whole == shown else shown.removeprefix(begun)


def _last_answer_shown(connection: sqlite3.Connection, session_id: str, turn: int) -> str:
    """All text of a turn's last answer, which notices and calls of others may have cut into pieces."""
    last, text = "", ""
    for version, body in connection.execute(_TEXTS, (session_id, turn)):
        for event in _decoded("text", version, body):
            if isinstance(event, AgentText) and _ANSWER_ID in event.message_id:
                text = f"{text}{event.text}" if event.message_id == last else event.text
                last = event.message_id
    return text


def said_first(connection: sqlite3.Connection, session_id: str, turn: int) -> Content:
    """What the person said to begin a turn, as the model gets it; empty where nobody did or it cannot be read."""
    return content_of(_parts(connection, session_id, turn))


def content_of(parts: Sequence[SaidPart]) -> Content:
    """A prompt as the model gets it, with each link named and nothing read."""
    found = [_part(part) for part in parts]
    texts = [part["text"] for part in found if part["type"] == "text"]
    return "\n\n".join(texts) if len(texts) == len(found) else found


def _is_told(connection: sqlite3.Connection, session_id: str, turn: int) -> bool:
    """Whether the model was told what the person said in a turn."""
    told = connection.execute(_SAID_TO_MODEL, (session_id, turn))
    return any(not unpack(body).get("injected") for (body,) in told)


def _parts(connection: sqlite3.Connection, session_id: str, turn: int) -> Sequence[SaidPart]:
    kind, version, body = connection.execute(_FIRST_EVENT, (session_id, turn)).fetchone() or ("", 0, "")
    if kind != "said":  # nobody has said anything, or it was not taken down
        return ()
    return next((event.parts for event in _decoded("said", version, body) if isinstance(event, UserSaid)), ())


def _decoded(kind: str, version: int, body: str | bytes) -> Sequence[SessionEvent]:
    """The events of a row; none where it is damaged: it is shown as that."""
    try:
        value = unpack(body)
        return decode(kind, version, value, open=False) if isinstance(value, dict) else ()
    except StoreError:
        return ()


def _part(part: SaidPart) -> Part:
    match part:
        case SaidText(text=text):
            return {"type": "text", "text": text}
        case SaidImage(mime_type=kind, data=data):
            return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        case SaidAudio(mime_type=kind, data=data):
            return {"type": "input_audio", "input_audio": {"data": data, "format": audio_format(kind)}}
        case SaidDocument(uri=uri, text=str(text)):
            return {"type": "text", "text": f"[Attached: {uri}]\n{text}"}
        case SaidDocument(uri=uri, data=str(data), mime_type=kind) if kind == _PDF:
            name = uri.rpartition("/")[2] or "document"
            name = name if name.lower().endswith(".pdf") else f"{name}.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": f"data:{_PDF};base64,{data}"}}
        case SaidDocument(uri=uri) | SaidLink(uri=uri):
            return {"type": "text", "text": f"[Linked: {uri}; its content was not read.]"}
