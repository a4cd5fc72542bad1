"""Scenes of the conversation: it is opened, talked in, compressed, forked, deleted."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

from agent_core.sessions.database import Database
from agent_core.sessions.schema import OpenOptions, known_migrations
from tests.faults.scene import Act, Scene, says
from tests.faults.stage import Stage
from tests.support.chaos_remains import eventually
from tests.support.editor import Editor, RpcError
from tests.support.merged_view import MergedView

_WORK = "say Begun.\nread README.md\nrun echo ran\nsay Ended."
_WAITING = 20


async def _open(stage: Stage, agent: Editor) -> None:
    await stage.open(agent)
    await stage.say(agent, "say First.")


def _an_older_database(stage: Stage) -> None:
    database = Database(stage.home / "hermes-acp.db", options=OpenOptions(migrations=known_migrations()[:-1]))
    with database.write():
        pass
    database.close()


async def _work_and_wait(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, _WORK)
    await agent.exit_code(_WAITING)


def _kept_what_was_shown(stage: Stage, view: MergedView) -> None:
    """What was streamed for more than a second is there, as broken off."""
    assert "0000000 0000001" in "".join(view.texts())


async def _fork(stage: Stage, agent: Editor) -> None:
    given = {"sessionId": stage.session, "cwd": str(stage.workspace), "mcpServers": []}
    await agent.request("session/fork", given)


async def _fork_is_whole_or_absent(stage: Stage, agent: Editor) -> None:
    sessions = (await agent.request("session/list", {}))["sessions"]
    assert len(sessions) in {1, 2}
    for each in sessions:
        since = len(agent.frames)
        await agent.load_session(each["sessionId"], stage.workspace)
        assert any("First." in str(frame.message) for frame in agent.frames[since:])


async def _begin_other(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, "say First.")
    other = await agent.new_session(stage.workspace)
    await agent.prompt(other, "\n".join(["say Other.", *(f"run echo {number}" for number in range(20))]))
    stage.facts["other"] = other


async def _delete_other(stage: Stage, agent: Editor) -> None:
    await agent.request("session/delete", {"sessionId": stage.facts["other"]})
    await agent.exit_code(_WAITING)


async def _other_is_whole_or_gone(stage: Stage, agent: Editor) -> None:
    other = stage.facts["other"]
    listed = {each["sessionId"] for each in (await agent.request("session/list", {}))["sessions"]}
    if other in listed:
        await agent.load_session(other, stage.workspace)
        assert "Other." in agent.text(other)
        await agent.request("session/delete", {"sessionId": other})
    try:
        await agent.load_session(other, stage.workspace)
    except RpcError:
        pass
    else:
        raise AssertionError("a deleted session was loaded")


async def _nothing_of_other_is_left(stage: Stage, agent: Editor) -> None:
    def left() -> int:
        with closing(sqlite3.connect(stage.home / "hermes-acp.db")) as database:
            rows = database.execute("SELECT 1 FROM messages WHERE session_id = ?", (stage.facts["other"],))
            return len(rows.fetchall())

    await eventually(lambda: not left(), left)


async def _choose(stage: Stage, agent: Editor) -> None:
    await stage.choose(agent, "accept_edits")
    await agent.exit_code(_WAITING)


async def _plan(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, "todo Look; Mend; Test\nsay Planned.")


def _begins(command: str) -> Act:
    task = {"command": command, "background": True, "notify_on_complete": True}

    async def act(stage: Stage, agent: Editor) -> None:
        await stage.say(agent, f"call terminal {json.dumps(task)}\nsay Begun.")
        await agent.exit_code(_WAITING)

    return act


async def _task_is_told_of(stage: Stage, agent: Editor) -> None:
    tasks = (await agent.request("_hermes/session/tasks", {"sessionId": stage.session}))["tasks"]
    assert all(task["state"] in {"done", "lost"} for task in tasks), tasks


async def _compress(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, "/compact")


async def _talk_much(stage: Stage, agent: Editor) -> None:
    for number in range(6):
        await stage.say(agent, f"say Answer {number}. {'words ' * 400}")


def _has_what_was_unsaved(stage: Stage, view: MergedView) -> None:
    assert "".join(view.texts()).count("Unsaved.") == 1


async def _close(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, "say First.")
    agent.close_stdin()
    await agent.exit_code(_WAITING)


def _ends_under_a_lock(seconds: float) -> Act:
    """Another program holds the database at the end of the input, and for so long behind it."""

    async def act(stage: Stage, agent: Editor) -> None:
        with closing(sqlite3.connect(stage.home / "hermes-acp.db", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            await agent.prompt(stage.session, "say Unsaved.")
            agent.close_stdin()
            if seconds < _WAITING:
                await asyncio.sleep(seconds)
                holder.execute("ROLLBACK")
            await agent.exit_code(_WAITING)

    return act


TALKING = {
    "first start": Scene(_open, at_start=True),
    "an older database": Scene(_open, prepare=_an_older_database, at_start=True),
    "a turn": Scene(says(_WORK), before=says("say First.")),
    "a turn, and quiet": Scene(_work_and_wait, before=says("say First.")),
    "a long answer": Scene(says("stream 900000"), shown=_kept_what_was_shown),
    "a plan": Scene(_plan),
    "another mode": Scene(_choose, before=says("say First.")),
    "a fork": Scene(_fork, before=says("say First."), holds=_fork_is_whole_or_absent),
    "a delete": Scene(
        _delete_other, before=_begin_other, holds=_other_is_whole_or_gone, settled=_nothing_of_other_is_left
    ),
    "a compression": Scene(_compress, before=_talk_much),
    "a task": Scene(_begins("echo done"), holds=_task_is_told_of),
    "a task that tells": Scene(_begins("sleep 1; echo done"), holds=_task_is_told_of),
    "the end": Scene(_close),
    "an end under a lock": Scene(_ends_under_a_lock(_WAITING), before=says("say First.")),
    "an end after a lock": Scene(_ends_under_a_lock(1.0), before=says("say First."), shown=_has_what_was_unsaved),
}
