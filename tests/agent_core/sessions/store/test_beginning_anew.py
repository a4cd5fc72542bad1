"""Turns without messages: commands, and the one from which on the model begins anew."""

from __future__ import annotations

import pytest

from agent_core.errors import RequestError
from agent_core.events import AgentText, SaidText, UserSaid
from agent_core.messages import assistant_message, user_message
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.checkpoints.undo import Rewinder
from agent_core.sessions.records import COMMAND, RESET, KeptState, NewSession
from agent_core.sessions.replay import replayed


@pytest.fixture
def archive(desk):
    return SessionArchive(desk.database)


@pytest.fixture
def rewinder(desk, tmp_path):
    return Rewinder(desk.database, BlobStore(tmp_path / "blobs"))


def _talk(desk, turn_id):
    desk.store.begin_turn("s", turn_id)
    desk.store.append("s", turn_id, user_message(turn_id))
    desk.store.append("s", turn_id, assistant_message("yes"))
    desk.store.end_turn("s", turn_id, "end_turn")


def _command(desk, turn_id, outcome=COMMAND):
    desk.store.begin_turn("s", turn_id)
    journal = desk.store.journal("s", turn_id)
    journal.record(UserSaid(f"{turn_id}-prompt", (SaidText(f"/{turn_id}"),)))
    journal.record(AgentText(f"{turn_id}-message-1", "Done."))
    desk.store.end_turn("s", turn_id, outcome)
    desk.store.reload("s")


def _seen(desk, session_id="s"):
    return [message["content"] for message in desk.store.messages(session_id) if message["role"] == "user"]


def _undo(rewinder, desk, turns=1):
    report = rewinder.apply(rewinder.plan("s", turns), lambda _: True)
    desk.store.reload("s")
    return report


def test_a_command_is_shown_again_and_the_model_sees_nothing_of_it(desk, archive):
    _talk(desk, "one")
    _command(desk, "help")
    _talk(desk, "two")
    assert _seen(desk) == ["one", "two"]
    shown = [event.parts[0].text for event in replayed(archive.transcript("s")) if isinstance(event, UserSaid)]
    assert "/help" in shown


def test_a_command_is_no_turn_to_undo_and_keeps_no_redo_from_being_done(desk, rewinder):
    _talk(desk, "one")
    _command(desk, "help")
    assert _undo(rewinder, desk).turns == (1,)
    _command(desk, "undo")
    assert rewinder.plan_redo("s").numbers == (1,)
    with pytest.raises(RequestError, match="nothing to undo"):
        rewinder.plan("s")


def test_a_session_of_commands_alone_counts_as_empty(desk, archive):
    _command(desk, "help")
    assert archive.get("s").turns == 0
    assert archive.page().sessions == ()
    desk.store.release("s")
    assert archive.drop_empty(desk.time() + 1) == 1


def test_a_session_that_was_used_is_none(desk, archive):
    _talk(desk, "one")
    _command(desk, "help")
    assert archive.get("s").turns == 1
    assert [session.id for session in archive.page().sessions] == ["s"]
    desk.store.release("s")
    assert archive.drop_empty(desk.time() + 1) == 0


def test_the_model_sees_what_came_after_it_began_anew_for_the_last_time(desk):
    _talk(desk, "one")
    _command(desk, "reset", RESET)
    assert desk.store.messages("s") == []
    _talk(desk, "two")
    _command(desk, "reset-again", RESET)
    _talk(desk, "three")
    assert _seen(desk) == ["three"]
    elsewhere = desk.another_store()
    assert [message["content"] for message in elsewhere.messages("s")] == ["three", "yes"]
    elsewhere.close()


def test_everything_stays_stored_and_is_shown(desk, archive):
    _talk(desk, "one")
    _command(desk, "reset", RESET)
    transcript = archive.transcript("s")
    assert [stored.message["content"] for stored in transcript.messages] == ["one", "yes"]
    assert [turn.outcome for turn in transcript.turns] == ["end_turn", RESET]


def test_beginning_anew_is_undone_and_redone_as_a_turn(desk, rewinder):
    _talk(desk, "one")
    _command(desk, "reset", RESET)
    _talk(desk, "two")
    report = _undo(rewinder, desk, 2)
    assert (report.messages_left, _seen(desk)) == (2, ["one"])
    assert [turn.prompt for turn in rewinder.plan_redo("s").turns] == ["two", "/reset"]
    rewinder.apply(rewinder.plan_redo("s"), lambda _: True)
    desk.store.reload("s")
    assert _seen(desk) == ["two"]


def test_an_undo_past_it_brings_nothing_of_before_into_view(desk, rewinder):
    _talk(desk, "one")
    _talk(desk, "two")
    _command(desk, "reset", RESET)
    _undo(rewinder, desk)
    _undo(rewinder, desk)
    assert _seen(desk) == ["one"]
    rewinder.apply(rewinder.plan_redo("s"), lambda _: True)
    desk.store.reload("s")
    assert _seen(desk) == ["one", "two"]


def test_a_fork_begins_where_the_session_did_and_keeps_no_position_beyond_it(desk, archive):
    _talk(desk, "one")
    _command(desk, "reset", RESET)
    _talk(desk, "two")
    desk.store.keep("s", KeptState(sealed_before=2, images_before=2))
    archive.fork("s", NewSession("copy", "/srv/project"))
    assert _seen(desk, "copy") == ["two"]
    archive.fork("s", NewSession("earlier", "/srv/project"), "reset-prompt")
    assert _seen(desk, "earlier") == ["one"]
    archive.fork("s", NewSession("then", "/srv/project"), "reset-message-1")
    assert _seen(desk, "then") == []
    kept = desk.store.kept("then")
    assert kept is not None
    assert kept.images_before == 0
