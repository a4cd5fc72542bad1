"""Paths that hold keys, credentials or hooks: they ask even where other paths of a workspace do not.

What may only be changed with a question is, besides, what something else runs later that no sandbox holds: the shell
at a login, git at a commit, the editor when it opens the directory, another agent, the machines that build a push.
What runs when a command of ours runs (a Makefile, the scripts of package.json, conftest.py, a Dockerfile) is a
workspace's ordinary content: it is what an agent is there to change, and the sandbox holds it. So are the texts that
tell agents what to do.

The lists are in `sensitive_places`. A name in source code that only sounds like a secret (`credentials.py`) and a
template (`.env.example`) are none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.approval import sensitive_places as places

_Tails = Mapping[str, tuple[tuple[str, ...], ...]]


def _by_first_part(named: Iterable[str]) -> _Tails:
    """Where each place begins, with the rests that may follow there: a search asks about every file that it finds."""
    tails: dict[str, tuple[tuple[str, ...], ...]] = {}
    for place in named:
        first, *rest = place.split("/")
        tails[first] = (*tails.get(first, ()), tuple(rest))
    return tails


_GUARDED_PLACES = _by_first_part(places.GUARDED_PLACES)
_RUN_PLACES = _by_first_part(places.RUN_PLACES)
_GUARDED_FORMS = re.compile(places.GUARDED_FORMS, re.DOTALL)
_GUARDED_JSON = re.compile(places.GUARDED_JSON, re.DOTALL)
_GUARDED_AT_ROOT = re.compile(places.GUARDED_AT_ROOT, re.DOTALL)
_HARMLESS_FORMS = re.compile(places.HARMLESS_FORMS, re.DOTALL)
_RUN_FORMS = re.compile(places.RUN_FORMS, re.DOTALL)
# What a file system of Windows takes for the same name: dots and `::$DATA` at its end; GIT~1 is .git.
_END_OF_NAME = re.compile(r"(?<=[^/. ])[. ]+(?=/|$)|::?\$[a-z_]+(?=/|$)")
_SHORT_GIT = re.compile(r"/git~\d(?=/|$)")


def why_sensitive(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Why `path` asks for itself («holds …»), or '' when it is ordinary.

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if any(path == root or root in path.parents for root in private):
        return "holds this agent's own settings"
    return _why_secret(_folded(path))


def why_sensitive_to_write(path: Path, private: tuple[Path, ...] = ()) -> str:
    """Like `why_sensitive`, and also for what something else runs later: shell start-up files, editor settings, CI.

    Args:
        path: absolute, symbolic links resolved.
        private: directories that are sensitive as a whole.
    """
    if reason := why_sensitive(path, private):
        return reason
    folded = _folded(path)
    parts = folded.split("/")
    hit = _place(parts, _RUN_PLACES)
    if hit and not folded.endswith(f"/{hit}"):
        return f"is inside {hit}, whose files may be run later"
    if hit or parts[-1] in places.RUN_NAMES or _RUN_FORMS.fullmatch(folded):
        return "may be run or read by other programs later"
    return ""


def _why_secret(folded: str) -> str:
    parts = folded.split("/")
    if hit := _place(parts, _GUARDED_PLACES):
        return "may hold credentials" if hit.count("/") and folded.endswith(f"/{hit}") else f"is inside {hit}"
    name = parts[-1]
    dot = name.rfind(".")
    is_guarded = (
        name in places.GUARDED_NAMES
        or (dot > 0 and name[dot:] in places.GUARDED_SUFFIXES)
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


def _folded(path: Path) -> str:
    """The path as the file system may understand it: letter case does not protect, nor do signs that nobody sees."""
    text = str(path).casefold()
    if not text.isascii():
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    if text.startswith("//"):
        text = text[1:]
    if "./" in text or " /" in text or ":$" in text or text.endswith((".", " ")):
        text = _END_OF_NAME.sub("", text)
    return _SHORT_GIT.sub("/.git", text) if "git~" in text else text
