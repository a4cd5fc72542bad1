"""The TypeScript SDK's client, which checks every message against the schema, can do everything with the agent."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.foreign.programs import EVERYTHING, HERE, OFFLINE, SERVER, run
from tests.support.model_server import ModelServer, Reply
from tests.support.settings_files import use_model

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]

Seen = dict[str, Any]
Drive = Callable[..., Seen]

FULL: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    "elicitation": {"form": {}, "url": {}},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}
PIXEL = base64.b64encode(
    bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")
    + bytes.fromhex("0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082")
).decode()


@pytest.fixture
def drive(node: str, workspace: Path) -> Drive:
    """`drive(steps, …)`: the client goes through the steps with an agent in the workspace."""

    def go(*steps: list[Any], agent: tuple[str, ...] = OFFLINE, **plan: Any) -> Seen:
        planned = json.dumps({"cwd": str(workspace), "steps": steps, **plan})
        ran = run(node, str(HERE / "typescript_client.mjs"), planned, *agent, cwd=workspace)
        assert ran.returncode == 0, ran.stderr
        assert not ran.stderr
        seen: Seen = json.loads(ran.stdout)
        assert seen["exitCode"] == 0
        return seen

    return go


def prompt(*lines: str) -> list[Any]:
    return ["prompt", said(*lines)]


def said(*lines: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": "\n".join(lines)}]


def set_option(option: str, value: str | bool) -> list[Any]:
    kind = {"type": "boolean"} if isinstance(value, bool) else {}
    return ["call", "session/set_config_option", {"configId": option, "value": value, **kind}]


def text(seen: Seen, kind: str = "agent_message_chunk") -> str:
    return "".join(update["content"]["text"] for update in seen["updates"] if update["sessionUpdate"] == kind)


def cards(seen: Seen) -> list[dict[str, Any]]:
    """The tool calls as they ended, in order."""
    found: dict[str, dict[str, Any]] = {}
    for update in seen["updates"]:
        if "toolCallId" in update:
            found.setdefault(update["toolCallId"], {}).update(update)
    return list(found.values())


def values(result: dict[str, Any]) -> dict[str, Any]:
    return {option["id"]: option["currentValue"] for option in result["configOptions"]}


@pytest.mark.parametrize(
    "capabilities", [pytest.param({}, marks=pytest.mark.slow, id="minimal"), pytest.param(FULL, id="full")]
)
def test_an_edit_that_is_allowed_is_made(drive: Drive, workspace: Path, capabilities: dict[str, Any]) -> None:
    link = {"type": "resource_link", "name": "README.md", "uri": (workspace / "README.md").as_uri()}
    asked = ["prompt", [*said("edit sums.py a - b => a + b", "todo Look; Mend", "say Done."), link]]
    seen = drive(["new"], asked, capabilities=capabilities)
    assert seen["initialize"]["protocolVersion"] == 1
    assert seen["results"][-1]["stopReason"] == "end_turn"
    assert [question["title"] for question in seen["permissions"]] == ["Edit sums.py"]
    assert (workspace / "sums.py").read_text(encoding="utf-8") == "def add(a, b):\n    return a + b\n"
    kinds = {update["sessionUpdate"] for update in seen["updates"]}
    assert kinds >= {"tool_call", "tool_call_update", "plan", "available_commands_update", "agent_message_chunk"}
    assert {call.split("/")[0] for call in seen["calls"]} == ({"fs"} if capabilities else set())


@pytest.mark.slow
def test_an_edit_that_is_rejected_is_not_made(drive: Drive, workspace: Path) -> None:
    before = (workspace / "sums.py").read_bytes()
    seen = drive(["new"], prompt("edit sums.py a - b => a + b", "say On."), permit="reject_once")
    assert seen["results"][-1]["stopReason"] == "end_turn"
    (card,) = cards(seen)
    assert card["status"] == "failed"
    assert (workspace / "sums.py").read_bytes() == before


@pytest.mark.slow
def test_a_session_is_listed_and_loaded_with_everything_that_was_shown(drive: Drive) -> None:
    blocks = [*said("read README.md", "say done"), {"type": "image", "mimeType": "image/png", "data": PIXEL}]
    first = drive(["new"], ["prompt", blocks])
    second = drive(["list"], ["load"], prompt("say Again."))
    listed, loaded, answered = second["results"]
    assert [session["sessionId"] for session in listed["sessions"]] == [first["results"][0]["sessionId"]]
    assert listed["sessions"][0]["title"]
    replayed = second["updates"][: loaded["updatesBy"]]
    kinds = [update["sessionUpdate"] for update in replayed]
    assert {"user_message_chunk", "tool_call", "agent_message_chunk", "session_info_update"} <= set(kinds)
    assert PIXEL in [update["content"].get("data") for update in replayed if "messageId" in update]
    assert answered["stopReason"] == "end_turn"


@pytest.mark.slow
def test_options_are_set_answered_whole_and_kept(drive: Drive, home: Path, model_server: ModelServer) -> None:
    model_server.add(Reply(text="Hello."))
    use_model(home, model_server)
    first = drive(
        ["new"],
        set_option("mode", "accept_edits"),
        set_option("thoughts", False),
        set_option("mode", "no such mode"),
        prompt("Hello?"),
        agent=SERVER,
        capabilities=FULL,
    )
    new, mode, thoughts, wrong, _ = first["results"]
    assert values(new)["mode"] == "default"
    assert values(mode) == {**values(new), "mode": "accept_edits"}
    assert values(thoughts) == {**values(mode), "thoughts": False}
    assert wrong["error"]["code"] == -32602
    second = drive(["load"], agent=SERVER, capabilities=FULL)
    assert values(second["results"][0]) == values(thoughts)
    assert second["results"][0]["modes"]["currentModeId"] == "accept_edits"


@pytest.mark.slow
def test_another_model_answers_from_the_next_prompt_on(drive: Drive, home: Path, model_server: ModelServer) -> None:
    model_server.add(Reply(text="One."), Reply(text="Two."))
    use_model(home, model_server)
    seen = drive(["new"], prompt("First?"), ["prompt", said("/model other-model")], prompt("Second?"), agent=SERVER)
    assert text(seen).count("One.") == text(seen).count("Two.") == 1
    chosen = [request.body["model"] for request in model_server.requests]
    assert (chosen[0], chosen[-1]) == ("test-model", "other-model")
    announced = [update for update in seen["updates"] if update["sessionUpdate"] == "config_option_update"]
    assert values(announced[-1])["model"].endswith("other-model")


@pytest.mark.slow
def test_a_command_shows_its_output_while_it_runs(drive: Drive) -> None:
    seen = drive(["new"], prompt("run echo out; echo err >&2"), capabilities=FULL)
    meta = [update["_meta"] for update in seen["updates"] if update.get("_meta")]
    shown = "".join(each["terminal_output"]["data"] for each in meta if "terminal_output" in each)
    assert sorted(shown.splitlines()) == ["err", "out"]
    assert [each["terminal_exit"]["exit_code"] for each in meta if "terminal_exit" in each] == [0]


@pytest.mark.slow
def test_a_command_runs_in_the_editors_terminal_where_that_is_chosen(drive: Drive) -> None:
    steps = (["new"], set_option("editor_terminals", value=True), prompt("run echo hello"))
    seen = drive(*steps, capabilities=FULL)
    assert next(call for call in seen["calls"] if call.startswith("terminal/")) == "terminal/create"
    assert seen["calls"][-1] == "terminal/release"
    (card,) = cards(seen)
    assert card["status"] == "completed"
    assert "terminal-1" in json.dumps([update.get("content") for update in seen["updates"]])


@pytest.mark.slow
def test_the_editors_unsaved_text_is_read_and_written(drive: Drive, workspace: Path) -> None:
    path = workspace / "sums.py"
    unsaved = path.read_text(encoding="utf-8") + "\n\nUNSAVED = True\n"
    seen = drive(
        ["new"],
        prompt("read sums.py", "edit sums.py a - b => a + b"),
        capabilities=FULL,
        buffers={str(path): unsaved},
    )
    read, edited = cards(seen)
    assert "UNSAVED" in json.dumps(read["content"])
    assert edited["status"] == "completed"
    assert path.read_text(encoding="utf-8") == unsaved.replace("a - b", "a + b")
    assert "fs/write_text_file" in seen["calls"]


@pytest.mark.slow
def test_a_running_command_is_cancelled_and_the_session_goes_on(drive: Drive) -> None:
    seen = drive(["new"], ["cancelled", said("run sleep 30")], prompt("say Still here."))
    _, cancelled, after = seen["results"]
    assert cancelled["stopReason"] == "cancelled"
    assert [card["status"] for card in cards(seen)] == ["failed"]
    assert after["stopReason"] == "end_turn"
    assert "Still here." in text(seen)


@pytest.mark.slow
def test_a_question_is_asked_in_a_form_and_its_answer_used(drive: Drive) -> None:
    ask = 'call clarify {"question": "Which colour?", "choices": ["red", "blue"]}'
    seen = drive(["new"], prompt(ask), capabilities=FULL, answer={"action": "accept", "content": {"answer": "blue"}})
    (question,) = seen["questions"]
    assert (question["mode"], question["message"]) == ("form", "Which colour?")
    assert question["toolCallId"] == cards(seen)[0]["toolCallId"]
    assert "blue" in json.dumps(cards(seen)[0])


@pytest.mark.slow
def test_without_forms_the_question_is_text(drive: Drive) -> None:
    seen = drive(["new"], prompt('call clarify {"question": "Which colour?", "choices": ["red", "blue"]}'))
    assert not seen["questions"]
    assert all(word in text(seen) for word in ("Which colour?", "red", "blue"))


@pytest.mark.slow
def test_a_slash_command_is_answered_without_a_model(drive: Drive) -> None:
    seen = drive(["new"], prompt("/help"))
    (offered,) = (u for u in seen["updates"] if u["sessionUpdate"] == "available_commands_update")
    assert all(f"/{command['name']}" in text(seen) for command in offered["availableCommands"])


@pytest.mark.slow
def test_an_image_reaches_the_model(drive: Drive, home: Path, model_server: ModelServer) -> None:
    model_server.add(Reply(text="A pixel."))
    use_model(home, model_server)
    blocks = [*said("What is this?"), {"type": "image", "mimeType": "image/png", "data": PIXEL}]
    seen = drive(["new"], ["prompt", blocks], agent=SERVER)
    assert seen["results"][-1]["stopReason"] == "end_turn"
    assert PIXEL in json.dumps(model_server.requests[0].body)


@pytest.mark.slow
def test_a_server_of_the_editor_is_called_when_that_is_allowed(drive: Drive, node: str) -> None:
    if not EVERYTHING.exists():
        pytest.skip("the Node MCP server is not installed: run `make node-clients`")
    server = {"name": "everything", "command": node, "args": [str(EVERYTHING.resolve()), "stdio"], "env": []}
    call = prompt('call mcp__everything__echo {"message": "hello"}')
    seen = drive(["new"], ["connected"], call, mcpServers=[server])
    assert len(seen["permissions"]) == 1
    (card,) = cards(seen)
    assert card["status"] == "completed"
    assert "Echo: hello" in json.dumps(card)


@pytest.mark.slow
def test_a_server_that_cannot_start_is_named_and_the_session_works(drive: Drive) -> None:
    server = {"name": "nowhere", "command": "/nowhere/mcp-server", "args": [], "env": []}
    seen = drive(["new"], ["connected"], prompt("say Here."), mcpServers=[server])
    assert [result.get("stopReason") for result in seen["results"][1:]] == ["end_turn", "end_turn"]
    assert "Here." in text(seen)
    assert "nowhere" in text(seen)
