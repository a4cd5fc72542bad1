"""Signs in at a cloud with the cloud's own library, for requests without a key.

Each library looks where the cloud's other programs do: variables, files of its command line, the machine's identity.
It renews expired tokens itself.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from agent_core.errors import ProviderConnectionError, SettingsError, SignInFailed, TurnInterrupted
from agent_core.providers.bedrock_client import LOG_IN, told
from agent_core.providers.catalog import SIGN_INS
from agent_core.providers.choice import ModelChoice, SignIn
from agent_core.providers.token_renewal import outlasting
from agent_core.providers.transport_errors import readable
from tools.errors import install_line
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from botocore.session import Session

SIGN_IN_SECONDS = 60.0
_OPENAI_SCOPE = "https://cognitiveservices.azure.com/.default"
# https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry
_FOUNDRY_SCOPE = "https://ai.azure.com/.default"
_GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"

_NEEDS: Mapping[SignIn, tuple[tuple[str, ...], str, str]] = {
    "entra": (("azure.identity",), "azure-identity", "azure"),
    "google": (("google.auth", "requests"), "google-auth", "vertex"),
    "aws": (("boto3",), "boto3", "bedrock"),
}
"""By sign-in: the modules, their package, and the extra that brings it."""

_STEPS: Mapping[SignIn, str] = {
    "entra": (
        "Sign in with `az login`, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; on Azure a "
        "managed identity works too."
    ),
    "google": (
        "Sign in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a service "
        "account's file."
    ),
    "aws": LOG_IN,
}
"""What to do when there is no sign-in that works."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a request is made with. Nothing of it is ever shown.

    Attributes:
        token: a bearer token, or AWS's session token; '' for none.
        key_id, secret: AWS's, to sign with.
        project: Google Cloud's project that belongs to the sign-in, '' if it knows of none.
        region: the one of AWS's settings, '' if there is none.
    """

    token: str = field(default="", repr=False)
    key_id: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    project: str = ""
    region: str = ""


CloudSignIn = Callable[[], Access]
"""What to make a request with now, renewed where it has ended. Safe for threads; it may take seconds.

Raises SignInFailed: there is nothing to sign in with, or it is refused; ProviderConnectionError: the cloud was not
reached.
"""


def check_installed(sign_in: SignIn, choice: ModelChoice) -> None:
    """Find out, without loading it, whether the library of a sign-in is there.

    Raises:
        SettingsError: it is not; the text has the line that installs it.
    """
    modules, package, extra = _NEEDS[sign_in]
    if not all(map(_is_there, modules)):
        raise SettingsError(
            f"{choice.provider} signs in at {SIGN_INS[sign_in]} with {package}, which is not installed. Run: "
            f"{install_line(extra)}"
        )


def sign_in_for(choice: ModelChoice) -> CloudSignIn | None:
    """How requests to this server are signed in; None where they have a key, or need nothing.

    Raises:
        SettingsError: the library for it is not installed.
    """
    if choice.sign_in is None or (choice.api_key and choice.sign_in != "aws"):
        return None
    check_installed(choice.sign_in, choice)
    if choice.api_key:  # Amazon's library reads the answers, too
        return None
    return _KINDS[choice.sign_in](choice).access


def wait_for_access(sign_in: CloudSignIn, choice: ModelChoice, cancelled: Callable[[], bool]) -> Access:
    """What `sign_in` gives, for `SIGN_IN_SECONDS` at most; a cancel ends the wait at once.

    Raises:
        TurnInterrupted: it was cancelled.
        SignInFailed, ProviderConnectionError: as `CloudSignIn` says, or the time is over.
    """
    deadline = time.monotonic() + SIGN_IN_SECONDS
    try:
        return outlasting(lambda _: sign_in(), lambda: cancelled() or time.monotonic() >= deadline)
    except TurnInterrupted:
        if cancelled():
            raise
        where = SIGN_INS[choice.sign_in] if choice.sign_in is not None else "the cloud"
        raise ProviderConnectionError(
            f"{choice.endpoint} was not asked: the sign-in at {where} gave no answer in {SIGN_IN_SECONDS:g} s.",
            "timeout",
            "Check the network connection and the proxy's settings, and send the prompt again.",
        ) from None


def try_sign_in(choice: ModelChoice, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Sign in as the next request would, without asking the model. Nothing is done where a key counts.

    Raises:
        TurnInterrupted: it was cancelled.
        SettingsError: the library for it is not installed.
        SignInFailed, ProviderConnectionError: it does not work.
    """
    sign_in = sign_in_for(choice)
    if sign_in is not None:
        wait_for_access(sign_in, choice, cancelled)


