"""SESSION, LOAD, RESUME, LIST, DELETE, CLOSE, ADDDIRS: sessions from their beginning to their end."""
# ruff: noqa: N802 - a requirement's id is the test's name

from __future__ import annotations

from pathlib import Path

from tests.support.editor import PLAIN, Editor
from tests.tck.conftest import Started
from tests.tck.place import capabilities, place, refusal, text

NOBODY = "ses_of_nobody"


async def _told(agent: Editor, cwd: Path, *, close: bool = True) -> str:
    """A session that has had a turn."""
    session = await agent.new_session(cwd)
    await agent.prompt(session, "say remember this")
    if close:
        await agent.request("session/close", {"sessionId": session})
    return session


async def _listed(agent: Editor, **params: str) -> list[str]:
    answer = await agent.request("session/list", params)
    return [session["sessionId"] for session in answer["sessions"]]


async def test_SESSION_001_a_new_session_has_an_id(started: Started, workspace: Path) -> None:
    """session/new answers with a text that is not empty."""
    session = await (await started()).new_session(workspace)
    assert session.strip()


async def test_SESSION_002_ids_are_never_given_twice(started: Started, workspace: Path) -> None:
    """Each session has an id of its own, in every connection."""
    first, second = await started(), await started()
    ids = [await agent.new_session(workspace) for agent in (first, second, first, second)]
    assert len(set(ids)) == len(ids)


async def test_LOAD_001_the_conversation_is_shown_before_the_answer(started: Started, workspace: Path) -> None:
    """What both sides said comes as updates, and then the answer."""
    agent = await started()
    assert capabilities(agent)["loadSession"] is True
    session = await _told(agent, workspace)
    since = len(agent.frames)
    await agent.request("session/load", place(session, workspace))
    *shown, answer = [frame for frame in agent.frames[since:] if not frame.ours]
    assert "result" in answer.message
    kinds = [frame.update["sessionUpdate"] for frame in shown]
    assert {"user_message_chunk", "agent_message_chunk"} <= set(kinds)


async def test_LOAD_002_a_session_that_is_not_there_is_an_error(started: Started, workspace: Path) -> None:
    """-32002, by which clients know that they must begin a new one."""
    assert (await refusal(await started(), "session/load", place(NOBODY, workspace))).code == -32002


async def test_LOAD_003_a_loaded_session_goes_on(started: Started, workspace: Path) -> None:
    """It takes prompts, in another process too."""
    session = await _told(await started(), workspace)
    agent = await started()
    await agent.request("session/load", place(session, workspace))
    assert (await agent.prompt(session, "say and on"))["stopReason"] == "end_turn"


async def test_RESUME_001_nothing_is_shown_again(started: Started, workspace: Path) -> None:
    """Resuming answers without a word of the conversation."""
    session = await _told(await started(), workspace)
    agent = await started()
    assert "resume" in capabilities(agent)["sessionCapabilities"]
    await agent.request("session/resume", place(session, workspace))
    await agent.prompt(session, "say and on")
    assert agent.text(session) == "and on\n"
    assert not agent.updates(session, "user_message_chunk")


async def test_RESUME_002_a_session_that_is_not_there_is_an_error(started: Started, workspace: Path) -> None:
    """As with load."""
    assert (await refusal(await started(), "session/resume", place(NOBODY, workspace))).code == -32002


async def test_LIST_001_the_list_has_what_there_is(started: Started, workspace: Path) -> None:
    """Id, absolute directory and the time of each session; an empty list where there is none."""
    agent = await started()
    assert await _listed(agent) == []
    session = await _told(agent, workspace)
    (info,) = (await agent.request("session/list", {}))["sessions"]
    assert (info["sessionId"], info["cwd"]) == (session, str(workspace))
    assert info["updatedAt"]


async def test_LIST_002_the_list_can_be_narrowed_and_a_wrong_cursor_is_an_error(
    started: Started, workspace: Path, tmp_path: Path
) -> None:
    """`cwd` chooses; a cursor that was never given out is refused."""
    agent = await started()
    session = await _told(agent, workspace)
    assert await _listed(agent, cwd=str(workspace)) == [session]
    assert await _listed(agent, cwd=str(tmp_path)) == []
    assert (await refusal(agent, "session/list", {"cursor": "nonsense"})).code == -32602


async def test_DELETE_001_a_deleted_session_is_gone(started: Started, workspace: Path) -> None:
    """It is in no list, and cannot be loaded."""
    agent = await started()
    session = await _told(agent, workspace)
    await agent.request("session/delete", {"sessionId": session})
    assert await _listed(agent) == []
    await refusal(agent, "session/load", place(session, workspace))


async def test_DELETE_002_what_is_not_there_is_deleted_in_silence(started: Started, workspace: Path) -> None:
    """A second time, or an id that never was, is no error."""
    agent = await started()
    session = await _told(agent, workspace)
    for each in (session, session, NOBODY):
        assert await agent.request("session/delete", {"sessionId": each}) == {}


async def test_CLOSE_001_closing_cancels_what_runs(started: Started, workspace: Path) -> None:
    """The running prompt is answered as cancelled."""
    agent = await started()
    session = await agent.new_session(workspace)
    turn = agent.begin_prompt(session, "say one\nsleep 60")
    await agent.wait_for_update(session, "agent_message_chunk")
    await agent.request("session/close", {"sessionId": session})
    assert (await agent.answer(turn))["stopReason"] == "cancelled"


async def test_CLOSE_002_a_closed_session_takes_no_prompt_and_stays_stored(started: Started, workspace: Path) -> None:
    """It is not there for prompts any more, but in the list."""
    agent = await started()
    session = await _told(agent, workspace)
    assert (await refusal(agent, "session/prompt", {"sessionId": session, "prompt": [text("say x")]})).code == -32002
    assert await _listed(agent) == [session]


async def test_ADDDIRS_001_more_directories_are_the_sessions_own(
    started: Started, workspace: Path, tmp_path: Path
) -> None:
    """They must be absolute; their files are read and written like the others."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "note.txt").write_text("found\n", encoding="utf-8")
    agent = await started()
    assert "additionalDirectories" in capabilities(agent)["sessionCapabilities"]
    relative = {"cwd": str(workspace), "mcpServers": [], "additionalDirectories": ["other"]}
    assert (await refusal(agent, "session/new", relative)).code == -32602
    session = await agent.new_session(workspace, additionalDirectories=[str(other)])
    await agent.prompt(session, f"read {other}/note.txt")
    assert [card["status"] for card in agent.cards(session).values()] == ["completed"]
    assert not [frame for frame in agent.frames if frame.method == "session/request_permission"]


async def test_informational_an_unknown_session_is_not_found(started: Started) -> None:
    """-32002 from every method that names a session."""
    agent = await started(PLAIN)
    for method, params in (
        ("session/prompt", {"prompt": [text("say x")]}),
        ("session/set_mode", {"modeId": "default"}),
        ("session/set_config_option", {"configId": "mode", "value": "default"}),
        ("session/close", {}),
    ):
        assert (await refusal(agent, method, {"sessionId": NOBODY, **params})).code == -32002
