"""The arguments of a call under the names that our tools have for them, where a model uses those of another agent.

Nothing is guessed: two values that contradict each other are an error before anything runs.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from tools.calling.aliases import (
    ALSO_TAKEN,
    ARGUMENTS,
    ITEMS,
    REMARKS,
    USUAL,
    WORDS,
    As,
)

_NOT_COMPARED = re.compile(r"[\W_]+")
_SHELLS = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh"})
_OPERATORS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"})
_BLOCK = re.compile(
    r"^[ \t]*(?:<{5,9}|-{5,9}) ?SEARCH>?[^\n]*\n(?:(?::start_line:[^\n]*\n)?-{5,9}\n)?(.*?)^[ \t]*={5,9}[ \t]*\n(.*?)"
    r"^[ \t]*(?:>{5,9}|\+{5,9}) ?REPLACE[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_BLOCK_BEGINS = re.compile(r"\s*(?:<{5,9}|-{5,9}) ?SEARCH")
# Where nothing is a value of its own.
_MAY_BE_EMPTY = frozenset({"new_string", "content"})


class Unclear(ValueError):
    """The arguments contradict each other, or cannot be what they are called; the words are for the model."""


def compared(name: str) -> str:
    """A name without what does not matter: case, punctuation."""
    return _NOT_COMPARED.sub("", name).lower()


def named_as_ours(tool: str, arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool of ours under the names that it has for them; what means nothing to it stays.

    Raises:
        Unclear: two of them are the same argument, and say different things; or one cannot be what it is called.
    """
    given = _unwrapped(arguments, properties)
    ours, unread = _renamed(tool, given, properties)
    if made := _MAKERS.get(tool):
        made(ours)
    _take_items(tool, ours, properties)
    left_over = [name for name in ours if name.startswith("_") and name not in given]
    for name in left_over:
        del ours[name]
    return {**ours, **unread}


