"""The tables as values: sessions and what they keep, turns, messages, compressions, news, tasks, prompts left."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, cast, get_args

from agent_core.background_tasks import News, NewsKind, TaskInfo, TaskKind, TaskState
from agent_core.compaction.engine import Compaction, is_possible
from agent_core.errors import StoreError, UnknownSession
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
from agent_core.messages import Content, Message, Part, text_of
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Certain, Spent
from agent_core.sessions.database import pack, unpack
from agent_core.sessions.event_codec import decode, plain_text, read_step
from agent_core.sessions.journal import JournalRow
from agent_core.sessions.records import COMMAND, COMPACTED, SUB_AGENT, KeptState, NewSession, PromptLeft, TurnRecord
from tools.light_dataclass import dataclass

# How sessions are written into the table `sessions`.

# The values of `archived`. A session that is being deleted is in no view any more; its rows go bit by bit.
IN_USE, ARCHIVED, DELETING = 0, 1, 2

_BETTER_THAN: Mapping[str, tuple[str, ...]] = {
    "prompt": (),  # the first prompt names a session, not the latest
    "model": ("prompt", "model"),
    "person": ("prompt", "model", "person"),
}

Row = tuple[Any, ...]
"""A row as it comes from the database."""


def insert_new(connection: sqlite3.Connection, new: NewSession, now: float) -> bool:
    """Add a session; False where one with its id is there already."""
    added = connection.execute(
        "INSERT INTO sessions"
        " (id, cwd, roots, source, mode, model, options, parent_id, root_id, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, coalesce((SELECT root_id FROM sessions WHERE id = ?), ?), ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (
            new.id,
            path_text(new.cwd),
            roots_text(new.roots),
            plain_text(new.source),
            new.mode,
            new.model,
            options_text(new.options),
            new.parent_id,
            new.parent_id,
            new.id,
            now,
            now,
        ),
    )
    return added.rowcount == 1


def write_title(connection: sqlite3.Connection, session_id: str, title: str, source: str) -> bool:
    """Give a session a title; False where it keeps the better one that it has.

    Args:
        source: whose words it is, as in `titles.TitleSource`.

    Raises:
        UnknownSession: there is no such session.
    """
    query = "SELECT title, title_source FROM sessions WHERE id = ? AND archived < ?"
    row = connection.execute(query, (plain_text(session_id), DELETING)).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    if row[0] is not None and row[1] not in (*_BETTER_THAN[source], None):
        return False
    connection.execute("UPDATE sessions SET title = ?, title_source = ? WHERE id = ?", (title, source, session_id))
    return True


def path_text(path: str) -> str:
    """A directory as it is stored: as it is, or as JSON if its name is no UTF-8, which SQLite would not take."""
    return path if path == plain_text(path) else json.dumps(path)


def path_from(text: str) -> str:
    """The directory that is stored as `text`; one that can be told from JSON, being absolute."""
    return str(json.loads(text)) if text.startswith('"') else text


def roots_text(roots: Sequence[str]) -> str:
    """Directories as they are stored."""
    return json.dumps(list(roots))


def options_text(options: Mapping[str, Any]) -> str:
    """The person's choices as they are stored."""
    return json.dumps(dict(options))


# What a session has used ⇄ the columns `requests`, `usage` and `cost` of its row.

_CERTAIN = "certain"


def usage_text(spent: Spent) -> str:
    """The column `usage`."""
    return json.dumps({**asdict(spent.usage), _CERTAIN: asdict(spent.certain)})


def spent_from(requests: int, usage: str, cost: float | None) -> Spent:
    """What the columns say. Earlier versions did not keep what is known where not all is.

    Raises:
        ValueError, TypeError, AttributeError: `usage` is damaged.
    """
    counts: dict[str, Any] = json.loads(usage)
    if not requests and not counts:
        return Spent()
    known = counts.get(_CERTAIN)
    return Spent(
        requests,
        Usage(**{field.name: counts.get(field.name) for field in fields(Usage)}),
        cost,
        None if known is None else Certain(**known),
    )


