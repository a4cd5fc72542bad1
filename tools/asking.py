"""What a tool asks the person: a question with fields to fill in, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from tools.light_dataclass import dataclass

Kind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
"""A line of text, a number, a whole number, yes or no, one of several, any of several."""

Value = str | int | float | bool | tuple[str, ...]
"""What a field holds: a tuple for `choices`."""

Outcome = Literal["answered", "unfit", "declined", "dismissed", "unavailable"]
"""The person answered; answered what no field can hold; chose not to; closed the question; or could only be asked in
text, and answers by prompt."""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in.

    Attributes:
        name: the key of its value in the answer.
        title: what the person reads beside it.
        choices: for `choice` and `choices`, at least one.
        other: beside the choices the person may write an answer of their own.
        required: without it there is no answer.
        default: what is filled in already.
    """

    name: str
    title: str
    kind: Kind = "text"
    description: str = ""
    choices: tuple[str, ...] = ()
    other: bool = True
    required: bool = True
    default: Value | None = None

    @property
    def is_open(self) -> bool:
        """Whether a text of the person's own may stand for a choice."""
        return self.other and self.kind in {"choice", "choices"}


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question to the person.

    Attributes:
        fields: with different names; at least one.
        call_id: the tool call that asks, '' outside one.
    """

    text: str
    fields: tuple[Field, ...]
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class PersonPage:
    """A page that the person is asked to open: an https address without a password in it.

    Attributes:
        call_id: the tool call that asks, '' outside one.
    """

    text: str
    url: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """What came of a question. `values` are by the fields' names; fields that were left out are missing."""

    outcome: Outcome
    values: Mapping[str, Value] = field(default_factory=dict)


_WANTS_SECRET = re.compile(
    r"""
    (?: \b(?:enter|type|paste|provide|give|send|share|supply|input|tell) \s (?:in\s)? (?:me\s (?:the|your|an?)|your)
      | (?:^|[.!?:,;]|\bplease\b) \s? (?:enter|type|paste|provide|send|supply|input) (?:\s in)? (?:\s (?:the|an?))?
      | \bwhat(?:'s|\s is|\s are) \s (?:the|your) (?= [^.!?]* (?:\?|$)) (?! .* \s (?:called|named|used|stored)\b)
    )
    \s (?:(?!(?:on|about|of|for|how|where|whether)\b)[\w-]+\s){0,3}?
    (?: passwords?|passphrases?|passcodes?|credentials?|pin(?:\scode)?|one-time\scode
      | (?:api|secret|private|access|ssh|licen[cs]e)[ -]keys?
      | (?:api|access|bearer|auth|refresh|session|bot)[ -]tokens?
      | client[ -]secrets?
    )
    \b (?! \s (?:policy|length|format|name|variable|field|file|type|store|reset|prompt|manager|hash))
    """,
    re.IGNORECASE | re.VERBOSE,
)


def wants_secret(text: str) -> bool:
    """Whether `text` asks for a password or a key: forms must not (ACP v1, elicitation).

    It knows the usual words only; a question about secrets («where is the key stored?») is none for one.
    """
    return _WANTS_SECRET.search(" ".join(text.split())) is not None
