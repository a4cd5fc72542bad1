"""Opens the connection to one server, closes it with all that belongs to it, and says why it could not be opened."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core.mcp.specs import (
    Certificates,
    McpFailure,
    McpHopeless,
    McpLimits,
    McpServerFault,
    McpSessionEnded,
    ServerSpec,
)
from agent_core.mcp.stdio import Child, WatchedStream, child_streams, too_long
from tools.environments.guardian import Guardian
from tools.light_dataclass import dataclass
from tools.text.terminal_output import plain_text
from tools.untrusted.invisible import without_controls

if TYPE_CHECKING:
    import httpx2

    from agent_core.mcp.oauth import ServerTokens


# Why a server could not be reached, in words for the person.

_TAIL_LINES = 8
_TAIL_CHARS = 1_000
_SAID_CHARS = 300
_MOST_NOISE = 5
CLOSED = "It closed the connection."
_ENDS = frozenset({CLOSED, "Connection closed"})  # ours, and the SDK's
UNAUTHORIZED = 401
_SIGN_IN = frozenset({UNAUTHORIZED, 403})
_NO_SERVER = frozenset({400, 404, 405, 406, 410})
_NO_USE = frozenset({"InvalidURL", "UnsupportedProtocol", "LocalProtocolError"})
_REFUSAL = "MCPError"  # by its name: this is loaded without the SDK


@dataclass(slots=True)
class Heard:
    """What was noticed of a connection beside its messages.

    Attributes:
        status, content_type: of the last HTTP answer that was an error or no message; 0 and '' without one.
        noise: lines that a process wrote among its messages.
        last_words: the end of its standard error.
        ended: how its process ended, '' while it has not.
    """

    status: int = 0
    content_type: str = ""
    noise: list[str] = field(default_factory=list)
    last_words: str = ""
    ended: str = ""

    def add_noise(self, line: str) -> None:
        """Keep a line that is no message, if it is one of the first."""
        if line.strip() and len(self.noise) < _MOST_NOISE:
            self.noise.append(line.strip())


def in_words(problem: BaseException, spec: ServerSpec, heard: Heard) -> str:
    """What happened and what to do: a sentence or two, without secrets."""
    text = _process(problem, spec, heard) if spec.transport == "stdio" else _network(problem, spec, heard)
    return spec.hide(text)


def is_lasting(problem: BaseException, spec: ServerSpec, heard: Heard, *, was_there: bool) -> bool:
    """Whether it would be the same the next time.

    Args:
        was_there: it was connected before; then only a sign-in is missing for long.
    """
    if any(isinstance(cause, McpHopeless) for cause in causes(problem)):
        return True
    if spec.transport == "stdio":
        return False
    found = tuple(causes(problem))
    if heard.status in _SIGN_IN or {type(cause).__name__ for cause in found} & _NO_USE:
        return True
    # What cannot be written as a header or a message today cannot be tomorrow.
    if any(isinstance(cause, UnicodeEncodeError) for cause in found):
        return True
    # An answer that means nothing; but what is wrong with a certificate is a ValueError, too.
    is_odd = any(isinstance(cause, ValueError | TypeError) for cause in found)
    is_odd = is_odd and not any(isinstance(cause, OSError) for cause in found)
    return not was_there and (heard.status in _NO_SERVER or bool(heard.content_type) or is_odd)


def quoted(words: str, most: int = _SAID_CHARS) -> str:
    """A server's own words, on one line and with a full stop, so that nobody takes them for ours.

    What is secret in them has to be hidden before: of what is cut, a part would not be found any more.

    Args:
        most: characters that are shown of them.
    """
    line = " ".join(without_controls(plain_text(words)).split())
    return _in_quotes(line if len(line) <= most else f"{line[:most].rstrip()}…")


def ended(text: str) -> str:
    """`text` with a full stop, where it has no end of its own."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def causes(problem: BaseException) -> Iterator[BaseException]:
    """The problem, what is in it when it is a group, and what it came from."""
    seen: set[int] = set()
    waiting = [problem]
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, BaseExceptionGroup):
            waiting.extend(found.exceptions)
        # What we know of an answer travels within the SDK's error.
        if isinstance(known := getattr(found, "data", None), McpFailure):
            waiting.append(known)
        waiting.extend(cause for cause in (found.__cause__, found.__context__) if cause is not None)


