"""What a load reads of a session: no more messages than it needs, and those of a call that broke off."""

from __future__ import annotations

from agent_core.events import AgentText, ToolAnnounced, ToolFinished
from agent_core.messages import assistant_message, tool_call, user_message
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.replay import replayed

CALL = assistant_message("", [tool_call("c", "terminal", '{"command": "rm -r old"}')])


def test_a_killed_call_is_shown_with_what_it_was_to_do(desk):
    desk.store.journal("s", "t1").record(ToolAnnounced("c", "terminal", "/srv/project"))
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", user_message("tidy up"))
    desk.store.append("s", "t1", CALL)
    ends = [event for event in replayed(SessionArchive(desk.database).story("s")) if isinstance(event, ToolFinished)]
    assert [end.arguments for end in ends] == [{"command": "rm -r old"}]


def test_messages_of_turns_that_were_taken_down_are_not_read(desk):
    desk.store.journal("s", "t1").record(AgentText("t1-message-1", "Hello."))
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", user_message("hello"))
    desk.store.end_turn("s", "t1")
    assert SessionArchive(desk.database).story("s").messages == ()
