"""The port through which tools reach the MCP servers of their session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tools.context import Interrupt
from tools.result import ToolResult


class McpTools(Protocol):
    """The servers of one session."""

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
    ) -> ToolResult:
        """Call a tool of a server and wait for its result; `progress` gets what it tells meanwhile.

        Args:
            server, tool: as the server and its tool call themselves, not the names that the model has for them.

        Returns:
            the result; a failed one when the server is not there, does not answer in time, or says that it failed.

        Raises:
            Denied: the policy or the person said no.
            ToolInterrupted: the turn was cancelled; the server has been told.
        """
        ...
