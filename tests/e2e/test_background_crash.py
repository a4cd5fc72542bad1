"""kill -9 while something runs in the background: the next process says what became of it, once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import PLAIN, Editor
from tests.support.waiting import wait_until

_NOTICES = {**PLAIN, "session": {"notices": {}}}


def _begin(command: str) -> str:
    return f"call terminal {json.dumps({'command': command, 'background': True, 'notify_on_complete': True})}"


async def _open(editor: EditorFactory, home: Path) -> Editor:
    agent = await editor("--offline", home=home)
    await agent.initialize(_NOTICES)
    return agent


async def _tasks(agent: Editor, session: str) -> list[dict[str, Any]]:
    return list((await agent.request("_hermes/session/tasks", {"sessionId": session}))["tasks"])


def _told(agent: Editor, session: str, since: int) -> str:
    frames = (frame for frame in agent.frames[since:] if frame.is_update(session, "agent_thought_chunk"))
    return "".join(frame.update["content"]["text"] for frame in frames)


@pytest.mark.long
async def test_what_ended_unseen_and_what_was_lost_is_told_once_after_the_process_was_killed(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    agent = await _open(editor, home)
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    gate, pid_file = workspace / "gate", workspace / "pid"
    ends = f"while ! test -e {gate}; do sleep 0.02; done; exit 7"
    await agent.prompt(session, f"{_begin(ends)}\n{_begin(f'echo $$ > {pid_file}; sleep 1000')}\nsay Begun.")
    gate.touch()
    await agent.wait_for_update(session, "notice")
    pid = int(pid_file.read_text())
    await agent.kill()

    again = await _open(editor, home)
    await again.load_session(session, workspace)
    before = {task["title"][:5]: task["state"] for task in await _tasks(again, session)}
    assert before == {"while": "failed", "echo ": "lost"}
    for turn in range(2):
        since = len(again.frames)
        await again.prompt(session, "say Next.")
        told = _told(again, session, since)
        assert (told.count("exit code 7"), told.count("was lost")) == ((1, 1) if turn == 0 else (0, 0))
    await asyncio.to_thread(wait_until, lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.long
async def test_what_ends_is_told_to_an_editor_that_shows_turns_of_their_own(
    editor: EditorFactory, home: Path, workspace: Path
) -> None:
    agent = await editor("--offline", home=home)
    await agent.initialize({**_NOTICES, "_meta": {"hermes": {"backgroundTurns": True}}})
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    gate = workspace / "gate"
    ends = f"while ! test -e {gate}; do sleep 0.02; done; exit 7"
    await agent.prompt(session, f"{_begin(ends)}\nsay Begun.\non news\nrun true\nsay Looked.")
    gate.touch()
    await agent.wait_for(lambda _: agent.text(session) == "Begun.\nLooked.\n", 20, what="the turn of its own")
    await agent.prompt(session, "say Next.")

    assert agent.text(session) == "Begun.\nLooked.\nNext.\n"
