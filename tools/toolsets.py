"""Which tools a model is told of: toolsets, the definitions, and the tools that are found and called by name."""

from __future__ import annotations

import difflib
import importlib
import json
import logging
import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.agent_ports import CALL_BY_NAME
from tools.registry import MCP, Toolbox, ToolEntry, Toolset, registry
from tools.result import ToolResult, error

log = logging.getLogger(__name__)

# Finds the tool files of a package by their text, so that only they are imported.

# At the top level, where no line is indented. To parse all files would be a tenth of a start.
_REGISTERS = re.compile(r"^registry\.register\(", re.MULTILINE)


def discover(package: str, folder: Path) -> dict[str, BaseException]:
    """Import every module of `folder` that registers a tool at its top level; one that fails stops no other.

    Returns:
        module name → what its import raised, for those that failed.
    """
    failures: dict[str, BaseException] = {}
    for path in _registering_files(folder):
        module = f"{package}.{path.stem}"
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as problem:
            log.exception("tool module %s could not be imported", module)
            failures[module] = problem
    return failures


def _registering_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*.py")):
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            log.warning("tool file %s could not be read", path, exc_info=True)
            continue
        if _REGISTERS.search(source):
            yield path


# Named groups of tools, and the definitions that a model is told of a selection of them.

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

_discovery = threading.Lock()
_discovered = False
_warned: set[str] = set()  # it would be said at each request else


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
    enabled = (DEFAULT,) if enabled is None else enabled
    known = _Known(toolbox)
    if not quiet:
        for sentence in set(_wrong((*enabled, *disabled), known)) - _warned:
            log.warning("%s", sentence)
            _warned.add(sentence)
    without = {tool for name in disabled for tool in known.members(name)}
    if _COMMANDS in without and _PROGRAMS.isdisjoint(map(known.meant, enabled)):
        without |= _PROGRAMS
    wanted = {tool for name in enabled for tool in known.members(name)} - without
    return [entry for entry in known.entries if entry.name in wanted and entry.available()]


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
    entries = select(enabled, disabled, toolbox, quiet=quiet)
    offered = frozenset(entry.name for entry in entries)
    return [json.loads(json.dumps(entry.definition(offered), default=str)) for entry in entries]


def wrong_names(names: Iterable[str], toolbox: Toolbox | None = None) -> list[str]:
    """A sentence for each name that neither a toolset nor a tool has, with the nearest one that is."""
    return _wrong(names, _Known(toolbox))


class _Known:
    """The tools and toolsets as they are now, merged; a session's own tools are the last of `entries`."""

    def __init__(self, toolbox: Toolbox | None) -> None:
        load_tools()
        registered, extra = registry.entries(), toolbox.extra() if toolbox is not None else ()
        self.entries = (*registered, *extra)
        self.tools = {entry.name for entry in self.entries}
        self.servers = {entry.name for entry in self.entries if entry.toolset.startswith(MCP)}
        self.guests = {entry.name for entry in registered if entry.source} | {entry.name for entry in extra}
        self.groups: Mapping[str, Toolset] = {**registry.toolsets(), **TOOLSETS}
        self.own: dict[str, set[str]] = {}
        for entry in self.entries:
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


# Tools that are not in the model's list: found by words, described, and called by their names. Where a model's window
# has no room for the definitions of all tools, one tool stands for the rest. A call of it that names a tool is a call
# of that tool: it is taken apart before it runs, so that checks, cards and permissions are those of the tool itself.

MORE_TOOLS = "more_tools"
"""The tool that stands for those that are not in the list."""

DIRECT = ("read_file", "search_files", "patch", "write_file", "terminal")
"""The tools in a small window's list: enough to look, to change and to check."""

LEFT_OUT = frozenset({"browser", "skills", "recall"})
"""Toolsets that a small window has no room for: what their tools give fills it."""

_FEW_CHARS = 5_000
"""Definitions that are no longer are all told: to put them behind another tool would save nothing."""

