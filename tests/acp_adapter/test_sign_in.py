"""Signing in and out, as an editor does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.auth import CONFIGURED, SETUP
from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.providers.sign_out import SignedOut
from tests.support.editor import MINIMAL, ZED, Editor, RpcError
from tests.support.in_memory import EditorFactory, serving
from tests.support.settings_files import configure

AUTH_REQUIRED = -32000
INVALID = -32602


async def _refused(editor: Editor, method: str, **params: object) -> RpcError:
    with pytest.raises(RpcError) as refused:
        await editor.request(method, params)
    return refused.value


async def test_whoever_has_a_model_is_signed_in_and_may_say_so(start: EditorFactory, tmp_path: Path) -> None:
    editor = await start()
    offered = await editor.initialize(MINIMAL)
    assert [method["id"] for method in offered["authMethods"]] == [CONFIGURED, SETUP]
    assert offered["agentCapabilities"]["auth"] == {"logout": {}}
    assert await editor.request("authenticate", {"methodId": CONFIGURED}) == {}
    await editor.new_session(tmp_path)


async def test_a_method_that_was_not_offered_is_an_error(start: EditorFactory) -> None:
    editor = await start()
    await editor.initialize(MINIMAL)
    assert (await _refused(editor, "authenticate", methodId="bogus")).code == INVALID


async def test_an_editor_with_terminals_is_offered_setup_and_may_sign_in_by_its_id(
    start: EditorFactory,
) -> None:
    editor = await start()
    offered = await editor.initialize(ZED)
    assert [method["id"] for method in offered["authMethods"]] == [CONFIGURED, SETUP]
    assert await editor.request("authenticate", {"methodId": SETUP}) == {}


async def test_without_a_model_the_way_to_one_is_told(home: Path, tmp_path: Path) -> None:
    async with serving(home, config=ConfigSource(Home(home)), front_door=True) as editor:
        await editor.initialize(MINIMAL)
        refused = [
            await _refused(editor, "session/new", cwd=str(tmp_path), mcpServers=[]),
            await _refused(editor, "authenticate", methodId=CONFIGURED),
            await _refused(editor, "authenticate", methodId=SETUP),
        ]
        assert [problem.code for problem in refused] == [AUTH_REQUIRED] * 3
        # Clients show the beginning: one line in a list, or a notification.
        assert all("Run `hermes-acp setup`" in problem.message[:60] for problem in refused)
        assert all("model.provider" in problem.message for problem in refused)
        # Setup writes the settings while the server runs: nothing has to be restarted.
        configure(home, {"model": {"provider": "offline", "default": "offline"}})
        assert await editor.request("authenticate", {"methodId": CONFIGURED}) == {}
        assert await editor.request("authenticate", {"methodId": SETUP}) == {}
        await editor.new_session(tmp_path)


async def test_after_a_logout_sessions_need_a_sign_in_and_those_that_are_open_go_on(
    start: EditorFactory, tmp_path: Path
) -> None:
    editor = await start()
    await editor.initialize(MINIMAL)
    session = await editor.new_session(tmp_path)
    assert await editor.request("logout", {}) == {}
    for method, params in (
        ("session/new", {}),
        ("session/load", {"sessionId": session}),
        ("session/resume", {"sessionId": session}),
        ("session/fork", {"sessionId": session}),
    ):
        problem = await _refused(editor, method, cwd=str(tmp_path), mcpServers=[], **params)
        assert (method, problem.code) == (method, AUTH_REQUIRED)
        assert "Sign in with" in problem.message[:60]
        assert "hermes-acp setup" in problem.message
    assert await editor.prompt(session, "say still here") == {"stopReason": "end_turn"}
    assert await editor.request("authenticate", {"methodId": CONFIGURED}) == {}
    await editor.new_session(tmp_path)


async def test_signing_out_needs_no_readable_settings(home: Path, tmp_path: Path) -> None:
    configure(home, {"model": {"provider": "offline", "default": "offline"}})
    async with serving(home, config=ConfigSource(Home(home)), front_door=True) as editor:
        await editor.initialize(MINIMAL)
        await editor.new_session(tmp_path)
        good = (home / "config.yaml").read_bytes()
        (home / "config.yaml").write_text("model: [unclosed")
        assert await editor.request("logout", {}) == {}
        (home / "config.yaml").write_bytes(good)
        problem = await _refused(editor, "session/new", cwd=str(tmp_path), mcpServers=[])
        assert problem.code == AUTH_REQUIRED


async def test_a_restart_keeps_a_logout_until_setup_or_a_sign_in(home: Path, tmp_path: Path) -> None:
    async with serving(home, front_door=True) as editor:
        await editor.initialize(MINIMAL)
        await editor.request("logout", {})
    async with serving(home, front_door=True) as editor:
        await editor.initialize(MINIMAL)
        problem = await _refused(editor, "session/new", cwd=str(tmp_path), mcpServers=[])
        assert problem.code == AUTH_REQUIRED
        SignedOut(Home(home)).clear()
        await editor.new_session(tmp_path)
