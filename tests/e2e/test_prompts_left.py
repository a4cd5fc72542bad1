"""The process is killed before its model was told of a prompt: it is told with the next one, if hooks let it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor, Frame
from tests.support.mcp_servers import plain
from tests.support.model_replies import Recorded, Reply
from tests.support.model_server import ModelServer
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until

_SLOW = "touch asked; sleep 600"
_NO_KEYS = "if grep -q 'KEY-1'; then echo no keys >&2; exit 2; fi"


async def _kill_in_hook(agent: Editor, workspace: Path, prompt: str) -> str:
    await agent.initialize()
    session = await agent.new_session(workspace)
    agent.begin_prompt(session, prompt)
    await asyncio.to_thread(wait_until, (workspace / "asked").exists, 60)
    await agent.kill()
    return session


def _told(request: Recorded) -> str:
    return json.dumps([message for message in request.body["messages"] if message["role"] != "system"])


@pytest.mark.long
async def test_a_prompt_that_no_hook_has_judged_is_judged_before_any_model_sees_it(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    with ModelServer(default=lambda _: Reply("Fine.")) as server:
        use_model(home, server, hooks={"UserPromptSubmit": [{"command": _SLOW}]})
        session = await _kill_in_hook(await editor(), workspace, "mind KEY-1 and the gate")

        use_model(home, server, hooks={"UserPromptSubmit": [{"command": _NO_KEYS}]})
        agent = await editor()
        await agent.initialize()
        await agent.load_session(session, workspace)
        await agent.prompt(session, "go on", 60)

        assert not [request for request in server.requests if "KEY-1" in _told(request)], agent.text(session)
        assert "left out: «mind KEY-1 and the gate»" in agent.text(session)
        assert "no keys" in agent.text(session)
        shown = len(agent.text(session))
        await agent.load_session(session, workspace)
        assert "**This turn failed:**" in agent.text(session)[shown:], "it is not offered to go on with it"


@pytest.mark.long
async def test_one_that_hooks_let_is_told_with_the_next(editor: EditorFactory, home: Path, workspace: Path) -> None:
    with ModelServer(default=lambda _: Reply("Fine.")) as server:
        use_model(home, server, hooks={"UserPromptSubmit": [{"command": _SLOW}]})
        session = await _kill_in_hook(await editor(), workspace, "mind the gate")

        use_model(home, server, hooks={"UserPromptSubmit": [{"command": _NO_KEYS}]})
        agent = await editor()
        await agent.initialize()
        await agent.load_session(session, workspace)
        await agent.prompt(session, "go on", 60)

        assert "mind the gate" in _told(server.requests[0])
        assert "mind the gate" in agent.text(session, "user_message_chunk")


@pytest.mark.long
async def test_a_prompt_that_waits_for_the_sessions_servers_outlasts_a_kill(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    silent = plain("slow", "silent")
    with ModelServer(default=lambda _: Reply("Fine.")) as server:
        use_model(home, server, mcp_servers={"slow": {"command": silent.command, "args": list(silent.args)}})
        agent = await editor()
        await agent.initialize()
        session = await agent.new_session(workspace)
        agent.begin_prompt(session, "mind the gate")

        def waits(frame: Frame) -> bool:
            return "Waiting for" in str(frame.message)

        await agent.wait_for(waits, what="the wait for the server")
        await agent.kill()
        assert not server.requests

        use_model(home, server)
        agent = await editor()
        await agent.initialize()
        await agent.load_session(session, workspace)
        assert "mind the gate" in agent.text(session, "user_message_chunk")
        await agent.prompt(session, "go on", 60)
        assert "mind the gate" in _told(server.requests[0])
