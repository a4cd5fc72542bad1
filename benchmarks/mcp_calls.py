"""MCP: what a call over stdio takes through the session's servers and their gate, beside the SDK's own client.

Both have a process of the same server, and are called in turns.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import PaginatedRequestParams

from agent_core.cancel import CancelToken
from agent_core.mcp.session_servers import SessionServers
from agent_core.service_loop import ServiceLoop
from benchmarks.figures import HERMES, SDK, Quantity, Samples, Section
from benchmarks.stage import Stage
from tests.support.mcp_servers import plain
from tools.approval.gate import Approvals, Gate, NobodyToAsk
from tools.approval.policy import Rules
from tools.environments.gated_ports import GatedMcpTools
from tools.environments.guardian import Guardian

_CALL = Quantity("an MCP call over stdio")
_LONG = Quantity("… with a result of 100,000 characters")
_CALLS = 20


def measure(stage: Stage) -> Section:
    samples = Samples()
    with tempfile.TemporaryDirectory(prefix="hermes-bench-mcp-") as directory:
        loop, guardian = ServiceLoop(), Guardian()
        servers = SessionServers([plain()], Path(directory), loop=loop, guardian=guardian)
        servers.start()
        servers.wait(30, CancelToken())
        try:
            asyncio.run(_in_turns(samples, _gated(servers, Path(directory)), stage.repetitions.prompts * _CALLS))
        finally:
            servers.close()
            loop.stop()
            guardian.kill_all()
    return samples.section("MCP", (_CALL, _LONG))


def _gated(servers: SessionServers, root: Path) -> Callable[[str, dict[str, object]], object]:
    approvals = Approvals(Rules(roots=(root,)), "dont_ask", NobodyToAsk())

    def call(tool: str, arguments: dict[str, object]) -> object:
        token = CancelToken()
        gate = Gate(approvals, "call", token, on_allowed=lambda _: None)
        result = GatedMcpTools(servers, gate).call("plain", tool, arguments, token, lambda _: None)
        assert not result.failed, result.text
        return result

    return call


async def _in_turns(samples: Samples, ours: Callable[[str, dict[str, object]], object], calls: int) -> None:
    spec = plain()
    parameters = StdioServerParameters(command=sys.executable, args=list(spec.args))
    async with stdio_client(parameters) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()
        # Of tools that were not listed, the client complains at each call.
        page = await session.list_tools()
        await session.list_tools(params=PaginatedRequestParams(cursor=page.next_cursor))
        cases: tuple[tuple[Quantity, str, dict[str, object]], ...] = (
            (_CALL, "echo", {"text": "x"}),
            (_LONG, "big", {"size": 100_000}),
        )
        for quantity, tool, arguments in cases:
            for _ in range(calls):
                began = time.perf_counter()
                await session.call_tool(tool, arguments)
                samples.add(quantity, SDK, (time.perf_counter() - began) * 1000)
                began = time.perf_counter()
                # As a worker does: this loop has nothing else to do meanwhile.
                ours(tool, arguments)
                samples.add(quantity, HERMES, (time.perf_counter() - began) * 1000)
