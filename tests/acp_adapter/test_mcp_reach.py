"""MCP in a session: servers of the settings, prompts as commands, resources, and what servers want of the person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_core.mcp.specs import ServerSpec
from tests.acp_adapter.commands.talk import Talk
from tests.support.editor import PLAIN, ZED, Editor
from tests.support.in_memory import EditorFactory
from tests.support.mcp_servers import on_the_wire, plain, rich
from tests.support.settings_files import configure

pytestmark = pytest.mark.usefixtures("mcp_sdk")


def entry(spec: ServerSpec) -> dict[str, Any]:
    """The server as the settings have it."""
    return {"command": spec.command, "args": list(spec.args)}


async def opened(
    start: EditorFactory, workspace: Path, *specs: ServerSpec, profile: Mapping[str, Any] = PLAIN
) -> tuple[Editor, str]:
    editor = await start()
    await editor.initialize(profile)
    return editor, await editor.new_session(workspace, mcpServers=[on_the_wire(spec) for spec in specs])


def want(method: str, **params: Any) -> str:
    return f"call mcp__rich__want {json.dumps({'method': method, **params})}"


def shown(editor: Editor, session: str) -> str:
    return json.dumps(list(editor.cards(session).values())[-1]["content"], ensure_ascii=False)


def permission_questions(editor: Editor) -> list[dict[str, Any]]:
    return [frame.params for frame in editor.frames if frame.method == "session/request_permission"]


async def offered(editor: Editor, session: str, name: str) -> dict[str, Any]:
    def found() -> list[dict[str, Any]]:
        offers = editor.updates(session, "available_commands_update")
        return [one for offer in offers for one in offer["availableCommands"] if one["name"] == name]

    await editor.wait_for(lambda _: bool(found()), what=f"the command {name}")
    return found()[-1]


async def test_a_server_of_the_settings_is_there_in_each_session(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    configure(home, {"mcp_servers": {"mine": entry(plain()), "off": {"command": "/nowhere", "enabled": False}}})
    editor, session = await opened(start, workspace)
    await editor.prompt(session, 'call mcp__mine__echo {"text": "hello"}')
    assert "hello" in shown(editor, session)
    assert "off" not in editor.text(session)


async def test_the_editors_server_goes_before_one_of_the_same_name(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    configure(home, {"mcp_servers": {"rich": {"command": "/nowhere/mcp"}}})
    editor, session = await opened(start, workspace, rich())
    await editor.prompt(session, want("roots/list"))
    assert workspace.as_uri() in shown(editor, session)


async def test_a_program_gets_no_variable_that_the_settings_take_a_key_from(
    start: EditorFactory, home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORP_LLM", "k-123456789")
    configure(home, {"fallback_providers": [{"provider": "openai", "model": "m", "key_env": "CORP_LLM"}]})
    editor, session = await opened(start, workspace, plain())
    await editor.prompt(session, 'call mcp__plain__variable {"text": "CORP_LLM"}')
    assert "(not set)" in shown(editor, session)


async def test_a_project_cannot_bring_servers(start: EditorFactory, workspace: Path) -> None:
    (workspace / ".hermes").mkdir()
    configure(workspace / ".hermes", {"mcp_servers": {"evil": entry(plain())}})
    editor, session = await opened(start, workspace)
    await editor.prompt(session, "/mcp")
    assert "no MCP servers" in editor.text(session)


async def test_a_prompt_of_a_server_is_a_command_with_its_arguments(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    editor, session = await opened(start, workspace, rich())
    offer = await offered(editor, session, "rich:review")
    assert offer["input"] == {"hint": "<path> [tone]"}
    assert offer["description"] == "Looks over a file. (MCP server)"
    await editor.prompt(session, '/rich:review "my file.py" kindly, and briefly')
    history = Talk(editor, home, workspace, session).history()
    assert history[-2] == (
        "Do what this prompt says, which the MCP server rich has made for me.\n\n"
        'Review {"path": "my file.py", "tone": "kindly, and briefly"}'
    )
    await editor.prompt(session, "/rich:review")
    assert "/rich:review needs path. Type it as: /rich:review <path> [tone]" in editor.text(session)


async def test_resources_are_listed_and_read_after_a_question(start: EditorFactory, workspace: Path) -> None:
    editor, session = await opened(start, workspace, rich())
    await editor.prompt(session, "call mcp_list_resources {}")
    assert "note://one [text/plain]" in shown(editor, session)
    assert not permission_questions(editor)
    await editor.prompt(session, 'call mcp_read_resource {"server": "rich", "uri": "note://one"}')
    assert "The note note://one." in shown(editor, session)
    (question,) = permission_questions(editor)
    assert "resources/read" in question["toolCall"]["title"]


async def test_servers_without_resources_bring_no_tools_for_them(start: EditorFactory, workspace: Path) -> None:
    editor, session = await opened(start, workspace, plain())
    await editor.prompt(session, "say ready")
    await editor.prompt(session, "/tools")
    assert "mcp__plain__echo" in editor.text(session)
    assert "mcp_list_resources" not in editor.text(session)


async def test_an_image_of_a_tool_is_on_its_card(start: EditorFactory, workspace: Path) -> None:
    editor, session = await opened(start, workspace, rich())
    await editor.prompt(session, "call mcp__rich__picture {}")
    assert '"type": "image"' in shown(editor, session)


FORM = {
    "message": "Which one?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["small", "medium"]},
            "count": {"type": "integer", "minimum": 2},
        },
        "required": ["size", "count"],
    },
}


async def test_a_servers_question_is_a_form_that_is_asked_again_until_it_fits(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await opened(start, workspace, rich(), profile=ZED)
    asked: list[dict[str, Any]] = []

    async def fill(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"size": "medium", "count": len(asked)}}

    editor.host.forms = fill
    await editor.prompt(session, want("elicitation/create", **FORM))
    assert json.dumps({"action": "accept", "content": {"size": "m", "count": 2}}) in shown(editor, session).replace(
        '\\"', '"'
    )
    assert asked[0]["message"] == "The MCP server rich asks: Which one?"
    assert asked[0]["toolCallId"] in editor.cards(session)
    assert "Not yet right: count must be at least 2." in asked[1]["message"]


async def test_a_form_for_a_secret_is_not_shown(start: EditorFactory, workspace: Path) -> None:
    editor, session = await opened(start, workspace, rich(), profile=ZED)
    form = {"message": "Enter your API key", "requestedSchema": FORM["requestedSchema"]}
    await editor.prompt(session, want("elicitation/create", **form))
    assert "Secrets are not asked for by a form" in shown(editor, session)


async def test_a_page_is_asked_for_with_its_address(start: EditorFactory, workspace: Path) -> None:
    editor, session = await opened(start, workspace, rich(), profile=ZED)
    asked: list[dict[str, Any]] = []

    async def agree(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept"}

    editor.host.forms = agree
    page = {"mode": "url", "message": "Sign in", "url": "https://example.com/in", "elicitationId": "e1"}
    await editor.prompt(session, want("elicitation/create", **page))
    assert (asked[0]["mode"], asked[0]["url"]) == ("url", "https://example.com/in")
    assert "accept" in shown(editor, session)


SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "say tea"}}], "maxTokens": 20}


async def test_a_server_gets_a_models_answer_once_the_person_agrees(start: EditorFactory, workspace: Path) -> None:
    editor, session = await opened(start, workspace, rich())
    await editor.prompt(session, want("sampling/createMessage", **SAMPLE))
    assert "tea" in shown(editor, session)
    assert [question["toolCall"]["title"] for question in permission_questions(editor)][1:] == [
        "Let the MCP server rich ask a model"
    ]


async def test_a_server_that_may_not_ask_a_model_is_told_so(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    configure(home, {"mcp": {"sampling": False}})
    editor, session = await opened(start, workspace, rich())
    await editor.prompt(session, want("sampling/createMessage", **SAMPLE))
    assert "not supported" in shown(editor, session).lower()
    assert len(permission_questions(editor)) == 1


async def test_tools_that_are_too_long_are_found_by_a_search(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    configure(home, {"mcp": {"tool_search": "on"}})
    editor, session = await opened(start, workspace, plain())
    await editor.prompt(session, 'call mcp_find_tools {"query": "say it again"}')
    assert "mcp__plain__echo" in shown(editor, session)
    assert not permission_questions(editor)
    await editor.prompt(session, 'call mcp_call_tool {"name": "mcp__plain__echo", "arguments": {"text": "found"}}')
    assert "found" in shown(editor, session)
    assert "Call echo of the MCP server plain" in permission_questions(editor)[0]["toolCall"]["title"]
    await editor.prompt(session, 'call mcp__plain__echo {"text": "x"}')
    assert list(editor.cards(session).values())[-1]["status"] == "failed"


async def test_tools_that_take_too_much_of_the_window_are_behind_the_search(
    start: EditorFactory, home: Path, workspace: Path
) -> None:
    configure(home, {"mcp": {"tool_search_share": 0.001}})
    editor, session = await opened(start, workspace, plain())
    await editor.prompt(session, "say ready")
    await editor.prompt(session, "/tools")
    assert "mcp_find_tools" in editor.text(session)
    assert "mcp__plain__echo" not in editor.text(session)


async def test_tools_that_a_server_tells_of_later_are_there_with_the_next_prompt_and_expected(
    start: EditorFactory, workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    editor, session = await opened(start, workspace, rich())
    await editor.prompt(session, "call mcp__rich__grow {}")
    await offered(editor, session, "rich:grown1")  # the prompt that came with the tool
    await editor.prompt(session, 'call mcp__rich__grown6 {"a": 1}')
    assert "grown up" in shown(editor, session)
    assert "does not begin with the one before it" not in caplog.text
