"""Servers of the big clouds: signed in at by the cloud's own library, asked through their vendor's SDK."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from agent_core.errors import (
    ProviderConnectionError,
    ProviderProtocolError,
    SettingsError,
    SignInFailed,
    TurnInterrupted,
)
from agent_core.providers.base import ModelRequest
from agent_core.providers.bedrock import CONTENT_TYPE, LOG_IN, error_in, messages, region_at, told
from agent_core.providers.catalog import SIGN_INS
from agent_core.providers.choice import ModelChoice, SignIn, vertex_place
from agent_core.providers.http_provider import HttpProvider, body_json
from agent_core.providers.lessons import Lessons
from agent_core.providers.protocol import WireProtocol
from agent_core.providers.token_renewal import outlasting
from agent_core.providers.transport import make_client as make_http
from agent_core.providers.transport_errors import SdkErrors, readable, refused
from tools.errors import install_line
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    import httpx2
    from anthropic import Anthropic, AnthropicBedrock, AnthropicVertex
    from botocore.session import Session
    from openai import OpenAI

    from agent_core.providers.transport import Abort


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


# A provider whose requests are sent by a vendor's SDK. The answers are read as our own HTTP's are.

# The clients are made over our own HTTP client, and write addresses, headers and signatures. What they would take
# from the environment (keys, accounts, headers) is left out: it could go to a server that it is not meant for. Only
# the clouds' own settings count.

if TYPE_CHECKING:
    Client = Anthropic | AnthropicBedrock | AnthropicVertex | OpenAI

_PACKAGES = {"anthropic_messages": "anthropic"}
_ANY_PACKAGE = "openai"
_HEADERS = {"anthropic": "ANTHROPIC_CUSTOM_HEADERS", "openai": "OPENAI_CUSTOM_HEADERS"}
# Clients refuse to be made without a key, also where its header is left out in the end.
_NO_KEY = "none"
# The versions that our decoder reads; an SDK asks for a newer one.
_VERSION = "2023-06-01"
_VERTEX_VERSION = "vertex-2023-10-16"
_BEDROCK_VERSION = "bedrock-2023-05-31"
_MESSAGES = "/v1/messages"
_JSON = "application/json"


class SdkRequest(NamedTuple):
    """A request for a client: the path or address, and the body as bytes, or as values that the client changes."""

    path: str
    content: bytes | None
    body: dict[str, Any] | None
    headers: Mapping[str, Any]


def package_for(choice: ModelChoice) -> str:
    """The SDK for the protocol of `choice`."""
    return _PACKAGES.get(choice.api_mode, _ANY_PACKAGE)


def check_package(choice: ModelChoice) -> None:
    """Find out, without loading it, whether the SDK is there.

    Raises:
        SettingsError: it is not.
    """
    package = package_for(choice)
    if importlib.util.find_spec(package) is None:
        raise SettingsError(
            f"{choice.provider} is asked through the package {package}, which is part of this program and is not "
            "installed. Install hermes-editor-agent again."
        )


def sdk_errors(choice: ModelChoice) -> SdkErrors:
    """The exceptions of the SDK."""
    if package_for(choice) == "anthropic":
        import anthropic  # noqa: PLC0415 - seconds: only where it is configured

        return SdkErrors(anthropic.APIConnectionError, anthropic.AnthropicError)
    import openai  # noqa: PLC0415 - the same

    return SdkErrors(openai.APIConnectionError, openai.OpenAIError)


def make_client(choice: ModelChoice, key: str | None, access: Access | None, http: httpx2.Client) -> Client:
    """The client for `choice`, over `http`. It retries nothing.

    Args:
        key: the server's key; None where a sign-in counts, or nothing is needed.
        access: what the sign-in gave.

    Raises:
        SettingsError: the region or the project that the address is made of is not known.
    """
    # At its most talkative an SDK logs requests whole.
    logging.getLogger(package_for(choice)).setLevel(logging.INFO)
    match choice.sign_in, choice.api_mode:
        case "google", _:
            return _vertex(choice, access, http)
        case "aws", _:
            return _bedrock(choice, key, access, http)
        case "entra", "anthropic_messages":
            return _foundry(choice, key, access, http)
        case _, "anthropic_messages":
            from anthropic import Anthropic  # noqa: PLC0415 - seconds: only where it is configured

            return Anthropic(api_key=key or _NO_KEY, **_common(choice, http), open_telemetry=False)
    from openai import OpenAI  # noqa: PLC0415 - the same

    token = access.token if access is not None else key or _NO_KEY
    return OpenAI(api_key=token, organization="", project="", **_common(choice, http))


def build_request(
    request: ModelRequest, choice: ModelChoice, protocol: WireProtocol, access: Access | None
) -> SdkRequest:
    """The request in the form that the client takes; `choice` has its key, or the token of `access`."""
    encoded = body_json(protocol.encode(request, choice))
    headers = _headers(choice, signed_in=access is not None)
    version = {"google": _VERTEX_VERSION, "aws": _BEDROCK_VERSION}.get(choice.sign_in or "")
    if version is not None:
        # The model goes from the body into the address.
        return SdkRequest(_MESSAGES, None, {**json.loads(encoded), "anthropic_version": version}, headers)
    return SdkRequest(protocol.address(choice.base_url), encoded, None, {**headers, "Content-Type": _JSON})


def _common(choice: ModelChoice, http: httpx2.Client) -> dict[str, Any]:
    return {"base_url": choice.base_url, "http_client": http, "max_retries": 0}


def _vertex(choice: ModelChoice, access: Access | None, http: httpx2.Client) -> Client:
    from anthropic import AnthropicVertex  # noqa: PLC0415 - seconds: only where it is configured

    place = vertex_place(choice.base_url)
    project = place.project or (access.project if access is not None else "")
    if not project:
        raise SettingsError(
            "Claude on Vertex AI was not asked: no Google Cloud project is known. Set ANTHROPIC_VERTEX_PROJECT_ID, "
            f"or model.base_url to {place.root}/projects/PROJECT/locations/{place.region}."
        )
    return AnthropicVertex(
        project_id=project,
        region=place.region,
        access_token=access.token if access is not None else None,
        **{**_common(choice, http), "base_url": place.root},
        open_telemetry=False,
    )


def _bedrock(choice: ModelChoice, key: str | None, access: Access | None, http: httpx2.Client) -> Client:
    from anthropic import AnthropicBedrock  # noqa: PLC0415 - seconds: only where it is configured

    host = urlsplit(choice.base_url).hostname or ""
    region = region_at(host, signed=access is not None) or (access.region if access is not None else "")
    if not region:
        raise SettingsError(
            "Claude on Amazon Bedrock was not asked: there is no AWS region. Set AWS_REGION, or model.base_url to "
            "https://bedrock-runtime.REGION.amazonaws.com."
        )
    client = AnthropicBedrock(
        api_key=key or _NO_KEY,
        aws_region=region,
        **{**_common(choice, http), "base_url": choice.base_url or f"https://bedrock-runtime.{region}.amazonaws.com"},
        open_telemetry=False,
    )
    # Afterwards: what is not given it takes from the environment, whose key is for Amazon only.
    client.api_key = key
    if access is not None:
        client.aws_access_key, client.aws_secret_key = access.key_id, access.secret
        client.aws_session_token = access.token or None
    return client


def _foundry(choice: ModelChoice, key: str | None, access: Access | None, http: httpx2.Client) -> Client:
    from anthropic import AnthropicFoundry  # noqa: PLC0415 - seconds: only where it is configured

    token = access.token if access is not None else ""
    return AnthropicFoundry(
        api_key=key or _NO_KEY,
        azure_ad_token_provider=(lambda: token) if token else None,
        **_common(choice, http),
        open_telemetry=False,
    )


def _headers(choice: ModelChoice, *, signed_in: bool) -> dict[str, Any]:
    """What goes with a request besides what the client writes; some of that is left out."""
    package = package_for(choice)
    headers: dict[str, Any] = dict.fromkeys(_named_in(os.environ.get(_HEADERS[package], "")), _left_out(package))
    if package == "openai":
        headers |= dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), _left_out(package))
    elif choice.sign_in in {None, "entra"}:
        headers["anthropic-version"] = _VERSION
    headers["Authorization"] = _left_out(package)
    if choice.api_key and choice.dialect.auth == "api-key":
        headers["api-key"] = choice.api_key
    elif choice.api_key and (choice.sign_in is None or (choice.sign_in == "entra" and signed_in)):
        # Other clients write it themselves, last of all.
        headers["Authorization"] = f"Bearer {choice.api_key}"
    return _over(headers, dict(choice.headers))


def _over(headers: Mapping[str, Any], others: Mapping[str, str]) -> dict[str, Any]:
    """Both, of one name, whatever its case, the other's."""
    names = {name.lower() for name in others}
    return {**{name: value for name, value in headers.items() if name.lower() not in names}, **others}


