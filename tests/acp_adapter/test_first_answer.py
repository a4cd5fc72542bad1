"""What a new session's choices were last time: what they come from, when they count, and that they are made good."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.options import mode_state
from acp_adapter.startup import FILE_NAME, FirstAnswer, Greeting, ServerOptions, Shown, greet, looked_again
from agent_core.config import ConfigSource, Configuration, Overrides, load
from agent_core.home import Home
from agent_core.providers.sign_out import SignedOut
from tests.support.agent_end import RawClient, raw_client
from tests.support.editor_host import RpcError
from tests.support.in_memory import serving
from tests.support.settings_files import configure
from tests.support.waiting import wait_until

_PLAIN = ClientCapabilities()
_SHOWN = Shown({"modes": {"currentModeId": "default"}, "configOptions": [{"id": "model"}]}, editor_terminals=False)
_OFFLINE = ServerOptions(model="offline", provider="offline")
_INITIALIZE = {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


def _memory(home: Path, options: ServerOptions = _OFFLINE, **environ: str) -> FirstAnswer:
    return FirstAnswer(Home(home), options, environ)


def _offline(home: Path) -> Configuration:
    return load(Home(home), Overrides("offline", "offline"), {})


def _never() -> Configuration:
    raise AssertionError("the settings are not needed yet")


def _new(cwd: Path | str) -> dict[str, Any]:
    return {"id": 2, "method": "session/new", "params": {"cwd": str(cwd), "mcpServers": []}}


def test_what_was_shown_is_known_to_the_next_process(home: Path) -> None:
    assert _memory(home).recall(_PLAIN) is None
    _memory(home).keep(_PLAIN, _SHOWN)
    assert _memory(home, PATH="/bin", VSCODE_AUTH="another at each start").recall(_PLAIN) == _SHOWN
    assert (home / FILE_NAME).stat().st_mode & 0o777 == 0o600


def _put_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda home: configure(home, {"model": {"default": "another"}}),
        lambda home: (home / ".env").write_text("OPENAI_API_KEY=new\n"),
        lambda home: (home / "model-lists.json").write_text("{}"),
        lambda home: (home / "oauth_tokens.json").write_text("{}"),
        lambda home: SignedOut(Home(home)).mark(),
        lambda home: (home / FILE_NAME).write_text('{"answers": {'),
        lambda home: (home / FILE_NAME).write_text('{"answers": []}'),
        lambda home: (home / FILE_NAME).write_text("[" * 100_000),
        lambda home: _put_a_pipe(home / FILE_NAME),
        lambda home: os.truncate(home / FILE_NAME, 1 << 30),
    ],
    ids=["settings", "keys", "lists of models", "sign-ins", "signed out", "a torn file", "a file of another kind",
         "a deep file", "a pipe", "a huge file"],
)  # fmt: skip
def test_it_does_not_count_after_a_change_of(change: Callable[[Path], object], home: Path) -> None:
    _memory(home).keep(_PLAIN, _SHOWN)
    change(home)
    assert _memory(home).recall(_PLAIN) is None


def test_it_does_not_count_for_another_client_command_line_or_environment(home: Path) -> None:
    _memory(home).keep(_PLAIN, _SHOWN)
    others = {
        "client": _memory(home).recall(ClientCapabilities(terminals=True)),
        "command line": _memory(home, ServerOptions(model="m", provider="ollama")).recall(_PLAIN),
        "a key": _memory(home, OPENAI_API_KEY="sk-1").recall(_PLAIN),
        "the model": _memory(home, HERMES_MODEL="m").recall(_PLAIN),
    }
    assert others == dict.fromkeys(others)


def test_no_key_stands_in_the_file(home: Path) -> None:
    _memory(home, OPENAI_API_KEY="sk-canary-12345").keep(_PLAIN, _SHOWN)
    assert "canary" not in (home / FILE_NAME).read_text()
    assert _memory(home, OPENAI_API_KEY="sk-another").recall(_PLAIN) == _SHOWN, "that there is one is what counts"


def test_each_editor_has_its_own_and_the_oldest_go(home: Path) -> None:
    clients = [ClientCapabilities(*(bool(number >> bit & 1) for bit in range(4))) for number in range(10)]
    for each in clients:
        _memory(home).keep(each, _SHOWN)
    known = [_memory(home).recall(each) is not None for each in clients]
    assert known == [False] * 2 + [True] * 8


def test_a_home_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _memory(tmp_path / "file").keep(_PLAIN, _SHOWN)
    assert _memory(tmp_path / "file").recall(_PLAIN) is None


def test_the_second_start_answers_the_same_without_the_settings(
    client: RawClient, home: Path, tmp_path: Path
) -> None:
    memory = _memory(home)
    client.send(_INITIALIZE, _new(tmp_path))
    first = greet(client.transport, lambda: _offline(home), memory)
    told = [client.read(), client.read()][1]["result"]
    assert not looked_again(first, _offline(home))
    with raw_client() as again:
        again.send(_INITIALIZE, _new(tmp_path))
        second = greet(again.transport, _never, memory)
        retold = [again.read(), again.read()][1]["result"]
    assert {**told, "sessionId": ""} == {**retold, "sessionId": ""}
    assert first.seed is not None
    assert second.seed is not None
    assert second.seed.choices == first.seed.choices
    assert second.seed.session_id != first.seed.session_id


def test_a_place_that_is_not_there_is_refused_as_ever(client: RawClient, home: Path) -> None:
    _memory(home).keep(_PLAIN, _SHOWN)
    client.send(_INITIALIZE, _new("/no/such/place"))
    assert greet(client.transport, _never, _memory(home)).seed is None
    assert "/no/such/place" in [client.read(), client.read()][1]["error"]["message"]


def test_that_nobody_is_asked_is_never_remembered(client: RawClient, home: Path, tmp_path: Path) -> None:
    configure(home, {"approvals": {"mode": "off"}})
    client.send(_INITIALIZE, _new(tmp_path))
    greeting = greet(client.transport, lambda: _offline(home), _memory(home))
    assert greeting.seed is not None
    assert greeting.seed.choices.mode == "dont_ask"
    assert not looked_again(greeting, _offline(home))
    assert not (home / FILE_NAME).exists()


def test_where_a_project_alone_has_questions_asked_nothing_is_remembered_for_others(
    client: RawClient, home: Path, tmp_path: Path
) -> None:
    configure(home, {"approvals": {"mode": "off"}})
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "config.yaml").write_text("approvals: {mode: all}\n")
    _memory(home).keep(_PLAIN, _SHOWN)  # as former versions did
    client.send(_INITIALIZE, _new(tmp_path))
    greeting = greet(client.transport, lambda: _offline(home), _memory(home, MODEL="another"))
    assert greeting.seed is not None
    assert greeting.seed.choices.mode == "default"
    greeting.memory = _memory(home)
    looked_again(greeting, _offline(home))
    assert _memory(home).recall(_PLAIN) is None


def test_the_second_answer_from_memory_is_the_same_for_a_look_at_the_settings(home: Path, tmp_path: Path) -> None:
    for configured in (lambda: _offline(home), _never):
        with raw_client() as client:
            client.send(_INITIALIZE, _new(tmp_path))
            greeting = greet(client.transport, configured, _memory(home))
        assert not looked_again(greeting, _offline(home))


async def test_a_session_without_a_model_is_told_with_its_prompt_and_by_the_next_start_at_once(
    home: Path, workspace: Path
) -> None:
    old = Shown({"modes": mode_state("default"), "configOptions": []}, editor_terminals=False)

    def remembering(config: Any) -> FirstAnswer:
        memory = FirstAnswer(config.home, _OFFLINE)
        memory.keep(_PLAIN, old)
        return memory

    settings = ConfigSource(Home(home))
    async with serving(home, config=settings, front_door=True, memory=remembering) as editor:
        await editor.initialize({})
        session = await editor.new_session(workspace)
        with pytest.raises(RpcError, match="no model is configured"):
            await editor.prompt(session, "hello")
        await asyncio.to_thread(wait_until, lambda: FirstAnswer(Home(home), _OFFLINE).recall(_PLAIN) is None)


async def test_a_client_that_was_told_what_is_not_so_any_more_is_told_anew(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "agent_core.compaction.tokens", None)  # also where loading ahead fails
    old = Shown({"modes": mode_state("default"), "configOptions": []}, editor_terminals=False)

    def remembering(config: Any) -> FirstAnswer:
        memory = FirstAnswer(config.home, _OFFLINE)
        memory.keep(_PLAIN, old)
        return memory

    async with serving(home, front_door=True, memory=remembering) as editor:
        await editor.initialize({})
        session = await editor.new_session(workspace)
        await editor.wait_for_update(session, "config_option_update")
        options = editor.updates(session, "config_option_update")[-1]["configOptions"]
    assert [option["id"] for option in options][:2] == ["mode", "model"]
    (kept,) = json.loads((home / FILE_NAME).read_text())["answers"].values()
    assert kept["configOptions"] == options


def test_a_session_that_cannot_be_opened_any_more_is_not_remembered(home: Path) -> None:
    assert not looked_again(Greeting(memory=_memory(home)), _offline(home))
    assert not (home / FILE_NAME).exists()
