"""What can go wrong between an ACP client and its agent.

ClientError            `str(error)` is for the person: what was tried, what happened, what to do
├── AgentNotStarted    the command could not be run
├── AgentDied          the agent ended, or closed its output, while something was awaited
├── AgentSilent        no answer within the time given
├── AgentUnsupported   the agent's answer makes no sense to this client
└── AgentRefused       the agent answered with a JSON-RPC error
"""

from __future__ import annotations

from typing import Any

AUTH_REQUIRED = -32000


class ClientError(Exception):
    """Base of the tree."""


class AgentNotStarted(ClientError):
    """The agent's command could not be run."""


class AgentDied(ClientError):
    """The agent ended, or closed its output, while something was awaited of it."""


class AgentSilent(ClientError):
    """The agent did not answer within the time given."""


class AgentUnsupported(ClientError):
    """The agent's answer is not what the protocol's version 1 says."""


class AgentRefused(ClientError):
    """The agent answered with an error.

    Attributes:
        method: what was asked.
        code: the JSON-RPC error code.
        details: the error's `data.details`, or "".
    """

    def __init__(self, method: str, error: Any) -> None:
        error = error if isinstance(error, dict) else {"message": f"not a JSON-RPC error object: {error!r}"}
        data = error.get("data")
        details = data.get("details") if isinstance(data, dict) else data
        super().__init__(str(error.get("message") or "The agent gave no message."))
        self.method = method
        self.code = error.get("code")
        self.details = details if isinstance(details, str) else ""
