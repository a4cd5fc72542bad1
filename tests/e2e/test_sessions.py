"""What a session needs to begin: a model, good settings, a home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import RpcError
from tests.support.settings_files import configure


async def test_without_a_model_a_session_needs_authentication_and_says_what_to_do(
    agent_in: EditorFactory, workspace: Path, home: Path
) -> None:
    agent = await agent_in()
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_offline_is_never_chosen_silently(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor(env={"HERMES_MODEL": "offline"})
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "What can you do?")
    assert "offline model" in agent.text(session)


async def test_a_home_that_cannot_be_written_to_still_works(
    editor: EditorFactory, workspace: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    agent = await editor("--offline", home=blocked / "home")
    await agent.initialize()
    session = await agent.new_session(workspace)
    assert (await agent.prompt(session, "say fine"))["stopReason"] == "end_turn"
