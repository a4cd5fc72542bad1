"""Searches by `rg` and by its substitute, to be compared."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from tools.environments import ripgrep, search_process
from tools.ports import SearchQuery, SearchResult
from tools.settings import SearchSettings

LIMITS = SearchSettings()
_MOMENT = 1_000_000_000


def by_rg(query: SearchQuery) -> SearchResult:
    """What ripgrep finds."""
    return ripgrep.search(query, LIMITS)


def by_substitute(query: SearchQuery) -> SearchResult:
    """What the program in its place finds."""
    with mock.patch.object(search_process, "search_program", search_process.substitute):
        return ripgrep.search(query, LIMITS)


def names(result: SearchResult, root: Path) -> set[str]:
    """The files of a result, relative to `root`."""
    return {str(hit.path.relative_to(root)) for hit in result.hits}


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Make files with their folders; all are equally old, so that their order depends on nothing else."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    for name in files:
        os.utime(root / name, (_MOMENT, _MOMENT))
