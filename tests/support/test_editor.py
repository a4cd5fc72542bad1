"""The fake editor against a scripted agent: it waits, answers and misbehaves as it says."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import JETBRAINS, ZED, AgentGone, Editor, RpcError
from tests.support.editor_policies import after, dismiss, never, reject, rubbish
from tests.support.wire import WireViolation

AGENT = Path(__file__).with_name("mini_agent.py")
CARD = {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Run it"}}
DONE = {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}}
ASK = {
    "permission": [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
}


def say(text: str) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}


async def start(*steps: dict[str, Any]) -> Editor:
    return await Editor.spawn(*map(json.dumps, steps), command=(sys.executable, str(AGENT)))


async def test_a_turn_is_recorded_in_order(tmp_path):
    async with await start(say("Hello "), say("there"), CARD, DONE) as editor:
        await editor.initialize(ZED)
        session = await editor.new_session(tmp_path)
        assert await editor.prompt(session, "hi") == {"stopReason": "end_turn"}
        assert editor.text(session) == "Hello there"
        assert editor.cards(session)["c1"]["status"] == "completed"
        assert [frame.method for frame in editor.frames if frame.ours] == [
            "initialize",
            "session/new",
            "session/prompt",
        ]
        assert [frame.at for frame in editor.frames] == sorted(frame.at for frame in editor.frames)
        await editor.close(expect=0, within=10)


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [(None, "yes"), (reject, "no"), (dismiss, "cancelled"), (rubbish(), "maybe")],
)
async def test_a_policy_answers_permission_requests(tmp_path, policy, outcome):
    async with await start(CARD, ASK, DONE) as editor:
        editor.on_permission = policy or editor.on_permission
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "go")
        assert outcome in editor.text(session)


async def test_a_late_answer_waits_for_its_event(tmp_path):
    async with await start(CARD, ASK, DONE) as editor:
        asked = asyncio.Event()
        editor.on_permission = after(asked)
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        turn = editor.begin_prompt(session, "go")
        await editor.wait_for_call("session/request_permission")
        assert not turn.done()
        asked.set()
        assert (await editor.answer(turn))["stopReason"] == "end_turn"


async def test_cancel_answers_open_permission_requests(tmp_path):
    async with await start(CARD, ASK, DONE) as editor:
        editor.on_permission = never
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        turn = editor.begin_prompt(session, "go")
        await editor.wait_for_call("session/request_permission")
        editor.cancel(session)
        await editor.answer(turn)
        assert "cancelled" in editor.text(session)


async def test_an_error_answer_is_raised():
    async with await start() as editor:
        await editor.initialize()
        with pytest.raises(RpcError, match="session/list") as caught:
            await editor.request("session/list")
        assert caught.value.code == -32601


@pytest.mark.parametrize(
    ("steps", "message"), [([CARD, CARD], "second tool_call"), ([{"raw": "Welcome!"}], "no JSON.*Welcome!")]
)
async def test_a_breach_of_the_rules_fails_the_wait(tmp_path, steps, message):
    async with await start(*steps) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        with pytest.raises(WireViolation, match=message):
            await editor.prompt(session, "go")


async def test_a_breach_that_no_wait_saw_fails_the_close(tmp_path):
    editor = await start({"raw": "Welcome!"})
    await editor.initialize()
    turn = editor.begin_prompt(await editor.new_session(tmp_path), "go")
    await asyncio.wait([turn])
    with pytest.raises(WireViolation):
        await editor.close()


async def test_an_agent_that_dies_fails_the_wait_with_its_last_words(tmp_path):
    async with await start({"stderr": "out of ideas"}, {"exit": 3}) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        with pytest.raises(AgentGone, match="out of ideas"):
            await editor.prompt(session, "go")
        assert await editor.exit_code() == 3
        with pytest.raises(AgentGone):
            await editor.request("session/list")


async def test_an_agent_that_ignores_the_end_of_its_input_is_killed(tmp_path):
    editor = await start({"deaf": True})
    await editor.initialize()
    session = await editor.new_session(tmp_path)
    editor.begin_prompt(session, "go")
    with pytest.raises(AssertionError, match="still runs"):
        await editor.close(expect=0, within=0.2)
    assert editor.process.returncode == -9


async def test_pausing_leaves_the_output_unread(tmp_path):
    async with await start(say("one"), say("two")) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        editor.pause_reading()
        turn = editor.begin_prompt(session, "go")
        with pytest.raises(AssertionError, match="no answer"):
            await editor.answer(turn, timeout=0.2)
        assert editor.updates(session) == []
        editor.resume_reading()
        await editor.answer(turn)
        assert editor.text(session) == "onetwo"


async def test_an_agent_in_the_same_process_answers_over_pipes():
    agent_reads, editor_writes = os.pipe()
    editor_reads, agent_writes = os.pipe()
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}).encode() + b"\n"
    async with await Editor.over(editor_reads, editor_writes) as editor:
        asked = editor.begin("initialize", {"protocolVersion": 1})
        assert json.loads(await asyncio.to_thread(os.read, agent_reads, 65536))["method"] == "initialize"
        os.write(agent_writes, answer)
        assert (await editor.answer(asked))["protocolVersion"] == 1
        os.close(agent_writes)
        os.close(agent_reads)


async def test_unsaved_buffers_win_over_the_disk(tmp_path):
    async with await start() as editor:
        path = tmp_path / "a.txt"
        path.write_text("disk\n")
        read = editor.handlers["fs/read_text_file"]
        assert await read({"path": str(path)}) == {"content": "disk\n"}
        editor.host.buffers[str(path)] = "one\ntwo\nthree\n"
        assert await read({"path": str(path), "line": 2, "limit": 1}) == {"content": "two\n"}
        await editor.handlers["fs/write_text_file"]({"path": str(path), "content": "new\n"})
        assert (path.read_text(), editor.host.buffers[str(path)]) == ("new\n", "new\n")
        with pytest.raises(RpcError, match="not found"):
            await read({"path": str(tmp_path / "none")})


async def test_terminals_run_are_bounded_and_die_with_the_editor(tmp_path):
    async with await start() as editor:
        create, handlers = editor.handlers["terminal/create"], editor.handlers
        command = {"command": "printf 'hello world'; exit 4", "cwd": str(tmp_path), "outputByteLimit": 5}
        terminal = await create(command)
        assert await handlers["terminal/wait_for_exit"](terminal) == {"exitCode": 4, "signal": None}
        output = await handlers["terminal/output"](terminal)
        assert output == {"output": "world", "truncated": True, "exitStatus": {"exitCode": 4, "signal": None}}
        await handlers["terminal/release"](terminal)
        sleeping = editor.host.terminals[(await create({"command": "sleep", "args": ["100"]}))["terminalId"]]
    assert sleeping.status() == {"exitCode": None, "signal": "SIGKILL"}
    assert JETBRAINS["terminal"] is True
