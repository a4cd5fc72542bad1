"""An editor that does not read pauses its turn and nothing else, and loses nothing; a cancel overtakes what waits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor
from tests.support.waiting import wait_until

_PIECES = 300_000  # 2.4 MB of text: more than the pipe and the outbox hold
_READ_IN_HALF_A_SECOND = 20_000
"""Bytes, for an editor that reads 40 kB a second."""


def _resident(agent: Editor) -> int:
    assert agent.process is not None
    status = Path(f"/proc/{agent.process.pid}/status")
    if not status.exists():
        pytest.skip("needs /proc to see the process's memory")
    return int(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmRSS")))


def _ticks(agent: Editor) -> int:
    assert agent.process is not None
    if not Path(f"/proc/{agent.process.pid}").exists():
        pytest.skip("needs /proc to see what the process does")
    fields = Path(f"/proc/{agent.process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def _quiet(agent: Editor) -> None:
    """Wait until the process has stopped using the processor: its worker waits for space."""
    seen = [_ticks(agent)]

    def rests() -> bool:
        seen.append(_ticks(agent))
        return len(seen) > 20 and len(set(seen[-20:])) == 1

    await asyncio.to_thread(wait_until, rests, 20)


@pytest.mark.long
async def test_a_flood_to_an_editor_that_stopped_reading_is_bounded_and_complete_later(
    editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "say warm")
    before = _resident(agent)
    agent.pause_reading()
    turn = agent.begin_prompt(session, f"stream {_PIECES}")
    await _quiet(agent)
    assert _resident(agent) - before < 30_000, "kB more while nobody reads"
    agent.resume_reading()
    assert (await agent.answer(turn))["stopReason"] == "end_turn"
    assert agent.text(session) == "warm\n" + "".join(f"{piece:07d} " for piece in range(_PIECES))


def _received(agent: Editor, since: int) -> int:
    """Bytes that came since so many frames."""
    return sum(len(json.dumps(frame.message)) + 1 for frame in agent.frames[since:] if not frame.ours)


async def test_a_cancel_overtakes_a_slow_readers_backlog_which_is_stored_whole(
    editor: EditorFactory, workspace: Path
) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
    agent.pause_reading()
    turn = agent.begin_prompt(session, "stream 50000\nwrite streamed.txt all")
    await asyncio.to_thread(wait_until, (workspace / "streamed.txt").exists)
    before = len(agent.frames)
    agent.cancel(session)
    await _quiet(agent)
    agent.resume_reading()
    assert (await agent.answer(turn))["stopReason"] == "cancelled"
    assert _received(agent, before) < _READ_IN_HALF_A_SECOND
    assert "It is stored: load the session again to see it." in agent.text(session)
    await agent.request("session/close", {"sessionId": session})
    before = len(agent.frames)
    await agent.load_session(session, workspace)
    told = [frame.update for frame in agent.frames[before:] if frame.is_update(session, "agent_message_chunk")]
    text = "".join(update["content"]["text"] for update in told)
    assert text.startswith("".join(f"{piece:07d} " for piece in range(50_000)))


@pytest.mark.slow
async def test_cancel_works_while_nothing_is_read(editor: EditorFactory, workspace: Path) -> None:
    agent = await editor("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    agent.pause_reading()
    turn = agent.begin_prompt(session, f"stream {_PIECES}\nrun touch never")
    await _quiet(agent)
    before = len(agent.frames)
    agent.cancel(session)
    await _quiet(agent)
    agent.resume_reading()
    assert (await agent.answer(turn))["stopReason"] == "cancelled"
    assert _received(agent, before) < _READ_IN_HALF_A_SECOND
    assert not (workspace / "never").exists()


async def test_a_flood_becomes_few_large_updates(agent_in: EditorFactory, workspace: Path) -> None:
    agent = await agent_in("--offline")
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "stream 50000")
    assert len(agent.updates(session, "agent_message_chunk")) < 25_000  # how few depends on who is faster
    assert agent.text(session) == "".join(f"{piece:07d} " for piece in range(50_000))
