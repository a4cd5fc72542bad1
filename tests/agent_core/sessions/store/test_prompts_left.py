"""Prompts that were stored for the person alone, as their turns were killed or cancelled in the next moment."""

from __future__ import annotations

import sqlite3
from contextlib import closing as closing_connection
from dataclasses import replace

import pytest

from agent_core.errors import StoreError
from agent_core.events import (
    AgentText,
    AgentThought,
    Noticed,
    SaidAudio,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidText,
    UserSaid,
)
from agent_core.messages import assistant_message, injected_message, tool_call, tool_message, user_message
from agent_core.sessions.leases import this_process
from agent_core.sessions.rows import content_of

HELLO = user_message("hello")
_NOBODY = 2**22 + 1
"""A number that no process has."""


def leave(desk, turn, *said):
    """A process begins a turn and is killed at once."""
    dead(desk, turn, UserSaid(f"{turn}-prompt", said))


def dead(desk, turn, event, *messages):
    store = desk.another_store(replace(this_process(), token=turn, pid=_NOBODY))
    store.journal("s", turn).record(event)
    store.begin_turn("s", turn)
    for message in messages:
        store.append("s", turn, message)


def cancelled(desk, turn, text):
    """A turn that is cancelled before anything was done about it."""
    desk.store.journal("s", turn).record(UserSaid(f"{turn}-prompt", (SaidText(text),)))
    desk.store.begin_turn("s", turn)
    desk.store.end_turn("s", turn, "cancelled")


def left(desk, turn):
    """What is left when a turn begins."""
    desk.store.begin_turn("s", turn)
    return [one.content for one in desk.store.prompts_left("s", turn)]