def _named_in(lines: str) -> list[str]:
    """The headers that an SDK would take from the environment."""
    return [name.strip() for name, colon, _ in (line.partition(":") for line in lines.split("\n")) if colon]


def _left_out(package: str) -> Any:
    """What an SDK takes for a header that is not sent."""
    if package == "anthropic":
        from anthropic import Omit  # noqa: PLC0415 - loaded with the client

        return Omit()
    from openai import Omit as OpenAIOmit  # noqa: PLC0415 - the same

    return OpenAIOmit()


def send(client: Client, request: SdkRequest, errors: SdkErrors) -> httpx2.Response:
    """Send it; the answer's body is unread.

    Raises:
        httpx2.TransportError, ProviderError: as the HTTP beneath fails, not as the SDK wraps it.
    """
    import httpx2  # noqa: PLC0415 - loaded with the SDK

    post: Any = client.post  # with these arguments the HTTP library's own answer comes back, its body unread
    wanted = {"cast_to": httpx2.Response, "stream": True, "stream_cls": None}
    try:
        answer: httpx2.Response = post(
            request.path, content=request.content, body=request.body, options={"headers": request.headers}, **wanted
        )
    except errors.connection as problem:
        beneath = problem.__cause__
        if beneath is None:
            raise
    else:
        return answer
    # Not where the SDK's error is handled: each would be the other's cause.
    raise beneath


