"""Cards over the wire: little is sent, and what is too long to show can be found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.editor import PLAIN, ZED, Editor
from tests.support.in_memory import EditorFactory

_LONG = "run seq 1 50000"
_TEXT = "".join(f"{number}\n" for number in range(1, 50_001))


async def _run(start: EditorFactory, workspace: Path, profile: dict[str, Any], prompt: str) -> tuple[Editor, str]:
    agent = await start()
    await agent.initialize(profile)
    session = await agent.new_session(workspace)
    await agent.prompt(session, prompt)
    return agent, session


def _links(agent: Editor, session: str) -> list[Path]:
    blocks = [block for card in agent.cards(session).values() for block in card.get("content", ())]
    contents = [block["content"] for block in blocks if block["type"] == "content"]
    return [Path(unquote(urlsplit(each["uri"]).path)) for each in contents if each["type"] == "resource_link"]


def _sent(agent: Editor, session: str) -> int:
    """Bytes of everything that was sent of the session's cards."""
    updates = [*agent.updates(session, "tool_call"), *agent.updates(session, "tool_call_update")]
    return sum(len(json.dumps(update, ensure_ascii=False).encode()) for update in updates)


async def test_the_card_of_a_long_output_leads_to_all_of_it(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    agent, session = await _run(start, workspace, PLAIN, _LONG)
    [path] = _links(agent, session)
    assert path.is_relative_to(home)
    assert path.read_text() == _TEXT
    assert path.stat().st_mode & 0o777 == 0o600


async def test_it_does_so_again_when_the_session_is_loaded_and_goes_with_it(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _run(start, workspace, PLAIN, _LONG)
    links = _links(agent, session)
    await agent.request("session/close", {"sessionId": session})
    again = await start()
    await again.initialize(PLAIN)
    await again.load_session(session, workspace)
    assert _links(again, session) == links
    assert links[0].exists()
    await again.request("session/close", {"sessionId": session})
    await again.request("session/delete", {"sessionId": session})
    assert not links[0].parent.exists()


async def test_a_live_terminal_needs_no_link(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _run(start, workspace, ZED, _LONG)
    assert _links(agent, session) == []


@pytest.mark.parametrize(("profile", "most"), [(PLAIN, 60_000), (ZED, 400_000)])
async def test_what_is_sent_of_a_long_output_stays_small(
    profile: dict[str, Any], most: int, start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _run(start, workspace, profile, _LONG)
    assert _sent(agent, session) < most


async def test_an_edit_that_was_asked_about_shows_what_was_written_at_its_end(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _run(start, workspace, PLAIN, "edit sums.py a - b => a + b")
    ended = agent.updates(session, "tool_call_update")[-1]
    assert ended["status"] == "completed"
    [card] = agent.cards(session).values()
    [diff] = card["content"]
    assert diff["newText"] == (workspace / "sums.py").read_text()
    assert not {"rawInput", "content"} & ended.keys(), "the question has put them on the card"
