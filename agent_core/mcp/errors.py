"""What goes wrong with MCP servers.

McpFailure          `str(failure)` is for the person and the model: what happened and what to do, without secrets
├── McpCallFailed   one call failed; the server goes on
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


class McpHopeless(McpFailure):
    """A server cannot be used until something is put right."""
