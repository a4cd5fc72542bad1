"""Speaks with a server over an open transport: greets it, asks what it offers, calls its tools."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agent_core.mcp.errors import McpCallFailed, McpFailure, McpServerFault
from agent_core.mcp.failures import CLOSED
from agent_core.mcp.inbound import Inbound
from agent_core.mcp.specs import ServerPolicy
from tools.light_dataclass import dataclass
from tools.untrusted.invisible import without_controls

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.shared.exceptions import MCPError
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

log = logging.getLogger(__name__)

_MOST_PAGES = 50
_MOST_EXTRAS = 1_000
_MOST_ROUNDS = 10
_ROUND_SECONDS = 0.1
_LONGEST_NOTE = 300
_UNREAD = "Failed to parse "  # the SDK's words for an answer that is no message
_LISTS = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}

OnProgress = Callable[[str], None]
Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Offers:
    """What a server offers, as JSON."""

    tools: list[Entry]
    prompts: list[Entry]
    resources: list[Entry]
    templates: list[Entry]


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

    async def offers(self, most: int, policy: ServerPolicy, seconds: float) -> Offers:
        """What it offers, each list as JSON. Only its tools have to come.

        Args:
            most: tools.
            seconds: that the other lists may take.

        Raises:
            Exception: what the SDK raises.
        """
        can = self._session.server_capabilities
        extras = []
        if policy.prompts and can is not None and can.prompts is not None:
            extras.append("prompts")
        if policy.resources and can is not None and can.resources is not None:
            extras += ["resources", "resourceTemplates"]
        waiting = [asyncio.create_task(self._extra(kind, seconds)) for kind in extras]
        try:
            tools = await self.tools(most)
            found = dict(zip(extras, await asyncio.gather(*waiting), strict=True))
        finally:
            for task in waiting:
                task.cancel()
        return Offers(tools, found.get("prompts", []), found.get("resources", []), found.get("resourceTemplates", []))

    async def tools(self, most: int) -> list[Entry]:
        """The tools that it offers, as JSON, at most so many.

        Raises:
            Exception: what the SDK raises.
        """
        capabilities = self._session.server_capabilities
        if capabilities is not None and capabilities.tools is None:
            return []
        return (await self._listed("tools", most))[:most]

    async def listen(self, changed: Callable[[str], None]) -> None:
        """Hear of changed lists, from a server that tells only those who listen; returns when it is over."""
        if self._session.initialize_result is not None:
            return
        from mcp.client.subscriptions import listen  # noqa: PLC0415

        names = {"ToolsListChanged": "tools", "PromptsListChanged": "prompts", "ResourcesListChanged": "resources"}
        try:
            async with listen(
                self._session, tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as subscription:
                async for event in subscription:
                    if (name := names.get(type(event).__name__)) is not None:
                        changed(f"notifications/{name}/list_changed")
        except Exception:  # it goes on without, whatever the server made of it
            log.debug("a server does not tell of its changes", exc_info=True)

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> Entry:
        """Call a tool; cancelling this sends the server a cancellation.

        Returns:
            the `CallToolResult` as JSON.

        Raises:
            McpCallFailed: it refused. McpFailure: the connection is over.
        """

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            on_progress(_note(progress, total, message))

        if self._session.initialize_result is not None:
            params = {"name": tool, "arguments": dict(arguments)}
            return await self._asked("tools/call", params, {"on_progress": progressed})

        async def ask(responses: Any, state: str | None) -> Any:
            return await self._session.call_tool(
                tool,
                dict(arguments),
                progress_callback=progressed,
                input_responses=responses,
                request_state=state,
                allow_input_required=True,
            )

        return await self._in_rounds(ask)

    async def read(self, uri: str) -> Entry:
        """The contents of a resource: a `ReadResourceResult` as JSON.

        Raises:
            McpCallFailed, McpFailure: as `call` does.
        """
        if self._session.initialize_result is not None:
            return await self._asked("resources/read", {"uri": uri})
        return await self._in_rounds(
            lambda responses, state: self._session.read_resource(
                uri, input_responses=responses, request_state=state, allow_input_required=True
            )
        )

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Entry:
        """The words of a prompt: a `GetPromptResult` as JSON.

        Raises:
            McpCallFailed, McpFailure: as `call` does.
        """
        if self._session.initialize_result is not None:
            return await self._asked("prompts/get", {"name": name, "arguments": dict(arguments)})
        return await self._in_rounds(
            lambda responses, state: self._session.get_prompt(
                name, dict(arguments), input_responses=responses, request_state=state, allow_input_required=True
            )
        )

    @property
    def answers_pings(self) -> bool:
        """Whether its protocol knows them: the one without a handshake does not."""
        return self._session.initialize_result is not None

    async def ping(self) -> None:
        """Ask for a sign of life.

        Raises:
            McpCallFailed: it refused, so it lives. McpFailure: the connection is over.
        """
        await self._asked("ping", {})

    async def _asked(self, method: str, params: Entry, options: Any = None) -> Entry:
        from mcp import MCPError  # noqa: PLC0415

        try:
            return await self._dispatcher.send_raw_request(method, params, options)
        except MCPError as problem:
            raise _call_failure(problem) from problem

    async def _in_rounds(self, ask: Callable[[Any, str | None], Awaitable[Any]]) -> Entry:
        """Ask a server of the protocol without a handshake, which answers with its own questions first."""
        from mcp import MCPError  # noqa: PLC0415
        from mcp.client.session import ClientRequestContext  # noqa: PLC0415
        from mcp_types import ErrorData, InputRequiredResult  # noqa: PLC0415

        responses: dict[str, Any] | None = None
        state: str | None = None
        try:
            for round_number in range(_MOST_ROUNDS):
                result = await ask(responses, state)
                if not isinstance(result, InputRequiredResult):
                    told: Entry = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                    return told
                responses, state = {}, result.request_state
                for key, request in (result.input_requests or {}).items():
                    context = ClientRequestContext(session=self._session, request_id=f"{key}-{round_number}")
                    answer = await self._session.dispatch_input_request(context, request)
                    if isinstance(answer, ErrorData):
                        raise McpCallFailed(f"It asked for something that it did not get: {answer.message}")
                    responses[key] = answer
                if not responses:
                    await asyncio.sleep(_ROUND_SECONDS)
        except MCPError as problem:
            raise _call_failure(problem) from problem
        raise McpCallFailed("It asked again and again, and never answered.")

    async def _extra(self, kind: str, seconds: float) -> list[Entry]:
        try:
            async with asyncio.timeout(seconds):
                return await self._listed(kind, _MOST_EXTRAS)
        except Exception:  # its tools are of use without
            log.info("a server does not tell its %s", kind, exc_info=True)
            return []

    async def _listed(self, kind: str, most: int) -> list[Entry]:
        entries: list[Entry] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._page(kind, cursor)
            found = page.get(kind)
            entries += [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor or len(entries) >= most:
                break
            cursor = following
        return entries

    async def _page(self, kind: str, cursor: str | None) -> Entry:
        from mcp_types import PaginatedRequestParams  # noqa: PLC0415

        if self._session.initialize_result is not None:
            params = {} if cursor is None else {"cursor": cursor}
            return await self._dispatcher.send_raw_request(_LISTS[kind], params)
        lists = {
            "tools": self._session.list_tools,
            "prompts": self._session.list_prompts,
            "resources": self._session.list_resources,
            "resourceTemplates": self._session.list_resource_templates,
        }
        listed = await lists[kind](params=PaginatedRequestParams(cursor=cursor))
        page: Entry = listed.model_dump(by_alias=True, mode="json", exclude_none=True)
        return page


@asynccontextmanager
async def speaking(incoming: Any, outgoing: Any, inbound: Inbound) -> AsyncIterator[Peer]:
    """A peer over the two streams of a transport, not yet greeted; `inbound` answers what it wants of us."""
    from mcp import ClientSession  # noqa: PLC0415
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher  # noqa: PLC0415
    from mcp_types import Implementation  # noqa: PLC0415

    dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(incoming, outgoing)
    me = Implementation(name="hermes-acp", version=_version())
    async with ClientSession(
        dispatcher=dispatcher,
        client_info=me,
        message_handler=inbound.on_message,
        elicitation_callback=inbound.on_elicit if inbound.asks else None,
        sampling_callback=inbound.on_sample if inbound.samples else None,
        list_roots_callback=inbound.on_roots,
    ) as session:
        yield Peer(session, dispatcher)


def _call_failure(problem: MCPError) -> McpFailure:
    from mcp_types import CONNECTION_CLOSED, PARSE_ERROR  # noqa: PLC0415

    if isinstance(problem.data, McpFailure):
        return problem.data
    if problem.code == CONNECTION_CLOSED:
        return McpFailure(CLOSED)
    if problem.code == PARSE_ERROR and problem.message.startswith(_UNREAD):
        return McpServerFault(
            "Its answer could not be read: it is no message of MCP. That is an error of the server's."
        )
    return McpCallFailed(f"It refused the call (code {problem.code}).", problem.message)


def _note(progress: float, total: float | None, message: str | None) -> str:
    count = f"{progress:g}" if not total else f"{progress:g}/{total:g}"
    return f"{without_controls(message)[:_LONGEST_NOTE]} ({count})\n" if message else f"{count}\n"


def _version() -> str:
    try:
        return importlib.metadata.version("hermes-editor-agent")
    except importlib.metadata.PackageNotFoundError:
        return "0"
