"""The tools of all servers of a session, as the model gets them: each by itself, or behind a search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from agent_core.mcp.entries import resource_entries, search_entries, tool_entries
from agent_core.mcp.names import tool_names
from agent_core.mcp.offers import OfferedTool, Snapshot
from agent_core.providers.choice import USUAL_WINDOW, is_small
from agent_core.settings.mcp import ToolSearch
from tools.registry import ToolEntry
from tools.toolsets import find

_SIGNS_OF_TOKEN = 4


class ToolShelf:
    """Makes entries of what servers offer. An entry stays the same object while its tool does.

    Args:
        labels: servers' names to those that tools' names begin with.
        search, share: when the tools are put behind a search: «auto» for from that share of the window on.
    """

    def __init__(self, labels: Mapping[str, str], search: ToolSearch = "auto", share: float = 0.1) -> None:
        self._labels = labels
        self._search = search
        self._share = share
        self._window = USUAL_WINDOW
        self._apart = False
        self._made: dict[str, tuple[tuple[OfferedTool, ...], tuple[ToolEntry, ...]]] = {}
        self._tools: tuple[ToolEntry, ...] = ()
        self._by_name: Mapping[str, tuple[str, str]] = {}
        self._resources: tuple[ToolEntry, ...] = ()
        self._searching: tuple[ToolEntry, ...] = ()
        self.entries: tuple[ToolEntry, ...] = ()

    def fit(self, window: int | None) -> None:
        """The model takes so many tokens. Tools that are behind the search stay there.

        In a small window all tools but a few are behind one, these too: they need no search of their own.
        """
        self._apart = is_small(window) and self._search != "on"
        if not self._apart:
            self._window = window or USUAL_WINDOW
        self._arrange()

    def update(self, servers: Mapping[str, Snapshot]) -> None:
        """What the servers offer now."""
        entries: list[ToolEntry] = []
        by_name: dict[str, tuple[str, str]] = {}
        for server, now in servers.items():
            entries += self._entries_of(server, now.tools)
            names = tool_names(self._labels[server], (tool.name for tool in now.tools))
            by_name |= {name: (server, tool) for tool, name in names.items()}
        self._tools = tuple(sorted(entries, key=lambda entry: entry.name))
        self._by_name = by_name
        # Once there, they stay: each change costs the model's server what it has kept of the conversation.
        if not self._resources and any(now.resources for now in servers.values()):
            self._resources = resource_entries()
        self._arrange()

    def locate(self, name: str) -> tuple[str, str] | None:
        """The server and the tool that a name means."""
        return self._by_name.get(name)

    def find(self, query: str) -> str:
        """The tools that fit best, as JSON lines; words for where there are none."""
        return find(self._tools, query)

    def _entries_of(self, server: str, tools: tuple[OfferedTool, ...]) -> tuple[ToolEntry, ...]:
        known = self._made.get(server)
        if known is None or known[0] != tools:
            known = self._made[server] = (tools, tuple(tool_entries(server, self._labels[server], tools)))
        return known[1]

    def _arrange(self) -> None:
        if self._apart:
            self.entries = (*self._tools, *self._resources)
            return
        if not self._searching and self._is_too_long():
            self._searching = search_entries(self._labels)
        self.entries = (*(self._searching or self._tools), *self._resources)

    def _is_too_long(self) -> bool:
        if self._search != "auto" or not self._tools:
            return self._search == "on" and bool(self._tools)
        return _length(self._tools) > self._share * self._window * _SIGNS_OF_TOKEN


def _length(entries: Sequence[ToolEntry]) -> int:
    return sum(len(json.dumps(entry.definition(), ensure_ascii=False, default=str)) for entry in entries)
