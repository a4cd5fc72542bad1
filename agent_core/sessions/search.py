"""Finding what was said in earlier sessions, by words, and reading pieces of it."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from agent_core.errors import StoreError
from agent_core.messages import Message
from agent_core.sessions.database import Database, unpack
from agent_core.sessions.rows import DELETING, IN_USE
from agent_core.sessions.search_index import index_pending, prepared, result_text, said, unsearched
from tools.agent_ports import RecalledMessage, RecalledSession, RecallQuery, Role
from tools.errors import ToolError
from tools.light_dataclass import dataclass

# What a person or a model types, as a question to the index. No input is a syntax error.

_ROLES: tuple[Role, ...] = ("user", "assistant", "tool")
_MAX_CHARS = 2_000
_MAX_TERMS = 12
# Each word costs the ranking a walk through all messages that have it; long words tell more than short ones.
_MAX_ALTERNATIVES = 6
_MIN_PREFIX = 2
_QUOTES = '"“”„«»「」『』'
_TERM = re.compile(rf"((?<!\S)-(?!-))?(?:[{_QUOTES}]([^{_QUOTES}]*)[{_QUOTES}]|([^\s{_QUOTES}]+))")
_WHAT_TO_WRITE = 'Write words to look for: all of them have to be in one message; "a phrase", prefix*, -without.'


@dataclass(frozen=True, slots=True)
class Term:
    """A word, identifier, path or phrase as it was typed; with `is_prefix` its last word may go on."""

    text: str
    is_prefix: bool = False

    def expression(self) -> str:
        """The term in the index's own language: a phrase of the words that it is made of."""
        phrase = prepared(self.text).replace('"', " ").strip()
        return f'"{phrase}" *' if self.is_prefix else f'"{phrase}"'

    def pattern(self) -> str:
        """A regular expression that finds the term in a message as it was written."""
        words = re.findall(r"[^\W_]+", self.text)
        start = r"(?<![^\W_])" if self.text.isascii() else ""
        return start + r"[\W_]+".join(map(re.escape, words))


@dataclass(frozen=True, slots=True)
class Words:
    """A query: terms that are looked for, at least one, and terms that must not be in the message."""

    wanted: tuple[Term, ...]
    unwanted: tuple[Term, ...] = ()

    def all_of_them(self, roles: Sequence[Role]) -> str:
        """The expression for messages of `roles` with every term."""
        return self._expression(" AND ".join(term.expression() for term in self.wanted), roles)

    def any_of_them(self, roles: Sequence[Role]) -> str:
        """The expression for messages with one of the terms: the six longest, where there are more."""
        longest = sorted(self.wanted, key=lambda term: -len(term.text.encode("utf-8", "replace")))
        return self._expression(" OR ".join(term.expression() for term in longest[:_MAX_ALTERNATIVES]), roles)

    def pattern(self) -> re.Pattern[str]:
        """Finds any of the terms in a message as it was written."""
        return re.compile("|".join(term.pattern() for term in self.wanted), re.IGNORECASE)

    def _expression(self, wanted: str, roles: Sequence[Role]) -> str:
        unwanted = " OR ".join(term.expression() for term in self.unwanted)
        whole = f"({wanted}) NOT ({unwanted})" if unwanted else f"({wanted})"
        columns = " ".join(role for role in _ROLES if role in roles)
        return f"{{{columns}}} : ({whole})"


def parse(text: str) -> Words:
    """Read a query.

    Raises:
        ToolError: there is nothing in it to look for.
    """
    wanted: dict[Term, None] = {}
    unwanted: dict[Term, None] = {}
    for minus, phrase, word in _TERM.findall(text[:_MAX_CHARS].replace("\0", " ")):
        if term := _term(phrase, word):
            (unwanted if minus else wanted).setdefault(term)
    if not wanted and unwanted:
        raise ToolError(f"The query {_shown(text)} only says what must not be there. {_WHAT_TO_WRITE}")
    if not wanted:
        told = "is empty" if not text.strip() else f"{_shown(text)} has no word in it, only signs"
        raise ToolError(f"The query {told}. {_WHAT_TO_WRITE}")
    return Words(tuple(wanted)[:_MAX_TERMS], tuple(unwanted)[:_MAX_TERMS])


def _term(phrase: str, word: str) -> Term | None:
    if phrase:
        return Term(phrase) if _has_word(phrase) else None
    stem = word.rstrip("*")
    if not _has_word(stem):
        return None
    last = re.split(r"[\W_]", stem)[-1]
    return Term(stem, is_prefix=stem != word and len(last) >= _MIN_PREFIX)


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in prepared(text))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")  # noqa: PLR2004 - enough to know it by


