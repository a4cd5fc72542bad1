"""What a session's next turn begins with, read before it: used as it is while nothing has changed, and never else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_core.compaction.engine import Compaction
from agent_core.events import SaidText, UserSaid
from agent_core.messages import assistant_message, user_message
from agent_core.sessions.operations import read_prompts_left
from agent_core.sessions.records import KeptState
from tests.support.session_database import Desk

HELLO = user_message("hello")
HI = assistant_message("hi")
KEPT = KeptState(system="You help.")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A session with one turn, that nobody has open."""
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv/project")
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.store.append("s", "t1", HI)
    desk.store.end_turn("s", "t1", "end_turn")
    desk.store.keep("s", KEPT)
    desk.store.release("s")
    yield desk
    desk.close()


@pytest.fixture
def reads(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of the database, since the fixture was made."""
    found: list[str] = []
    read = desk.database.read
    monkeypatch.setattr(desk.database, "read", lambda: (found.append("read"), read())[1])
    return found


def test_where_nothing_has_changed_the_turn_reads_nothing(desk: Desk, reads: list[str]) -> None:
    ahead = desk.store.read_ahead("s")
    reads.clear()
    desk.store.take_lease("s")
    assert desk.store.kept("s") == KEPT
    desk.store.begin_turn("s", "t2")
    assert desk.store.prompts_left("s", "t2") == ()
    assert desk.store.compaction("s") is None
    messages = desk.store.messages("s")
    assert [id(message) for message in messages] == [id(message) for message in ahead]
    assert reads == []


def _another_message(desk: Desk) -> None:
    body = json.dumps(user_message("theirs"))
    desk.change(
        "INSERT INTO messages (session_id, turn, role, body, created_at) SELECT session_id, turn, 'user', ?, 0"
        " FROM messages LIMIT 1",
        body,
    )


def _same_session(desk: Desk) -> None:
    desk.store.begin_turn("s", "t1b")
    desk.store.append("s", "t1b", user_message("theirs"))
    desk.store.end_turn("s", "t1b", "end_turn")
    desk.store.forget_ahead("s")
    desk.store.release("s")


@pytest.mark.parametrize("change", [_another_message, _same_session], ids=["another process", "this process"])
def test_what_was_said_meanwhile_is_read(desk: Desk, change: Callable[[Desk], None]) -> None:
    desk.store.read_ahead("s")
    change(desk)
    desk.store.begin_turn("s", "t2")
    assert [message["content"] for message in desk.store.messages("s")] == ["hello", "hi", "theirs"]


def test_what_another_process_kept_or_compressed_or_left_meanwhile_is_read(desk: Desk) -> None:
    desk.store.read_ahead("s")
    other = desk.another_store()
    other.begin_turn("s", "t2")
    other.append("s", "t2", user_message("theirs"))
    other.compact("s", "t2", Compaction(0, 1, "short"))
    other.keep("s", KeptState(system="You help more."))
    other.end_turn("s", "t2", "end_turn")
    other.journal("s", "t3").record(UserSaid("t3-prompt", (SaidText("left"),)))
    other.begin_turn("s", "t3")
    other.end_turn("s", "t3", "cancelled")
    other.close()

    desk.store.take_lease("s")
    kept, compaction = desk.store.kept("s"), desk.store.compaction("s")
    assert kept is not None
    assert kept.system == "You help more."
    assert compaction is not None
    desk.store.begin_turn("s", "t4")
    assert [left.content for left in desk.store.prompts_left("s", "t4")] == ["left"]


def test_a_prompt_that_is_left_is_looked_for_again(desk: Desk) -> None:
    desk.store.journal("s", "t2").record(UserSaid("t2-prompt", (SaidText("left"),)))
    desk.store.begin_turn("s", "t2")
    desk.store.end_turn("s", "t2", "cancelled")
    desk.store.release("s")
    desk.store.read_ahead("s")
    desk.store.begin_turn("s", "t3")
    (left,) = desk.store.prompts_left("s", "t3")
    assert left.content == "left"
    with desk.database.read() as connection:
        assert read_prompts_left(connection, "s", "t3") == (left,)


def test_what_is_kept_after_it_is_what_is_kept(desk: Desk) -> None:
    desk.store.read_ahead("s")
    desk.store.begin_turn("s", "t2")
    desk.store.keep("s", KeptState(system="New."))
    desk.store.end_turn("s", "t2", "end_turn")
    kept = desk.store.kept("s")
    assert kept is not None
    assert kept.system == "New."
