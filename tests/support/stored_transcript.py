"""Transcripts in a real database, as the agent would have stored them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.database import Database
from agent_core.sessions.records import KeptState, NewSession, Transcript
from agent_core.sessions.store import SessionStore
from tests.support.stored_sessions import create


def store_transcript(
    home: Path,
    transcript: Transcript,
    *,
    at: float,
    system: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Store the session with its turns in the home's database, all at the time `at`."""
    session = transcript.session
    database = Database(home / "hermes-acp.db", clock=lambda: at)
    archive, store = SessionArchive(database), SessionStore(database)
    try:
        create(archive.database, NewSession(session.id, session.cwd, session.roots, model=session.model))
        for turn in transcript.turns:
            journal = store.journal(session.id, turn.id)
            store.begin_turn(session.id, turn.id)
            for stored in transcript.events:
                for event in stored.events if stored.turn == turn.number else ():
                    journal.record(event)
            for message in transcript.messages:
                if message.turn == turn.number:
                    store.append(session.id, turn.id, message.message)
            if turn.outcome is not None:
                store.end_turn(session.id, turn.id, turn.outcome, turn.note)
        kept = None if tools is None else tuple(dict(tool) for tool in tools)
        store.keep(session.id, KeptState(system=system, tools=kept, model=session.model or "", spent=session.spent))
        if session.title:
            archive.name(session.id, session.title, "person")
        if session.archived:
            archive.archive(session.id, archived=True)
    finally:
        store.close()
        database.close()
