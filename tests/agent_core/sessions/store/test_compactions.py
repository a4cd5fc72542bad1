"""Compressions in the database: which one is in effect, whatever is taken back, begun anew, copied or damaged."""

from __future__ import annotations

import dataclasses

import pytest

from agent_core.compaction.engine import Compaction
from agent_core.errors import StoreError
from agent_core.events import AgentText
from agent_core.messages import assistant_message, user_message
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.checkpoints.undo import Rewinder
from agent_core.sessions.records import COMMAND, COMPACTED, RESET, Holder, NewSession
from agent_core.sessions.salvage import salvage
from tests.support.session_database import Desk

ONE, TWO = Compaction(1, 2, "one"), Compaction(1, 4, "two")
FULL = StoreError("The disk is full.", "full")


@pytest.fixture
def rewinder(desk, tmp_path):
    return Rewinder(desk.database, BlobStore(tmp_path / "blobs"))


def talk(desk, turn_id, made=None):
    """A turn of four messages; a compression is made over its first two."""
    desk.store.begin_turn("s", turn_id)
    for number in range(2):
        desk.store.append("s", turn_id, user_message(f"{turn_id} {number}"))
        desk.store.append("s", turn_id, assistant_message("yes"))
        if made is not None and not number:
            desk.store.compact("s", turn_id, made)
    desk.store.end_turn("s", turn_id, "end_turn")


def typed(desk, turn_id, outcome, made=None):
    """A turn without messages, in which a compression may be made."""
    desk.store.begin_turn("s", turn_id)
    desk.store.journal("s", turn_id).record(AgentText(f"{turn_id}-message-1", "Done."))
    if made is not None:
        desk.store.compact("s", turn_id, made)
    desk.store.end_turn("s", turn_id, outcome)
    desk.store.reload("s")


def undo(desk, rewinder, turns=1):
    plan = rewinder.plan("s", turns) if turns else rewinder.plan_redo("s")
    assert not rewinder.apply(plan, lambda _: True).trouble
    desk.store.reload("s")


def in_effect(desk, session_id="s"):
    made = desk.store.compaction(session_id)
    return made and made.summary


def test_an_undo_of_its_turn_takes_a_compression_back_and_a_redo_brings_it_again(desk, rewinder):
    talk(desk, "t1", ONE)
    talk(desk, "t2", TWO)
    assert in_effect(desk) == "two"
    undo(desk, rewinder)
    assert in_effect(desk) == "one"
    undo(desk, rewinder)
    assert in_effect(desk) is None
    undo(desk, rewinder, 0)
    undo(desk, rewinder, 0)
    assert in_effect(desk) == "two"


def test_a_turn_after_it_can_be_taken_back_without_it(desk, rewinder):
    talk(desk, "t1", ONE)
    talk(desk, "t2")
    undo(desk, rewinder)
    assert in_effect(desk) == "one"


def test_one_that_was_asked_for_is_taken_back_alone(desk, rewinder):
    talk(desk, "t1")
    typed(desk, "c", COMPACTED, ONE)
    assert in_effect(desk) == "one"
    undo(desk, rewinder)
    assert in_effect(desk) is None
    assert len(desk.store.messages("s")) == 4
    undo(desk, rewinder, 0)
    assert in_effect(desk) == "one"


def test_one_that_was_made_over_what_is_taken_back_goes_though_its_own_turn_stays(desk, rewinder):
    talk(desk, "t1", ONE)
    talk(desk, "t2")
    typed(desk, "c", COMMAND, TWO)  # a turn that no undo takes back
    undo(desk, rewinder)
    assert in_effect(desk) == "one"
    talk(desk, "t3")
    assert in_effect(desk) == "one"


def test_after_a_reset_none_of_before_counts_and_its_undo_brings_it_back(desk, rewinder):
    talk(desk, "t1", ONE)
    typed(desk, "r", RESET)
    assert in_effect(desk) is None
    talk(desk, "t2", TWO)
    assert in_effect(desk) == "two"
    undo(desk, rewinder, 2)
    assert in_effect(desk) == "one"


def test_a_compression_of_nothing_is_none(desk):
    typed(desk, "c", COMPACTED, ONE)
    assert in_effect(desk) is None


def test_a_fork_goes_on_from_the_same_compression(desk):
    talk(desk, "t1", ONE)
    talk(desk, "t2", TWO)
    SessionArchive(desk.database).fork("s", NewSession("f", "/srv/project"))
    assert in_effect(desk, "f") == "two"
    talk(desk, "t3", dataclasses.replace(TWO, summary="three"))
    assert in_effect(desk, "f") == "two"


