"""The tools of all servers of a session, as the model gets them: each by itself, or behind a search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from agent_core.mcp.entries import resource_entries, search_entries, tool_entries
from agent_core.mcp.names import tool_names
from agent_core.mcp.offers import OfferedTool, Snapshot
from agent_core.settings.mcp import ToolSearch
from tools.registry import ToolEntry

_SIGNS_OF_TOKEN = 4
_USUAL_WINDOW = 128_000
_MOST_FOUND = 8
_LONGEST_FOUND = 12_000
_SHORTEST_PART = 3
_WORD = re.compile(r"[a-z0-9]+")


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
        self._window = _USUAL_WINDOW
        self._made: dict[str, tuple[tuple[OfferedTool, ...], tuple[ToolEntry, ...]]] = {}
        self._tools: tuple[ToolEntry, ...] = ()
        self._by_name: Mapping[str, tuple[str, str]] = {}
        self._resources: tuple[ToolEntry, ...] = ()
        self._searching: tuple[ToolEntry, ...] = ()
        self.entries: tuple[ToolEntry, ...] = ()

    def fit(self, window: int | None) -> None:
        """The model takes so many tokens. Tools that are behind the search stay there."""
        self._window = window or _USUAL_WINDOW
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
        found = sorted(self._ranked(query), key=lambda each: (-each[0], each[1].name))[:_MOST_FOUND]
        lines: list[str] = []
        length = 0
        for _, entry in found:
            line = json.dumps(_told(entry), ensure_ascii=False)
            length += len(line)
            if lines and length > _LONGEST_FOUND:
                break
            lines.append(line)
        if lines:
            return "\n".join(lines)
        known = ", ".join(entry.name for entry in self._tools[:100]) or "none"
        return f"No tool fits {query!r}. There are: {known}."

    def _ranked(self, query: str) -> Iterator[tuple[float, ToolEntry]]:
        words = set(_WORD.findall(query.lower()))
        for entry in self._tools:
            named = _WORD.findall(entry.name.lower())
            described = set(_WORD.findall(entry.description.lower()))
            arguments = {part for name in entry.schema.get("properties", {}) for part in _WORD.findall(name.lower())}
            score = 3.0 * sum(_fits(word, named) for word in words)
            score += sum(word in described for word in words) + 0.5 * sum(word in arguments for word in words)
            score += 100.0 * (entry.name.lower() == query.strip().lower())
            if score:
                yield score, entry

    def _entries_of(self, server: str, tools: tuple[OfferedTool, ...]) -> tuple[ToolEntry, ...]:
        known = self._made.get(server)
        if known is None or known[0] != tools:
            known = self._made[server] = (tools, tuple(tool_entries(server, self._labels[server], tools)))
        return known[1]

    def _arrange(self) -> None:
        if not self._searching and self._is_too_long():
            self._searching = search_entries(self._labels)
        self.entries = (*(self._searching or self._tools), *self._resources)

    def _is_too_long(self) -> bool:
        if self._search != "auto" or not self._tools:
            return self._search == "on" and bool(self._tools)
        return _length(self._tools) > self._share * self._window * _SIGNS_OF_TOKEN


def _length(entries: Sequence[ToolEntry]) -> int:
    return sum(len(json.dumps(entry.definition(), ensure_ascii=False, default=str)) for entry in entries)


def _told(entry: ToolEntry) -> Mapping[str, object]:
    return {"name": entry.name, "description": entry.description, "arguments": entry.schema}


def _fits(word: str, parts: Sequence[str]) -> float:
    if word in parts:
        return 1.0
    longer = [part for part in parts if len(part) >= _SHORTEST_PART]
    return 0.5 if any(part.startswith(word) or word.startswith(part) for part in longer) else 0.0
