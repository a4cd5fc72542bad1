"""The whole server in memory: one loop, two pipes, a fake editor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from acp import run_agent

from acp_adapter.server import HermesACPAgent
from acp_adapter.startup import Greeting
from acp_adapter.transport import Transport
from agent_core.config import ConfigSource, Configuration
from agent_core.home import Home
from tests.support.editor import JETBRAINS, PLAIN, ZED, Editor, Frame, RpcError
from tests.support.editor_policies import never
from tests.support.in_memory import serving


@pytest.fixture
async def editor(home: Path) -> AsyncIterator[Editor]:
    async with serving(home) as made:
        yield made


async def _session(editor: Editor, workspace: Path, profile: dict[str, Any] = PLAIN) -> str:
    await editor.initialize(profile)
    return await editor.new_session(workspace)


@pytest.mark.parametrize("front_door", [True, False])
@pytest.mark.parametrize(("profile", "terminal"), [(ZED, True), (PLAIN, False), (JETBRAINS, False)])
async def test_terminals_are_shown_to_clients_that_offer_them_and_to_no_other(
    profile: dict[str, Any], terminal: bool, front_door: bool, home: Path, workspace: Path
) -> None:
    async with serving(home, front_door=front_door) as editor:
        session = await _session(editor, workspace, profile)
        assert (await editor.prompt(session, "run echo hello"))["stopReason"] == "end_turn"
        meta = [dict(update["_meta"]) for update in editor.updates(session) if "_meta" in update]
        names = [part.pop("tool_name") for part in meta if "tool_name" in part]
        ids = {next(iter(part.values()))["terminal_id"] for part in meta}
        (card,) = editor.cards(session).values()
    assert card["status"] == "completed"
    if terminal:
        assert names == ["terminal"]
        assert [next(iter(part)) for part in meta] == ["terminal_info", "terminal_output", "terminal_exit"]
        assert card["content"] == [{"type": "terminal", "terminalId": ids.pop()}]
    else:
        assert meta == []
        assert card["content"][0]["content"]["text"] == "```\nhello\n```\nexit code 0"


async def test_the_last_initialize_counts(editor: Editor, workspace: Path) -> None:
    await editor.initialize(ZED)
    session = await _session(editor, workspace, PLAIN)
    await editor.prompt(session, "run echo hello")  # the wire's rules allow no terminal now
    assert not any("_meta" in update for update in editor.updates(session))


async def test_updates_raised_while_a_session_opens_follow_its_answer(home: Path, workspace: Path) -> None:
    class Eager(HermesACPAgent):
        async def new_session(self, **params: Any) -> dict[str, Any]:
            opened: dict[str, Any] = await super().new_session(**params)
            await self.set_session_mode(mode_id="accept_edits", session_id=opened["sessionId"])
            for _ in range(20):
                await asyncio.sleep(0)
            return opened

    async def serve_eager(transport: Transport, config: ConfigSource, greeting: Greeting) -> None:
        transport.attach(asyncio.get_running_loop())
        agent = Eager(transport, config, greeting)
        await run_agent(agent, transport, use_unstable_protocol=True)  # type: ignore[arg-type]
        agent.shut_down()

    async with serving(home, server=serve_eager) as editor:
        session = await _session(editor, workspace)
        await editor.wait_for_update(session, "config_option_update")
        kinds = [frame.update.get("sessionUpdate") or frame.method for frame in editor.frames if not frame.ours]
    assert kinds == [None, None, "available_commands_update", "current_mode_update", "config_option_update"]


async def test_an_unexpected_failure_is_one_error_without_details_and_the_log_has_them(
    home: Path, workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(ConfigSource):
        def load(self) -> Configuration:
            raise ZeroDivisionError("my-secret")

    async with serving(home, config=Broken(Home(home))) as editor:
        await editor.initialize()
        for method, params in (
            ("session/new", {"cwd": str(workspace), "mcpServers": []}),
            ("authenticate", {"methodId": "hermes-configured"}),
        ):
            with pytest.raises(RpcError) as failed:
                await editor.request(method, params)
            assert failed.value.code == -32603
            assert "secret" not in json.dumps([failed.value.message, failed.value.data])
            assert "ZeroDivisionError: my-secret" in caplog.text
        assert (await editor.initialize())["protocolVersion"] == 1


async def test_two_prompts_run_one_after_the_other_and_each_shows_all_before_its_answer(
    editor: Editor, workspace: Path
) -> None:
    session = await _session(editor, workspace)
    turns = [editor.begin_prompt(session, f"say {word}\nrun echo {word}") for word in ("one", "two")]
    for turn in turns:
        assert (await editor.answer(turn))["stopReason"] == "end_turn"
    seen = [_told(frame) for frame in editor.frames if not frame.ours]
    assert [word for word in seen if word] == ["one", "end", "two", "end"]


def _told(frame: Frame) -> str:
    if frame.update.get("sessionUpdate") == "agent_message_chunk":
        word: str = frame.update["content"]["text"].strip()
        return word if word in ("one", "two") else ""
    return "end" if "stopReason" in (frame.message.get("result") or {}) else ""


async def test_sessions_do_not_wait_for_each_other(editor: Editor, workspace: Path) -> None:
    await editor.initialize()
    editor.on_permission = never
    waiting = [await editor.new_session(workspace) for _ in range(20)]
    turns = [editor.begin_prompt(session, "write new.txt x") for session in waiting]
    await editor.until(lambda: sum(frame.method == "session/request_permission" for frame in editor.frames) == 20)
    free = await editor.new_session(workspace)
    assert (await editor.prompt(free, "say hello"))["stopReason"] == "end_turn"
    for session in waiting:
        editor.cancel(session)
    assert {(await editor.answer(turn))["stopReason"] for turn in turns} == {"cancelled"}


async def test_a_cancel_request_right_behind_its_prompt_is_not_lost(editor: Editor, workspace: Path) -> None:
    session = await _session(editor, workspace)
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "say begun\nsleep 60"}]}
    lines = [
        {"jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": prompt},
        {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "p"}},
    ]
    editor.send_raw("".join(json.dumps(line) + "\n" for line in lines).encode())
    frame = await editor.wait_for(lambda frame: not frame.ours and frame.id == "p", 5)
    assert frame.message["result"] == {"stopReason": "cancelled"}
    assert (await editor.prompt(session, "say on"))["stopReason"] == "end_turn"


class TestClose:
    async def test_it_cancels_what_runs_and_what_waits_and_the_session_is_gone(
        self, editor: Editor, workspace: Path
    ) -> None:
        session = await _session(editor, workspace)
        turns = [editor.begin_prompt(session, "say begun\nsleep 60"), editor.begin_prompt(session, "say never")]
        await editor.wait_for_update(session, "agent_message_chunk")
        closing = editor.begin("session/close", {"sessionId": session})
        assert [(await editor.answer(turn))["stopReason"] for turn in turns] == ["cancelled"] * 2
        assert await editor.answer(closing) == {}
        assert "never" not in editor.text(session)
        with pytest.raises(RpcError, match="is closed") as gone:
            await editor.request("session/prompt", {"sessionId": session, "prompt": []})
        assert gone.value.code == -32002
        assert await editor.request("session/close", {"sessionId": session}) == {}

    async def test_other_sessions_go_on(self, editor: Editor, workspace: Path) -> None:
        first = await _session(editor, workspace)
        second = await editor.new_session(workspace)
        await editor.request("session/close", {"sessionId": first})
        assert (await editor.prompt(second, "say hello"))["stopReason"] == "end_turn"


class TestModes:
    async def test_a_mode_set_either_way_is_told_both_ways(self, editor: Editor, workspace: Path) -> None:
        session = await _session(editor, workspace)
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        await editor.wait_for_update(session, "current_mode_update", currentModeId="accept_edits")
        params = {"sessionId": session, "configId": "mode", "value": "default"}
        answer = await editor.request("session/set_config_option", params)
        assert [option["currentValue"] for option in answer["configOptions"] if option["id"] == "mode"] == ["default"]
        await editor.wait_for_update(session, "current_mode_update", currentModeId="default")
        options = [update["configOptions"][0] for update in editor.updates(session, "config_option_update")]
        assert options[0]["currentValue"] == "accept_edits"

    async def test_a_mode_holds_at_once(self, editor: Editor, workspace: Path) -> None:
        session = await _session(editor, workspace)
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        await editor.prompt(session, "write new.txt x")
        assert (workspace / "new.txt").exists()
        assert not any(frame.method == "session/request_permission" for frame in editor.frames)

    @pytest.mark.parametrize(
        ("method", "params"),
        [
            ("session/set_mode", {"modeId": "nonsense"}),
            ("session/set_config_option", {"configId": "nonsense", "value": "default"}),
            ("session/set_config_option", {"configId": "mode", "value": "nonsense"}),
            ("session/set_config_option", {"configId": "mode", "type": "boolean", "value": True}),
        ],
    )
    async def test_what_does_not_exist_is_refused(
        self, method: str, params: dict[str, Any], editor: Editor, workspace: Path
    ) -> None:
        session = await _session(editor, workspace)
        with pytest.raises(RpcError) as refused:
            await editor.request(method, {"sessionId": session, **params})
        assert refused.value.code == -32602
        assert {update["sessionUpdate"] for update in editor.updates(session)} <= {"available_commands_update"}


async def test_signing_in_works_with_the_one_method_there_is(editor: Editor) -> None:
    await editor.initialize()
    assert await editor.request("authenticate", {"methodId": "hermes-configured"}) == {}
    with pytest.raises(RpcError) as refused:
        await editor.request("authenticate", {"methodId": "other"})
    assert refused.value.code == -32602


@pytest.mark.parametrize("front_door", [True, False])
async def test_a_client_can_do_the_same_whoever_answers_its_initialize(
    front_door: bool, home: Path, workspace: Path
) -> None:
    """The front door, or the server, whose SDK drops the capabilities that it does not know."""
    async with serving(home, front_door=front_door) as editor:
        await editor.initialize(PLAIN, session={"notices": {}})
        session = await editor.new_session(workspace)
        turn = editor.begin_prompt(session, "run until [ -e go ]; do sleep 0.01; done")
        await editor.wait_for_update(session, "tool_call_update", status="in_progress")
        await editor.prompt(session, "/steer go on")
        assert len(editor.updates(session, "notice")) == 1
        (workspace / "go").touch()
        await turn
