"""What was said in turns that broke off: prompts that the model was not told of, the half of an answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

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
from agent_core.sessions.database import unpack
from agent_core.sessions.event_codec import decode, plain_text
from agent_core.sessions.records import COMMAND, COMPACTED, PromptLeft
from agent_core.sessions.rows import IN_HISTORY, unpack_message

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
    return content_of(_parts(connection, session_id, turn))


def content_of(parts: Sequence[SaidPart]) -> Content:
    """A prompt as the model gets it, with each link named and nothing read."""
    found = [_part(part) for part in parts]
    texts = [part["text"] for part in found if part["type"] == "text"]
    return "\n\n".join(texts) if len(texts) == len(found) else found


def is_told(connection: sqlite3.Connection, session_id: str, turn: int) -> bool:
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
        return decode(kind, version, value) if isinstance(value, dict) else ()
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
