"""TRANSPORT, JSONRPC, INIT, SCHEMA, EXT, META, ERROR, SHUTDOWN, STDERR: what every message must be."""
# ruff: noqa: N802 - a requirement's id is the test's name

from __future__ import annotations

import json
from pathlib import Path

from tests.support.editor import MINIMAL, PLAIN, ZED, Editor
from tests.tck.conftest import Started
from tests.tck.place import capabilities, greeting, refusal

_NOISY = "run echo to stdout; echo to stderr >&2\nsay one\\ntwo \u2028 three"


async def test_TRANSPORT_001_TRANSPORT_002_STDERR_001_SHUTDOWN_001_a_process_and_its_streams(
    process: Editor, workspace: Path
) -> None:
    """Only JSON objects on stdout, one a line, whatever commands print; a quiet stderr; an end when stdin ends."""
    # TRANSPORT-001, -002: the editor breaks at a line that is no JSON object.
    await process.initialize(PLAIN)
    session = await process.new_session(workspace)
    await process.prompt(session, _NOISY)
    assert len(process.frames) > 8
    # STDERR-001: free for logs, but what is written there some editors show as an error.
    assert process.stderr == ""
    # SHUTDOWN-001: the process ends when its input does.
    await process.close(expect=0)


async def test_JSONRPC_001_each_message_says_its_version(started: Started, workspace: Path) -> None:
    """ "jsonrpc" is "2.0" in every message."""
    agent = await started()
    await agent.prompt(await agent.new_session(workspace), "say x")
    assert {frame.message["jsonrpc"] for frame in agent.frames} == {"2.0"}


async def test_JSONRPC_002_an_answer_has_the_id_of_its_request_as_it_was(started: Started) -> None:
    """Ids come back with their value and their type."""
    agent = await started()
    for request_id in ("a string", 7_000_000, "7"):
        line = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "session/list", "params": {}})
        agent.send_raw(line.encode() + b"\n")
        answer = await agent.wait_for(lambda f, wanted=request_id: not f.ours and f.id == wanted)
        assert isinstance(answer.id, type(request_id))


async def test_JSONRPC_003_an_answer_has_either_a_result_or_an_error(started: Started, workspace: Path) -> None:
    """One of the two, never both."""
    agent = await started()
    await agent.new_session(workspace)
    await refusal(agent, "session/prompt", {})
    answers = [frame.message for frame in agent.frames if not frame.ours and frame.method is None]
    assert all(("result" in answer) != ("error" in answer) for answer in answers)
    assert any("error" in answer for answer in answers)


async def test_JSONRPC_004_an_unknown_method_is_not_found(started: Started) -> None:
    """-32601 for a request that nobody knows."""
    assert (await refusal(await started(), "no/such", {})).code == -32601


async def test_JSONRPC_005_a_notification_is_never_answered(started: Started) -> None:
    """Neither a known nor an unknown notification gets an answer."""
    agent = await started()
    agent.cancel("ses_none")
    agent.notify("no/such")
    await agent.request("session/list", {})
    answers = [frame for frame in agent.frames if not frame.ours and frame.method is None]
    assert len(answers) == 2


async def test_INIT_001_initialize_agrees_on_a_version(started: Started) -> None:
    """A version that is known comes back as the same number."""
    version = greeting(await started())["protocolVersion"]
    assert version == 1
    assert isinstance(version, int)


async def test_INIT_002_initialize_needs_no_credentials_and_tells_what_works(process: Editor) -> None:
    """The greeting needs no settings at all."""
    answer = await process.initialize(MINIMAL)
    assert answer["agentCapabilities"]["promptCapabilities"]


async def test_INIT_003_the_agent_says_who_it_is(started: Started) -> None:
    """A name and a version of the implementation."""
    info = greeting(await started())["agentInfo"]
    assert info["name"]
    assert info["version"]


async def test_INIT_004_an_unknown_version_is_not_echoed(started: Started) -> None:
    """A version from the future is answered with one that is spoken here."""
    agent = await started()
    assert (await agent.initialize(PLAIN, version=65535))["protocolVersion"] == 1


async def test_SCHEMA_001_SCHEMA_002_answers_and_updates_fit_the_schema(started: Started, workspace: Path) -> None:
    """Every message is held against the schema by the editor, which breaks at the first that does not fit."""
    agent = await started(ZED)
    session = await agent.new_session(workspace)
    await agent.prompt(session, "think hm\nread sums.py\nedit sums.py a - b => a + b\nrun false\ntodo A; B\nsay x")
    kinds = {update["sessionUpdate"] for update in agent.updates(session)}
    assert {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"} <= kinds


async def test_EXT_001_an_unknown_extension_is_not_found_and_its_notification_is_nothing(started: Started) -> None:
    """Methods with an underscore are answered as any other; notifications are ignored."""
    agent = await started()
    agent.notify("_example.org/told", {"x": 1})
    assert (await refusal(agent, "_example.org/asked", {"x": 1})).code == -32601
    assert await agent.request("session/list", {})


async def test_META_001_meta_is_taken_everywhere_and_changes_nothing(started: Started, workspace: Path) -> None:
    """`_meta` in requests is accepted, and its keys are no parameters."""
    agent = await started()
    meta = {"_meta": {"traceparent": "00-0-0-00", "session_id": "ses_other", "prompt": [], "self": 1}}
    session = await agent.new_session(workspace, **meta)
    assert (await agent.prompt(session, "say x", **meta))["stopReason"] == "end_turn"
    assert "_meta" in capabilities(agent)


async def test_ERROR_001_an_error_is_one_line_for_people(started: Started, workspace: Path) -> None:
    """A short message without line breaks, whatever went wrong."""
    agent = await started()
    session = await agent.new_session(workspace)
    many_lines = {"sessionId": "one\ntwo", "prompt": []}
    for method, params in (
        ("session/prompt", many_lines),
        ("session/new", {"cwd": "not\nabsolute", "mcpServers": []}),
        ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "fail 400"}]}),
    ):
        message = (await refusal(agent, method, params)).message
        assert message.strip()
        assert len(message.splitlines()) == 1


async def test_informational_what_is_no_message_gets_the_errors_of_json_rpc(started: Started) -> None:
    """-32700 for what is no JSON, -32600 for what is no message, each with the id null."""
    agent = await started()
    for line, code in ((b"{", -32700), (b"[]", -32600), (b"7", -32600)):
        since = len(agent.frames)
        agent.send_raw(line + b"\n")
        answer = await agent.wait_for(lambda frame: not frame.ours and "error" in frame.message, since=since)
        assert answer.message["error"]["code"] == code
        assert answer.id is None
