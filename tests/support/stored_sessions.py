"""Sessions in a real database, with what a turn leaves there; for tests of whatever reads stored sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent_core.events import AgentText, SaidText, UserSaid
from agent_core.messages import Message, assistant_message, tool_call, tool_message, user_message
from agent_core.sessions.database import Database, pack
from agent_core.sessions.event_codec import CallSoFar, Item, encode
from agent_core.sessions.leases import claim
from agent_core.sessions.records import Hidden, NewSession
from agent_core.sessions.rows import close_turn, insert_message, insert_new, insert_turn, packed, write_events
from tools.result import ToolResult

ROOT = Path(__file__).parents[2]


class Clock:
    """Seconds since the epoch, one more with each look."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def database_at(path: Path, clock: Clock | None = None) -> Database:
    """A database whose clock goes on by a second with each look."""
    return Database(path / "hermes-acp.db", clock=clock or Clock())


def create(database: Database, new: NewSession) -> None:
    """Store a session; one that exists is left as it is."""
    with database.write() as connection:
        insert_new(connection, new, database.clock())


def add_turn(
    database: Database,
    session_id: str,
    turn_id: str,
    messages: Sequence[Message] = (),
    items: Sequence[Item] = (),
    *,
    outcome: str | None = "end_turn",
    note: str = "",
    hidden: Hidden = "",
) -> int:
    """Store a turn as the live conversation does, and tell its number. Without an outcome it has not ended."""
    with database.write() as connection:
        now = database.clock()
        number = insert_turn(connection, session_id, turn_id, now)
        for message in messages:
            insert_message(connection, session_id, number, packed(message, now))
        forms = [encode(item) for item in items]
        rows = [
            (position, form.kind, form.version, pack(form.body), is_open(item), now)
            for position, (form, item) in enumerate(zip(forms, items, strict=True), 1)
        ]
        write_events(connection, session_id, number, rows)
        if hidden:
            connection.execute(
                "UPDATE messages SET hidden = ? WHERE session_id = ? AND turn = ?", (hidden, session_id, number)
            )
        if outcome is not None:
            close_turn(connection, session_id, number, ended_at=database.clock(), outcome=outcome, note=note)
        connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, session_id))
    return number


def add_talk(database: Database, session_id: str, turn_id: str, prompt: str = "Hello.", answer: str = "Hi.") -> int:
    """Store a turn of one prompt and one answer."""
    said = UserSaid(f"{turn_id}-prompt", (SaidText(prompt),))
    messages = [user_message(prompt), assistant_message(answer)]
    return add_turn(database, session_id, turn_id, messages, [said, AgentText(f"{turn_id}-message-1", answer)])


def working_turn(turn_id: str, steps: int) -> tuple[list[Message], list[Item]]:
    """What a turn says and shows in which the agent reads a file `steps` times and then answers."""
    messages: list[Message] = [user_message(f"{turn_id}: read")]
    items: list[Item] = [UserSaid(f"{turn_id}-prompt", (SaidText(f"{turn_id}: read"),))]
    for step in range(1, steps + 1):
        call = tool_call(f"{turn_id}-call-{step}", "read_file", json.dumps({"path": f"{step}.py"}))
        messages += [assistant_message(f"step {step}", [call]), tool_message(call, f"content {step}")]
        items += [AgentText(f"{turn_id}-message-{step}", f"step {step}"), shown_call(call["id"], f"content {step}")]
    messages.append(assistant_message("done"))
    items.append(AgentText(f"{turn_id}-message-{steps + 1}", "done"))
    return messages, items


def shown_call(call_id: str, result: str | None) -> CallSoFar:
    """A tool call as a turn's events have it; open where there is no result."""
    ended = None if result is None else ToolResult(result)
    return CallSoFar(call_id, "read_file", "/srv", {"path": "a.py"}, requested=True, ran=True, result=ended)


def is_open(item: Item) -> bool:
    """Whether the item has not ended."""
    return isinstance(item, CallSoFar) and item.result is None


def undo_turn(database: Database, session_id: str, number: int) -> None:
    """Take a turn back, as far as the conversation goes."""
    with database.write() as connection:
        connection.execute("UPDATE turns SET undone = 1 WHERE session_id = ? AND number = ?", (session_id, number))
        connection.execute(
            "UPDATE messages SET hidden = 'undone' WHERE session_id = ? AND turn = ?", (session_id, number)
        )


@contextmanager
def held_elsewhere(database: Database, session_id: str) -> Iterator[int]:
    """Another living process holds the session; its number. On leaving it is dead."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(database.path), session_id],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process.pid
        finally:
            process.kill()


_HOLD = f"""
import sys
from pathlib import Path
from agent_core.sessions.database import Database
from agent_core.sessions.leases import this_process, {claim.__name__}
database = Database(Path(sys.argv[1]))
with database.write() as connection:
    claim(connection, sys.argv[2], this_process("another program"), 1e12)
print("held", flush=True)
sys.stdin.read()
"""
