"""What must hold on the wire, whatever a test is about: the rules, and what the client knows, as messages tell it.

Messages are followed at two places. `AgentEnd` sees them in the order in which the agent reads and writes, and which
updates tell of what was (`WireRules`). At the editor's end of the pipes (`WireInvariants`) what the agent has not
read yet counts already, and the schema is looked at as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import or_
from typing import Any, NamedTuple

from acp_adapter.capabilities import ClientCapabilities, read_capabilities
from acp_adapter.jsonrpc import RequestId
from tests.support.wire_schema import WireViolation, check_outgoing
from tools.shell.exit_codes import explain_exit

__all__ = ["SessionView", "WireInvariants", "WireRules", "WireViolation", "check_outgoing", "parse_line"]

# What the client knows.

FINAL = frozenset({"completed", "failed"})
_NOTHING = ClientCapabilities()
_CARDS = frozenset({"tool_call", "tool_call_update"})
_NOTED = _CARDS | {"session_info_update"}
_OPENING = frozenset({"session/new", "session/fork"})
_REOPENING = frozenset({"session/load", "session/resume"})
_STEERING = "_session/steering"
_ENDING = frozenset({"session/close", "session/delete"})
_NOT_LET_IN = frozenset({-32700, -32600})


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
        terminals: ids that a card may show.
        unasked: so many turns that steering has begun are not over; nothing on the wire tells of their end.
        own_turn: a turn of the agent's own runs.
        promised: nobody but an unanswered load or resume has told of it.
    """

    client: ClientCapabilities
    prompts: list[str] = field(default_factory=list)
    loads: int = 0
    resumes: int = 0
    shown_again: bool = False
    cards: dict[str, OpenCard] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    terminals: set[str] = field(default_factory=set)
    unasked: int = 0
    own_turn: bool = False
    promised: bool = False

    @property
    def reopens(self) -> bool:
        """It is to be loaded or resumed."""
        return bool(self.loads or self.resumes)

    def unfinished(self) -> list[str]:
        """The ids of the calls that have not ended."""
        return list(self.cards)

    def begin_again(self) -> None:
        """All of it is told from the beginning."""
        self.shown_again = True
        self.cards.clear()
        self.ended.clear()

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
    """What both sides have said so far.

    Attributes:
        asked: by the ids of requests, as JSON: more than one where the client uses an id twice.
        called: ids of our own requests.
    """

    def __init__(self) -> None:
        self.client = ClientCapabilities()
        self.sessions: dict[str, SessionView] = {}
        self.asked: dict[str, list[Asked]] = {}
        self.called: set[str] = set()
        self._creating: dict[str, str] = {}

    def heard(self, message: Mapping[str, Any]) -> None:
        """Note a message of the client, whatever it holds."""
        method, params = message.get("method"), message.get("params")
        if method is None and ("result" in message or "error" in message):
            self._client_answered(message)
        elif "id" in message:
            self._client_asked(str(method), message["id"], params if isinstance(params, dict) else {})

    def told(self, message: Mapping[str, Any]) -> None:
        """Note a message of ours."""
        method = message.get("method")
        if method is None:
            self._answered(message)
            return
        if "id" in message:
            self.called.add(_key(message["id"]))
        params = message.get("params") or {}
        update = params.get("update") or {}
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
            self._creating[_key(message.get("id"))] = session_id

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

    def is_reloading(self, session_id: str) -> bool:
        """Whether a load of the session waits for its answer."""
        view = self.sessions.get(session_id)
        return view is not None and bool(view.loads)

    def waiting(self, message: Mapping[str, Any]) -> Asked | None:
        """The request that an answer is to."""
        waiting = self.asked.get(_key(message.get("id"))) or [None]
        # Of two with the same id it is the second that is refused for that.
        return waiting[-1 if _code(message) in _NOT_LET_IN else 0]

    def _client_asked(self, method: str, request_id: RequestId, params: Mapping[str, Any]) -> None:
        session_id, key = params.get("sessionId"), _key(request_id)
        waiting = self.asked.setdefault(key, [])
        if method == "initialize":
            client = read_capabilities(params.get("clientCapabilities"), params.get("clientInfo"))
            waiting.append(Asked(method, client=client))
            return
        if not isinstance(session_id, str):
            waiting.append(Asked(method))
            return
        known = self.sessions.get(session_id)
        waiting.append(Asked(method, session_id))
        if method in _REOPENING:
            self._reopening_asked(method, session_id)
        elif method == "session/prompt" and known is not None:
            known.prompts.append(key)

    def _client_answered(self, message: Mapping[str, Any]) -> None:
        session = self.sessions.get(self._creating.pop(_key(message.get("id")), ""))
        result = message.get("result")
        if session is not None and isinstance(result, dict):
            session.terminals.add(str(result.get("terminalId")))

    def _answered(self, message: Mapping[str, Any]) -> None:
        key, asked = _key(message.get("id")), self.waiting(message)
        if asked is None:
            return
        self.asked[key].remove(asked)
        if not self.asked[key]:
            del self.asked[key]
        session, failed = self.sessions.get(asked.session_id), "error" in message
        if asked.method == "session/prompt":
            if session is not None and key in session.prompts:
                session.prompts.remove(key)
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
            if view.shown_again and failed:
                view.cards.clear()
            view.shown_again = False
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


