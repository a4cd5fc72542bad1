"""A provider whose requests are sent by a vendor's SDK. The answers are read as our own HTTP's are."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent_core.errors import ProviderProtocolError
from agent_core.providers.base import ModelRequest
from agent_core.providers.bedrock_client import CONTENT_TYPE, error_in, messages
from agent_core.providers.choice import ModelChoice
from agent_core.providers.http_provider import HttpProvider
from agent_core.providers.lessons import Lessons
from agent_core.providers.protocol import WireProtocol
from agent_core.providers.sdk.clients import build_request, check_package, make_client, sdk_errors, send
from agent_core.providers.sdk.sign_ins import Access, sign_in_for, wait_for_access
from agent_core.providers.transport_errors import SdkErrors, refused

if TYPE_CHECKING:
    import httpx2

    from agent_core.providers.sdk.clients import Client
    from agent_core.providers.transport import Abort


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
        from agent_core.providers.transport import make_client as make_http  # noqa: PLC0415 - loads the HTTP library

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
