"""`/tasks` and `_hermes/session/tasks`: what runs in the background, and stopping it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from agent_core.background_tasks import TaskInfo
from agent_core.home import Home
from agent_core.sessions.library import SessionLibrary
from tests.support.editor import PLAIN, Editor, RpcError
from tests.support.in_memory import EditorFactory

_SERVE = f"call terminal {json.dumps({'command': 'echo listening; sleep 1000', 'background': True})}\nsay ok"
_FAIL = f"call terminal {json.dumps({'command': 'exit 3', 'background': True})}\nsay ok"


async def _start(start: EditorFactory, workspace: Path, *prompts: str) -> tuple[Editor, str]:
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    await editor.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    for prompt in prompts:
        await editor.prompt(session, prompt)
    return editor, session


async def _tasks(editor: Editor, session: str, **params: Any) -> list[dict[str, Any]]:
    told = await editor.request("_hermes/session/tasks", {"sessionId": session, **params})
    return list(told["tasks"])


async def _answer(editor: Editor, session: str, command: str) -> str:
    before = len(editor.text(session))
    await editor.prompt(session, command)
    return editor.text(session)[before:].replace("\\", "")


async def test_a_session_that_has_begun_nothing_says_so(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace)

    assert "Nothing was begun" in await _answer(editor, session, "/tasks")
    assert await _tasks(editor, session) == []


async def test_what_runs_and_what_is_over_is_listed_with_how_it_stands(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace, _FAIL, _SERVE)
    told = await _answer(editor, session, "/tasks")
    failed, runs = await _tasks(editor, session)

    assert f"`{failed['id']}` | command | failed |" in told
    assert "exit code 3" in told
    assert f"`{runs['id']}` | command | running | for 0 s | `echo listening; sleep 1000` | listening |" in told
    assert (runs["state"], runs["detail"], runs["endedAt"]) == ("running", "listening", None)
    assert (failed["state"], failed["detail"], failed["title"]) == ("failed", "exit code 3", "exit 3")
    assert failed["endedAt"] >= failed["startedAt"]


async def test_what_the_person_stops_is_stopped_and_the_model_is_told(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace, _SERVE)
    (runs,) = await _tasks(editor, session)

    assert await _answer(editor, session, f"/tasks stop {runs['id']}") == f"`{runs['id']}`: stopped."
    since = len(editor.frames)
    await editor.prompt(session, "say Next.")
    updates = [frame.update for frame in editor.frames[since:] if frame.is_update(session, "agent_thought_chunk")]
    assert "SIGTERM" in json.dumps(updates)


async def test_a_program_stops_one_by_the_method(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace, _SERVE)
    (runs,) = await _tasks(editor, session)
    (over,) = await _tasks(editor, session, action="stop", taskId=runs["id"])

    assert (over["state"], over["detail"]) == ("stopped", "SIGTERM")


async def test_one_is_stopped_while_a_turn_runs(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace, _SERVE)
    (runs,) = await _tasks(editor, session)
    turn = editor.begin_prompt(session, "say begun.\nsleep 30")
    await editor.wait_for(lambda _: editor.text(session).endswith("begun.\n"))
    await editor.prompt(session, f"/tasks stop {runs['id']}")

    assert (await _tasks(editor, session))[0]["state"] == "stopped"
    assert not turn.done()
    editor.cancel(session)
    await turn


async def test_what_cannot_be_done_is_said_and_changes_nothing(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace, _SERVE)
    (runs,) = await _tasks(editor, session)

    assert "cannot be paused" in await _answer(editor, session, f"/tasks pause {runs['id']}")
    assert "no task 'proc_none'" in await _answer(editor, session, "/tasks stop proc_none")
    assert "does not know 'kill everything now'" in await _answer(editor, session, "/tasks kill everything now")
    with pytest.raises(RpcError, match="action must be one of"):
        await _tasks(editor, session, action="kill", taskId=runs["id"])
    assert (await _tasks(editor, session))[0]["state"] == "running"


async def test_a_sub_agent_that_was_lost_with_its_process_is_listed_with_where_its_work_is(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    editor, session = await _start(start, workspace, "say x")
    await editor.request("session/close", {"sessionId": session})
    library = SessionLibrary(Home(home))
    library.store.keep_task(session, TaskInfo("agent-1", "delegation", "Look", "running", time.time()))
    library.close()
    await editor.load_session(session, workspace)

    told = await _answer(editor, session, "/tasks")
    assert "`agent-1` | sub-agent | lost |" in told
    assert "the agent's process died; nobody knows how it came out: `hermes-acp sessions show agent-1` has" in told
    (task,) = await _tasks(editor, session)
    assert (task["kind"], task["state"]) == ("delegation", "lost")


async def test_what_was_refused_while_no_turn_runs_is_shown_again(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace, _FAIL)
    (task,) = await _tasks(editor, session)
    told = await _answer(editor, session, f"/tasks stop {task['id']}")
    assert "is over already" in told

    since = len(editor.text(session))
    await editor.load_session(session, workspace)
    assert told in editor.text(session)[since:].replace("\\", "")


async def test_what_was_typed_beside_a_turn_that_ended_first_is_shown_again_behind_it(
    start: EditorFactory, workspace: Path
) -> None:
    # Its end takes longer than that of the turn.
    lasting = {"command": "trap '' TERM; echo ready; while :; do sleep 0.05; done", "background": True}
    editor, session = await _start(start, workspace, f"call terminal {json.dumps(lasting)}\nsay ok")
    (task,) = await _tasks(editor, session)
    turn = editor.begin_prompt(session, "say begun\nsleep 30")
    await editor.until(lambda: "begun" in editor.text(session), what="the turn")
    beside = editor.begin_prompt(session, f"/tasks stop {task['id']}")
    await editor.wait_for(lambda frame: frame.ours and "/tasks stop" in json.dumps(frame.message))
    editor.cancel(session)
    assert (await editor.answer(turn))["stopReason"] == "cancelled"
    await editor.answer(beside)

    live = editor.text(session)
    assert live.index("begun") < live.index("stopped")
    await editor.load_session(session, workspace)
    assert editor.text(session) == 2 * live