def test_what_was_said_is_left_and_in_no_history(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    cancelled(desk, "t2", "and the fence")
    assert left(desk, "t3") == ["mend the gate", "and the fence"]
    assert desk.store.messages("s") == []


def answer(turn, text, number=1, kind="message"):
    return AgentText(f"{turn}-{kind}-{number}", text)


def unfinished(text):
    return {**assistant_message(text), "unfinished": True}


CALLING = assistant_message("I look.", [tool_call("c", "read_file", "{}")])


@pytest.mark.parametrize(
    ("events", "messages", "left"),
    [
        ([answer("t1", "Half of it")], [HELLO], "Half of it"),
        ([answer("t1", "Half "), Noticed("n", "A notice.", "info"), answer("t1", "of it")], [HELLO], "Half of it"),
        ([answer("t1", "Half of it"), answer("t1", "stopped", kind="status")], [HELLO], "Half of it"),
        ([answer("t1", "I look."), answer("t1", "Half", 2)], [HELLO, CALLING], "Half"),
        ([answer("t1", "I look.")], [HELLO, CALLING], ""),
        ([answer("t1", "I look.")], [HELLO, CALLING, tool_message(CALLING["tool_calls"][0], "x")], ""),
        ([answer("t1", "One two ")], [HELLO, unfinished("One "), injected_message("Go on.")], "two "),
        ([answer("t1", "One ")], [HELLO, unfinished("One "), injected_message("Go on.")], ""),
        ([answer("t1", "h\ud800")], [HELLO, assistant_message("h\ud800", CALLING["tool_calls"])], ""),
        ([AgentThought("t1-thought-1", "a secret")], [HELLO], ""),
        ([], [HELLO], ""),
    ],
)
def test_what_was_seen_of_an_answer_whose_process_died_is_left(desk, events, messages, left):
    store = desk.another_store(replace(this_process(), token="t1", pid=_NOBODY))
    store.begin_turn("s", "t1")
    for event in events:
        store.journal("s", "t1").record(event)
    for message in messages:
        store.append("s", "t1", message)
    store.write_journal("s", "t1")
    desk.store.begin_turn("s", "t2")
    assert desk.store.answer_left("s", "t2") == left
    assert desk.store.answer_left("s", "another") == ""
    desk.store.append("s", "t2", assistant_message("done"))
    assert desk.store.answer_left("s", "t2") == ""


def test_a_turn_that_was_given_up_leaves_what_was_seen_to_the_next_one(desk):
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", HELLO)
    desk.store.journal("s", "t1").record(answer("t1", "Half of it"))
    desk.store.end_turn("s", "t1")
    desk.store.begin_turn("s", "t2")
    assert desk.store.answer_left("s", "t2") == "Half of it"


def test_it_is_told_once_as_the_turn_s_in_which_it_was_said(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    assert left(desk, "t2") == ["mend the gate"]
    (prompt,) = desk.store.prompts_left("s", "t2")
    assert desk.store.tell_left("s", "t2", prompt, [user_message("mend the gate"), assistant_message("[No.]")])
    desk.store.append("s", "t2", HELLO)
    told = [user_message("mend the gate"), assistant_message("[No.]"), HELLO]
    assert desk.store.messages("s") == told
    assert [turn for (turn,) in desk.rows("SELECT turn FROM messages ORDER BY id")] == [1, 1, 2]
    desk.store.reload("s")
    assert desk.store.messages("s") == told
    assert left(desk, "t3") == []


def test_what_is_left_out_is_left_no_more_and_its_turn_says_why(desk):
    leave(desk, "t1", SaidText("my key"))
    desk.store.begin_turn("s", "t2")
    (prompt,) = desk.store.prompts_left("s", "t2")
    assert desk.store.leave_out("s", "t2", prompt, "It holds a key.")
    assert desk.store.prompts_left("s", "t2") == ()
    assert desk.rows("SELECT outcome, note, ended_at > 0 FROM turns WHERE number = 1") == [
        ("error", "It holds a key.", 1)
    ]


def test_a_turn_that_is_over_tells_nothing_and_leaves_nothing_out(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    desk.store.begin_turn("s", "t2")
    (prompt,) = desk.store.prompts_left("s", "t2")
    desk.store.begin_turn("s", "t3")
    assert not desk.store.tell_left("s", "t2", prompt, [HELLO])
    assert not desk.store.leave_out("s", "t2", prompt, "No.")
    assert desk.store.prompts_left("s", "t2") == ()
    assert desk.store.prompts_left("s", "t3") == (prompt,)


def test_what_could_not_be_stored_yet_is_told_all_the_same_and_stored_once(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    desk.store.begin_turn("s", "t2")
    (prompt,) = desk.store.prompts_left("s", "t2")
    desk.database.fails_after = StoreError("it broke")
    assert desk.store.tell_left("s", "t2", prompt, [HELLO])
    assert desk.store.messages("s") == [HELLO]
    desk.database.fails_after = None
    desk.clock.now += 60
    desk.store.append("s", "t2", assistant_message("Ok."))
    assert desk.store.messages("s") == [HELLO, assistant_message("Ok.")]
    assert desk.rows("SELECT turn, role FROM messages ORDER BY id") == [(1, "user"), (2, "assistant")]


def test_what_the_model_has_only_heard_of_its_background_in_a_turn_is_not_what_was_said(desk):
    closing, news = assistant_message("[It broke off.]"), injected_message("It is done.")
    dead(desk, "t1", UserSaid("t1-prompt", (SaidText("mend the gate"),)), closing, news)
    assert left(desk, "t2") == ["mend the gate"]


def test_what_the_model_was_told_already_what_was_taken_back_and_what_is_no_prompt_stays_as_it_is(desk):
    leave(desk, "t1", SaidText("from before"))
    dead(desk, "t2", UserSaid("t2-prompt", (SaidText("hello"),)), HELLO)
    dead(desk, "t3", AgentText("t3-message-1", "By itself."))
    leave(desk, "t4", SaidText("taken back"))
    desk.change("UPDATE turns SET undone = 1 WHERE id = 't4'")
    assert left(desk, "t5") == []
    assert desk.store.messages("s") == [HELLO]


def test_a_command_and_a_failed_turn_in_between_hide_nothing_and_a_new_beginning_does(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    for turn, outcome in (("t2", "command"), ("t3", "error"), ("t4", "compacted")):
        desk.store.journal("s", turn).record(UserSaid(f"{turn}-prompt", (SaidText("/help"),)))
        desk.store.begin_turn("s", turn)
        desk.store.end_turn("s", turn, outcome)
    assert left(desk, "t5") == ["mend the gate"]
    desk.change("UPDATE turns SET outcome = 'reset' WHERE id = 't4'")
    assert [one.content for one in desk.store.prompts_left("s", "t5")] == []


def test_a_damaged_prompt_is_left_alone(desk):
    leave(desk, "t1", SaidText("mend the gate"))
    with closing_connection(sqlite3.connect(desk.path)) as connection, connection:
        connection.execute("UPDATE events SET body = 'rubbish'")
    assert left(desk, "t2") == []


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
