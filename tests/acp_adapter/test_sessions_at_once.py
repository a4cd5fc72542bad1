"""Several sessions in one process, their modes, and the way they begin and end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.editor import RpcError
from tests.support.in_memory import EditorFactory
from tests.support.processes import has_ended
from tests.support.waiting import wait_until


async def test_eight_sessions_at_once_keep_to_their_own_directories(start: EditorFactory, tmp_path: Path) -> None:
    agent = await start()
    await agent.initialize()
    sessions = {}
    for number in range(8):
        folder = tmp_path / f"project-{number}"
        folder.mkdir()
        (folder / "name.txt").write_text(f"this is {number}")
        sessions[number] = await agent.new_session(folder)
    script = "read name.txt\nwrite out.txt {n}\nrun pwd\nstream 200\nsay this was {n}"
    turns = [agent.begin_prompt(session, script.format(n=number)) for number, session in sessions.items()]
    for turn in turns:
        assert (await agent.answer(turn, timeout=30))["stopReason"] == "end_turn"
    for number, session in sessions.items():
        shown = json.dumps([card["content"] for card in agent.cards(session).values()])
        assert f"this is {number}" in shown
        assert f"project-{number}" in shown
        assert not any(f"this is {other}" in shown for other in sessions if other != number)
        assert (tmp_path / f"project-{number}" / "out.txt").read_text() == str(number)
        assert agent.text(session).endswith(f"this was {number}\n")
        assert agent.text(session).startswith("".join(f"{piece:07d} " for piece in range(200)))


async def test_modes_and_the_mode_option_stay_in_sync(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    opened = agent.opened[session]
    assert [mode["id"] for mode in opened["modes"]["availableModes"]] == [
        "plan",
        "default",
        "accept_edits",
        "dont_ask",
    ]
    assert opened["modes"]["availableModes"][3]["name"] == "Run everything without asking"
    assert opened["configOptions"][0]["currentValue"] == opened["modes"]["currentModeId"] == "default"

    await agent.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
    update = await agent.wait_for_update(session, "config_option_update")
    assert update["configOptions"][0]["currentValue"] == "accept_edits"

    answer = await agent.request(
        "session/set_config_option", {"sessionId": session, "configId": "mode", "value": "dont_ask"}
    )
    assert answer["configOptions"][0]["currentValue"] == "dont_ask"
    await agent.wait_for_update(session, "current_mode_update", currentModeId="dont_ask")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "yolo"}),
        ("session/set_config_option", {"configId": "mode", "value": "yolo"}),
        ("session/set_config_option", {"configId": "speed", "value": "fast"}),
    ],
)
async def test_a_choice_that_does_not_exist_is_refused_and_changes_nothing(
    method: str, params: dict, start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    with pytest.raises(RpcError) as refused:
        await agent.request(method, {"sessionId": session, **params})
    assert refused.value.code == -32602
    assert not agent.updates(session, "current_mode_update")


async def test_the_mode_can_change_in_the_middle_of_a_turn(start: EditorFactory, workspace: Path) -> None:
    asked = 0

    async def decide(_: dict) -> str:
        nonlocal asked
        asked += 1
        await agent.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        return "allow_once"

    agent = await start()
    agent.on_permission = decide
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "write one.txt x\nwrite two.txt x")
    assert asked == 1
    assert (workspace / "two.txt").exists()


async def test_close_cancels_the_turn_and_ends_the_sessions_processes(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    turn = agent.begin_prompt(session, "run sleep 600 & echo $! > pid; wait")
    path = workspace / "pid"
    await asyncio.to_thread(wait_until, lambda: path.exists() and path.read_text().strip() != "")
    assert await agent.request("session/close", {"sessionId": session}) == {}
    assert (await agent.answer(turn))["stopReason"] == "cancelled"
    await asyncio.to_thread(wait_until, lambda: has_ended(int(path.read_text())))
    with pytest.raises(RpcError):
        await agent.prompt(session, "say gone")


async def test_a_background_child_lives_until_its_session_is_closed(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "run sleep 600 & echo $! > pid")
    pid = int((workspace / "pid").read_text())
    assert not has_ended(pid)
    await agent.request("session/close", {"sessionId": session})
    await asyncio.to_thread(wait_until, lambda: has_ended(pid))


async def test_mcp_servers_that_cannot_be_used_are_named(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    server = {"name": "files", "command": "/bin/true", "args": [], "env": []}
    for _ in ("through the front door", "through the server"):
        session = await agent.new_session(workspace, mcpServers=[server])
        await agent.prompt(session, "say hello")
        said = await agent.until(lambda of=session: agent.text(of), what="the failure")
        assert "MCP server files could not be used" in said
