"""Whether what looks like a tool call in an answer was read before, in words of others or in earlier ones.

The author of a page or a file may have a model repeat what it holds, in another form or escaped: a call whose name
and arguments stand together in one message is a quotation.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_core.messages import Message, text_of

_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'\\/`<>&{}\[\]_]))")
_ROUNDS = 6
_INVISIBLE = re.compile(r"\\[nrt]|[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_NO_LETTERS = re.compile(r"[\W\d_]")
_NEAR = 300
_SHORT = 4


class Quotations:
    """All that was said before."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """Take the messages of a conversation: whole, with the system prompt, without the answer itself."""
        self._said = [(message["role"], _plain(text_of(message["content"]))) for message in messages]

    def has(self, name: str, arguments: Mapping[str, Any], source: str) -> bool:
        """Whether a call was said before: as it is written (`source`), as JSON, or by its name and its values."""
        forms = [_plain(form) for form in (source, *_forms(name, arguments))]
        letters = [_letters(form) for form in forms]
        values = list(dict.fromkeys(filter(None, map(_plain, _texts(arguments)))))
        for role, text in self._said:
            if any(form in text for form in forms):
                return True
            # Of what a model wrote itself only the very same counts: it may have been asked to write it again.
            if role == "assistant":
                continue
            bare = _letters(text)
            if any(form in bare for form in letters) or _stand_together(name, values, text):
                return True
        return False


def _plain(text: str) -> str:
    """A text without its escapes and its blanks."""
    for _ in range(_ROUNDS):
        before, text = text, _ESCAPED.sub(_unescaped, html.unescape(text))
        if text == before:
            break
    return _INVISIBLE.sub("", text)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else found[3]


def _letters(text: str) -> str:
    """What of a text is left in a result that numbers its lines, or quotes them."""
    return _NO_LETTERS.sub("", text)


def _forms(name: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    """The call as JSON, in the ways that are usual."""
    for key in ("arguments", "parameters"):
        for inner in (arguments, json.dumps(arguments, ensure_ascii=False)):
            yield json.dumps({"name": name, key: inner}, ensure_ascii=False)
            yield json.dumps({key: inner, "name": name}, ensure_ascii=False)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _texts(each)
        case [*values]:
            for each in values:
                yield from _texts(each)


def _stand_together(name: str, values: Sequence[str], text: str) -> bool:
    """Whether a text has the name, as calls have it, and all the values close to it."""
    if not values or not all(value in text for value in values):
        return False
    reach = _NEAR + 2 * sum(map(len, values))
    for found in re.finditer(rf"""(?<![A-Za-z_]){re.escape(_plain(name))}(?=["'>\[{{<`|]|,["'])""", text):
        near = text[max(found.start() - reach, 0) : found.end() + reach]
        if all(_has(near, value) for value in values):
            return True
    return False


def _has(text: str, value: str) -> bool:
    if len(value) >= _SHORT:
        return value in text
    return any(f"{before}{value}{behind}" in text for before, behind in ('""', "''", "><"))
