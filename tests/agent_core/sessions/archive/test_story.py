"""A call that broke off is shown with what its message says of it."""

from __future__ import annotations

from agent_core.events import ToolAnnounced, ToolFinished
from agent_core.messages import assistant_message, tool_call, user_message
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.replay import replayed

CALL = assistant_message("", [tool_call("c", "terminal", '{"command": "rm -r old"}')])


def test_a_killed_call_is_shown_with_what_it_was_to_do(desk):
    desk.store.journal("s", "t1").record(ToolAnnounced("c", "terminal", "/srv/project"))
    desk.store.begin_turn("s", "t1")
    desk.store.append("s", "t1", user_message("tidy up"))
    desk.store.append("s", "t1", CALL)
    ends = [
        event for event in replayed(SessionArchive(desk.database).transcript("s")) if isinstance(event, ToolFinished)
    ]
    assert [end.arguments for end in ends] == [{"command": "rm -r old"}]
