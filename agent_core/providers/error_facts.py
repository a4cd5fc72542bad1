"""What a server's failure says, whoever wrote it: status, codes, words, and how long it asks us to wait."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from agent_core.errors import ProviderStatusError
from agent_core.providers.transport_errors import SAID_IN, is_page
from tools.light_dataclass import dataclass

LONGEST_WAIT = 24 * 3600.0
_FIRST_FAILURE, _LAST_FAILURE = 400, 599
_FIRST_REDIRECT = 300
_LONGEST_TEXT = 8000
_DEEPEST = 12
_MOST_ITEMS = 16
_CODES = (
    *("code", "type", "status", "reason", "error_type", "error_code", "errorCode", "errcode"),
    *("status_code", "statusCode", "http_code", "__type"),
)
_INNER = (
    *(
        "error",
        "errors",
        "metadata",
        "innererror",
        "upstream_error",
        "details",
        "base_resp",
        "fault",
        "raw",
        "Output",
    ),
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])"
_ASKED = rf"(?:again|retry|wait|resets?)(?: in| after| for)?(?: about)? ((?:{_DURATION}[\s,]*(?:and )?)+)"
_MOMENT = (
    r"(?:access on|resets? (?:at|on)|again (?:at|on|after)) "
    r"(\d{4}-\d\d-\d\d)(?: at |T| )(\d\d:\d\d(?::\d\d)?)(?:\.\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)"
)
_HOUR = r"resets? at (\d{1,2}):(\d\d) ?UTC"
_POINT_IN_SECONDS = 1e9  # from here on a number is no duration but a time since 1970
_POINT_IN_MILLISECONDS = 1e11


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """What is known of a failure.

    Attributes:
        status: the answer's status, else the one that the body reports; None where neither says.
        codes: every code, type and status name in the body, in small letters.
        messages: what the server and those behind it said, the outermost first.
        upstream: the server behind the one we asked, where that is named.
        objects: every JSON object of the body that was read, for reset times.
        is_html: the body is a web page, so that no API wrote it.
    """

    status: int | None
    codes: frozenset[str] = frozenset()
    messages: tuple[str, ...] = ()
    upstream: str = ""
    objects: tuple[Mapping[str, Any], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    is_html: bool = False

    @property
    def text(self) -> str:
        """All that was said, for patterns: a line each, bounded."""
        return "\n".join(" ".join(message.split()) for message in self.messages)[:_LONGEST_TEXT]

    @property
    def said(self) -> str:
        """The words nearest to the cause."""
        words = self.messages[-1] if self.messages else ""
        return f"{self.upstream}: {words}" if words and self.upstream else words


def read_facts(problem: ProviderStatusError) -> ErrorFacts:
    """The facts in a server's error, whatever its form; nothing in it can make this fail."""
    reader = _Reader()
    is_html = is_page(problem.body)
    if not is_html:
        reader.text(problem.body, 0)
    kind = problem.headers.get("x-amzn-errortype", "")
    reader.code(kind.partition(":")[0])
    status = problem.status if problem.status is not None and problem.status >= _FIRST_REDIRECT else None
    return ErrorFacts(
        status=status or next(iter(reader.statuses), None),
        codes=frozenset(reader.codes),
        messages=tuple(dict.fromkeys(reader.messages)),
        upstream=reader.upstream,
        objects=tuple(reader.objects),
        headers=problem.headers,
        is_html=is_html,
    )


def stated_wait(facts: ErrorFacts, now: float) -> float | None:
    """Seconds that the server told us in so many words to wait; `now` is in seconds since 1970.

    Read from `retry-after-ms` and `Retry-After` (RFC 9110, 10.2.3), from the fields of the body and from its words.
    """
    found = (*_retry_headers(facts.headers, now), *_stated_in_body(facts, now))
    return next((_bounded(wait) for wait in found if wait is not None), None)


def body_wait(facts: ErrorFacts, now: float) -> float | None:
    """The same from the body alone."""
    return next((_bounded(wait) for wait in _stated_in_body(facts, now) if wait is not None), None)


def asked_wait(facts: ErrorFacts, now: float) -> float | None:
    """Seconds until the next attempt makes sense: what the server stated, else when its limits reset."""
    stated = stated_wait(facts, now)
    if stated is not None:
        return stated
    limited = facts.status in {402, 429}
    for headers in (facts.headers, *_inner_headers(facts)):
        reset = _limit_reset(headers, now, any_limit=limited)
        if reset is not None:
            return _bounded(reset)
    return None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern without regard to case, line by line; compiled at first use, since most sessions never fail."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