class SdkProvider(HttpProvider):
    """The server of `choice`, asked in `protocol` through its vendor's SDK. Implements `Provider`.

    The SDK sends over our own connections, so that a cancel ends its requests too; it retries nothing.
    """

    def __init__(self, choice: ModelChoice, protocol: WireProtocol, lessons: Lessons | None = None) -> None:
        check_package(choice)
        super().__init__(choice, protocol, lessons)
        self._key = choice.api_key
        self._sign_in = sign_in_for(choice)
        self._asked = threading.local()
        self._sdk_lock = threading.Lock()
        self._sdk: tuple[Access | None, Client] | None = None
        if choice.sign_in == "aws":
            self.stream_type = CONTENT_TYPE

    def client(self) -> httpx2.Client:
        """The client with its connections, made at first use."""
        with self._lock:
            if self._client is None:
                bundle = os.environ.get("AWS_CA_BUNDLE") if self.choice.sign_in == "aws" else None
                self._client = make_http(ca_bundle=bundle, base_url=self.choice.base_url)
                # Before the SDK reads it: an error's body may be of any length.
                self._client.event_hooks["response"].append(self._check)
            return self._client

    def warm(self) -> None:
        """Load the SDK, and make the client. Nothing is asked."""
        super().warm()
        sdk_errors(self.choice)
        if self._sign_in is None:
            self._client_with(None)

    def signed_in(self, choice: ModelChoice, abort: Abort) -> ModelChoice:
        """`choice` with the token, which no message may show."""
        if self._sign_in is None:
            return choice
        access = wait_for_access(self._sign_in, choice, lambda: abort.done)
        self._asked.access = access
        return choice.with_key(access.token or None)

    def send(self, request: ModelRequest, choice: ModelChoice) -> httpx2.Response:
        """The answer, its body unread."""
        access: Access | None = getattr(self._asked, "access", None)
        self._asked.choice = choice
        built = build_request(request, choice, self.protocol, access)
        return send(self._client_with(access), built, sdk_errors(choice))

    def pieces(self, answer: httpx2.Response, choice: ModelChoice) -> Iterator[bytes]:
        """The answer's body as server-sent events; a body of another kind as it is."""
        pieces = super().pieces(answer, choice)
        return _as_sse(pieces, choice) if answer.headers.get("content-type", "").startswith(CONTENT_TYPE) else pieces

    def sdk_errors(self) -> SdkErrors:
        """The SDK's own exceptions."""
        return sdk_errors(self.choice)

    def close(self) -> None:
        """Close the connections."""
        super().close()
        with self._sdk_lock:
            self._sdk = None

    def _client_with(self, access: Access | None) -> Client:
        """The SDK's client; another for each token."""
        http = self.client()
        with self._sdk_lock:
            if self._sdk is None or self._sdk[0] != access:
                self._sdk = access, make_client(self.choice, self._key, access, http)
            return self._sdk[1]

    def _check(self, answer: httpx2.Response) -> None:
        if not answer.is_success:
            raise refused(self._asked.choice, answer)


def _as_sse(pieces: Iterator[bytes], choice: ModelChoice) -> Iterator[bytes]:
    """Bedrock's messages, each of which holds one event of the model's own protocol, as server-sent events."""
    for message in messages(pieces, choice):
        if (failure := error_in(message.headers, message.payload, choice)) is not None:
            raise failure
        if message.headers.get(":event-type") == "chunk":
            yield b"data: %b\n\n" % _event_in(message.payload, choice)


def _event_in(payload: bytes, choice: ModelChoice) -> bytes:
    try:
        return base64.b64decode(json.loads(payload)["bytes"]).replace(b"\n", b" ")
    except (ValueError, KeyError, TypeError) as problem:
        raise ProviderProtocolError(
            f"{choice.endpoint} sent an answer that does not follow Bedrock's streams of events."
        ) from problem
