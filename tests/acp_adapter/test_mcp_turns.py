"""MCP servers that an editor gives a session: there in its turns, asked for, told of when they fail, gone with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.mcp.specs import ServerSpec
from tests.support.editor import PLAIN, ZED, Editor
from tests.support.editor_host import RpcError
from tests.support.in_memory import EditorFactory, serving
from tests.support.mcp_http_server import HttpMcpServer, Refusal, in_words
from tests.support.mcp_servers import on_the_wire, plain, with_tools
from tests.support.model_server import ModelServer, Recorded, Reply, Status
from tests.support.processes import has_ended
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("mcp_sdk")


async def opened(
    start: EditorFactory, workspace: Path, *specs: ServerSpec, profile: Mapping[str, Any] = PLAIN
) -> tuple[Editor, str]:
    agent = await start()
    await agent.initialize(profile)
    return agent, await agent.new_session(workspace, mcpServers=[on_the_wire(spec) for spec in specs])


def called(tool: str, server: str = "plain", **arguments: Any) -> str:
    """The line that makes the offline model call a server's tool."""
    return f"call mcp__{server}__{tool} {json.dumps(arguments)}"


def permission_questions(agent: Editor) -> list[dict[str, Any]]:
    return [frame.params for frame in agent.frames if frame.method == "session/request_permission"]


def card(agent: Editor, session: str, number: int = -1) -> dict[str, Any]:
    return list(agent.cards(session).values())[number]


async def test_a_tool_of_a_server_is_asked_for_called_and_shown(start: EditorFactory, workspace: Path) -> None:
    agent, session = await opened(start, workspace, plain())
    await agent.prompt(session, called("echo", text="hello"))
    (question,) = permission_questions(agent)
    assert "echo" in question["toolCall"]["title"]
    shown = card(agent, session)
    assert (shown["status"], shown["kind"], shown["title"]) == ("completed", "other", "plain: echo")
    assert shown["rawInput"] == {"text": "hello"}
    assert "hello" in json.dumps(shown["content"])


async def test_a_server_that_cannot_be_started_is_told_by_name_once(start: EditorFactory, workspace: Path) -> None:
    agent, session = await opened(start, workspace, ServerSpec("vault", "stdio", command="/nowhere/mcp"), plain())
    await agent.prompt(session, "say one")
    await agent.prompt(session, "say two")
    said = agent.text(session)
    assert said.count("MCP server vault could not be used: There is no program /nowhere/mcp.") == 1
    await agent.prompt(session, called("echo", text="x"))
    assert card(agent, session)["status"] == "completed"


