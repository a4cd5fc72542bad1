"""The port to a memory of the user's choice, beside the two files. A plugin in the home brings one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from tools.registry import ToolEntry


@runtime_checkable
class MemoryProvider(Protocol):
    """One session's access to a memory elsewhere.

    Every method but `name` and `tools` is called on one thread of the session's own, in order; each may block and may
    fail: no turn is hurt by it. A call that takes too long is not waited for.
    """

    @property
    def name(self) -> str:
        """What `memory.provider` calls it."""
        ...

    def is_available(self) -> bool:
        """Whether it can be used: its keys are there, its service answers."""
        ...

    def begin_session(self, session_id: str) -> None:
        """A session begins, or goes on after it was unloaded. Nothing else is called before."""
        ...

    def prefetch(self, query: str) -> str:
        """What may help with the prompt `query`, as text; '' for nothing."""
        ...

    def sync_turn(self, user: str, assistant: str) -> None:
        """A turn is over: what the user said, and the model's last word."""
        ...

    def on_session_end(self) -> None:
        """The session is closed, unloaded, or the program ends: commit what is pending."""
        ...

    def tools(self) -> Sequence[ToolEntry]:
        """Tools that it adds to the session; called once, after `begin_session`."""
        ...

    def shutdown(self) -> None:
        """Let go of connections; nothing is called afterwards."""
        ...


MakeProvider = Callable[[], MemoryProvider]
"""Makes the provider of one session."""