def readable_spent(requests: int, usage: str, cost: float | None) -> Spent:
    """The same; of damaged columns what can be read."""
    try:
        return spent_from(requests, usage, cost)
    except (ValueError, TypeError, AttributeError):
        return Spent(requests, cost=cost)


# What a session has used since it was last stored → the table `spending`, by day and model.

_BEFORE = "SELECT requests, usage, cost FROM sessions WHERE id = ? AND source <> ?"
_ADD_SPENDING = (
    "INSERT INTO spending (day, model, session_id, requests, input, cached, output, cost, unpriced)"
    " VALUES (date('now', 'localtime'), ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (session_id, day, model) DO UPDATE SET requests = requests + excluded.requests,"
    " input = input + excluded.input, cached = cached + excluded.cached, output = output + excluded.output,"
    " cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced"
)
_COLUMNS = ("input_tokens", "cached_tokens", "output_tokens", "cost", "unpriced")


def add_spending(connection: sqlite3.Connection, session_id: str, spent: Spent, model: str) -> None:
    """Add what is new in `spent`; before the session's own row says it. Sub-agents' is in the sums of their parents.

    Args:
        model: the one that was used last, as provider:model.
    """
    row = connection.execute(_BEFORE, (session_id, SUB_AGENT)).fetchone()
    if row is None:
        return
    before = readable_spent(*row)
    if spent.requests < before.requests:  # what was kept could not be read, and is counted anew
        before = Spent()
    new = spent.requests - before.requests
    if not new:
        return
    now, then = asdict(spent.certain), asdict(before.certain)
    more = [max(0, now[name] - then[name]) for name in _COLUMNS]
    connection.execute(_ADD_SPENDING, (model, session_id, new, *more))


# What a session keeps between its turns ⇄ the columns of `sessions`, and the long texts in `texts`.

_QUERY = (
    "SELECT kept, system_hash, tools_hash, model, requests, usage, cost,"
    " (SELECT body FROM texts WHERE hash = system_hash), (SELECT body FROM texts WHERE hash = tools_hash)"
    " FROM sessions WHERE id = ? AND archived < ?"
)


@dataclass(frozen=True, slots=True, eq=False)
class PackedState:
    """What is kept, ready to be stored. Long texts are compressed only if they are not stored yet."""

    state: KeptState
    kept: str
    usage: str
    system: tuple[str, str] | None
    tools: tuple[str, str] | None


def packed_state(state: KeptState) -> PackedState:
    """`state` as it will lie in its row.

    Raises:
        TypeError, ValueError: it holds what is no JSON.
    """
    kept = {
        "plan": [asdict(item) for item in state.plan],
        "omissions": {
            "results": sorted(state.omitted_results),
            "sealed_before": state.sealed_before,
            "images_before": state.images_before,
        },
        "program": state.program,
        "prompt": {"layers": state.prompt_layers, "notes": state.prompt_notes},
    }
    return PackedState(
        state,
        json.dumps(kept),
        usage_text(state.spent),
        None if state.system is None else _hashed(state.system),
        None if state.tools is None else _hashed(json.dumps(state.tools)),
    )


def write_state(connection: sqlite3.Connection, session_id: str, packed: PackedState) -> None:
    """Store what is kept; a session that is gone stays so."""
    for text in (packed.system, packed.tools):
        if text is not None:
            _store_text(connection, *text)
    state = packed.state
    add_spending(connection, session_id, state.spent, plain_text(state.model))
    connection.execute(
        "UPDATE sessions SET kept = ?, system_hash = ?, tools_hash = ?, model = coalesce(?, model), requests = ?,"
        " usage = ?, cost = ? WHERE id = ?",
        (
            packed.kept,
            packed.system[0] if packed.system else None,
            packed.tools[0] if packed.tools else None,
            plain_text(state.model) or None,
            state.spent.requests,
            packed.usage,
            state.spent.cost,
            session_id,
        ),
    )


