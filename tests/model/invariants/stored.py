"""What is stored is what was said, and of what was deleted nothing is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core.messages import Message, said_in
from agent_core.sessions.checkpoints.file_states import FOLDER
from agent_core.sessions.database import unpack
from tests.model.process import PATIENCE
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.model.lived import Lived, Turn
    from tests.model.world import World

_IN_VIEW = """
SELECT messages.turn, body FROM messages JOIN turns ON turns.session_id = messages.session_id
AND turns.number = messages.turn WHERE messages.session_id = ? AND hidden = '' AND undone = 0 ORDER BY messages.id
"""
_TURNS = "SELECT count(*) FROM turns WHERE session_id = ? AND undone = 0 AND outcome IS NOT 'command'"
_EVENTS = "SELECT body FROM events WHERE session_id = ? AND kind = 'said'"
_OF_SESSIONS = (
    "turns",
    "messages",
    "events",
    "file_versions",
    "rewinds",
    "compactions",
    "news",
    "tasks",
    "search_texts",
)


def check_stored(world: World) -> None:
    """Raises AssertionError."""
    # The first session of a process is stored a moment after it was answered.
    wait_until(lambda: _ids(world) == set(world.sessions), PATIENCE)
    with _reading(world.database) as connection:
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
        for session in world.sessions.values():
            _check_session(session, stored_messages(connection, session.id))
            count = connection.execute(_TURNS, (session.id,)).fetchone()[0]
            assert count == len(session.real_turns), f"{session.id} has {count} turns, not {len(session.real_turns)}"
        for table in _OF_SESSIONS:
            left = {row[0] for row in connection.execute(f"SELECT DISTINCT session_id FROM {table}")}
            assert left <= {*world.sessions, *_children(world, connection)}, (
                f"{table} has rows of sessions that are deleted: {left}"
            )
        _check_blobs(world, connection)


def knows_turn(world: World, session: Lived, turn: Turn) -> bool:
    """Whether what was said in a turn is stored, for the person or for the model too."""
    with _reading(world.database) as connection:
        said = stored_messages(connection, session.id)
        if any(message["role"] == "user" and said_in(message) == turn.prompt for message in said):
            return True
        shown = (unpack(body) for (body,) in connection.execute(_EVENTS, (session.id,)))
        return any(_says(event, turn) for event in shown)


def stored_of(world: World, session: Lived) -> list[Message]:
    """The messages that the model is shown."""
    with _reading(world.database) as connection:
        return stored_messages(connection, session.id)


def stored_messages(connection: sqlite3.Connection, session_id: str) -> list[Message]:
    """The same, over a connection."""
    return [unpack(body) for _, body in connection.execute(_IN_VIEW, (session_id,))]


def _check_session(session: Lived, messages: list[Message]) -> None:
    said = [said_in(message) for message in messages if message["role"] == "user" and not message.get("injected")]
    wanted = [turn.prompt for turn in session.real_turns]
    if _is_beginning(said, session):
        wanted = said  # the model is told of what was said last with the next prompt
    assert said == wanted, f"prompts of {session.id} (stored, said): {_names(said)}, {_names(wanted)}"
    texts = _answers(messages)
    for turn in session.real_turns:
        if turn.end == "whole":
            assert texts[turn.prompt] == turn.text, f"stored of {turn.name}: {texts[turn.prompt]!r}"
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert len(set(calls)) == len(calls), f"calls are stored twice: {calls}"
    assert len(set(results)) == len(results), f"results are stored twice: {results}"
    assert set(results) <= set(calls), f"results of no call: {set(results) - set(calls)}"
    turns = [turn for turn in session.real_turns if turn.end == "whole"]
    # Those of sub-agents are in sessions of their own.
    whole = {call_id for turn in turns for call_id, _ in turn.calls() if call_id.startswith(f"{turn.name}-")}
    assert whole <= set(results), f"without a result: {whole - set(results)}"


def _is_beginning(said: list[Any], session: Lived) -> bool:
    """Whether all that is missing was said in turns at the end that broke off."""
    turns, known = session.real_turns, len(said)
    broken = all(turn.end in {"killed", "cancelled"} for turn in turns[known:])
    return broken and said == [turn.prompt for turn in turns[:known]]


def _answers(messages: list[Message]) -> dict[str, str]:
    """What the model said to each prompt."""
    texts: dict[str, str] = {}
    prompt = ""
    for message in messages:
        if message["role"] == "user":
            prompt = str(said_in(message))
            texts[prompt] = ""
        elif message["role"] == "assistant":
            texts[prompt] += message["content"] or ""
    return texts


def _check_blobs(world: World, connection: sqlite3.Connection) -> None:
    """Every earlier content that undo may need is there."""
    found = {row[0] for row in connection.execute("SELECT DISTINCT before_hash FROM file_versions")}
    needed = found - {None, FOLDER}
    blobs = world.process.home / "blobs"
    there = {path.parent.name + path.name for path in blobs.rglob("*") if path.is_file()} if blobs.exists() else set()
    missing = [each for each in needed if each not in there and not any(each.startswith(name) for name in there)]
    assert not missing, f"earlier contents are lost: {missing}"


def _says(event: dict[str, Any], turn: Turn) -> bool:
    return any(part.get("text") == turn.prompt for part in event["parts"])


def _ids(world: World) -> set[str]:
    if not world.database.exists():
        return set()
    with _reading(world.database) as connection:
        return {row[0] for row in connection.execute("SELECT id FROM sessions WHERE source != 'sub-agent'")}


def _children(world: World, connection: sqlite3.Connection) -> set[str]:
    """The sessions of sub-agents; each works for one that is there."""
    rows = dict(connection.execute("SELECT id, parent_id FROM sessions WHERE source = 'sub-agent'").fetchall())
    orphans = {child for child, parent in rows.items() if parent not in world.sessions}
    assert not orphans, f"sessions of sub-agents are left: {orphans}"
    return set(rows)


def _names(prompts: list[str]) -> list[str]:
    return [prompt[:30] for prompt in prompts]


@contextmanager
def _reading(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        yield connection
