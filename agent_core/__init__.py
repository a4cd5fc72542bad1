"""The agent: its loop, the model providers, the prompt, the conversation's memory. It knows no editor.

from agent_core import AIAgent
AIAgent("offline", "offline").chat("read README.md")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_core.agent import AIAgent as AIAgent
    from agent_core.callbacks import AgentCallbacks as AgentCallbacks
    from agent_core.interrupt import CancelToken as CancelToken
    from agent_core.workspace import local_workspace as local_workspace

_PUBLIC = {
    "AIAgent": "agent_core.agent",
    "AgentCallbacks": "agent_core.callbacks",
    "CancelToken": "agent_core.interrupt",
    "local_workspace": "agent_core.workspace",
}

__all__ = ["AIAgent", "AgentCallbacks", "CancelToken", "local_workspace"]


def __getattr__(name: str) -> Any:
    """The names for those who use this as a library, loaded at their first use: a server must start at once."""
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - with the first name that is asked for

    return getattr(importlib.import_module(module), name)