# Asks the index, and puts what it finds in order.

# Only the newest are ranked: a word that is in every message costs no more than a usual one.
_MAX_MATCHES = 2_000
# What the person said tells best what a session is about; what tools printed tells it worst.
_BM25 = "bm25(messages_fts, 1.5, 1.0, 0.5)"
_HALF_LIFE = 30 * 86_400.0
_AGELESS = 0.5

_MATCHES = f"""
    SELECT messages_fts.rowid, t.session_id, t.created_at, {_BM25}
    FROM messages_fts CROSS JOIN search_texts AS t ON t.message_id = messages_fts.rowid
    WHERE messages_fts MATCH ? AND t.hidden = ''
      AND t.session_id NOT IN (
        SELECT id FROM sessions WHERE archived = {DELETING}
        UNION ALL
        SELECT id FROM sessions WHERE root_id = (SELECT root_id FROM sessions WHERE id = ?)
      )
    ORDER BY messages_fts.rowid DESC LIMIT {_MAX_MATCHES}
"""  # noqa: S608 - constants


class _Match(NamedTuple):
    """A message in which the words were found. `weight` is the greater the better it fits."""

    message_id: int
    session_id: str
    weight: float


def _matches(connection: sqlite3.Connection, expression: str, not_in: str, now: float) -> list[_Match]:
    """The newest messages that fit `expression`, newest first; a few thousand at most.

    Args:
        not_in: a session whose line of forks is left out; '' for none.
        now: seconds since the epoch; a message loses half of its weight with age.
    """
    rows = connection.execute(_MATCHES, (expression, not_in))
    return [
        _Match(message_id, session_id, -bm25 * _freshness(now - created_at))
        for message_id, session_id, created_at, bm25 in rows
    ]


def _best_of_sessions(
    connection: sqlite3.Connection, found: Sequence[_Match], sort: Literal["relevance", "newest"], limit: int
) -> list[_Match]:
    """The best or the newest match of each session, of one session of each line of forks.

    Forks hold copies of messages: of copies the newest counts.
    """
    if sort == "relevance":
        found = sorted(found, key=lambda match: (-match.weight, -match.message_id))
    chosen: list[_Match] = []
    seen_sessions: set[str] = set()
    seen_roots: set[str] = set()
    for match in found:
        if match.session_id in seen_sessions:
            continue
        seen_sessions.add(match.session_id)
        row = connection.execute("SELECT root_id FROM sessions WHERE id = ?", (match.session_id,)).fetchone()
        if row is not None and row[0] not in seen_roots:
            seen_roots.add(row[0])
            chosen.append(match)
            if len(chosen) >= limit:
                break
    return chosen


def _freshness(age: float) -> float:
    return _AGELESS + (1 - _AGELESS) * math.exp2(-max(0.0, age) / _HALF_LIFE)


# What is told of a message: a bounded piece of its text, around what was found in it.

_MAX_TEXT = 256 * 1024
_MAX_CALL = 200
_LEAD = 0.3
_CUT = "…"


def _told(message: Message) -> str:
    """The message in words: its text, the tools it calls with the beginning of their arguments, a tool's answer."""
    if message["role"] == "tool":
        return _clean(result_text(message, _MAX_TEXT))
    calls = [
        f"[{call['function']['name']} {_beginning(call['function']['arguments'], _MAX_CALL)}]"
        for call in message.get("tool_calls", ())
    ]
    return _clean("\n".join(part for part in (said(message, _MAX_TEXT), *calls) if part))


def _beginning(text: str, limit: int) -> str:
    """`text`, cut after `limit` characters."""
    return text if len(text) <= limit else text[:limit].rstrip() + _CUT


def _around_match(text: str, pattern: re.Pattern[str], limit: int) -> str:
    """About `limit` characters of `text` with the first place that `pattern` fits, else its beginning."""
    if len(text) <= limit:
        return text
    match = pattern.search(text)
    start = max(0, match.start() - int(limit * _LEAD)) if match else 0
    if start == 0:
        return _beginning(text, limit)
    start = min(start, len(text) - limit)
    return _CUT + _beginning(text[start:], limit).lstrip()


def _clean(text: str) -> str:
    # A model may have written half of a surrogate pair, which no file and no socket takes.
    return text.encode("utf-8", "replace").decode("utf-8").strip()


