"""Every error that the agent raises on purpose.

HermesError                     has `public`, a sentence or two for the user, and never a secret
├── SettingsError               a setting is wrong: key, value and file are named
├── AuthRequired                no usable model is configured
│   └── KeyMissing              a service is chosen, and there is no key for it
├── RequestError                what a client asked for cannot be done as asked
│   ├── UnknownSession
│   │   └── SessionClosed       it is stored, and not open in this process
│   └── SessionInUse            another process prompts the session
├── HookRefused                 a hook of the user's does not let the turn begin, or go on
├── StoreError                  the conversation could not be stored or read; `kind` says why
└── ProviderError               a model request failed
    ├── ProviderConnectionError the server could not be reached, or the connection broke; `fault` says how
    ├── ProviderStatusError     the server said that it failed: an error status, or an error within its answer
    │   └── SignInFailed        a cloud's sign-in gave nothing to make the request with, so that it was not sent
    ├── RefreshFailed           (providers/token_store.py) a sign-in could not be renewed now
    ├── RefreshRefused          (the same file) a sign-in is over
    ├── ProviderProtocolError   the server's answer could not be understood
    └── ModelFailed             every way that was open has been tried
TurnInterrupted                 control flow: the turn was cancelled
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tools.errors import ToolInterrupted

_UNAUTHORIZED = 401
_UNEXPECTED = "Something went wrong inside the agent; its log has the details."


class HermesError(Exception):
    """Base of the tree. `str(error)` is the public text: what was tried, what happened, what to do."""

    @property
    def public(self) -> str:
        """The text for the user."""
        return str(self)


class SettingsError(HermesError):
    """A setting cannot be used."""


class AuthRequired(HermesError):
    """There is no model that could be asked: nothing is configured, or a key is missing.

    The text begins with what to do: many clients show only its first words.

    Attributes:
        cause: what is missing, without what to do about it.
    """

    def __init__(self, text: str, cause: str = "") -> None:
        super().__init__(text)
        self.cause = cause or text


class KeyMissing(AuthRequired):
    """There is no key for the service that was chosen.

    Attributes:
        title: whose key it is.
        variable: the environment variable that is looked for, '' where only a setting could hold it.
        file: where to put it.
        page: where the service's keys are made, '' if that is not known.
    """

    def __init__(self, text: str, *, cause: str, title: str, variable: str, file: str, page: str) -> None:
        super().__init__(text, cause)
        self.title, self.variable, self.file, self.page = title, variable, file, page


class RequestError(HermesError):
    """A client's request cannot be done as asked; nothing was changed."""


class UnknownSession(RequestError):
    """The session id names no session."""

    def __init__(self, session_id: str, text: str = "") -> None:
        super().__init__(
            text or f"There is no session {session_id!r} in this home. Choose another one, or open a new one."
        )
        self.session_id = session_id


class SessionClosed(UnknownSession):
    """The session is stored, and the client has not opened it, or has closed it."""

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id, f"Session {session_id!r} is closed. Load or resume it, then try again.")


class SessionInUse(RequestError):
    """Another living process prompts the session; the message names it."""


class HookRefused(HermesError):
    """A hook of the user's does not let the turn begin, or go on."""


StoreFault = Literal["busy", "full", "read-only", "corrupt", "newer", "foreign", "unavailable"]
"""Locked for too long; no space; not writable; damaged; written by a later version; another program's file; anything
else that keeps it from being opened or used."""


class StoreError(HermesError):
    """The conversation could not be stored or read."""

    def __init__(self, message: str, kind: StoreFault = "unavailable") -> None:
        super().__init__(message)
        self.kind: StoreFault = kind


class ProviderError(HermesError):
    """A model request failed.

    Attributes:
        cause: what happened, without what to do about it.
    """

    def __init__(self, cause: str, step: str = "") -> None:
        super().__init__(f"{cause} {step}".rstrip())
        self.cause = cause


TransportFault = Literal["connect", "proxy", "tls", "timeout", "stall", "cut"]
"""How a connection failed: not made; not through the proxy; no trust; no answer in time; an answer that went silent;
one that broke off."""


class ProviderConnectionError(ProviderError):
    """The model server could not be reached, or the connection broke off."""

    def __init__(self, cause: str, fault: TransportFault = "connect", step: str = "") -> None:
        super().__init__(cause, step)
        self.fault: TransportFault = fault


class ProviderStatusError(ProviderError):
    """The model server said that it failed.

    Attributes:
        status: the HTTP status; None for an error that came within a stream that had begun well.
        body: what the server sent (JSON text where it sent JSON), for classification; it is never shown as it is.
        headers: the answer's headers, names in lower case.
    """

    def __init__(
        self, message: str, status: int | None, body: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.headers: Mapping[str, str] = dict(headers or {})


class SignInFailed(ProviderStatusError):
    """There is nothing to sign in at a cloud with, or it is refused there; counts as a status of 401."""

    def __init__(self, cause: str, step: str, body: str) -> None:
        super().__init__(f"{cause} {step}", _UNAUTHORIZED, body)
        self.cause = cause


class ProviderProtocolError(ProviderError):
    """The model server's answer could not be understood."""


class ModelFailed(ProviderError):
    """No model of the turn could answer; `reason` is the last failure's, of `agent_core.providers.errors.Reason`."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


TurnInterrupted = ToolInterrupted
"""The turn was cancelled or is over: one exception, whether the agent or a tool finds out."""


def public_text(problem: BaseException | None) -> str:
    """What the user is told of it; '' for none. What was raised by mistake is described in the log alone."""
    if problem is None:
        return ""
    return problem.public if isinstance(problem, HermesError) else _UNEXPECTED
