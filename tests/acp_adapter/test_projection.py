"""Every event for each kind of client: updates that the schema takes as they are."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.projection import project
from agent_core.errors import RequestError
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    ModeChanged,
    PlanChanged,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolRequested,
    ToolRunning,
)
from tests.support.sample_events import EVENTS
from tests.support.wire import check_outgoing
from tools.context import TodoItem
from tools.result import ToolResult

PLAIN, TERMINAL = ClientCapabilities(), ClientCapabilities(terminal_output=True)
CLIENTS = [pytest.param(PLAIN, id="plain"), pytest.param(TERMINAL, id="terminal")]


def _check(updates: list[dict[str, Any]]) -> None:
    for update in updates:
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
        check_outgoing(frame)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_event_becomes_valid_updates(client: ClientCapabilities) -> None:
    assert {type(event) for event in EVENTS} == set(get_args(SessionEvent)), "an event is not shown here"
    for event in EVENTS:
        updates = project(event, client)
        assert updates
        _check(updates)
        assert project(event, client) == updates, "it is a pure function"


def test_a_client_without_terminals_gets_no_meta_at_all() -> None:
    assert not any("_meta" in update for event in EVENTS for update in project(event, PLAIN))


def test_text_and_thoughts_carry_their_message() -> None:
    content = {"type": "text", "text": "x"}
    for event, kind in (
        (AgentText("m", "x"), "agent_message_chunk"),
        (AgentThought("m", "x"), "agent_thought_chunk"),
    ):
        assert project(event, PLAIN) == [{"sessionUpdate": kind, "messageId": "m", "content": content}]


def test_what_the_session_costs_is_told_where_it_is_known() -> None:
    (update,) = project(ContextUsed(10, 100, 0.1 + 0.2), PLAIN)
    assert update["cost"] == {"amount": 0.3, "currency": "USD"}
    (update,) = project(ContextUsed(10, 100), PLAIN)
    assert "cost" not in update


def test_the_plan_is_complete_and_a_cancelled_item_counts_as_done() -> None:
    plan = PlanChanged((TodoItem("1", "read", "in_progress", "high"), TodoItem("2", "no", "cancelled")))
    (update,) = project(plan, PLAIN)
    assert update["entries"] == [
        {"content": "read", "priority": "high", "status": "in_progress"},
        {"content": "no", "priority": "medium", "status": "completed"},
    ]


def test_a_mode_changes_as_mode_and_as_option() -> None:
    mode, options = project(ModeChanged("dont_ask"), PLAIN)
    assert mode["currentModeId"] == "dont_ask"
    assert [option["currentValue"] for option in options["configOptions"]] == ["dont_ask"]
    with pytest.raises(RequestError):
        project(ModeChanged("unknown"), PLAIN)


def test_a_call_is_created_once() -> None:
    kinds = [
        project(event, PLAIN)[0]["sessionUpdate"]
        for event in (
            ToolAnnounced("c", "todo", "/srv"),
            ToolRequested("c", "todo", {}, "/srv", announced=True),
            ToolRequested("c", "todo", {}, "/srv", announced=False),
            ToolRunning("c", "todo", {}, "/srv"),
            ToolFinished("c", "todo", {}, "/srv", ToolResult("plain text")),
        )
    ]
    assert kinds == ["tool_call", "tool_call_update", "tool_call", "tool_call_update", "tool_call_update"]
