"""A transcript has what is in view, and nothing that is damaged makes a session unusable."""

from __future__ import annotations

import pytest

from agent_core.errors import UnknownSession
from agent_core.events import AgentText, AgentThought, UserSaid
from agent_core.messages import user_message
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.records import NewSession
from agent_core.sessions.replay import replayed
from tests.support.stored_sessions import add_talk, add_turn, create, shown_call, undo_turn, working_turn


@pytest.fixture
def archive(database):
    archive = SessionArchive(database)
    create(archive.database, NewSession("s1", "/srv"))
    return archive


def change(database, sql, *values):
    with database.write() as connection:
        assert connection.execute(sql, values).rowcount == 1


def test_turns_messages_and_events_are_in_order(archive, database):
    create(archive.database, NewSession("s2", "/srv"))
    for number in range(3):
        add_turn(database, "s1", f"t{number}", *working_turn(f"t{number}", 2))
        add_talk(database, "s2", f"x{number}")
    transcript = archive.transcript("s1")
    assert transcript.session == archive.get("s1")
    assert [turn.id for turn in transcript.turns] == ["t0", "t1", "t2"]
    said = [stored.message for number in range(3) for stored in transcript.messages if stored.turn == number + 1]
    assert said == [message for number in range(3) for message in working_turn(f"t{number}", 2)[0]]
    ids = [stored.id for stored in transcript.messages]
    assert ids == sorted(ids)
    places = [(stored.turn, stored.position) for stored in transcript.events]
    assert places == sorted(places)
    assert len(places) == 18


def test_undone_turns_are_out_of_it_and_withdrawn_ones_are_marked(archive, database):
    add_talk(database, "s1", "t1")
    undo_turn(database, "s1", add_talk(database, "s1", "t2"))
    add_turn(database, "s1", "t3", [user_message("refused")], outcome="refusal", hidden="withdrawn")
    transcript = archive.transcript("s1")
    assert [turn.id for turn in transcript.turns] == ["t1", "t3"]
    assert [stored.hidden for stored in transcript.messages] == ["", "", "withdrawn"]
    assert {stored.turn for stored in transcript.events} == {1}


def test_a_card_that_had_not_ended_is_told_as_open(archive, database):
    add_turn(database, "s1", "t1", [user_message("a")], [shown_call("c", None)], outcome=None)
    (stored,) = archive.transcript("s1").events
    assert stored.open


@pytest.mark.parametrize("body", ["{", "[]", b"no zlib", "{}", '{"id": 1}', "null"])
def test_a_note_stands_in_for_an_event_that_is_damaged(archive, database, caplog, body):
    add_talk(database, "s1", "t1")
    change(database, "UPDATE events SET body = ? WHERE session_id = 's1' AND position = 2", body)
    first, second = archive.transcript("s1").events
    assert isinstance(first.events[0], UserSaid)
    (note,) = second.events
    assert isinstance(note, AgentThought)
    assert "doctor" in note.text
    assert "1 items of session s1" in caplog.text
    assert len(list(replayed(archive.transcript("s1")))) == 2


def test_a_kind_of_event_that_a_later_program_wrote_is_told_as_such(archive, database):
    add_talk(database, "s1", "t1")
    change(database, "UPDATE events SET kind = 'dance', version = 9 WHERE session_id = 's1' AND position = 2")
    (note,) = archive.transcript("s1").events[1].events
    assert "later version" in note.text


@pytest.mark.parametrize("body", ["{", "[]", b"no zlib", "{}"])
def test_a_message_that_is_damaged_is_left_out(archive, database, caplog, body):
    add_talk(database, "s1", "t1")
    change(database, "UPDATE messages SET body = ? WHERE session_id = 's1' AND role = 'user'", body)
    transcript = archive.transcript("s1")
    assert [stored.message["content"] for stored in transcript.messages] == ["Hi."]
    assert "1 messages of session s1" in caplog.text


def test_what_lost_its_turns_row_is_in_view(archive, database):
    add_talk(database, "s1", "t1")
    change(database, "DELETE FROM turns WHERE session_id = 's1'")
    transcript = archive.transcript("s1")
    assert transcript.turns == ()
    assert len(transcript.messages) == len(transcript.events) == 2
    assert any(isinstance(event, AgentText) for event in replayed(transcript))


def test_an_empty_session_has_an_empty_transcript(archive):
    transcript = archive.transcript("s1")
    assert (transcript.turns, transcript.messages, transcript.events) == ((), (), ())
    with pytest.raises(UnknownSession):
        archive.transcript("s2")
