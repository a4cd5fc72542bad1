"""Which of a program's variables hold secrets, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

_SECRET = re.compile(
    r"(?i)(?:^|_)(?:(?:api|access|secret|private|signing|encryption|account|auth|master)?_?key|secret|token|pass(?:word|wd|phrase)?"
    r"|pwd|credentials?|pat)(?:_\d{1,2})?$"
)
_HEADERS = re.compile(r"OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS")
_SHORTEST = 8


def secret_values(variables: Mapping[str, str]) -> Iterator[str]:
    """The values of variables whose names say that they are secret, not those of paths and plain words; and the
    passwords in addresses, whatever they are called.
    """
    for name, value in variables.items():
        yield from _passwords_in(value)
        if _HEADERS.fullmatch(name):
            yield from _of_headers(value)
            continue
        if len(value) < _SHORTEST or not _SECRET.search(name):
            continue
        if not value.startswith(("/", "~", "./", "$")) and not value.isdecimal():
            yield value


def _passwords_in(value: str) -> Iterator[str]:
    """The password of `postgres://user:password@host/db`, as it is written and as it is meant; no plain word."""
    if "://" not in value or "@" not in value:
        return
    try:
        password = urlsplit(value).password or ""
    except ValueError:  # brackets without an IPv6 address in them
        return
    if len(password) >= _SHORTEST and not password.isalpha():
        yield from dict.fromkeys((password, unquote(password)))


def _of_headers(value: str) -> Iterator[str]:
    """The values in `name=value,name=value`; of «Bearer abc» the last part."""
    for header in value.split(","):
        secret = unquote(header.partition("=")[2]).strip().rpartition(" ")[2]
        if len(secret) >= _SHORTEST:
            yield secret
