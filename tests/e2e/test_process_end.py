"""The process ends when its client does, in every state, and leaves no command behind."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor
from tests.support.processes import has_ended
from tests.support.waiting import wait_until

_LONG = "run sleep 600 & echo $$ $! > pids; wait"


async def _running_command(agent: Editor, workspace: Path) -> list[int]:
    """Start a command with a child of its own; the process ids of both."""
    await agent.initialize()
    session = await agent.new_session(workspace)
    agent.begin_prompt(session, _LONG)
    path = workspace / "pids"
    await asyncio.to_thread(wait_until, lambda: path.exists() and len(path.read_text().split()) == 2)
    return [int(word) for word in path.read_text().split()]


async def _all_end(pids: list[int]) -> None:
    await asyncio.to_thread(wait_until, lambda: all(has_ended(pid) for pid in pids))


async def test_end_of_input_ends_the_process_and_its_commands(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor("--offline")
    pids = await _running_command(agent, workspace)
    agent.close_stdin()
    assert await agent.exit_code() == 0
    await _all_end(pids)


@pytest.mark.slow
async def test_a_broken_pipe_ends_the_process_and_its_commands(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor("--offline")
    pids = await _running_command(agent, workspace)
    agent.close_stdout()
    await agent.stdout_closed()
    agent.begin("session/new", {"cwd": str(workspace), "mcpServers": []})  # its answer finds the pipe broken
    assert await agent.exit_code() == 0
    await _all_end(pids)


@pytest.mark.long
@pytest.mark.parametrize("sent", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
async def test_a_killed_process_leaves_no_command_behind(
    sent: signal.Signals, editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    pids = await _running_command(agent, workspace)
    assert agent.process is not None
    agent.process.send_signal(sent)
    await agent.exit_code()
    await _all_end(pids)


@pytest.mark.long
async def test_end_of_input_with_a_full_unread_stdout_ends_the_process(
    editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    agent.pause_reading()
    agent.begin_prompt(session, "stream 400000")
    agent.begin("session/new", {"cwd": str(workspace), "mcpServers": []})
    # What was written so far fills the pipe; the rest waits inside.
    await asyncio.to_thread(wait_until, lambda: _blocked_in_write(agent))
    agent.close_stdin()
    assert await agent.exit_code() == 0


def _blocked_in_write(agent: Editor) -> bool:
    assert agent.process is not None
    tasks = Path(f"/proc/{agent.process.pid}/task")
    if not tasks.exists():
        pytest.skip("needs /proc to see that the writer is blocked")
    return any("pipe_write" in _wait_channel(task) for task in tasks.iterdir())


def _wait_channel(task: Path) -> str:
    try:
        return (task / "wchan").read_text()
    except OSError:
        return ""


@pytest.mark.slow
async def test_the_process_ends_even_while_a_permission_question_is_open(
    editor: EditorFactory, workspace: Path
) -> None:
    async def never(_: dict) -> None:
        return None

    agent = await editor("--offline")
    agent.on_permission = never
    await agent.initialize()
    session = await agent.new_session(workspace)
    agent.begin_prompt(session, "write new.txt text")
    await agent.wait_for_call("session/request_permission")
    agent.close_stdin()
    assert await agent.exit_code() == 0
    assert not (workspace / "new.txt").exists()


async def test_end_of_input_before_any_message_ends_the_process(editor: EditorFactory) -> None:
    agent = await editor("--offline")
    agent.close_stdin()
    assert await agent.exit_code() == 0
