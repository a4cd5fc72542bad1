"""Opens the connection to one server, and closes it with all that belongs to it."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core.mcp.child import Child
from agent_core.mcp.errors import McpFailure, McpHopeless
from agent_core.mcp.failures import CLOSED, UNAUTHORIZED, Heard
from agent_core.mcp.http_refusals import HttpRefusals
from agent_core.mcp.specs import McpLimits, ServerSpec
from agent_core.mcp.streams import WatchedStream, child_streams, too_long
from agent_core.mcp.trust import trust_of
from tools.environments.guardian import Guardian
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    import ssl

    import httpx2

    from agent_core.mcp.token_file import ServerTokens

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
        Exception: whatever the SDK raises; `failures.in_words` tells it.
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

    from agent_core.mcp.bounded_body import BoundedBody  # noqa: PLC0415
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
