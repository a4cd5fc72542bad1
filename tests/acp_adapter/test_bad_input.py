"""Whatever a client sends, each request gets one answer and the connection goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor, RpcError
from tests.support.in_memory import EditorFactory


async def _error_for(agent: Editor, line: bytes) -> dict[str, Any]:
    """The error answer without an id that follows `line`."""
    seen = len(agent.frames)
    agent.send_raw(line + b"\n")
    frame = await agent.wait_for(lambda frame: not frame.ours and "error" in frame.message, since=seen)
    return frame.message


@pytest.mark.parametrize("stage", ["before initialize", "in a session"])
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{not json", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', -32700),
        ('{"jsonrpc":"2.0","id":1,"method":"initialize"}'.encode("utf-16-le"), -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600),
        (b"42", -32600),
        (b'"text"', -32600),
        (b"null", -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"initialize"}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":"text"}', -32602),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_line_that_is_no_request_is_answered_and_the_next_one_works(
    stage: str, line: bytes, code: int, start: EditorFactory, workspace: Path
) -> None:
    agent = await start(check=False)
    if stage == "in a session":
        await agent.initialize()
        await agent.new_session(workspace)
    answer = await _error_for(agent, line)
    assert answer["error"]["code"] == code
    assert answer["id"] in (None, 7)
    assert (await agent.initialize())["protocolVersion"] == 1


async def test_missing_params_are_filled(start: EditorFactory) -> None:
    agent = await start(check=False)
    await agent.initialize()
    answer = await _error_for(agent, b'{"jsonrpc":"2.0","id":5,"method":"session/new"}')
    assert answer["id"] == 5
    assert answer["error"]["code"] == -32602
    assert "cwd" in answer["error"]["message"]


@pytest.mark.parametrize("cwd", ["relative/path", "", "/no/such/directory", "README.md", 7, None, "/bad\0path"])
async def test_a_directory_that_cannot_be_used_is_refused(cwd: Any, start: EditorFactory, workspace: Path) -> None:
    agent = await start(check=False)
    await agent.initialize()
    chosen = str(workspace / cwd) if cwd == "README.md" else cwd
    for _ in ("through the front door", "through the server"):
        with pytest.raises(RpcError) as refused:
            await agent.request("session/new", {"cwd": chosen, "mcpServers": []})
        assert refused.value.code == -32602
        assert "\n" not in refused.value.message


async def test_errors_echo_no_input_and_no_documentation_links(start: EditorFactory) -> None:
    agent = await start(check=False)
    await agent.initialize()
    with pytest.raises(RpcError) as refused:
        await agent.request("session/prompt", {"sessionId": ["my-secret-value"], "prompt": "another-secret"})
    text = json.dumps([refused.value.message, refused.value.data])
    assert "secret" not in text
    assert "http" not in text


@pytest.mark.parametrize(
    "method",
    ["session/prompt", "session/set_mode", "session/close", "session/load", "session/resume", "session/fork"],
)
async def test_an_unknown_session_is_not_found(method: str, start: EditorFactory) -> None:
    agent = await start()
    await agent.initialize()
    params = {
        "sessionId": "no-such",
        "cwd": "/",
        "mcpServers": [],
        "prompt": [{"type": "text", "text": "say x"}],
        "modeId": "default",
    }
    with pytest.raises(RpcError) as refused:
        await agent.request(method, params)
    assert refused.value.code == -32002


async def test_unknown_methods_are_errors_and_unknown_notifications_are_ignored(start: EditorFactory) -> None:
    agent = await start()
    await agent.initialize()
    for method in ("session/set_model", "session/nonsense", "_vendor/thing"):
        with pytest.raises(RpcError) as refused:
            await agent.request(method, {})
        assert refused.value.code == -32601
    agent.notify("nonsense/happened", {"x": 1})
    agent.notify("_vendor/happened", {"x": 1})
    agent.notify("session/cancel", {})
    assert (await agent.initialize())["protocolVersion"] == 1


async def test_meta_cannot_override_parameters(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    mine, other = await agent.new_session(workspace), await agent.new_session(workspace)
    hostile = {"session_id": other, "self": 1, "prompt": [], "hermes_meta": "x", "cwd": "/"}
    answer = await agent.prompt(mine, "say to me", _meta=hostile)
    assert answer["stopReason"] == "end_turn"
    assert agent.text(mine) == "to me\n"
    assert agent.text(other) == ""


async def test_the_id_of_a_running_request_cannot_be_used_again(start: EditorFactory, workspace: Path) -> None:
    agent = await start(check=False)
    await agent.initialize()
    session = await agent.new_session(workspace)
    turn = agent.begin_prompt(session, "say on\nsleep 60")
    await agent.wait_for_update(session, "agent_message_chunk")
    busy = next(frame.id for frame in agent.frames if frame.method == "session/prompt")
    answer = await _error_for(agent, json.dumps({"jsonrpc": "2.0", "id": busy, "method": "initialize"}).encode())
    assert answer["error"]["code"] == -32600
    assert not turn.done() or turn.exception() is not None


@pytest.mark.parametrize("request_id", ["text", "", "\ud800", 0, -5, 2**53, 10**400])
async def test_ids_come_back_as_they_were_sent(request_id: Any, start: EditorFactory) -> None:
    agent = await start(check=False)
    request = {"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": {"protocolVersion": 1}}
    agent.send_raw(json.dumps(request).encode() + b"\n")
    frame = await agent.wait_for(lambda frame: not frame.ours and "result" in frame.message)
    assert frame.message["id"] == request_id


@pytest.mark.parametrize("version", [0, 2, 65535])
async def test_an_unknown_protocol_version_is_never_echoed(version: int, start: EditorFactory) -> None:
    agent = await start()
    assert (await agent.initialize(version=version))["protocolVersion"] == 1
    assert (await agent.initialize(version=version))["protocolVersion"] == 1


async def test_answers_of_the_client_that_are_no_answers_are_survived(start: EditorFactory) -> None:
    agent = await start(check=False)
    await agent.initialize()
    await agent.request("authenticate", {"methodId": "hermes-configured"})  # the server is up
    for line in (
        b'{"jsonrpc":"2.0","id":[1],"result":{}}',
        b'{"jsonrpc":"2.0","id":true,"result":{}}',
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"2.0","id":99,"error":"boom"}',
        b'{"jsonrpc":"2.0","id":99}',
        b'{"jsonrpc":"2.0"}',
    ):
        agent.send_raw(line + b"\n")
    assert (await agent.initialize())["protocolVersion"] == 1


async def test_an_empty_prompt_is_refused(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    for blocks in ([], [{"type": "text", "text": "  \n"}]):
        with pytest.raises(RpcError) as refused:
            await agent.prompt(session, blocks)
        assert refused.value.code == -32602


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
async def test_a_number_that_json_does_not_have_is_no_error_of_ours(number: str, start: EditorFactory) -> None:
    agent = await start(check=False)
    await agent.initialize()
    await agent.request("authenticate", {"methodId": "hermes-configured"})  # the server is up
    line = f'{{"jsonrpc":"2.0","id":5,"method":"initialize","params":{{"protocolVersion":{number}}}}}'
    agent.send_raw(line.encode() + b"\n")
    answer = await agent.wait_for(lambda frame: not frame.ours and frame.id == 5)
    assert answer.message.get("error", {}).get("code") in (None, -32602)


async def test_half_of_a_surrogate_pair_can_be_stored_and_found(start: EditorFactory, workspace: Path) -> None:
    agent = await start(check=False)
    await agent.initialize()
    session = await agent.new_session(workspace)

    async def asked(request_id: str, method: str, **params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        agent.send_raw(json.dumps(request).encode() + b"\n")
        return (await agent.wait_for(lambda frame: not frame.ours and frame.id == request_id)).message["result"]

    assert await asked("a", "session/delete", sessionId="\udfff") == {}
    blocks = [{"type": "text", "text": "say so \ud800 🎉"}]
    assert (await asked("b", "session/prompt", sessionId=session, prompt=blocks))["stopReason"] == "end_turn"
    assert agent.text(session) == "so \ufffd 🎉\n"


@pytest.mark.parametrize("action", [["stop"], {}, 1, "no such"])
async def test_what_is_done_with_a_task_is_a_word_that_is_known(
    action: Any, start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    with pytest.raises(RpcError) as refused:
        await agent.request("_hermes/session/tasks", {"sessionId": session, "action": action, "taskId": "t1"})
    assert refused.value.code == -32602


async def test_a_close_behind_two_loads_closes_what_they_leave(start: EditorFactory, workspace: Path) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "say hello")
    again = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
    loads = [agent.begin("session/resume", again) for _ in range(2)]
    closing = agent.begin("session/close", {"sessionId": session})
    for asked in (*loads, closing):
        await agent.answer(asked)
    with pytest.raises(RpcError) as refused:
        await agent.prompt(session, "say anything")
    assert refused.value.code == -32002


@pytest.mark.parametrize(
    "block",
    [
        {"type": "resource_link", "name": "", "uri": "file:///a"},
        {"type": "image", "mimeType": "", "data": "aGVsbG8="},
    ],
    ids=lambda block: str(block["type"]),
)
async def test_a_block_with_an_empty_field_is_shown_again_with_it(
    block: dict[str, Any], start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, [{"type": "text", "text": "say hello"}, block])
    await agent.load_session(session, workspace)  # each message is held against the schema
    assert block in [update["content"] for update in agent.updates(session, "user_message_chunk")]
