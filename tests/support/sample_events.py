"""One of every kind of event, with what each can hold: for tests of whatever takes all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    SaidAudio,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidPart,
    SaidText,
    SessionEvent,
    SessionNamed,
    TerminalShown,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.settings.options import Choice, ChoiceGroup, Option
from tools.context import TodoItem
from tools.result import ShownDiff, ShownOutput, ShownText, ToolResult

SAID: tuple[SaidPart, ...] = (
    SaidText("Please look at this."),
    SaidImage("image/png", "aGVsbG8="),
    SaidImage("image/png", "aGVsbG8=", "file:///srv/a.png"),
    SaidAudio("audio/wav", "aGVsbG8="),
    SaidLink("file:///srv/a.py", "a.py"),
    SaidLink("file:///srv/a.py", "a.py", "text/x-python", "A", "The module", 12),
    SaidDocument("file:///srv/a.py", "text"),
    SaidDocument("file:///srv/a.py", "", mime_type="text/x-python"),
    SaidDocument("file:///srv/a.pdf", None, "aGVsbG8=", "application/pdf"),
)
_CWD = "/srv"
_NAMES = (
    "read_file", "write_file", "patch", "search_files", "terminal", "todo", "clarify", "exit_plan_mode",
    "mcp__git__log", "plugin_tool",
)  # fmt: skip
_ARGUMENTS: dict[str, Any] = {
    "path": "a.py",
    "offset": 3,
    "command": "make",
    "pattern": "x",
    "todos": [{"id": "1"}],
    "plan": "# Plan",
    "question": "Which?",
}
_RESULTS = (
    ToolResult("plain text"),
    ToolResult('{"error": "It went wrong."}', failed=True),
    ToolResult(
        "{}", (ShownText("text", "python"), ShownDiff(Path("/srv/a.py"), None, "new\n")), {"path": "/srv/a.py"}
    ),
    ToolResult("{}", (ShownDiff(Path("/srv/a.py"), "old\n", None),), {"path": "/srv/a.py", "line": 4}),
    ToolResult("{}", (ShownOutput("out\n", 2),), {"exit_code": 2, "cwd": "/srv"}, failed=True),
    ToolResult("{}", (ShownOutput("", None, "SIGKILL"),), {}, failed=True),
    ToolResult("{}", (ShownOutput("out\n", 0),), {"saved": {"path": "/srv/outputs/c.txt", "size": 30_000}}),
    ToolResult("{}", facts={"path": "/srv", "locations": [{"path": "/srv/a.py", "line": 4}]}),
)


def _tool_events(name: str) -> list[SessionEvent]:
    return [
        ToolAnnounced("c", name, _CWD),
        ToolRequested("c", name, _ARGUMENTS, _CWD, announced=True),
        ToolRequested("c", name, _ARGUMENTS, _CWD, announced=False),
        ToolRequested("c", name, {}, _CWD, announced=True),
        ToolRunning("c", name, _ARGUMENTS, _CWD),
        ToolOutput("c", "more\n", "tail\nmore\n", name),
        TerminalShown("c", "editor-terminal-1"),
        *(ToolFinished("c", name, _ARGUMENTS, _CWD, result) for result in _RESULTS),
    ]


EVENTS: list[SessionEvent] = [
    UserSaid("u", SAID),
    SessionNamed("A title", 1_800_000_000.25),
    SessionNamed(None, 1_800_000_000.0),
    OwnTurn("running"),
    OwnTurn("over", "end_turn"),
    CommandsOffered((Command("undo", "Take the last turn back"), Command("rewind", "Take turns back", "how many"))),
    AgentText("m", "text"),
    AgentThought("m", "thought"),
    ContextUsed(10, 100),
    ContextCompacted("k", "running"),
    ContextCompacted("k", "done", 90_000, 20_000, "What was done before.", "anthropic:claude"),
    ContextCompacted("k", "done", 90_000, 60_000),
    ContextCompacted("k", "failed", error="The engine failed."),
    ContextCompacted("k", "cancelled"),
    PlanChanged(()),
    PlanChanged((TodoItem("1", "read", "in_progress", "high"), TodoItem("2", "no", "cancelled"))),
    ModeChanged("accept_edits"),
    Noticed("m", "Another model answers. It was busy.", "warning"),
    OptionsOffered(
        (
            Option("mode", "Mode", "How much is asked", "mode", "plan", (Choice("plan", "Plan", "Looks only"),)),
            Option("model", "Model", "", "model", "a:b", groups=(ChoiceGroup("a", "A", (Choice("a:b", "B"),)),)),
            Option("thoughts", "Thoughts", "", "", value=True),
        )
    ),
    *(event for name in _NAMES for event in _tool_events(name)),
]