class _Entra:
    """Microsoft Entra ID, by azure-identity's `DefaultAzureCredential`."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._scope = _FOUNDRY_SCOPE if choice.api_mode == "anthropic_messages" else _OPENAI_SCOPE
        self._lock = threading.Lock()
        self._provider: Callable[[], str] | None = None

    def access(self) -> Access:
        """A token, of the library's own cache or a new one."""
        from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError  # noqa: PLC0415
        from azure.identity import DefaultAzureCredential, get_bearer_token_provider  # noqa: PLC0415

        unreachable = (ServiceRequestError, ServiceResponseError)
        with _failures(self._choice, "entra", (AzureError, ValueError), unreachable), self._lock:
            if self._provider is None:
                logging.getLogger("azure").setLevel(logging.WARNING)  # it tells of every step
                self._provider = get_bearer_token_provider(DefaultAzureCredential(), self._scope)
            return Access(self._provider())


class _Google:
    """Google Cloud, by google-auth's Application Default Credentials."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._lock = threading.Lock()
        self._found: tuple[Any, str] | None = None

    def access(self) -> Access:
        """A token, that of the last time or a new one, and the project."""
        import google.auth  # noqa: PLC0415 - takes a while: only where it is asked for
        import requests  # noqa: PLC0415 - the same
        from google.auth.exceptions import GoogleAuthError, TransportError  # noqa: PLC0415
        from google.auth.transport.requests import Request  # noqa: PLC0415

        with _failures(self._choice, "google", (GoogleAuthError, ValueError), (TransportError,)), self._lock:
            if self._found is None:
                credentials, project = google.auth.default(scopes=[_GOOGLE_SCOPE])
                self._found = credentials, project or ""
            credentials, project = self._found
            if not credentials.valid:
                with requests.Session() as session:
                    credentials.refresh(Request(session))
            return Access(str(credentials.token), project=project)


class _Aws:
    """AWS, by Amazon's own chain: variables, profiles, single sign-on, roles."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._lock = threading.Lock()
        self._session: Session | None = None

    def access(self) -> Access:
        """Keys to sign with."""
        from botocore.exceptions import BotoCoreError, HTTPClientError, NoCredentialsError  # noqa: PLC0415 - most of a second
        from botocore.session import get_session  # noqa: PLC0415

        with (
            _failures(self._choice, "aws", (BotoCoreError, ValueError), (HTTPClientError,)),
            told(self._choice),
            self._lock,
        ):
            if self._session is None:
                self._session = get_session()
            found = self._session.get_credentials()
            if found is None:
                raise NoCredentialsError
            frozen = found.get_frozen_credentials()
            region = self._session.get_config_variable("region") or ""
        return Access(frozen.token or "", frozen.access_key, frozen.secret_key, region=region)


_KINDS: Mapping[SignIn, type[_Entra | _Google | _Aws]] = {"entra": _Entra, "google": _Google, "aws": _Aws}


@contextlib.contextmanager
def _failures(
    choice: ModelChoice,
    sign_in: SignIn,
    refused: tuple[type[Exception], ...],
    unreachable: tuple[type[Exception], ...],
) -> Iterator[None]:
    where = SIGN_INS[sign_in]
    try:
        yield
    except unreachable as problem:
        raise ProviderConnectionError(
            f"{choice.endpoint} was not asked: {where} could not be reached to sign in "
            f"({readable(str(problem), None)}).",
            "connect",
            "Check the network connection and the proxy's settings.",
        ) from problem
    except refused as problem:
        said = readable(str(problem), None)
        body = json.dumps({"error": {"type": type(problem).__name__, "message": str(problem)}})
        raise SignInFailed(
            f"{choice.endpoint} was not asked: the sign-in at {where} failed («{said}»).", _STEPS[sign_in], body
        ) from problem


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package above it
        return False
