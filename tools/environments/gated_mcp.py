"""MCP servers as tools get them: every call passes the gate first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tools.agent_ports import McpServers, PersonAnswer, PersonPage, PersonQuestion
from tools.approval.actions import CallMcpTool
from tools.approval.gate import Gate
from tools.context import AgentServices
from tools.errors import Denied
from tools.ports import Interrupt
from tools.result import ToolResult

READ = "resources/read"
"""What reading a resource is called where tools are named: no tool can have that name for a model."""

SAMPLE = "sampling/createMessage"


class GatedMcpTools:
    """An `McpTools` that asks before a server's tool is called, or a resource of it is read."""

    def __init__(self, inner: McpServers, gate: Gate, agent: AgentServices | None = None) -> None:
        self._inner = inner
        self._gate = gate
        self._behalf = _Behalf(gate, agent)

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
        self._authorize(server, tool, arguments)
        return self._inner.call(server, tool, arguments, interrupt, progress, behalf=self._behalf)

    def read(self, server: str, uri: str, interrupt: Interrupt, progress: Callable[[str], None]) -> ToolResult:
        """Ask with the address, then read: what a server does for it nobody can see.

        Raises:
            Denied, ToolInterrupted: as in the port.
        """
        self._authorize(server, READ, {"uri": uri}, only_reads=True)
        return self._inner.read(server, uri, interrupt, progress, behalf=self._behalf)

    def resources(self, server: str) -> str:
        """What servers have told already: nothing is sent."""
        return self._inner.resources(server)

    def find(self, query: str) -> str:
        """Nothing is sent."""
        return self._inner.find(query)

    def locate(self, name: str) -> tuple[str, str] | None:
        """Nothing is sent."""
        return self._inner.locate(name)

    def _authorize(self, server: str, tool: str, arguments: Mapping[str, Any], *, only_reads: bool = False) -> None:
        text = json.dumps(arguments, ensure_ascii=False)
        pins = self._inner.pins(server)
        pin = pins.get(tool, pins.get(""))
        offered = frozenset((name or READ, each) for name, each in pins.items())
        self._gate.authorize(CallMcpTool(server, tool, text, only_reads=only_reads, pin=pin, offered=offered))
        now = self._inner.pins(server)
        if now.get(tool, now.get("")) != pin:
            raise Denied(
                f"The tool {tool} of the MCP server {server} has changed while the user was asked about it. It was "
                "not called. If you still need it, call it again: the user is then asked about what it is now."
            )


class _Behalf:
    """Asks the person for a server, on the card of the call that it works for."""

    def __init__(self, gate: Gate, agent: AgentServices | None) -> None:
        self._gate = gate
        self._agent = agent

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        """As in the port."""
        if self._agent is None:
            return PersonAnswer("unavailable")
        return self._agent.ask(replace(question, call_id=self._gate.call_id), interrupt)

    def allow_model(self, server: str, prompt: str, interrupt: Interrupt) -> None:
        """As in the port."""
        self._gate.within(interrupt).authorize(CallMcpTool(server, SAMPLE, prompt, each=True))
