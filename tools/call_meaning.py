"""Which tool a call means, and with which arguments, where a model uses the names of another agent.

A call is read before anything judges it: permissions, hooks, cards and the history see the tool that it is of.
Nothing is guessed: what does not plainly map is answered with the right tool and an example of a call.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tools.arguments import checked
from tools.light_dataclass import dataclass
from tools.patching.v4a import paths_of
from tools.registry import MCP, ToolEntry
from tools.tool_aliases import (
    ARGUMENTS,
    EXAMPLES,
    PREFIXES,
    REMARKS,
    TOOLS,
    Alias,
    As,
    Unclear,
    compared,
    named_as_ours,
)
from tools.toolsets import MORE_TOOLS

Find = Callable[[str], ToolEntry | None]
# What servers leave in a name: Harmony's marks, Kimi's count, a call's parentheses.
_BEHIND = re.compile(r"(?:<\|.*|:\d+|\(.*\))$", re.DOTALL)
_PREFIX = re.compile(rf"(?:{'|'.join(PREFIXES)})[\W_]+", re.IGNORECASE)
_EDITOR_COMMANDS = {"view": "read_file", "create": "write_file", "strreplace": "patch"}
_EDITORS = frozenset(
    {"strreplaceeditor", "strreplacebasededittool", "texteditor", "strreplacebasededit", "fileeditor"}
)
_DELETES = frozenset({"deletefile", "removefile", "rmfile", "unlink", "filedelete"})
# A command that may take so many seconds is rarer than one whose time is in milliseconds.
_LEAST_MILLISECONDS = 5000
_FILE_SEARCH = frozenset({"pattern", "regex", "path", "glob", "include", "fileglob"})
# What these tools do not take makes their result another at most, and that is said with it.
_LOOK_ONLY = frozenset({"read_file", "search_files"})
_MOST_NEAR, _MOST_NAMED = 3, 40


@dataclass(frozen=True, slots=True)
class Meant:
    """What a call means.

    Attributes:
        note: what the model should know of the names that it used; '' where it is nothing.
    """

    name: str
    arguments: dict[str, Any]
    note: str = ""


def meant_call(name: str, arguments: Mapping[str, Any], offered: Collection[str], find: Find) -> Meant:
    """The call that is meant; the same one where it is not known better.

    Args:
        offered: the names of the tools that can be called: nothing else is ever meant.
        find: the session's tools by name, also those that are not offered.
    """
    real = real_name(name, offered)
    if real is None and find(name) is None and (alias := _alias(name)) is not None:
        meant = _by_alias(name, alias, arguments, offered, find)
        return meant or Meant(name, dict(arguments))
    real = real or name
    return Meant(real, _named_as_ours(find(real), arguments))


def understood(name: str, arguments: Mapping[str, Any], offered: Collection[str], find: Find) -> Meant | None:
    """The call that is meant, where it is another than the one that was made.

    A call of `more_tools` that names a tool is looked at for that tool.
    """
    inner = arguments.get("name")
    if real_name(name, offered) == MORE_TOOLS and isinstance(inner, str):
        given = arguments.get("arguments")
        meant = understood(inner, given if isinstance(given, Mapping) else {}, offered, find)
        if meant is None:
            return None
        wrapped = {**arguments, "name": meant.name}
        if isinstance(given, Mapping):
            wrapped["arguments"] = meant.arguments
        return Meant(MORE_TOOLS, wrapped, meant.note)
    meant = meant_call(name, arguments, offered, find)
    return None if (meant.name, meant.arguments) == (name, arguments) else meant


def real_name(name: str, offered: Collection[str]) -> str | None:
    """The offered tool whose name differs from `name` in case, punctuation or a usual prefix alone; None for none."""
    if name in offered:
        return name
    for form in _forms(name):
        same = [known for known in offered if compared(known) == form]
        if same:
            return same[0] if len(same) == 1 else None
    return None


def announced_name(name: str, offered: Collection[str], find: Find) -> str:
    """The tool that a call will be of, as far as its name alone tells."""
    real = real_name(name, offered)
    if real is not None or find(name) is not None or (alias := _alias(name)) is None or not alias.runs:
        return real or name
    if compared(_bare(name)) in _EDITORS | {"search"}:
        return name
    return next((tool for tool in alias.tools if tool in offered), name)


def instead(name: str, offered: Collection[str], find: Find) -> str:
    """The answer to a call of a tool that does not exist: what to call in its place, and how."""
    there_is_none = f"There is no tool {name!r}"
    if not offered:
        return f"{there_is_none}: no tools are available."
    alias = _alias(name)
    if alias is not None and not alias.tools:
        return f"{there_is_none}. {alias.hint}"
    known = [tool for tool in alias.tools if tool in offered] if alias is not None else []
    if alias is not None and known:
        hint = f" {alias.hint}" if alias.hint and known[0] == alias.tools[0] else ""
        return f"{there_is_none}. Call {known[0]}{_example(find(known[0]))}.{hint}"
    near = difflib.get_close_matches(name, sorted(offered), n=_MOST_NEAR, cutoff=0.6)
    if near:
        return f"{there_is_none}. Did you mean: {', '.join(near)}?"
    rest = f" and {len(offered) - _MOST_NAMED} more" if len(offered) > _MOST_NAMED else ""
    return f"{there_is_none}. There are: {', '.join(sorted(offered)[:_MOST_NAMED])}{rest}."


def _forms(name: str) -> Iterator[str]:
    """The name as it is compared: as it stands, and without what stands before or behind it."""
    yield compared(name)
    yield compared(_bare(name))


def _bare(name: str) -> str:
    bare = _BEHIND.sub("", name.strip())
    while (prefix := _PREFIX.match(bare)) is not None and prefix.end() < len(bare):
        bare = bare[prefix.end() :]
    return bare


def _alias(name: str) -> Alias | None:
    return next((TOOLS[form] for form in _forms(name) if form in TOOLS), None)


def _is_ours(entry: ToolEntry | None) -> bool:
    return entry is not None and not entry.source and not entry.toolset.startswith(MCP)


def _by_alias(
    name: str, alias: Alias, arguments: Mapping[str, Any], offered: Collection[str], find: Find
) -> Meant | None:
    """The call of one of our tools that the alias means; None where it does not plainly mean one."""
    tool, given = _chosen(compared(_bare(name)), alias, dict(arguments), offered)
    entry = find(tool) if tool in offered else None
    if entry is None or not _is_ours(entry):
        return None
    properties = entry.schema["properties"]
    fixed = {key: value for key, value in alias.fixed.items() if key in properties}
    target = {"target": fixed["target"]} if "target" in fixed else {}
    try:
        ours = {**fixed, **named_as_ours(tool, {**target, **given}, properties)}
    except Unclear:
        return None
    ready = checked(entry, ours)
    if ready.problem or (ready.note and tool not in _LOOK_ONLY) or not _says_enough(tool, ready.arguments):
        return None
    ours = ready.arguments
    note = f"`{name}` is `{tool}` here."
    return Meant(tool, ours, f"{note} {_seconds_of(tool, ours)}".rstrip())


def _says_enough(tool: str, ours: Mapping[str, Any]) -> bool:
    """Whether the arguments make a call of a tool whose schema leaves open which of them it needs."""
    if tool == "patch":
        return bool(ours.get("patch") or ours.get("edits") or ("old_string" in ours and "new_string" in ours))
    if tool == "delegate_task":
        return bool(ours.get("goal") or ours.get("tasks"))
    if tool == "memory":
        return bool(ours.get("content") or ours.get("operations"))
    return tool != "process" or "session_id" in ours


def _chosen(form: str, alias: Alias, given: dict[str, Any], offered: Collection[str]) -> tuple[str, dict[str, Any]]:
    """The tool, and the arguments where the alias has a form of its own for them."""
    if not alias.runs or not alias.tools:
        return "", given
    if form in _EDITORS:
        return _EDITOR_COMMANDS.get(compared(str(given.pop("command", ""))), ""), given
    if form == "search":
        return "search_files" if _FILE_SEARCH & set(map(compared, given)) else "", given
    if form in _DELETES:
        return _deletion(given)
    tool = next((tool for tool in alias.tools if tool in offered), "")
    if tool != alias.tools[0] and tool == "terminal":
        return "", given  # a page's address is no command
    if tool == "read_file" and "path" in alias.fixed and str(given.pop("recursive", "")).lower() == "true":
        return "search_files", {"pattern": "*", "target": "files", **given}
    return tool, given


def _deletion(given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A patch that deletes the only path that is given; no tool where it is not only that."""
    said = {key: value for key, value in given.items() if compared(key) not in REMARKS[""].split()}
    match list(said.items()):
        case [(name, str(path))] if compared(name) == "path" or ARGUMENTS["patch"].get(compared(name)) == As("path"):
            patch = f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"
            return "patch" if paths_of({"patch": patch}) == [path] else "", {"patch": patch}
    return "", {}


def _named_as_ours(entry: ToolEntry | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool has them; as they are where it is not ours, or they are not clear: it will say so."""
    if entry is None or not _is_ours(entry):
        return dict(arguments)
    properties = entry.schema.get("properties") or {}
    try:
        return named_as_ours(entry.name, arguments, properties)
    except Unclear:
        return dict(arguments)


def _seconds_of(tool: str, ours: dict[str, Any]) -> str:
    """A note where seconds were milliseconds: so they are in most agents that call a shell otherwise."""
    timeout = ours.get("timeout")
    if tool != "terminal" or not isinstance(timeout, (int, float)) or timeout < _LEAST_MILLISECONDS:
        return ""
    if timeout % 1000:
        return ""  # seconds, more than there are: that is said with the result
    ours["timeout"] = timeout / 1000
    return f"Its timeout is in seconds: {timeout:g} was taken as milliseconds."


def _example(entry: ToolEntry | None) -> str:
    if entry is None or not _is_ours(entry) or entry.name not in EXAMPLES:
        return ""
    return f" with {EXAMPLES[entry.name]}"
