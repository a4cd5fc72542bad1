"""A model server asked over HTTP: the request, and the events of its answer."""

from __future__ import annotations

import contextlib
import encodings.idna  # noqa: F401 - what looks up a server's name would load it with the first request
import functools
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import httpcore2
import httpx2

from agent_core.errors import ProviderError, ProviderProtocolError, ProviderStatusError, TurnInterrupted
from agent_core.providers.base import (
    Finished,
    ModelRequest,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
)
from agent_core.providers.choice import ModelChoice
from agent_core.providers.lessons import Lessons, refused_field
from agent_core.providers.protocol import Decoder, WireProtocol
from agent_core.providers.transport import Abort, body_pieces, make_client
from agent_core.providers.transport_errors import SdkErrors, failure_of, refused, reported_error, translated
from tools import quick_json
from tools.quick_json import whole_text

# Server-sent events as the WHATWG standard has them: what each holds.
# Source: html.spec.whatwg.org/multipage/server-sent-events.html. Two things are more lenient than the standard: an
# event counts if only its empty line is missing at the body's end, and JSON objects on lines of their own are events
# of their own, for servers that forget the empty line between them.

DONE = b"[DONE]"
LONGEST_PIECE = 8 * 1024 * 1024
"""Bytes that one event of an answer may have; models send a word or a picture at a time."""
_BOM = b"\xef\xbb\xbf"
_MOST_STRAY = 64 * 1024
_FIELDS = (b"data", b"event", b"id", b"retry")


class PieceTooLong(Exception):
    """One event of an answer is longer than any is read."""


class ErrorEvent(bytes):
    """What an event holds that the server calls an error."""


def data_lines(pieces: Iterable[bytes], stray: bytearray | None = None) -> Iterator[list[bytes]]:
    """What the events hold that each piece of the body completes, where it completes any; empty ones are left out.

    `[DONE]` is among them: the caller looks for `DONE`.

    Args:
        stray: takes the lines that are no part of any event, as those of a body that is no stream of events.

    Raises:
        PieceTooLong: an event has more than `LONGEST_PIECE` bytes.
    """
    reader = _EventReader(bytearray() if stray is None else stray)
    for lines in _lines(pieces):
        for line in lines:
            reader.read(line)
        if reader.complete:
            yield reader.complete
            reader.complete = []
    reader.read(b"")
    if whole := [event for event in reader.complete if event.endswith(b"}") or not event.startswith(b"{")]:
        yield whole


class _EventReader:
    """Makes events of lines. `complete` holds what they have."""

    def __init__(self, stray: bytearray) -> None:
        self.complete: list[bytes] = []
        self._stray = stray
        self._data: list[bytes] = []
        self._size = 0
        self._is_error = False

    def read(self, line: bytes) -> None:
        """Take a line; an empty one ends an event."""
        if line.startswith(b"data:"):
            self._data.append(line[5:])
            self._size += len(line)
            if self._size > LONGEST_PIECE:
                raise PieceTooLong
        elif not line:
            self._end()
        elif not line.startswith(b":"):
            self._field(line)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"event":
            self._is_error = value.strip().lower().endswith((b"error", b"exception"))
        elif name == b"data":
            self._data.append(b"")
        elif len(self._stray) < _MOST_STRAY and not any(field.startswith(name) for field in _FIELDS):
            self._stray += line[:_MOST_STRAY] + b"\n"

    def _end(self) -> None:
        data, self._data, self._size = self._data, [], 0
        is_error, self._is_error = self._is_error, False
        if is_error and data:
            self.complete.append(ErrorEvent(b"\n".join(data).strip()))
        elif len(data) == 1:
            if only := data[0].strip():
                self.complete.append(only)
        elif data:
            self.complete += _events_of([line.strip() for line in data])


def _events_of(lines: list[bytes]) -> list[bytes]:
    """What several lines of data hold: one event, or one a line where each is an object of its own."""
    filled = [line for line in lines if line]
    if all(line == DONE or (line.startswith(b"{") and line.endswith(b"}")) for line in filled):
        return filled
    return [b"\n".join(lines).strip()]


