"""The rules of the wire notice what breaks them, and nothing else, at both places where messages are followed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.each import each
from tests.support.editor_profiles import MINIMAL, PLAIN, ZED
from tests.support.wire import WireInvariants, WireRules, WireViolation, check_outgoing, parse_line

SESSION = "s1"
Message = dict[str, Any]
Said = tuple[str, Message]

_TERMINAL = {"type": "terminal", "terminalId": "t"}
_DIFF = {"type": "diff", "path": "/srv/a.py", "oldText": None, "newText": "x"}
_INFO = {"terminal_info": {"terminal_id": "t", "cwd": "/srv"}}


def _asks(request_id: int, method: str, **params: Any) -> Said:
    return "editor", {"id": request_id, "method": method, "params": params}


def _answers(request_id: int, result: Any = None, **error: Any) -> Said:
    return "agent", {"id": request_id, **({"error": error} if error else {"result": result or {}})}


def _tells(kind: str, session: str = "s", **update: Any) -> Said:
    return "agent", {
        "method": "session/update",
        "params": {"sessionId": session, "update": {"sessionUpdate": kind, **update}},
    }


def _calls(method: str, request_id: int = 0, **params: Any) -> Said:
    return "agent", {"id": request_id, "method": method, "params": {"sessionId": "s", **params}}


def _card(status: str = "pending", call: str = "c", **more: Any) -> Said:
    return _tells("tool_call", toolCallId=call, title="A call", status=status, **more)


def _goes_on(call: str = "c", **more: Any) -> Said:
    return _tells("tool_call_update", toolCallId=call, **more)


def _past(*said: Said) -> list[Said]:
    """What is told again because of a load, from its first word to its last."""
    return [*(("past", message) for _, message in said), ("past over", {"whole": True})]


def _greeting(profile: Message) -> list[Said]:
    return [_asks(1, "initialize", clientCapabilities=profile), _answers(1, {"protocolVersion": 1})]


OPENED = [_asks(2, "session/new", cwd="/srv"), _answers(2, {"sessionId": "s"})]
PROMPTED = [_asks(3, "session/prompt", sessionId="s")]
TEXT = _tells("agent_message_chunk", content={"type": "text", "text": "x"})
_LOADS = _asks(4, "session/load", sessionId="s")
_RESUMES = _asks(6, "session/resume", sessionId="s")
_OTHER_WORDS = [_asks(7, "_session/steering", sessionId="s"), _answers(7, {"outcome": "startedNewTurn"})]
_CLOSES = _asks(5, "session/close", sessionId="s")
_WORDS = _asks(4, "_session/steering", sessionId="s")
_STEERS = _asks(4, "session/prompt", sessionId="s")
_SIGN_IN = {"id": "x", "type": "terminal"}
_MAKE = {"command": "make"}
_GREP = {"command": "grep x a.py"}
_KILLED = {"terminal_exit": {"exit_code": None, "signal": "SIGKILL"}}
END = _answers(3, {"stopReason": "end_turn"})
_OWN = _tells("session_info_update", _meta={"hermes": {"backgroundTurn": {"state": "running"}}})
_REFUSED = _answers(4, code=-32602, message="It runs.")
_STEERED = [_WORDS, _answers(4, {"outcome": "startedNewTurn"})]
_OWN_OVER = _tells("session_info_update", _meta={"hermes": {"backgroundTurn": {"state": "over"}}})


def _turn(*said: Said) -> list[Said]:
    return [*OPENED, *PROMPTED, *said]


def _zed(*said: Said) -> list[Said]:
    return [*_greeting(ZED), *_turn(*said)]


def _ask_on_card(*kinds: str, **other: str | None) -> Said:
    call = {"toolCallId": "c", "kind": "edit", "title": "Edit", "status": "pending", "locations": [], "content": []}
    asked = {name: value for name, value in {**call, **other}.items() if value is not None}
    options = [{"optionId": str(number), "kind": kind} for number, kind in enumerate(kinds or ("allow_once",))]
    return _calls("session/request_permission", toolCall=asked, options=options)


def _named(name: str) -> list[Said]:
    return [_asks(1, "initialize", clientInfo={"name": name}), _answers(1, {"protocolVersion": 1})]


_ASKED = ("kind", "title", "status", "locations", "content")
_BARE = {**dict.fromkeys(_ASKED), "toolCallId": "c"}


def _switches(**more: Any) -> Message:
    return {"configOptions": [{"type": "boolean", "id": "x"}], **more}


def _violations(said: Iterable[Said]) -> list[str]:
    told: list[str] = []
    rules = WireRules()
    for who, message in said:
        match who:
            case "editor":
                rules.heard({"jsonrpc": "2.0", **message})
            case "past over":
                rules.past_over("s", whole=message["whole"])
            case _:
                told += rules.broken({"jsonrpc": "2.0", **message}, past=who == "past")
    return told


@each(
    ("rule", "said"),
    [
        ("known-session", [_tells("usage_update", used=1, size=2)]),
        ("known-session", [_asks(2, "session/new"), _tells("available_commands_update", availableCommands=[])]),
        ("known-session", [*OPENED, _asks(4, "session/close", sessionId="s"), _answers(4), _tells("usage_update")]),
        ("known-session", [_ask_on_card()]),
        ("known-session", [_asks(2, "session/resume", sessionId="s"), _tells("session_info_update", title="x")]),
        ("known-session", [_RESUMES, _answers(6, code=-32602, message="No."), _tells("usage_update")]),
        ("known-session", [*OPENED, _CLOSES, _RESUMES, _answers(5), _tells("usage_update")]),
        ("being-loaded", [_RESUMES, *_past(TEXT), _answers(6)]),
        ("in-a-turn", [*OPENED, TEXT]),
        ("in-a-turn", _turn(END, TEXT)),
        ("in-a-turn", [_LOADS, *_past(TEXT), _answers(4), TEXT]),
        ("in-a-turn", _turn(_LOADS, END, TEXT, _REFUSED)),
        ("in-a-turn", [*OPENED, _LOADS, *PROMPTED, *_past(TEXT)[:-1], TEXT]),
        ("being-loaded", [*OPENED, *_past(TEXT)]),
        ("being-loaded", _turn(*_past(TEXT), END)),
        ("known-session", [_LOADS, _tells("usage_update", used=1, size=2)]),
        ("known-session", [_LOADS, *_past(TEXT), _REFUSED, _tells("usage_update", used=1, size=2)]),
        ("known-session", [*OPENED, _CLOSES, _LOADS, _answers(5), _tells("usage_update")]),
        ("known-session", [_LOADS, _CLOSES, _answers(5), _REFUSED, _tells("usage_update")]),
        ("known-update", _turn(_tells("state_update", state="idle"))),
        ("offered-update", [*OPENED, _tells("notice", severity="info", content={"type": "text", "text": "x"})]),
        ("offered-call", [*OPENED, _calls("fs/read_text_file", path="/srv/a.py")]),
        ("offered-call", [*OPENED, _calls("terminal/create", command="ls")]),
        ("offered-call", [*OPENED, _calls("elicitation/create", mode="form", message="x")]),
        ("offered-call", [*OPENED, _calls("session/set_mode")]),
        ("offered-meta", _turn(_card(_meta=_INFO))),
        ("offered-meta", [*OPENED, _tells("usage_update", _meta={"hermes": 1})]),
        ("offered-meta", _turn(_tells("agent_message_chunk", content={"type": "text", "_meta": {"x": 1}}))),
        ("offered-greeting", [_asks(1, "initialize"), _answers(1, {"agentCapabilities": {"_meta": {"odd": 1}}})]),
        ("offered-greeting", [_asks(1, "initialize"), _answers(1, {"authMethods": [_SIGN_IN]})]),
        ("offered-options", [_asks(2, "session/new"), _answers(2, _switches(sessionId="s"))]),
        (
            "offered-options",
            [*_greeting(ZED), *_greeting(MINIMAL), _asks(2, "session/new"), _answers(2, _switches(sessionId="s"))],
        ),
        ("offered-call", [*_greeting(ZED), *_greeting(MINIMAL), *OPENED, _calls("terminal/create", command="ls")]),
        ("offered-options", [*OPENED, _tells("config_option_update", **_switches())]),
        ("created-once", _turn(_card(), _card())),
        ("created-once", _turn(_card(), _goes_on(status="completed"), _card("completed"))),
        ("created-once", _turn(_goes_on(status="in_progress"))),
        ("status-goes-on", _turn(_card("in_progress"), _goes_on(status="pending"))),
        ("status-goes-on", _turn(_card("completed"), _goes_on(status="failed"))),
        ("status-goes-on", _turn(_card("failed"), _goes_on(status="in_progress"))),
        ("says-status", _turn(_card(), _goes_on(title="x"))),
        ("asked-on-open-card", _turn(_card("failed"), _ask_on_card(status="failed"))),
        ("created-once", _turn(_ask_on_card())),
        *(("stands-alone", _turn(_card(), _ask_on_card(**{name: None}))) for name in _ASKED),
        ("has-choices", _turn(_card(), _calls("session/request_permission", toolCall=_BARE, options=[]))),
        ("asked-once", _turn(_card(), _ask_on_card(), _ask_on_card())),
        ("own-turn-in-order", [*OPENED, _OWN, _OWN]),
        ("told-apart", _turn(_card(), _ask_on_card("allow_always", "allow_once", "allow_always"))),
        ("told-apart", [*_named("CodeCompanion.nvim"), *_turn(_card(), _ask_on_card("reject_once", "reject_once"))]),
        ("absolute-paths", _turn(_card(locations=[{"path": "a.py"}]))),
        ("absolute-paths", _turn(_card(locations=[{"path": "/a.py", "line": 0}]))),
        ("absolute-paths", _turn(_card(content=[{**_DIFF, "path": "a.py"}]))),
        ("terminal-alone", _zed(_card(content=[_TERMINAL, _DIFF], _meta=_INFO))),
        ("terminal-alone", _zed(_card(content=[_TERMINAL]))),
        ("absolute-paths", [*_greeting(ZED), *OPENED, _calls("fs/write_text_file", path="a.py", content="")]),
        ("honest-end", _turn(_card(), _goes_on(status="completed", rawOutput={"exit_code": 3}))),
        ("honest-end", _turn(_card(rawInput=_MAKE), _goes_on(status="completed", rawOutput={"exit_code": 1}))),
        ("honest-end", _zed(_card(), _goes_on(status="completed", _meta=_KILLED))),
        ("ended-cards", _turn(_card("in_progress"), END)),
        ("ended-cards", _turn(_card("in_progress"), _answers(3, code=-32602, message="No."))),
        ("ended-cards", [_LOADS, *_past(_card()), _answers(4)]),
        ("ended-cards", [*OPENED, _LOADS, *PROMPTED, *_past(_card()), _answers(4)]),
        ("created-once", _turn(_card(), _LOADS, _card(), _REFUSED)),
        ("created-once", [_LOADS, *_past(_card("completed"), _card("completed")), _answers(4)]),
        ("created-once", [*OPENED, _LOADS, *_past(_goes_on(status="failed")), _answers(4)]),
        ("status-goes-on", _turn(_card("in_progress"), _LOADS, _goes_on(status="pending"), _REFUSED)),
        ("asked-on-open-card", _turn(_card("failed"), _LOADS, _ask_on_card(status="failed"), _REFUSED)),
        ("ended-own-turn", [*OPENED, _OWN, _card(), _OWN_OVER]),
        ("in-a-turn", [*OPENED, _OWN, _OWN_OVER, TEXT]),
        ("waited-for", _turn(END, END)),
        ("one-line-error", _turn(_answers(3, code=-32603, message="one\ntwo"))),
        ("one-line-error", _turn(_answers(3, code=-32603, message=" "))),
        ("fresh-session", [*OPENED, _asks(4, "session/new"), _answers(4, {"sessionId": "s"})]),
        ("known-form", _turn(_card(content=["text"]))),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_reported_by_its_name(rule: str, said: list[Said]) -> None:
    told = _violations(said)
    assert [text.split(":")[0] for text in told] == [rule]
    assert "\n" not in told[0]


@each(
    "said",
    [
        pytest.param([*OPENED, _tells("usage_update"), _tells("current_mode_update")], id="standing"),
        pytest.param(_turn(TEXT, _card(), _goes_on(status="failed"), END), id="a turn"),
        pytest.param(_turn(_card(), _ask_on_card("allow_once", "reject_once")), id="a question"),
        pytest.param(
            [*_named("zed"), *_turn(_card(), _ask_on_card("allow_always", "allow_always"))],
            id="a question of several answers of a kind",
        ),
        pytest.param([_LOADS, *_past(TEXT, _card("completed")), _answers(4)], id="replay"),
        pytest.param(
            _turn(_card(), _goes_on(status="completed", rawOutput={"process": "p", "exit_code": 1}), END),
            id="a look at a background process that failed",
        ),
        pytest.param(
            _turn(_card(), _goes_on(status="completed"), END, _LOADS, *_past(_card("completed")), _answers(4)),
            id="replay of a live session",
        ),
        pytest.param(
            _turn(_card(), _LOADS, _goes_on(status="completed"), _answers(4, code=-32602, message="It runs."), END),
            id="a load that is refused",
        ),
        pytest.param(
            [_asks(4, "session/resume", sessionId="s"), *PROMPTED, _answers(4), TEXT, END],
            id="a prompt right behind a resume",
        ),
        pytest.param(
            [_RESUMES, *_OTHER_WORDS, _answers(6), TEXT],
            id="a turn that steering began right behind a resume",
        ),
        pytest.param(
            [*OPENED, _CLOSES, _RESUMES, _answers(5), *_OTHER_WORDS, _answers(6), TEXT],
            id="a turn that steering began behind a close and a resume",
        ),
        pytest.param(
            [_RESUMES, *PROMPTED, _LOADS, _REFUSED, _answers(6), TEXT, END],
            id="a load that is refused behind a resume and a prompt",
        ),
        pytest.param(
            [
                _RESUMES,
                _asks(8, "session/resume", sessionId="s"),
                *PROMPTED,
                _answers(6, code=-32602, message="No."),
                _answers(8),
                TEXT,
                END,
            ],
            id="one of two resumes is refused",
        ),
        pytest.param(
            _turn(_card(), _STEERS, _answers(4, {"stopReason": "end_turn"}), _goes_on(status="completed"), END),
            id="steered",
        ),
        pytest.param(
            [*OPENED, *_STEERED, TEXT, _card(), _goes_on(status="failed"), _tells("usage_update")],
            id="a turn that steering began",
        ),
        pytest.param(
            [*OPENED, _OWN, TEXT, _card(), _goes_on(status="failed"), _OWN_OVER, _tells("usage_update")],
            id="a turn of its own",
        ),
        pytest.param(
            [*OPENED, _OWN, _card(), *PROMPTED, END, _goes_on(status="failed"), _OWN_OVER],
            id="a prompt that is cancelled before its turn",
        ),
        pytest.param(
            _zed(
                _calls("terminal/create", 9, command="ls"),
                ("editor", {"id": 9, "result": {"terminalId": "t"}}),
                _card(content=[_TERMINAL]),
                _goes_on(status="completed"),
                END,
            ),
            id="the editor's terminal",
        ),
        pytest.param(
            [*OPENED, _asks(4, "session/fork", sessionId="s"), _answers(4, code=-32000, message="Sign in.")],
            id="a fork that is refused",
        ),
        pytest.param(
            [
                _LOADS,
                _asks(5, "session/load", sessionId="s"),
                _REFUSED,
                *_past(TEXT),
                _answers(5),
            ],
            id="one of two loads is refused",
        ),
        pytest.param(
            [
                _LOADS,
                _asks(5, "session/load", sessionId="s"),
                *_past(_card("failed")),
                _answers(4),
                *_past(_card("failed")),
                _answers(5),
            ],
            id="loaded twice",
        ),
        pytest.param(
            [
                *OPENED,
                _LOADS,
                *PROMPTED,
                _answers(4, code=-32602, message="No."),
                TEXT,
                _card(),
                _goes_on(status="failed"),
                END,
            ],
            id="a prompt behind a load that is refused",
        ),
        pytest.param(
            [
                *OPENED,
                _asks(5, "session/close", sessionId="s"),
                _LOADS,
                _answers(5),
                *_past(TEXT),
                _answers(4),
                _tells("usage_update"),
            ],
            id="a load behind a close",
        ),
        pytest.param(
            [
                *OPENED,
                *_STEERED,
                _card(),
                _asks(5, "session/load", sessionId="s"),
                _answers(5, code=-32602, message="It runs."),
                *PROMPTED,
                _answers(3, code=-32602, message="Empty."),
                _goes_on(status="failed"),
            ],
            id="a load and a prompt that are refused while steering's turn runs",
        ),
        pytest.param(
            [*OPENED, *_STEERED, *PROMPTED, _card(), _goes_on(status="failed"), END],
            id="a prompt behind steering's turn",
        ),
        pytest.param(
            [
                *OPENED,
                _LOADS,
                *PROMPTED,
                *_past(_card())[:-1],
                ("past over", {"whole": False}),
                _answers(3, {"stopReason": "cancelled"}),
                _answers(4, code=-32603, message="It cannot be read."),
            ],
            id="a load that fails in the middle",
        ),
        pytest.param(
            [*_greeting(ZED), *OPENED, *_greeting(MINIMAL), _tells("config_option_update", **_switches())],
            id="a session keeps what was offered when it was opened",
        ),
        pytest.param(
            [
                *_greeting(ZED),
                _asks(2, "session/new"),
                *_greeting(MINIMAL),
                _answers(2, _switches(sessionId="s")),
            ],
            id="a session that is being opened as the client is greeted anew",
        ),
        pytest.param(
            [
                _asks(1, "initialize", clientCapabilities=ZED),
                _asks(2, "initialize", clientCapabilities=MINIMAL),
                _answers(1, {"protocolVersion": 1, "authMethods": [_SIGN_IN]}),
                _answers(2, {"protocolVersion": 1}),
            ],
            id="greeted twice",
        ),
        pytest.param(
            _turn(_card(rawInput=_GREP), _goes_on(status="completed", rawOutput={"exit_code": 1}), END),
            id="an exit code that is an answer",
        ),
    ],
)
def test_what_keeps_the_rules_is_not_reported(said: list[Said]) -> None:
    assert _violations([*_greeting(MINIMAL), *said] if said[0][1]["method"] != "initialize" else said) == []


# At the editor's end, and the schema.


class Conversation:
    """Writes both sides; what the agent says goes through the invariants of the editor's end."""

    def __init__(self, capabilities: Message = PLAIN) -> None:
        self.wire = WireInvariants()
        self.next_id = 0
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

    def text(self, text: str = "hi") -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def card(self, call_id: str = "c1", **fields: Any) -> None:
        self.update("tool_call", toolCallId=call_id, title="Read a.py", **fields)


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


def test_the_replay_of_a_load_is_a_turn_of_its_own():
    talk = Conversation()
    load = talk.ask("session/load", {"sessionId": SESSION, "cwd": "/w", "mcpServers": []})
    talk.text()
    talk.card(status="completed")
    talk.answer(load, {})
    with pytest.raises(WireViolation, match="in-a-turn"):
        talk.text()


def test_a_parse_error_answers_no_request():
    talk = Conversation()
    talk.refuse(None, -32700, "Parse error")


def test_a_request_without_a_method_may_be_refused_by_its_id():
    talk = Conversation()
    talk.wire.sent({"jsonrpc": "2.0", "id": 9})
    talk.refuse(9, -32600, "Invalid request")


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
