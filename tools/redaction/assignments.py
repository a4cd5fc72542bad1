"""Secrets that only their names give away: `api_key = "…"`, `DB_PASSWORD=…`, `"client_secret": "…"`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

_STEM = re.compile(r"key|secret|token|passwor[dt]|passwd|passphrase|pwd|credential|connection[_-]?string")
_KEY_OF = re.compile(r"(?:api|access|secret|private|signing|encryption|account|auth|master)[_-]?$")
_VALUE = re.compile(
    r"(?P<rest>[A-Za-z0-9_.-]{0,30})[\"'\\]{0,3}[ \t]{0,3}(?:=>|:=|[=:])[ \t]{0,3}"
    r"(?P<quote>[\"'\\`]{0,3})(?P<secret>[^\s\"'\\`,;(){}\[\]<>]{6,200})(?P<after>.?)"
)
_BEFORE = 12
# What is only about a secret: where it is, how long, of which kind.
_ABOUT = re.compile(
    r"(?i)[_.-]?(?:s?_?(?:env|envvar|name|url|uri|endpoint|type|path|file|filename|count|limit|budget|length|size|id"
    r"|ids|ref|arn|field|header|prefix|dir|class|usage|used|cost|price|expir\w{0,10}|ttl|format|policy|rules?"
    r"|manager|provider|store|var)s?|iz\w{0,12}|s)$"
)
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\$.*|%\w+%|&\w+;.*|--.*|[*.x]{3,}.*|your[_-].*|my[_-].*|(?:change|replace|enter|put|insert|add|set)[_-]?(?:me|this|it|your).*"
    r"|example.*|sample.*|dummy.*|fake.*|placeholder.*|redacted.*|hidden|masked|none|null|nil|undefined|true|false"
    r"|string|required|optional|secret|password|passw0rd|token|https?:.*|file:.*|[\w.]*\*{3,}.*|env[:.].*|vault:.*"
    r"|secretref:.*|keyring:.*|os\.environ.*|process\.env.*|self\..*|config\..*|settings\..*)$"
)
_UUID = re.compile(r"(?i)^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
_CODE = re.compile(
    r"^[A-Za-z_]+(?:[.:]{1,2}[A-Za-z_]+){0,20}\d{0,2}$"  # names
    r"|^(?:~|\.{1,2})?/|^[a-z0-9_.@-]+(?:/[a-z0-9_.@-]+)+$"  # paths
    r"|::|->|\|\||&&|=="
)
_WEAK_STEMS = frozenset({"token"})
_LONG, _SHORT = 16, 8
_BITS, _HEX_BITS = 3.3, 2.9


def assigned_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where the values of secret-like names stand in `text`, as far as they look like secrets."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have small forms of two signs
        lowered = "".join(sign.lower() if sign.isascii() else sign for sign in text)
    end = 0
    for stem in _STEM.finditer(lowered):
        if stem[0] == "key" and not _KEY_OF.search(lowered, max(0, stem.start() - _BEFORE), stem.start()):
            continue
        found = _VALUE.match(text, stem.end())
        if found is not None and found.start("secret") >= end and _is_secret(stem[0], found):
            end = found.end("secret")
            yield found.span("secret")


def _is_secret(stem: str, found: re.Match[str]) -> bool:
    rest, value = found["rest"], found["secret"].rstrip(".:")
    if rest and _ABOUT.fullmatch(rest):
        return False
    # `token = f(…)`, `secrets[0]`: a program's own expression.
    if not found["quote"] and found["after"] in {"(", "[", "{"}:
        return False
    if len(value) < _SHORT or _PLACEHOLDER.match(value) or _CODE.search(value):
        return False
    is_strong_name = stem not in _WEAK_STEMS
    if _UUID.match(value):
        return is_strong_name
    return looks_random(value) or (is_strong_name and _is_mixed(value))


def looks_random(value: str) -> bool:
    """Whether `value` is long and mixed enough to be a key, and no word, number or path."""
    if len(value) < _LONG or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    is_hex = all(sign in "0123456789abcdefABCDEF-" for sign in value)
    return entropy(value) >= (_HEX_BITS if is_hex else _BITS)


def entropy(value: str) -> float:
    """Shannon's entropy of the signs of `value`, in bits a sign."""
    total = len(value)
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())


def _is_mixed(value: str) -> bool:
    """A password that somebody thought of: letters and digits or signs."""
    letters = any(map(str.isalpha, value))
    return letters and any(not sign.isalpha() and sign not in "_-./:" for sign in value)
