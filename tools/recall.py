"""The port to earlier sessions: what was said in them, found by words."""

from __future__ import annotations

from typing import Literal, Protocol

from tools.light_dataclass import dataclass

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question to the stored sessions.

    Attributes:
        text: words to look for, in any order; "…" is a phrase, `word*` a beginning.
        limit: sessions to tell of, at most.
        sort: best match first, or newest first.
        roles: whose messages are searched.
        window: messages told before and after each hit.
        not_in: a session whose own line of forks is left out; '' for none.
    """

    text: str
    limit: int = 3
    sort: Literal["relevance", "newest"] = "relevance"
    roles: tuple[Role, ...] = ("user", "assistant")
    window: int = 5
    not_in: str = ""


@dataclass(frozen=True, slots=True)
class RecalledMessage:
    """A message of a stored session, its text bounded.

    Attributes:
        is_hit: it was found.
        is_answer: it ended the turn of the one that was found; messages between them may be left out.
    """

    id: int
    role: Role
    text: str
    at: float
    is_hit: bool = False
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class RecalledSession:
    """A session with what was found in it, and what was said around that."""

    session_id: str
    title: str
    cwd: str
    updated_at: float
    messages: tuple[RecalledMessage, ...]
    hits: int


class SessionRecall(Protocol):
    """Searches and reads earlier sessions."""

    def search(self, query: RecallQuery) -> tuple[RecalledSession, ...]:
        """Sessions in which the words were found, one of each line of forks.

        Raises:
            ToolError: the query says nothing, or the sessions cannot be read.
        """
        ...

    def around(self, session_id: str, message_id: int, window: int) -> RecalledSession:
        """The messages before and after one; around 0 the first `window` messages of the session, around -1 its last.

        Raises:
            ToolError: there is no such session or message, or they cannot be read.
        """
        ...

    def unsearched(self) -> int:
        """About how many messages a search does not find yet, because they are not in the index."""
        ...

    def latest(self, limit: int) -> tuple[RecalledSession, ...]:
        """The sessions that were used last, each with its first messages.

        Raises:
            ToolError: they cannot be read.
        """
        ...
