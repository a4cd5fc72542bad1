"""What must hold on the wire, whatever a test is about: every message of both directions comes by here."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from tests.support.wire_schema import WireViolation, check_outgoing

__all__ = ["WireInvariants", "WireViolation", "check_outgoing", "parse_line"]

ANYTIME = frozenset(
    {
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "notice",
        "session_info_update",
        "subagent_update",
        "usage_update",
    }
)
RANK = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}
FINAL = frozenset({"completed", "failed"})
NEEDED_CAPABILITY = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/create": ("terminal",),
    "terminal/output": ("terminal",),
    "terminal/wait_for_exit": ("terminal",),
    "terminal/kill": ("terminal",),
    "terminal/release": ("terminal",),
    "elicitation/complete": ("elicitation", "url"),
}


@dataclass(slots=True)
class Card:
    """A tool call as the editor shows it."""

    status: str


@dataclass(slots=True)
class Session:
    """A session as the editor knows it.

    Attributes:
        prompts: the ids of the running ones, oldest first.
        unasked: a turn was begun by steering: no prompt's answer tells of its end.
        own_turn: a turn that no prompt asked for runs.
    """

    prompts: list[str] = field(default_factory=list)
    replaying: bool = False
    unasked: bool = False
    own_turn: bool = False
    cards: dict[str, Card] = field(default_factory=dict)

    def unfinished(self) -> list[str]:
        return [call_id for call_id, card in self.cards.items() if card.status not in FINAL]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits for its answer."""

    method: str
    params: dict[str, Any]


def parse_line(line: bytes) -> dict[str, Any]:
    """One line of the agent's output as the message it must be.

    Raises:
        WireViolation: it is not one JSON object in UTF-8.
    """
    try:
        message = json.loads(line.decode("utf-8"))
    except ValueError as error:
        raise WireViolation(f"the agent wrote a line that is no JSON ({error}): {line[:400]!r}") from None
    if not isinstance(message, dict):
        raise WireViolation(f"the agent wrote a line that is no JSON object: {line[:400]!r}")
    return message


