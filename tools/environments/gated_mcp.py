"""MCP servers as tools get them: every call passes the gate first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tools.approval.actions import CallMcpTool
from tools.approval.gate import Gate
from tools.context import Interrupt
from tools.mcp_port import McpTools
from tools.result import ToolResult


class GatedMcpTools:
    """An `McpTools` that asks before a server's tool is called."""

    def __init__(self, inner: McpTools, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
    ) -> ToolResult:
        """Ask with the arguments, then call.

        Raises:
            Denied, ToolInterrupted: as in the port.
        """
        self._gate.authorize(CallMcpTool(server, tool, json.dumps(arguments, ensure_ascii=False)))
        return self._inner.call(server, tool, arguments, interrupt, progress)
