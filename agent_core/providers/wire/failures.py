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
    said = bytearray()
    with contextlib.closing(answer):
        for piece in answer.iter_bytes():
            said += piece
            if len(said) > _LONGEST_REFUSAL:
                break
    return status_error(choice, answer.status_code, said.decode("utf-8", "replace"), dict(answer.headers))


def status_error(
    choice: ModelChoice, status: int, body: str, headers: Mapping[str, str] | None = None
) -> ProviderStatusError:
    """The error for an answer with an error status."""
    step = _NEXT_STEP.get(status, "Send the prompt again later." if status >= 500 else "Check the model's settings.")  # noqa: PLR2004
    said = readable(_server_message(body), choice.api_key)
    quoted = f": «{said}»" if said else ""
    return ProviderStatusError(
        f"{choice.endpoint} answered {status} for model {choice.model}{quoted}. {step}", status, body, headers
    )


def reported_error(choice: ModelChoice, failure: Any) -> ProviderStatusError:
    """The error for a failure that the server reports in the middle of its answer; `failure` is JSON."""
    text = failure.get("message") or failure.get("code") if isinstance(failure, dict) else failure
    return ProviderStatusError(
        f"{choice.endpoint} reported an error in the middle of its answer: "
        f"«{readable(str(text), choice.api_key)}». Send the prompt again.",
        None,
        json.dumps({"error": failure}, ensure_ascii=False),
    )


def failure_in(body: bytes) -> Any:
    """What a JSON body with a good status says of a failure; None if it says nothing of one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    value = value[0] if isinstance(value, list) and value else value
    if not isinstance(value, dict):
        return None
    # MiniMax answers 200 with `base_resp` (its code 1008 is an empty account).
    base = value.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        return {"code": base["status_code"], "message": base.get("status_msg")}
    return value.get("error")


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
        ProviderProtocolError: it is none.
    """
    try:
        try:
            payload = quick_json.loads(data)
        except UnicodeDecodeError:
            # A character was cut, or a server does not look at what its model writes: the rest is good.
            payload = quick_json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        raise ProviderProtocolError(
            f"{choice.endpoint} sent something that is not JSON in its answer. {_AGAIN}"
        ) from problem
    if not isinstance(payload, dict):
        raise ProviderProtocolError(f"{choice.endpoint} sent JSON that is not an object in its answer. {_AGAIN}")
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


def _server_message(body: str) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return "" if body.lstrip().startswith("<") else body
    if isinstance(value, list) and len(value) == 1:  # Gemini's compatible endpoint answers with a list
        value = value[0]
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        return str(error.get("message") or error.get("detail") or "")
    return str(error)
