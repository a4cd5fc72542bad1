"""Scenes of a session that works on a copy of its workspace in a container: changes go there and come back."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path

from tests.faults.scene import Scene, says
from tests.faults.stage import Stage
from tests.support.editor import PLAIN, Editor
from tests.support.editor_policies import reject
from tests.support.fake_engine import FakeEngine
from tests.support.settings_files import configure

_CHANGE = "run sed -i 's/a - b/a + b/' sums.py; echo more > new.txt\nsay Changed."
_LOOK = "run cat sums.py\nsay Looked."
_LOOK_AGAIN = "run cat sums.py\nsay Looked again."
_NEW = b"more\n"
_WAITING = 20


def _in_a_container(stage: Stage) -> None:
    there = stage.scratch / "there"
    engine = FakeEngine(stage.scratch / "engine", disk=there)
    stage.stack.callback(engine.end)
    stage.facts |= {"there": there, "engine": engine}
    part = {"backend": "docker", "docker_program": str(engine.program), "docker_mount": False, "sync": "both"}
    configure(stage.home, {"terminal": {**part, "cwd": str(there)}})


async def _copied(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, _LOOK)
    stage.facts["before"] = stage.files()


async def _changed_here(stage: Stage, agent: Editor) -> None:
    await _copied(stage, agent)
    (stage.workspace / "sums.py").write_text("# of mine\n")
    (stage.workspace / "of_mine.txt").write_text("mine\n")
    (stage.workspace / "README.md").unlink()
    stage.facts["before"] = stage.files()


async def _refuse(stage: Stage, agent: Editor) -> None:
    await stage.choose(agent, "default")

    async def refuse_files(params: dict[str, object]) -> object:
        is_file = "diff" in json.dumps(params["toolCall"])
        return await reject(params) if is_file else "allow_once"

    agent.on_permission = refuse_files  # type: ignore[assignment]
    await stage.say(agent, _CHANGE)


async def _changed_there(stage: Stage, agent: Editor) -> None:
    """What nobody has brought back: the container's own doing, after the last turn."""
    await _copied(stage, agent)
    _change_there(stage)


def _change_there(stage: Stage) -> None:
    there: Path = stage.facts["there"]
    (there / "sums.py").write_bytes(stage.facts["before"]["sums.py"].replace(b"a - b", b"a + b"))
    (there / "new.txt").write_bytes(_NEW)


async def _close(stage: Stage, agent: Editor) -> None:
    await agent.request("session/close", {"sessionId": stage.session})
    await agent.exit_code(_WAITING)


async def _another_was_killed(stage: Stage, agent: Editor) -> None:
    """A process with a copy is gone; what was changed there, nobody has brought back."""
    other = await stage.start()
    await other.initialize(PLAIN)
    stage.session = await other.new_session(stage.workspace)
    await stage.choose(other, "dont_ask")
    await _copied(stage, other)
    _change_there(stage)
    await other.kill()
    stage.session, stage.facts["other"] = "", stage.session


async def _rescue(stage: Stage, agent: Editor) -> None:
    session = await agent.new_session(stage.workspace)
    await agent.prompt(session, "say Hello.")


async def _workspace_is_as_it_was(stage: Stage, agent: Editor) -> None:
    before = stage.facts.get("before")
    assert before is None or stage.files() == before


async def _each_file_is_old_or_new(stage: Stage, agent: Editor) -> None:
    before, now = stage.facts["before"], stage.files(half_written=False)
    assert now["sums.py"] in _versions(stage)
    assert now.get("new.txt", _NEW) == _NEW
    assert {name: data for name, data in now.items() if name not in {"sums.py", "new.txt"}} == {
        name: data for name, data in before.items() if name != "sums.py"
    }


async def _note_session(stage: Stage, agent: Editor) -> None:
    stage.facts["first"] = stage.session


async def _first_session_goes_on(stage: Stage, agent: Editor) -> None:
    """Nothing of what its process had sent, or was about to, is in the way."""
    await agent.load_session(stage.facts["first"], stage.workspace)
    await agent.prompt(stage.facts["first"], "say Hello.")
    await _copy_is_as_here(stage, agent)


async def _copy_is_as_here(stage: Stage, agent: Editor) -> None:
    there: Path = stage.facts["there"]
    found = {str(path.relative_to(there)): path.read_bytes() for path in there.rglob("*") if path.is_file()}
    ours = {name: data for name, data in found.items() if not name.startswith((".git", ".hermes-acp-copy"))}
    assert ours == stage.files()
    assert not [*(stage.scratch / "cache" / "hermes-acp" / "elsewhere").rglob("*.part")]


async def _nothing_is_lost(stage: Stage, agent: Editor) -> None:
    """What was changed there is here, or is told of with a command that makes it."""
    await _each_file_is_old_or_new(stage, agent)
    session = stage.facts.get("other", stage.session)
    if session != stage.session:
        await agent.load_session(session, stage.workspace)
        await agent.prompt(session, "say Hello.")
    if _is_new(stage):
        return
    shown = json.dumps(agent.updates(session))
    told = re.search(r"this makes it[^:]*: `?(git -C [^`]*?\.patch)", shown)
    assert told is not None, shown
    await asyncio.to_thread(subprocess.run, told[1], shell=True, check=True)
    assert _is_new(stage)


def _is_new(stage: Stage) -> bool:
    now = stage.files(half_written=False)
    return b"a + b" in now["sums.py"] and now.get("new.txt") == _NEW


def _versions(stage: Stage) -> set[bytes]:
    old: bytes = stage.facts["before"]["sums.py"]
    return {old, old.replace(b"a - b", b"a + b")}


FAR_COPYING = {
    "a far copy": Scene(
        says(_LOOK),
        prepare=_in_a_container,
        greeted=_note_session,
        holds=_workspace_is_as_it_was,
        settled=_first_session_goes_on,
    ),
    "changes for a far copy": Scene(
        says(_LOOK_AGAIN),
        prepare=_in_a_container,
        before=_changed_here,
        holds=_workspace_is_as_it_was,
        settled=_copy_is_as_here,
    ),
    "changes of a far copy": Scene(
        says(_CHANGE),
        prepare=_in_a_container,
        before=_copied,
        holds=_each_file_is_old_or_new,
        settled=_nothing_is_lost,
    ),
    "a no to a far copy": Scene(
        _refuse, prepare=_in_a_container, before=_copied, holds=_each_file_is_old_or_new, settled=_nothing_is_lost
    ),
    "the end of a far copy": Scene(
        _close,
        prepare=_in_a_container,
        before=_changed_there,
        holds=_each_file_is_old_or_new,
        settled=_nothing_is_lost,
    ),
    "a rescue of a far copy": Scene(
        _rescue,
        prepare=_in_a_container,
        before=_another_was_killed,
        holds=_each_file_is_old_or_new,
        settled=_nothing_is_lost,
    ),
}
