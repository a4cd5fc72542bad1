"""The full-text index: what of a message is searched, bringing the index up to date, and keeping it small."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agent_core.errors import StoreError
from agent_core.messages import FunctionCall, Message, said_in
from agent_core.sessions.database import Database, unpack

# What of a message is searched, and how text is made ready for the index. A query's words are made ready alike.

_SAID_CHARS = 64 * 1024
_DONE_CHARS = 8 * 1024
_PARSED_CHARS = 1024 * 1024
# Scripts written without spaces: CJK, and Thai, Lao, Burmese and Khmer.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00016fe0-\U00018dff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003ffff]+"
)
# Encoded bytes: nobody looks for them, and each would be a word of its own.
_ENCODED = re.compile(r"[A-Za-z0-9+/]{256,}={0,2}")
_ESCAPES = re.compile(r'\\(?:u[0-9a-fA-F]{4}|[nrtbf"\\/])')


def searchable(message: Message) -> str:
    """The text that `message` is found by, not made ready yet; '' where it is not to be found.

    64 K characters of what was said, 8 K of the tools that an answer calls, 8 K of a tool's result.
    """
    if message.get("injected") or message["role"] == "system":
        return ""
    if message["role"] == "tool":
        return result_text(message, _DONE_CHARS)
    calls = (part for call in message.get("tool_calls", ()) for part in _of_call(call["function"]))
    return f"{said(message, _SAID_CHARS)}\n{_joined(calls, _DONE_CHARS)}".strip()


def said(message: Message, limit: int) -> str:
    """The first `limit` characters of the message's own text, without images and documents."""
    content = said_in(message)
    if isinstance(content, str):
        return content[:limit]
    return _joined((part["text"] for part in content or () if part["type"] == "text"), limit)


def result_text(message: Message, limit: int) -> str:
    """The first `limit` characters of what a tool answered, without the JSON around it."""
    text = said(message, _PARSED_CHARS)
    return _joined(_from_json(text, limit), limit) if text.lstrip()[:1] in {"{", "["} else text[:limit]


