"""The fake editor against a scripted agent: it waits, answers and misbehaves as it says."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import JETBRAINS, AgentGone, Editor
from tests.support.wire import WireViolation

AGENT = Path(__file__).with_name("mini_agent.py")
CARD = {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Run it"}}


async def start(*steps: dict[str, Any]) -> Editor:
    return await Editor.spawn(*map(json.dumps, steps), command=(sys.executable, str(AGENT)))


@pytest.mark.parametrize(
    ("steps", "message"), [([CARD, CARD], "second tool_call"), ([{"raw": "Welcome!"}], "no JSON.*Welcome!")]
)
async def test_a_breach_of_the_rules_fails_the_wait(tmp_path, steps, message):
    async with await start(*steps) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        with pytest.raises(WireViolation, match=message):
            await editor.prompt(session, "go")


async def test_a_breach_that_no_wait_saw_fails_the_close(tmp_path):
    editor = await start({"raw": "Welcome!"})
    await editor.initialize()
    turn = editor.begin_prompt(await editor.new_session(tmp_path), "go")
    await asyncio.wait([turn])
    with pytest.raises(WireViolation):
        await editor.close()


async def test_an_agent_that_dies_fails_the_wait_with_its_last_words(tmp_path):
    async with await start({"stderr": "out of ideas"}, {"exit": 3}) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        with pytest.raises(AgentGone, match="out of ideas"):
            await editor.prompt(session, "go")
        assert await editor.exit_code() == 3
        with pytest.raises(AgentGone):
            await editor.request("session/list")


async def test_an_agent_that_ignores_the_end_of_its_input_is_killed(tmp_path):
    editor = await start({"deaf": True})
    await editor.initialize()
    session = await editor.new_session(tmp_path)
    editor.begin_prompt(session, "go")
    with pytest.raises(AssertionError, match="still runs"):
        await editor.close(expect=0, within=0.2)
    assert editor.process.returncode == -9


async def test_terminals_run_are_bounded_and_die_with_the_editor(tmp_path):
    async with await start() as editor:
        create, handlers = editor.handlers["terminal/create"], editor.handlers
        command = {"command": "printf 'hello world'; exit 4", "cwd": str(tmp_path), "outputByteLimit": 5}
        terminal = await create(command)
        assert await handlers["terminal/wait_for_exit"](terminal) == {"exitCode": 4, "signal": None}
        output = await handlers["terminal/output"](terminal)
        assert output == {"output": "world", "truncated": True, "exitStatus": {"exitCode": 4, "signal": None}}
        await handlers["terminal/release"](terminal)
        sleeping = editor.host.terminals[(await create({"command": "sleep", "args": ["100"]}))["terminalId"]]
    assert sleeping.status() == {"exitCode": None, "signal": "SIGKILL"}
    assert JETBRAINS["terminal"] is True
