"""Which MCP servers there are to be, within which limits, and how each of them is doing. Light: no SDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from tools.redaction.redactor import redact

Transport = Literal["stdio", "http", "sse"]
State = Literal["connecting", "ready", "failed", "closed"]

_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One MCP server to connect to. What may hold a secret is not in its `repr`.

    Attributes:
        name: unique in its session.
        command, args, env: for stdio: the program, its arguments, and variables beside the filtered environment.
        url, headers: for http (streamable) and sse.
    """

    name: str
    transport: Transport
    command: str = field(default="", repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        """`text` without the values of the server's variables and headers, its address's query, and other secrets."""
        values = {value for _, value in (*self.env, *self.headers) if len(value) >= _SHORTEST_SECRET}
        # «Bearer abc» is a secret in its parts, too.
        values |= {part for value in values for part in value.split() if len(part) > 2 * _SHORTEST_SECRET}
        if (parts := self._address()) is not None:
            values |= {part for part in (parts.query, parts.password or "") if len(part) >= _SHORTEST_SECRET}
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, "***")
        return redact(text)

    def place(self) -> str:
        """Where the server is, for people: the program, or the address without what may be secret in it."""
        if self.transport == "stdio":
            return self.command
        parts = self._address()
        if parts is None:
            return "the server's address"
        host = parts.hostname or "?"
        try:
            port = f":{parts.port}" if parts.port else ""
        except ValueError:  # not a number
            port = ""
        return f"{parts.scheme}://{host}{port}{parts.path}"

    def _address(self) -> SplitResult | None:
        """The parts of the address; None where there is none, or it is malformed."""
        try:
            return urlsplit(self.url) if self.url else None
        except ValueError:  # brackets without an IPv6 address in them
            return None


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is doing.

    Attributes:
        error: what happened and what to do, for the person; '' unless it failed.
        tools: the names of its tools as the model has them.
        left_out: for each of its tools that cannot be used, why.
    """

    name: str
    state: State
    error: str = ""
    tools: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpLimits:
    """Limits for every server.

    Attributes:
        connect_seconds: from the start to the list of tools.
        call_seconds: for one call of a tool.
        close_seconds: that a server has to end by itself.
        most_tools: of one server.
        message_bytes: of one message.
    """

    connect_seconds: float = 30.0
    call_seconds: float = 300.0
    close_seconds: float = 1.0
    most_tools: int = 300
    message_bytes: int = 32 * 1024 * 1024