def _lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines that each piece completes. They end with LF, CR, or both."""
    pending: list[bytes] = []
    waiting = 0
    is_first, ends_with_return = True, False
    for piece in pieces:
        if ends_with_return and piece:
            piece = piece.removeprefix(b"\n")  # noqa: PLW2901 - the other half of a line's end
            ends_with_return = False
        if b"\r" in piece:
            ends_with_return = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # noqa: PLW2901
        if b"\n" not in piece:
            pending.append(piece)
            waiting += len(piece)
            if waiting > LONGEST_PIECE:
                raise PieceTooLong
            continue
        *lines, rest = b"".join((*pending, piece)).split(b"\n")
        pending, waiting = [rest], len(rest)
        if is_first:
            lines[0] = lines[0].removeprefix(_BOM)
            is_first = False
        yield lines
    last = b"".join(pending)
    yield [last.removeprefix(_BOM) if is_first else last]


# Text that came at once is one event: what is done for an event costs the same for one word as for a hundred.
# And a character that came in two events is one: servers that write JSON with escapes cut emoji between their halves.

_Text = TextDelta | ReasoningDelta | ToolCallArguments
_LONE = "\ufffd"


def joined(events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
    """The same with neighbours that continue each other as one. `events` must not wait for anything.

    Raises:
        ProviderError: `events` ended with it; what came before is given first.
    """
    taken: list[StreamEvent] = []
    failure: ProviderError | None = None
    try:
        for event in events:
            taken.append(event)  # noqa: PERF402 - what came before a failure counts
    except ProviderError as problem:
        failure = problem
    if len(taken) < 2:  # noqa: PLR2004 - most often: a model is slower than we are
        yield from taken
    else:
        for kind, alike in groupby(taken, _kind):
            if kind is None:
                yield from alike
            else:
                yield _one(list(alike))
    if failure is not None:
        raise failure


class WholeCharacters:
    """Joins the halves of surrogate pairs over all of an answer's events; what stays alone becomes U+FFFD."""

    def __init__(self) -> None:
        self._held: dict[object, _Text] = {}

    def of(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """The same events; the first half of a pair waits for the one that goes on with its text."""
        for event in events:
            if isinstance(event, TextDelta | ReasoningDelta | ToolCallArguments):
                if self._held or not event.text.isascii():
                    yield from self._text(event)
                else:
                    yield event
            else:
                if self._held and isinstance(event, ToolCallStarted):
                    yield from self._given_up(TextDelta, ReasoningDelta)
                yield event

    def rest(self) -> Iterator[StreamEvent]:
        """What waits in vain, once the answer has ended."""
        yield from self._given_up(*self._held)

    def _text(self, event: _Text) -> Iterator[StreamEvent]:
        kind = _kind(event)
        if not isinstance(event, ToolCallArguments):
            yield from self._given_up(TextDelta if kind is ReasoningDelta else ReasoningDelta)
        held = self._held.pop(kind, None)
        text = event.text if held is None else held.text + event.text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held[kind] = replace(event, text=text[-1])
            text = text[:-1]
        if text:
            yield replace(event, text=whole_text(text))

    def _given_up(self, *kinds: object) -> Iterator[StreamEvent]:
        for kind in kinds:
            if (held := self._held.pop(kind, None)) is not None:
                yield replace(held, text=_LONE)


def character_count(piece: str) -> int:
    """How many characters a piece of text has or begins: second halves of surrogate pairs are none of their own."""
    return len(piece) if piece.isascii() else sum(not "\udc00" <= char <= "\udfff" for char in piece)


def _kind(event: StreamEvent) -> object:
    """The same for events that continue each other; None for those that stand alone."""
    kind = type(event)
    if kind is TextDelta or kind is ReasoningDelta:
        return kind
    return event.index if isinstance(event, ToolCallArguments) else None


def _one(alike: list[StreamEvent]) -> StreamEvent:
    first = alike[0]
    if len(alike) == 1 or not isinstance(first, TextDelta | ReasoningDelta | ToolCallArguments):
        return first
    return replace(first, text="".join([event.text for event in alike if isinstance(event, type(first))]))


# A provider for every wire protocol over HTTP: sends a request and reads the raw stream.
# Without the vendors' SDKs: loading one takes longer than everything else that a prompt needs, their objects cost
# twenty times what the few fields that matter cost, and they would check the whole history again at each request.
# Where one of them has to send, `sdk_provider.SdkProvider` does; all else is this.

LAST_READ_TIMEOUT = 0.5
# Once an answer has said why it ends, most often only its usage follows. Some servers say it early, and go on after a
# pause; others leave the connection open, and one that did is not waited for as long again.
_PAUSE_AT_END = 30.0
_SHORT_PAUSE_AT_END = 5.0
_LONGEST_PING = 200
_MOST_REFUSALS = 4
_JSON = "application/json"
_HEADERS = {"Accept": _JSON, "User-Agent": "hermes-acp"}


def body_json(body: Mapping[str, Any]) -> bytes:
    """A request's body as JSON in UTF-8, without white space."""
    try:
        return quick_json.dumps(body)
    except ValueError:  # lone surrogates have no UTF-8
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


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
        with self._lock:
            if self._client is None:
                self._client = make_client(base_url=self.choice.base_url)
            return self._client

    def warm(self) -> None:
        """Load the HTTP library and make the client."""
        self.client()

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
        body = body_json(self.protocol.encode(request, choice))
        headers = httpx2.Headers({**_HEADERS, **self.protocol.headers(choice)})
        headers.update({**dict(choice.headers), "Content-Type": _JSON})
        client, url = self.client(), _url(self.protocol.address(choice.base_url))
        answer = client.send(client.build_request("POST", url, content=body, headers=headers), stream=True)
        if not answer.is_success:
            raise refused(choice, answer)
        return answer

    def pieces(self, answer: httpx2.Response, choice: ModelChoice) -> Iterator[bytes]:  # noqa: ARG002 - other streams
        """The answer's body as server-sent events, in pieces as they come."""
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
        abort = Abort(patience=self._choice.stall_after)
        with self._lock:
            if self._closed:
                raise TurnInterrupted
            self._abort = abort
        provider, learned, refusal = self._provider, list[str](), ""
        signed_in = provider.signed_in(provider.choice, abort)
        while True:
            self._choice = provider.lessons.adapted(signed_in, (*self._request.without, *learned))
            try:
                yield from self._answer(abort)
            except ProviderStatusError as problem:
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

    def _payloads(self, abort: Abort, decoder: Decoder) -> Iterator[list[bytes]]:
        """What the server's events hold, as many at a time as have come."""
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
            return LAST_READ_TIMEOUT
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
