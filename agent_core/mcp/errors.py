"""What goes wrong with MCP servers.

McpFailure          `str(failure)` is for the person and the model: what happened and what to do, without secrets
├── McpCallFailed   one call failed; the server goes on
│   └── McpServerFault  it failed for a reason that other calls will have too
├── McpSessionEnded the server does not know the session: a new one is begun
└── McpHopeless     it will be the same the next time, until the person does something
"""

from __future__ import annotations


class McpFailure(Exception):
    """A server could not be started or reached, or the connection to it is over."""


class McpCallFailed(McpFailure):
    """A server did not do what one call asked.

    Args:
        words: the server's own, as they came: they may hold secrets, be endless, and be anything.
    """

    def __init__(self, text: str, words: str = "") -> None:
        super().__init__(text)
        self.words = words


class McpServerFault(McpCallFailed):
    """A call failed because of the server, not because of what was asked: it must not be shown as ready."""


class McpSessionEnded(McpFailure):
    """The server refused a request because it does not know the session; it did nothing of it."""


class McpHopeless(McpFailure):
    """A server cannot be used until something is put right."""
