"""A provider for every wire protocol over HTTP: sends a request and reads the raw stream.

Without the vendors' SDKs: loading one takes longer than everything else that a prompt needs, their objects cost
twenty times what the few fields that matter cost, and they would check the whole history again at each request. Where
one of them has to send (`agent_core/providers/sdk`), it is a subclass of this provider that sends; all else is this.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.errors import (
    ProviderProtocolError,
    ProviderStatusError,
    TurnInterrupted,
)
from agent_core.providers.base import Finished, ModelRequest, StreamEvent
from agent_core.providers.choice import ModelChoice
from agent_core.providers.lessons import Lessons
from agent_core.providers.pieces import body_json, body_parts
from agent_core.providers.wire.failures import SdkErrors, failure_of, refused, reported_error, translated
from agent_core.providers.wire.joined_events import WholeCharacters, joined
from agent_core.providers.wire.protocol import Decoder, WireProtocol
from agent_core.providers.wire.sse import ErrorEvent, PieceTooLong, data_lines

if TYPE_CHECKING:
    import httpx2

    from agent_core.providers.wire.http import Abort

_LAST_READ_TIMEOUT = 0.5
# Once an answer has said why it ends, most often only its usage follows. Some servers say it early, and go on after a
# pause; others leave the connection open, and one that did is not waited for as long again.
_PAUSE_AT_END = 30.0
_SHORT_PAUSE_AT_END = 5.0
_LONGEST_PING = 200
_MOST_REFUSALS = 4
_JSON = "application/json"
_HEADERS = {"Accept": _JSON, "User-Agent": "hermes-acp"}


class HttpProvider:
    """The server of `choice`, asked in `protocol`. Implements `Provider`.

    Attributes:
        stream_type: the content type of a streamed answer.
        leaves_open: it has left an answer open whose end it had said.
    """

    stream_type = "text/event-stream"

    def __init__(self, choice: ModelChoice, protocol: WireProtocol, lessons: Lessons | None = None) -> None:
        self.name = choice.provider
        self.choice = choice
        self.lessons = lessons or Lessons()
        self.protocol = protocol
        self.leaves_open = False
        self._client: httpx2.Client | None = None
        self._lock = threading.Lock()

    def stream(self, request: ModelRequest) -> HttpStream:
        """Begin a request; it is sent when the stream is iterated."""
        return HttpStream(self, request)

    def client(self) -> httpx2.Client:
        """The client with its connections, made at first use.

        Raises:
            ProviderConnectionError: a proxy or a CA that is named cannot be used.
        """
        from agent_core.providers.wire.http import make_client  # noqa: PLC0415 - loads the HTTP library

        with self._lock:
            if self._client is None:
                self._client = make_client(base_url=self.choice.base_url)
            return self._client

    def warm(self) -> None:
        """Load the HTTP library and make the client."""
        import encodings.idna  # noqa: F401, PLC0415 - what looks up a server's name loads it then

        self.client()

    def rehearse(self, request: ModelRequest) -> None:
        """Convert the messages, and write them as JSON."""
        body_json(self.protocol.encode(request, self.lessons.adapted(self.choice, request.without)))

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def signed_in(self, choice: ModelChoice, abort: Abort) -> ModelChoice:  # noqa: ARG002 - for those that sign in
        """`choice` with the token of its sign-in; this provider has a key, or needs none."""
        return choice

    def send(self, request: ModelRequest, choice: ModelChoice) -> httpx2.Response:
        """The answer, its body unread.

        Raises:
            ProviderStatusError: the status is no success.
        """
        import httpx2  # noqa: PLC0415

        body = body_parts(self.protocol.encode(request, choice))
        headers = httpx2.Headers({**_HEADERS, **self.protocol.headers(choice)})
        length = str(sum(map(len, body)))
        headers.update({**dict(choice.headers), "Content-Type": _JSON, "Content-Length": length})
        client, url = self.client(), _url(self.protocol.address(choice.base_url))
        answer = client.send(client.build_request("POST", url, content=body, headers=headers), stream=True)
        if not answer.is_success:
            raise refused(choice, answer)
        return answer

    def pieces(self, answer: httpx2.Response, choice: ModelChoice) -> Iterator[bytes]:  # noqa: ARG002 - other streams
        """The answer's body as server-sent events, in pieces as they come."""
        from agent_core.providers.wire.tracked_stream import body_pieces  # noqa: PLC0415 - loads the HTTP library

        return body_pieces(answer)

    def sdk_errors(self) -> SdkErrors | None:
        """What a library between us and the HTTP library raises of its own."""
        return None


