"""What happens where storing fails: the conversation goes on in memory, and nothing of it is lost or stored twice."""

from __future__ import annotations

import random
import shutil
from itertools import count

import pytest

from agent_core.errors import SessionInUse, StoreError, UnknownSession
from agent_core.events import AgentText
from agent_core.messages import assistant_message, user_message
from agent_core.providers.pricing import Spent
from agent_core.sessions.database import unpack
from agent_core.sessions.records import KeptState, NewSession
from tests.support.session_database import Desk

BROKEN = StoreError("The disk is full. Free some space.", kind="full")


def stored(desk: Desk) -> list[str]:
    return [unpack(body)["content"] for (body,) in desk.rows("SELECT body FROM messages ORDER BY id")]


def said(desk: Desk, session: str = "s") -> list[str]:
    return [str(message["content"]) for message in desk.store.messages(session)]


def say(desk: Desk, *texts: str, turn: str = "t1") -> None:
    for text in texts:
        assert desk.store.append("s", turn, user_message(text))


def test_a_locked_database_does_not_stop_a_turn_and_what_it_said_is_stored_when_the_lock_is_gone(desk):
    desk.store.begin_turn("s", "t1")
    say(desk, "one")
    with desk.locked():
        say(desk, "two")
        assert desk.store.trouble("s") == "", "others may write for a moment"
        desk.clock.now += 3
        say(desk, "three")
        assert "locked" in desk.store.trouble("s")
        assert "not being saved" in desk.store.trouble("s")
        assert said(desk) == ["one", "two", "three"]
    assert stored(desk) == ["one"]
    desk.clock.now += 1
    say(desk, "four")
    assert desk.store.trouble("s") == ""
    assert stored(desk) == ["one", "two", "three", "four"] == said(desk)


def test_in_trouble_it_is_not_tried_with_every_message(desk):
    desk.store.begin_turn("s", "t1")
    with desk.locked():
        say(desk, "one")
    say(desk, "two")
    assert stored(desk) == []
    desk.clock.now += 0.9
    say(desk, "three")
    assert stored(desk) == []
    desk.clock.now += 0.2
    say(desk, "four")
    assert stored(desk) == ["one", "two", "three", "four"]


def test_what_waits_is_tried_without_another_message(desk):
    desk.store.begin_turn("s", "t1")
    with desk.locked():
        say(desk, "one")
        desk.store.end_turn("s", "t1", "end_turn")
        assert desk.store.tick() is not None
    desk.clock.now += 3
    desk.store.tick()
    assert stored(desk) == ["one"]
    assert desk.rows("SELECT outcome FROM turns") == [("end_turn",)]
    assert desk.store.trouble("s") == ""


def test_turns_that_began_in_memory_are_stored_in_order_with_their_journals(desk):
    with desk.locked():
        for turn in ("t1", "t2"):
            journal = desk.store.journal("s", turn)
            desk.store.begin_turn("s", turn)
            journal.record(AgentText("m", f"of {turn}"))
            say(desk, turn, turn=turn)
            desk.store.end_turn("s", turn, "end_turn")
        assert said(desk) == ["t1", "t2"]
    desk.clock.now += 3
    desk.store.tick()
    assert desk.rows("SELECT number, id, outcome FROM turns ORDER BY number") == [
        (1, "t1", "end_turn"),
        (2, "t2", "end_turn"),
    ]
    assert desk.rows("SELECT turn FROM messages ORDER BY id") == [(1,), (2,)]
    assert desk.rows("SELECT turn, position FROM events ORDER BY id") == [(1, 0), (2, 0)]
    assert said(desk) == ["t1", "t2"]


@pytest.mark.parametrize("failing", range(7))
def test_nothing_is_stored_twice_after_a_commit_of_unknown_outcome(desk, failing):
    """Every step fails in turn: the commit happened, and nobody was told."""
    steps = [
        lambda: desk.store.begin_turn("s", "t1"),
        lambda: say(desk, "one"),
        lambda: say(desk, "two"),
        lambda: desk.store.withdraw("s", "t1"),
        lambda: say(desk, "three"),
        lambda: desk.store.keep("s", KeptState(program="1")),
        lambda: desk.store.end_turn("s", "t1", "refusal"),
    ]
    journal = desk.store.journal("s", "t1")
    for number, step in enumerate(steps):
        desk.database.fails_after = BROKEN if number == failing else None
        journal.record(AgentText("m", f"{number} "))
        step()
        desk.clock.now += 5
    desk.database.fails_after = None
    desk.store.tick()
    assert desk.store.trouble("s") == ""
    assert stored(desk) == ["one", "two", "three"]
    assert desk.rows("SELECT hidden FROM messages ORDER BY id") == [("withdrawn",), ("withdrawn",), ("",)]
    assert desk.rows("SELECT id, outcome FROM turns") == [("t1", "refusal")]
    assert desk.rows("SELECT count(*) FROM events") == [(1,)]
    assert said(desk) == ["three"]