# Pieces of stored sessions: what the person, the model and its tools said, each message's text bounded.

log = logging.getLogger(__name__)

FIRST, LAST = 0, -1
"""In place of a message's id: the session's beginning, its end."""

_DAMAGED = "[This message is damaged and cannot be read.]"
_MESSAGES = (
    "SELECT id, role, body, created_at FROM messages WHERE session_id = ? AND hidden = '' AND role <> 'system'"
)
_BACKWARDS = f"{_MESSAGES} AND id <= ? ORDER BY id DESC"
_FORWARDS = f"{_MESSAGES} AND id > ? ORDER BY id"
_ANSWERS = (
    f"{_MESSAGES} AND role = 'assistant'"  # noqa: S608 - a constant
    " AND turn = (SELECT turn FROM messages WHERE session_id = ? AND id = ?) ORDER BY id DESC"
)
_BEYOND_ALL = 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Telling:
    """How messages are told: so many characters of hits, and of others; what are hits, and what to look for there."""

    hit: int
    other: int
    hits: frozenset[int] = frozenset()
    pattern: re.Pattern[str] | None = None


def _session(
    connection: sqlite3.Connection, session_id: str, messages: tuple[RecalledMessage, ...], hits: int = 0
) -> RecalledSession | None:
    """What is told of a session with `messages` of it; None where there is no such session."""
    row = connection.execute(
        "SELECT coalesce(title, ''), cwd, updated_at FROM sessions WHERE id = ? AND archived < ?",
        (session_id, DELETING),
    ).fetchone()
    if row is None:
        return None
    title, cwd, updated_at = row
    return RecalledSession(session_id, title, cwd, updated_at, messages, hits)


def _window(
    connection: sqlite3.Connection, session_id: str, message_id: int, size: int, telling: _Telling
) -> tuple[RecalledMessage, ...]:
    """The message with up to `size` others before and after it; `size` messages for FIRST and LAST.

    What the person took back and what the agent put in by itself is passed over.
    """
    before, after = size + 1, size
    if message_id == FIRST:
        before = 0
    if message_id == LAST:
        before, after, message_id = size, 0, _BEYOND_ALL
    earlier = _taken(connection.execute(_BACKWARDS, (session_id, message_id)), before, telling)
    later = _taken(connection.execute(_FORWARDS, (session_id, message_id)), after, telling)
    return (*reversed(earlier), *later)


def _with_answer(
    connection: sqlite3.Connection,
    session_id: str,
    message_id: int,
    messages: tuple[RecalledMessage, ...],
    telling: _Telling,
) -> tuple[RecalledMessage, ...]:
    """The messages around one, with the answer that ended its turn, however far that is from it."""
    row = connection.execute(_ANSWERS, (session_id, session_id, message_id)).fetchone()
    found = _taken([row] if row is not None else [], 1, _Telling(telling.hit, telling.hit))
    if not found or _has_calls(row[2]) or any(each.id == found[0].id and each.is_hit for each in messages):
        return messages
    others = (message for message in messages if message.id != found[0].id)
    return tuple(sorted((*others, replace(found[0], is_answer=True)), key=lambda message: message.id))


def _taken(rows: Iterable[tuple[Any, ...]], count: int, telling: _Telling) -> list[RecalledMessage]:
    taken: list[RecalledMessage] = []
    if count == 0:
        return taken
    for message_id, role, body, created_at in rows:
        text = _text(message_id, body)
        if not text:
            continue
        is_hit = message_id in telling.hits
        limit = telling.hit if is_hit else telling.other
        shown = _around_match(text, telling.pattern, limit) if is_hit and telling.pattern else _beginning(text, limit)
        taken.append(RecalledMessage(message_id, role, shown, created_at, is_hit))
        if len(taken) == count:
            break
    return taken


def _has_calls(body: Any) -> bool:
    """Whether it is no answer: the turn went on, or broke off."""
    try:
        return bool(unpack(body).get("tool_calls"))
    except (StoreError, AttributeError):
        return False


def _text(message_id: int, body: Any) -> str:
    try:
        message = unpack(body)
        return "" if message.get("injected") else _told(message)
    except (StoreError, KeyError, TypeError, AttributeError):
        log.warning("the stored message %d cannot be read", message_id, exc_info=True)
        return _DAMAGED


