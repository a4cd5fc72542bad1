"""What servers say of failures, and what the HTTP library and Amazon's client raise: as facts and as errors."""

from __future__ import annotations

import contextlib
import json
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from agent_core.errors import (
    ProviderConnectionError,
    ProviderProtocolError,
    ProviderStatusError,
    TransportFault,
)
from agent_core.providers.choice import ModelChoice
from agent_core.providers.shared_file import number_in
from tools import quick_json
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    import httpx2


_MAX_TEXT = 300
SAID_IN = (
    *("message", "Message", "detail", "msg", "error_msg", "error_message", "errorMessage", "errmsg"),
    *("error_description", "status_msg", "faultstring", "title"),
)
"""Where servers put what they say of a failure; the first says most."""
_WITHIN = ("errors", "base_resp", "fault")
_STATUS_IN = ("code", "status", "status_code", "statusCode")
_TELLING = frozenset({"error", "success", *SAID_IN, *_WITHIN, *_STATUS_IN})
_ANSWERS = ("choices", "delta", "usage", "candidates")
_BESIDE = frozenset({"choices", "usage", "sequence_number"})
_CALLED_ERROR = (("type", "error"), ("object", "error"))
_LONGEST_REFUSAL = 1024 * 1024
_AGAIN = "Send the prompt again; if that fails too, check model.base_url."
_NEXT_STEP = {
    400: "Check the model's name and settings in config.yaml.",
    401: "The server did not accept the key: check model.api_key in config.yaml, or the provider's key variable.",
    402: "The account has no credit left: top it up or choose another model.",
    403: "The key may not use this model: check the key and the model's name.",
    404: "Check model.default and model.base_url in config.yaml.",
    408: "Send the prompt again.",
    413: "The conversation is too large for this server: begin a new session.",
    429: "The server's limit is reached: wait a moment and send the prompt again.",
}


@dataclass(frozen=True, slots=True)
class SdkErrors:
    """An SDK's exceptions beside the HTTP library's: for a failed connection, and what they all derive from."""

    connection: type[Exception]
    base: type[Exception]


@contextlib.contextmanager
def translated(choice: ModelChoice, sdk: SdkErrors | None = None) -> Iterator[None]:
    """Turn the HTTP library's errors, and those of an SDK over it, into the agent's own.

    Raises:
        ProviderConnectionError, ProviderProtocolError.
    """
    import httpcore2  # noqa: PLC0415 - only when a model is really asked
    import httpx2  # noqa: PLC0415

    # The library lets some failures of TLS through as they are.
    broken: tuple[type[Exception], ...] = (
        httpx2.RequestError,
        httpx2.InvalidURL,
        httpcore2.NetworkError,
        ssl.SSLError,
    )
    others: tuple[type[Exception], ...] = ()
    if sdk is not None:
        broken, others = (*broken, sdk.connection), (sdk.base,)
    try:
        yield
    except UnicodeEncodeError:
        # Without its cause: it holds what could not be sent, which may be the key.
        raise ProviderProtocolError(
            f"The request to {choice.endpoint} could not be written: a key or a header holds a forbidden character.",
            "Check model.api_key and headers in config.yaml.",
        ) from None
    except (httpx2.TimeoutException, httpcore2.TimeoutException) as problem:
        raise _timeout(choice, problem) from problem
    except broken as problem:
        raise _connection_error(choice, problem) from problem
    except others as problem:
        raise ProviderProtocolError(
            f"The request to {choice.endpoint} failed: {readable(str(problem), choice.api_key)}. "
            "Check the model's settings."
        ) from problem


def refused(choice: ModelChoice, answer: httpx2.Response) -> ProviderStatusError:
    """The error for an answer with an error status, whose body is still to be read; it is closed after that."""
    return status_error(choice, answer.status_code, said_in(answer), dict(answer.headers))


def said_in(answer: httpx2.Response) -> str:
    """The body of an answer that is no stream of events; the answer is closed after that."""
    return read_at_most(answer, _LONGEST_REFUSAL).decode("utf-8", "replace")


def read_at_most(answer: httpx2.Response, most: int) -> bytes:
    """The body of an answer, which is closed after that; of a longer one a little more than `most` bytes."""
    body = bytearray()
    with contextlib.closing(answer):
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > most:
                break
    return bytes(body)


def status_error(
    choice: ModelChoice, status: int, body: str, headers: Mapping[str, str] | None = None
) -> ProviderStatusError:
    """The error for an answer with an error status."""
    step = _NEXT_STEP.get(status, "Send the prompt again later." if status >= 500 else "Check the model's settings.")  # noqa: PLR2004
    said = readable(_words_of(value) if (value := _json(body)) is not None else _plain(body), choice.api_key)
    quoted = f": «{said}»" if said else ""
    return ProviderStatusError(
        f"{choice.endpoint} answered {status} for model {choice.model}{quoted}. {step}",
        status,
        without_token(body, choice),
        headers,
    )


