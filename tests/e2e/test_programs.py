"""Programs that call tools, in the real process: they do their work, and nothing of them outlives the process."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor_policies import allow
from tests.support.processes import has_ended
from tests.support.waiting import wait_until

_ALL = "from hermes_tools import *\n"


def _program(code: str) -> str:
    return f"call execute_code {json.dumps({'code': code})}"


async def test_a_program_reads_edits_and_runs_and_each_call_has_its_card(
    agent_in: EditorFactory, workspace: Path
) -> None:
    agent = await agent_in("--offline")
    await agent.initialize()
    agent.on_permission = allow
    session = await agent.new_session(workspace)
    code = f"""{_ALL}
text = read_file("sums.py")["content"]
patch(path="sums.py", old_string="a - b", new_string="a + b")
print(len(text.splitlines()), terminal("echo from a command")["output"].strip())
"""
    answer = await agent.prompt(session, _program(code))
    assert answer["stopReason"] == "end_turn"
    assert "a + b" in (workspace / "sums.py").read_text()
    cards = [update for update in agent.updates(session) if update["sessionUpdate"] == "tool_call"]
    assert [card["name"] for card in cards] == ["execute_code", "read_file", "patch", "terminal"]
    assert {card["_meta"]["hermes"]["parentToolCallId"] for card in cards[1:]} == {cards[0]["toolCallId"]}
    assert {card["status"] for card in agent.cards(session).values()} == {"completed"}
    assert "from a command" in json.dumps(agent.cards(session)[cards[0]["toolCallId"]])


@pytest.mark.long
async def test_a_killed_process_leaves_no_program_and_nothing_that_it_has_started(
    editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    agent.on_permission = allow
    session = await agent.new_session(workspace)
    code = f"""{_ALL}
import os, subprocess, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
open("begun", "w").write(f"{{os.getpid()}} {{child.pid}}")
os.rename("begun", "pids")
terminal("echo $$ > command; sleep 600")
"""
    agent.begin_prompt(session, _program(code))
    pids, command = workspace / "pids", workspace / "command"
    await asyncio.to_thread(wait_until, lambda: pids.exists() and command.exists() and command.read_text().strip())
    running = [int(word) for path in (pids, command) for word in path.read_text().split()]
    assert len(running) == 3
    assert agent.process is not None
    agent.process.send_signal(signal.SIGKILL)
    await agent.exit_code()
    await asyncio.to_thread(wait_until, lambda: all(has_ended(pid) for pid in running))
