"""Amazon's own client over our HTTP, and its binary framing of event streams (an extra)."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import logging
import os
import re
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_core.errors import ProviderProtocolError, ProviderStatusError, SettingsError, SignInFailed
from agent_core.providers.choice import ModelChoice
from agent_core.providers.http_provider import LONGEST_PIECE, PieceTooLong
from agent_core.providers.transport_errors import (
    SdkErrors,
    failure_of,
    readable,
    refused,
    reported_error,
    said_in,
    status_error,
    without_token,
)
from tools.errors import install_line

if TYPE_CHECKING:
    import httpx2
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse


# Amazon's binary framing of event streams, read with its own library, which is loaded with its client.

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_STATUS = {
    "validationException": 400,
    "accessDeniedException": 403,
    "modelTimeoutException": 408,
    "modelStreamErrorException": 424,
    "modelErrorException": 424,
    "throttlingException": 429,
    "modelNotReadyException": 429,
    "internalServerException": 500,
    "serviceUnavailableException": 503,
}


def messages(pieces: Iterable[bytes], choice: ModelChoice) -> Iterator[Any]:
    """The stream's messages (`botocore.eventstream.EventStreamMessage`).

    Raises:
        PieceTooLong: one is longer than any is read.
        ProviderProtocolError: what comes is not in this framing.
    """
    from botocore.eventstream import EventStreamBuffer, ParserError  # noqa: PLC0415 - loaded with the client

    frames, waiting = EventStreamBuffer(), 0
    for piece in pieces:
        frames.add_data(piece)
        waiting += len(piece)
        try:
            found = list(frames)
        except (ParserError, struct.error, LookupError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{choice.endpoint} sent something that is no event of Bedrock's in its answer."
            ) from problem
        if found:
            waiting = 0
        elif waiting > LONGEST_PIECE:
            raise PieceTooLong
        yield from found


def error_in(headers: Mapping[str, Any], payload: bytes, choice: ModelChoice) -> ProviderStatusError | None:
    """The error that a message of the stream reports; None for an event."""
    if headers.get(":message-type") == "event":
        return None
    # An exception is in the service's model; an error is what went wrong on the way and has no payload.
    kind = str(headers.get(":exception-type") or headers.get(":error-code") or "unknown")
    said, status = str(headers.get(":error-message") or ""), _STATUS.get(_small(kind))
    try:
        said = str(json.loads(payload)["message"])
    except (ValueError, KeyError, TypeError):
        said = said or payload.decode("utf-8", "replace")
    quoted = readable(said, choice.api_key)
    return ProviderStatusError(
        f"{choice.endpoint} reported an error in the middle of its answer ({kind}): «{quoted}». "
        "Send the prompt again.",
        status,
        without_token(json.dumps({"__type": kind, "message": said}, ensure_ascii=False), choice),
    )


def _small(kind: str) -> str:
    return kind[:1].lower() + kind[1:]


# Amazon's own client for Bedrock, with its requests sent over our interruptible HTTP.
# The client resolves credentials and regions, writes the request and signs it. Its own connections cannot be ended by
# another thread; so each request is taken over just before it would be sent.

_OK = 200
_OPERATION = "bedrock-runtime.ConverseStream"
_REGION = re.compile(r"(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2,}-[a-z0-9-]+)\.")
_AMAZON = re.compile(r"(?:^|\.)(?:amazonaws\.com(?:\.cn)?|api\.aws)$")
_ANY_REGION = "us-east-1"
LOG_IN = (
    "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in with `aws sso login`; or put a "
    "Bedrock API key into AWS_BEARER_TOKEN_BEDROCK."
)


def check_installed() -> None:
    """Find out, without loading it, whether the client is there.

    Raises:
        SettingsError: it is not; the text has the line that installs it.
    """
    if importlib.util.find_spec("botocore") is None:
        raise SettingsError(
            "Amazon Bedrock is asked through Amazon's own client, boto3, which is not installed. Run: "
            f"{install_line('bedrock')}"
        )


class BedrockClient:
    """The client for `choice`. Several threads may use it at once."""

    def __init__(self, choice: ModelChoice) -> None:
        check_installed()
        from agent_core.providers.transport import make_client  # noqa: PLC0415 - loads the HTTP library

        self._choice = choice
        with told(choice):
            self._http = make_client(ca_bundle=os.environ.get("AWS_CA_BUNDLE"))
            self._aws = _amazon_client(choice)
        self._answers = threading.local()
        self._aws.meta.events.register(f"before-send.{_OPERATION}", self._send)

    def converse(self, request: Mapping[str, Any]) -> httpx2.Response:
        """Send a request; the answer's body is still to be read, and to be closed.

        Raises:
            ProviderStatusError: the server answered that something failed, or there are no credentials.
            ProviderProtocolError: the answer is no event stream.
            botocore.exceptions.BotoCoreError, httpx2.TransportError: it could not be sent.
        """
        with told(self._choice):
            self._aws.converse_stream(**request)
        answer: httpx2.Response = self._answers.__dict__.pop("latest")
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._aws.close()
        self._http.close()

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        from botocore.awsrequest import AWSResponse  # noqa: PLC0415 - loaded with the client

        headers = {**dict(request.headers.items()), **dict(self._choice.headers)}
        if self._choice.api_key:
            headers["Authorization"] = f"Bearer {self._choice.api_key}"
        ours = self._http.build_request(request.method, request.url, headers=headers, content=request.body)
        answer = self._http.send(ours, stream=True)
        _check(answer, self._choice)
        self._answers.latest = answer
        return AWSResponse(request.url, answer.status_code, dict(answer.headers), None)


@contextlib.contextmanager
def told(choice: ModelChoice) -> Iterator[None]:
    """Say what to do where Amazon's client finds no credentials, or is refused new ones."""
    from botocore import exceptions as aws  # noqa: PLC0415

    missing = (
        aws.NoCredentialsError,
        aws.PartialCredentialsError,
        aws.CredentialRetrievalError,
        aws.ProfileNotFound,
        aws.SSOError,
        aws.TokenRetrievalError,
        aws.NoAuthTokenError,
    )
    try:
        yield
    except missing as problem:
        said = readable(str(problem), choice.api_key)
        body = json.dumps({"__type": type(problem).__name__, "message": str(problem)})
        raise SignInFailed(
            f"{choice.endpoint} was not asked: there are no AWS credentials to use («{said}»).", LOG_IN, body
        ) from problem
    except aws.NoRegionError as problem:
        raise SettingsError(
            "Amazon Bedrock was not asked: there is no AWS region. Set AWS_REGION, or model.base_url to "
            "https://bedrock-runtime.REGION.amazonaws.com."
        ) from problem
    except aws.ClientError as problem:
        # Of the services that give out credentials: for Bedrock's own answers `_check` speaks.
        failure, answer = problem.response.get("Error", {}), problem.response.get("ResponseMetadata", {})
        body = json.dumps({"__type": failure.get("Code", ""), "message": failure.get("Message", "")})
        raise status_error(
            choice, int(answer.get("HTTPStatusCode", 401)), body, answer.get("HTTPHeaders")
        ) from problem


