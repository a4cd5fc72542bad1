"""Named groups of tools, and the definitions that a model is told of a selection of them."""

from __future__ import annotations

import difflib
import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.calling.discovery import discover
from tools.registry import MCP, ToolEntry, Toolset, registry
from tools.toolbox import Toolbox

log = logging.getLogger(__name__)

DEFAULT = "hermes-acp"

_CORE = (
    *("files", "terminal", "planning", "recall", "web", "code", "vision", "browser", "memory", "skills"),
    "code_execution",
    "delegation",
)

TOOLSETS: dict[str, Toolset] = {
    "hermes-acp": Toolset("What an editor's session has.", includes=_CORE, is_open=True),
    "hermes-cli": Toolset("What a session in a terminal has.", includes=_CORE, is_open=True),
    "files": Toolset("Reading, searching and changing files."),
    "terminal": Toolset("Running commands."),
    "planning": Toolset("The plan, and questions to the person."),
    "recall": Toolset("Searching earlier sessions."),
    "web": Toolset("Searching and reading the web."),
    "code": Toolset("An outline of the workspace."),
    "vision": Toolset("Looking at images."),
    "browser": Toolset("Using a web browser."),
    "memory": Toolset("Remembering over sessions."),
    "skills": Toolset("Instructions for kinds of work, kept in files."),
    "code_execution": Toolset("Programs that call tools."),
    "delegation": Toolset("Sub-agents that do work which stands alone."),
    "search": Toolset("Searching the web only.", tools=("web_search",)),
    "debugging": Toolset("Finding out what is wrong.", includes=("files", "terminal", "web")),
    "safe": Toolset("Without commands and files.", includes=("web", "vision")),
}
"""Toolsets that this program knows: presets, its own ones, and groups that other programs' settings name."""

_ALIASES = {"file": "files", "all": DEFAULT, "*": DEFAULT, "repo": "code"}
_LEGACY_ENDING = "_tools"
# Of other programs that share the home: no mistake, and nothing here.
_OF_OTHERS = frozenset({"cronjob", "homeassistant", "image_gen", "moa", "rl", "tts"})
_ALL_MCP = "mcp"
# Whoever takes commands away wants no programs either, which can run them, unless they are asked for by name.
_PROGRAMS, _COMMANDS = frozenset({"execute_code", "code_execution"}), "terminal"
_MOST_REMEMBERED = 64

_discovery = threading.Lock()
_discovered = False


def load_builtin_tools() -> None:
    """Import the tool files of this package, once."""
    global _discovered  # noqa: PLW0603 - discovery fills the process-wide registry exactly once
    with _discovery:
        if not _discovered:
            discover("tools", Path(__file__).parent)
            _discovered = True


def load_tools() -> None:
    """Import the tool files of this package and the user's own, once. It may take seconds: not for a loop."""
    load_builtin_tools()
    registry.load()


def select(
    enabled: Sequence[str] | None = None,
    disabled: Sequence[str] = (),
    toolbox: Toolbox | None = None,
    *,
    quiet: bool = True,
) -> list[ToolEntry]:
    """The available tools of the `enabled` toolsets without those of the `disabled` ones, by name.

    The tools that a session's `toolbox` has beside the registry's follow.

    Args:
        enabled, disabled: names of toolsets or single tools; None enables `hermes-acp`.
        quiet: a name that nothing here has is passed over without a warning.
    """
    load_tools()
    extra = tuple(toolbox.extra()) if toolbox is not None else ()
    wanted = (DEFAULT,) if enabled is None else tuple(enabled)
    chosen = _chosen(wanted, tuple(disabled), extra, quiet=quiet)
    return [entry for entry in chosen if entry.available()]


def get_tool_definitions(
    enabled: Sequence[str] | None = None,
    disabled: Sequence[str] = (),
    quiet: bool = False,
    *,
    toolbox: Toolbox | None = None,
) -> list[dict[str, Any]]:
    """What the model is told of these toolsets, in an order that keeps the request's prefix the same.

    Each caller gets objects of its own. The arguments are those of `select`.
    """
    entries = tuple(select(enabled, disabled, toolbox, quiet=quiet))
    offered = frozenset(entry.name for entry in entries)
    key = ("definitions", registry.generation, tuple(map(id, entries)))
    # The entries are remembered too: while they live, no other has their ids.
    known = registry.memo.get(key)
    if known is None:
        known = _remember(key, (entries, [_written(entry, offered) for entry in entries]))
    return [json.loads(text) if text else entry.definition(offered) for entry, text in zip(*known, strict=True)]


