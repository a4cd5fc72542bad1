"""Sub-agents in the real process: a whole delegation, and what is left of one that a kill broke off."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_core.delegation.worktree import how_to_apply
from tests.e2e.conftest import EditorFactory
from tests.support.delegating import copies_left, delegates
from tests.support.editor import PLAIN, ZED
from tests.support.editor_policies import allow
from tests.support.waiting import wait_until


async def test_sub_agents_work_side_by_side_one_of_them_on_a_copy(
    agent_in: EditorFactory, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    agent = await agent_in("--offline")
    await agent.initialize(ZED)
    session = await agent.new_session(workspace)
    asked: list[str] = []

    async def count(params: Any) -> Any:
        asked.append(params["toolCall"]["title"])
        return "allow_once"

    agent.on_permission = count
    both = delegates("run echo from one\nsay one is done", "read sums.py\nsay two is done")
    alone = delegates("edit sums.py a - b => a + b\nrun pwd\nsay mended", isolated=True)
    assert (await agent.prompt(session, f"{both}\n{alone}"))["stopReason"] == "end_turn"
    assert (workspace / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"
    cards = list(agent.cards(session).values())
    assert {card["status"] for card in cards} == {"completed"}
    assert [card["title"] for card in cards if card["title"].startswith("Delegate")] == [
        "Delegate 2 tasks",
        "Delegate: edit sums.py a - b => a + b …",
    ]
    assert len([title for title in asked if "sums.py" in title]) == 2  # in the copy, and when it comes back
    assert await asyncio.to_thread(copies_left, tmp_path / "cache" / "hermes-acp" / "copies") == []


@pytest.mark.long
@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(delegates("run sleep 600"), id="sub-agent"),
        pytest.param(
            'call execute_code {"code": "from hermes_tools import *\\nterminal(\'sleep 600\')"}', id="program"
        ),
    ],
)
async def test_a_call_that_a_call_has_made_is_shown_again_though_a_kill_met_it_at_once(
    editor: EditorFactory, workspace: Path, prompt: str
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    agent.on_permission = allow
    session = await agent.new_session(workspace)
    agent.begin_prompt(session, prompt)
    shown = await agent.wait_for_update(session, "tool_call", name="terminal")
    await agent.wait_for_update(session, "tool_call_update", toolCallId=shown["toolCallId"], status="in_progress")
    await agent.kill()
    again = await editor("--offline")
    await again.initialize()
    await again.load_session(session, workspace)
    card = again.cards(session)[shown["toolCallId"]]
    assert (card["title"], card["status"]) == (shown["title"], "failed")


@pytest.mark.slow
async def test_a_kill_leaves_what_was_said_and_no_copy_and_the_session_goes_on(
    editor: EditorFactory, workspace: Path, tmp_path: Path
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    copies = tmp_path / "cache" / "hermes-acp" / "copies"
    agent = await editor("--offline", env=environment)
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    agent.begin_prompt(session, delegates("read sums.py\nsleep 600", isolated=True)).cancel()
    await agent.wait_for_update(session, "tool_call", 30, name="read_file")
    await agent.kill()
    assert len(list(copies.iterdir())) == 1
    again = await editor("--offline", env=environment)
    await again.initialize(PLAIN)
    await again.request("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []}, 30)
    assert {card["status"] for card in again.cards(session).values()} <= {"completed", "failed"}
    assert (await again.prompt(session, "say still here"))["stopReason"] == "end_turn"
    await asyncio.to_thread(wait_until, lambda: list(copies.iterdir()) == [])


@pytest.mark.long
async def test_a_kill_while_changes_are_brought_back_loses_none_and_the_next_start_says_where_they_are(
    editor: EditorFactory, workspace: Path, tmp_path: Path
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    copies = tmp_path / "cache" / "hermes-acp" / "copies"
    agent = await editor("--offline", env=environment)
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    second = str(workspace / "second.txt")

    async def until_the_second(params: Any) -> Any:
        places = [place["path"] for place in params["toolCall"].get("locations", ())]
        return None if second in places else "allow_once"

    def is_asked() -> bool:
        return any(
            frame.method == "session/request_permission" and second in str(frame.params["toolCall"]["locations"])
            for frame in agent.frames
        )

    agent.on_permission = until_the_second
    goal = "write first.txt 1\nwrite second.txt 2\nsay written"
    agent.begin_prompt(session, delegates(goal, isolated=True)).cancel()
    await agent.until(is_asked, 30, "the question about the second file")
    await agent.kill()

    again = await editor("--offline", env=environment)
    await again.initialize(PLAIN)
    await again.request("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []}, 60)
    assert {card["status"] for card in again.cards(session).values()} <= {"completed", "failed"}
    (kept,) = copies.iterdir()
    for turn in range(2):
        known = len(again.text(session, "agent_thought_chunk"))
        await again.prompt(session, "say still here")
        told = again.text(session, "agent_thought_chunk")[known:]
        assert told.count(f"kept for a week: {kept / 'tree'}") == (turn == 0)
    assert (workspace / "first.txt").read_text() == "1"
    assert not (workspace / "second.txt").exists()
    await asyncio.to_thread(subprocess.run, how_to_apply(workspace, kept / "rest"), shell=True, check=True)
    assert (workspace / "second.txt").read_text() == "2"
    assert (kept / "tree" / "first.txt").exists()
