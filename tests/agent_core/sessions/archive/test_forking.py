"""A fork has what was in view, shares nothing that can change, and ends where it was told to."""

from __future__ import annotations

import pytest

from agent_core.errors import RequestError, UnknownSession
from agent_core.events import AgentText, AgentThought, ContextUsed, PlanChanged
from agent_core.messages import assistant_message, injected_message, repaired, unanswered, user_message
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.fork import fork_title
from agent_core.sessions.records import KeptState, NewSession
from agent_core.sessions.replay import replayed
from agent_core.sessions.rows import packed_state, read_bodies, read_state, unpack_message, write_state
from tests.support.stored_sessions import (
    add_talk,
    add_turn,
    create,
    held_elsewhere,
    shown_call,
    undo_turn,
    working_turn,
)
from tools.context import TodoItem

PLACE = "/srv/a"
FORK = NewSession("fork", "/srv/fork", ("/srv/more",), "acp", "plan", None, {"thinking": "low"})
PLAN = (TodoItem("1", "read", "completed"), TodoItem("2", "write", "pending"))


@pytest.fixture
def archive(database):
    archive = SessionArchive(database)
    create(archive.database, NewSession("s1", PLACE, model="offline:m"))
    return archive


def history(database, session_id):
    with database.read() as connection:
        return [unpack_message(body) for body in read_bodies(connection, session_id)]


def kept(database, session_id):
    with database.read() as connection:
        return read_state(connection, session_id)


def keep(database, session_id, **values):
    with database.write() as connection:
        write_state(connection, session_id, packed_state(KeptState(**values)))


def view(transcript):
    """What a transcript shows, without what is each session's own."""
    return (
        [(turn.number, turn.id, turn.outcome) for turn in transcript.turns],
        [(stored.turn, stored.message, stored.hidden) for stored in transcript.messages],
        [(stored.turn, stored.position, stored.events, stored.open) for stored in transcript.events],
    )


def shown_texts(archive, session_id):
    events = replayed(archive.transcript(session_id))
    return [event.text for event in events if isinstance(event, AgentText)]


def test_a_fork_has_all_that_is_in_view(archive, database):
    add_turn(database, "s1", "t1", *working_turn("t1", 2))
    undo_turn(database, "s1", add_talk(database, "s1", "t2", "taken back"))
    add_turn(database, "s1", "t3", [user_message("refused")], outcome="refusal", hidden="withdrawn")
    add_talk(database, "s1", "t4")
    record = archive.fork("s1", FORK)
    assert view(archive.transcript("fork")) == view(archive.transcript("s1"))
    assert history(database, "fork") == history(database, "s1")
    assert [turn.id for turn in archive.transcript("fork").turns] == ["t1", "t3", "t4"]
    assert (record.cwd, record.roots, record.mode, record.options) == (FORK.cwd, FORK.roots, "plan", FORK.options)
    assert (record.model, record.parent_id, record.root_id, record.turns) == ("offline:m", "s1", "s1", 3)
    assert record == archive.get("fork")


def test_neither_of_the_two_sees_what_the_other_does_later(archive, database):
    add_talk(database, "s1", "t1")
    archive.fork("s1", FORK)
    before = view(archive.transcript("s1"))
    assert add_talk(database, "fork", "own", "only here") == 2
    undo_turn(database, "fork", 1)
    assert view(archive.transcript("s1")) == before
    add_talk(database, "s1", "t2", "only there")
    assert [message["content"] for message in history(database, "fork")] == ["only here", "Hi."]
    archive.delete("s1")
    assert [message["content"] for message in history(database, "fork")] == ["only here", "Hi."]


def test_a_fork_of_a_fork_is_of_the_same_line(archive, database):
    add_talk(database, "s1", "t1")
    archive.fork("s1", FORK)
    record = archive.fork("fork", NewSession("second", "/srv"))
    assert (record.parent_id, record.root_id) == ("fork", "s1")


def test_forks_are_told_apart_by_their_titles(archive, database):
    assert archive.fork("s1", NewSession("f0", PLACE)).title is None
    archive.name("s1", "Mend the sums", "person")
    assert archive.fork("s1", NewSession("f1", PLACE)).title == "Mend the sums (fork 2)"
    assert archive.fork("f1", NewSession("f2", PLACE)).title == "Mend the sums (fork 3)"
    assert not archive.name("f2", "a model's", "model")


def test_a_long_title_leaves_room_for_the_mark():
    assert fork_title("Sums", 0) == "Sums (fork)"
    title = fork_title("word " * 40, 11)
    assert title.endswith("word… (fork 12)")
    assert len(title) <= 200


