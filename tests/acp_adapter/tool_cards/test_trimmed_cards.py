"""What is sent of a card is enough: every editor ends with the same card as if it had been sent all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.permissions import asked_card
from acp_adapter.projection import CardFields, project
from agent_core.events import SessionEvent, ToolAnnounced, ToolFinished, ToolOutput, ToolRequested, ToolRunning
from tests.support.each import each
from tests.support.merged_view import MergedView
from tests.support.sample_events import EVENTS
from tools.approval.actions import Action, CallMcpTool, LeavePlan, ReadPath, RunCommand, WritePath
from tools.approval.questions import Question
from tools.result import ShownDiff, ShownOutput, ShownText, ToolResult, error

CLIENTS = [
    pytest.param(ClientCapabilities(), id="plain"),
    pytest.param(ClientCapabilities(terminal_output=True), id="terminal"),
]
CWD = "/srv"
_DIFF = ShownDiff(Path("/srv/a.py"), "a", "b")

CALLS = [
    ("terminal", RunCommand("rm -r b\nmake", Path("/srv")), {"command": "rm -r b\nmake"}, ShownOutput("done", 0)),
    ("patch", WritePath(Path("/srv/a.py"), b"a", b"b", shown=Path("/srv/a.py")), {"path": "a.py"}, _DIFF),
    ("read_file", ReadPath(Path("/etc/passwd")), {"path": "/etc/passwd", "offset": 3}, ShownText("x", "")),
    ("mcp__git__log", CallMcpTool("git", "log", '{"n": 1}'), {"n": 1}, ShownText("a commit")),
    ("exit_plan_mode", LeavePlan("# Do it"), {"plan": "# Do it"}, ShownText("# Do it")),
]


class _Editor:
    """An editor that is sent trimmed updates. `folds`: it takes the card of a question over."""

    def __init__(self, client: ClientCapabilities, *, folds: bool = True) -> None:
        self.view = MergedView()
        self._client, self._folds = client, folds
        self._cards = CardFields()

    def show(self, *events: SessionEvent) -> None:
        for event in events:
            for update in project(event, self._client):
                new = self._cards.trim(update)
                if new is not None:
                    self.view.fold(new)

    def ask(self, question: Question) -> None:
        call = asked_card(question, Path("/srv"))
        update, call = self._cards.ask(call)
        if update is not None:
            self.view.fold(update)
        if self._folds:
            self.view.fold({"sessionUpdate": "tool_call_update", **call})


def _untrimmed(client: ClientCapabilities, *events: SessionEvent) -> MergedView:
    view = MergedView()
    for event in events:
        for update in project(event, client):
            view.fold(update)
    return view


@pytest.mark.parametrize("client", CLIENTS)
def test_every_kind_of_event_leaves_the_same_picture(client: ClientCapabilities) -> None:
    editor = _Editor(client)
    editor.show(*EVENTS)
    assert editor.view == _untrimmed(client, *EVENTS)


@each("client", CLIENTS)
@each("folds", [True, False])
@each("allowed", [True, False])
@each(("name", "action", "arguments", "shown"), CALLS)
def test_a_question_leaves_nothing_behind_and_nothing_out(
    name: str, action: Action, arguments: dict[str, Any], shown: Any, allowed: bool, folds: bool, client: Any
) -> None:
    before = (
        ToolAnnounced("c", name, CWD),
        ToolRequested("c", name, arguments, CWD, announced=True),
    )
    after: tuple[SessionEvent, ...] = (ToolFinished("c", name, arguments, CWD, error("Denied: not now."), ran=False),)
    if allowed:
        after = (
            ToolRunning("c", name, arguments, CWD),
            ToolOutput("c", "more\n", "more\n", name),
            ToolFinished("c", name, arguments, CWD, ToolResult("{}", (shown,))),
        )
    editor = _Editor(client, folds=folds)
    editor.show(*before)
    editor.ask(Question("c", action, "is outside"))
    editor.show(*after)
    assert editor.view == _untrimmed(client, *before, *after)