def read_state(connection: sqlite3.Connection, session_id: str) -> KeptState | None:
    """What was last stored; None if nothing was.

    Raises:
        UnknownSession: there is no such session.
        StoreError: it is damaged.
    """
    row = connection.execute(_QUERY, (session_id, DELETING)).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    if row[0] == "{}":
        return None
    try:
        return _state_from(row)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise StoreError(
            f"What session {session_id!r} keeps between its turns is damaged ({type(problem).__name__}: {problem}). "
            "Run `hermes-acp doctor` to see what can be repaired.",
            kind="corrupt",
        ) from problem


def kept_from(kept: str) -> KeptState:
    """What the column `kept` says; system prompt, tools, model and what was spent are in others.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is damaged.
    """
    values = json.loads(kept)
    omissions = values["omissions"]
    prompt = values.get("prompt", {})  # earlier versions had none
    return KeptState(
        plan=tuple(map(read_step, values["plan"])),
        program=str(values["program"]),
        omitted_results=frozenset(omissions["results"]),
        sealed_before=int(omissions["sealed_before"]),
        images_before=int(omissions["images_before"]),
        prompt_layers=tuple((str(name), int(size)) for name, size in prompt.get("layers", ())),
        prompt_notes=tuple(map(str, prompt.get("notes", ()))),
    )


def _state_from(row: Row) -> KeptState:
    kept, system_hash, tools_hash, model, requests, usage, cost, system, tools = row
    definitions = _text(tools_hash, tools)
    return replace(
        kept_from(kept),
        system=_text(system_hash, system),
        tools=None if definitions is None else tuple(json.loads(definitions)),
        model=model or "",
        spent=spent_from(requests, usage, cost),
    )


def _hashed(text: str) -> tuple[str, str]:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), text


def _store_text(connection: sqlite3.Connection, digest: str, text: str) -> None:
    if connection.execute("SELECT 1 FROM texts WHERE hash = ?", (digest,)).fetchone() is None:
        connection.execute("INSERT OR IGNORE INTO texts (hash, body) VALUES (?, ?)", (digest, pack(text)))


def _text(digest: str | None, body: str | bytes | None) -> str | None:
    """The text; None where there is none, or where it was lost: it is made anew then."""
    return None if digest is None or body is None else str(unpack(body))


# Rows of the tables `turns` and `events` as the live conversation writes them.

TURN_COLUMNS = "number, id, began_at, ended_at, outcome, note, undone"
"""What `turn_from` needs."""

PackedEvent = tuple[int, str, int, str | bytes, bool, float]
"""Position, kind, version, body, whether it is open, and when it began."""


def turn_from(row: Row) -> TurnRecord:
    """The turn of a row with TURN_COLUMNS."""
    number, turn_id, began_at, ended_at, outcome, note, undone = row
    return TurnRecord(number, turn_id, began_at, ended_at, outcome, note, bool(undone))


def insert_turn(connection: sqlite3.Connection, session_id: str, turn_id: str, began_at: float) -> int:
    """Begin a turn with the session's next number, which is the result."""
    query = "UPDATE sessions SET turns_begun = turns_begun + 1 WHERE id = ? RETURNING turns_begun"
    number: int = connection.execute(query, (session_id,)).fetchall()[0][0]
    connection.execute(
        "INSERT INTO turns (session_id, number, id, began_at) VALUES (?, ?, ?, ?)",
        (session_id, number, turn_id, began_at),
    )
    return number


def close_turn(
    connection: sqlite3.Connection, session_id: str, number: int, *, ended_at: float, outcome: str, note: str
) -> None:
    """Write down how a turn ended."""
    connection.execute(
        "UPDATE turns SET ended_at = ?, outcome = ?, note = ? WHERE session_id = ? AND number = ?",
        (ended_at, outcome, plain_text(note), session_id, number),
    )