def test_what_the_session_keeps_comes_along(archive, database):
    state = {"plan": PLAN, "system": "You are in /srv/a.", "tools": ({"name": "t"},), "program": "1", "model": "x:m"}
    keep(database, "s1", **state)
    archive.fork("s1", NewSession("same", PLACE, model="chosen:m"))
    archive.fork("s1", FORK)
    assert kept(database, "same") == KeptState(**{**state, "model": "chosen:m"})
    assert kept(database, "fork") == KeptState(**{**state, "system": None}), "it told of the other directory"


def test_a_turn_that_runs_elsewhere_has_ended_in_the_fork(archive, database):
    add_turn(database, "s1", "died", [user_message("a")], outcome=None)
    messages, items = working_turn("t2", 1)
    add_turn(database, "s1", "t2", messages[:2], [*items[:2], shown_call("open", None)], outcome=None)
    with held_elsewhere(database, "s1"):
        record = archive.fork("s1", FORK)
        assert record.holder is None
        assert archive.get("s1").holder is not None
    assert [turn.outcome for turn in archive.transcript("fork").turns] == [None, "cancelled"]
    assert archive.transcript("fork").turns[1].ended_at is not None
    assert archive.transcript("s1").turns[1].ended_at is None
    assert len(unanswered(history(database, "fork"))) == 1
    list(replayed(archive.transcript("fork")))


def test_a_turn_that_was_killed_is_interrupted_in_the_fork_too(archive, database):
    add_turn(database, "s1", "t1", *working_turn("t1", 1), outcome=None)
    with held_elsewhere(database, "s1"):
        pass
    archive.fork("s1", FORK)
    assert list(replayed(archive.transcript("fork"))) == list(replayed(archive.transcript("s1")))
    assert [turn.ended_at for turn in archive.transcript("fork").turns] == [None]


def test_a_fork_before_a_prompt_leaves_it_and_all_after_it_out(archive, database):
    for turn_id in ("t1", "t2", "t3"):
        add_talk(database, "s1", turn_id, f"prompt of {turn_id}")
    record = archive.fork("s1", FORK, "t2-prompt")
    assert [message["content"] for message in history(database, "fork")] == ["prompt of t1", "Hi."]
    assert record.turns == 1
    assert archive.fork("s1", NewSession("none", PLACE), "t1-prompt").turns == 0
    assert add_talk(database, "fork", "own") == 2


@pytest.mark.parametrize("kind", ["message", "thought", "note", "status", "question"])
def test_a_fork_after_an_answer_ends_with_its_tools_results(archive, database, kind):
    add_talk(database, "s1", "t1")
    messages, items = working_turn("t2", 3)
    add_turn(database, "s1", "t2", messages, items)
    add_talk(database, "s1", "t3")
    archive.fork("s1", FORK, f"t2-{kind}-2")
    found = history(database, "fork")
    assert found[2:] == messages[:5]
    assert repaired(found) == found
    assert not unanswered(found)
    events = [stored.events for stored in archive.transcript("fork").events if stored.turn == 2]
    original = [stored.events for stored in archive.transcript("s1").events if stored.turn == 2]
    assert events == original[:5]
    (last,) = archive.transcript("fork").turns[1:]
    assert (last.outcome, last.ended_at is not None) == ("cancelled", True)


def test_a_fork_after_the_last_answer_is_the_whole_turn(archive, database):
    messages, items = working_turn("t1", 1)
    add_turn(database, "s1", "t1", messages, [*items, PlanChanged(PLAN), ContextUsed(1, 2)])
    add_talk(database, "s1", "t2")
    archive.fork("s1", FORK, "t1-message-2")
    assert history(database, "fork") == messages
    assert [turn.outcome for turn in archive.transcript("fork").turns] == ["end_turn"]
    assert PlanChanged(PLAN) in list(replayed(archive.transcript("fork")))


def test_parallel_calls_of_the_answer_stay_and_later_ones_go(archive, database):
    messages, items = working_turn("t1", 3)
    # Cards of one answer's calls are told in any order, before and after its text.
    latest = [PlanChanged(PLAN), ContextUsed(1, 2)]  # at the place where they first came, as they were in the end
    items[1:5] = [items[2], AgentThought("t1-thought-1", "hm"), *latest, items[1], items[4], items[3]]
    add_turn(database, "s1", "t1", messages, items)
    archive.fork("s1", FORK, "t1-message-1")
    assert history(database, "fork") == messages[:3]
    shown = [event for stored in archive.transcript("fork").events for event in stored.events]
    assert [event.text for event in shown if isinstance(event, AgentText)] == ["step 1"]
    assert not any(isinstance(event, PlanChanged | ContextUsed) for event in shown), "they are of the turn's end"
    assert {event.call_id for event in shown if hasattr(event, "call_id")} == {"t1-call-1"}


