"""The names that models have for the tools of MCP servers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

PREFIX = "mcp__"

_LONGEST = 64
_LONGEST_LABEL = 24
_HASH_LENGTH = 8
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")


def server_labels(servers: Iterable[str]) -> dict[str, str]:
    """For each server's name one of `[A-Za-z0-9_-]`, at most 24 characters, unique, without «__» in it."""
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for server in servers:
        # Without «__», so that one can tell where the tool's name begins.
        cleaned = re.sub("_{2,}", "_", _UNUSABLE.sub("_", server)).strip("_")
        labels[server] = _unused(cleaned[:_LONGEST_LABEL].rstrip("_") or "server", taken, _LONGEST_LABEL)
        taken.add(labels[server])
    return labels


def tool_names(label: str, tools: Iterable[str]) -> dict[str, str]:
    """A name for each tool of a server: `mcp__label__tool`, of `[A-Za-z0-9_-]`, at most 64 characters, unique.

    The same tools get the same names, in whatever order they come.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for tool in sorted(set(tools)):
        names[tool] = _unused(_name(label, tool), taken, _LONGEST)
        taken.add(names[tool])
    return names


def _name(label: str, tool: str) -> str:
    name = f"{PREFIX}{label}__{_UNUSABLE.sub('_', tool) or '_'}"
    if len(name) <= _LONGEST:
        return name
    # Two long names that begin alike must not depend on which of them there are.
    digest = hashlib.sha256(tool.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: _LONGEST - _HASH_LENGTH - 1]}_{digest}"


def _unused(name: str, taken: set[str], longest: int) -> str:
    number, found = 2, name
    while found in taken:
        ending = f"_{number}"
        # Without «__», as above.
        found = name[: longest - len(ending)].rstrip("_") + ending
        number += 1
    return found