def packed_events(rows: Sequence[JournalRow]) -> list[PackedEvent]:
    """What a journal gave, ready to be stored."""
    return [(row.position, row.kind, row.version, pack(row.body), row.open, row.created_at) for row in rows]


def write_events(connection: sqlite3.Connection, session_id: str, turn: int, events: Sequence[PackedEvent]) -> None:
    """Store events of a turn; each takes the place of the one at its position."""
    connection.executemany(
        "INSERT INTO events (session_id, turn, position, kind, version, body, open, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, turn, position)"
        " DO UPDATE SET kind = excluded.kind, version = excluded.version, body = excluded.body, open = excluded.open",
        [(session_id, turn, *event) for event in events],
    )


# Rows of the table `messages` as the live conversation writes and reads them.

IN_HISTORY = (
    "session_id = ?1 AND hidden = '' AND turn > coalesce((SELECT max(number) FROM turns"
    " WHERE session_id = ?1 AND outcome = 'reset' AND undone = 0), -1)"
)
"""Of messages, those of session ?1 that the model is shown: where it began anew, what came after that."""


_ROLES = frozenset({"system", "user", "assistant", "tool"})
_PARTS = {"text": "text", "image_url": "image_url", "input_audio": "input_audio", "file": "file"}


@dataclass(frozen=True, slots=True, eq=False)
class PackedMessage:
    """A message ready to be stored. `created_at` is in seconds since the epoch; `news` are told with it."""

    role: str
    body: str | bytes
    created_at: float
    news: tuple[str, ...] = ()


def packed(message: Message, now: float) -> PackedMessage:
    """`message` as it will lie in its row.

    Raises:
        TypeError: it holds what is no JSON.
    """
    return PackedMessage(message["role"], pack(message), now, tuple(message.get("news", ())))


def insert_message(connection: sqlite3.Connection, session_id: str, turn: int, message: PackedMessage) -> None:
    """Add a message to a turn."""
    connection.execute(
        "INSERT INTO messages (session_id, turn, role, body, created_at) VALUES (?, ?, ?, ?, ?)",
        (session_id, turn, message.role, message.body, message.created_at),
    )


def read_bodies(connection: sqlite3.Connection, session_id: str) -> list[str | bytes]:
    """The model's history as it lies in its rows, in order."""
    query = f"SELECT body FROM messages WHERE {IN_HISTORY} ORDER BY id"  # noqa: S608 - a constant
    return [body for (body,) in connection.execute(query, (session_id,))]


def unpack_message(body: str | bytes) -> Message:
    """The message of one such row.

    Raises:
        StoreError: it is damaged (kind corrupt).
    """
    value = unpack(body)
    # One bit may make another key, or another kind, of what was stored.
    try:
        if (
            value["role"] in _ROLES
            and _is_content(value["content"])
            and all(map(_is_call, value.get("tool_calls", ())))
        ):
            return cast("Message", value)
    except (TypeError, KeyError, AttributeError):
        pass
    raise StoreError(
        "A stored message is damaged: it makes no sense. Run `hermes-acp doctor` to see what can be repaired.",
        kind="corrupt",
    )


def _is_content(content: Any) -> bool:
    if content is None or isinstance(content, str):
        return True
    return isinstance(content, list) and all(isinstance(part[_PARTS[part["type"]]], str | dict) for part in content)


def _is_call(call: Any) -> bool:
    function = call["function"]
    return all(isinstance(text, str) for text in (call["id"], function["name"], function["arguments"]))


# Rows of the table `compactions`: what compressions made, and which of them is in effect.

log = logging.getLogger(__name__)

