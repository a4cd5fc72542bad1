"""Several sessions in one process, their modes, and the way they begin and end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import RpcError
from tests.support.processes import has_ended
from tests.support.settings_files import configure
from tests.support.waiting import wait_until


async def test_eight_sessions_at_once_keep_to_their_own_directories(editor: EditorFactory, tmp_path: Path) -> None:
    agent = await editor("--offline")
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


async def test_modes_and_the_mode_option_stay_in_sync(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    opened = agent.opened[session]
    assert [mode["id"] for mode in opened["modes"]["availableModes"]] == ["default", "accept_edits", "dont_ask"]
    assert opened["modes"]["availableModes"][2]["name"] == "Run everything without asking"
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
    method: str, params: dict, editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    with pytest.raises(RpcError) as refused:
        await agent.request(method, {"sessionId": session, **params})
    assert refused.value.code == -32602
    assert not agent.updates(session, "current_mode_update")


async def test_the_mode_can_change_in_the_middle_of_a_turn(editor: EditorFactory, workspace: Path) -> None:
    asked = 0

    async def decide(_: dict) -> str:
        nonlocal asked
        asked += 1
        await agent.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        return "allow_once"

    agent = await editor("--offline")
    agent.on_permission = decide
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "write one.txt x\nwrite two.txt x")
    assert asked == 1
    assert (workspace / "two.txt").exists()


async def test_close_cancels_the_turn_and_ends_the_sessions_processes(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor("--offline")
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


async def test_a_background_child_lives_until_its_session_is_closed(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "run sleep 600 & echo $! > pid")
    pid = int((workspace / "pid").read_text())
    assert not has_ended(pid)
    await agent.request("session/close", {"sessionId": session})
    await asyncio.to_thread(wait_until, lambda: has_ended(pid))


async def test_without_a_model_a_session_needs_authentication_and_says_what_to_do(
    editor: EditorFactory, workspace: Path, home: Path
) -> None:
    agent = await editor()
    await agent.initialize()
    for method, params in (
        ("session/new", {"cwd": str(workspace), "mcpServers": []}),
        ("authenticate", {"methodId": "hermes-configured"}),
        ("session/new", {"cwd": str(workspace), "mcpServers": []}),
    ):
        with pytest.raises(RpcError) as refused:
            await agent.request(method, params)
        assert refused.value.code == -32000
        assert "config.yaml" in refused.value.message
        assert "--offline" in refused.value.data["details"]
    with pytest.raises(RpcError) as refused:
        await agent.request("authenticate", {"methodId": "bogus"})
    assert refused.value.code == -32602
    # The user follows the advice while the editor is open.
    configure(home, {"model": "offline"})
    assert await agent.request("authenticate", {"methodId": "hermes-configured"}) == {}
    session = await agent.new_session(workspace)
    assert (await agent.prompt(session, "say ready"))["stopReason"] == "end_turn"


async def test_a_wrong_setting_reaches_the_editor_with_key_value_and_file(
    editor: EditorFactory, workspace: Path, home: Path
) -> None:
    configure(home, {"model": "offline", "agent": {"max_turns": "many"}})
    agent = await editor()
    await agent.initialize()
    with pytest.raises(RpcError) as refused:
        await agent.new_session(workspace)
    for part in ("agent.max_turns", "'many'", str(home / "config.yaml")):
        assert part in refused.value.data["details"]


async def test_offline_is_never_chosen_silently(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor(env={"HERMES_MODEL": "offline"})
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "What can you do?")
    assert "offline model" in agent.text(session)


async def test_mcp_servers_that_are_not_connected_are_named(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    server = {"name": "files", "command": "/bin/true", "args": [], "env": []}
    for _ in ("through the front door", "through the server"):
        session = await agent.new_session(workspace, mcpServers=[server])
        await agent.prompt(session, "say hello")
        assert "files" in agent.text(session, "agent_thought_chunk")


async def test_a_home_that_cannot_be_written_to_still_works(
    editor: EditorFactory, workspace: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    agent = await editor("--offline", home=blocked / "home")
    await agent.initialize()
    session = await agent.new_session(workspace)
    assert (await agent.prompt(session, "say fine"))["stopReason"] == "end_turn"
