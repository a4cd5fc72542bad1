"""What the SDK raises, as errors that tell the user what was asked, what came back and what to do."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from agent_core.errors import ProviderConnectionError, ProviderProtocolError, ProviderStatusError

_MAX_TEXT = 300
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
class Endpoint:
    """A model server: the provider's name and the address of its API."""

    provider: str
    base_url: str

    @property
    def host(self) -> str:
        """The server's host name."""
        return urlsplit(self.base_url).hostname or ""

    def __str__(self) -> str:
        # An address may hold a password or a key, which is for the server only.
        parts = urlsplit(self.base_url)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
        return f"{self.provider} ({urlunsplit(shown)})"


@contextlib.contextmanager
def translated(endpoint: Endpoint, model: str, secret: str | None) -> Iterator[None]:
    """Turn the SDK's and the HTTP library's errors into the agent's own.

    Raises:
        ProviderStatusError, ProviderConnectionError, ProviderProtocolError.
    """
    import httpcore2  # noqa: PLC0415 - loaded together with the SDK
    import httpx2  # noqa: PLC0415
    import openai  # noqa: PLC0415

    try:
        yield
    except openai.APIStatusError as problem:
        raise _status_error(endpoint, model, problem.status_code, problem.response.text, secret) from problem
    except openai.APITimeoutError as problem:
        raise ProviderConnectionError(
            f"{endpoint} did not answer in time. Check that the server works, then send the prompt again."
        ) from problem
    except (openai.APIConnectionError, httpx2.TransportError, httpcore2.NetworkError) as problem:
        cause = problem.__cause__ or problem
        raise ProviderConnectionError(
            f"{endpoint} could not be reached or broke off ({readable(str(cause) or type(cause).__name__, secret)}). "
            "Check that the server runs and that model.base_url is right."
        ) from problem
    except openai.OpenAIError as problem:
        raise ProviderProtocolError(
            f"The request to {endpoint} failed: {readable(str(problem), secret)}. Check the model's settings."
        ) from problem


def _status_error(endpoint: Endpoint, model: str, status: int, body: str, secret: str | None) -> ProviderStatusError:
    step = _NEXT_STEP.get(status, "Send the prompt again later." if status >= 500 else "Check the model's settings.")  # noqa: PLR2004
    said = readable(_server_message(body), secret)
    quoted = f": «{said}»" if said else ""
    return ProviderStatusError(f"{endpoint} answered {status} for model {model}{quoted}. {step}", status, body)


def _server_message(body: str) -> str:
    try:
        value = json.loads(body)
    except ValueError:
        return "" if body.lstrip().startswith("<") else body
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        return str(error.get("message") or error.get("detail") or "")
    return str(error)


def readable(text: str, secret: str | None) -> str:
    """What a server said, as one line of bounded length without the key."""
    plain = " ".join(text.split())
    if secret:
        plain = plain.replace(secret, "[key]")
    return plain if len(plain) <= _MAX_TEXT else f"{plain[:_MAX_TEXT]}…"
