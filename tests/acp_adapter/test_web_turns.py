"""Pages read in a session: the person is asked about the host, on the call's card, and no means no."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.editor import Editor
from tests.support.editor_policies import allow, pick, reject
from tests.support.in_memory import EditorFactory, start_session
from tests.support.web_server import WebServer, typed

_PAGES = {"/a": typed(b"# One", "text/markdown"), "/b": typed(b"# Two", "text/markdown")}


def _read(*urls: str) -> str:
    return f"call web_extract {json.dumps({'urls': urls})}"


def _titles(agent: Editor) -> list[str]:
    asked = [frame for frame in agent.frames if frame.method == "session/request_permission"]
    return [frame.params["toolCall"]["title"] for frame in asked]


def _card(agent: Editor, session: str) -> str:
    return json.dumps(agent.cards(session), ensure_ascii=False)


async def test_a_page_of_this_machine_is_asked_about_with_the_reason(start: EditorFactory, workspace: Path) -> None:
    with WebServer(_PAGES) as server:
        agent, session = await start_session(start, workspace)
        agent.on_permission = allow
        await agent.prompt(session, _read(server.url("/a")))
        assert [request.path for request in server.requests] == ["/a"]
    [title] = _titles(agent)
    assert title.startswith(f"Fetch {server.url('/a')} (it leads to a host that is ")
    assert "5 characters" in _card(agent, session)


async def test_after_a_no_nothing_is_sent(start: EditorFactory, workspace: Path) -> None:
    with WebServer(_PAGES) as server:
        agent, session = await start_session(start, workspace)
        agent.on_permission = reject
        await agent.prompt(session, _read(server.url("/a")))
        assert server.requests == []
    assert "Rejected." in _card(agent, session)


async def test_a_yes_for_the_session_is_for_that_host_and_port(start: EditorFactory, workspace: Path) -> None:
    with WebServer(_PAGES) as server, WebServer(_PAGES) as other:
        agent, session = await start_session(start, workspace)
        agent.on_permission = pick("allow_session")
        await agent.prompt(session, _read(server.url("/a")))
        await agent.prompt(session, _read(server.url("/b")))
        await agent.prompt(session, _read(other.url("/a")))
        assert len(server.requests) == 2
    assert len(_titles(agent)) == 2
