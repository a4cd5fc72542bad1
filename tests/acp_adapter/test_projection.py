"""Every event for each kind of client: updates that the schema takes as they are."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.projection import bare, project
from agent_core.events import (
    AgentText,
    AgentThought,
    Command,
    CommandsOffered,
    ContextCompacted,
    ContextUsed,
    ModeChanged,
    Noticed,
    OptionsOffered,
    OwnTurn,
    PlanChanged,
    SessionEvent,
    SessionNamed,
    ToolAnnounced,
    ToolFinished,
    ToolRequested,
    ToolRunning,
)
from agent_core.settings.options import Choice, Option
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
    # A turn of its own is begun for a client that offers to show it, or because the person wants it all the same.
    events = [event for event in EVENTS if not isinstance(event, OwnTurn)]
    assert not any("_meta" in update for event in events for update in project(event, PLAIN))


def test_a_compression_is_one_entry_for_clients_that_show_them_and_words_for_the_others() -> None:
    offers = ClientCapabilities(compaction=True)
    done = ContextCompacted("k", "done", 90_000, 20_000, "What was done.", "a:b")
    updates = [update for event in (ContextCompacted("k", "running"), done) for update in project(event, offers)]
    assert [update["sessionUpdate"] for update in updates] == [*["compaction_update"] * 2, "agent_thought_chunk"]
    assert updates[0] == {"sessionUpdate": "compaction_update", "compactionId": "k", "status": "in_progress"}
    assert updates[1]["summary"] == [{"type": "text", "text": "What was done."}]
    (failed,) = project(ContextCompacted("k", "failed", error="It broke."), offers)
    assert (failed["status"], "It broke." in failed["error"]) == ("failed", True)
    (cancelled,) = project(ContextCompacted("k", "cancelled"), offers)
    assert {"summary", "error"}.isdisjoint(cancelled)
    assert "summary" not in next(iter(project(ContextCompacted("k", "done", 90_000, 20_000), offers)))
    assert "summary" not in next(iter(project(ContextCompacted("k", "running", summary="Not yet."), offers)))
    _check([*updates, failed, cancelled])
    (words,) = project(done, PLAIN)
    for part in ("90,000", "20,000", "a:b"):
        assert part in words["content"]["text"]


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
    (update,) = project(ContextUsed(10, 100, 0.123_456_78), PLAIN)
    assert update["cost"]["amount"] == 0.123_457
    (update,) = project(ContextUsed(10, 100), PLAIN)
    assert "cost" not in update


def test_the_plan_is_complete_and_a_cancelled_item_counts_as_done() -> None:
    plan = PlanChanged((TodoItem("1", "read", "in_progress", "high"), TodoItem("2", "no", "cancelled")))
    (update,) = project(plan, PLAIN)
    assert update["entries"] == [
        {"content": "read", "priority": "high", "status": "in_progress"},
        {"content": "no", "priority": "medium", "status": "completed"},
    ]


def test_a_mode_and_the_options_are_told_each_by_itself() -> None:
    choices = (Choice("default", "Ask"), Choice("plan", "Plan", "Looks only"))
    mode = Option("mode", "Mode", "How much is asked", "mode", "plan", choices)
    switch = Option("thoughts", "Thoughts", "", "", value=True)
    assert project(ModeChanged("plan"), PLAIN) == [{"sessionUpdate": "current_mode_update", "currentModeId": "plan"}]
    (plain,) = project(OptionsOffered((mode, switch)), PLAIN)
    assert [(option["id"], option["currentValue"]) for option in plain["configOptions"]] == [("mode", "plan")]
    (booleans,) = project(OptionsOffered((mode, switch)), ClientCapabilities(boolean_options=True))
    assert [option["id"] for option in booleans["configOptions"]] == ["mode", "thoughts"]


def test_a_notice_is_one_where_the_client_takes_it_and_text_elsewhere() -> None:
    noticed = Noticed("m", "The model is another one. It was busy.", "warning")
    assert project(noticed, ClientCapabilities(notices=True)) == [
        {
            "sessionUpdate": "notice",
            "severity": "warning",
            "title": "The model is another one",
            "description": "It was busy.",
        }
    ]
    (several,) = project(Noticed("m", "One. Two. Three.", "info"), ClientCapabilities(notices=True))
    assert (several["title"], several["description"]) == ("One", "Two. Three.")
    (short,) = project(Noticed("m", "Only this.", "info"), ClientCapabilities(notices=True))
    assert short == {"sessionUpdate": "notice", "severity": "info", "title": "Only this."}
    (text,) = project(noticed, PLAIN)
    assert (text["sessionUpdate"], text["messageId"]) == ("agent_message_chunk", "m")
    assert text["content"]["text"] == "The model is another one. It was busy.\n\n"
    (ended,) = project(Noticed("m", " Busy.\n", "info"), PLAIN)
    assert ended["content"]["text"] == " Busy.\n\n"


def test_a_name_comes_with_the_time_and_a_missing_one_changes_nothing() -> None:
    (named,) = project(SessionNamed("Sums", 0.5), PLAIN)
    assert named == {
        "sessionUpdate": "session_info_update",
        "title": "Sums",
        "updatedAt": "1970-01-01T00:00:00.500+00:00",
    }
    (used,) = project(SessionNamed(None, 0.5), PLAIN)
    assert "title" not in used


def test_a_turn_of_its_own_is_told_at_its_begin_and_at_its_end() -> None:
    turn = (OwnTurn("running"), OwnTurn("over", "end_turn"))
    told = [update["_meta"]["hermes"]["backgroundTurn"] for event in turn for update in project(event, PLAIN)]
    assert told == [{"state": "running"}, {"state": "over", "stopReason": "end_turn"}]


def test_a_command_has_a_hint_only_where_something_may_follow_it() -> None:
    (told,) = project(CommandsOffered((Command("help", "Help"), Command("title", "Name it", "the title"))), PLAIN)
    assert told["availableCommands"] == [
        {"name": "help", "description": "Help"},
        {"name": "title", "description": "Name it", "input": {"hint": "the title"}},
    ]


def test_where_a_card_cannot_be_shown_it_still_begins_and_ends() -> None:
    arguments: dict[str, Any] = {}
    for client_sees in (
        [*bare(ToolAnnounced("c", "todo", "/srv")), *bare(ToolRequested("c", "todo", arguments, "/srv", True))],
        bare(ToolRequested("c", "todo", arguments, "/srv", False)),
    ):
        assert [update["sessionUpdate"] for update in client_sees] == ["tool_call"]
        _check(client_sees)
    ended = bare(ToolFinished("c", "todo", arguments, "/srv", ToolResult("no", failed=True)))
    assert [update["status"] for update in ended] == ["failed"]
    whole = bare(ToolFinished("c", "todo", arguments, "/srv", ToolResult("yes")))
    assert whole == [{"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}]
    assert bare(AgentText("m", "x")) == []


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