def _unwrapped(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments out of an object that holds nothing but them: `{"arguments": {…}}`."""
    if len(arguments) != 1:
        return arguments
    (name, value), *_ = arguments.items()
    if name in properties or compared(name) not in {"arguments", "args", "parameters", "params", "input", "kwargs"}:
        return arguments
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return arguments
    return value if isinstance(value, Mapping) else arguments


def _renamed(
    tool: str, given: Mapping[str, Any], properties: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments under our names, and those that mean nothing to the tool."""
    same = {compared(name): name for name in properties}
    table = ARGUMENTS.get(tool, {})
    ours: dict[str, Any] = {}
    said_as: dict[str, str] = {}
    unread: dict[str, Any] = {}
    for name, value in given.items():
        form = compared(name)
        if name in ALSO_TAKEN.get(tool, ()):
            ours[name] = value
            continue
        known = As(name) if name in properties else As(same[form]) if form in same else table.get(form)
        if known is None or (known.name not in properties and not known.name.startswith("_")):
            if not _changes_nothing(tool, form, value):
                unread[name] = value
        elif name in properties or _is_given(known.name, value):
            fitting = _converted(name, value, known.kind)
            if known.name == "_around":
                fitting = max(ours.get("_around", 0), _count(name, fitting))
            elif _is_given(known.name, ours.get(known.name)) and ours[known.name] != fitting:
                raise Unclear(_contradiction(tool, said_as[known.name], name, known.name))
            ours[known.name], said_as[known.name] = fitting, name
    return ours, unread


def _is_given(name: str, value: Any) -> bool:
    return value is not None and (value != "" or name in _MAY_BE_EMPTY)


def _changes_nothing(tool: str, form: str, value: Any) -> bool:
    """Whether an argument that a tool does not have asks for nothing that would be done otherwise."""
    if value in (None, "", [], {}) or form in f"{REMARKS['']} {REMARKS.get(tool, '')}".split():
        return True
    return USUAL.get(tool, {}).get(form) == compared(str(value))


def _contradiction(tool: str, one: str, other: str, name: str) -> str:
    which = one if name.startswith("_") else name
    return (
        f"{tool}: `{one}` and `{other}` are the same argument and say different things. Give only `{which}`. "
        "Nothing was done."
    )


def _converted(name: str, value: Any, kind: str) -> Any:
    match kind:
        case "ms":
            return _count(name, value) / 1000
        case "not":
            if str(value).lower() not in {"true", "false"}:
                raise Unclear(f"The argument {name!r} has to be true or false. Nothing was done.")
            return str(value).lower() == "false"
        case "one":
            if isinstance(value, list) and len(value) != 1:
                raise Unclear(f"`{name}` holds {len(value)}: make a call for each; they can go into one answer.")
            return value[0] if isinstance(value, list) else value
        case "list":
            return value if isinstance(value, list) or str(value).lstrip().startswith("[") else [value]
    return value


def _count(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise Unclear(f"The argument {name!r} has to be a whole number. Nothing was done.") from problem


def _make_command(ours: dict[str, Any]) -> None:
    """A command of a list of words, or of a program and its arguments."""
    command, more = ours.get("command"), ours.pop("_arguments", None)
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        if len(command) > 1 and re.search(r"\s", command[0]):
            raise Unclear("terminal: `command` is one shell command, not a list of some. Nothing was run.")
        match command:
            case [only]:
                ours["command"] = only
            case [shell, option, script] if shell in _SHELLS and re.fullmatch(r"-\w*c", option):
                ours["command"] = script
            case _ if _OPERATORS.isdisjoint(command):
                ours["command"] = shlex.join(command)
            case _:
                raise Unclear("terminal: give `command` as one text, not as a list. Nothing was run.")
    if isinstance(more, list) and all(isinstance(word, str) for word in more) and "command" in ours:
        ours["command"] = f"{ours['command']} {shlex.join(more)}"
    elif isinstance(more, str) and "command" in ours:
        ours["command"] = f"{ours['command']} {more}"
    elif more:
        raise Unclear("terminal: give the whole shell command as `command`. Nothing was run.")


def _make_page(ours: dict[str, Any]) -> None:
    """First line and number of lines out of the last line, or a range."""
    span, last = ours.pop("_range", None), ours.pop("_last", None)
    if isinstance(span, str) and (found := re.fullmatch(r"\s*\[?\s*(\d+)\s*[-,:–]\s*(-?\d+)\s*\]?\s*", span)):
        span = [int(found[1]), int(found[2])]
    match span:
        case [first, final]:
            if "offset" in ours or last is not None:
                raise Unclear("read_file: give either offset and limit or a range, not both. Nothing was read.")
            ours["offset"], last = first, final
        case None:
            pass
        case _ if "limit" not in ours:
            ours["limit"] = _count("lines", span)
    if last is None or _count("end_line", last) < 0:
        return
    first = _count("offset", ours.get("offset") or 1) or 1
    wanted = _count("end_line", last) - first + 1
    if wanted < 1:
        raise Unclear(f"read_file: the last line, {last}, is before the first, {first}. Nothing was read.")
    if ours.get("limit") not in (None, "", wanted):
        raise Unclear("read_file: limit and the last line say different things: give offset and limit.")
    ours["limit"] = wanted


def _make_search(ours: dict[str, Any]) -> None:
    """A search for names where only names are given; lines around; files to leave out."""
    names, glob = ours.pop("_names", None), ours.get("file_glob")
    around, left_out = ours.pop("_around", None), ours.pop("_left_out", None)
    if around and not ours.get("context"):
        ours["context"] = around
    if isinstance(glob, list):
        ours["file_glob"] = glob = ",".join(map(str, glob))
    is_of_names = ours.get("target") == "files"
    if names and "pattern" not in ours:
        ours["pattern"], ours["target"] = names, "files"
    elif names and glob and names != glob:
        raise Unclear("search_files: give only `file_glob`. Nothing was searched.")
    elif names:
        ours["file_glob"] = names
    elif glob and "pattern" not in ours and isinstance(glob, str):
        ours["pattern"], ours["target"] = ours.pop("file_glob"), "files"
    elif is_of_names and glob and glob == ours.get("pattern"):
        del ours["file_glob"]
    if left_out:
        without = [f"!{name}" for name in (left_out if isinstance(left_out, list) else str(left_out).split(","))]
        ours["file_glob"] = ",".join(filter(None, (str(ours.get("file_glob") or ""), *without)))


def _make_edit(ours: dict[str, Any]) -> None:
    """Edits out of blocks of SEARCH and REPLACE; a diff is a patch."""
    diff = ours.pop("_diff", None)
    if isinstance(diff, str) and "patch" in ours:
        raise Unclear("patch: give one patch. Nothing was changed.")
    blocks = _blocks(diff if isinstance(diff, str) else ours.get("patch"))
    if blocks and "edits" in ours:
        raise Unclear("patch: give either edits or blocks of SEARCH and REPLACE. Nothing was changed.")
    if blocks:
        ours.pop("patch", None)
        ours["edits"] = [{"old_string": old, "new_string": new} for old, new in blocks]
    elif isinstance(diff, str):
        ours["patch"] = diff
    if isinstance(ours.get("edits"), Mapping):
        ours["edits"] = [ours["edits"]]


def _blocks(text: object) -> list[tuple[str, str]]:
    """What is replaced by what in a text that is nothing but blocks of SEARCH and REPLACE; [] for any other.

    A patch of a file that holds such blocks is none.
    """
    if not isinstance(text, str) or "REPLACE" not in text or not _BLOCK_BEGINS.match(text):
        return []
    return [] if _BLOCK.sub("", text).strip() else _BLOCK.findall(text)


def _make_question(ours: dict[str, Any]) -> None:
    """The only question of a list, and its choices as words."""
    questions = ours.pop("_questions", None)
    if isinstance(questions, list) and questions:
        if len(questions) > 1 or "question" in ours:
            raise Unclear("clarify: ask one question with each call. Nothing was asked.")
        only = questions[0] if isinstance(questions[0], Mapping) else {"question": questions[0]}
        ours["question"] = only.get("question") or only.get("text") or only.get("prompt")
        if only.get("options") or only.get("choices"):
            ours["choices"] = only.get("options") or only.get("choices")
    choices = ours.get("choices")
    if isinstance(choices, list):
        ours["choices"] = [_label(choice) for choice in choices]


def _label(choice: Any) -> Any:
    if not isinstance(choice, Mapping):
        return choice
    return next((choice[key] for key in ("label", "value", "text", "title") if key in choice), choice)


_MAKERS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "terminal": _make_command,
    "read_file": _make_page,
    "search_files": _make_search,
    "patch": _make_edit,
    "clarify": _make_question,
}


def _take_items(tool: str, ours: dict[str, Any], properties: Mapping[str, Any]) -> None:
    """Fields of listed objects under our names, and choices in our words."""
    _take_words(tool, ours)
    for (owner, name), table in ITEMS.items():
        items = ours.get(name)
        if owner == tool and isinstance(items, list):
            fields = properties.get(name, {}).get("items", {}).get("properties", {})
            ours[name] = [_item(tool, item, table, fields) for item in items]


def _take_words(tool: str, ours: dict[str, Any]) -> None:
    for (owner, name), words in WORDS.items():
        if owner == tool and isinstance(value := ours.get(name), str):
            ours[name] = words.get(compared(value), value)


def _item(tool: str, item: Any, table: Mapping[str, As], fields: Mapping[str, Any]) -> Any:
    if isinstance(item, str) and tool != "patch":
        # A list of words: what matters most of each.
        return {next(iter(table.values())).name: item}
    if not isinstance(item, Mapping):
        return item
    same = {compared(name): name for name in fields}
    found: dict[str, Any] = {name: value for name, value in item.items() if name in fields}
    for name, value in item.items():
        form = compared(name)
        ours = same.get(form) or (table[form].name if form in table else name)
        if ours not in found:
            found[ours] = value
        elif found[ours] != value and tool == "patch":
            raise Unclear(_contradiction(tool, ours, name, ours))
    _take_words(tool, found)
    return found
