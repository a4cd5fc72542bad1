"""What the store writes while the agent works."""

from __future__ import annotations

import json
import threading

import pytest

from agent_core.compaction.engine import Compaction
from agent_core.errors import SessionInUse, UnknownSession
from agent_core.events import AgentText, SaidText, ToolRequested, UserSaid
from agent_core.messages import assistant_message, user_message
from agent_core.sessions.database import unpack
from agent_core.sessions.records import KeptState, NewSession
from tests.support.agents import in_background
from tests.support.session_database import Desk

HELLO = user_message("hello")
HI = assistant_message("hi")
SHORT = Compaction(0, 1, "short")


def test_a_message_is_in_the_file_when_append_returns(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    [(turn, role, body, hidden)] = desk.rows("SELECT turn, role, body, hidden FROM messages")
    assert (turn, role, unpack(body), hidden) == (1, "user", HELLO, "")


def test_what_the_journal_has_is_written_with_the_next_message(desk):
    journal = desk.store.journal("s", "t1")
    journal.record(UserSaid("t1-prompt", (SaidText("hello"),)))
    desk.store.begin_turn("s", "t1")
    assert desk.rows("SELECT turn, position FROM events") == [(1, 0)]
    journal.record(AgentText("m", "more "))
    journal.record(AgentText("m", "text"))
    assert desk.rows("SELECT count(*) FROM events") == [(1,)]
    desk.store.append("s", "t1", HI)
    assert desk.rows("SELECT turn, position FROM events") == [(1, 0), (1, 1)]


def test_the_journal_of_the_running_turn_is_written_without_a_message_where_that_is_wanted(desk):
    desk.store.begin_turn("s", "t1")
    for turn_id in ("t1", "earlier"):
        desk.store.journal("s", turn_id).record(AgentText("m", "text"))
        desk.store.write_journal("s", turn_id)
    assert desk.rows("SELECT turn, position FROM events") == [(1, 0)]


def test_an_item_that_goes_on_keeps_its_row(desk):
    journal = desk.store.journal("s", "t1")
    desk.store.begin_turn("s", "t1")
    for text in ("one ", "two"):
        journal.record(AgentText("m", text))
        desk.store.append("s", "t1", HI)
    [(identity, body)] = desk.rows("SELECT id, body FROM events")
    assert identity == 1
    assert "one two" in json.dumps(unpack(body))


def test_the_end_of_a_turn_writes_the_rest_of_its_journal_and_how_it_ended(desk):
    journal = desk.store.journal("s", "t1")
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    journal.record(ToolRequested("c", "read_file", {}, "/srv", announced=False))
    desk.time.now += 7
    desk.store.end_turn("s", "t1", "error", "It went wrong.")
    assert desk.rows("SELECT open FROM events") == [(1,)]
    assert desk.rows("SELECT number, id, ended_at - began_at, outcome, note FROM turns") == [
        (1, "t1", 7.0, "error", "It went wrong.")
    ]


def test_after_the_end_of_its_turn_a_journal_takes_nothing(desk):
    early, late = desk.store.journal("s", "t1"), None
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.store.end_turn("s", "t1")
    late = desk.store.journal("s", "t1")
    for journal in (early, late):
        journal.record(AgentText("m", "too late"))
    desk.store.begin_turn("s", "t2")
    desk.store.append("s", "t2", HELLO)
    assert desk.rows("SELECT * FROM events") == []


def test_a_turn_that_never_began_takes_nothing_after_its_end(desk):
    journal = desk.store.journal("s", "t1")
    desk.store.end_turn("s", "t1")
    journal.record(AgentText("m", "too late"))
    assert not journal.is_dirty


def test_the_journal_of_a_running_turn_is_one(desk):
    journal = desk.store.journal("s", "t1")
    assert desk.store.journal("s", "t1") is journal
    desk.store.begin_turn("s", "t1")
    assert desk.store.journal("s", "t1") is journal


def test_journals_and_trouble_are_told_while_a_message_waits_for_the_database(tmp_path):
    desk = Desk(tmp_path / "hermes-acp.db", patience=5.0)
    desk.store.create("s", "/srv/project")
    desk.store.begin_turn("s", "t1")
    with desk.locked():
        append = in_background(lambda: desk.store.append("s", "t1", HELLO))
        desk.store.journal("s", "t1").record(AgentText("m", "text"))
        assert desk.store.trouble("s") == ""
        desk.store.journal("s", "t2")
        assert not append.done()
    assert append.result(5)
    desk.close()


def test_numbers_of_turns_are_never_used_twice_and_an_empty_turn_leaves_no_row(desk):
    for turn, says in (("t1", True), ("t2", False), ("t3", True)):
        desk.store.begin_turn("s", turn)
        if says:
            desk.store.append("s", turn, HELLO)
        desk.store.end_turn("s", turn)
    assert desk.rows("SELECT number, id FROM turns ORDER BY number") == [(1, "t1"), (3, "t3")]


def test_a_turn_with_events_alone_stays(desk):
    desk.store.journal("s", "t1").record(AgentText("m", "text"))
    desk.store.begin_turn("s", "t1")
    desk.store.end_turn("s", "t1")
    assert desk.rows("SELECT id FROM turns") == [("t1",)]


def test_a_replaced_turn_is_ended_with_what_its_journal_had(desk):
    journal = desk.store.journal("s", "t1")
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    journal.record(AgentText("m", "text"))
    desk.store.begin_turn("s", "t2")
    assert desk.rows("SELECT outcome, ended_at IS NULL FROM turns ORDER BY number") == [("", 0), (None, 1)]
    assert desk.rows("SELECT turn FROM events") == [(1,)]


def test_withdrawn_messages_stay_in_the_file_marked(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.store.end_turn("s", "t1")
    desk.store.begin_turn("s", "t2")
    desk.store.append("s", "t2", HELLO)
    desk.store.withdraw("s", "t2")
    desk.store.append("s", "t2", HI)
    assert desk.rows("SELECT turn, hidden FROM messages ORDER BY id") == [(1, ""), (2, "withdrawn"), (2, "")]
    desk.store.release("s")
    assert desk.store.messages("s") == [HELLO, HI]


def test_each_message_moves_the_session_to_the_front(desk):
    desk.store.begin_turn("s", "t1")
    desk.time.now += 5
    desk.store.append("s", "t1", HELLO)
    assert desk.rows("SELECT updated_at - created_at FROM sessions") == [(5.0,)]
    desk.time.now += 5
    desk.store.end_turn("s", "t1")
    desk.time.now += 5
    desk.store.release("s")
    assert desk.rows("SELECT updated_at - created_at FROM sessions") == [(10.0,)]


def test_messages_that_are_known_are_not_read_again(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.change("DELETE FROM messages")
    assert desk.store.messages("s") == [HELLO]
    desk.store.reload("s")
    assert desk.store.messages("s") == []


def test_without_the_lease_messages_are_read_each_time(desk):
    other = desk.another_store()
    other.begin_turn("s", "t1")
    for count in (1, 2):
        other.append("s", "t1", HELLO)
        assert desk.store.messages("s") == [HELLO] * count
    other.close()


def test_what_was_stored_comes_back_in_another_store(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.store.append("s", "t1", HI)
    desk.store.close()
    other = desk.another_store()
    other.begin_turn("s", "t2")
    assert other.messages("s") == [HELLO, HI]
    other.close()


def test_a_session_that_is_new_is_stored_as_it_was_asked_for(desk):
    desk.store.create_new(NewSession("n", "/srv/n", ("/srv/m",), "acp", "accept_edits", "one:a", {"x": 1}))
    [row] = desk.rows("SELECT cwd, roots, source, mode, model, options FROM sessions WHERE id = 'n'")
    assert row == ("/srv/n", '["/srv/m"]', "acp", "accept_edits", "one:a", '{"x": 1}')


def test_nothing_is_appended_to_an_unknown_a_released_or_a_deleted_session(desk):
    assert desk.store.append("nobody", "t", HELLO) is False
    desk.store.begin_turn("s", "t1")
    desk.change("DELETE FROM sessions")
    assert desk.store.append("s", "t1", HELLO) is False
    desk.store.keep("s", KeptState(program="1"))
    desk.store.end_turn("s", "t1")
    with pytest.raises(UnknownSession):
        desk.store.messages("s")
    assert desk.rows("SELECT * FROM sessions") == []


def test_a_session_that_is_being_deleted_is_unknown(desk):
    desk.store.begin_turn("s", "t1")
    desk.change("UPDATE sessions SET archived = 2")
    assert not desk.store.append("s", "t1", HELLO)
    for use in (lambda: desk.store.messages("s"), lambda: desk.store.begin_turn("s", "t2")):
        with pytest.raises(UnknownSession):
            use()


def test_a_message_that_is_no_json_is_refused_and_the_turn_goes_on(desk):
    desk.store.begin_turn("s", "t1")
    with pytest.raises(TypeError):
        desk.store.append("s", "t1", {"role": "user", "content": object()})
    assert desk.store.append("s", "t1", HELLO)
    assert desk.store.messages("s") == [HELLO]


def test_a_session_held_by_another_store_is_refused_and_then_free(desk):
    other = desk.another_store()
    other.begin_turn("s", "t1")
    other.end_turn("s", "t1")
    for take in (lambda: desk.store.begin_turn("s", "t2"), lambda: desk.store.take_lease("s")):
        with pytest.raises(SessionInUse, match=r"hermes-acp, process \d+ on .*Close it there .* or fork"):
            take()
    other.release("s")
    desk.store.begin_turn("s", "t2")
    assert desk.store.append("s", "t2", HELLO)


def test_turns_of_many_sessions_at_once_are_all_stored(tmp_path):
    desk = Desk(tmp_path / "hermes-acp.db", patience=5.0)

    def work(number: int) -> None:
        session = f"s{number}"
        desk.store.create(session, "/srv")
        ready.wait(5)
        for turn in range(10):
            desk.store.begin_turn(session, f"t{turn}")
            assert desk.store.append(session, f"t{turn}", user_message(f"{turn}"))
            desk.store.end_turn(session, f"t{turn}", "end_turn")

    ready = threading.Barrier(6)
    for done in [in_background(lambda number=number: work(number)) for number in range(6)]:
        done.result(20)
    assert desk.rows("SELECT count(*), count(DISTINCT session_id) FROM messages") == [(60, 6)]
    assert all(desk.store.trouble(f"s{number}") == "" for number in range(6))
    desk.close()


@pytest.mark.parametrize("outcome", ["cancelled", ""])
def test_a_turn_that_was_broken_off_is_looked_at_by_the_next(desk, outcome):
    desk.store.begin_turn("s", "t1")
    assert desk.store.prompts_left("s", "t1") == ()
    desk.store.journal("s", "t1").record(UserSaid("t1-prompt", (SaidText("hello"),)))
    desk.store.end_turn("s", "t1", outcome)
    desk.store.begin_turn("s", "t2")
    assert [left.content for left in desk.store.prompts_left("s", "t2")] == ["hello"]