def amazon_errors() -> SdkErrors:
    """The client's exceptions. A status and a time-out are not among them: the connections are ours."""
    from botocore import exceptions as aws  # noqa: PLC0415

    return SdkErrors(aws.HTTPClientError, aws.BotoCoreError)


def _check(answer: httpx2.Response, choice: ModelChoice) -> None:
    if answer.status_code != _OK:
        raise refused(choice, answer)
    kind = answer.headers.get("content-type", "")
    if not kind.startswith(CONTENT_TYPE):
        if (failure := failure_of(said_in(answer), is_error=False)) is not None:
            raise reported_error(choice, failure)
        raise ProviderProtocolError(
            f"{choice.endpoint} did not answer with Bedrock's stream of events but with {kind or 'nothing'}. Check "
            "that model.base_url is the address of a Bedrock runtime endpoint."
        )


def _amazon_client(choice: ModelChoice) -> Any:
    from botocore import UNSIGNED  # noqa: PLC0415 - takes most of a second: only when Bedrock is really asked
    from botocore.config import Config  # noqa: PLC0415
    from botocore.session import get_session  # noqa: PLC0415

    # At its most talkative it logs requests with their keys.
    logging.getLogger("botocore").setLevel(logging.INFO)
    host = urlsplit(choice.base_url).hostname or ""
    # Amazon's key of the environment goes to Amazon only, a signature may go anywhere.
    signature = UNSIGNED if choice.api_key else "v4" if host and not _AMAZON.search(host) else None
    session = get_session()
    session.register_component("data_loader", _descriptions())
    return session.create_client(
        "bedrock-runtime",
        region_name=region_at(host, signed=choice.api_key is None) or session.get_config_variable("region"),
        endpoint_url=choice.base_url or None,
        config=Config(
            signature_version=signature,
            retries={"total_max_attempts": 1, "mode": "standard"},
            # It would go through the whole history each time; the server checks it anyway.
            parameter_validation=False,
        ),
    )


@functools.cache
def _descriptions() -> Any:
    """The descriptions of Amazon's services: reading them again for each key of a pool would take its time."""
    from botocore.loaders import create_loader  # noqa: PLC0415
    from botocore.session import get_session  # noqa: PLC0415

    return create_loader(get_session().get_config_variable("data_path"))


def region_at(host: str, *, signed: bool) -> str | None:
    """The region of an address, else of the environment; None leaves it to Amazon's own settings."""
    found = _REGION.search(host)
    if found is not None:
        return found[1]
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    # Only the signature needs the region of a server that is named itself.
    return named or (_ANY_REGION if host and not signed else None)