def test_an_answer_in_pieces_is_one_answer(archive, database):
    unfinished = {**assistant_message("half "), "unfinished": True}
    messages = [
        user_message("write"),
        unfinished,
        injected_message("Go on."),
        assistant_message("whole."),
        injected_message("Once more."),
        assistant_message("second"),
    ]
    items = [AgentText("t1-message-1", "half whole."), AgentText("t1-message-2", "second")]
    add_turn(database, "s1", "t1", messages, items)
    archive.fork("s1", FORK, "t1-message-1")
    assert history(database, "fork") == messages[:4]
    assert shown_texts(archive, "fork") == ["half whole."]


def test_what_closed_an_earlier_turn_off_is_no_answer_of_this_one(archive, database):
    add_turn(database, "s1", "t1", [user_message("a")], outcome=None)
    closing = assistant_message("[This turn was interrupted before it was finished.]")
    messages, items = working_turn("t2", 1)
    add_turn(database, "s1", "t2", [closing, *messages], items)
    archive.fork("s1", FORK, "t2-message-1")
    assert history(database, "fork") == [user_message("a"), closing, *messages[:3]]


def test_an_answer_that_was_shown_and_not_stored_ends_the_fork_with_its_turn(archive, database):
    add_turn(database, "s1", "t1", [user_message("a")], [AgentText("t1-message-1", "broken o")], outcome=None)
    archive.fork("s1", FORK, "t1-message-1")
    assert shown_texts(archive, "fork") == shown_texts(archive, "s1")


@pytest.mark.parametrize("ending", ["interrupted", "failed"])
def test_a_fork_from_the_note_about_a_turns_end_has_the_whole_turn(archive, database, ending):
    add_turn(database, "s1", "t1", *working_turn("t1", 1), outcome="error", note="It failed.")
    add_talk(database, "s1", "t2")
    archive.fork("s1", FORK, f"t1-{ending}")
    assert [(turn.id, turn.note) for turn in archive.transcript("fork").turns] == [("t1", "It failed.")]


def test_ids_of_a_session_without_events_lead_there_as_well(archive, database):
    messages, _ = working_turn("t1", 2)
    add_turn(database, "s1", "t1", messages)
    add_talk(database, "s1", "t2")
    shown = [event.message_id for event in replayed(archive.transcript("s1")) if hasattr(event, "message_id")]
    assert shown[:2] == ["t1-user-1", "t1-message-1"]
    archive.fork("s1", FORK, shown[1])
    assert history(database, "fork") == messages[:3]
    assert archive.fork("s1", NewSession("empty", PLACE), shown[0]).turns == 0


@pytest.mark.parametrize(
    "until",
    ["", "x", "t1", "t1-", "t1-message-3", "t1-message-0", "t2-prompt", "tx-message-1", "note-damaged", "t1-x-1"],
)
def test_an_unknown_message_makes_no_fork(archive, database, until):
    add_turn(database, "s1", "t1", *working_turn("t1", 1))
    undo_turn(database, "s1", add_talk(database, "s1", "t2"))
    with pytest.raises(RequestError, match="not forked"):
        archive.fork("s1", FORK, until)
    with pytest.raises(UnknownSession):
        archive.get("fork")


def test_an_id_that_is_taken_makes_no_fork(archive, database):
    add_talk(database, "s1", "t1")
    before = archive.get("s1")
    with pytest.raises(RequestError, match="already"):
        archive.fork("s1", NewSession("s1", "/srv/other"))
    assert archive.get("s1") == before


def test_what_is_kept_is_cut_where_the_fork_ends(archive, database):
    messages, items = working_turn("t1", 1)
    add_turn(database, "s1", "t1", messages, [*items, PlanChanged(PLAN)])
    add_turn(database, "s1", "t2", [user_message("b"), assistant_message("c")], [PlanChanged(PLAN[:1])])
    keep(database, "s1", plan=PLAN[:1], omitted_results=frozenset({"t1-call-1"}), sealed_before=6, images_before=2)
    archive.fork("s1", FORK, "t2-prompt")
    state = kept(database, "fork")
    assert (state.plan, state.sealed_before, state.images_before) == (PLAN, 4, 2)
    assert state.omitted_results == {"t1-call-1"}
    archive.fork("s1", NewSession("early", PLACE), "t1-message-1")
    assert kept(database, "early").plan == ()


def test_a_fork_costs_no_more_than_the_disk_takes_for_a_copy(archive, database):
    for number in range(20):
        add_turn(database, "s1", f"t{number}", *working_turn(f"t{number}", 10))
    statements = []
    with database.write() as connection:
        connection.set_trace_callback(statements.append)
    archive.fork("s1", FORK)
    with database.write() as connection:
        connection.set_trace_callback(None)
    assert len(statements) < 25, "not one for each row"
    assert archive.get("fork").turns == 20