def test_commits_of_unknown_outcome_again_and_again_store_everything_once(desk):
    desk.database.fails_after = BROKEN
    desk.store.begin_turn("s", "t1")
    for number in range(20):
        say(desk, str(number))
        desk.clock.now += 1
    desk.store.withdraw("s", "t1")
    desk.clock.now += 1
    say(desk, "last")
    desk.database.fails_after = None
    desk.clock.now += 1
    desk.store.end_turn("s", "t1", "end_turn")
    assert stored(desk) == [*map(str, range(20)), "last"]
    assert desk.rows("SELECT count(*) FROM messages WHERE hidden = 'withdrawn'") == [(20,)]
    assert desk.rows("SELECT count(*) FROM turns") == [(1,)]


def test_a_new_session_without_any_database_goes_on_in_memory(tmp_path):
    (tmp_path / "hermes-acp.db").mkdir()
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create_new(NewSession("s", "/srv"))
    desk.store.begin_turn("s", "t1")
    say(desk, "one")
    assert said(desk) == ["one"]
    assert "not being saved" in desk.store.trouble("s")
    (tmp_path / "hermes-acp.db").rmdir()
    desk.clock.now += 1
    say(desk, "two")
    assert stored(desk) == ["one", "two"]
    desk.close()


def test_a_session_that_may_have_been_there_is_not_taken_for_an_empty_one(tmp_path):
    (tmp_path / "hermes-acp.db").mkdir()
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv")
    desk.store.begin_turn("s", "t1")
    with pytest.raises(StoreError):
        desk.store.messages("s")
    (tmp_path / "hermes-acp.db").rmdir()
    desk.clock.now += 1
    assert desk.store.messages("s") == []
    desk.close()


def test_a_known_session_is_created_without_writing(desk):
    with desk.locked():
        desk.store.create("s", "/srv/other")
    assert desk.store.trouble("s") == ""


def test_in_trouble_too_a_session_of_another_process_is_refused_and_an_unknown_one_named(desk):
    other = desk.another_store()
    other.begin_turn("s", "t1")
    with desk.locked():
        with pytest.raises(SessionInUse):
            desk.store.begin_turn("s", "t2")
        with pytest.raises(UnknownSession):
            desk.store.begin_turn("nobody", "t2")
    other.close()


def test_a_turn_that_began_in_memory_is_refused_when_another_process_was_quicker(desk):
    with desk.locked():
        desk.store.begin_turn("s", "t1")
        say(desk, "one")
    other = desk.another_store()
    other.begin_turn("s", "theirs")
    desk.clock.now += 1
    assert desk.store.append("s", "t1", user_message("two")) is False
    assert "another program" in desk.store.trouble("s")
    assert stored(desk) == []
    other.close()
    desk.store.begin_turn("s", "t2")
    assert said(desk) == ["one"] == stored(desk)


def test_kept_state_waits_too_and_is_known_meanwhile(desk):
    desk.store.begin_turn("s", "t1")
    with desk.locked():
        for program in ("1", "2"):
            desk.store.keep("s", KeptState(program=program))
        kept = desk.store.kept("s")
    assert kept is not None
    assert kept.program == "2"
    desk.clock.now += 3
    desk.store.tick()
    desk.store.release("s")
    assert desk.store.kept("s") == KeptState(program="2")


def test_a_released_session_stays_until_it_is_stored(desk):
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    say(desk, "one")
    desk.store.release("s")
    assert desk.store.append("s", "t1", user_message("late")) is False
    assert said(desk) == ["one"]
    desk.database.fails_before = None
    desk.clock.now += 3
    desk.store.tick()
    assert stored(desk) == ["one"]
    assert desk.rows("SELECT holder_token FROM sessions") == [(None,)]
    assert desk.store.trouble("s") == ""


def test_a_released_session_that_waits_can_be_gone_on_with(desk):
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    say(desk, "one")
    desk.store.release("s")
    desk.store.begin_turn("s", "t2")
    say(desk, "two", turn="t2")
    desk.database.fails_before = None
    desk.clock.now += 3
    desk.store.tick()
    assert stored(desk) == ["one", "two"] == said(desk)
    assert desk.store.append("s", "t2", assistant_message("three"))


@pytest.mark.parametrize("what", ["file", "home"])
def test_a_database_that_is_deleted_does_not_stop_a_turn_and_the_person_is_told(desk, what):
    desk.store.begin_turn("s", "t1")
    say(desk, "one")
    if what == "home":
        shutil.rmtree(desk.path.parent)
    else:
        desk.path.unlink()
    say(desk, "two")
    assert "deleted or replaced" in desk.store.trouble("s")
    desk.store.end_turn("s", "t1", "end_turn")
    desk.store.begin_turn("s", "t2")
    assert said(desk) == ["one", "two"]
    assert desk.store.append("s", "t2", user_message("three"))
    desk.store.release("s")
    with pytest.raises(UnknownSession):
        desk.store.begin_turn("s", "t3")


