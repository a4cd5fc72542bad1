"""The rules of `wire_rules`, a function each: from a message of ours to what is wrong with it, in words, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.wire_state import Asked, SessionView, own_turn_of

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
    """

    message: Mapping[str, Any]
    method: str
    kind: str
    part: Mapping[str, Any]
    session_id: str
    session: SessionView | None
    client: ClientCapabilities
    asked: Asked | None


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
    return None if exists or session.forgets else f"{sent.kind} for {call_id}, which was never shown"


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
    from tools.shell.exit_codes import explain_exit  # noqa: PLC0415 - not before a command has failed

    failed = explain_exit(command, code).failed
    return f"{call_id} is completed, and its exit code is {code}" if failed else None


def waited_for(sent: Sent) -> str | None:
    """A request is answered once."""
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
        first = session.prompts[:1] == [sent.message.get("id")]
        done = first and not (session.unasked or session.own_turn or session.shown_again)
    else:
        # One that is refused has shown nothing: what runs is a turn.
        done = asked.method == "session/load" and "error" not in sent.message
    return f"{asked.method} is answered while {', '.join(session.cards)} still run" if done else None


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
QUESTION: tuple[Rule, ...] = (known_session, offered_meta, asked_on_open_card, stands_alone, told_apart, *_SHOWN)
CALL: tuple[Rule, ...] = (offered_call, known_session, absolute_paths, offered_meta)
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
    "session_info_update": (*_ANYTIME, ended_own_turn),
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
    return isinstance(path, str) and path.startswith("/")
