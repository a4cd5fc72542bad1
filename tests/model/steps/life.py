"""How sessions come and go: new, load, resume, fork, close, delete, and the list of them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.model.invariants.files import HALF_WRITTEN, on_disk
from tests.model.invariants.shown import UNKNOWN, check_shown
from tests.model.invariants.stored import stored_of
from tests.model.lived import Lived
from tests.model.process import PATIENCE
from tests.model.steps.choices import check_choices
from tests.model.world import World
from tests.support.editor import RpcError

_NOT_FOUND = -32002


async def new(world: World) -> None:
    """session/new, mostly in a workspace of its own; sometimes in one whose session is gone."""
    used = {session.cwd for session in world.sessions.values()}
    free = [place for place in world.kept if place not in used]
    place = world.chance.choice(free) if free and world.chance.random() < 0.3 else world.place()
    wants_terminals = world.process.terminals and world.process.has_own
    session = Lived(await world.agent.new_session(place), place, terminals=wants_terminals, files=on_disk(place))
    world.did(f"new: {session.id} in {place.name}")
    world.sessions[session.id] = session
    check_choices(session, world.agent.opened[session.id])


async def load(world: World, session: Lived) -> None:
    """session/load, of an open session or of one that was closed: all is shown as it was."""
    world.did(f"load: {session.id}, {'open' if session.is_open else 'closed'}")
    since = len(world.agent.frames)
    answer = await world.agent.load_session(session.id, session.cwd)
    frames = world.agent.frames[since:]
    session.reopened()
    check_choices(session, answer)
    told = [message for message in stored_of(world, session) if message["role"] == "tool"]
    # The turn behind a killed one tells the model that it is unknown what became of a call: that is no result of it.
    results = {message["tool_call_id"] for message in told if UNKNOWN not in str(message["content"])}
    check_shown(session, [frame.update for frame in frames if frame.is_update(session.id)], results)


async def resume(world: World, session: Lived) -> None:
    """session/resume: the same without showing anything."""
    world.did(f"resume: {session.id}, {'open' if session.is_open else 'closed'}")
    place = {"sessionId": session.id, "cwd": str(session.cwd), "mcpServers": []}
    answer = await world.agent.request("session/resume", place, PATIENCE)
    session.reopened()
    check_choices(session, answer)


async def fork(world: World, session: Lived) -> None:
    """session/fork into a copy of the workspace; of the files it has changed none."""
    place = world.place(session.cwd)
    params = {"sessionId": session.id, "cwd": str(place), "mcpServers": []}
    answer = await world.agent.request("session/fork", params, PATIENCE)
    world.did(f"fork: {session.id} as {answer['sessionId']} in {place.name}")
    turns = copy.deepcopy(session.turns)
    for turn in turns:
        turn.before, turn.after = {}, {}
    chosen = session.mode, session.edits, session.model, session.terminals
    made = Lived(answer["sessionId"], place, *chosen, turns, files=dict(session.files))
    world.sessions[made.id] = made
    check_choices(made, answer)


async def close(world: World, session: Lived) -> None:
    """session/close: it stays stored, and can be used no more before it is loaded."""
    world.did(f"close: {session.id}")
    await world.agent.request("session/close", {"sessionId": session.id}, PATIENCE)
    session.closed()
    await _check_unknown(world, session.id, "session/prompt", prompt=[{"type": "text", "text": "Are you there?"}])


async def delete(world: World, session: Lived) -> None:
    """session/delete: nothing of it is left, and once more is no error."""
    world.did(f"delete: {session.id}")
    await world.agent.request("session/delete", {"sessionId": session.id}, PATIENCE)
    forget(world, session)
    await world.agent.request("session/delete", {"sessionId": session.id}, PATIENCE)
    place = {"cwd": str(session.cwd), "mcpServers": []}
    await _check_unknown(world, session.id, world.chance.choice(("session/load", "session/resume")), **place)


async def listed(world: World) -> None:
    """session/list has each session with a turn, be it taken back, and each that is open."""
    world.did("list:")
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await world.agent.request("session/list", cursor, PATIENCE)
        found += [entry["sessionId"] for entry in page["sessions"]]
        if not page.get("nextCursor"):
            break
        cursor = {"cursor": page["nextCursor"]}
    assert len(set(found)) == len(found), f"listed twice: {found}"
    sessions = world.sessions.values()
    wanted = {each.id for each in sessions if each.is_open or each.real_turns or each.undone}
    assert set(found) == wanted, f"listed: {found}, wanted: {wanted}"


def forget(world: World, session: Lived) -> None:
    """It is deleted, and with it what it knew of where a process was writing when it ended."""
    for path in session.cwd.rglob(HALF_WRITTEN):
        path.unlink()
    del world.sessions[session.id]
    world.deleted.add(session.id)


async def _check_unknown(world: World, session_id: str, method: str, **params: Any) -> None:
    with pytest.raises(RpcError) as refused:
        await world.agent.request(method, {"sessionId": session_id, **params}, PATIENCE)
    assert refused.value.code == _NOT_FOUND, refused.value
