"""`interrupt()` while a tool hangs: the turn ends, nothing more is done, and the history stays valid."""

from __future__ import annotations

import threading

import pytest

from agent_core.callbacks import AgentCallbacks, CallFinished, CallOutput, CallRequested
from agent_core.messages import INTERRUPTED_RESULT
from tests.support.agents import assert_well_formed, in_background, make_agent, tool_contents
from tests.support.scripted_provider import says, uses
from tests.support.tool_context import told_in


def test_a_command_that_never_ends_is_ended_with_the_turn(tmp_path, guardian):
    hangs = uses(("a", "terminal", {"command": "echo $$; exec cat < /dev/zero > /dev/null"}), ("b", "todo", {}))
    agent, told, begun = make_agent(tmp_path, hangs, says("again"), guardian=guardian), [], threading.Event()

    def hear(progress):
        told.append((progress.call_id, type(progress)))
        if isinstance(progress, CallOutput):
            begun.set()

    callbacks = AgentCallbacks(tool_progress_callback=hear)
    running = in_background(lambda: agent.run_conversation("go", callbacks=callbacks))
    assert begun.wait(10)
    agent.interrupt()
    result = running.result(10)
    assert result["stop_reason"] == "cancelled"
    assert [kind for call_id, kind in told if call_id == "b"] == [CallRequested, CallFinished]
    assert tool_contents(result["messages"]) == [INTERRUPTED_RESULT] * 2
    assert_well_formed(result["messages"])
    assert not agent.workspace.terminal.is_busy()
    assert agent.chat("again") == "again"


def test_a_tool_that_does_not_listen_does_nothing_more_and_no_other_begins(tmp_path, add_tool):
    entered, go_on, ran = threading.Event(), threading.Event(), []

    def deaf(_args, ctx, **_kw):
        entered.set()
        assert go_on.wait(10)
        ctx.fs.write(tmp_path / "late.txt", b"late", expected=None)

    add_tool("deaf", deaf)
    add_tool("next", lambda *_args, **_kw: ran.append("next") or "{}")
    agent = make_agent(tmp_path, uses(("a", "deaf", {}), ("b", "next", {})), says("again"))
    running = in_background(lambda: agent.run_conversation("go"))
    assert entered.wait(5)
    agent.interrupt()
    go_on.set()
    result = running.result(5)
    assert result["stop_reason"] == "cancelled"
    assert not (tmp_path / "late.txt").exists()
    assert ran == []
    assert [told_in(text)["error"][:11] for text in tool_contents(result["messages"])] == ["Interrupted"] * 2
    assert_well_formed(result["messages"])
    assert agent.chat("again") == "again"


def test_a_turn_that_was_given_up_leaves_the_session_to_another_agent(tmp_path, add_tool):
    entered, go_on = threading.Event(), threading.Event()

    def deaf(_args, ctx, **_kw):
        ctx.progress("working\n")
        entered.set()
        assert go_on.wait(10)
        return '{"late": true}'

    add_tool("deaf", deaf)
    agent = make_agent(tmp_path, uses(("a", "deaf", {})))
    services = agent.services
    running = in_background(lambda: agent.run_conversation("go"))
    assert entered.wait(5)
    assert services.activity.now().kind == "running"
    agent.abandon()
    assert services.activity.now().kind == "idle"
    other = make_agent(
        tmp_path, says("here"), session_store=agent.session_store, session_id=agent.session_id, services=services
    )
    assert other.chat("go on") == "here"
    go_on.set()
    assert running.result(5)["stop_reason"] == "cancelled"
    messages = agent.messages
    assert "late" not in str(messages)
    assert_well_formed(messages)


def test_a_listener_that_breaks_at_the_turns_end_leaves_the_session_usable(tmp_path):
    def broken(_status):
        raise OSError("the pipe is gone")

    agent = make_agent(tmp_path, [lambda: agent.steer("wait"), *says("")], says("again"), max_iterations=1)
    with pytest.raises(OSError, match="pipe"):
        agent.run_conversation("go", callbacks=AgentCallbacks(status_callback=broken))
    assert agent.services.activity.now().kind == "idle"
    assert agent.chat("again") == "again"