def _key(request_id: RequestId) -> str:
    return json.dumps(request_id)


def _code(message: Mapping[str, Any]) -> int:
    error = message.get("error")
    return int(error.get("code", 0)) if isinstance(error, dict) else 0


# The rules, a function each: from a message of ours to what is wrong with it, in words, or None.

_RANK = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}

_UPDATE_NEEDS = {
    "notice": "notices",
    "compaction_update": "compaction",
    "compaction_summary_chunk": "compaction",
    "subagent_update": "subagents",
}
_CALL_NEEDS = {
    "fs/read_text_file": "read_files",
    "fs/write_text_file": "write_files",
    "terminal/create": "terminals",
    "terminal/output": "terminals",
    "terminal/wait_for_exit": "terminals",
    "terminal/kill": "terminals",
    "terminal/release": "terminals",
    "elicitation/complete": "url_questions",
    "session/request_permission": "",
    "session/update": "",
    "$/cancel_request": "",
}
_FORM_NEEDS = {"form": "form_questions", "url": "url_questions"}

_CARD_META = {
    "hermes": "",
    "tool_name": "terminal_output",
    "terminal_info": "terminal_output",
    "terminal_output": "terminal_output",
    "terminal_exit": "terminal_output",
}
_AUTH_META = {"terminal-auth": "terminal_auth_meta"}
_AGENT_META = {"hermes": ""}
_GREETING_META = {"steering": ""}
_SESSION_META = {"hermes": ""}
_NO_META: Mapping[str, str] = {}


class Sent(NamedTuple):
    """A message of ours with what the rules ask of it.

    Attributes:
        part: the update, the parameters of a call, or the result of an answer.
        session: the session that it is about; None for one that the client does not know.
        asked: the request that it answers.
        called: ids of our requests before it.
    """

    message: Mapping[str, Any]
    method: str
    kind: str
    part: Mapping[str, Any]
    session_id: str
    session: SessionView | None
    client: ClientCapabilities
    asked: Asked | None
    called: frozenset[str] | set[str] = frozenset()


Rule = Callable[[Sent], str | None]


def known_session(sent: Sent) -> str | None:
    """Nothing is told or asked of a session before the client knows it; while it is loaded, only what was."""
    session = sent.session
    if session is not None and not session.promised:
        return None
    return f"{sent.kind} for a session that the client does not know (yet)"


def being_loaded(sent: Sent) -> str | None:
    """What was is told again while a load waits for its answer."""
    if sent.session is not None and sent.session.loads:
        return None
    return f"{sent.kind} of what was, when no load waits for its answer"


def known_update(sent: Sent) -> str | None:
    """Only kinds that this version of the protocol has: some clients end the connection at another."""
    return None if sent.kind in UPDATE_RULES else f"{sent.kind!r} is no update of this version of the protocol"


def in_a_turn(sent: Sent) -> str | None:
    """What belongs to a turn comes between its prompt and the answer, and not between what was."""
    session = sent.session
    if session is None:
        return None
    if session.shown_again:
        return f"{sent.kind} of a turn in the middle of what was"
    if session.prompts or session.unasked or session.own_turn:
        return None
    return f"{sent.kind} when no prompt waits for its answer"


