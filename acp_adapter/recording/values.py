"""What a recording may say of a value: no secret, no values of variables and headers, nothing of enormous size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tools.redaction import SHAPES, Redact

HIDDEN = "[redacted: value]"
_NAMED_VALUES = frozenset({"env", "environment", "headers", "http_headers"})
_SECRETS = frozenset({
    "accesstoken", "apikey", "authorization", "authtoken", "clientsecret", "cookie", "idtoken", "passphrase",
    "passwd", "password", "privatekey", "refreshtoken", "secret", "setcookie", "token",
})  # fmt: skip
_SECRET_FLAG = re.compile(r"(?i)--?[\w-]*(?:key|token|secret|passw(?:or)?d|passphrase|credentials?|header)")
_HEADER = re.compile(r"(?s)([\w-]{1,80}): ?\S.*")
_LAST_WORD = re.compile(r"(?P<word>[A-Za-z0-9_.+/=-]{8,}?)(?P<end>…|\.{3})\Z")
_PREFIXES = tuple(
    probe for shape in SHAPES for probe in shape.probes if re.fullmatch(r"[A-Za-z0-9]{2,}[_.-]?|eyJ", probe)
)
# Most names: they are not looked at, there are many.
_PLAIN_NAME = re.compile("[A-Za-z_]{1,20}")
_MOST_TEXT = 100_000
_KEPT_TEXT = 20_000
# A private key is the longest secret; one that ends behind the cut must be seen whole.
_LONGEST_SECRET = 20_000


def clean_value(value: Any, redact: Redact) -> Any:
    """`value`, a message or a part of one, as a recording may hold it. Names are judged as well.

    Raises:
        RecursionError: it is nested too deeply to be looked at.
    """
    match value:
        case str():
            return clean_text(value, redact)
        case list():
            return list(_items(value, redact))
        case dict():
            return {_clean_name(name, redact): _under(name, each, value, redact) for name, each in value.items()}
    return value


def clean_text(words: str, redact: Redact) -> str:
    """`words` without secrets; of what is enormous the beginning, with how much more there was."""
    if len(words) <= _MOST_TEXT:
        return _without_cut_secret(redact(words))
    left = len(words) - _KEPT_TEXT
    return f"{_beginning(words, _KEPT_TEXT, redact)}… [{left} characters left out of the recording]"


def _without_cut_secret(words: str) -> str:
    """`words` without what they end with, where that looks like a secret's beginning: titles are cut anywhere."""
    if not words.endswith(("…", "...")):
        return words
    last = _LAST_WORD.search(words)
    if last is None or not last["word"].startswith(_PREFIXES) or not any(map(str.isdigit, last["word"])):
        return words
    return f"{words[: last.start()]}[redacted: beginning of a secret]{last['end']}"


def _clean_name(name: str, redact: Redact) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else clean_text(name, redact)


def clean_beginning(words: str, most: int, redact: Redact) -> str:
    """The first `most` characters of `words`, without secrets: none is cut in two, and so unknown."""
    return redact(words) if len(words) <= most else _beginning(words, most, redact)


def _beginning(words: str, most: int, redact: Redact) -> str:
    clean = redact(words[: most + _LONGEST_SECRET])
    is_whole = len(words) <= most + _LONGEST_SECRET
    # What stands at the cut may be the beginning of one.
    return clean[:most] if is_whole else clean[: min(most, max(0, len(clean) - _LONGEST_SECRET))]


def _under(name: str, value: Any, holder: dict[Any, Any], redact: Redact) -> Any:
    plain = name.lower().replace("_", "").replace("-", "")
    if name.lower() in _NAMED_VALUES:
        return _without_values(value, redact)
    if not isinstance(value, str):
        return clean_value(value, redact)
    if value and plain in _SECRETS:
        return HIDDEN
    if name == "blob" or (name == "data" and "mimeType" in holder):
        return f"[{len(value)} characters of base64 left out of the recording]"
    if len(value) > _MOST_TEXT:
        return clean_text(value, redact)
    told = redact(f"{name}={value}")
    return _without_cut_secret(told.removeprefix(f"{name}=") if told.startswith(f"{name}=") else redact(value))


def _without_values(values: Any, redact: Redact) -> Any:
    """Variables or headers in any of their forms, by their names alone: values are what keys are passed in."""
    match values:
        case dict():
            return {_clean_name(name, redact): HIDDEN for name in values}
        case list():
            return [_without_value(each, redact) for each in values]
        case str():
            return HIDDEN
    return values


def _without_value(each: Any, redact: Redact) -> Any:
    match each:
        case str():
            return f"{clean_text(each.partition('=')[0], redact)}={HIDDEN}" if "=" in each else HIDDEN
        case dict():
            return {
                _clean_name(name, redact): clean_value(part, redact) if name == "name" else HIDDEN
                for name, part in each.items()
            }
    return clean_value(each, redact)


def _items(values: Sequence[Any], redact: Redact) -> Iterator[Any]:
    """Items of a list; in the arguments of a program, what follows `--api-key` is its value."""
    is_value = False
    for each in values:
        if is_value and isinstance(each, str):
            header = _HEADER.fullmatch(each)
            yield f"{clean_text(header[1], redact)}: {HIDDEN}" if header else HIDDEN
            is_value = False
            continue
        yield clean_value(each, redact)
        is_value = isinstance(each, str) and _SECRET_FLAG.fullmatch(each) is not None
