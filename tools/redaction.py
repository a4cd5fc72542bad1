"""Takes secrets out of text and structures: by their shapes, by what they are assigned to, and known values."""

from __future__ import annotations

import base64
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

from tools.light_dataclass import dataclass

# How a secret that we know looks where it was encoded on its way: in base64, in an address, in JSON within JSON.

_SHORTEST_CORE = 10


def forms_of(secret: str) -> Iterator[str]:
    """`secret` itself, and what is left of it in the usual encodings, wherever it stands in what was encoded."""
    yield secret
    yield quote(secret, safe="", errors="surrogatepass")
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    data = secret.encode(errors="surrogatepass")
    for before in range(3):
        core = _core(data, before)
        if len(core) >= _SHORTEST_CORE:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _core(data: bytes, before: int) -> str:
    """What base64 makes of `data` behind `before` other bytes, without the signs that other bytes have a part in."""
    begin = -(-8 * before // 6)
    end = 8 * (before + len(data)) // 6
    return base64.b64encode(b"\0" * before + data).decode()[begin:end]


# Which of a program's variables hold secrets, by their names.

_SECRET = re.compile(
    r"(?i)(?:^|_)(?:(?:api|access|secret|private|signing|encryption|account|auth|master)?_?key|secret|token|pass(?:word|wd|phrase)?"
    r"|pwd|credentials?|pat)(?:_\d{1,2})?$"
)
_HEADERS = re.compile(r"OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS")
_SHORTEST_VALUE = 8


def secret_values(variables: Mapping[str, str]) -> Iterator[str]:
    """The values of variables whose names say that they are secret, not those of paths and plain words; and the
    passwords in addresses, whatever they are called.
    """
    for name, value in variables.items():
        yield from _passwords_in(value)
        if _HEADERS.fullmatch(name):
            yield from _of_headers(value)
            continue
        if len(value) < _SHORTEST_VALUE or not _SECRET.search(name):
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
    if len(password) >= _SHORTEST_VALUE and not password.isalpha():
        yield from dict.fromkeys((password, unquote(password)))


def _of_headers(value: str) -> Iterator[str]:
    """The values in `name=value,name=value`; of «Bearer abc» the last part."""
    for header in value.split(","):
        secret = unquote(header.partition("=")[2]).strip().rpartition(" ")[2]
        if len(secret) >= _SHORTEST_VALUE:
            yield secret


# What secrets look like: the forms that services give their keys, so that one is known without its name.

_START, _END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"


@dataclass(frozen=True, slots=True)
class Shape:
    """One form.

    Attributes:
        what: whose secret it is, for the text that takes its place.
        probes: texts, one of which is in every such secret: nothing else is looked at where there is none.
        pattern: what is replaced: its group `secret`, or all of it where it has no such group.
    """

    what: str
    probes: tuple[str, ...]
    pattern: str


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern; compiled at its first use, since most texts have none of these."""
    return re.compile(pattern)


def _key(what: str, prefix: str, rest: str, *probes: str) -> Shape:
    return Shape(what, probes or (prefix,), f"{_START}{prefix}{rest}{_END}")


_BEGIN_KEY = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINES = r"(?:\\[nr]|[A-Za-z0-9+/=\s:,.]|-(?!----)){16,}"

SHAPES: tuple[Shape, ...] = (
    Shape("private key", ("PRIVATE KEY",), rf"{_BEGIN_KEY}{_KEY_LINES}(?:-----END [A-Z0-9 ]{{1,40}}-----)?"),
    _key("anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{16,}"),
    _key("api key", "sk-", r"(?!ant-)[A-Za-z0-9_-]{0,60}?[A-Za-z0-9]{16,}[A-Za-z0-9_-]{0,200}"),
    _key("stripe key", r"(?:sk|rk|pk)_(?:live|test|prod)_", "[A-Za-z0-9]{10,}", "_live_", "_test_", "_prod_"),
    _key("stripe webhook secret", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    _key("aws access key", "(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z0-9]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _key("google api key", "AIza", "[A-Za-z0-9_-]{35}"),
    _key("google client secret", "GOCSPX-", "[A-Za-z0-9_-]{20,}"),
    _key("google token", r"ya29\.", "[A-Za-z0-9_-]{20,}", "ya29."),
    _key("github token", "gh[pousr]_", "[A-Za-z0-9]{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _key("github token", "github_pat_", "[A-Za-z0-9_]{22,255}"),
    _key(
        "gitlab token",
        "gl(?:pat|dt|rt|rtr|cbt|ptt|soat|ft|imt|agent|oas|ffct)-",
        "[A-Za-z0-9_.-]{19,}[A-Za-z0-9_-]",
        "gl",
    ),
    _key("slack token", "xox[abceoprs]-", "[A-Za-z0-9-]{10,}", "xox"),
    _key("slack token", "xapp-", r"\d-[A-Z0-9]{8,}-\d{8,}-[a-f0-9]{32,}"),
    Shape(
        "slack webhook", ("hooks.slack.com/",), r"(?<=hooks\.slack\.com/)[a-z]{4,12}/(?P<secret>[A-Za-z0-9/]{20,})"
    ),
    Shape("discord webhook", ("/api/webhooks/",), r"/api/webhooks/\d{10,25}/(?P<secret>[A-Za-z0-9_-]{40,})"),
    _key("telegram token", r"\d{8,10}:AA", "[A-Za-z0-9_-]{33}", ":AA"),
    _key("hugging face token", "hf_", "[A-Za-z0-9]{30,}"),
    _key("npm token", "npm_", "[A-Za-z0-9]{36}"),
    _key("pypi token", "pypi-", "[A-Za-z0-9_-]{40,}"),
    _key("docker token", "dckr_pat_", "[A-Za-z0-9_-]{20,}"),
    _key("sendgrid key", r"SG\.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", "SG."),
    _key("shopify token", "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]{32}", "shpat_", "shpca_", "shppa_", "shpss_"),
    _key("digitalocean token", "do[opr]_v1_", "[a-f0-9]{64}", "_v1_"),
    _key("databricks token", "dapi", "[a-f0-9]{32}(?:-[0-9])?"),
    _key("groq key", "gsk_", "[A-Za-z0-9]{40,}"),
    _key("xai key", "xai-", "[A-Za-z0-9]{40,}"),
    _key("perplexity key", "pplx-", "[A-Za-z0-9]{32,}"),
    _key("nvidia key", "nvapi-", "[A-Za-z0-9_-]{40,}"),
    _key("replicate token", "r8_", "[A-Za-z0-9]{30,}"),
    _key("search key", "tvly-", "[A-Za-z0-9_-]{20,}"),
    _key("firecrawl key", "fc-", "[a-f0-9]{32}"),
    _key("linear key", "lin_(?:api|oauth)_", "[A-Za-z0-9]{32,}", "lin_"),
    _key("notion token", "ntn_", "[A-Za-z0-9]{40,}"),
    _key("vault token", r"hv[sb]\.", "[A-Za-z0-9_-]{24,}", "hvs.", "hvb."),
    _key("atlassian token", "ATATT3", "[A-Za-z0-9_=-]{60,}"),
    _key("supabase token", "sbp_", "[a-f0-9]{40}"),
    _key("grafana token", "gl(?:sa|c)_", "[A-Za-z0-9_=+/]{32,}", "glsa_", "glc_"),
    _key("postman key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
    _key("age key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    _key("new relic key", "NRAK-", "[A-Z0-9]{27}"),
    _key("doppler token", r"dp\.(?:pt|st|ct|sa)\.", "[A-Za-z0-9.]{40,}", "dp."),
    Shape("json web token", ("eyJ",), rf"{_START}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{10,}}"),
    Shape(
        "azure key", ("AccountKey=", "SharedAccessKey="), r"(?:Account|SharedAccess)Key=(?P<secret>[\w+/]{40,}={0,2})"
    ),
    Shape(
        "authorization header",
        ("uthorization", "UTHORIZATION"),
        r"(?i:authorization)[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?:[A-Za-z]{2,16} )?"
        r"(?P<secret>(?=[^\s\"'\\]{0,200}\d)[^\s\"'\\,;<>${}\[\]]{8,})",
    ),
    Shape("bearer token", ("earer ", "EARER "), r"(?i:\bbearer) (?P<secret>(?=[^\s]*\d)[\w.~+/-]{16,}={0,2})"),
    Shape(
        "basic credentials",
        ("asic ",),
        r"(?i:\bbasic) (?P<secret>(?=[a-z0-9+/]*[A-Z])[A-Za-z0-9+/]{16,}={0,2})(?![\w])",
    ),
    Shape(
        "cookie",
        ("ookie:", "OOKIE:", "ookie':", 'ookie":', 'ookie\\":'),
        r"(?i:cookie)[\"'\\]{0,3}: {0,3}[\"'\\]{0,3}(?P<secret>[\w.%!~*$-]{1,80}=[^\s\"'\\][^\r\n\"'\\]{5,4000})",
    ),
    Shape(
        "password in an address",
        ("://",),
        r"://[^\s:/?#@\"'<>\[]{0,256}:(?P<secret>(?![${<*])[^\s/@\"'<>\[\]]{1,256})@(?=[\w\[.-])",
    ),
    Shape(
        "value in an address",
        ("?", "&"),
        r"[?&](?i:api[_-]?key|apikey|key|token|(?:access|auth|id|refresh)_token|client_secret|secret|sig|signature"
        r"|password|passwd|pwd|x-amz-(?:signature|credential|security-token))="
        r"(?P<secret>(?=[A-Za-z._~%-]*\d)[\w.~%+/-]{8,}=?)",
    ),
)
"""In the order in which they are looked for: what is more exact comes first."""


# Secrets that only their names give away: `api_key = "…"`, `DB_PASSWORD=…`, `"client_secret": "…"`.

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


# Takes secrets out of text.

Redact = Callable[[str], str]

_SHORTEST = 8
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])")
_NEAR = 300


def redact(text: str) -> str:
    """`text` with `[redacted: github token]` in place of what has the shape or the name of a secret.

    What is redacted already stays as it is. The text keeps its line breaks, but for those within a private key.
    """
    for shape in SHAPES:
        if any(probe in text for probe in shape.probes):
            text = _without(text, shape)
    return _with_replaced(text, assigned_secrets(text), lambda _: "[redacted: secret]")


class Redactor:
    """`redact`, which also knows secrets of our own by their value. One may serve several threads."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._learning = threading.Lock()
        # Replaced together, so that who reads needs no lock.
        self._known: tuple[frozenset[str], re.Pattern[str] | None] = frozenset(), None
        self.learn(known)

    def learn(self, secrets: Iterable[str]) -> None:
        """From now on take these out, too, also encoded; those that are too short to be secrets are passed over."""
        forms = frozenset(form for secret in secrets if len(secret) >= _SHORTEST for form in forms_of(secret))
        with self._learning:
            known, _ = self._known
            if forms <= known:
                return
            known |= forms
            # The longest first: one key may begin with another.
            ordered = sorted(known, key=len, reverse=True)
            self._known = known, re.compile("|".join(map(re.escape, ordered)))

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        known, pattern = self._known
        if pattern is not None and any(secret in text for secret in known):
            text = pattern.sub("[redacted: our key]", text)
        return redact(text)


def _without(text: str, shape: Shape) -> str:
    pattern, shown = _compiled(shape.pattern), f"[redacted: {shape.what}]"
    if "secret" not in pattern.groupindex:
        if shape.what == "aws access key":
            text = _without_aws_secrets(text, pattern)
        return pattern.sub(shown, text)
    return pattern.sub(lambda found: _replaced(found, shown), text)


def _replaced(found: re.Match[str], shown: str) -> str:
    start, end = found.span("secret")
    return f"{found[0][: start - found.start()]}{shown}{found[0][end - found.start() :]}"


def _without_aws_secrets(text: str, key_ids: re.Pattern[str]) -> str:
    """The secret key has no form of its own; it is what stands near its id and is 40 signs long."""
    near: list[tuple[int, int]] = []
    for found in key_ids.finditer(text):
        start, end = max(0, found.start() - _NEAR), found.end() + _NEAR
        if near and start <= near[-1][1]:
            near[-1] = (near[-1][0], end)
        else:
            near.append((start, end))
    return _with_replaced(text, near, lambda part: _AWS_SECRET.sub(lambda secret: _aws(secret[0]), part))


def _aws(value: str) -> str:
    is_digest = all(sign in "0123456789abcdef" for sign in value)
    return value if is_digest else "[redacted: aws secret key]"


def _with_replaced(text: str, places: Iterable[tuple[int, int]], replaced: Redact) -> str:
    """`text` with each of `places`, which follow each other, replaced."""
    pieces, done = [], 0
    for start, end in places:
        pieces += [text[done:start], replaced(text[start:end])]
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


# Secrets taken out of structures: dataclasses, mappings and sequences with text somewhere in them.

T = TypeVar("T")


def redacted(value: T, redact: Redact) -> T:
    """`value` with every text in it redacted, as deep as it goes; what holds none is the same object.

    Keys of mappings stay, and so do bytes and paths. A text under a secret's name in a mapping (`"api_key": "…"`) is
    judged with that name before it.
    """
    return cast("T", _redacted(value, redact))


def _redacted(value: Any, redact: Redact) -> Any:
    match value:
        case str():
            return redact(value)
        case tuple() | list():
            return type(value)(_redacted(each, redact) for each in value)
        case Mapping():
            return {key: _under_name(key, each, redact) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return _of_dataclass(value, redact)
    return value


def _of_dataclass(value: Any, redact: Redact) -> Any:
    changed = {}
    for each in fields(value):
        if not each.init:
            continue
        before = getattr(value, each.name)
        after = _redacted(before, redact)
        if after != before:
            changed[each.name] = after
    return replace(value, **changed) if changed else value


def _under_name(key: object, value: Any, redact: Redact) -> Any:
    if not isinstance(value, str) or not isinstance(key, str):
        return _redacted(value, redact)
    told = redact(f"{key}={value}")
    return told.removeprefix(f"{key}=") if told.startswith(f"{key}=") else redact(value)
