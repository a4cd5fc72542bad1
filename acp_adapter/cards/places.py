"""The places of a tool call, by which an editor follows along (ACP v1, tool calls: locations)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp_adapter.cards.titles import Arguments, absolute
from tools.patching.v4a import paths_of

Update = dict[str, Any]

_MOST = 10
_MAX_LINE = 2**32 - 1  # clients read it as an unsigned number of 32 bits


def argument_places(arguments: Arguments, cwd: str) -> list[Update]:
    """The file that the arguments name, at the line where they begin."""
    full = absolute(arguments.get("path"), cwd)
    return [] if full is None else [_place(full, arguments.get("offset"))]


def edited_places(arguments: Arguments, cwd: str) -> list[Update]:
    """Every file that a patch names, bounded."""
    found = (absolute(path, cwd) for path in paths_of(arguments)[:_MOST])
    return [_place(full, None) for full in found if full is not None]


def no_places(arguments: Arguments, cwd: str) -> list[Update]:  # noqa: ARG001 - a column of the table
    """None, whatever the arguments say."""
    return []


def found_places(facts: Mapping[str, Any]) -> list[Update]:
    """Where a result's facts say that something was found or changed: every file, bounded; else the one path."""
    found = facts.get("locations")
    places = [place for each in found if (place := _found(each))] if isinstance(found, list) else []
    if not places and (only := _found(facts)):
        places = [only]
    return places[:_MOST]


def _found(fact: object) -> Update | None:
    if not isinstance(fact, Mapping):
        return None
    path = fact.get("path")
    return _place(path, fact.get("line")) if isinstance(path, str) and Path(path).is_absolute() else None


def _place(path: str, line: object) -> Update:
    is_line = isinstance(line, int) and not isinstance(line, bool) and 0 < line <= _MAX_LINE
    return {"path": path, "line": line} if is_line else {"path": path}