def reported_error(choice: ModelChoice, failure: Any) -> ProviderStatusError:
    """The error for a failure that the server reports within its answer; `failure` is JSON, or words."""
    body = failure if isinstance(failure, Mapping) and "error" in failure else {"error": failure}
    text = readable(_words_of(body) or _code_in(body) or "no reason given", choice.api_key)
    return ProviderStatusError(
        f"{choice.endpoint} reported an error in the middle of its answer: «{text}». Send the prompt again.",
        None,
        without_token(json.dumps(body, ensure_ascii=False), choice),
    )


def answer_broken(choice: ModelChoice, word: str) -> ProviderStatusError:
    """The error for an answer that the server ended for a reason (`word`) that makes it useless."""
    failure = {"type": "finish_reason", "code": word, "message": f"finish_reason: {word}"}
    return ProviderStatusError(
        f"{choice.endpoint} gave up its answer for model {choice.model} ({readable(word, choice.api_key)}). "
        "Send the prompt again.",
        None,
        without_token(json.dumps({"error": failure}, ensure_ascii=False), choice),
    )


def without_token(body: str, choice: ModelChoice) -> str:
    """What a server said, without the token of a sign-in: unlike a key, it is known to nobody who may read this."""
    return body.replace(choice.api_key, "[key]") if choice.sign_in is not None and choice.api_key else body


