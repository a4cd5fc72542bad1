"""What scripts are made of, and how the languages write their texts and comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from tools.light_dataclass import dataclass

Kind = Literal["name", "text", "command", "regex", "number", "mark", "line"]


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a script. `text` of a text or command is its value, `UNKNOWN` where something is interpolated."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Syntax:
    """How the texts and comments of a language look.

    Attributes:
        name: a regular expression for names, with their sigils.
        comments: what begins one that lasts to the end of the line.
        interpolates: by quote, what begins code in a text; '' for texts that are as they stand.
        sigils: an interpolated name begins with one of these (`"$x"`).
        backtick: what it quotes.
        quote_words: words before a delimiter that quote (`q{…}`): what they make.
        long_text: Lua's `[[…]]`.
        raw: quotes without escapes but for themselves.
        nests: code in a text may hold the same quotes again.
        decimals: numbers after a backslash are decimal.
        before_regex: names after which a slash begins a regular expression.
        documents: what begins and ends documentation at the start of a line, as regular expressions.
    """

    name: str
    comments: tuple[str, ...]
    blocks: tuple[tuple[str, str], ...] = ()
    interpolates: Mapping[str, str] = field(default_factory=lambda: {"'": "", '"': ""})
    sigils: str = ""
    backtick: Literal["command", "template", "name"] = "name"
    has_regexes: bool = False
    quote_words: Mapping[str, Kind] = field(default_factory=dict)
    percent_quotes: bool = False
    has_heredocs: bool = False
    long_text: bool = False
    raw: str = ""
    nests: bool = False
    decimals: bool = False
    before_regex: frozenset[str] = frozenset()
    documents: tuple[str, str] | None = None
    marks: str = r"=>|->|\?->|\+\+|--|&\.|::|\.\.\.?|=~|!~|\?\.|&&|\|\||<<|>>|[=!<>]=+|[\s\S]"
