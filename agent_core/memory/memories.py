"""The memories of one process's sessions: made with their services, ended when they are let go of, or at the exit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.memory.hosting import ProviderHost
from agent_core.memory.provider import MakeProvider
from agent_core.memory.session_memory import SessionMemory
from agent_core.memory.store import MemoryStore

if TYPE_CHECKING:
    from agent_core.settings.memory import MemoryPart

_AT_EXIT = 3.0


class Memories:
    """By session; safe to use from several threads."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._live: dict[str, list[SessionMemory]] = {}
        self._lock = threading.Lock()

    def of(
        self, session_id: str, settings: MemoryPart, providers: Mapping[str, MakeProvider]
    ) -> SessionMemory | None:
        """The memory of a session, not read yet; None where the settings switch all of it off.

        Args:
            providers: those that plugins offer, by name.
        """
        if not settings.has_files and not settings.provider:
            return None

        def start(tell: Callable[[str], None]) -> ProviderHost | None:
            make = providers.get(settings.provider)
            if make is not None:
                return ProviderHost(settings.provider, make, session_id, tell)
            if settings.provider:
                tell(_missing(settings.provider, sorted(providers)))
            return None

        memory = SessionMemory(
            MemoryStore(self._home, settings.limits), start, recall_seconds=settings.recall_timeout
        )
        with self._lock:
            self._live.setdefault(session_id, []).append(memory)
        return memory

    def end(self, session_id: str) -> None:
        """A session is let go. Blocks for seconds where its provider hangs."""
        with self._lock:
            ending = self._live.pop(session_id, [])
        for memory in ending:
            memory.end()

    def end_all(self) -> None:
        """The program ends. Blocks for `_AT_EXIT` seconds at most."""
        with self._lock:
            ending = [memory for each in self._live.values() for memory in each]
            self._live.clear()
        # Side by side: one that hangs takes no time from the others.
        threads = [threading.Thread(target=memory.end, args=(_AT_EXIT,), daemon=True) for memory in ending]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_AT_EXIT)


def _missing(wanted: str, known: list[str]) -> str:
    there = f"There are: {', '.join(known)}." if known else "No plugin of the home offers one."
    return (
        f"The memory provider {wanted!r} (memory.provider in config.yaml) is not there. {there} "
        "The session goes on without it."
    )
