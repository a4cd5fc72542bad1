"""Paths that hold keys, credentials or hooks: they ask even where other paths of a workspace do not.

What holds a secret is listed in `sensitive_places`, what may only be changed with a question because others run it
later in `persistence_paths`. A name in source code that only sounds like a secret (`credentials.py`) and a template
(`.env.example`) are none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.approval.persistence_paths import folded_path, run_later
from tools.approval.sensitive_places import (
    GUARDED_AT_ROOT,
    GUARDED_FORMS,
    GUARDED_JSON,
    GUARDED_NAMES,
    GUARDED_PLACES,
    GUARDED_SUFFIXES,
    HARMLESS_FORMS,
)

_Tails = Mapping[str, tuple[tuple[str, ...], ...]]


def _by_first_part(named: Iterable[str]) -> _Tails:
    """Where each place begins, with the rests that may follow there: a search asks about every file that it finds."""
    tails: dict[str, tuple[tuple[str, ...], ...]] = {}
    for place in named:
        first, *rest = place.split("/")
        tails[first] = (*tails.get(first, ()), tuple(rest))
    return tails


_GUARDED_PLACES = _by_first_part(GUARDED_PLACES)
_GUARDED_FORMS = re.compile(GUARDED_FORMS, re.DOTALL)
_GUARDED_JSON = re.compile(GUARDED_JSON, re.DOTALL)
_GUARDED_AT_ROOT = re.compile(GUARDED_AT_ROOT, re.DOTALL)
_HARMLESS_FORMS = re.compile(HARMLESS_FORMS, re.DOTALL)
# What a repository has besides its history: a directory with HEAD, objects and refs is one, whatever its name.
_REPOSITORY = ("HEAD", "objects", "refs")
_RUN_IN_REPOSITORY = frozenset(
    {"config", "config.worktree", "commondir", "hooks", "info", "objects", "refs", "remotes"}
)
_REPOSITORY_DEPTH = 4


def why_sensitive(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Why `path` asks for itself («holds …»), or '' when it is ordinary.

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if any(path == root or root in path.parents for root in private):
        return "holds this agent's own settings"
    return _why_secret(folded_path(path))


def why_sensitive_to_write(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Like `why_sensitive`, and also for what others run later (`persistence_paths`).

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if reason := why_sensitive(path, private):
        return reason
    if (place := run_later(path)) is not None:
        return place.why
    return "belongs to a git repository without a work tree" if _is_in_repository(path) else ""


def _is_in_repository(path: Path) -> bool:
    """Whether git would take the directory that a file is in, or one near above, for a repository of its own."""
    for depth, folder in zip(range(_REPOSITORY_DEPTH), path.parents, strict=False):
        if path.parts[-1 - depth] in _RUN_IN_REPOSITORY and all(
            os.path.lexists(folder / name) for name in _REPOSITORY
        ):
            return True
    return False


def _why_secret(folded: str) -> str:
    parts = folded.split("/")
    if hit := _place(parts, _GUARDED_PLACES):
        return "may hold credentials" if hit.count("/") and folded.endswith(f"/{hit}") else f"is inside {hit}"
    name = parts[-1]
    dot = name.rfind(".")
    is_guarded = (
        name in GUARDED_NAMES
        or (dot > 0 and name[dot:] in GUARDED_SUFFIXES)
        or _GUARDED_FORMS.fullmatch(name)
        or (name.endswith(".json") and _GUARDED_JSON.fullmatch(name))
    )
    if is_guarded and not _HARMLESS_FORMS.fullmatch(name):
        return "may hold what was typed" if name.endswith("_history") else "may hold credentials"
    return "holds secrets of the system" if _GUARDED_AT_ROOT.match(folded) else ""


def _place(parts: list[str], tails: _Tails) -> str:
    for number, part in enumerate(parts):
        for tail in tails.get(part, ()):
            if tuple(parts[number + 1 : number + 1 + len(tail)]) == tail:
                return "/".join((part, *tail))
    return ""
