"""What the client knows, as far as the messages of one connection tell: the memory behind `wire_rules`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from acp_adapter.capabilities import ClientCapabilities, read_capabilities
from acp_adapter.jsonrpc import RequestId
from tools.light_dataclass import dataclass

FINAL = frozenset({"completed", "failed"})
MOST_ENDED_CARDS = 4096
"""So many ended cards of a session are remembered, by id and status."""

_CARDS = frozenset({"tool_call", "tool_call_update"})
_NOTED = _CARDS | {"session_info_update"}
_REOPENING = frozenset({"session/load", "session/resume"})
_OPENING = frozenset({"session/new", "session/fork"})
_STEERING = "_session/steering"
_ENDING = frozenset({"session/close", "session/delete"})


@dataclass(slots=True)
class OpenCard:
    """A tool call that has not ended. `command` is what it runs in a shell, '' for other tools."""

    status: str = "pending"
    command: str = ""


@dataclass(slots=True)
class SessionView:
    """A session as the client sees it.

    Attributes:
        prompts: the unanswered ones, oldest first.
        shows_past: `session/load` is not answered yet, so what happened before may be told.
        cards: tool calls that have not ended, by id.
        ended: the status of those that have.
        forgets: some ended cards are not remembered any more.
        terminals: ids that a card may show.
        unasked: steering has begun a turn that no prompt waits for; nothing on the wire tells of its end.
        own_turn: a turn of the agent's own runs.
    """

    prompts: list[RequestId] = field(default_factory=list)
    shows_past: bool = False
    cards: dict[str, OpenCard] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    forgets: bool = False
    terminals: set[str] = field(default_factory=set)
    unasked: bool = False
    own_turn: bool = False

    def change(self, call: Mapping[str, Any]) -> None:
        """Take in a `tool_call`, a `tool_call_update` or the card of a question."""
        call_id, status = call.get("toolCallId", ""), call.get("status")
        card = self.cards.get(call_id)
        if card is None:
            if call_id in self.ended:
                return
            card = self.cards[call_id] = OpenCard()
        raw = call.get("rawInput")
        if isinstance(raw, dict) and isinstance(raw.get("command"), str):
            card.command = raw["command"]
        info = (call.get("_meta") or {}).get("terminal_info")
        if info:
            self.terminals.add(info.get("terminal_id", ""))
        if status in FINAL:
            self._end(call_id, status)
        elif status is not None:
            card.status = status

    def _end(self, call_id: str, status: str) -> None:
        del self.cards[call_id]
        self.ended[call_id] = status
        if len(self.ended) > MOST_ENDED_CARDS:
            del self.ended[next(iter(self.ended))]
            self.forgets = True


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the client that is not answered. `before` is the session as it was before it was loaded."""

    method: str
    session_id: str
    before: SessionView | None = None


class Ledger:
    """What both sides have said so far. Not safe for threads: `WireRules` holds a lock."""

    def __init__(self) -> None:
        self.client = ClientCapabilities()
        self.sessions: dict[str, SessionView] = {}
        self.asked: dict[RequestId, Asked] = {}
        self._creating: dict[RequestId, str] = {}
        self._resuming: dict[str, SessionView] = {}

    def received(self, message: Mapping[str, Any]) -> None:
        """Note a message of the client; `params` is an object."""
        method, request_id = message.get("method"), message.get("id")
        if method is None:
            self._client_answered(message)
        elif "id" in message:
            self._client_asked(method, request_id, message.get("params") or {})

    def sent(self, message: Mapping[str, Any]) -> None:
        """Note a message of ours."""
        method = message.get("method")
        if method is None:
            self._answered(message)
            return
        params = message.get("params") or {}
        update = params.get("update") or {}
        if update and update.get("sessionUpdate") not in _NOTED:
            return  # most messages are text
        session_id = params.get("sessionId", "")
        session = self.sessions.get(session_id)
        if session is None:
            return
        if state := own_turn_of(update):
            session.own_turn = state == "running"
        elif update.get("sessionUpdate") in _CARDS:
            session.change(update)
        elif method == "session/request_permission":
            session.change(params.get("toolCall") or {})
        elif method == "terminal/create":
            self._creating[message.get("id")] = session_id

    def _client_asked(self, method: str, request_id: RequestId, params: Mapping[str, Any]) -> None:
        if method == "initialize":
            self.client = read_capabilities(params.get("clientCapabilities"))
        session_id = params.get("sessionId")
        if not isinstance(session_id, str):
            self.asked[request_id] = Asked(method, "")
            return
        known = self.sessions.get(session_id)
        self.asked[request_id] = Asked(method, session_id, known if method in _REOPENING else None)
        if method == "session/load" and (known is None or not known.prompts):
            # One with a running prompt is not loaded: its view stays.
            again = self.sessions[session_id] = SessionView(shows_past=True)
            if known is not None and known.own_turn:
                # It may still go on: the load is refused then.
                again.own_turn, again.cards = True, known.cards
        elif method == "session/resume" and known is None:
            self._resuming.setdefault(session_id, SessionView())
        elif method == "session/prompt" and (view := known or self._resuming.get(session_id)) is not None:
            view.prompts.append(request_id)

    def _client_answered(self, message: Mapping[str, Any]) -> None:
        session = self.sessions.get(self._creating.pop(message.get("id"), ""))
        result = message.get("result")
        if session is not None and isinstance(result, dict):
            session.terminals.add(str(result.get("terminalId")))

    def _answered(self, message: Mapping[str, Any]) -> None:
        request_id = message.get("id")
        asked = self.asked.pop(request_id, None)
        if asked is None:
            return
        session, failed = self.sessions.get(asked.session_id), "error" in message
        if asked.method == "session/prompt":
            view = session or self._resuming.get(asked.session_id)
            if view is not None and request_id in view.prompts:
                view.prompts.remove(request_id)
        elif asked.method in _REOPENING:
            self._reopened(asked, failed=failed)
        elif failed:
            return
        elif asked.method in _OPENING:
            self.sessions[str((message.get("result") or {}).get("sessionId"))] = SessionView()
        elif asked.method == _STEERING and session is not None:
            session.unasked |= (message.get("result") or {}).get("outcome") == "startedNewTurn"
        elif asked.method in _ENDING:
            self.sessions.pop(asked.session_id, None)

    def _reopened(self, asked: Asked, *, failed: bool) -> None:
        resumed = self._resuming.pop(asked.session_id, None) or SessionView()
        if failed:
            meanwhile = self.sessions.pop(asked.session_id, None)
            if asked.before is not None:
                self.sessions[asked.session_id] = asked.before
                if meanwhile is not None and meanwhile is not asked.before:
                    # What refused the load may be a turn of its own that had just begun.
                    asked.before.own_turn = meanwhile.own_turn
                    asked.before.cards.update(meanwhile.cards)
            return
        session = self.sessions.setdefault(asked.session_id, resumed)
        session.shows_past = False


def own_turn_of(update: Mapping[str, Any]) -> str:
    """How it stands with a turn of the agent's own, as an update tells; '' for one that does not."""
    own = (update.get("_meta") or {}).get("hermes") if update.get("sessionUpdate") == "session_info_update" else None
    turn = own.get("backgroundTurn") if isinstance(own, dict) else None
    return str(turn.get("state", "")) if isinstance(turn, dict) else ""