async def test_a_silent_server_holds_the_first_prompt_up_for_a_moment_and_visibly(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await opened(start, workspace, plain("slow", "silent"))
    await agent.prompt(session, "say ready")
    said = agent.text(session)
    assert "Waiting for MCP server: slow" in said
    assert "going on without: MCP server slow" in said
    assert said.endswith(".\n\nready\n")


async def test_a_prompt_that_is_cancelled_while_it_waits_leaves_the_wait_to_the_next(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await opened(start, workspace, plain("slow", "silent"))
    prompt = agent.begin_prompt(session, "say one")
    await agent.wait_for(lambda _: "Waiting for" in agent.text(session), what="the wait")
    agent.cancel(session)
    assert await agent.answer(prompt, "session/prompt", 5) == {"stopReason": "cancelled"}
    assert "going on without" not in agent.text(session)
    await agent.prompt(session, "say two")
    assert agent.text(session).count("Waiting for MCP server: slow") == 2


async def test_a_prompt_that_is_cancelled_while_it_waits_is_stored_and_can_be_taken_back(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await opened(start, workspace, plain("slow", "silent"))
    prompt = agent.begin_prompt(session, "say one")
    await agent.wait_for(lambda _: "Waiting for" in agent.text(session), what="the wait")
    agent.cancel(session)
    await agent.answer(prompt, "session/prompt", 5)
    live = agent.text(session)
    await agent.load_session(session, workspace)
    assert agent.text(session, "user_message_chunk") == "say one"
    assert agent.text(session) == 2 * live  # it is shown again
    await agent.prompt(session, "say two")
    assert "taken back" in await _told(agent, session, "/undo")
    assert "«say one»" in await _told(agent, session, "/undo")


async def _told(agent: Editor, session: str, command: str) -> str:
    known = len(agent.text(session))
    await agent.prompt(session, command)
    return agent.text(session)[known:]


async def test_a_malformed_server_is_refused_by_name(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    params = {"cwd": str(workspace), "mcpServers": [{"name": "bad", "type": "pigeon"}]}
    with pytest.raises(RpcError) as refused:
        await agent.request("session/new", params)
    assert refused.value.code == -32602
    assert "'bad'" in str(refused.value)


async def test_closing_a_session_ends_its_servers_and_no_others(start: EditorFactory, workspace: Path) -> None:
    agent, first = await opened(start, workspace, plain())
    second = await agent.new_session(workspace, mcpServers=[on_the_wire(plain())])
    pids = []
    for session in (first, second):
        await agent.prompt(session, called("pid"))
        pids.append(int(card(agent, session)["content"][0]["content"]["text"].strip("`\n")))
    await agent.request("session/close", {"sessionId": first})
    await asyncio.to_thread(wait_until, lambda: has_ended(pids[0]))
    assert not has_ended(pids[1])


async def test_a_load_waits_for_the_close_before_it(start: EditorFactory, workspace: Path) -> None:
    # Unchecked: the fake editor forgets a session at the close's answer, though it has asked for it again.
    agent = await start(check=False)
    await agent.initialize()
    session = await agent.new_session(workspace, mcpServers=[on_the_wire(plain("slow", "deaf"))])
    await agent.prompt(session, called("pid", "slow"))
    place = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
    closing = agent.begin("session/close", {"sessionId": session})
    await agent.answer(agent.begin("session/resume", place), "session/resume", 10)
    assert closing.done()
    assert await agent.prompt(session, "say again") == {"stopReason": "end_turn"}


@pytest.mark.parametrize("profile", [PLAIN, ZED])
async def test_progress_is_text_on_the_card_of_every_client(
    start: EditorFactory, workspace: Path, profile: Mapping[str, Any]
) -> None:
    agent, session = await opened(start, workspace, plain(), profile=profile)
    await agent.prompt(session, called("step"))
    shown = json.dumps(agent.updates(session, "tool_call_update"))
    assert "a third (1/3)" in shown
    assert "terminal_output" not in shown
    assert "all of it" in json.dumps(card(agent, session)["content"])


async def test_mcp_does_not_call_a_server_ready_whose_calls_fail(start: EditorFactory, workspace: Path) -> None:
    with HttpMcpServer() as server:
        agent, session = await opened(start, workspace, server.spec())
        await agent.prompt(session, called("do", "api"))
        assert card(agent, session)["status"] == "completed"
        assert "| api | ready | 1 tool |" in await _told(agent, session, "/mcp")
        server.refusing["tools/call"] = in_words(500, "database locked")
        await agent.prompt(session, called("do", "api"))
        assert card(agent, session)["status"] == "failed"
        assert "It failed (HTTP 500)" in json.dumps(card(agent, session)["content"])
        shown = await _told(agent, session, "/mcp")
        assert "| api | failed | 1 tool | Its calls fail. It failed (HTTP 500)" in shown
        server.refusing.clear()
        await agent.prompt(session, called("do", "api"))
        assert "| api | ready | 1 tool |" in await _told(agent, session, "/mcp")


async def test_an_mcp_server_that_was_restarted_is_called_in_a_new_session_without_a_word(
    start: EditorFactory, workspace: Path
) -> None:
    with HttpMcpServer() as server:
        agent, session = await opened(start, workspace, server.spec())
        await agent.prompt(session, called("do", "api"))
        server.restart()
        await agent.prompt(session, called("do", "api"))
        assert card(agent, session)["status"] == "completed"
        assert "done in session-2" in json.dumps(card(agent, session)["content"])
        assert "could not be used" not in agent.text(session)


async def test_an_mcp_sign_in_that_ends_in_mid_session_is_told_with_what_to_do(
    start: EditorFactory, workspace: Path
) -> None:
    with HttpMcpServer() as server:
        agent, session = await opened(start, workspace, server.spec())
        await agent.prompt(session, "say one")
        server.refusing |= {"tools/call": Refusal(401), "initialize": Refusal(401)}
        await agent.prompt(session, called("do", "api"))
        assert "needs a sign-in (HTTP 401). Run `hermes-acp mcp login" in json.dumps(card(agent, session)["content"])
        await agent.prompt(session, "say two")
        assert "MCP server api could not be used: " in agent.text(session)
        assert "needs a sign-in" in agent.text(session)


async def test_a_tool_of_an_mcp_server_whose_schema_the_models_server_refuses_ends_no_prompt(
    home: Path, workspace: Path
) -> None:
    def answer(request: Recorded) -> Any:
        names = [tool["function"]["name"] for tool in request.body.get("tools", ())]
        if "mcp__shop__bad" not in names:
            return Reply("done")
        said = "Invalid schema for function 'mcp__shop__bad': In context=('properties', 'a'), not like this."
        return Status(400, {"error": {"message": said, "code": "invalid_function_parameters"}})

    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("good", "bad")]
    shop = on_the_wire(with_tools("shop", tools))
    with ModelServer(default=answer) as server:
        use_model(home, server)
        async with serving(home, config=ConfigSource(Home(home))) as agent:
            await agent.initialize(PLAIN)
            session = await agent.new_session(workspace, mcpServers=[shop])
            assert (await agent.prompt(session, "go"))["stopReason"] == "end_turn"
            assert agent.text(session).endswith("done")
            thoughts = agent.text(session, "agent_thought_chunk")
            assert "Trying again without the tool mcp__shop__bad." in thoughts
            assert "it refuses the schema of the tool mcp__shop__bad, left out from now on" in thoughts
            assert "mcp__shop__good" in server.requests[-1].raw.decode()
            shown = (await _told(agent, session, "/mcp")).replace("\\", "")
            assert "| shop | ready | 2 tools | not used: mcp__shop__bad: the model's server refuses" in shown
            asked = len(server.requests)
            await agent.prompt(session, "again")
            assert len(server.requests) == asked + 1