@pytest.mark.parametrize(
    ("until", "expected"),
    [("t2-prompt", "one"), ("t2-message-1", "two"), ("t1-prompt", None)],
)
def test_a_fork_from_an_earlier_message_has_only_what_covers_its_own(desk, until, expected):
    talk(desk, "t1", ONE)
    talk(desk, "t2", TWO)
    talk(desk, "t3", dataclasses.replace(TWO, summary="three"))
    SessionArchive(desk.database).fork("s", NewSession("f", "/srv/project"), until)
    assert in_effect(desk, "f") == expected


def test_what_is_forked_within_a_turn_has_no_compression_of_its_rest(desk):
    desk.store.begin_turn("s", "t1")
    for number in range(3):
        desk.store.append("s", "t1", user_message(f"{number}"))
        desk.store.append("s", "t1", assistant_message("yes"))
    desk.store.compact("s", "t1", TWO)
    desk.store.append("s", "t1", assistant_message("the last"))
    desk.store.end_turn("s", "t1", "end_turn")
    SessionArchive(desk.database).fork("s", NewSession("f", "/srv/project"), "t1-message-2")
    assert len(desk.store.messages("f")) == 4
    assert in_effect(desk, "f") is None


def test_deleting_a_session_leaves_nothing_of_it(desk):
    talk(desk, "t1", ONE)
    desk.store.release("s")
    SessionArchive(desk.database).delete("s")
    assert desk.rows("SELECT count(*) FROM compactions") == [(0,)]


def test_what_cannot_be_stored_counts_in_memory_and_is_stored_later_once(desk):
    talk(desk, "t1")
    desk.store.begin_turn("s", "t2")
    desk.store.append("s", "t2", user_message("more"))
    desk.database.fails_before = FULL
    assert desk.store.compact("s", "t2", ONE)
    assert desk.store.trouble("s")
    assert in_effect(desk) == "one"
    desk.database.fails_before = None
    desk.clock.now += 60
    desk.store.append("s", "t2", assistant_message("yes"))
    assert in_effect(desk) == "one"
    assert desk.rows("SELECT turn, number, messages FROM compactions") == [(2, 0, 5)]


def test_what_waits_and_is_withdrawn_does_not_count(desk):
    talk(desk, "t1", ONE)
    desk.store.begin_turn("s", "t2")
    desk.database.fails_before = FULL
    desk.store.append("s", "t2", user_message("refused"))
    desk.store.compact("s", "t2", TWO)
    desk.store.withdraw("s", "t2")
    desk.database.fails_before = None
    desk.store.end_turn("s", "t2", "refusal")
    assert in_effect(desk) == "one"
    assert desk.rows("SELECT count(*) FROM compactions") == [(1,)]


def test_a_commit_of_unknown_outcome_is_not_repeated(desk):
    talk(desk, "t1")
    desk.store.begin_turn("s", "t2")
    desk.store.append("s", "t2", user_message("more"))
    desk.database.fails_after = FULL
    desk.store.compact("s", "t2", ONE)
    desk.database.fails_after = None
    desk.clock.now += 60
    desk.store.append("s", "t2", assistant_message("yes"))
    assert desk.rows("SELECT turn, number, messages FROM compactions") == [(2, 0, 5)]


def test_another_process_goes_on_from_it(desk):
    talk(desk, "t1", ONE)
    desk.store.release("s")
    other = desk.another_store(Holder("other", "host", 1, "", "hermes-acp"))
    made = other.compaction("s")
    assert made == ONE
    other.close()


def test_a_damaged_one_is_passed_over(desk):
    talk(desk, "t1", ONE)
    talk(desk, "t2", TWO)
    for body in (b"rubbish", "[]", '{"head": 5, "up_to": 1, "summary": ""}', '{"head": 0, "up_to": 1, "summary": 1}'):
        desk.change("UPDATE compactions SET body = ? WHERE turn = 2", body)
        assert in_effect(desk) == "one"


def test_what_a_later_program_has_added_is_left_out(desk):
    talk(desk, "t1", ONE)
    desk.change("UPDATE compactions SET body = ?", '{"head": 1, "up_to": 2, "summary": "later", "mood": "good"}')
    assert in_effect(desk) == "later"


def test_what_is_saved_of_a_damaged_database_counts_where_its_messages_are_there(desk, tmp_path):
    talk(desk, "t1", ONE)
    talk(desk, "t2", TWO)
    desk.close()
    desk.change("DELETE FROM messages WHERE id = 6")  # as on a page that cannot be read
    salvage(desk.path, tmp_path / "saved.db")
    saved = Desk(tmp_path / "saved.db")
    assert len(saved.store.messages("s")) == 7
    assert in_effect(saved) == "one"
    saved.close()