def offered_update(sent: Sent) -> str | None:
    """Kinds of updates that not every client takes need its offer."""
    needed = _UPDATE_NEEDS[sent.kind]
    return None if getattr(sent.client, needed) else f"{sent.kind} for a client without {needed}"


def offered_call(sent: Sent) -> str | None:
    """No method of the client is called that it did not offer (ACP v1, initialization)."""
    needed = _CALL_NEEDS.get(sent.method)
    if sent.method == "elicitation/create":
        needed = _FORM_NEEDS.get(str(sent.part.get("mode")))
    if needed is None:
        return f"no client has the method {sent.method}"
    return None if not needed or getattr(sent.client, needed) else f"{sent.method} for a client without {needed}"


def offered_meta(sent: Sent) -> str | None:
    """`_meta` holds only what is listed for its place, and what the client has offered to read."""
    if "_meta" in sent.part and (problem := _meta_problem(sent.part, _meta_of(sent), sent.client)):
        return problem
    content = sent.part.get("content")
    if isinstance(content, dict) and "_meta" in content:
        return _meta_problem(content, _NO_META, sent.client)
    params = sent.message.get("params")
    return _meta_problem(params, _NO_META, sent.client) if params and "_meta" in params else None


def offered_greeting(sent: Sent) -> str | None:
    """`initialize` offers a sign-in in a terminal, and `_meta`, only to clients that can take it."""
    client, result = sent.client, sent.part
    if problem := _meta_problem(result.get("agentCapabilities") or {}, _AGENT_META, client):
        return problem
    for method in result.get("authMethods") or ():
        if method.get("type") == "terminal" and not client.terminal_auth:
            return f"a terminal sign-in ({method.get('id')}) for a client without terminal_auth"
        if problem := _meta_problem(method, _AUTH_META, client):
            return problem
    return None


def offered_options(sent: Sent) -> str | None:
    """Switches are config options only for clients that show them (ACP v1, session config options)."""
    options = sent.part.get("configOptions")
    if sent.client.boolean_options or not options:
        return None
    switches = [str(option.get("id")) for option in options if option.get("type") == "boolean"]
    return f"the switches {', '.join(switches)} for a client without boolean_options" if switches else None


def created_once(sent: Sent) -> str | None:
    """A card is made by one `tool_call`; everything later is an update of it."""
    session, call_id = sent.session, sent.part.get("toolCallId", "")
    if session is None:
        return None
    exists = call_id in session.cards or call_id in session.ended
    if sent.kind == "tool_call":
        return f"a second tool_call for {call_id}" if exists else None
    return None if exists else f"{sent.kind} for {call_id}, which was never shown"


def status_goes_on(sent: Sent) -> str | None:
    """A status never goes back, and an ended call never changes its end."""
    status, call_id = sent.part.get("status"), sent.part.get("toolCallId", "")
    if status is None or sent.session is None:
        return None
    ended = sent.session.ended.get(call_id)
    card = sent.session.cards.get(call_id)
    before = ended or (card.status if card is not None else "pending")
    if _RANK.get(status, -1) < _RANK[before] or (ended is not None and status != ended):
        return f"{call_id} goes from {before} to {status}"
    return None


def says_status(sent: Sent) -> str | None:
    """Each update of a card says its status: some clients take one that does not for the end of the call."""
    return None if "status" in sent.part else f"{sent.kind} for {sent.part.get('toolCallId', '')} without a status"


def asked_on_open_card(sent: Sent) -> str | None:
    """A permission is asked for on a card that has not ended."""
    session, call_id = sent.session, sent.part.get("toolCallId", "")
    if session is None or call_id not in session.ended:
        return None
    return f"a question on {call_id}, which has ended"


def stands_alone(sent: Sent) -> str | None:
    """A permission question says all there is to know by itself: some clients show and judge nothing else."""
    missing = [name for name in ("kind", "title", "status", "locations", "content") if name not in sent.part]
    return f"a question without {', '.join(missing)} on {sent.part.get('toolCallId', '')}" if missing else None


def has_choices(sent: Sent) -> str | None:
    """A question has answers, and each an id of its own."""
    ids = [option.get("optionId") for option in sent.message["params"].get("options") or ()]
    return None if ids and len(set(ids)) == len(ids) else f"the options must be there and differ: {ids}"


def asked_once(sent: Sent) -> str | None:
    """Each request of ours has an id of its own."""
    again = "id" in sent.message and _key(sent.message["id"]) in sent.called
    return f"the request id {sent.message['id']!r} is used twice" if again else None


