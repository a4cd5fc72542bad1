"""The port through which tools reach the MCP servers of their session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tools.approval.mcp_pins import ToolPin
from tools.asking import PersonAnswer, PersonPage, PersonQuestion
from tools.ports import Interrupt
from tools.result import ToolResult

CALL_BY_NAME = "mcp_call_tool"
"""The tool that calls a tool of a server by its name, where these are not in the model's list."""


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

    def read(self, server: str, uri: str, interrupt: Interrupt, progress: Callable[[str], None]) -> ToolResult:
        """Read a resource of a server.

        Returns, Raises: as `call` does.
        """
        ...

    def resources(self, server: str) -> str:
        """The resources that servers have told of, as lines; of all servers for ''."""
        ...

    def find(self, query: str) -> str:
        """Tools that are not among the model's own, with their arguments, as JSON lines; the best first."""
        ...

    def locate(self, name: str) -> tuple[str, str] | None:
        """The server and the tool that the model's name for a tool means; None where there is none."""
        ...


class Behalf(Protocol):
    """The person, as a server reaches them while a call of it runs. Each of its methods blocks."""

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        """Put a server's question to the person.

        Raises:
            ValueError: it is a page that nobody should open. ToolInterrupted: nobody waits for the answer any more.
        """
        ...

    def allow_model(self, server: str, prompt: str, interrupt: Interrupt) -> None:
        """Return when a server may have `prompt` answered by a model.

        Raises:
            Denied: the policy or the person said no. ToolInterrupted: nobody waits for it any more.
        """
        ...


class McpServers(Protocol):
    """The servers with nothing before them. The methods are those of `McpTools`; see there."""

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        """Call a tool; the server may ask of `behalf` meanwhile, of nobody for None."""
        ...

    def read(
        self,
        server: str,
        uri: str,
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        """Read a resource."""
        ...

    def pins(self, server: str) -> Mapping[str, ToolPin]:
        """What each of a server's tools is now, by its own name; '' is for what is no tool of its list. Empty for a
        server that there is not.
        """
        ...

    def resources(self, server: str) -> str:
        """The resources."""
        ...

    def find(self, query: str) -> str:
        """Tools behind the search."""
        ...

    def locate(self, name: str) -> tuple[str, str] | None:
        """What a name means."""
        ...

    def fit(self, window: int | None, session_id: str = "") -> None:
        """The session's model takes so many tokens; tools that take too many of them go behind a search.

        A sub-agent, whose session is another than the first one's, changes nothing.
        """
        ...
