"""Searches by ripgrep and by the greps of other systems, to be compared."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from tools.environments.search import search
from tools.ports import SearchQuery, SearchResult
from tools.settings import SearchSettings

LIMITS = SearchSettings()
GREPS = ("GNU", "BSD", "busybox")
_MOMENT = 1_000_000_000
# GNU's grep as one that knows POSIX's expressions alone, as those of BSD and macOS do.
_WITHOUT_PERLS = """#!/bin/sh
for word; do case $word in -*P*) echo "grep: invalid option -- P" >&2; exit 2 ;; --) break ;; esac; done
exec {grep} "$@"
"""
_APPLETS = ("find", "grep", "sed", "tr", "head")

Searching = Callable[[SearchQuery], SearchResult]


def by_rg(query: SearchQuery) -> SearchResult:
    """What ripgrep finds."""
    return search(query, LIMITS)


def by_grep(kind: str, folder: Path) -> Searching:
    """Searches as where there is no ripgrep, and that grep; skips where there is none.

    Args:
        folder: empty, where programs count.
    """
    (folder / "python").symlink_to(sys.executable)
    if kind == "BSD":
        (folder / "grep").write_text(_WITHOUT_PERLS.format(grep=shutil.which("grep")))
        (folder / "grep").chmod(0o755)
    if kind == "busybox":
        if (busybox := shutil.which("busybox")) is None:
            pytest.skip("there is no busybox")
        for name in _APPLETS:
            (folder / name).symlink_to(busybox)

    def by_it(query: SearchQuery) -> SearchResult:
        with without_rg(folder):
            return search(query, LIMITS)

    return by_it


@contextmanager
def without_rg(folder: Path) -> Iterator[None]:
    """No ripgrep is beside this interpreter or on PATH; `folder` is."""
    with (
        mock.patch.object(sys, "executable", str(folder / "python")),
        mock.patch.dict(os.environ, PATH=str(folder)),
    ):
        yield


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