class _Reader:
    """Collects what a body says; a body may hold another server's body, as an object or as text."""

    def __init__(self) -> None:
        self.codes: set[str] = set()
        self.statuses: list[int] = []
        self.messages: list[str] = []
        self.objects: list[Mapping[str, Any]] = []
        self.upstream = ""

    def text(self, text: str, depth: int) -> None:
        known = len(self.messages)
        inner = _embedded(text)
        if inner is not None and depth < _DEEPEST:
            self.value(inner, depth + 1)
        is_json = inner is not None and text.lstrip().startswith(("{", "["))
        if text.strip() and not is_json and not is_page(text) and len(self.messages) == known:
            self.messages.append(text.strip())

    def value(self, value: object, depth: int) -> None:
        if depth > _DEEPEST:
            return
        match value:
            case str():
                self.text(value, depth)
            case list():
                for item in value[:_MOST_ITEMS]:
                    self.value(item, depth + 1)
            case dict():
                self._object(value, depth)

    def code(self, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | str):
            return
        name = str(value).rpartition("#")[2].strip().lower()
        if name.isascii() and name.isdecimal() and _FIRST_FAILURE <= int(name[:9]) <= _LAST_FAILURE:
            self.statuses.append(int(name))
        elif name:
            self.codes.add(name)

    def _object(self, value: dict[str, Any], depth: int) -> None:
        self.objects.append(value)
        if isinstance(name := value.get("provider_name"), str):
            self.upstream = name
        for key in _CODES:
            self.code(value.get(key))
        for key in (*reversed(SAID_IN), *_INNER):
            self.value(value.get(key), depth + 1)


def _embedded(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON in a text that is JSON, or that quotes it after some words of its own."""
    for start in (0, text.find("{")):
        if start < 0:
            return None
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(text, start + _blanks(text[start : start + 64]))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            return value
    return None


def _blanks(text: str) -> int:
    return len(text) - len(text.lstrip())


def _retry_headers(headers: Mapping[str, str], now: float) -> Iterator[float | None]:
    milliseconds = _number(headers.get("retry-after-ms"))
    yield None if milliseconds is None else milliseconds / 1000
    value = headers.get("retry-after")
    yield _until(value, now) if value is not None else None


def _stated_in_body(facts: ErrorFacts, now: float) -> Iterator[float | None]:
    for found in facts.objects:
        for key in ("resets_in_seconds", "retry_after_seconds", "retryDelay", "retry_after", "resets_at", "reset_at"):
            if key in found:
                yield _until(found[key], now)
    yield _in_words(facts.text, now)


def _inner_headers(facts: ErrorFacts) -> Iterator[Mapping[str, str]]:
    """Headers that a gateway reports within its body (OpenRouter: `error.metadata.headers`)."""
    for found in facts.objects:
        headers = found.get("headers")
        if isinstance(headers, dict):
            yield {str(name).lower(): str(value) for name, value in headers.items()}


def _limit_reset(headers: Mapping[str, str], now: float, *, any_limit: bool) -> float | None:
    """When the limits that are used up reset; where none is named as used up, the first to reset counts."""
    used_up: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        if "ratelimit" not in name or "reset" not in name:
            continue
        wait = _until(value, now)
        if wait is not None:
            left = headers.get(name.replace("reset", "remaining"))
            (used_up if left is not None and _number(left) == 0 else others).append(wait)
    if used_up:
        return max(used_up)
    return min(others, default=None) if any_limit else None


def _until(value: object, now: float) -> float | None:
    """Seconds from now: `value` is a number of them, a duration, a date, or a time since 1970 in s or ms."""
    number = _number(value)
    if number is not None:
        if number >= _POINT_IN_MILLISECONDS:
            return _left(number / 1000, now)
        return _left(number, now) if number >= _POINT_IN_SECONDS else number
    if not isinstance(value, str):
        return None
    if compiled(rf"(?:{_DURATION})+").fullmatch(value.strip()):
        return _sum(value)
    for parse in (datetime.fromisoformat, _http_date):
        with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
            moment = parse(value.strip())
            return _left((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), now)
    return None


def _left(moment: float, now: float) -> float | None:
    """Seconds until `moment`. One that is past says nothing, as when the clocks differ."""
    return moment - now if moment > now else None


def _http_date(text: str) -> datetime:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few failures name a date

    return parsedate_to_datetime(text)


def _in_words(text: str, now: float) -> float | None:
    if asked := compiled(_ASKED).search(text):
        return _sum(asked[1])
    if moment := compiled(_MOMENT).search(text):
        zone = "+00:00" if moment[3].upper() in {"Z", "UTC"} else moment[3]
        return _until(f"{moment[1]}T{moment[2]}{zone}", now)
    if hour := compiled(_HOUR).search(text):
        today = datetime.fromtimestamp(now, UTC)
        if int(hour[1]) < 24 and int(hour[2]) < 60:  # noqa: PLR2004 - hours and minutes of a day
            moment_today = today.replace(hour=int(hour[1]), minute=int(hour[2]), second=0, microsecond=0)
            return (moment_today - today) % timedelta(days=1) / timedelta(seconds=1)
    return None


def _sum(durations: str) -> float:
    return sum(float(amount) * _seconds(unit) for amount, unit in compiled(_DURATION).findall(durations))


def _seconds(unit: str) -> float:
    short = unit.lower()
    return _SECONDS["ms" if short in {"ms", "millisecond", "milliseconds"} else short[0]]


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), LONGEST_WAIT)
