"""Calls of MCP servers pass the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_core.cancel import CancelToken
from tests.support.mcp_actions import PROGRAM, described
from tests.support.tool_context import ScriptedApprover
from tools.agent_ports import Behalf
from tools.approval.actions import CallMcpTool, ToolPin, pin_of
from tools.approval.gate import Approvals, Gate, NobodyToAsk
from tools.approval.policy import Rules
from tools.environments.gated_ports import GatedMcpTools
from tools.errors import Denied, ToolInterrupted
from tools.ports import Interrupt
from tools.result import ToolResult


class Recorder:
    """Stands where the servers are."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.behalf: Behalf | None = None

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        self.calls.append((server, tool, dict(arguments)))
        self.behalf = behalf
        progress("half\n")
        return ToolResult("done")

    def read(
        self,
        server: str,
        uri: str,
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        self.calls.append((server, "read", {"uri": uri}))
        return ToolResult("read")

    def pins(self, server: str) -> Mapping[str, ToolPin]:
        return {name: pin_of(PROGRAM, described(name)) for name in ("", "push")}

    def resources(self, server: str) -> str:
        return server

    def find(self, query: str) -> str:
        return query

    def locate(self, name: str) -> tuple[str, str] | None:
        return None

    def fit(self, window: int | None, session_id: str = "") -> None:
        pass


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


def test_reading_a_resource_is_asked_for_too(tmp_path: Path) -> None:
    approver = ScriptedApprover()
    servers, recorder = gated(tmp_path, approver)
    assert servers.read("docs", "docs://secret", CancelToken(), lambda _: None).text == "read"
    (question,) = approver.questions
    assert question.action == CallMcpTool("docs", "resources/read", '{"uri": "docs://secret"}')
    assert recorder.calls == [("docs", "read", {"uri": "docs://secret"})]


def test_a_server_that_wants_a_models_answer_is_asked_about_each_time(tmp_path: Path) -> None:
    approver = ScriptedApprover()
    servers, recorder = gated(tmp_path, approver)
    servers.call("git", "push", {}, CancelToken(), lambda _: None)
    assert recorder.behalf is not None
    for _ in range(2):
        recorder.behalf.allow_model("git", "user: hello", CancelToken())
    assert [question.reaches for question in approver.questions[1:]] == [(), ()]
    assert [question.keeps for question in approver.questions[1:]] == [(), ()]
