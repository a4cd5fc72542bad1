"""A prompt that was stored for the person alone, as its process was killed in the next moment, reaches the model."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from agent_core.events import AgentText, UserSaid
from agent_core.messages import user_message
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidText
from agent_core.sessions.live.leases import ProcessIdentity
from agent_core.sessions.live.prompts_left import content_of
from tests.support.session_database import Desk

HELLO = user_message("hello")
_NOBODY = 2**22 + 1
"""A number that no process has."""


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv/project")
    yield desk
    desk.close()


def leave(desk, turn, *said):
    """A process begins a turn and is killed at once."""
    dead(desk, turn, UserSaid(f"{turn}-prompt", said))


def dead(desk, turn, event, *messages):
    store = desk.another_store(replace(ProcessIdentity.current(), token=turn, pid=_NOBODY))
    store.journal("s", turn).record(event)
    store.begin_turn("s", turn)
    for message in messages:
        store.append("s", turn, message)


def test_the_next_turn_begins_with_what_was_said(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    desk.store.begin_turn("s", "t2")
    assert desk.store.messages("s") == [user_message("mend the gate")]
    desk.store.append("s", "t2", HELLO)
    assert [turn for (turn,) in desk.rows("SELECT turn FROM messages ORDER BY id")] == [1, 2]


def test_it_is_said_once_however_often_a_process_ends_so(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    leave(desk, "t2", SaidText("and the fence"))
    desk.store.begin_turn("s", "t3")
    assert desk.store.messages("s") == [user_message("mend the gate"), user_message("and the fence")]


def test_what_the_model_was_told_already_what_was_taken_back_and_what_is_no_prompt_stays_as_it_is(desk):
    leave(desk, "t1", SaidText("taken back"))
    desk.change("UPDATE turns SET undone = 1")
    dead(desk, "t2", UserSaid("t2-prompt", (SaidText("hello"),)), HELLO)
    dead(desk, "t3", AgentText("t3-message-1", "By itself."))
    desk.store.begin_turn("s", "t4")
    assert desk.store.messages("s") == [HELLO]


def test_a_damaged_prompt_is_left_alone(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    with closing(sqlite3.connect(desk.path)) as connection, connection:
        connection.execute("UPDATE events SET body = 'rubbish'")
    desk.store.begin_turn("s", "t2")
    assert desk.store.messages("s") == []


def test_attachments_come_along_and_links_are_named():
    parts = (
        SaidText("look"),
        SaidImage("image/png", "aGk="),
        SaidAudio("audio/mpeg", "aGk="),
        SaidDocument("file:///a/plan.pdf", None, "aGk=", "application/pdf"),
        SaidDocument("file:///a/b.py", "x = 1"),
        SaidLink("file:///a/c.py", "c.py"),
    )
    kinds = [part["type"] for part in content_of(parts)]
    assert kinds == ["text", "image_url", "input_audio", "file", "text", "text"]
    assert content_of(parts[4:]) == (
        "[Attached: file:///a/b.py]\nx = 1\n\n[Linked: file:///a/c.py; its content was not read.]"
    )
