"""Amazon Bedrock's Converse protocol, streamed. Needs the extra `bedrock`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agent_core.errors import TurnInterrupted
from agent_core.providers.base import Finished, ModelRequest, StreamEvent
from agent_core.providers.choice import ModelChoice
from agent_core.providers.lessons import Lessons
from agent_core.providers.wire.bedrock_client import BedrockClient, amazon_errors, check_installed
from agent_core.providers.wire.bedrock_events import ConverseDecoder
from agent_core.providers.wire.bedrock_messages import to_converse
from agent_core.providers.wire.event_stream import messages
from agent_core.providers.wire.failures import translated
from agent_core.providers.wire.joined_events import WholeCharacters
from agent_core.providers.wire.sse import PieceTooLong

if TYPE_CHECKING:
    from agent_core.providers.wire.http import Abort

_LAST_READ_TIMEOUT = 0.5


class BedrockProvider:
    """Bedrock in the region of `choice`. Implements `Provider`."""

    def __init__(self, choice: ModelChoice, lessons: Lessons | None = None) -> None:
        check_installed()
        self.name = choice.provider
        self.choice = choice
        self.lessons = lessons or Lessons()
        self._client: BedrockClient | None = None
        self._lock = threading.Lock()

    def stream(self, request: ModelRequest) -> BedrockStream:
        """Begin a request; it is sent when the stream is iterated."""
        return BedrockStream(self, request)

    def client(self) -> BedrockClient:
        """Amazon's client, made at first use.

        Raises:
            SettingsError: it is not installed, or there is no region.
        """
        with self._lock:
            if self._client is None:
                self._client = BedrockClient(self.choice)
            return self._client

    def warm(self) -> None:
        """Load Amazon's client and look for credentials."""
        self.client()

    def rehearse(self, request: ModelRequest) -> None:
        """Nothing can be made ahead: Amazon's library writes requests."""

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


class BedrockStream:
    """One streamed answer. Implements `ModelStream`.

    `close` ends everything but the look-up of credentials, which is Amazon's own and takes seconds at most; after
    that nothing is sent any more.
    """

    def __init__(self, provider: BedrockProvider, request: ModelRequest) -> None:
        self._provider = provider
        self._choice = provider.lessons.adapted(provider.choice, request.without)
        self._request = request
        self._lock = threading.Lock()
        self._abort: Abort | None = None
        self._closed = False

    def close(self) -> None:
        """Give the answer up; a blocked read ends at once."""
        with self._lock:
            self._closed = True
            abort = self._abort
        if abort is not None:
            abort.abort()

    def __iter__(self) -> Iterator[StreamEvent]:
        abort = self._begin()
        decoder, characters = ConverseDecoder(self._choice), WholeCharacters()
        end = Finished("oversized")
        with translated(self._choice, amazon_errors()), abort.watching(), contextlib.suppress(PieceTooLong):
            for message in self._messages(abort, decoder):
                yield from characters.of(decoder.feed(message.headers, message.payload))
            yield from characters.rest()
            end = decoder.last_event(self._choice)
        yield end

    def _begin(self) -> Abort:
        check_installed()
        from agent_core.providers.wire.http import Abort  # noqa: PLC0415 - loads the HTTP library

        with self._lock:
            if self._closed:
                raise TurnInterrupted
            self._abort = Abort(patience=self._choice.stall_after)
            return self._abort

    def _messages(self, abort: Abort, decoder: ConverseDecoder) -> Iterator[Any]:
        import httpx2  # noqa: PLC0415

        answer = self._provider.client().converse(to_converse(self._request, self._choice))
        abort.heard()
        try:
            for message in messages(answer.iter_bytes(), self._choice):
                abort.heard()
                yield message
                if decoder.done:
                    # Read on to the end of the body: only then can the connection serve the next request. But the
                    # answer is complete, so that an end that does not come is not waited for.
                    abort.patience = _LAST_READ_TIMEOUT
        except httpx2.TransportError:
            if not decoder.is_whole:
                raise
        finally:
            answer.close()
