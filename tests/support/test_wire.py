"""The rules of the wire notice what breaks them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.each import each
from tests.support.editor_profiles import JETBRAINS, PLAIN, ZED
from tests.support.wire import WireInvariants, WireViolation, check_outgoing, parse_line

SESSION = "s1"
TERMINAL = {"terminal_id": "t1", "cwd": "/w"}
FORM = {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
BOOLEAN = {"id": "b", "name": "B", "type": "boolean", "currentValue": True}


class Conversation:
    """Writes both sides; what the agent says goes through the invariants."""

    def __init__(self, capabilities: dict[str, Any] = PLAIN) -> None:
        self.wire = WireInvariants()
        self.next_id = 0
        self.asked = 0
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}, {"protocolVersion": 1})

    def ask(self, method: str, params: Any = None) -> int:
        self.next_id += 1
        self.wire.sent({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params or {}})
        return self.next_id

    def call(self, method: str, params: Any, result: Any) -> None:
        self.answer(self.ask(method, params), result)

    def answer(self, request_id: int, result: Any) -> None:
        self.wire.received({"jsonrpc": "2.0", "id": request_id, "result": result})

    def refuse(self, request_id: Any, code: int = -32603, message: str = "It failed.") -> None:
        error = {"code": code, "message": message}
        self.wire.received({"jsonrpc": "2.0", "id": request_id, "error": error})

    def update(self, variant: str, /, **fields: Any) -> None:
        params = {"sessionId": SESSION, "update": {"sessionUpdate": variant, **fields}}
        self.wire.received({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def agent_asks(self, method: str, params: dict[str, Any]) -> int:
        self.asked += 1
        message = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": {"sessionId": SESSION, **params}}
        self.wire.received(message)
        return self.asked

    def permission(self, call_id: str, **fields: Any) -> None:
        options = [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]
        tool_call = {"toolCallId": call_id, **fields}
        self.agent_asks("session/request_permission", {"toolCall": tool_call, "options": options})

    def text(self, text: str = "hi") -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def card(self, call_id: str = "c1", **fields: Any) -> None:
        self.update("tool_call", toolCallId=call_id, title="Read a.py", **fields)

    def change(self, call_id: str = "c1", **fields: Any) -> None:
        self.update("tool_call_update", toolCallId=call_id, **fields)


def in_turn(capabilities: dict[str, Any] = PLAIN) -> tuple[Conversation, int]:
    talk = Conversation(capabilities)
    talk.call("session/new", {"cwd": "/w", "mcpServers": []}, {"sessionId": SESSION})
    return talk, talk.ask("session/prompt", {"sessionId": SESSION, "prompt": []})


def end(talk: Conversation, prompt: int) -> None:
    talk.answer(prompt, {"stopReason": "end_turn"})


def test_a_whole_turn_passes():
    talk, prompt = in_turn(ZED)
    talk.text()
    talk.card(kind="execute", content=[{"type": "terminal", "terminalId": "t1"}], _meta={"terminal_info": TERMINAL})
    talk.permission("c1")
    talk.change(status="in_progress", _meta={"terminal_output": {"terminal_id": "t1", "data": "x"}})
    talk.change(status="completed", locations=[{"path": "/w/a.py", "line": 3}])
    end(talk, prompt)
    talk.update("session_info_update", title=None)
    talk.update("usage_update", used=10, size=100)
    assert talk.wire.unanswered == []


@pytest.mark.parametrize("line", [b"hello", b"[1, 2]", b'{"a": 1} {"b": 2}', b'{"a": "\xff"}', b""])
def test_a_line_must_be_one_json_object(line):
    with pytest.raises(WireViolation, match="no JSON"):
        parse_line(line)


@each(
    ("frame", "message"),
    [
        ({"id": 1, "result": {}}, "jsonrpc"),
        ({"jsonrpc": "2.0", "id": 1}, "either a result or an error"),
        ({"jsonrpc": "2.0", "result": {}}, "without an id"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "a\nb"}}, "one line"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": " "}}, "needs a message"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "a"}}, "integer"),
        ({"jsonrpc": "2.0", "method": "session/state", "params": {}}, "no client knows"),
        ({"jsonrpc": "2.0", "method": "session/request_permission", "params": {}}, "needs an id"),
        ({"jsonrpc": "2.0", "id": 1, "method": "session/update", "params": {}}, "has no id"),
        ({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s"}}, "does not fit"),
        ({"jsonrpc": "2.0", "id": 1, "result": None, "extra": 1}, "unknown fields"),
    ],
)
def test_a_message_must_be_well_formed(frame, message):
    with pytest.raises(WireViolation, match=message):
        check_outgoing(frame)


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("session/prompt", {"stopReason": "tired"}),
        ("session/new", {"sessionId": "s", "configOptions": [{"id": "x"}]}),
        ("session/new", {"sessionId": "s", "colour": "red"}),
        ("session/list", {"sessions": [{"sessionId": "s"}]}),
        ("session/load", None),
        ("initialize", {"protocolVersion": 1, "agentCapabilities": {"loadSession": "perhaps"}}),
    ],
)
def test_an_answer_that_the_schema_would_repair_is_noticed(method, result):
    with pytest.raises(WireViolation):
        check_outgoing({"jsonrpc": "2.0", "id": 1, "result": result}, method)


def test_an_unknown_field_is_named_with_its_place():
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "locations": [{"path": "/a", "row": 1}]}
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": call}}
    with pytest.raises(WireViolation, match=r"update\.locations\[0\]\.row=1"):
        check_outgoing(frame)


def test_no_update_before_the_session_is_known():
    talk = Conversation()
    talk.ask("session/new", {"cwd": "/w", "mcpServers": []})
    with pytest.raises(WireViolation, match="does not know"):
        talk.update("available_commands_update", availableCommands=[])


def test_no_update_after_the_session_is_closed():
    talk, prompt = in_turn()
    end(talk, prompt)
    talk.call("session/close", {"sessionId": SESSION}, {})
    with pytest.raises(WireViolation, match="does not know"):
        talk.update("usage_update", used=1, size=2)


def test_no_text_after_the_prompt_is_answered():
    talk, prompt = in_turn()
    end(talk, prompt)
    with pytest.raises(WireViolation, match="outside of a turn"):
        talk.text()


def test_the_replay_of_a_load_is_a_turn_of_its_own():
    talk = Conversation()
    load = talk.ask("session/load", {"sessionId": SESSION, "cwd": "/w", "mcpServers": []})
    talk.text()
    talk.card(status="completed")
    talk.answer(load, {})
    with pytest.raises(WireViolation, match="outside of a turn"):
        talk.text()


def test_a_resume_replays_nothing():
    talk = Conversation()
    talk.ask("session/resume", {"sessionId": SESSION, "cwd": "/w", "mcpServers": []})
    with pytest.raises(WireViolation, match="outside of a turn"):
        talk.text()


def test_a_failed_load_leaves_a_known_session_known():
    talk, prompt = in_turn()
    end(talk, prompt)
    talk.refuse(talk.ask("session/load", {"sessionId": SESSION, "cwd": "/w", "mcpServers": []}))
    talk.update("usage_update", used=1, size=2)


def test_a_second_load_may_show_the_same_tool_calls_again():
    talk, prompt = in_turn()
    talk.card(status="completed")
    end(talk, prompt)
    load = talk.ask("session/load", {"sessionId": SESSION, "cwd": "/w", "mcpServers": []})
    talk.card(status="completed")
    talk.answer(load, {})


def test_a_load_while_a_turn_runs_leaves_its_tool_calls_until_it_is_refused_or_the_turn_is_over():
    load = {"sessionId": SESSION, "cwd": "/w", "mcpServers": []}
    talk, prompt = in_turn()
    talk.card(status="in_progress")
    refused = talk.ask("session/load", load)
    talk.change(status="completed")
    talk.refuse(refused)
    accepted = talk.ask("session/load", load)
    end(talk, prompt)
    talk.card(status="completed")
    talk.answer(accepted, {})


def test_a_refused_second_prompt_leaves_the_first_turn_running():
    talk, prompt = in_turn()
    talk.card()
    talk.refuse(talk.ask("session/prompt", {"sessionId": SESSION, "prompt": []}))
    talk.change(status="completed")
    end(talk, prompt)


@each(
    ("breach", "message"),
    [
        (lambda talk: talk.card() or talk.card(), "second tool_call"),
        (lambda talk: talk.change(), "before its tool_call"),
        (lambda talk: talk.card(status="in_progress") or talk.change(status="pending"), "in_progress to pending"),
        (lambda talk: talk.card(status="failed") or talk.change(status="completed"), "failed to completed"),
        (lambda talk: talk.card(status="completed") or talk.change(status="in_progress"), "completed to in_progress"),
        (lambda talk: talk.permission("c9"), "never shown"),
        (lambda talk: talk.card(status="completed") or talk.permission("c1"), "permission request for the completed"),
        (lambda talk: talk.card(locations=[{"path": "a.py"}]), "not an absolute path"),
        (lambda talk: talk.card(locations=[{"path": "/a.py", "line": 0}]), "count from 1"),
        (lambda talk: talk.card(content=[{"type": "diff", "path": "a.py", "newText": ""}]), "not an absolute path"),
        (lambda talk: talk.card(content=[{"type": "terminal", "terminalId": "t9"}]), "neither created"),
        (lambda talk: talk.card(_meta={"terminal_info": TERMINAL}), "did not advertise terminal_output"),
        (lambda talk: talk.agent_asks("fs/read_text_file", {"path": "/a"}), r"advertise fs\.readTextFile"),
        (lambda talk: talk.agent_asks("terminal/create", {"command": "ls"}), "advertise terminal"),
        (lambda talk: talk.agent_asks("elicitation/create", FORM), r"advertise elicitation\.form"),
        (lambda talk: talk.update("plan_removed", planId="p"), "capability plan"),
        (lambda talk: talk.refuse(77), "no request that waits"),
        (lambda talk: talk.update("config_option_update", configOptions=[BOOLEAN]), "boolean options"),
    ],
)
def test_within_a_turn(breach: Callable[[Conversation], object], message: str):
    talk, _ = in_turn()
    with pytest.raises(WireViolation, match=message):
        breach(talk)


def test_a_request_is_answered_once():
    talk, prompt = in_turn()
    end(talk, prompt)
    with pytest.raises(WireViolation, match="no request that waits"):
        end(talk, prompt)


def test_a_parse_error_answers_no_request():
    talk = Conversation()
    talk.refuse(None, -32700, "Parse error")


def test_a_request_without_a_method_may_be_refused_by_its_id():
    talk = Conversation()
    talk.wire.sent({"jsonrpc": "2.0", "id": 9})
    talk.refuse(9, -32600, "Invalid request")


def test_a_prompt_is_not_answered_while_tool_calls_are_open():
    talk, prompt = in_turn()
    talk.card(status="in_progress")
    with pytest.raises(WireViolation, match="tool calls were open"):
        end(talk, prompt)


def test_a_terminal_is_alone_in_its_content():
    talk, _ = in_turn(JETBRAINS)
    request_id = talk.agent_asks("terminal/create", {"command": "ls"})
    talk.wire.sent({"jsonrpc": "2.0", "id": request_id, "result": {"terminalId": "t1"}})
    terminal = {"type": "terminal", "terminalId": "t1"}
    talk.card(content=[terminal])
    with pytest.raises(WireViolation, match="not alone"):
        talk.change(content=[terminal, {"type": "content", "content": {"type": "text", "text": "x"}}])


def test_the_agent_uses_a_request_id_once():
    talk, _ = in_turn()
    talk.card()
    talk.permission("c1")
    talk.asked = 0
    with pytest.raises(WireViolation, match="twice"):
        talk.permission("c1")


@pytest.mark.parametrize(
    "method",
    [
        {"id": "t", "name": "T", "type": "terminal", "args": ["--setup"]},
        {"id": "a", "name": "A", "_meta": {"terminal-auth": {"label": "Sign in", "command": "x"}}},
    ],
)
def test_sign_in_at_a_terminal_is_offered_only_to_editors_that_can(method):
    Conversation(ZED).call("initialize", {"clientCapabilities": ZED}, {"protocolVersion": 1, "authMethods": [method]})
    talk = Conversation()
    with pytest.raises(WireViolation, match="terminal"):
        talk.call("initialize", {"clientCapabilities": PLAIN}, {"protocolVersion": 1, "authMethods": [method]})