_COUNTS = (
    "made.session_id = ?1"  # noqa: S608 - constants
    " AND EXISTS (SELECT 1 FROM turns WHERE session_id = ?1 AND number = made.turn AND undone = 0)"
    f" AND made.messages = (SELECT count(*) FROM messages WHERE {IN_HISTORY} AND id <= made.last_message)"
)
_IN_EFFECT = f"SELECT made.body FROM compactions AS made WHERE {_COUNTS} ORDER BY made.id DESC"  # noqa: S608 - constants
_TO_COPY = (
    "SELECT turn, number, messages, body, created_at FROM compactions AS made"  # noqa: S608 - constants
    f" WHERE {_COUNTS} AND turn IN (SELECT number FROM turns WHERE session_id = ?2) ORDER BY id"
)
_LAST_COPIED = f"SELECT id FROM messages WHERE {IN_HISTORY} ORDER BY id LIMIT 1 OFFSET ?2 - 1"  # noqa: S608 - a constant
_COPY = (
    "INSERT INTO compactions (session_id, turn, number, messages, last_message, body, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_FIELDS = frozenset(field.name for field in fields(Compaction))


@dataclass(frozen=True, slots=True, eq=False)
class PackedCompaction:
    """A compaction ready to be stored. `created_at` is in seconds since the epoch."""

    compaction: Compaction
    body: str | bytes
    created_at: float


def packed_compaction(compaction: Compaction, now: float) -> PackedCompaction:
    """`compaction` as it will lie in its row."""
    return PackedCompaction(compaction, pack(asdict(compaction)), now)


def read_compaction(connection: sqlite3.Connection, session_id: str) -> Compaction | None:
    """The compaction in effect; None where the model is shown the whole history.

    A damaged one is passed over, which costs a new compression and loses nothing.
    """
    for (body,) in connection.execute(_IN_EFFECT, (session_id,)):
        try:
            return unpack_compaction(body)
        except StoreError:
            log.warning("a compaction of session %s is damaged and passed over", session_id, exc_info=True)
    return None


def copy_compactions(connection: sqlite3.Connection, source: str, target: str) -> None:
    """Give the fork `target`, whose turns and messages are there, what counts in `source` and covers only these."""
    for turn, number, messages, body, created_at in connection.execute(_TO_COPY, (source, target)).fetchall():
        last = connection.execute(_LAST_COPIED, (target, messages)).fetchone()
        if last is not None:
            connection.execute(_COPY, (target, turn, number, messages, last[0], body, created_at))


def unpack_compaction(body: str | bytes) -> Compaction:
    """The compaction of a row's body.

    Raises:
        StoreError: it is damaged (kind corrupt).
    """
    value = unpack(body)
    try:
        return _compaction(value)
    except (TypeError, ValueError, AttributeError) as problem:
        raise StoreError(f"A stored compression is damaged ({problem}).", kind="corrupt") from problem


def _compaction(body: Any) -> Compaction:
    """What a later program has added is left out: what it shows is what ours can show."""
    known = {name: value for name, value in body.items() if name in _FIELDS}
    known["kept"] = tuple(known.get("kept", ()))
    known["cuts"] = {int(position): limit for position, limit in known.get("cuts", {}).items()}
    made = Compaction(**known)
    # That it covers no more than there is, whoever shows it sees to.
    if not is_possible(made, made.up_to):
        raise ValueError("its parts make no sense")
    return made


# Rows of the tables `news` and `tasks`.

_NEWS_KINDS: Mapping[object, NewsKind] = {kind: kind for kind in get_args(NewsKind)}
_TASK_KINDS: Mapping[object, TaskKind] = {kind: kind for kind in get_args(TaskKind)}
_STATES: Mapping[object, TaskState] = {state: state for state in get_args(TaskState)}


def delete_news(connection: sqlite3.Connection, session_id: str, names: Iterable[str]) -> None:
    """Take some away; unknown ones are passed over."""
    connection.executemany(
        "DELETE FROM news WHERE session_id = ? AND name = ?", [(session_id, name) for name in names]
    )


def read_news(connection: sqlite3.Connection, session_id: str) -> list[News]:
    """Those of a session, oldest first; damaged ones are passed over."""
    query = "SELECT name, body, created_at FROM news WHERE session_id = ? ORDER BY id"
    rows = connection.execute(query, (session_id,)).fetchall()
    return [news for name, body, at in rows if (news := news_from(name, body, at)) is not None]


def read_tasks(connection: sqlite3.Connection, session_id: str) -> list[TaskInfo]:
    """Those of a session, oldest first, as they were stored; damaged ones are passed over."""
    query = "SELECT name, state, body, started_at, ended_at FROM tasks WHERE session_id = ? ORDER BY started_at, id"
    rows = connection.execute(query, (session_id,)).fetchall()
    return [task for row in rows if (task := task_from(*row)) is not None]


def news_from(name: str, body: str | bytes, at: float) -> News | None:
    """What a row holds; None where it is damaged."""
    try:
        told: dict[str, Any] = unpack(body)
        kind = _NEWS_KINDS[told["kind"]]
        outcome = _STATES.get(told.get("outcome"))
        return News(str(told["source"]), kind, str(told["title"]), str(told["text"]), at, name, outcome)
    except (StoreError, KeyError, TypeError):
        return None


def task_from(name: str, state: str, body: str | bytes, began: float, ended: float | None) -> TaskInfo | None:
    """What a row holds; None where it is damaged."""
    try:
        told: dict[str, Any] = unpack(body)
        kind, title, detail = _TASK_KINDS[told["kind"]], str(told["title"]), str(told["detail"])
        return TaskInfo(name, kind, title, _STATES[state], began, ended, detail, told.get("tells") is not False)
    except (StoreError, KeyError, TypeError):
        return None


# What was said in turns that broke off: prompts that the model was not told of, the half of an answer.
# A turn's prompt is shown again as soon as the turn is stored; what the model gets of it is stored when hooks, notes
# and links are known. Between the two the process may end, or the person cancels. Whatever a hook would have said of
# such a prompt is unknown: it is in no history until the next turn has asked, and tells it or leaves it out.

_EARLIER_TURNS = (
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


def read_prompts_left(connection: sqlite3.Connection, session_id: str, turn_id: str) -> tuple[PromptLeft, ...]:
    """What was said since the model was told anything last, oldest first.

    Args:
        turn_id: of the turn that runs, which has left nothing yet.

    Raises:
        StoreError: a message is damaged.
    """
    found: list[PromptLeft] = []
    for number, its_id, began_at, outcome in connection.execute(_EARLIER_TURNS, (session_id, turn_id)):
        if outcome in _PASSED_OVER:
            continue
        if outcome not in BROKEN_OFF or is_told(connection, session_id, number):
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
    return content_of(_said_parts(connection, session_id, turn))


def content_of(parts: Sequence[SaidPart]) -> Content:
    """A prompt as the model gets it, with each link named and nothing read."""
    found = [_model_part(part) for part in parts]
    texts = [part["text"] for part in found if part["type"] == "text"]
    return "\n\n".join(texts) if len(texts) == len(found) else found


def is_told(connection: sqlite3.Connection, session_id: str, turn: int) -> bool:
    """Whether the model was told what the person said in a turn."""
    told = connection.execute(_SAID_TO_MODEL, (session_id, turn))
    return any(not unpack(body).get("injected") for (body,) in told)


def _said_parts(connection: sqlite3.Connection, session_id: str, turn: int) -> Sequence[SaidPart]:
    kind, version, body = connection.execute(_FIRST_EVENT, (session_id, turn)).fetchone() or ("", 0, "")
    if kind != "said":  # nobody has said anything, or it was not taken down
        return ()
    return next((event.parts for event in _decoded("said", version, body) if isinstance(event, UserSaid)), ())


def _decoded(kind: str, version: int, body: str | bytes) -> Sequence[SessionEvent]:
    """The events of a row; none where it is damaged: it is shown as that."""
    try:
        value = unpack(body)
        return decode(kind, version, value) if isinstance(value, dict) else ()
    except StoreError:
        return ()


def _model_part(part: SaidPart) -> Part:
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