def prepared(text: str) -> str:
    """`text` for the index: one form of each character, and those of scripts without spaces each a word."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
        text = _SPACELESS.sub(lambda run: f" {' '.join(run[0])} ", text)
    return _ENCODED.sub(" ", text)


def _of_call(call: FunctionCall) -> Iterator[str]:
    yield call["name"]
    yield from _from_json(call["arguments"], _DONE_CHARS)


def _from_json(text: str, limit: int) -> Iterator[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # It was cut, or the model wrote it so.
        value = _ESCAPES.sub(" ", text[:limit])
    return _strings(value)


def _strings(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as members:
                waiting.extend(reversed(members.values()))
            case list() as members:
                waiting.extend(reversed(members))


def _joined(texts: Iterable[str], limit: int) -> str:
    kept: list[str] = []
    left = limit
    for text in texts:
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(text) + 1
    return "\n".join(kept)


# The index is made of parts, and the parts lie on levels, the newest on the lowest. Up to SQLite 3.41 each merge of
# all parts into one opens a further level and leaves the empty ones below it; an index with more than 2,000 of them
# counts as damaged. So after many such merges it is made anew.
# Source: the format of the structure record is described at the beginning of fts5_index.c in SQLite's sources.

NO_PARTS = bytes(7)
"""The structure record of an index without words."""

SET_STRUCTURE = "INSERT OR REPLACE INTO messages_fts_data (id, block) VALUES (10, ?)"
_STRUCTURE = "SELECT block FROM messages_fts_data WHERE id = 10"
_COOKIE = 4  # bytes before the number of levels, which is in groups of seven bits
MOST_LEVELS = 1_000


def levels_of(record: bytes) -> int:
    """How many levels a structure record tells of."""
    levels = 0
    for byte in record[_COOKIE:]:
        levels = levels << 7 | byte & 0x7F
        if not byte & 0x80:
            break
    return levels


# Brings the search index up to date. Any number of processes may do so at once.
# Ids of messages are given within the transaction that stores them, and there is one at a time: a smaller id is never
# committed later. Each transaction here goes on where the index ended when it was read, and adds every message up to
# its last one. So the highest id in the index tells how far it reaches, and it has no holes.

_BATCH = 16
_BATCH_CHARS = 24 * 1024  # the index takes some three milliseconds for them

_PENDING = (
    "SELECT id, role, body FROM messages WHERE id > (SELECT coalesce(max(message_id), 0) FROM search_texts)"
    " ORDER BY id LIMIT ?"
)
_REACH = "SELECT coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(message_id) FROM search_texts), 0)"
# A message that is gone by now is passed over; one that was taken back or indexed by others meanwhile stays right.
_ADD = (
    "INSERT INTO search_texts (message_id, session_id, hidden, created_at, {column})"
    " SELECT id, session_id, hidden, created_at, ? FROM messages WHERE id = ?"
    " ON CONFLICT (message_id) DO NOTHING"
)
_ADD_TEXT = {role: _ADD.format(column=role) for role in ("user", "assistant", "tool")}

# The index keeps the words of what was deleted, marked, until its parts are merged. A step takes some milliseconds.
_MERGE = "INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', ?)"
_MERGED_PAGES = 64
_PAUSE = 0.001, 0.01
_NOTHING_MERGED = 2  # changes: the statement itself counts

Entry = tuple[str, str, int]  # role, text, message id


def index_pending(
    database: Database, limit: int = 200, *, within: float | None = None, patience: float | None = None
) -> int:
    """Make messages searchable that are not yet, the oldest first, in short transactions.

    Args:
        limit: messages, at most.
        within: seconds after which no further transaction is begun; None for no end.
        patience: seconds that a busy database is tried; None for the database's own.

    Returns:
        How many messages were looked at.

    Raises:
        StoreError: the database cannot be read or written; what was done until then stays.
    """
    until = None if within is None else time.monotonic() + within
    done = 0
    while done < limit and (until is None or time.monotonic() < until):
        entries = _next_entries(database, min(_BATCH, limit - done))
        if not entries:
            break
        with database.write(patience) as connection:
            for role, text, message_id in entries:
                connection.execute(_ADD_TEXT.get(role, _ADD_TEXT["user"]), (text, message_id))
        done += len(entries)
    return done


def forget_deleted(database: Database, pause: Callable[[float], None] = time.sleep) -> None:
    """Remove the words of deleted messages from the index's own file pages, in short transactions.

    Raises:
        StoreError: the database cannot be written; what was done until then stays.
    """
    with database.read() as connection:
        record = connection.execute(_STRUCTURE).fetchone()
    if record is not None and levels_of(record[0]) >= MOST_LEVELS:
        with database.write() as connection:
            connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")
        return
    pages = -_MERGED_PAGES  # negative: all parts of the index become one
    while True:
        began = time.monotonic()
        with database.write() as connection:
            before = connection.total_changes
            connection.execute(_MERGE, (pages,))
            if connection.total_changes - before < _NOTHING_MERGED:
                return
        pages = _MERGED_PAGES
        pause(min(max(time.monotonic() - began, _PAUSE[0]), _PAUSE[1]))


def unsearched(database: Database) -> int:
    """About how many messages are not in the index yet, counted by their ids.

    Raises:
        StoreError: the database cannot be read.
    """
    with database.read() as connection:
        stored, indexed = connection.execute(_REACH).fetchone()
    return max(0, int(stored) - int(indexed))


def _next_entries(database: Database, limit: int) -> list[Entry]:
    entries: list[Entry] = []
    chars = 0
    with database.read() as connection:
        for message_id, role, body in connection.execute(_PENDING, (limit,)):
            text = _text(body)
            chars += len(text)
            if entries and chars > _BATCH_CHARS:
                break
            entries.append((role, text, message_id))
    return entries


def _text(body: Any) -> str:
    try:
        return prepared(searchable(unpack(body)))
    except (StoreError, KeyError, TypeError, AttributeError):
        return ""  # a damaged message is told of where it is read; here it must not stop those after it
