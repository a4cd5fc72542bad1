"""The agent: its loop, the model providers, the prompt, the conversation's memory. It knows no editor.

from agent_core import AIAgent
AIAgent("offline", "offline").chat("read README.md")
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from agent_core.agent import AIAgent as AIAgent
    from agent_core.callbacks import AgentCallbacks as AgentCallbacks
    from agent_core.cancel import CancelToken as CancelToken
    from agent_core.workspace import local_workspace as local_workspace

_PUBLIC = {
    "AIAgent": "agent_core.agent",
    "AgentCallbacks": "agent_core.callbacks",
    "CancelToken": "agent_core.cancel",
    "local_workspace": "agent_core.workspace",
}

_MOVED = {
    "agent_core.batch.items": "agent_core.batch.batch",
    "agent_core.batch.results": "agent_core.batch.batch",
    "agent_core.context": "agent_core.compaction",
    "agent_core.context.engine": "agent_core.compaction.engine",
    "agent_core.providers.resolution": "agent_core.providers",
    "agent_core.providers.resolution.catalog": "agent_core.providers.catalog",
    "agent_core.providers.wire": "agent_core.providers",
    "agent_core.providers.wire.protocol": "agent_core.providers.protocol",
}
"""Import paths that the documentation told before, and where each module is now."""

__all__ = ["AIAgent", "AgentCallbacks", "CancelToken", "local_workspace"]


def __getattr__(name: str) -> Any:
    """The names for those who use this as a library, loaded at their first use: a server must start at once."""
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - with the first name that is asked for

    return getattr(importlib.import_module(module), name)


class _Moved:
    """Imports a module under a path that it had before, and says where it is now."""

    def __init__(self, now: str) -> None:
        self._now = now
        self._spec: ModuleSpec | None = None

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        """Of a module that has moved; None for all others (`importlib.abc.MetaPathFinder`)."""
        now = _MOVED.get(name)
        if now is None:
            return None
        import importlib.util  # noqa: PLC0415 - hardly anybody imports an old path
        import warnings  # noqa: PLC0415

        warnings.warn(f"{name} has moved: import {now} instead.", DeprecationWarning, stacklevel=2)
        return importlib.util.spec_from_loader(name, _Moved(now))  # type: ignore[arg-type] # it need not be of `importlib.abc`

    def create_module(self, _: ModuleSpec) -> ModuleType:
        """The module itself, not a second one."""
        import importlib  # noqa: PLC0415

        module = importlib.import_module(self._now)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It is executed already; whoever imports it has given it the old path's spec."""
        module.__spec__ = self._spec


# First, since the path of a package that has moved would find its modules again.
sys.meta_path.insert(0, _Moved)
