"""Work of a sub-agent that was not all brought back when its turn was cancelled: kept, told of, and to be had."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.delegating import copies_left, delegates
from tests.support.editor import PLAIN, Editor
from tests.support.editor_policies import allow, never
from tests.support.in_memory import EditorFactory

_GOAL = "write first.txt 1\nwrite second.txt 2\nsay written"


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server makes copies."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hermes-acp" / "copies"


def stops_at(workspace: Path, name: str) -> Any:
    """Says yes to all but the file that comes back as the last one: of that they say nothing."""

    async def decide(params: Any) -> Any:
        places = [Path(place["path"]) for place in params["toolCall"].get("locations", ())]
        return await (never if workspace / name in places else allow)(params)

    return decide


async def cancelled_at_the_second(start: EditorFactory, workspace: Path) -> tuple[Editor, str]:
    """A turn that was cancelled while the question about the second file that came back was open."""
    agent = await start()
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)
    agent.on_permission = stops_at(workspace, "second.txt")
    prompt = agent.begin_prompt(session, f"{delegates(_GOAL, isolated=True)}\nsay never")
    await agent.until((workspace / "first.txt").exists, what="the first file")
    await agent.wait_for(
        lambda frame: (
            frame.method == "session/request_permission"
            and any(place["path"] == str(workspace / "second.txt") for place in frame.params["toolCall"]["locations"])
        ),
        what="the question about the second file",
    )
    agent.cancel(session)
    assert (await agent.answer(prompt))["stopReason"] == "cancelled"
    return agent, session


def shown(agent: Editor, session: str) -> str:
    """The text on the card that delegates."""
    card = next(card for card in agent.cards(session).values() if card["title"].startswith("Delegate"))
    return "".join(part["content"]["text"] for part in card["content"] if part["type"] == "content")


def command_in(words: str) -> str:
    """The command that the person is given."""
    return next(line for line in words.splitlines() if "git -C" in line).partition(": ")[2]


async def test_a_cancel_keeps_what_has_not_come_back_and_the_person_is_told_how_to_have_it(
    start: EditorFactory, workspace: Path, copies: Path
) -> None:
    agent, session = await cancelled_at_the_second(start, workspace)
    (kept,) = await asyncio.to_thread(copies_left, copies)
    told = shown(agent, session)
    assert f"Not brought back, and kept for a week: {copies / kept / 'tree'}" in told
    assert (workspace / "first.txt").read_text() == "1"
    assert not (workspace / "second.txt").exists()

    await agent.load_session(session, workspace)
    assert shown(agent, session) == told
    await asyncio.to_thread(subprocess.run, command_in(told), shell=True, check=True)
    assert (workspace / "first.txt").read_text() == "1"
    assert (workspace / "second.txt").read_text() == "2"


async def test_the_next_turn_tells_the_person_and_the_model_once(
    start: EditorFactory, workspace: Path, copies: Path
) -> None:
    agent, session = await cancelled_at_the_second(start, workspace)
    await agent.load_session(session, workspace)
    (kept,) = await asyncio.to_thread(copies_left, copies)
    for turn in range(2):
        known = len(agent.text(session, "agent_thought_chunk"))
        await agent.prompt(session, "say on we go")
        thoughts = agent.text(session, "agent_thought_chunk")[known:]
        assert thoughts.count(f"is kept for a week: {copies / kept / 'tree'}") == (turn == 0)


async def test_what_has_come_back_can_be_taken_back(start: EditorFactory, workspace: Path, copies: Path) -> None:
    agent, session = await cancelled_at_the_second(start, workspace)
    await agent.prompt(session, "/undo")
    assert not (workspace / "first.txt").exists()
    assert len(await asyncio.to_thread(copies_left, copies)) == 1


async def test_a_conflict_is_kept_and_told_also_where_the_turn_is_cancelled_afterwards(
    start: EditorFactory, workspace: Path, copies: Path
) -> None:
    agent = await start()
    await agent.initialize(PLAIN)
    session = await agent.new_session(workspace)

    async def meanwhile(params: Any) -> Any:
        places = [Path(place["path"]) for place in params["toolCall"].get("locations", ())]
        if any(place.name == "sums.py" and not place.is_relative_to(workspace) for place in places):
            (workspace / "sums.py").write_text("# the person was here\n")
        return await allow(params)

    agent.on_permission = meanwhile
    goal = "edit sums.py a - b => a + b\nwrite first.txt 1\nsay mended"
    prompt = agent.begin_prompt(session, f"{delegates(goal, isolated=True)}\nsleep 600")
    await agent.wait_for_update(session, "tool_call_update", toolCallId="offline_1", status="completed")
    agent.cancel(session)
    assert (await agent.answer(prompt))["stopReason"] == "cancelled"
    (kept,) = await asyncio.to_thread(copies_left, copies)
    told = shown(agent, session)
    assert "sums.py is another now" in told
    assert f"kept for a week: {copies / kept / 'tree'}" in told
    assert (workspace / "first.txt").exists()
    assert [patch.read_bytes().count(b"sums.py") > 0 for patch in (copies / kept / "rest").iterdir()] == [True]
    await agent.load_session(session, workspace)
    assert shown(agent, session) == told