def told_apart(sent: Sent) -> str | None:
    """A client that may show one button for each kind of answer gets one answer of a kind at most."""
    if not sent.client.habits.collapses_options:
        return None
    kinds = [option.get("kind") for option in sent.message["params"].get("options") or ()]
    return (
        None if len(kinds) == len(set(kinds)) else f"several answers of a kind for a client that collapses: {kinds}"
    )


def absolute_paths(sent: Sent) -> str | None:
    """Every path is absolute, and lines count from 1 (ACP v1, tool calls and overview)."""
    for location in sent.part.get("locations") or ():
        if not _is_absolute(location.get("path")):
            return f"a location that is not absolute: {location.get('path')!r}"
        if location.get("line") == 0:
            return "a location in line 0"
    content = sent.part.get("content")
    for item in content if isinstance(content, list) else ():
        if item.get("type") == "diff" and not _is_absolute(item.get("path")):
            return f"a diff of a path that is not absolute: {item.get('path')!r}"
    for name in ("path", "cwd"):
        if (path := sent.part.get(name)) is not None and not _is_absolute(path):
            return f"{sent.kind} with a {name} that is not absolute: {path!r}"
    return None


def terminal_alone(sent: Sent) -> str | None:
    """A terminal is the whole content of its card, and one that exists."""
    content = sent.part.get("content")
    for item in content if isinstance(content, list) else ():
        if item.get("type") != "terminal":
            continue
        if len(content or ()) > 1:
            return f"a terminal beside other content in {sent.part.get('toolCallId')}"
        announced = (sent.part.get("_meta") or {}).get("terminal_info") or {}
        name = item.get("terminalId")
        if name != announced.get("terminal_id") and sent.session is not None and name not in sent.session.terminals:
            return f"the terminal {name} was neither created nor announced"
    return None


def honest_end(sent: Sent) -> str | None:
    """A command that failed is not shown as completed; a look at a process that failed may be."""
    raw = sent.part.get("rawOutput")
    if sent.part.get("status") != "completed" or (isinstance(raw, dict) and "process" in raw):
        return None
    ended = (sent.part.get("_meta") or {}).get("terminal_exit") or {}
    code = ended.get("exit_code", raw.get("exit_code") if isinstance(raw, dict) else None)
    call_id = sent.part.get("toolCallId", "")
    if ended.get("signal"):
        return f"{call_id} is completed, and was ended by {ended['signal']}"
    card = sent.session.cards.get(call_id) if sent.session is not None else None
    command = card.command if card is not None else ""
    if not isinstance(code, int) or not code:
        return None
    failed = explain_exit(command, code).failed
    return f"{call_id} is completed, and its exit code is {code}" if failed else None


def waited_for(sent: Sent) -> str | None:
    """A request is answered once; what is no request may be refused without an id."""
    if sent.message.get("id") is None and _code(sent.message) in _NOT_LET_IN:
        return None
    return None if sent.asked is not None else f"an answer to {sent.message.get('id')!r}, which nobody asked"


def one_line_error(sent: Sent) -> str | None:
    """An error has a message of one line (ACP v1, error handling)."""
    error = sent.message.get("error")
    if error is None:
        return None
    message = error.get("message") if isinstance(error, dict) else None
    if not isinstance(message, str) or not message.strip():
        return "an error without a message"
    return "an error's message of several lines" if len(message.splitlines()) > 1 else None


def ended_cards(sent: Sent) -> str | None:
    """Every card has ended when its turn is answered, and when a session was loaded."""
    session, asked = sent.session, sent.asked
    if session is None or asked is None or not session.cards:
        return None
    if asked.method == "session/prompt":
        # One that was sent into a running turn, of whatever kind, may be answered while that turn goes on.
        first = session.prompts[:1] == [_key(sent.message.get("id"))]
        done = first and not (session.unasked or session.own_turn or session.shown_again)
    else:
        # One that is refused has shown nothing: what runs is a turn.
        done = asked.method == "session/load" and "error" not in sent.message
    return f"{asked.method} is answered while {', '.join(session.cards)} still run" if done else None


