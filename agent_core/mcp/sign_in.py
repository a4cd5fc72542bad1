"""A person's sign-in at a server, and a look at one: what `hermes-acp mcp login` and `mcp test` do."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from agent_core.mcp.connection import Line, Surroundings, connected, in_words, load_sdk
from agent_core.mcp.oauth import Browser, ServerTokens, browser_auth
from agent_core.mcp.server import Offers, speaking
from agent_core.mcp.server_requests import Inbound
from agent_core.mcp.specs import McpFailure, McpLimits, ServerSpec
from tools.environments.guardian import Guardian
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from mcp.client.auth import AuthorizationCodeResult

_LONGEST_REQUEST = 64 * 1024
_PERSON_SECONDS = 300.0


@dataclass(slots=True)
class _Waiting:
    """A sign-in that a browser is to come back with. `state` is what only it knows; '' before it was sent there."""

    arrived: asyncio.Future[AuthorizationCodeResult]
    state: str = ""

    def sent_to(self, url: str) -> None:
        """This is where the person goes."""
        self.state = next(iter(parse_qs(urlsplit(url).query).get("state", ())), "")

    def take(self, target: str) -> str:
        """Read what a browser was sent back with; what the person is told.

        Any page can send a browser here: what does not know `state` changes nothing.
        """
        from mcp.client.auth import AuthorizationCodeResult  # noqa: PLC0415 - loaded with the SDK

        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != "/callback" or not ({"code", "error"} & query.keys()):
            return "There is nothing here."
        if self.arrived.done():
            return "This was answered already."
        said = query.get("error_description") or query.get("error", "")
        if not self.state or not hmac.compare_digest(query.get("state", "").encode(), self.state.encode()):
            return f"This does not belong to the sign-in that is waited for. {said}".rstrip()
        if "code" not in query:
            self.arrived.set_exception(McpFailure(f"The sign-in was refused: {said}."))
            return f"The sign-in was refused: {said}."
        self.arrived.set_result(
            AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query.get("iss"))
        )  # fmt: skip
        return "You are signed in. This page can be closed."


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at a server found."""

    tools: int
    prompts: int
    resources: int


def look(spec: ServerSpec, cwd: Path, tokens: ServerTokens, variables: Mapping[str, str]) -> Found:
    """Connect to a server, and end the connection; blocks.

    Args:
        variables: what the environment of a program is made from.

    Raises:
        McpFailure: it cannot be used; the text says why and what to do.
    """
    around = _around(spec, cwd, tokens, variables)
    try:
        return asyncio.run(_looked(spec, around, None))
    finally:
        around.guardian.kill_all()


def sign_in(
    spec: ServerSpec,
    cwd: Path,
    tokens: ServerTokens,
    show: Callable[[str], None],
    pasted: Callable[[], Awaitable[str]] | None = None,
) -> Found:
    """Let a person sign in at a server, and keep that; blocks until it is done, at most five minutes.

    Args:
        show: tells where to go.
        pasted: waits for the address that a browser elsewhere was sent to, where the person can give it.

    Raises:
        McpFailure: it did not come to that; the text says why and what to do.
    """
    around = _around(spec, cwd, tokens, {})  # there is a page to open: it is no program
    try:
        return asyncio.run(_signed_in(spec, around, tokens, show, pasted))
    finally:
        around.guardian.kill_all()


async def _signed_in(
    spec: ServerSpec,
    around: Surroundings,
    tokens: ServerTokens,
    show: Callable[[str], None],
    pasted: Callable[[], Awaitable[str]] | None,
) -> Found:
    await load_sdk()
    async with _waiting_for_browser(spec, pasted) as (port, waiting, back):

        async def told(url: str) -> None:
            waiting.sent_to(url)
            show(url)

        auth = browser_auth(spec, tokens, Browser(port, told, back))
        return await _looked(spec, replace(around, auth=lambda _: auth), _PERSON_SECONDS)


async def _looked(spec: ServerSpec, around: Surroundings, seconds: float | None) -> Found:
    if spec.problem:
        raise McpFailure(spec.problem)
    line = Line()
    patience = seconds or spec.policy.connect_seconds or around.limits.connect_seconds
    try:
        await load_sdk()
        async with asyncio.timeout(patience), connected(spec, around, line) as streams:
            inbound = Inbound(spec, around.roots, samples=False, changed=lambda _: None)
            async with speaking(*streams, inbound) as peer:
                await peer.greet()
                found: Offers = await peer.offers(around.limits.most_tools, spec.policy, around.limits.extras_seconds)
                return Found(len(found.tools), len(found.prompts), len(found.resources))
    except TimeoutError as problem:
        raise McpFailure(f"It did not answer within {patience:g} s.") from problem
    except (Exception, BaseExceptionGroup) as problem:
        raise McpFailure(in_words(line.failure or problem, spec, line.heard)) from problem


def _around(spec: ServerSpec, cwd: Path, tokens: ServerTokens, variables: Mapping[str, str]) -> Surroundings:
    limits = replace(McpLimits(), call_seconds=_PERSON_SECONDS) if spec.transport != "stdio" else McpLimits()
    return Surroundings(cwd, Guardian(), variables, limits, (cwd,), tokens=tokens)


@asynccontextmanager
async def _waiting_for_browser(
    spec: ServerSpec, pasted: Callable[[], Awaitable[str]] | None
) -> AsyncIterator[tuple[int, _Waiting, Callable[[], Awaitable[AuthorizationCodeResult]]]]:
    """The port that a browser comes back to, and what waits until it does."""
    waiting = _Waiting(asyncio.get_running_loop().create_future())
    open_ones: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.add(writer)
        with contextlib.suppress(OSError, LookupError, ValueError, EOFError, asyncio.LimitOverrunError):
            request = await reader.readuntil(b"\r\n\r\n")
            target = request.split(b" ", 2)[1].decode("ascii")
            writer.write(_page(waiting.take(target)))
            await writer.drain()
        writer.close()
        open_ones.discard(writer)

    try:
        listener = await asyncio.start_server(answer, "127.0.0.1", spec.oauth.port, limit=_LONGEST_REQUEST)
    except OSError as problem:
        raise McpFailure(
            f"Port {spec.oauth.port} of this machine is taken ({problem.strerror}). End what uses it, or change "
            "oauth.redirect_port."
        ) from problem

    async def back() -> AuthorizationCodeResult:
        typed = None if pasted is None else asyncio.create_task(_typed(pasted, waiting))
        try:
            return await waiting.arrived
        finally:
            if typed is not None:
                typed.cancel()

    async with listener:
        try:
            yield listener.sockets[0].getsockname()[1], waiting, back
        finally:
            # Browsers open connections that they do not use; the listener's end waits for all of them.
            for writer in open_ones:
                writer.transport.abort()


async def _typed(pasted: Callable[[], Awaitable[str]], waiting: _Waiting) -> None:
    while not waiting.arrived.done():
        text = (await pasted()).strip()
        with contextlib.suppress(ValueError):  # it is no address
            parts = urlsplit(text)
            waiting.take(f"{parts.path}?{parts.query}")


def _page(text: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>hermes-acp</title><p>{html.escape(text)}</p>".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
