"""The tools that one session has: those of the registry, and those that come with it (its MCP servers')."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.registry import ToolEntry, registry

ExtraTools = Callable[[], Sequence[ToolEntry]]


class Toolbox:
    """Names to tools, as one session sees them. A tool of the registry is never replaced by an extra one."""

    def __init__(self, extra: ExtraTools = tuple) -> None:
        """Make it.

        Args:
            extra: the tools that the session has beside the registry's, as they are now.
        """
        self._extra = extra

    def get(self, name: str) -> ToolEntry | None:
        """The tool of that name."""
        found = registry.get(name)
        if found is not None:
            return found
        return next((entry for entry in self._extra() if entry.name == name), None)

    def plus(self, entry: ToolEntry) -> Toolbox:
        """The same with one more."""
        return Toolbox(lambda: (*self._extra(), entry))

    def extra(self) -> Sequence[ToolEntry]:
        """The tools beside the registry's, by name."""
        return sorted(
            (entry for entry in self._extra() if registry.get(entry.name) is None), key=lambda entry: entry.name
        )