def test_what_a_turn_failed_of_may_be_no_text_and_stops_no_later_turn(desk):
    desk.store.begin_turn("s", "t1")
    say(desk, "one")
    desk.store.end_turn("s", "t1", "error", "the server said \ud800")
    desk.store.begin_turn("s", "t2")
    assert desk.rows("SELECT outcome, note FROM turns WHERE number = 1") == [("error", "the server said \ufffd")]


def test_a_client_may_have_a_name_that_is_no_text(desk):
    desk.store.create_new(NewSession("new", "/srv/project", source="ed\ud800"))
    assert desk.rows("SELECT source FROM sessions WHERE id = 'new'") == [("ed\ufffd",)]


@pytest.mark.parametrize("patience", [0.0, 0.05])
def test_a_turn_that_ends_unsaved_says_so_at_once_even_if_others_only_write_just_now(desk, patience):
    desk.store.begin_turn("s", "t1")
    with desk.locked():
        say(desk, "one")
        assert desk.store.trouble("s") == ""
        desk.store.end_turn("s", "t1", "end_turn")
        assert "not being saved" in desk.store.trouble("s")
    desk.clock.now += 3
    desk.store.tick()
    assert desk.store.trouble("s") == ""
    assert stored(desk) == ["one"]


def test_the_end_of_a_turn_is_tried_even_where_a_message_failed_a_moment_ago(desk):
    desk.store.begin_turn("s", "t1")
    with desk.locked():
        say(desk, "one")
    desk.store.end_turn("s", "t1", "end_turn")
    assert stored(desk) == ["one"]


def test_what_can_never_be_stored_keeps_nothing_else_from_it_and_is_told(desk, caplog):
    desk.store.begin_turn("s", "t1")
    say(desk, "one")
    desk.store.keep("s", KeptState(spent=Spent(1 << 70)))
    say(desk, "two")
    desk.store.end_turn("s", "t1", "end_turn")
    assert stored(desk) == ["one", "two"]
    assert desk.rows("SELECT outcome FROM turns") == [("end_turn",)]
    assert "cannot be saved (OverflowError)" in desk.store.trouble("s")
    assert "Keep can never be stored" in caplog.text


def test_trouble_is_logged_once(desk, caplog):
    desk.store.begin_turn("s", "t1")
    desk.database.fails_before = BROKEN
    for _ in range(5):
        say(desk, "one")
        desk.clock.now += 1
    assert caplog.text.count("is not being saved") == 1
    desk.database.fails_before = None


def test_damaged_messages_that_cannot_be_set_aside_are_not_taken_for_none(desk):
    desk.store.begin_turn("s", "t1")
    say(desk, "one")
    desk.store.release("s")
    desk.change("UPDATE messages SET body = x'00'")
    desk.database.fails_before = BROKEN
    with pytest.raises(StoreError) as problem:
        desk.store.messages("s")
    assert problem.value.kind == "corrupt"
    desk.database.fails_before = None
    (message,) = desk.store.messages("s")
    assert message.get("injected")


@pytest.mark.parametrize("seed", range(12))
def test_whatever_fails_when_everything_is_stored_once_and_in_order(desk, seed):
    """Random turns with random faults, against a list in memory."""
    chance, numbers = random.Random(seed), count()
    shown: list[str] = []
    everything: list[str] = []
    of_turn: list[str] = []
    turn, kept = "", ""
    for _ in range(150):
        desk.clock.now += chance.choice((0, 0.4, 1.5))
        desk.database.fails_before = BROKEN if chance.random() < 0.3 else None
        desk.database.fails_after = BROKEN if chance.random() < 0.3 else None
        step = chance.choice(("say", "say", "say", "begin", "withdraw", "end", "keep", "tick", "release", "journal"))
        if step == "begin" or not turn:
            turn, of_turn = f"t{next(numbers)}", []
            desk.store.begin_turn("s", turn)
        elif step == "say":
            of_turn.append(str(next(numbers)))
            everything.append(of_turn[-1])
            shown.append(of_turn[-1])
            assert desk.store.append("s", turn, user_message(of_turn[-1]))
        elif step == "withdraw":
            assert desk.store.withdraw("s", turn)
            shown = [text for text in shown if text not in of_turn]
        elif step == "keep":
            kept = str(next(numbers))
            desk.store.keep("s", KeptState(program=kept))
        elif step == "tick":
            desk.store.tick()
        elif step == "journal":
            desk.store.journal("s", turn).record(AgentText("m", "text"))
        elif step == "release":
            desk.store.release("s")
            turn = ""
        else:
            desk.store.end_turn("s", turn, "end_turn")
            turn = ""
    desk.database.fails_before = desk.database.fails_after = None
    desk.clock.now += 5
    desk.store.tick()
    assert desk.store.trouble("s") == ""
    assert stored(desk) == everything
    assert said(desk) == shown
    assert (desk.store.kept("s") or KeptState()).program == kept
    desk.store.reload("s")
    assert said(desk) == shown
    [(doubled,)] = desk.rows("SELECT count(*) - count(DISTINCT id) FROM turns")
    assert doubled == 0
