"""Tools that are not in the model's list: found by words, described, and called by their names.

Where a model's window has no room for the definitions of all tools, one tool stands for the rest. A call of it that
names a tool is a call of that tool: it is taken apart before it runs, so that checks, cards and permissions are those
of the tool itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tools.mcp_port import CALL_BY_NAME
from tools.registry import ToolEntry, registry
from tools.result import ToolResult, error

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
