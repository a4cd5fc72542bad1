"""The paths that a call of `patch` works on, found without reading the patch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

FILE_HEADER = re.compile(r"\*\*\*\s*(Update|Add|Delete)\s+File\s*:\s*(.*?)\s*", re.IGNORECASE)
MOVE_HEADER = re.compile(r"\*\*\*\s*Move\s+to\s*:\s*(.*?)\s*", re.IGNORECASE)
NEW_NAME = re.compile(r"\+\+\+\s+(\S.*?)(?:\t.*)?")
OLD_NAME = re.compile(r"---\s+(\S.*?)(?:\t.*)?")

_QUOTES = "`'\""
_SIDE = re.compile(r"[ab]/")


def paths_of(arguments: Mapping[str, Any]) -> list[str]:
    """Every path that the arguments name, as they name it, in order and each once."""
    path, patch = arguments.get("path"), arguments.get("patch")
    found = [path] if isinstance(path, str) and path.strip() else []
    if not isinstance(patch, str):
        return found
    lines = [line.strip() for line in patch.split("\n")]
    for line in lines:
        if header := FILE_HEADER.fullmatch(line):
            found.append(named(header[2]))
        elif header := MOVE_HEADER.fullmatch(line):
            found.append(named(header[1]))
    if not any(FILE_HEADER.fullmatch(line) for line in lines):
        found += [name for line in lines if (name := diff_name(line, OLD_NAME) or diff_name(line, NEW_NAME))]
    return list(dict.fromkeys(name for name in found if name))


def named(name: str) -> str:
    """A path out of a header, without the quotes or stars that some models put around it."""
    name = name.removesuffix("***").strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in _QUOTES:
        name = name[1:-1].strip()
    return name


def diff_name(line: str, form: re.Pattern[str]) -> str | None:
    """The path in a header of a unified diff, without its `a/` or `b/`; None for another line and for `/dev/null`."""
    header = form.fullmatch(line)
    if header is None or header[1] == "/dev/null":
        return None
    return _SIDE.sub("", named(header[1]), count=1) if _SIDE.match(named(header[1])) else named(header[1])
