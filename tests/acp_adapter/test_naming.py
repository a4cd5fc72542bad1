"""What a session is called."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import Editor
from tests.support.in_memory import serving
from tests.support.model_server import Gate, ModelServer, Reply, Status
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until

_TITLE_TASK = {"auxiliary": {"title": {"provider": "auto"}}}


async def _title(editor: Editor) -> str:
    (entry,) = (await editor.request("session/list", {}))["sessions"]
    return str(entry["title"])


async def test_a_session_is_called_by_its_first_prompt_and_stays_so(home: Path, workspace: Path) -> None:
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "say Hello.")
        await editor.prompt(session, "say Something else.")
        named = [update["title"] for update in editor.updates(session, "session_info_update")]
        assert named == [await _title(editor)] == ["say Hello."], "a title is sent when it changes"


async def test_a_title_has_no_tags_that_a_client_puts_around_the_prompt(home: Path, workspace: Path) -> None:
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "<user_query>\nsay Hello.\n</user_query>")
        (named,) = editor.updates(session, "session_info_update")
        assert named["title"] == await _title(editor) == "say Hello."


async def test_every_title_that_changes_is_sent_once(home: Path, workspace: Path, model_server: ModelServer) -> None:
    use_model(home, model_server, **_TITLE_TASK)
    model_server.add(Reply("Done."), Reply("Mending the sums"), Reply("More."))
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "Mend the sums.")
        await editor.wait_for_update(session, "session_info_update", title="Mending the sums")
        await editor.prompt(session, "And now?")
        await editor.prompt(session, "/title My own")
        named = [update["title"] for update in editor.updates(session, "session_info_update")]
        assert named == ["Mend the sums.", "Mending the sums", "My own"]


async def test_without_a_model_for_titles_none_is_asked(
    home: Path, workspace: Path, model_server: ModelServer
) -> None:
    use_model(home, model_server)
    model_server.add(Reply("Hello."))
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        await editor.prompt(await editor.new_session(workspace), "Mend the sums, please.")
        assert await _title(editor) == "Mend the sums, please."
    assert len(model_server.requests) == 1


async def test_a_model_for_titles_is_asked_once_after_the_first_answer(
    home: Path, workspace: Path, model_server: ModelServer
) -> None:
    use_model(home, model_server, **_TITLE_TASK)
    model_server.add(Reply("Done."), Reply("Mending the sums"), Reply("More."))
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "The sums are wrong, please mend them.")
        await editor.wait_for_update(session, "session_info_update", title="Mending the sums")
        await editor.prompt(session, "And now?")
        assert await _title(editor) == "Mending the sums"
    assert len(model_server.requests) == 3


async def test_a_title_that_comes_after_the_session_was_closed_is_stored_and_not_shown(
    home: Path, workspace: Path, model_server: ModelServer
) -> None:
    use_model(home, model_server, **_TITLE_TASK)
    gate = Gate()
    model_server.add(Reply("Done."), Reply("Mending the sums", gate=gate))
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "The sums are wrong, please mend them.")
        await asyncio.to_thread(model_server.wait_for_request, 2)
        await editor.request("session/close", {"sessionId": session})
        gate.set()
        async with asyncio.timeout(10):
            while await _title(editor) != "Mending the sums":
                pass
        # An update would be a violation of the wire's rules, which shows here.
        await editor.new_session(workspace)


@pytest.mark.parametrize("answer", [Status(500), Reply("")], ids=["fails", "says nothing"])
async def test_a_model_for_titles_that_does_not_answer_leaves_the_title(
    answer: Reply | Status, home: Path, workspace: Path, model_server: ModelServer
) -> None:
    use_model(home, model_server, **_TITLE_TASK)
    model_server.add(Reply("Done."), answer, Reply("Still here."))
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "Mend the sums.")
        await asyncio.to_thread(wait_until, lambda: len(model_server.requests) == 2)
        await editor.prompt(session, "Are you there?")
        assert await _title(editor) == "Mend the sums."