class WireInvariants:
    """Follows one connection: `sent` hears the editor and never judges it, `received` judges the agent."""

    def __init__(self) -> None:
        self.capabilities: dict[str, Any] = {}
        self.sessions: dict[str, Session] = {}
        self._asked_of_agent: dict[str, list[Asked]] = {}
        self._asked_of_editor: dict[str, Asked] = {}
        self._before_load: dict[str, Session] = {}
        self._terminals: set[str] = set()

    @property
    def unanswered(self) -> list[str]:
        """The methods of the editor's requests that have no answer yet."""
        return [asked.method for waiting in self._asked_of_agent.values() for asked in waiting]

    def sent(self, message: dict[str, Any]) -> None:
        """Note a message of the editor."""
        method, params = message.get("method"), message.get("params")
        if "result" in message or "error" in message:
            self._editor_answered(message)
            return
        # A request without a method is answered too, with an error.
        asked = Asked(str(method), params if isinstance(params, dict) else {})
        if "id" in message:
            self._asked_of_agent.setdefault(_key(message["id"]), []).append(asked)
            self._editor_asked(asked, message["id"])

    def received(self, message: dict[str, Any]) -> None:
        """Judge a message of the agent.

        Raises:
            WireViolation: it breaks the schema or a rule.
        """
        if "method" not in message:
            self._agent_answered(message)
            return
        check_outgoing(message)
        method, params = message["method"], message.get("params") or {}
        self._check_advertised(method, params)
        if "id" in message:
            self._agent_asked(method, params, message["id"])
        if method == "session/update":
            self._update(params)

    def _editor_asked(self, asked: Asked, request_id: Any) -> None:
        if asked.method == "initialize":
            self.capabilities = asked.params.get("clientCapabilities") or {}
            return
        session_id, key = asked.params.get("sessionId"), _key(request_id)
        if not isinstance(session_id, str):
            return
        known = self.sessions.get(session_id)
        if asked.method in ("session/load", "session/resume"):
            if known is not None:
                self._before_load[key] = known
            self.sessions[session_id] = _reopened(known, replaying=asked.method == "session/load")
        elif asked.method == "session/prompt" and known is not None:
            known.prompts.append(key)

    def _editor_answered(self, message: dict[str, Any]) -> None:
        asked = self._asked_of_editor.get(_key(message.get("id")))
        result = message.get("result")
        if asked is not None and asked.method == "terminal/create" and isinstance(result, dict):
            self._terminals.add(str(result.get("terminalId")))

    def _agent_asked(self, method: str, params: dict[str, Any], request_id: Any) -> None:
        key = _key(request_id)
        if key in self._asked_of_editor:
            raise WireViolation(f"the agent used the request id {request_id!r} twice")
        self._asked_of_editor[key] = Asked(method, params)
        if "sessionId" in params:
            self._session(params["sessionId"], method)
        for name in ("path", "cwd"):
            if params.get(name) is not None:
                _check_absolute(params[name], f"{name} of {method}")
        if method == "session/request_permission":
            self._permission(params)

    def _agent_answered(self, message: dict[str, Any]) -> None:
        if message.get("id", "") is None and (message.get("error") or {}).get("code") in (-32700, -32600):
            check_outgoing(message)
            return
        key = _key(message.get("id"))
        waiting = self._asked_of_agent.get(key)
        if not waiting:
            raise WireViolation(f"an answer to no request that waits for one: {json.dumps(message)[:400]}")
        asked = waiting.pop(0)
        check_outgoing(message, asked.method)
        self._settle(asked, key, message.get("result"), failed="error" in message)

    def _settle(self, asked: Asked, key: str, result: Any, *, failed: bool) -> None:
        method, session_id = asked.method, str(asked.params.get("sessionId"))
        if method == "session/prompt":
            self._prompt_over(session_id, key)
        elif method in ("session/load", "session/resume"):
            self._loaded(session_id, key, failed=failed)
        elif failed:
            return
        elif method in ("session/new", "session/fork"):
            if result["sessionId"] in self.sessions:
                raise WireViolation(f"{method} answered with the id of another session: {result['sessionId']}")
            self.sessions[result["sessionId"]] = Session()
        elif method in ("session/close", "session/delete"):
            self.sessions.pop(session_id, None)
        elif method == "_session/steering" and session_id in self.sessions:
            self.sessions[session_id].unasked |= result.get("outcome") == "startedNewTurn"
        elif method == "initialize":
            self._check_auth_methods(result)
        self._check_options(result)

    def _loaded(self, session_id: str, key: str, *, failed: bool) -> None:
        before = self._before_load.pop(key, None)
        if failed:
            meanwhile = self.sessions.pop(session_id, None)
            if before is not None:
                self.sessions[session_id] = before
                if meanwhile is not None and meanwhile is not before:
                    # What refused the load may be a turn of its own that had just begun.
                    before.own_turn = meanwhile.own_turn
                    before.cards |= meanwhile.cards
            return
        session = self.sessions.get(session_id)
        if session is None:
            return  # closed meanwhile
        session.replaying = False
        if not session.prompts and session.unfinished():
            raise WireViolation(f"the session shows running tool calls, but no turn runs: {session.unfinished()}")

    def _prompt_over(self, session_id: str, key: str) -> None:
        session = self.sessions.get(session_id)
        if session is None or key not in session.prompts:
            return
        # A prompt that was sent into a running turn may be answered while that turn goes on.
        oldest = session.prompts[0] == key
        session.prompts.remove(key)
        if oldest and session.unfinished() and not session.own_turn:
            raise WireViolation(f"the prompt was answered while tool calls were open: {session.unfinished()}")
        if session.replaying and not session.prompts and not session.own_turn:
            session.cards = {}  # all of them are shown again

    def _session(self, session_id: str, what: str) -> Session:
        session = self.sessions.get(session_id)
        if session is None:
            raise WireViolation(f"{what} for a session the editor does not know (yet): {session_id}")
        return session

    def _update(self, params: dict[str, Any]) -> None:
        update = params["update"]
        kind = update["sessionUpdate"]
        session = self._session(params["sessionId"], kind)
        if kind not in ANYTIME and not _in_a_turn(session):
            raise WireViolation(f"{kind} outside of a turn: {json.dumps(update)[:400]}")
        if kind in ("plan_update", "plan_removed") and not self._can("plan"):
            raise WireViolation(f"{kind} for an editor without the capability plan")
        if kind == "session_info_update":
            self._own_turn(session, update)
        self._check_terminal_meta(params, update)
        if kind == "tool_call":
            self._create(session, update)
        elif kind == "tool_call_update":
            self._change(session, update)
        elif kind == "config_option_update":
            self._check_options(update)

    def _own_turn(self, session: Session, update: dict[str, Any]) -> None:
        turn = ((update.get("_meta") or {}).get("hermes") or {}).get("backgroundTurn")
        if turn is None:
            return
        running = turn["state"] == "running"
        if running == session.own_turn:
            raise WireViolation(f"a turn of the agent's own begins or ends twice: {turn}")
        session.own_turn = running
        if not running and session.unfinished():
            raise WireViolation(
                f"a turn of the agent's own is over while tool calls are open: {session.unfinished()}"
            )
        if not running and session.replaying:
            session.cards = {}  # all of them are shown again

    def _create(self, session: Session, update: dict[str, Any]) -> None:
        call_id = update["toolCallId"]
        if call_id in session.cards:
            raise WireViolation(f"a second tool_call for {call_id}")
        session.cards[call_id] = Card(update.get("status") or "pending")
        self._check_card_content(update)

    def _change(self, session: Session, update: dict[str, Any]) -> None:
        card = session.cards.get(update["toolCallId"])
        if card is None:
            raise WireViolation(f"tool_call_update before its tool_call: {update['toolCallId']}")
        status = update.get("status")
        if status is not None:
            _check_step(update["toolCallId"], card.status, status)
            card.status = status
        self._check_card_content(update)

    def _permission(self, params: dict[str, Any]) -> None:
        session = self._session(params["sessionId"], "session/request_permission")
        call = params["toolCall"]
        card = session.cards.get(call["toolCallId"])
        if card is None:
            raise WireViolation(f"a permission request for a tool call that was never shown: {call['toolCallId']}")
        if card.status in FINAL:
            raise WireViolation(f"a permission request for the {card.status} tool call {call['toolCallId']}")
        option_ids = [option["optionId"] for option in params["options"]]
        if not option_ids or len(set(option_ids)) != len(option_ids):
            raise WireViolation(f"permission options must be there and differ: {option_ids}")
        self._check_terminal_meta(params, call)
        self._change(session, call)

    def _check_card_content(self, update: dict[str, Any]) -> None:
        for location in update.get("locations") or ():
            _check_absolute(location["path"], "location")
            if location.get("line") == 0:
                raise WireViolation(f"lines count from 1: {location}")
        content = update.get("content") or []
        for item in content:
            if item["type"] == "diff":
                _check_absolute(item["path"], "diff")
            elif item["type"] == "terminal":
                self._check_terminal(item["terminalId"], alone=len(content) == 1)

    def _check_terminal(self, terminal_id: str, *, alone: bool) -> None:
        if not alone:
            raise WireViolation(f"terminal {terminal_id} is not alone in its tool call's content")
        if terminal_id not in self._terminals:
            raise WireViolation(f"terminal {terminal_id} was neither created by the editor nor announced in _meta")

    def _check_terminal_meta(self, params: dict[str, Any], update: dict[str, Any]) -> None:
        meta = {**(params.get("_meta") or {}), **(update.get("_meta") or {})}
        used = sorted(key for key in meta if key.startswith("terminal_"))
        if used and not self._can("_meta", "terminal_output"):
            raise WireViolation(f"{used} in _meta for an editor that did not advertise terminal_output")
        if "terminal_info" in meta:
            self._terminals.add(meta["terminal_info"]["terminal_id"])

    def _check_advertised(self, method: str, params: dict[str, Any]) -> None:
        needed = NEEDED_CAPABILITY.get(method)
        if method == "elicitation/create":
            needed = ("elicitation", str(params.get("mode")))
        if needed is not None and not self._can(*needed):
            raise WireViolation(f"{method} was called, but the editor did not advertise {'.'.join(needed)}")

    def _check_auth_methods(self, result: dict[str, Any]) -> None:
        for method in result.get("authMethods") or ():
            if method.get("type") == "terminal" and not self._can("auth", "terminal"):
                raise WireViolation("a terminal sign-in for an editor without auth.terminal")
            if "terminal-auth" in (method.get("_meta") or {}) and not self._can("_meta", "terminal-auth"):
                raise WireViolation("_meta terminal-auth for an editor that did not advertise it")

    def _check_options(self, holder: Any) -> None:
        options = (holder.get("configOptions") if isinstance(holder, dict) else None) or ()
        if not self._can("session", "configOptions", "boolean"):
            booleans = [option["id"] for option in options if option["type"] == "boolean"]
            if booleans:
                raise WireViolation(f"boolean options for an editor without that capability: {booleans}")

    def _can(self, *path: str) -> bool:
        found: Any = self.capabilities
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        # An empty object advertises, an absent, null or false one does not.
        return found is not None and found is not False


def _reopened(known: Session | None, *, replaying: bool) -> Session:
    """A session while it is loaded; the replay creates its tool calls anew, a resumed one keeps them."""
    if known is None:
        return Session(replaying=replaying)
    cards = {} if replaying and not known.own_turn and not known.prompts else known.cards
    return Session(prompts=known.prompts, replaying=replaying, own_turn=known.own_turn, cards=cards)


def _check_step(call_id: str, before: str, after: str) -> None:
    if RANK[after] < RANK[before] or (before in FINAL and after != before):
        raise WireViolation(f"tool call {call_id} went from {before} to {after}")


def _check_absolute(path: str, what: str) -> None:
    if not PurePosixPath(path).is_absolute():
        raise WireViolation(f"the {what} is not an absolute path: {path!r}")


def _key(request_id: Any) -> str:
    return json.dumps(request_id)


def _in_a_turn(session: Session) -> bool:
    return bool(session.prompts or session.replaying or session.unasked or session.own_turn)
