"""The real process and its models: every protocol, and what it does when servers fail, as an editor sees it."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import Editor
from tests.support.model_dialects import DIALECTS
from tests.support.model_replies import Answer
from tests.support.model_server import Disconnect, ModelServer, Recorded, Reply, Status, ToolCall
from tests.support.settings_files import configure, use_model
from tests.support.wire_agents import PROTOCOLS

FIRST, SECOND, THIRD = (f"sk-{number}-0123456789abcdef" for number in ("one", "two", "three"))
PATHS = dict(zip(("chat_completions", "anthropic_messages", "codex_responses"), DIALECTS, strict=True))
LIMIT = Status(429, {"error": {"message": "Too many requests"}}, {"Retry-After": "200"})


def key_of(request: Recorded) -> str:
    return request.headers.get("x-api-key") or request.headers["authorization"].removeprefix("Bearer ")


def refused(request: Recorded) -> Status:
    """As some services do, the refusal repeats the key."""
    return Status(401, {"error": {"message": f"Incorrect API key provided: {key_of(request)}"}})


async def opened(editor: EditorFactory, workspace: Path) -> tuple[Editor, str]:
    """An agent that logs all it has to say, also to stderr, and a session of it."""
    agent = await editor("--verbose")
    await agent.initialize()
    return agent, await agent.new_session(workspace)


def assert_keeps_keys(agent: Editor, home: Path) -> None:
    """No key is in what the process said, and none in a file that it made."""
    said = {"stderr": agent.stderr, "frames": json.dumps([frame.message for frame in agent.frames])}
    files = (path for path in home.rglob("*") if path.is_file() and path.name != "config.yaml")
    said |= {str(path): path.read_bytes().decode("utf-8", "replace") for path in files}
    assert any(path.endswith("hermes-acp.log") and text for path, text in said.items())
    assert agent.stderr
    assert [(where, key) for where, text in said.items() for key in (FIRST, SECOND, THIRD) if key in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("api_mode", PROTOCOLS)
async def test_each_protocol_uses_a_tool_and_shows_the_retry_of_a_failure(
    api_mode: str, editor: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    model_server.add(
        Status(503, {"error": {"message": "The model is overloaded"}}, {"retry-after-ms": "1"}),
        Reply(text="I look. ", tool_calls=[ToolCall("call_1", "read_file", {"path": "sums.py"})], split=3),
        Reply(text="It subtracts.", split=4),
    )
    use_model(home, model_server, model={"api_mode": api_mode, "api_key": FIRST})
    agent, session = await opened(editor, workspace)

    assert (await agent.prompt(session, "What does it do?"))["stopReason"] == "end_turn"

    assert {request.path.partition("?")[0] for request in model_server.requests} == {PATHS[api_mode].path}
    assert agent.text(session) == "I look. It subtracts."
    assert [card["status"] for card in agent.cards(session).values()] == ["completed"]
    notice = agent.text(session, "agent_thought_chunk")
    for part in (
        "custom",
        model_server.base_url,
        "503, «The model is over",
        "Trying again at once",
        "attempt 2 of 4",
    ):
        assert notice.count(part) == 1
    failed, asked, answered = model_server.requests
    assert asked.body == failed.body
    assert "return a - b" in answered.raw.decode()
    assert_keeps_keys(agent, home)


@pytest.mark.slow
async def test_the_fallback_answers_and_says_so_and_the_next_prompt_begins_with_the_first_model(
    editor: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    model_server.add(refused, Reply("from the first"))
    with ModelServer(Reply("from the second")) as second:
        spare = {"base_url": second.base_url, "api_key": SECOND, "api_mode": "anthropic_messages"}
        use_model(
            home,
            model_server,
            model={"api_key": FIRST},
            providers={"spare": spare},
            fallback_providers=["spare:other-model"],
        )
        agent, session = await opened(editor, workspace)

        assert (await agent.prompt(session, "hello"))["stopReason"] == "end_turn"
        notice, _, answer = agent.text(session).partition("\n\n")
        for part in ("custom", model_server.base_url, "401", "spare:other-model answers instead"):
            assert part in notice
        assert answer == "from the second"
        assert (await agent.prompt(session, "again"))["stopReason"] == "end_turn"

        assert agent.text(session).endswith("from the first")
        assert [key_of(request) for request in model_server.requests] == [FIRST, FIRST]
        assert [(key_of(request), request.model) for request in second.requests] == [(SECOND, "other-model")]
    assert_keeps_keys(agent, home)


@pytest.mark.slow
async def test_a_refused_key_is_left_alone_also_by_the_next_process(
    editor: EditorFactory, workspace: Path, home: Path
) -> None:
    def by_key(request: Recorded) -> Answer:
        return refused(request) if key_of(request) == FIRST else Reply("served")

    with ModelServer(default=by_key) as server:
        use_model(home, server, model={"api_key": None, "api_keys": [FIRST, SECOND]})
        agent, session = await opened(editor, workspace)
        await agent.prompt(session, "hello")
        assert [key_of(request) for request in server.requests] == [FIRST, SECOND]
        assert agent.text(session) == "served"
        assert "Trying the next key" in agent.text(session, "agent_thought_chunk")

        other, its_session = await opened(editor, workspace)
        await other.prompt(its_session, "hello")
        assert [key_of(request) for request in server.requests] == [FIRST, SECOND, SECOND]
        assert other.text(its_session, "agent_thought_chunk") == ""
    assert stat.S_IMODE((home / "credential_state.json").stat().st_mode) == 0o600
    for each in (agent, other):
        assert_keeps_keys(each, home)


@pytest.mark.slow
async def test_a_dropped_stream_goes_on_where_it_stopped_and_nothing_is_shown_or_run_twice(
    editor: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    def rest(request: Recorded) -> Reply:
        """What a model says that is shown how far it came."""
        return Reply("three four" if "one two " in request.raw.decode() else "one two three four", split=4)

    call = ToolCall("call_1", "write_file", {"path": "once.txt", "content": "once"})
    model_server.add(
        Disconnect(Reply("one two three four", split=4), after=2),
        rest,
        Disconnect(Reply(tool_calls=[call], split=8), after=3),
        Reply(tool_calls=[call]),
        Reply("written"),
    )
    use_model(home, model_server, model={"api_key": FIRST})
    agent, session = await opened(editor, workspace)

    assert (await agent.prompt(session, "Count."))["stopReason"] == "end_turn"
    assert agent.text(session) == "one two three four"
    chunks = agent.updates(session, "agent_message_chunk")
    assert len({chunk["messageId"] for chunk in chunks}) == 1
    assert (await agent.prompt(session, "Write."))["stopReason"] == "end_turn"

    assert [card["status"] for card in agent.cards(session).values()] == ["failed", "completed"]
    assert (workspace / "once.txt").read_text() == "once"
    assert agent.text(session) == "one two three fourwritten"
    assert_keeps_keys(agent, home)


@pytest.mark.long
@pytest.mark.parametrize("ending", ["end of input", pytest.param("Ctrl-C", marks=pytest.mark.slow)])
async def test_a_wait_for_a_retry_ends_with_a_cancel_and_with_the_process(
    ending: str, editor: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    model_server.add(LIMIT, Reply("back"), LIMIT)
    use_model(home, model_server, model={"api_key": FIRST})
    agent, session = await opened(editor, workspace)

    turn = agent.begin_prompt(session, "hello")
    notice = await agent.wait_for_update(session, "agent_thought_chunk")
    assert "Trying again in 3 min (attempt 2 of 4)" in notice["content"]["text"]
    agent.cancel(session)
    assert (await agent.answer(turn))["stopReason"] == "cancelled"
    assert (await agent.prompt(session, "again"))["stopReason"] == "end_turn"
    assert agent.text(session) == "back"
    assert "ignores the cancel" not in agent.stderr

    seen = len(agent.frames)
    agent.begin_prompt(session, "once more")
    await agent.wait_for_update(session, "agent_thought_chunk", since=seen)
    if ending == "Ctrl-C":
        assert agent.process is not None
        agent.process.send_signal(signal.SIGINT)
    else:
        agent.close_stdin()
    assert await agent.exit_code() == 0
    assert len(model_server.requests) == 3
    assert_keeps_keys(agent, home)


@pytest.mark.slow
async def test_a_named_server_is_asked_and_wrong_entries_beside_it_only_leave_a_line_in_the_log(
    editor: EditorFactory, workspace: Path, home: Path, model_server: ModelServer
) -> None:
    model_server.add(Reply("from the house"))
    house = {"base_url": model_server.base_url, "api_key": FIRST}
    settings = {
        "model": {"default": "house:test-model"},
        "providers": {"house": house, "shed": {"base_url": "ftp://shed.example/v1", "api_key": SECOND}},
        "fallback_providers": [{"provider": "nobody", "model": "m", "api_key": THIRD}],
        "auxiliary": {"titles": {"timeout": "soon"}},
    }
    configure(home, settings)
    agent, session = await opened(editor, workspace)

    assert (await agent.prompt(session, "hello"))["stopReason"] == "end_turn"

    assert agent.text(session) == "from the house"
    (request,) = model_server.requests
    assert (request.model, key_of(request)) == ("test-model", FIRST)
    log = (home / "logs" / "hermes-acp.log").read_text()
    for part in ("providers.shed.base_url", "fallback_providers.0", "auxiliary.titles.timeout"):
        assert part in log
    assert_keeps_keys(agent, home)


def test_models_lists_what_the_server_has_and_without_a_key_what_is_known(
    home: Path, tmp_path: Path, model_server: ModelServer
) -> None:
    use_model(home, model_server, model={"api_key": FIRST})

    def models(*arguments: str) -> tuple[int, str, str]:
        words = [sys.executable, "-P", "-m", "acp_adapter", "models", *arguments]
        ran = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tmp_path, timeout=30)
        return ran.returncode, ran.stdout, ran.stderr

    code, out, err = models()
    assert (code, err) == (0, "")
    assert f"custom ({model_server.base_url}): 2 models\n" in out
    assert "* test-model" in out
    assert "  other-model" in out

    code, out, err = models("--provider", "openai")
    assert code == 0
    assert "models known without asking" in out
    assert "gpt-" in out
    assert "OPENAI_API_KEY" in err
