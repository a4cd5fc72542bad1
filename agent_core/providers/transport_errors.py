"""What the HTTP library and Amazon's client raise, as errors that tell what was asked, what came back, what to do."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent_core.errors import (
    ProviderConnectionError,
    ProviderProtocolError,
    ProviderStatusError,
    TransportFault,
)
from agent_core.providers.choice import ModelChoice
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
    if any(type(cause).__name__ == "ConnectTimeout" for cause in _causes(problem)):
        return ProviderConnectionError(
            f"{choice.endpoint} could not be reached in time.",
            "timeout",
            "Check that the server runs and that model.base_url is right.",
        )
    return stalled(choice)


def _connection_error(choice: ModelChoice, problem: BaseException) -> ProviderConnectionError:
    cause = problem.__cause__ or problem
    fault = _fault(problem)
    if any(type(each).__name__ == "UnknownHost" for each in _causes(problem)):
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
    causes = list(_causes(problem))
    names = {type(cause).__name__ for cause in causes}
    # A connection that was once trusted and breaks later may be good again; one that never was will not.
    if any(isinstance(cause, ssl.SSLError) for cause in causes) and not names & {"ReadError", "WriteError"}:
        return "tls"
    if "ProxyError" in names:
        return "proxy"
    return "connect" if "ConnectError" in names else "cut"


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
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
