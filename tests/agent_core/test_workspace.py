"""Where a session works: the context that each tool call gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_core.callbacks import AgentCallbacks
from agent_core.cancel import CancelToken
from agent_core.services import SessionServices
from agent_core.workspace import CallIdentity, local_workspace
from tests.support.services import turn_services
from tests.support.tool_context import ScriptedApprover
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.context import TodoItem
from tools.errors import Denied, ToolInterrupted
from tools.ports import CommandSpec
from tools.settings import ReadSettings, ToolSettings


def context_of(workspace, token=None, allowed=None, services=None, output=None):
    return workspace.context(
        CallIdentity("session-1", "task-1", "task-1", "call-1"),
        token or CancelToken(),
        services or turn_services(),
        on_allowed=(allowed if allowed is not None else []).append,
        on_output=(output if output is not None else []).append,
    )


def test_a_call_knows_itself_and_its_surroundings(tmp_path, guardian):
    settings = ToolSettings(read=ReadSettings(default_lines=7))
    workspace = local_workspace(tmp_path, (tmp_path / "more",), guardian=guardian, settings=settings)
    token, services, output = CancelToken(), turn_services(), []
    ctx = context_of(workspace, token, services=services, output=output)
    assert (ctx.session_id, ctx.task_id, ctx.tool_call_id) == ("session-1", "task-1", "call-1")
    assert (ctx.cwd, ctx.roots) == (tmp_path, (tmp_path, tmp_path / "more"))
    assert ctx.interrupt is token
    assert ctx.agent is services
    assert ctx.settings.read.default_lines == 7
    ctx.progress("text")
    assert output == ["text"]


def test_each_effect_that_is_allowed_is_told_before_it_happens(tmp_path, guardian):
    workspace = local_workspace(tmp_path, guardian=guardian, mode="dont_ask")
    target, allowed = tmp_path.resolve() / "x.txt", []
    ctx = context_of(workspace, allowed=allowed)
    ctx.fs.write(target, b"1", expected=None)
    ctx.fs.stat(target)
    ctx.terminal.run(CommandSpec("true", tmp_path, 5), lambda _text: None, ctx.interrupt)
    assert allowed == [WritePath(target, None, b"1", shown=target), ReadPath(target), RunCommand("true", tmp_path)]


def test_without_anybody_to_ask_what_would_be_asked_is_refused(tmp_path, guardian):
    ctx = context_of(local_workspace(tmp_path, guardian=guardian))
    with pytest.raises(Denied, match="nobody to ask"):
        ctx.fs.write(tmp_path / "x.txt", b"1", expected=None)
    assert not (tmp_path / "x.txt").exists()


def test_what_is_granted_for_the_session_holds_for_its_later_calls(tmp_path, guardian):
    approver = ScriptedApprover(choice="allow_session")
    workspace = local_workspace(tmp_path, guardian=guardian, approver=approver)
    context_of(workspace).fs.write(tmp_path / "x.txt", b"1", expected=None)
    context_of(workspace).fs.write(tmp_path / "x.txt", b"2", expected=b"1")
    assert len(approver.asked) == 1
    assert (tmp_path / "x.txt").read_bytes() == b"2"


def test_a_private_directory_is_asked_about_even_inside_the_workspace_and_by_a_link(tmp_path, guardian):
    private = tmp_path / "home"
    private.mkdir()
    (private / "config.yaml").write_text("key")
    (tmp_path / "link").symlink_to(private)
    workspace = local_workspace(tmp_path, guardian=guardian, private=(tmp_path / "link",))
    for name in ("home", "link"):
        with pytest.raises(Denied):
            context_of(workspace).fs.open(tmp_path / name / "config.yaml")


def test_nothing_happens_for_a_turn_that_is_over(tmp_path, guardian):
    token, allowed = CancelToken(), []
    ctx = context_of(local_workspace(tmp_path, guardian=guardian, mode="dont_ask"), token, allowed)
    token.cancel()
    with pytest.raises(ToolInterrupted):
        ctx.fs.write(tmp_path / "x.txt", b"1", expected=None)
    with pytest.raises(ToolInterrupted):
        ctx.terminal.run(CommandSpec("touch y.txt", tmp_path, 5), lambda _text: None, token)
    assert (allowed, list(tmp_path.iterdir())) == ([], [])


def test_roots_are_compared_with_their_links_resolved(tmp_path, guardian):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "alias").symlink_to(real)
    ctx = context_of(local_workspace(tmp_path / "alias", guardian=guardian, mode="accept_edits"))
    ctx.fs.write(tmp_path / "alias" / "x.txt", b"1", expected=None)
    assert (real / "x.txt").read_bytes() == b"1"


def test_the_plan_is_kept_and_its_listener_told():
    told = []
    session = SessionServices()
    services = turn_services(session, AgentCallbacks(plan_callback=told.append))
    plan = (TodoItem("1", "Look", "pending"),)
    services.set_todos(list(plan))
    assert turn_services(session).todos() == services.todos() == plan
    assert told == [plan]


def test_where_no_program_can_be_run_the_tool_for_it_is_missing(tmp_path, guardian):
    workspace = local_workspace(tmp_path, guardian=guardian)
    assert workspace.missing_tools() == ()
    assert replace(workspace, programs=None).missing_tools() == ("execute_code",)
