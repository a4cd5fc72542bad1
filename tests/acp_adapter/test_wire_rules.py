"""Each rule of the wire reports what breaks it, and nothing else; how it reports, and what it remembers."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from acp_adapter.wire_rules import BROKEN_RULE_EXIT, ENVIRONMENT, WireRules, wire_rules
from acp_adapter.wire_state import MOST_ENDED_CARDS
from tests.support.each import each
from tests.support.editor_profiles import MINIMAL, ZED

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
_STEERED_OVER: Said = ("unasked over", {})
_OWN_OVER = _tells("session_info_update", _meta={"hermes": {"backgroundTurn": {"state": "over"}}})


def _turn(*said: Said) -> list[Said]:
    return [*OPENED, *PROMPTED, *said]


def _zed(*said: Said) -> list[Said]:
    return [*_greeting(ZED), *_turn(*said)]


def _ask_on_card(*kinds: str, **other: str | None) -> Said:
    call = {"toolCallId": "c", "kind": "edit", "title": "Edit", "status": "pending", "locations": [], "content": []}
    asked = {name: value for name, value in {**call, **other}.items() if value is not None}
    options = [{"optionId": str(number), "kind": kind} for number, kind in enumerate(kinds)]
    return _calls("session/request_permission", toolCall=asked, options=options)


def _named(name: str) -> list[Said]:
    return [_asks(1, "initialize", clientInfo={"name": name}), _answers(1, {"protocolVersion": 1})]


_ASKED = ("kind", "title", "status", "locations", "content")


def _switches(**more: Any) -> Message:
    return {"configOptions": [{"type": "boolean", "id": "x"}], **more}


def _violations(said: Iterable[Said]) -> list[str]:
    told: list[str] = []
    rules = WireRules(told.append)
    for who, message in said:
        _say(rules, who, {"jsonrpc": "2.0", **message})
    return told


def _say(rules: WireRules, who: str, message: Message) -> None:
    match who:
        case "editor":
            rules.check_received(message)
        case "agent":
            rules.check_sent(message)
        case "past":
            rules.check_past(message)
        case "past over":
            rules.past_over("s", whole=message["whole"])
        case "unasked over":
            rules.unasked_over("s")


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
        ("in-a-turn", [_RESUMES, *_OTHER_WORDS, _answers(6), TEXT, _STEERED_OVER, TEXT]),
        ("being-loaded", [_RESUMES, *_past(TEXT), _answers(6)]),
        ("in-a-turn", [*OPENED, TEXT]),
        ("in-a-turn", _turn(END, TEXT)),
        ("in-a-turn", [_LOADS, *_past(TEXT), _answers(4), TEXT]),
        ("in-a-turn", _turn(_LOADS, END, TEXT, _REFUSED)),
        ("in-a-turn", [*OPENED, _LOADS, *PROMPTED, *_past(TEXT)[:-1], TEXT]),
        ("in-a-turn", [*OPENED, *_STEERED, TEXT, _STEERED_OVER, TEXT]),
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
        ("ended-cards", [*OPENED, *_STEERED, _card(), _STEERED_OVER]),
        ("ended-cards", [*OPENED, *_STEERED, _STEERED_OVER, *PROMPTED, _card(), END]),
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
            [_RESUMES, *_OTHER_WORDS, _answers(6), TEXT, _STEERED_OVER],
            id="a turn that steering began right behind a resume",
        ),
        pytest.param(
            [*OPENED, _CLOSES, _RESUMES, _answers(5), *_OTHER_WORDS, _answers(6), TEXT, _STEERED_OVER],
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
            [*OPENED, *_STEERED, TEXT, _card(), _goes_on(status="failed"), _STEERED_OVER, _tells("usage_update")],
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
                _STEERED_OVER,
            ],
            id="a load and a prompt that are refused while steering's turn runs",
        ),
        pytest.param(
            [*OPENED, *_STEERED, *PROMPTED, _card(), _STEERED_OVER, _goes_on(status="failed"), END],
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


def test_a_rule_is_reported_once_for_each_session() -> None:
    told = _violations([*OPENED, TEXT, TEXT, _tells("plan", entries=[]), _tells("usage_update", "other")])
    assert [text.split(":")[0] for text in told] == ["in-a-turn", "known-session"]
    assert "(session s)" in told[0]


def test_ended_cards_are_remembered_in_bounds_and_what_is_forgotten_is_not_held_against_them() -> None:
    told: list[str] = []
    rules = WireRules(told.append)
    for who, message in (*OPENED, *PROMPTED):
        _say(rules, who, message)
    for number in range(MOST_ENDED_CARDS + 10):
        rules.check_sent(_card("completed", call=f"c{number}")[1])
    rules.check_sent(_goes_on("c0", status="completed")[1])
    assert told == []
    assert len(rules._ledger.sessions["s"].ended) <= MOST_ENDED_CARDS


def test_in_production_a_violation_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    with caplog.at_level(logging.ERROR):
        wire_rules().check_sent(TEXT[1])
    assert "known-session" in caplog.text


def test_in_tests_a_violation_ends_the_process() -> None:
    code = f"from acp_adapter.wire_rules import wire_rules; wire_rules().check_sent({TEXT[1]!r}); print('went on')"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, ENVIRONMENT: "raise"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == BROKEN_RULE_EXIT
    assert "known-session" in ended.stderr
    assert "went on" not in ended.stdout