def own_turn_in_order(sent: Sent) -> str | None:
    """A turn that no prompt asked for begins and ends once."""
    state = own_turn_of(sent.part)
    if sent.session is None or not state or (state == "running") != sent.session.own_turn:
        return None
    return f"a turn of the agent's own is {state} twice"


def ended_own_turn(sent: Sent) -> str | None:
    """Every card has ended when a turn that no prompt asked for is over."""
    if sent.session is None or not sent.session.cards or own_turn_of(sent.part) != "over":
        return None
    return f"a turn of its own is over while {', '.join(sent.session.cards)} still run"


def fresh_session(sent: Sent) -> str | None:
    """A new session has an id that no other has."""
    if sent.asked is None or sent.asked.method not in {"session/new", "session/fork"} or "error" in sent.message:
        return None
    return f"{sent.asked.method} gives the id of another session" if sent.session is not None else None


_ANYTIME: tuple[Rule, ...] = (known_session, offered_meta)
_OF_A_TURN: tuple[Rule, ...] = (known_session, in_a_turn, offered_meta)
_SHOWN: tuple[Rule, ...] = (created_once, status_goes_on, absolute_paths, terminal_alone, honest_end)
_CARD: tuple[Rule, ...] = (*_OF_A_TURN, *_SHOWN)
QUESTION: tuple[Rule, ...] = (
    known_session, offered_meta, asked_on_open_card, stands_alone, has_choices, told_apart, asked_once, *_SHOWN,
)  # fmt: skip
CALL: tuple[Rule, ...] = (offered_call, known_session, asked_once, absolute_paths, offered_meta)
ANSWER: tuple[Rule, ...] = (waited_for, one_line_error, ended_cards, fresh_session, offered_options, offered_meta)
GREETING: tuple[Rule, ...] = (*ANSWER, offered_greeting)
UNPLACED_CALL: tuple[Rule, ...] = (offered_call,)

UPDATE_RULES: dict[str, tuple[Rule, ...]] = {
    "user_message_chunk": _OF_A_TURN,
    "agent_message_chunk": _OF_A_TURN,
    "agent_thought_chunk": _OF_A_TURN,
    "plan": _OF_A_TURN,
    "tool_call": _CARD,
    "tool_call_update": (*_CARD, says_status),
    "available_commands_update": _ANYTIME,
    "current_mode_update": _ANYTIME,
    "config_option_update": (*_ANYTIME, offered_options),
    "session_info_update": (*_ANYTIME, own_turn_in_order, ended_own_turn),
    "usage_update": _ANYTIME,
    "notice": (*_ANYTIME, offered_update),
    "compaction_update": (*_OF_A_TURN, offered_update),
    "compaction_summary_chunk": (*_OF_A_TURN, offered_update),
    "subagent_update": (*_ANYTIME, offered_update),
}


_INSTEAD: dict[Rule, tuple[Rule, ...]] = {known_session: (being_loaded,), in_a_turn: ()}
PAST_RULES: dict[str, tuple[Rule, ...]] = {
    kind: tuple(other for rule in rules for other in _INSTEAD.get(rule, (rule,)))
    for kind, rules in UPDATE_RULES.items()
}
"""For updates that tell of what was."""


def _meta_of(sent: Sent) -> Mapping[str, str]:
    """What may stand in the `_meta` of the message's part itself."""
    if "toolCallId" in sent.part:
        return _CARD_META
    if sent.kind == "session_info_update":
        return _SESSION_META
    return _GREETING_META if sent.method == "initialize" else _NO_META


def _meta_problem(holder: Any, allowed: Mapping[str, str], client: ClientCapabilities) -> str | None:
    meta = holder.get("_meta") if isinstance(holder, dict) else None
    for key in meta or ():
        if key not in allowed:
            return f"{key!r} in a _meta that it is not listed for"
        if allowed[key] and not getattr(client, allowed[key]):
            return f"{key!r} in _meta for a client without {allowed[key]}"
    return None


def _is_absolute(path: object) -> bool:
    return isinstance(path, str) and (path.startswith("/") or path[1:3] == ":\\" or path[:2] == "\\\\")


# All of them together.


