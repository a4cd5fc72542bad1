"""Prompts that a process has written down for the person and, killed in the next moment, not yet for the model.

A turn's prompt is shown again as soon as the turn is stored; what the model gets of it is stored when hooks, notes
and links are known. Between the two the process may end. Then the model is told what was said, as far as it was kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_core.errors import StoreError
from agent_core.events import UserSaid
from agent_core.messages import Content, Part, user_message
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText, audio_format
from agent_core.sessions.database.bodies import unpack
from agent_core.sessions.events.event_codec import decode
from agent_core.sessions.live.message_rows import insert_message, packed

_LEFT = """
SELECT turns.number, events.version, events.body, turns.began_at FROM turns
JOIN events ON events.session_id = turns.session_id AND events.turn = turns.number AND events.kind = 'said'
WHERE turns.session_id = ? AND turns.ended_at IS NULL AND turns.undone = 0 AND NOT EXISTS (
    SELECT 1 FROM messages WHERE messages.session_id = turns.session_id AND messages.turn = turns.number
) AND events.position = (
    SELECT min(position) FROM events AS e WHERE e.session_id = turns.session_id AND e.turn = turns.number
) ORDER BY turns.number
"""
_PDF = "application/pdf"


def keep_prompts_left(connection: sqlite3.Connection, session_id: str) -> None:
    """Give the model's history what was said in turns that a process began and left, dying, before it was stored."""
    for number, version, body, began_at in connection.execute(_LEFT, (session_id,)).fetchall():
        parts = _parts(version, body)
        if parts:
            insert_message(connection, session_id, number, packed(user_message(content_of(parts)), began_at))


def content_of(parts: Sequence[SaidPart]) -> Content:
    """A prompt as the model gets it, with each link named and nothing read."""
    found = [_part(part) for part in parts]
    texts = [part["text"] for part in found if part["type"] == "text"]
    return "\n\n".join(texts) if len(texts) == len(found) else found


def _parts(version: int, body: str | bytes) -> Sequence[SaidPart]:
    try:
        value = unpack(body)
        events = decode("said", version, value, open=False) if isinstance(value, dict) else ()
    except StoreError:  # it is damaged, and shown as that
        return ()
    return next((event.parts for event in events if isinstance(event, UserSaid)), ())


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