def _process(problem: BaseException, spec: ServerSpec, heard: Heard) -> str:
    parts = [] if heard.ended and _is_end(problem) else [_reason(problem, spec)]
    if heard.ended:
        parts.append(f"Its process {heard.ended}.")
    if heard.last_words:
        parts.append(f"It wrote: {_tail(spec.hide(heard.last_words))}")
    elif heard.noise:
        noise = spec.hide(" / ".join(heard.noise))
        parts.append(f"It wrote what is no MCP message: {quoted(noise, _TAIL_CHARS)}")
    return " ".join(parts)


def _network(problem: BaseException, spec: ServerSpec, heard: Heard) -> str:
    place = spec.place()
    for cause in causes(problem):
        # The SDK closes the connection where a sign-in is refused, and keeps the reason to itself. What a status
        # means for a call is worded otherwise for the server.
        is_told_below = isinstance(cause, McpServerFault) or (str(cause) == CLOSED and heard.status in _SIGN_IN)
        if isinstance(cause, McpFailure) and not is_told_below:
            return str(cause)
        if isinstance(cause, ssl.SSLError) or "SSL" in str(cause):
            why = _short(cause, spec)
            return f"The connection to {place} is not trusted ({why}). Check its certificate and the clock."
    kinds = {type(cause).__name__ for cause in causes(problem)}
    if kinds & {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"}:
        return f"{place} could not be reached ({_short(problem, spec)}). Check the address, and that the server runs."
    if heard.status:
        return http_answer(place, heard.status)
    if heard.content_type:
        return f"{place} is no MCP server: it answered with {heard.content_type}. Check the address and the kind."
    if kinds & _NO_USE:
        return f"{place} cannot be asked ({_short(problem, spec)}). Check the address and the headers."
    return f"The connection to {place} failed. {_reason(problem, spec)}"


def http_answer(place: str, status: int) -> str:
    """What it means that a server refuses to be connected to."""
    if status in _SIGN_IN:
        is_missing = status == UNAUTHORIZED
        what = f"needs a sign-in (HTTP {status})" if is_missing else f"does not let this sign-in in (HTTP {status})"
        return (
            f"{place} {what}. Run `hermes-acp mcp login {place}` in a terminal, or give it a valid Authorization "
            "header in the settings."
        )
    if status in {404, 405, 406, 410}:
        return f"{place} is no MCP server of this kind (HTTP {status}). Check the address, and http or sse."
    return f"{place} answered with HTTP {status}. Try again later, or ask whoever runs it."


def _reason(problem: BaseException, spec: ServerSpec) -> str:
    for cause in causes(problem):
        if isinstance(cause, McpFailure):
            return str(cause)
    if any(isinstance(cause, TimeoutError) for cause in causes(problem)):
        return "It did not answer in time."
    if _is_end(problem):
        return CLOSED
    if refused := next((cause for cause in causes(problem) if type(cause).__name__ == _REFUSAL), None):
        return f"It refused the connection. The server said: {quoted(spec.hide(str(refused)))}"
    return f"What went wrong: {quoted(spec.hide(_innermost(problem)))}"


def _is_end(problem: BaseException) -> bool:
    return any(str(cause) in _ENDS for cause in causes(problem))


def _innermost(problem: BaseException) -> str:
    found = [cause for cause in causes(problem) if not isinstance(cause, BaseExceptionGroup)]
    last = next((cause for cause in reversed(found) if str(cause)), problem)
    return (str(last).splitlines() or [""])[0].rstrip(".") or type(last).__name__


def _short(problem: BaseException, spec: ServerSpec) -> str:
    return spec.hide(_innermost(problem))[:_SAID_CHARS]


def _tail(text: str) -> str:
    """The last lines of what a process wrote, in quotes."""
    lines = [line.rstrip() for line in plain_text(text).splitlines() if line.strip()]
    shown = "\n".join(lines[-_TAIL_LINES:])
    return _in_quotes(shown if len(shown) <= _TAIL_CHARS else f"…{shown[-_TAIL_CHARS:]}")


def _in_quotes(words: str) -> str:
    # Quotes of its own must not end ours.
    return f"«{words.replace('«', '‹').replace('»', '›')}»."


# What a server of the network means by the HTTP status with which it refuses a request. The SDK gives the caller what
# the body says, or words of its own, and keeps the status to itself.

_SESSION = "mcp-session-id"
_MOST_COMING = 1_000
_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 400, 403, 404, 429, 500
# What the SDK says where the body says nothing.
_STAND_INS = frozenset({"Server returned an error response", "Session terminated", "Not Found"})
# Servers made after the examples of the TypeScript SDK refuse a session that they do not know with 400.
_NOT_KNOWN = r"\b(?:no|not|unknown|invalid|missing|expired|terminated)\b"
_NO_SESSION = re.compile(rf"{_NOT_KNOWN}.*\bsession\b|\bsession\b.*{_NOT_KNOWN}", re.IGNORECASE)


class HttpRefusals:
    """The answers of a connection that are on their way: which are refusals, and of which requests."""

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._coming: dict[Any, httpx2.Response] = {}

    def note(self, response: httpx2.Response) -> None:
        """A request has its answer; one that was refused may be sent again, with another sign-in."""
        try:
            request = json.loads(response.request.content).get("id")
        except (ValueError, AttributeError):  # it is no message: that of a sign-in
            return
        if request is not None:
            self._coming[request] = response
            if len(self._coming) > _MOST_COMING:  # nobody waits any more for the oldest
                del self._coming[next(iter(self._coming))]

    def explained(self, item: Any) -> Any:
        """What a transport of the SDK passes on, with what the status means in its error's `data`."""
        from mcp_types import JSONRPCError, JSONRPCResponse  # noqa: PLC0415 - loaded with the SDK

        message = getattr(item, "message", None)
        if not isinstance(message, JSONRPCError | JSONRPCResponse):
            return item
        if message.id not in self._coming and len(whole := [*filter(self._is_whole, self._coming)]) == 1:
            message.id = whole[0]  # it names none, or another, and is the answer all the same
        response = self._coming.pop(message.id, None)
        if response is None or response.status_code < _BAD_REQUEST or not isinstance(message, JSONRPCError):
            return item
        words = "" if message.error.message in _STAND_INS else message.error.message
        message.error.data = self.meaning(response, words) or message.error.data
        return item

    def _is_whole(self, request: Any) -> bool:
        """Whether its answer is one message, and no stream of them, in which the SDK sees to the ids."""
        return str(self._coming[request].headers.get("content-type", "")).startswith("application/json")

    def meaning(self, response: httpx2.Response, words: str = "") -> McpFailure | None:
        """What a refusal means; None for one that the server explains with an error of the protocol.

        Args:
            words: the server's own.
        """
        status, has_session = response.status_code, _SESSION in response.request.headers
        if has_session and (status == _NOT_FOUND or (status == _BAD_REQUEST and _is_of_session(response, words))):
            return McpSessionEnded(f"It does not know the session any more (HTTP {status}), as after a restart.")
        if status == UNAUTHORIZED:
            return McpHopeless(http_answer(self._spec.place(), status))
        if status in {_FORBIDDEN, _TOO_MANY} or status >= _SERVER_ERROR:
            return McpServerFault(_what(status, response.headers.get("retry-after", "")), words)
        return None if words else McpServerFault(f"It answered with HTTP {status}, and did not say why.")


def _is_of_session(response: httpx2.Response, words: str) -> bool:
    """Whether the session is refused, and not what was asked in it: then the request's id was not looked at."""
    if not _NO_SESSION.search(words):
        return False
    try:
        told, asked = json.loads(response.content), json.loads(response.request.content)
    except (ValueError, RuntimeError):  # it is no JSON, or was not read
        return True
    return not isinstance(told, dict) or told.get("id") != asked.get("id")


def _what(status: int, wait: str) -> str:
    if status == _FORBIDDEN:
        return "It does not allow this (HTTP 403). Check what the account or the key that is used may do."
    again = f"Try again in {wait} s." if wait.isascii() and wait.isdecimal() else "Try again later."
    if status == _TOO_MANY:
        return f"It takes no more requests now (HTTP 429). {again}"
    return f"It failed (HTTP {status}): the error is the server's. {again}"


# Whom we trust at a server of the network, and who we are there, where the settings say so.


def trust_of(certificates: Certificates) -> ssl.SSLContext | None:
    """What a connection is made with; None where nothing is set. It reads files, so it may block.

    Raises:
        McpHopeless: a file cannot be used.
    """
    if not (certificates.ca_file or certificates.client_cert or certificates.client_key):
        return None
    if not certificates.client_cert and certificates.client_key:
        raise McpHopeless("It has a client_key without a client_cert. Set both in mcp_servers.")
    import httpx2  # noqa: PLC0415 - loaded with the SDK

    context = httpx2.create_ssl_context()
    if certificates.ca_file:
        try:
            context.load_verify_locations(certificates.ca_file)
        except OSError as problem:
            raise _unusable("ca_file", certificates.ca_file, problem) from problem
    if certificates.client_cert:
        try:
            # Without an answer of ours OpenSSL would ask at the terminal for the key's password.
            context.load_cert_chain(certificates.client_cert, certificates.client_key or None, password=str)
        except OSError as problem:
            names = " and ".join(filter(None, (certificates.client_cert, certificates.client_key)))
            raise _unusable("client_cert", names, problem) from problem
    return context


def _unusable(key: str, path: str, problem: OSError) -> McpHopeless:
    why = problem.strerror or str(problem)
    if isinstance(problem, ssl.SSLError):
        why = f"it is no such file in PEM form, or its key has a password ({problem.reason or why})"
    return McpHopeless(f"Its {key} {path} cannot be used: {why}. Correct it in mcp_servers.")


# Opening and closing.

_DRAIN_SECONDS = 1.0
_EXIT_SECONDS = 0.5
_HTTP_ERROR = 400
_BLANK, _DELETE = 0x20, 0x7F
_MESSAGES = frozenset({"", "application/json", "text/event-stream"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What servers run in: the directory, who guards their processes, our variables (filtered before use).

    Attributes:
        roots: the session's directories, which servers are told of.
        samples: there is a model that servers could ask.
        tokens: the sign-ins that are stored; None where none are.
        auth: authorizes requests to a server, in place of those.
    """

    cwd: Path
    guardian: Guardian
    variables: Mapping[str, str]
    limits: McpLimits
    roots: tuple[Path, ...] = ()
    samples: bool = False
    tokens: ServerTokens | None = None
    auth: Callable[[ServerSpec], httpx2.Auth | None] | None = None


def _set(event: asyncio.Event) -> asyncio.Event:
    event.set()
    return event


@dataclass(slots=True)
class Line:
    """What one connection is made of.

    Attributes:
        over: set when nothing more comes from the server.
        failure: why we gave up on it, if it was us.
        child: its process, for stdio.
        loaded: called when all is ready on our side, and only the server is waited for.
        explain: what becomes of each message from the server.
        idle: set when no call waits for an answer.
    """

    heard: Heard = field(default_factory=Heard)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    failure: McpFailure | None = None
    child: Child | None = None
    loaded: Callable[[], None] = lambda: None
    explain: Callable[[Any], Any] = lambda message: message
    idle: asyncio.Event = field(default_factory=lambda: _set(asyncio.Event()))
    _calls: int = 0

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A call waits for its answer."""
        self._calls += 1
        self.idle.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self.idle.set()

    def give_up(self, failure: McpFailure) -> None:
        """Nothing more is wanted of the server; what follows from that is no other reason."""
        self.failure = self.failure or failure
        self.over.set()


@asynccontextmanager
async def connected(spec: ServerSpec, around: Surroundings, line: Line) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a transport to the server; at the end its process is gone.

    `line` is filled while the connection is open, and knows afterwards how it ended.

    Raises:
        McpFailure: its program could not be started.
        Exception: whatever the SDK raises; `in_words` tells it.
    """
    opening = _over_pipes if spec.transport == "stdio" else _over_network
    async with opening(spec, around, line) as (incoming, outgoing):
        yield WatchedStream(incoming, line.over.set, line.explain), outgoing


async def load_sdk() -> None:
    """Import the SDK: one to two seconds of this thread, the first time."""
    # Servers that were asked for together first start their processes, which then load at the same time.
    await asyncio.sleep(0)
    from agent_core.light_models import light_models  # noqa: PLC0415 - loads pydantic

    with light_models():
        importlib.import_module("mcp")


@asynccontextmanager
async def _over_pipes(spec: ServerSpec, around: Surroundings, line: Line) -> AsyncIterator[tuple[Any, Any]]:
    # Not the workspace unless the user says so: package runners take packages and registries from where they stand.
    cwd = around.cwd / spec.cwd if spec.cwd else Path.home()
    line.child = child = await Child.start(spec, cwd, around.guardian, around.variables)
    watch = asyncio.create_task(_watch(child, line))
    try:
        await load_sdk()
        line.loaded()
        async with child_streams(child, around.limits.message_bytes, line.give_up, line.heard.add_noise) as streams:
            yield streams
    finally:
        watch.cancel()
        # One that ended its output is about to exit.
        had_exited = await child.exits_in(_EXIT_SECONDS) if line.over.is_set() else child.exited.is_set()
        await child.end(around.limits.close_seconds)
        line.heard.last_words = child.last_words()
        line.heard.ended = child.ended_how() if had_exited else ""


async def _watch(child: Child, line: Line) -> None:
    await child.exited.wait()
    # Its output normally ends now; a process that it has set free may hold it open.
    await asyncio.sleep(_DRAIN_SECONDS)
    line.over.set()


@asynccontextmanager
async def _over_network(spec: ServerSpec, around: Surroundings, line: Line) -> AsyncIterator[tuple[Any, Any]]:
    await load_sdk()
    auth = await _authorization(spec, around)
    trust = await asyncio.to_thread(trust_of, spec.certificates)
    line.loaded()
    if spec.transport == "sse":
        from mcp.client.sse import sse_client  # noqa: PLC0415 - loaded with the SDK

        def make(
            headers: dict[str, str] | None = None,  # noqa: ARG001 - ours are used
            timeout: httpx2.Timeout | None = None,  # noqa: ARG001
            auth: httpx2.Auth | None = auth,
        ) -> httpx2.AsyncClient:
            return _client(spec, line, around.limits, auth, trust)

        async with sse_client(spec.url, httpx_client_factory=make, auth=auth) as (incoming, outgoing):
            yield incoming, outgoing
        return
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    async with (
        _client(spec, line, around.limits, auth, trust) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=around.limits.message_bytes) as (
            incoming,
            outgoing,
        ),
    ):
        yield incoming, outgoing


async def _authorization(spec: ServerSpec, around: Surroundings) -> httpx2.Auth | None:
    if around.auth is not None:
        return around.auth(spec)
    if around.tokens is None:
        return None
    from agent_core.mcp.oauth import stored_auth  # noqa: PLC0415 - loaded with the SDK

    return await asyncio.to_thread(stored_auth, spec, around.tokens)


def _client(
    spec: ServerSpec, line: Line, limits: McpLimits, auth: httpx2.Auth | None, trust: ssl.SSLContext | None
) -> httpx2.AsyncClient:
    import httpx2  # noqa: PLC0415 - loaded with the SDK

    from agent_core.mcp.http import BoundedBody  # noqa: PLC0415
    from agent_core.providers.transport import trusted_certificates  # noqa: PLC0415

    heard, refusals = line.heard, HttpRefusals(spec)
    line.explain = refusals.explained

    def is_too_long() -> None:
        line.give_up(too_long(limits.message_bytes))

    async def note(response: httpx2.Response) -> None:
        told = response.headers.get("content-type", "")
        # Of a stream of events each is bounded, and it has no end.
        if not told.startswith("text/event-stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = BoundedBody(response.stream, limits.message_bytes, is_too_long)
        # The streamable kind's GET and DELETE are extras that a server may refuse.
        if spec.transport == "http" and response.request.method != "POST":
            return
        kind = told.partition(";")[0].strip().lower()
        heard.status = response.status_code if response.status_code >= _HTTP_ERROR else 0
        heard.content_type = "" if heard.status or kind in _MESSAGES or not response.is_success else kind
        if spec.transport == "http":
            refusals.note(response)
        elif heard.status and response.request.method == "POST" and not (auth and heard.status == UNAUTHORIZED):
            # The SDK sends nothing more, and tells nobody.
            line.give_up(refusals.meaning(response) or McpFailure(CLOSED))

    timeout = httpx2.Timeout(limits.connect_seconds, read=limits.call_seconds + limits.connect_seconds)
    return httpx2.AsyncClient(
        headers=[_header(name, value) for name, value in spec.headers],
        timeout=timeout,
        event_hooks={"response": [note]},
        auth=auth,
        verify=trust or trusted_certificates(),
    )


def _header(name: str, value: str) -> tuple[bytes, bytes]:
    """A header as it is sent.

    Raises:
        McpHopeless: HTTP has no such header.
    """
    try:
        found = name.strip().encode("ascii"), value.strip().encode("latin-1")
    except UnicodeEncodeError as problem:
        raise McpHopeless(_no_header(name)) from problem
    if not found[0] or any(byte < _BLANK or byte == _DELETE for byte in b"".join(found).replace(b"\t", b"")):
        raise McpHopeless(_no_header(name))
    return found


def _no_header(name: str) -> str:
    return f"Its header {name.strip()!r} holds a character that HTTP cannot send. Correct it in the settings."