class WireRules:
    """Follows one connection in the order in which the agent reads and writes."""

    def __init__(self) -> None:
        self._ledger = Ledger()

    @property
    def sessions(self) -> dict[str, SessionView]:
        """Those that the client knows, or was promised, by id."""
        return self._ledger.sessions

    @property
    def unanswered(self) -> list[str]:
        """The methods of the client's requests that have no answer yet."""
        return [asked.method for waiting in self._ledger.asked.values() for asked in waiting]

    def begin(self, client: Mapping[str, Any], session_id: str) -> None:
        """Such a client has a session of that id already."""
        self._ledger.client = read_capabilities(client)
        self.sessions[session_id] = SessionView(self._ledger.client)

    def heard(self, message: Mapping[str, Any]) -> None:
        """Note a message of the client, before anybody can answer it."""
        self._ledger.heard(message)

    def broken(self, message: Mapping[str, Any], *, past: bool | None = False) -> list[str]:
        """What is wrong with a message of ours, each rule on a line with its name; it is noted.

        Args:
            past: it tells of what was, because of a load; None: nobody knows.
        """
        session_id = str((message.get("params") or {}).get("sessionId") or "")
        try:
            told = self._told(message, session_id, past)
            self._ledger.told(message)
        except Exception as problem:  # noqa: BLE001 - a message of no known form is itself the violation
            told = [f"known-form: the message could not be read ({problem!r})"]
        return [f"{text} (session {session_id})" if session_id else text for text in told]

    def past_over(self, session_id: str, *, whole: bool) -> None:
        """All of what was is told, or no more of it will be."""
        self._ledger.has_shown(session_id, whole=whole)

    def _told(self, message: Mapping[str, Any], session_id: str, past: bool | None) -> list[str]:
        live = self._against(message, UPDATE_RULES) if past is not True else []
        may_be_past = live and past is None and self._ledger.is_reloading(session_id)
        if past is not True and not may_be_past:
            return live
        self._ledger.shows_again(session_id)
        again = self._against(message, PAST_RULES)
        return again if past or not again else live

    def _against(self, message: Mapping[str, Any], updates: Mapping[str, tuple[Rule, ...]]) -> list[str]:
        sent, rules = self._placed(message, updates)
        found = ((rule.__name__.replace("_", "-"), rule(sent)) for rule in rules)
        return [f"{name}: {text}" for name, text in found if text is not None]

    def _placed(
        self, message: Mapping[str, Any], updates: Mapping[str, tuple[Rule, ...]]
    ) -> tuple[Sent, tuple[Rule, ...]]:
        """The message with the rules for its kind."""
        ledger, method = self._ledger, message.get("method")
        if method is None:
            return self._answer(message)
        params = message.get("params") or {}
        session_id = params.get("sessionId") or ""
        session = ledger.sessions.get(session_id)
        client = ledger.client if session is None else session.client
        kind, part, rules = method, params, CALL if session_id else UNPLACED_CALL
        if method == "session/update":
            part = params.get("update") or {}
            kind = part.get("sessionUpdate", "")
            rules = updates.get(kind, (known_update,))
        elif method == "session/request_permission":
            part, rules = params.get("toolCall") or {}, QUESTION
        return Sent(message, method, kind, part, session_id, session, client, None, ledger.called), rules

    def _answer(self, message: Mapping[str, Any]) -> tuple[Sent, tuple[Rule, ...]]:
        ledger = self._ledger
        asked, result = ledger.waiting(message), message.get("result")
        part = result if isinstance(result, dict) else {}
        session_id = part.get("sessionId") or (asked.session_id if asked is not None else "")
        session, method = ledger.sessions.get(session_id), asked.method if asked is not None else ""
        greets = method == "initialize" and "error" not in message
        client = ledger.client if session is None else session.client
        client = asked.client if asked is not None and greets else client
        sent = Sent(message, method, method, part, session_id, session, client, asked)
        return sent, GREETING if greets else ANSWER


class WireInvariants(WireRules):
    """The same at the editor's end: `sent` hears the editor and never judges it, `received` judges the agent."""

    def sent(self, message: dict[str, Any]) -> None:
        """Note a message of the editor."""
        self.heard(message)

    def received(self, message: dict[str, Any]) -> None:
        """Judge a message of the agent.

        Raises:
            WireViolation: it breaks the schema or a rule.
        """
        asked = None if "method" in message else self._ledger.waiting(message)
        check_outgoing(message, None if asked is None else asked.method)
        if broken := self.broken(message, past=None):
            raise WireViolation(f"{'; '.join(broken)} in {json.dumps(message)[:400]}")


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
