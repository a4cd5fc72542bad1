"""Sub-agents as an editor sees them: cards under the card, questions answered, nothing left after a cancel."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_core.home import Home
from agent_core.sessions.library import SessionLibrary
from tests.support.delegating import delegates
from tests.support.editor import PLAIN, Editor
from tests.support.editor_policies import allow, never, reject
from tests.support.in_memory import EditorFactory, start_session, titles_of_questions


def _parents(agent: Editor, session: str) -> dict[str, str]:
    """By id of a card, the card above it."""
    made = agent.updates(session, "tool_call")
    return {card["toolCallId"]: card.get("_meta", {}).get("hermes", {}).get("parentToolCallId", "") for card in made}


def _cards(agent: Editor, session: str, number: int) -> Callable[[], bool]:
    return lambda: len(agent.updates(session, "tool_call")) >= number


async def test_the_calls_of_sub_agents_are_cards_under_the_card_that_delegates(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await start_session(start, workspace)
    result = await agent.prompt(session, delegates("read sums.py\nsay one", "search add\nsay two"))
    assert result["stopReason"] == "end_turn"
    top, *below = agent.cards(session).values()
    assert top["title"] == "Delegate 2 tasks"
    assert set(_parents(agent, session).values()) == {"", top["toolCallId"]}
    assert sorted(card["title"] for card in below) == ["Agent 1: Read sums.py", "Agent 2: Search 'add'"]
    assert {card["status"] for card in (top, *below)} == {"completed"}
    assert "2. search add" in json.dumps(top["content"])


async def test_what_is_shown_again_is_the_same(start: EditorFactory, workspace: Path) -> None:
    agent, session = await start_session(start, workspace)
    await agent.prompt(session, delegates("read sums.py\nsay one"))
    live, parents = agent.cards(session), _parents(agent, session)
    await agent.request("session/close", {"sessionId": session})
    other = await start()
    await other.initialize(PLAIN)
    await other.load_session(session, workspace)
    assert _parents(other, session) == parents
    shown = {card["toolCallId"]: (card["title"], card["status"]) for card in other.cards(session).values()}
    assert shown == {key: (card["title"], card["status"]) for key, card in live.items()}


async def test_questions_of_sub_agents_reach_the_person_and_a_no_is_a_no(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await start_session(start, workspace)
    asked: list[int] = []
    most: list[int] = []

    async def decide(params: Any) -> Any:
        asked.append(1)
        most.append(len(asked))
        answer = await (allow if "one.txt" in params["toolCall"]["title"] else reject)(params)
        asked.pop()
        return answer

    agent.on_permission = decide
    await agent.prompt(session, delegates("write one.txt 1\nsay x", "write two.txt 2\nsay y"))
    assert sorted(titles_of_questions(agent)) == ["Agent 1: Create one.txt", "Agent 2: Create two.txt"]
    assert max(most) == 1
    assert (workspace / "one.txt").exists()
    assert not (workspace / "two.txt").exists()
    status = {card["title"]: card["status"] for card in agent.cards(session).values()}
    assert status["Agent 1: Write one.txt"] == "completed"
    assert status["Agent 2: Write two.txt"] == "failed"


async def test_a_question_that_nobody_answers_ends_with_the_turn(start: EditorFactory, workspace: Path) -> None:
    agent, session = await start_session(start, workspace)
    agent.on_permission = never
    prompt = agent.begin_prompt(session, delegates("write one.txt 1", "write two.txt 2"))
    await agent.wait_for_call("session/request_permission")
    agent.cancel(session)
    assert (await prompt)["stopReason"] == "cancelled"
    assert all(card["status"] in {"completed", "failed"} for card in agent.cards(session).values())
    assert not (workspace / "one.txt").exists()
    assert (await agent.prompt(session, "say still here"))["stopReason"] == "end_turn"


@pytest.mark.parametrize("seed", range(4))
async def test_a_cancel_at_any_point_leaves_final_cards_and_nothing_at_work(
    seed: int, start: EditorFactory, workspace: Path
) -> None:
    chance = random.Random(seed)
    agent, session = await start_session(start, workspace)
    for _ in range(3):
        goals = [
            f"sleep 0.0{chance.randrange(9)}\nread sums.py\nstream 200\nwrite n{n}.txt x\nread a" for n in range(4)
        ]
        prompt = agent.begin_prompt(session, delegates(*goals))
        cards = len(agent.updates(session, "tool_call")) + chance.randrange(1, 8)
        await agent.until(_cards(agent, session, cards), what="the cards")
        agent.cancel(session)
        assert (await prompt)["stopReason"] in {"cancelled", "end_turn"}
        assert all(card["status"] in {"completed", "failed"} for card in agent.cards(session).values())
    assert (await agent.prompt(session, "say still here"))["stopReason"] == "end_turn"


async def test_sub_agents_sessions_are_stored_hidden_shown_by_id_and_deleted_with_their_parent(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    agent, session = await start_session(start, workspace)
    await agent.prompt(session, delegates("say a heron"))
    listed = await agent.request("session/list", {})
    assert [one["sessionId"] for one in listed["sessions"]] == [session]
    library = SessionLibrary(Home(home))
    try:
        (child,) = await asyncio.to_thread(library.archive.children, session)
        assert (child.source, child.parent_id, child.root_id) == ("sub-agent", session, session)
        texts = [one.message["content"] for one in library.archive.transcript(child.id).messages]
        assert texts == ["say a heron", "a heron\n"]
        await agent.request("session/delete", {"sessionId": session})
        assert await asyncio.to_thread(library.archive.children, session) == ()
    finally:
        await asyncio.to_thread(library.close)


async def test_undo_takes_back_what_sub_agents_changed(start: EditorFactory, workspace: Path) -> None:
    agent, session = await start_session(start, workspace)
    await agent.prompt(session, delegates("write new.txt hello"))
    assert (workspace / "new.txt").exists()
    await agent.prompt(session, "/undo")
    assert not (workspace / "new.txt").exists()


async def test_what_was_delegated_in_the_background_is_told_when_it_is_done(
    start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize({**PLAIN, "session": {"notices": {}}, "_meta": {"hermes": {"backgroundTurns": True}}})
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    gate = workspace / "gate"
    goal = f"run while ! test -e {gate}; do sleep 0.02; done\nsay a heron"
    await agent.prompt(session, f"{delegates(goal, background=True)}\nsay ok\non news\nsay I was told.")
    await agent.prompt(session, "/tasks")
    assert "| sub-agent | running | for " in agent.text(session)
    assert "run while ! test" in agent.text(session)
    gate.touch()
    await agent.until(lambda: "I was told." in agent.text(session), 15, "the turn of its own")
    notice = await agent.wait_for_update(session, "notice")
    assert "A sub-agent is done" in notice["title"]
    assert len(agent.cards(session)) == 1