def failure_in(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What an object in an answer with a good status says of a failure, as a server's error has it; None for nothing.

    Servers write failures in the form of their own: `error` as an object, a text or `true` with words next to it, an
    object that calls itself an error, FastAPI's `detail`, MiniMax's `base_resp`, or no more than words.
    """
    if not _calls_itself_error(payload) and (payload.keys().isdisjoint(_TELLING) or not _tells_failure(payload)):
        return None
    said = {
        key: value
        for key, value in payload.items()
        if value is not None and key not in _BESIDE and (key, value) not in _CALLED_ERROR
    }
    return said if "error" in said else {"error": said}


def failure_of(text: str, *, is_error: bool) -> Any:
    """What a text says of a failure, which came where an event of an answer should be; None for nothing.

    Args:
        is_error: the server calls it an error, so that it is one whatever it says.
    """
    value = _json(text) or _json(text.strip().partition("\n")[0])
    if isinstance(value, list) and value:  # Gemini's compatible endpoint puts an error into a list
        value = value[0]
    if isinstance(value, Mapping):
        return failure_in(value) or ({"error": dict(value)} if is_error else None)
    if isinstance(value, str):
        return value
    return _plain(text) or ("no reason given" if is_error else None)


def is_page(text: str) -> bool:
    """Whether a body is a web page, so that no API wrote it."""
    start = text[:64].lstrip()
    return start.startswith(("<!", "<?")) or (start.startswith("<") and start[1:2].isidentifier())


def stalled(choice: ModelChoice) -> ProviderConnectionError:
    """The error for an answer that went silent."""
    return ProviderConnectionError(
        f"{choice.endpoint} sent nothing of its answer for {choice.stall_after:g} s.",
        "stall",
        "Send the prompt again; where the model needs longer to think, raise model.stall_timeout.",
    )


def broken_off(choice: ModelChoice) -> ProviderConnectionError:
    """The error for an answer that ended without its end."""
    return ProviderConnectionError(
        f"{choice.endpoint} broke off its answer before it was complete.", "cut", "Send the prompt again."
    )


def decoded(data: bytes, choice: ModelChoice) -> dict[str, Any]:
    """The JSON object of an event.

    Raises:
        ProviderStatusError: it is none, but words, or an object that tells of a failure.
        ProviderProtocolError: it is neither.
    """
    try:
        try:
            payload = quick_json.loads(data)
        except UnicodeDecodeError:
            # A character was cut, or a server does not look at what its model writes: the rest is good.
            payload = quick_json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        if words := _plain(data.decode("utf-8", "ignore")):
            raise reported_error(choice, words) from problem
        raise ProviderProtocolError(
            f"{choice.endpoint} sent something that is not JSON in its answer. {_AGAIN}"
        ) from problem
    if isinstance(payload, str) and payload.strip():
        raise reported_error(choice, payload)
    if not isinstance(payload, dict):
        raise ProviderProtocolError(f"{choice.endpoint} sent JSON that is not an object in its answer. {_AGAIN}")
    if (failure := failure_in(payload)) is not None:
        raise reported_error(choice, failure)
    return payload


def readable(text: str, secret: str | None) -> str:
    """What a server said, as one line of bounded length without the key."""
    plain = " ".join(text.split())
    if secret:
        # A library may show it as Python writes it.
        for shown in (secret, " ".join(secret.split()), repr(secret)[1:-1]):
            plain = plain.replace(shown, "[key]")
    return plain if len(plain) <= _MAX_TEXT else f"{plain[:_MAX_TEXT]}…"


def _timeout(choice: ModelChoice, problem: BaseException) -> ProviderConnectionError:
    if any(type(cause).__name__ == "ConnectTimeout" for cause in causes_of(problem)):
        return ProviderConnectionError(
            f"{choice.endpoint} could not be reached in time.",
            "timeout",
            "Check that the server runs and that model.base_url is right.",
        )
    return stalled(choice)


def _connection_error(choice: ModelChoice, problem: BaseException) -> ProviderConnectionError:
    cause = problem.__cause__ or problem
    fault = _fault(problem)
    if any(type(each).__name__ == "UnknownHost" for each in causes_of(problem)):
        return ProviderConnectionError(
            f"{choice.endpoint} could not be reached: the name {choice.endpoint.host} was not found.",
            fault,
            "Check the network connection and model.base_url.",
        )
    step = {
        "tls": "The server's certificate is not trusted or the connection is not TLS: check model.base_url; for a "
        "certificate of your own set SSL_CERT_FILE to its CA.",
        "proxy": "Check HTTPS_PROXY and NO_PROXY.",
    }.get(fault, "Check that the server runs and that model.base_url is right.")
    said = readable(str(cause) or type(cause).__name__, choice.api_key).rstrip(".")
    what = "broke off" if fault == "cut" else "could not be reached"
    return ProviderConnectionError(f"{choice.endpoint} {what} ({said}).", fault, step)


def _fault(problem: BaseException) -> TransportFault:
    causes = list(causes_of(problem))
    names = {type(cause).__name__ for cause in causes}
    # A connection that was once trusted and breaks later may be good again; one that never was will not.
    if any(isinstance(cause, ssl.SSLError) for cause in causes) and not names & {"ReadError", "WriteError"}:
        return "tls"
    if "ProxyError" in names:
        return "proxy"
    return "connect" if "ConnectError" in names else "cut"


def causes_of(problem: BaseException | None) -> Iterator[BaseException]:
    """The error, and what led to it."""
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(text: str) -> str:
    """What a text says that is no JSON: itself if it is words, nothing of a page or of broken JSON."""
    said = text.strip()
    return "" if is_page(said) or said.startswith(("{", "[{")) or not any(map(str.isalpha, said)) else said


def _words_of(value: Any) -> str:
    """A server's own words, somewhere in what it sent."""
    if isinstance(value, list):
        return _words_of(value[0]) if len(value) == 1 else json.dumps(value, ensure_ascii=False) if value else ""
    if isinstance(value, Mapping):
        return next(filter(None, (_words_of(value.get(key)) for key in ("error", *SAID_IN, *_WITHIN))), "")
    return value if isinstance(value, str) else ""


def _calls_itself_error(payload: Mapping[str, Any]) -> bool:
    for key in ("type", "object"):
        kind = payload.get(key)
        if isinstance(kind, str) and ("error" in (low := kind.lower()) or low.endswith("exception")):
            return True
    return False


def _tells_failure(payload: Mapping[str, Any]) -> bool:
    base = payload.get("base_resp")
    if (
        payload.get("error")
        or payload.get("success") is False
        or (isinstance(base, Mapping) and base.get("status_code"))
    ):
        return True
    kind = str(payload.get("type") or payload.get("object") or "")
    if any(map(payload.get, _ANSWERS)) or (kind and ":" not in kind):  # RFC 9457 has an address as the type
        return False
    return any(isinstance(payload.get(key), str | list) and payload[key] for key in (*SAID_IN, "errors")) or any(
        _is_error_status(payload.get(key)) for key in _STATUS_IN
    )


def _is_error_status(value: Any) -> bool:
    return str(value).isdecimal() and 400 <= int(str(value)[:9]) <= 599  # noqa: PLR2004


def _code_in(body: Mapping[str, Any]) -> str:
    error = body["error"]
    if not isinstance(error, Mapping):
        return str(error or "")
    return str(next(filter(None, (error.get(key) for key in (*_STATUS_IN, "type"))), ""))


# What a server's failure says, whoever wrote it: status, codes, words, and how long it asks us to wait.

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
    milliseconds = number_in(headers.get("retry-after-ms"))
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
            (used_up if left is not None and number_in(left) == 0 else others).append(wait)
    if used_up:
        return max(used_up)
    return min(others, default=None) if any_limit else None


def _until(value: object, now: float) -> float | None:
    """Seconds from now: `value` is a number of them, a duration, a date, or a time since 1970 in s or ms."""
    number = number_in(value)
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


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), LONGEST_WAIT)
