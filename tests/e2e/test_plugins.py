"""Plugins and hooks in the real process: what they bring, and that nothing of them outlives it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.doc_blocks import file_on
from tests.support.own_tools import write
from tests.support.plugins import add_plugin, plugins_of, tool
from tests.support.processes import has_ended
from tests.support.settings_files import configure
from tests.support.waiting import wait_until


async def test_the_plugin_of_the_docs_a_project_s_and_a_package_s_work_side_by_side(
    editor: EditorFactory, home: Path, workspace: Path, tmp_path: Path
) -> None:
    for name in ("plugin.yaml", "__init__.py", "text.py"):
        write(home / "plugins" / "changelog" / name, file_on("plugins.md", name))
    add_plugin(home / "plugins", "loud", "print('to stdout'); import sys; print('to stderr', file=sys.stderr)")
    add_plugin(workspace / ".hermes" / "plugins", "theirs", tool("theirs_tool"))
    plugins_of(home).project(workspace).trust()
    write(tmp_path / "site" / "packaged.py", f"def register(ctx):\n    {tool('packaged_tool')}\n")
    info = tmp_path / "site" / "packaged-1.0.dist-info"
    write(info / "METADATA", "Metadata-Version: 2.1\nName: packaged\nVersion: 1.0\n")
    write(info / "entry_points.txt", "[hermes_acp.plugins]\npackaged = packaged\n")
    path = ":".join(entry for entry in (str(tmp_path / "site"), *sys.path) if entry)
    agent = await editor("--offline", env={"PYTHONPATH": path})
    await agent.initialize()
    session = await agent.new_session(workspace)

    await agent.prompt(session, "call theirs_tool {}\ncall packaged_tool {}\nrun git push\nsay done")

    assert [card["status"] for card in agent.cards(session).values()] == ["completed", "completed", "failed"]
    assert "Here people push" in json.dumps(agent.cards(session))
    before = len(agent.text(session))
    await agent.prompt(session, "/changelog")
    assert "There is no CHANGELOG.md yet." in agent.text(session)[before:]


@pytest.mark.long
async def test_a_hook_that_runs_when_the_process_is_killed_is_ended(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    configure(home, {"hooks": {"PreToolUse": [{"command": "echo $$ > pid; sleep 600"}]}})
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    agent.begin_prompt(session, "read README.md")
    pid = workspace / "pid"
    await asyncio.to_thread(wait_until, lambda: pid.exists() and bool(pid.read_text().strip()))

    assert agent.process is not None
    agent.process.send_signal(signal.SIGKILL)

    await asyncio.to_thread(wait_until, lambda: has_ended(int(pid.read_text())))


async def test_a_cancel_ends_the_turn_and_the_hook_it_waits_for(
    agent_in: EditorFactory, home: Path, workspace: Path
) -> None:
    configure(home, {"hooks": {"UserPromptSubmit": [{"command": "echo $$ > pid; sleep 600"}]}})
    agent = await agent_in("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    answer = agent.begin_prompt(session, "say hello")
    pid = workspace / "pid"
    await asyncio.to_thread(wait_until, lambda: pid.exists() and bool(pid.read_text().strip()))
    agent.cancel(session)

    assert (await asyncio.wait_for(answer, 10))["stopReason"] == "cancelled"
    await asyncio.to_thread(wait_until, lambda: has_ended(int(pid.read_text())))
