"""What the client knows, as far as the messages of one connection tell: the memory behind `wire_rules`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from operator import or_
from typing import Any

from acp_adapter.capabilities import ClientCapabilities, read_capabilities
from acp_adapter.jsonrpc import RequestId
from tools.light_dataclass import dataclass

FINAL = frozenset({"completed", "failed"})
MOST_ENDED_CARDS = 4096
"""So many ended cards of a session are remembered, by id and status."""

_NOTHING = ClientCapabilities()
_CARDS = frozenset({"tool_call", "tool_call_update"})
_NOTED = _CARDS | {"session_info_update"}
_OPENING = frozenset({"session/new", "session/fork"})
_REOPENING = frozenset({"session/load", "session/resume"})
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
        client: what it could do at any time since it asked for this session.
        loads: so many `session/load` are not answered yet.
        resumes: the same of `session/resume`.
        shown_again: what happened before is being told just now.
        cards: tool calls that have not ended, by id.
        ended: the status of those that have.
        forgets: some ended cards are not remembered any more.
        terminals: ids that a card may show.
        unasked: so many turns that steering has begun are not over; nothing on the wire tells of their end.
        own_turn: a turn of the agent's own runs.
        promised: nobody but an unanswered load or resume has told of it.
    """

    client: ClientCapabilities
    prompts: list[RequestId] = field(default_factory=list)
    loads: int = 0
    resumes: int = 0
    shown_again: bool = False
    cards: dict[str, OpenCard] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    forgets: bool = False
    terminals: set[str] = field(default_factory=set)
    unasked: int = 0
    own_turn: bool = False
    promised: bool = False

    @property
    def reopens(self) -> bool:
        """It is to be loaded or resumed."""
        return bool(self.loads or self.resumes)

    def begin_again(self) -> None:
        """All of it is told from the beginning."""
        self.shown_again = True
        self.cards.clear()
        self.ended.clear()
        self.forgets = False

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
    """A request of the client that is not answered.

    Attributes:
        client: what the client can do, as an `initialize` says: it counts once that is answered.
    """

    method: str
    session_id: str = ""
    client: ClientCapabilities = _NOTHING


class Ledger:
    """What both sides have said so far. Not safe for threads: `WireRules` holds a lock."""

    def __init__(self) -> None:
        self.client = ClientCapabilities()
        self.sessions: dict[str, SessionView] = {}
        self.asked: dict[RequestId, Asked] = {}
        self._creating: dict[RequestId, str] = {}

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

    def shows_again(self, session_id: str) -> None:
        """What comes next is of what happened before."""
        view = self.sessions.get(session_id)
        if view is not None and not view.shown_again:
            view.begin_again()

    def has_shown(self, session_id: str, *, whole: bool) -> None:
        """All that happened before is told; or that was broken off, and what it left open counts no more."""
        view = self.sessions.get(session_id)
        if view is None:
            return
        view.shown_again = False
        if not whole:
            view.cards.clear()

    def unasked_over(self, session_id: str) -> SessionView | None:
        """A turn that steering began is over; the session as it is now."""
        view = self.sessions.get(session_id)
        if view is not None:
            view.unasked = max(0, view.unasked - 1)
        return view

    def _client_asked(self, method: str, request_id: RequestId, params: Mapping[str, Any]) -> None:
        session_id = params.get("sessionId")
        if method == "initialize":
            client = read_capabilities(params.get("clientCapabilities"), params.get("clientInfo"))
            self.asked[request_id] = Asked(method, client=client)
            return
        if not isinstance(session_id, str):
            self.asked[request_id] = Asked(method)
            return
        known = self.sessions.get(session_id)
        self.asked[request_id] = Asked(method, session_id)
        if method in _REOPENING:
            self._reopening_asked(method, session_id)
        elif method == "session/prompt" and known is not None:
            known.prompts.append(request_id)

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
            if session is not None and request_id in session.prompts:
                session.prompts.remove(request_id)
        elif asked.method in _REOPENING:
            self._reopened(asked, failed=failed)
        elif failed:
            return
        elif asked.method == "initialize":
            self._greeted(asked.client)
        elif asked.method in _OPENING:
            self.sessions[str((message.get("result") or {}).get("sessionId"))] = SessionView(self.client)
        elif asked.method == _STEERING and session is not None:
            session.unasked += (message.get("result") or {}).get("outcome") == "startedNewTurn"
        elif asked.method in _ENDING:
            self._ended(asked.session_id)

    def _reopening_asked(self, method: str, session_id: str) -> None:
        view = self.sessions.setdefault(session_id, SessionView(self.client, promised=True))
        if method == "session/load":
            view.loads += 1
        else:
            view.resumes += 1

    def _reopened(self, asked: Asked, *, failed: bool) -> None:
        """One of perhaps several loads and resumes is answered: another may still show all of it."""
        view = self.sessions.get(asked.session_id)
        if view is None:
            return
        if asked.method == "session/load":
            view.loads = max(0, view.loads - 1)
        else:
            view.resumes = max(0, view.resumes - 1)
        if not failed:
            view.promised = False
        elif view.promised and not view.reopens:
            del self.sessions[asked.session_id]

    def _greeted(self, client: ClientCapabilities) -> None:
        """The last `initialize` counts, but what was begun before it may keep to what was offered then."""
        for view in self.sessions.values():
            view.client = _either(view.client, client)
        self.client = _either(self.client, client) if self.asked else client

    def _ended(self, session_id: str) -> None:
        """A session was closed or deleted; one that is still to be loaded or resumed is known on."""
        view = self.sessions.pop(session_id, None)
        if view is not None and view.reopens:
            # Prompts that came before this was answered may still be for the session that is opened again.
            self.sessions[session_id] = SessionView(
                view.client, loads=view.loads, resumes=view.resumes, prompts=view.prompts, promised=True
            )


def _either(one: ClientCapabilities, other: ClientCapabilities) -> ClientCapabilities:
    return ClientCapabilities(*map(or_, one, other))


def own_turn_of(update: Mapping[str, Any]) -> str:
    """How it stands with a turn of the agent's own, as an update tells; '' for one that does not."""
    own = (update.get("_meta") or {}).get("hermes") if update.get("sessionUpdate") == "session_info_update" else None
    turn = own.get("backgroundTurn") if isinstance(own, dict) else None
    return str(turn.get("state", "")) if isinstance(turn, dict) else ""