_SELDOM: Mapping[str, Collection[str]] = {
    "search_files": ("type", "offset", "output_mode", "multiline", "include_ignored"),
    "terminal": ("pty", "watch_patterns"),
}

_MOST_FOUND = 8
_LONGEST_FOUND = 12_000
_SHORTEST_PART = 3
_LONGEST_NAMES, _MANY = 600, 4
_LONGEST_LINE = 100
_WORD = re.compile(r"[a-z0-9]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s")


def meant(name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The tool that a call is of, and its arguments, where it calls another one by its name."""
    if name == CALL_BY_NAME or (name == MORE_TOOLS and isinstance(arguments.get("name"), str)):
        given = arguments.get("arguments")
        return str(arguments.get("name")), given if isinstance(given, Mapping) else {}
    return name, arguments


def called(arguments: Mapping[str, Any], entries: Sequence[ToolEntry]) -> tuple[str, dict[str, Any]] | None:
    """What a call of `more_tools` calls, by name and arguments; None where it is a question about tools.

    Arguments that stand beside the name, or are the text of an object, are understood: small models write them so.
    """
    name = arguments.get("name")
    entry = next((each for each in entries if each.name == name), registry.get(name) if name in DIRECT else None)
    if entry is None:
        return None
    given = arguments.get("arguments")
    if isinstance(given, str):
        given = _object(given)
    if isinstance(given, Mapping):
        return entry.name, dict(given)
    beside = {key: value for key, value in arguments.items() if key not in {"name", "arguments"}}
    takes = entry.schema.get("properties", {})
    if given is None and beside and set(beside) <= set(takes):
        return entry.name, beside
    if given is None and not beside and not entry.schema.get("required"):
        return entry.name, {}
    return None


def small_choice(
    definitions: Sequence[dict[str, Any]], entries: Sequence[ToolEntry]
) -> tuple[list[dict[str, Any]], tuple[ToolEntry, ...]]:
    """The definitions that a small window has room for, and the tools that are then not in its list.

    Args:
        definitions: of all `entries`, in their order.
    """
    kept = [(told, entry) for told, entry in zip(definitions, entries, strict=True) if entry.toolset not in LEFT_OUT]
    definitions, entries = [told for told, _ in kept], [entry for _, entry in kept]
    behind = tuple(entry for entry in entries if entry.name not in DIRECT)
    if sum(len(json.dumps(each, ensure_ascii=False)) for each in definitions) <= _FEW_CHARS or not behind:
        return list(definitions), ()
    told = [_lean(each) for each in definitions if each["function"]["name"] in DIRECT]
    return [*told, more_tools_entry(behind).definition()], behind


def _lean(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The definition without what is seldom wanted; the tool takes that all the same."""
    function = definition["function"]
    parameters, seldom = function["parameters"], _SELDOM.get(function["name"], ())
    properties = {name: schema for name, schema in parameters["properties"].items() if name not in seldom}
    return {**definition, "function": {**function, "parameters": {**parameters, "properties": properties}}}


def more_tools_entry(entries: Sequence[ToolEntry]) -> ToolEntry:
    """The tool that stands for `entries`."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Tool to call"},
            "arguments": {"type": "object", "description": "Its arguments, as its schema says"},
            "query": {"type": "string", "description": "Instead: words to find tools by, with their schemas"},
        },
    }

    def handle(arguments: dict[str, Any], **_: Any) -> ToolResult:
        return _told(arguments, entries)

    return ToolEntry(
        MORE_TOOLS,
        MORE_TOOLS,
        schema,
        handle,
        f"Further tools: {_names(entries)}. Give `query` to see what they take; `name` and `arguments` call one.",
        parallel="safe",
    )


def find(entries: Sequence[ToolEntry], query: str) -> str:
    """The tools that fit best, as JSON lines; words for where there are none."""
    found = sorted(_ranked(entries, query), key=lambda each: (-each[0], each[1].name))[:_MOST_FOUND]
    lines: list[str] = []
    length = 0
    for _, entry in found:
        line = described(entry)
        length += len(line)
        if lines and length > _LONGEST_FOUND:
            break
        lines.append(line)
    if lines:
        return "\n".join(lines)
    known = ", ".join(entry.name for entry in entries[:100]) or "none"
    return f"No tool fits {query!r}. There are: {known}."


def described(entry: ToolEntry, offered: Collection[str] = ()) -> str:
    """A tool with all that it takes, as a JSON line."""
    function = entry.definition(frozenset(offered))["function"]
    told = {"name": entry.name, "description": function["description"], "arguments": function["parameters"]}
    return json.dumps(told, ensure_ascii=False, default=str)


def _told(arguments: Mapping[str, Any], entries: Sequence[ToolEntry]) -> ToolResult:
    """The answer to a question about tools; a call never gets here."""
    name, query = arguments.get("name"), str(arguments.get("query") or "").strip()
    if name:
        entry = next((each for each in entries if each.name == name), None)
        if entry is None:
            return error(f"There is no tool {name!r}. {find(entries, str(name))}")
        return _by_others(
            ToolResult(f"To call it, give `arguments` as its schema says.\n{described(entry)}"), entries
        )
    if not query:
        text = "\n".join(f"{entry.name}: {_first_sentence(entry.description)}" for entry in entries)
        return _by_others(ToolResult(text), entries)
    return _by_others(ToolResult(find(entries, query)), entries)


def _by_others(result: ToolResult, entries: Sequence[ToolEntry]) -> ToolResult:
    """What servers say of their tools is their words."""
    shown = any(entry.toolset.startswith("mcp") and entry.name in result.text for entry in entries)
    return ToolResult(result.text, untrusted=shown)


def _names(entries: Sequence[ToolEntry]) -> str:
    """The names as far as there is room for them; many that belong together and begin alike are one."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        groups.setdefault(entry.toolset, []).append(entry.name)
    found: list[str] = []
    for names in groups.values():
        alike = _beginning(names)
        found += [f"{alike}*"] if len(names) > _MANY and len(alike) >= _SHORTEST_PART else names
    told: list[str] = []
    for name in sorted(found):
        if sum(map(len, told)) + len(name) > _LONGEST_NAMES:
            return f"{', '.join(told)} and {len(found) - len(told)} more"
        told.append(name)
    return ", ".join(told)


def _beginning(names: Sequence[str]) -> str:
    """What all of them begin with, up to a part's end."""
    first, last = min(names), max(names)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: first.rfind("_", 0, same) + 1]


def _ranked(entries: Sequence[ToolEntry], query: str) -> Iterator[tuple[float, ToolEntry]]:
    words = set(_WORD.findall(query.lower()))
    for entry in entries:
        named = _WORD.findall(entry.name.lower())
        text = set(_WORD.findall(entry.description.lower()))
        takes = {part for name in entry.schema.get("properties", {}) for part in _WORD.findall(name.lower())}
        score = 3.0 * sum(_fits(word, named) for word in words)
        score += sum(word in text for word in words) + 0.5 * sum(word in takes for word in words)
        score += 100.0 * (entry.name.lower() == query.strip().lower())
        if score:
            yield score, entry


def _fits(word: str, parts: Sequence[str]) -> float:
    if word in parts:
        return 1.0
    longer = [part for part in parts if len(part) >= _SHORTEST_PART]
    return 0.5 if any(part.startswith(word) or word.startswith(part) for part in longer) else 0.0


def _first_sentence(text: str) -> str:
    sentence = _SENTENCE.split(" ".join(text.split()), maxsplit=1)[0]
    return sentence if len(sentence) <= _LONGEST_LINE else f"{sentence[: _LONGEST_LINE - 1].rstrip()}…"


def _object(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
