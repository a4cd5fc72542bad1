"""What a person or a model types, as a question to the index. No input is a syntax error."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_core.sessions.search.texts import prepared
from tools.agent_ports import Role
from tools.errors import ToolError
from tools.light_dataclass import dataclass

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