_MOST_INDEXED = 100_000
_FOUND, _READ, _GLANCE = _Telling(1_500, 500), _Telling(4_000, 4_000), _Telling(300, 300)
_FIRST_MESSAGES = 2
_LATEST = f"""
    SELECT id FROM sessions WHERE archived = {IN_USE} AND turns_begun > 0 AND source != 'sub-agent'
    ORDER BY updated_at DESC, id
"""  # noqa: S608 - constants


class SqliteRecall:
    """Searches and reads stored sessions; implements `SessionRecall`. Blocking and thread-safe.

    Args:
        indexing: seconds that a search takes at most to make messages searchable that are not yet.
    """

    def __init__(self, database: Database, *, indexing: float = 0.05) -> None:
        self._database = database
        self._indexing = indexing

    def search(self, query: RecallQuery) -> tuple[RecalledSession, ...]:
        """Sessions in which the words were found, one of each line of forks; those of every directory, archived too.

        All words have to be in one message; where there is no such message, any of them. What was stored just now is
        made searchable first, but for no longer than a moment: see `unsearched`.

        Raises:
            ToolError: the query says nothing, or the sessions cannot be read.
        """
        words = parse(query.text)
        self._index()
        with self._reading() as connection:
            return self._search(connection, query, words)

    def around(self, session_id: str, message_id: int, window: int) -> RecalledSession:
        """The messages before and after one, `window` of each.

        Args:
            message_id: FIRST (0) for the session's first `window` messages, LAST (-1) for its last ones.

        Raises:
            ToolError: there is no such session or message, or they cannot be read.
        """
        with self._reading() as connection:
            messages = _window(connection, session_id, message_id, window, _READ)
            if any(message.id == message_id for message in messages):
                messages = _with_answer(connection, session_id, message_id, messages, _READ)
            found = _session(connection, session_id, messages)
        if found is None:
            raise ToolError(f"There is no session {session_id!r}. Search for words to get the ids of sessions.")
        if message_id in {FIRST, LAST}:
            return found
        if all(message.id != message_id for message in messages):
            raise ToolError(
                f"The session {session_id!r} has no message {message_id} that could be shown. "
                "Take an id from what a search told, or leave it out to read the session's beginning and end."
            )
        return found

    def latest(self, limit: int) -> tuple[RecalledSession, ...]:
        """The sessions that were used last, without archived ones, each with its first messages.

        Raises:
            ToolError: they cannot be read.
        """
        told: list[RecalledSession] = []
        with self._reading() as connection:
            for (session_id,) in connection.execute(_LATEST):
                if len(told) >= limit:
                    break
                messages = _window(connection, session_id, FIRST, _FIRST_MESSAGES, _GLANCE)
                found = _session(connection, session_id, messages) if messages else None
                if found is not None:
                    told.append(found)
        return tuple(told)

    def unsearched(self) -> int:
        """About how many stored messages a search does not find yet, because there was no time to index them.

        Raises:
            ToolError: the sessions cannot be read.
        """
        with _told_to_the_model():
            return unsearched(self._database)

    def _search(
        self, connection: sqlite3.Connection, query: RecallQuery, words: Words
    ) -> tuple[RecalledSession, ...]:
        now = self._database.clock()
        found = _matches(connection, words.all_of_them(query.roles), query.not_in, now)
        if not found and len(words.wanted) > 1:
            found = _matches(connection, words.any_of_them(query.roles), query.not_in, now)
        told: list[RecalledSession] = []
        for best in _best_of_sessions(connection, found, query.sort, query.limit):
            hits = frozenset(match.message_id for match in found if match.session_id == best.session_id)
            telling = replace(_FOUND, hits=hits, pattern=words.pattern())
            messages = _window(connection, best.session_id, best.message_id, query.window, telling)
            messages = _with_answer(connection, best.session_id, best.message_id, messages, _FOUND)
            if (session := _session(connection, best.session_id, messages, len(hits))) is not None:
                told.append(session)
        return tuple(told)

    def _index(self) -> None:
        try:
            index_pending(self._database, limit=_MOST_INDEXED, within=self._indexing, patience=self._indexing)
        except StoreError as problem:
            # What is indexed can be searched all the same; `unsearched` tells of the rest.
            log.warning("the search index could not be brought up to date: %s", problem)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with _told_to_the_model(), self._database.read() as connection:
            yield connection


@contextlib.contextmanager
def _told_to_the_model() -> Iterator[None]:
    try:
        yield
    except StoreError as problem:
        raise ToolError(f"The stored sessions cannot be read: {problem}") from problem
