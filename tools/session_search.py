"""The tool `session_search`: what was said in earlier sessions. It is the user's own history: nothing is asked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from tools import arguments
from tools.agent_ports import RecalledMessage, RecalledSession, RecallQuery, Role, SessionRecall
from tools.context import ToolContext, require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ShownText, ToolResult, ok

Sort = Literal["relevance", "newest"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "default": 3, "maximum": 10},
        "sort": {"type": "string", "enum": list(get_args(Sort))},
        "session_id": {"type": "string"},
        "around_message_id": {"type": "integer"},
        "window": {"type": "integer", "default": 5, "maximum": 20},
        "role_filter": {"type": "string", "description": "Default user,assistant; also tool"},
    },
}
DESCRIPTION = (
    'Past sessions with this user. query finds words in them ("phrase", prefix*, -without); session_id shows '
    "one's beginning and end, with around_message_id the messages near one; nothing lists the latest."
)
_DEFAULT_SESSIONS, _MOST_SESSIONS = 3, 10
_DEFAULT_WINDOW, _WIDEST = 5, 20
_MAX_ID = 2**63 - 1
_BEGINNING, _END = 0, -1
_DEFAULT_ROLES: tuple[Role, ...] = ("user", "assistant")
# Characters of all messages of one result together; a message that is left out of it is read by its id.
_MAX_CHARS = 20_000
_MAX_TITLE = 200


def session_search(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Search, read or list earlier sessions.

    Args:
        args: as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with the sessions and, of each, messages with id, role and text; `hit` marks those that were found, and
        `answer` the one that ended the turn of the best of them.

    Raises:
        ToolError: arguments that do not go together, no such session or message, or no stored sessions.
    """
    ctx = require_context(kw)
    recall = ctx.agent.recall() if ctx.agent is not None else None
    if recall is None:
        raise ToolError("There are no stored sessions here to search: go on with what this session has.")
    query = arguments.text(args, "query", "").strip()
    session_id = arguments.text(args, "session_id", "").strip()
    message_id = arguments.integer(args, "around_message_id", 0, maximum=_MAX_ID)
    window = arguments.integer(args, "window", _DEFAULT_WINDOW, maximum=_WIDEST)
    if message_id and not session_id:
        raise ToolError("around_message_id needs the session_id that was told with it.")
    if session_id:
        if query:
            raise ToolError("Give query to search all sessions, or session_id to read one; not both.")
        return _read(recall, session_id, message_id, window)
    limit = arguments.integer(args, "limit", _DEFAULT_SESSIONS, minimum=1, maximum=_MOST_SESSIONS)
    if not query:
        return _latest(recall, ctx, limit)
    sort: Sort = "newest" if arguments.choice(args, "sort", get_args(Sort), "relevance") == "newest" else "relevance"
    return _search(recall, RecallQuery(query, limit, sort, _roles(args), window, not_in=ctx.session_id))


def _search(recall: SessionRecall, query: RecallQuery) -> ToolResult:
    found = recall.search(query)
    missing = recall.unsearched()
    notes = []
    if not found:
        notes.append("Nothing was found. Try fewer or other words, or role_filter user,assistant,tool.")
    if missing:
        notes.append(f"About {missing} messages are not searched yet: search again in a while.")
    return _told(found, " ".join(notes))


def _read(recall: SessionRecall, session_id: str, message_id: int, window: int) -> ToolResult:
    if message_id:
        return _told([recall.around(session_id, message_id, window)])
    size = max(1, window)
    start, end = (recall.around(session_id, place, size) for place in (_BEGINNING, _END))
    seen = {message.id for message in start.messages}
    rest = tuple(message for message in end.messages if message.id not in seen)
    note = ""
    if len(rest) == size:
        note = f"There may be more after message {start.messages[-1].id}: read on with around_message_id."
    return _told([replace(start, messages=start.messages + rest)], note)


def _latest(recall: SessionRecall, ctx: ToolContext, limit: int) -> ToolResult:
    others = [session for session in recall.latest(limit + 1) if session.session_id != ctx.session_id]
    return _told(others[:limit], "" if others else "There is no earlier session.")


def _roles(args: Mapping[str, Any]) -> tuple[Role, ...]:
    wanted = {name.strip().lower() for name in arguments.text(args, "role_filter", "").split(",")} - {""}
    known: tuple[Role, ...] = get_args(Role)
    if unknown := sorted(wanted.difference(known)):
        raise ToolError(f"role_filter {', '.join(unknown)} is not known: list some of {', '.join(known)}.")
    return tuple(role for role in known if role in wanted) or _DEFAULT_ROLES


def _told(sessions: Sequence[RecalledSession], note: str = "") -> ToolResult:
    limit = _fair_limit([len(message.text) for session in sessions for message in session.messages])
    payload: dict[str, Any] = {"sessions": [_as_json(session, limit) for session in sessions]}
    if note:
        payload["note"] = note
    shown = "\n".join([*map(_line, sessions), *([note] if note else [])])
    return ok(payload, ShownText(shown))


def _fair_limit(lengths: Sequence[int]) -> int:
    """Characters that each message may have so that all of them fit: long ones are cut, short ones stay whole."""
    left = _MAX_CHARS
    for number, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - number)
        if length > share:
            return share
        left -= length
    return _MAX_CHARS


def _as_json(session: RecalledSession, limit: int) -> dict[str, Any]:
    value = {
        "session_id": session.session_id,
        "title": session.title[:_MAX_TITLE],
        "date": _date(session),
        "cwd": session.cwd,
        "messages": [_message(message, limit) for message in session.messages],
    }
    return {**value, "hits": session.hits} if session.hits else value


def _message(message: RecalledMessage, limit: int) -> dict[str, Any]:
    text = message.text if len(message.text) <= limit else message.text[:limit] + "…"
    value = {"id": message.id, "role": message.role, "text": text}
    marks = {"hit": message.is_hit, "answer": message.is_answer}
    return value | {name: True for name, is_so in marks.items() if is_so}


def _line(session: RecalledSession) -> str:
    hits = f", {session.hits} found" if session.hits else ""
    return f"{_date(session)}  {session.title[:_MAX_TITLE] or session.session_id}  ({session.cwd}{hits})"


def _date(session: RecalledSession) -> str:
    return dt.datetime.fromtimestamp(session.updated_at, tz=dt.UTC).astimezone().strftime("%Y-%m-%d %H:%M")


registry.register(
    name="session_search",
    toolset="recall",
    schema=SCHEMA,
    handler=session_search,
    description=DESCRIPTION,
    parallel="safe",
)