class HttpStream:
    """One streamed answer. Implements `ModelStream`."""

    def __init__(self, provider: HttpProvider, request: ModelRequest) -> None:
        self._provider = provider
        self._choice = provider.choice
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
        provider, learned, refusal = self._provider, list[str](), ""
        signed_in = provider.signed_in(provider.choice, abort)
        while True:
            self._choice = provider.lessons.adapted(signed_in, (*self._request.without, *learned))
            try:
                yield from self._answer(abort)
            except ProviderStatusError as problem:
                from agent_core.providers.wire.refused_fields import refused_field  # noqa: PLC0415 - few are

                # A refusal that stays the same was about something else.
                is_new = problem.body != refusal and len(learned) < _MOST_REFUSALS
                field = refused_field(self._choice, problem) if is_new else None
                if field is None:
                    raise
                refusal = problem.body
                learned.append(field)
            else:
                provider.lessons.keep(provider.choice, learned)
                return

    def _answer(self, abort: Abort) -> Iterator[StreamEvent]:
        decoder, characters = self._provider.protocol.decoder(self._choice), WholeCharacters()
        sdk, end = self._provider.sdk_errors(), Finished("oversized")
        with translated(self._choice, sdk), abort.watching(), contextlib.suppress(PieceTooLong):
            for payloads in self._payloads(abort, decoder):
                yield from characters.of(joined(self._events(decoder, payloads)))
            yield from characters.rest()
            end = decoder.last_event(self._choice)
        yield end

    def _events(self, decoder: Decoder, payloads: list[bytes]) -> Iterator[StreamEvent]:
        for data in payloads:
            if isinstance(data, ErrorEvent):
                raise reported_error(self._choice, failure_of(data.decode("utf-8", "replace"), is_error=True))
            yield from decoder.feed(data)

    def _begin(self) -> Abort:
        from agent_core.providers.wire.http import Abort  # noqa: PLC0415 - loads the HTTP library

        with self._lock:
            if self._closed:
                raise TurnInterrupted
            self._abort = Abort(patience=self._choice.stall_after)
            return self._abort

    def _payloads(self, abort: Abort, decoder: Decoder) -> Iterator[list[bytes]]:
        """What the server's events hold, as many at a time as have come."""
        import httpcore2  # noqa: PLC0415
        import httpx2  # noqa: PLC0415

        provider, choice = self._provider, self._choice
        response = provider.send(_within_limit(self._request, choice, provider.choice), choice)
        abort.heard()
        silent, stray = True, bytearray()
        try:
            for payloads in data_lines(provider.pieces(response, choice), stray):
                silent = False
                if not all(map(_is_ping, payloads)):
                    abort.heard()
                yield payloads
                abort.patience = self._patience(decoder)
        except (httpx2.TransportError, httpcore2.NetworkError, httpcore2.TimeoutException) as problem:
            if not decoder.is_whole:
                raise
            timed_out = isinstance(problem, httpx2.TimeoutException | httpcore2.TimeoutException)
            provider.leaves_open = provider.leaves_open or (timed_out and not decoder.done)
        finally:
            response.close()
        if decoder.finished is None:
            self._look_at(stray.decode("utf-8", "replace"), response.headers.get("content-type", ""), silent=silent)

    def _patience(self, decoder: Decoder) -> float:
        """Seconds that the next event may take.

        The end of the body is read, so that the connection can serve the next request; but it is not waited for.
        """
        if decoder.done:
            return _LAST_READ_TIMEOUT
        if not decoder.is_whole:
            return self._choice.stall_after
        return min(self._choice.stall_after, _SHORT_PAUSE_AT_END if self._provider.leaves_open else _PAUSE_AT_END)

    def _look_at(self, stray: str, kind: str, *, silent: bool) -> None:
        """Look for the reason why an answer has no end in what came between its events.

        Raises:
            ProviderStatusError: the server says it there.
            ProviderProtocolError: the body is no stream of events.
        """
        if (failure := failure_of(stray, is_error=False)) is not None:
            raise reported_error(self._choice, failure)
        if silent and not kind.startswith(self._provider.stream_type):
            raise self._no_stream(kind or "nothing")

    def _no_stream(self, kind: str) -> ProviderProtocolError:
        return ProviderProtocolError(
            f"{self._choice.endpoint} did not answer with a stream of events but with {kind}.",
            f"Check that model.base_url is the address of a server that speaks {self._provider.protocol.name} (it "
            "often ends in /v1).",
        )


@functools.lru_cache(maxsize=16)
def _url(address: str) -> httpx2.URL:
    """The address as the library wants it: it would read a text anew, twice for each request."""
    import httpx2  # noqa: PLC0415

    return httpx2.URL(address)


def _within_limit(request: ModelRequest, choice: ModelChoice, unlearned: ModelChoice) -> ModelRequest:
    """The request, with no longer answer than a refusal taught that the server gives."""
    most = choice.facts.max_output
    learned = (choice.max_tokens, most) != (unlearned.max_tokens, unlearned.facts.max_output)
    if request.max_tokens is None or most is None or not learned:
        return request
    return replace(request, max_tokens=min(request.max_tokens, most))


def _is_ping(payload: bytes) -> bool:
    """Whether an event only keeps the connection open."""
    return len(payload) <= _LONGEST_PING and b'"ping"' in payload
