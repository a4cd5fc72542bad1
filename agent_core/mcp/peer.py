"""Speaks with a server over an open transport: greets it, asks for its tools, calls them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agent_core.mcp.errors import McpCallFailed, McpFailure
from agent_core.mcp.failures import CLOSED

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.shared.exceptions import MCPError
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

_MOST_PAGES = 50
_LONGEST_NOTE = 300

OnProgress = Callable[[str], None]


class Peer:
    """One server that was greeted. Used on the service loop.

    Answers are taken as JSON: an odd tool or content block then costs no more than itself.
    """

    def __init__(self, session: ClientSession, dispatcher: JSONRPCDispatcher[Any]) -> None:
        self._session = session
        self._dispatcher = dispatcher

    async def greet(self) -> None:
        """Agree on a version of the protocol.

        Raises:
            Exception: what the SDK raises when they cannot.
        """
        from mcp import MCPError  # noqa: PLC0415
        from mcp_types import UNSUPPORTED_PROTOCOL_VERSION  # noqa: PLC0415

        try:
            await self._session.initialize()
        except MCPError as problem:
            if problem.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            # One that speaks only the protocol without a handshake.
            await self._session.discover()

    async def tools(self, most: int) -> list[Mapping[str, Any]]:
        """The tools that it offers, as JSON, at most so many.

        Raises:
            Exception: what the SDK raises.
        """
        capabilities = self._session.server_capabilities
        if capabilities is not None and capabilities.tools is None:
            return []
        tools: list[Mapping[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._page(cursor)
            found = page.get("tools")
            tools += [tool for tool in found if isinstance(tool, Mapping)] if isinstance(found, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor or len(tools) >= most:
                break
            cursor = following
        return tools[:most]

    async def call(
        self, tool: str, arguments: Mapping[str, Any], seconds: float, on_progress: OnProgress
    ) -> Mapping[str, Any]:
        """Call a tool; cancelling this sends the server a cancellation.

        Returns:
            the `CallToolResult` as JSON.

        Raises:
            McpCallFailed: it refused, or did not answer in time. McpFailure: the connection is over.
        """
        from mcp import MCPError  # noqa: PLC0415

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            on_progress(_note(progress, total, message))

        try:
            if self._session.initialize_result is None:
                return await self._modern_call(tool, arguments, seconds, progressed)
            return await self._dispatcher.send_raw_request(
                "tools/call",
                {"name": tool, "arguments": dict(arguments)},
                {"timeout": seconds, "on_progress": progressed},
            )
        except MCPError as problem:
            raise _call_failure(problem, seconds) from problem

    async def _page(self, cursor: str | None) -> Mapping[str, Any]:
        from mcp_types import PaginatedRequestParams  # noqa: PLC0415

        if self._session.initialize_result is None:
            listed = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            return listed.model_dump(by_alias=True, mode="json", exclude_none=True)
        return await self._dispatcher.send_raw_request("tools/list", {} if cursor is None else {"cursor": cursor})

    async def _modern_call(
        self, tool: str, arguments: Mapping[str, Any], seconds: float, progressed: Any
    ) -> Mapping[str, Any]:
        from mcp_types import InputRequiredResult  # noqa: PLC0415

        result = await self._session.call_tool(tool, dict(arguments), seconds, progressed, allow_input_required=True)
        if isinstance(result, InputRequiredResult):
            raise McpCallFailed("The tool wants to ask the person something, which is not possible here.")
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


@asynccontextmanager
async def speaking(incoming: Any, outgoing: Any) -> AsyncIterator[Peer]:
    """A peer over the two streams of a transport, not yet greeted."""
    from mcp import ClientSession  # noqa: PLC0415
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher  # noqa: PLC0415
    from mcp_types import Implementation  # noqa: PLC0415

    dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(incoming, outgoing)
    me = Implementation(name="hermes-acp", version=_version())
    async with ClientSession(dispatcher=dispatcher, client_info=me) as session:
        yield Peer(session, dispatcher)


def _call_failure(problem: MCPError, seconds: float) -> McpFailure:
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT  # noqa: PLC0415

    if problem.code == CONNECTION_CLOSED:
        return McpFailure(CLOSED)
    if problem.code == REQUEST_TIMEOUT:
        return McpCallFailed(f"It did not answer within {seconds:g} s and was told to stop.")
    return McpCallFailed(f"It refused the call (code {problem.code}).", problem.message)


def _note(progress: float, total: float | None, message: str | None) -> str:
    count = f"{progress:g}" if not total else f"{progress:g}/{total:g}"
    return f"{message[:_LONGEST_NOTE]} ({count})\n" if message else f"{count}\n"


def _version() -> str:
    try:
        return importlib.metadata.version("hermes-editor-agent")
    except importlib.metadata.PackageNotFoundError:
        return "0"