def is_toolset_available(name: str, toolbox: Toolbox | None = None) -> bool:
    """Whether a tool of the toolset can be used now."""
    return bool(select((name,), (), toolbox))


def wrong_names(names: Iterable[str], toolbox: Toolbox | None = None) -> list[str]:
    """A sentence for each name that neither a toolset nor a tool has, with the nearest one that is."""
    load_tools()
    extra = tuple(toolbox.extra()) if toolbox is not None else ()
    return _wrong(names, _Known(registry.entries(), extra))


class _Known:
    """The tools and toolsets as they are now, merged."""

    def __init__(self, registered: Sequence[ToolEntry], extra: Sequence[ToolEntry]) -> None:
        entries = (*registered, *extra)
        self.tools = {entry.name for entry in entries}
        self.servers = {entry.name for entry in entries if entry.toolset.startswith(MCP)}
        self.guests = {entry.name for entry in registered if entry.source} | {entry.name for entry in extra}
        self.groups: Mapping[str, Toolset] = {**registry.toolsets(), **TOOLSETS}
        self.own: dict[str, set[str]] = {}
        for entry in entries:
            self.own.setdefault(entry.toolset, set()).add(entry.name)

    def members(self, name: str, seen: frozenset[str] = frozenset()) -> set[str]:
        """The names of the tools that `name` stands for; none for a name that nothing has."""
        name = self.meant(name)
        if name in seen:
            return set()
        found = set(self.own.get(name, ()))
        if name in self.tools and name not in self.groups:
            found.add(name)
        group = self.groups.get(name, Toolset())
        found |= self.tools.intersection(group.tools)
        for part in group.includes:
            found |= self.members(part, seen | {name})
        if name == _ALL_MCP:
            found |= self.servers
        return found | self.servers | self.guests if group.is_open else found

    def meant(self, name: str) -> str:
        """The toolset's name of today for one that was used earlier or elsewhere."""
        if self.has(name):
            return name
        stem = name.removesuffix(_LEGACY_ENDING)
        return next((known for known in (_ALIASES.get(stem, stem), f"{stem}s") if self.has(known)), name)

    def has(self, name: str) -> bool:
        """Whether anything has that name."""
        return name in self.groups or name in self.own or name in self.tools or name == _ALL_MCP


def _chosen(
    enabled: tuple[str, ...], disabled: tuple[str, ...], extra: tuple[ToolEntry, ...], *, quiet: bool
) -> tuple[ToolEntry, ...]:
    key = ("chosen", registry.generation, enabled, disabled, tuple(map(id, extra)), quiet)
    remembered = registry.memo.get(key)
    if remembered is not None:
        chosen: tuple[ToolEntry, ...] = remembered[1]
        return chosen
    registered = registry.entries()
    known = _Known(registered, extra)
    if not quiet:
        for sentence in _wrong((*enabled, *disabled), known):
            log.warning("%s", sentence)
    without = {tool for name in disabled for tool in known.members(name)}
    if _COMMANDS in without and _PROGRAMS.isdisjoint(map(known.meant, enabled)):
        without |= _PROGRAMS
    wanted = {tool for name in enabled for tool in known.members(name)} - without
    chosen = tuple(entry for entry in (*registered, *extra) if entry.name in wanted)
    _remember(key, (extra, chosen))
    return chosen


def _wrong(names: Iterable[str], known: _Known) -> list[str]:
    sentences = []
    for name in dict.fromkeys(names):
        meant = known.meant(name)
        # A server's tools come once it is connected.
        if known.has(meant) or meant.startswith(MCP) or meant.removesuffix(_LEGACY_ENDING) in _OF_OTHERS:
            continue
        near = difflib.get_close_matches(name, {*known.groups, *known.own, *known.tools}, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known.groups))}."
        sentences.append(f"There is no toolset {name!r}: {hint}")
    return sentences


def _written(entry: ToolEntry, offered: frozenset[str]) -> str:
    """The definition as JSON; '' for one that is another each time."""
    if entry.dynamic_schema_overrides is not None:
        return ""
    return json.dumps(entry.definition(offered), ensure_ascii=False, default=str)


def _remember(key: object, value: Any) -> Any:
    if len(registry.memo) >= _MOST_REMEMBERED:
        registry.memo.clear()
    registry.memo[key] = value
    return value
