"""What works for a turn logs under it: tools side by side, and sub-agents, too."""

from __future__ import annotations

import threading
from pathlib import Path

from agent_core.activity import where, working_for
from agent_core.callbacks import AgentCallbacks, CallRunning, ToolProgress
from tests.support.agents import make_agent
from tests.support.delegating import delegates, delegating_agent
from tests.support.scripted_provider import says, uses


def test_tool_calls_side_by_side_are_of_their_turn(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    seen: set[tuple[str, tuple[str, str]]] = set()

    def on_tool(progress: ToolProgress) -> None:
        if isinstance(progress, CallRunning):
            seen.add((threading.current_thread().name[:4], where()))

    calls = [(each, "read_file", {"path": "a.txt"}) for each in ("x", "y")]
    agent = make_agent(tmp_path, uses(*calls), says("done"))
    with working_for("s1", "t1"):
        agent.run_conversation("go", callbacks=AgentCallbacks(tool_progress_callback=on_tool))
    assert seen == {("tool", ("s1", "t1"))}
    assert where() == ("-", "-")


def test_sub_agents_are_of_the_turn_that_they_work_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    seen: set[tuple[str, str]] = set()

    def on_tool(progress: ToolProgress) -> None:
        if threading.current_thread() is not threading.main_thread():
            seen.add(where())

    with working_for("s1", "t1"):
        delegating_agent(tmp_path).run_conversation(
            delegates("read a.txt"), callbacks=AgentCallbacks(tool_progress_callback=on_tool)
        )
    assert seen == {("s1", "t1")}
