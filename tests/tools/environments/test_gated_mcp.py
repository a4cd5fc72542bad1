"""Calls of MCP servers pass the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_core.interrupt import CancelToken
from tests.support.tool_context import ScriptedApprover
from tools.approval.actions import CallMcpTool
from tools.approval.gate import Approvals, Gate, NobodyToAsk
from tools.approval.policy import Rules
from tools.context import Interrupt
from tools.environments.gated_mcp import GatedMcpTools
from tools.errors import Denied, ToolInterrupted
from tools.result import ToolResult


class Recorder:
    """Stands where the servers are."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
    ) -> ToolResult:
        self.calls.append((server, tool, dict(arguments)))
        progress("half\n")
        return ToolResult("done")


def gated(tmp_path: Path, approver: Any, token: CancelToken | None = None) -> tuple[GatedMcpTools, Recorder]:
    recorder = Recorder()
    approvals = Approvals(Rules(roots=(tmp_path,)), "default", approver)
    gate = Gate(approvals, "call-1", token or CancelToken(), on_allowed=lambda _: None)
    return GatedMcpTools(recorder, gate), recorder


def test_the_person_is_asked_with_server_tool_and_arguments_before_the_call(tmp_path: Path) -> None:
    approver, told = ScriptedApprover(), []
    servers, recorder = gated(tmp_path, approver)
    approver.before_answer = lambda: told.append(list(recorder.calls))
    result = servers.call("git", "push", {"branch": "mäin"}, CancelToken(), told.append)
    assert result.text == "done"
    assert approver.asked == [CallMcpTool("git", "push", '{"branch": "mäin"}')]
    assert told == [[], "half\n"]
    assert recorder.calls == [("git", "push", {"branch": "mäin"})]


def test_a_no_reaches_no_server(tmp_path: Path) -> None:
    servers, recorder = gated(tmp_path, NobodyToAsk())
    with pytest.raises(Denied):
        servers.call("git", "push", {}, CancelToken(), lambda _: None)
    assert recorder.calls == []


def test_a_turn_that_is_over_reaches_no_server(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    servers, recorder = gated(tmp_path, ScriptedApprover(), token)
    with pytest.raises(ToolInterrupted):
        servers.call("git", "push", {}, token, lambda _: None)
    assert recorder.calls == []
