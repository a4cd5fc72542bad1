"""After a search that found nothing: one more, short, for what almost matched."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tools.environments import rg_arguments as rg
from tools.environments.rg_process import OutOfTime, Runner
from tools.errors import ToolError
from tools.ports import NearMiss, SearchQuery

_SECONDS = 1.5
_MAX_LOOKED_AT = 200


def near_miss(
    query: SearchQuery,
    globs: Sequence[str],
    start: str,
    runner: Runner,
    *,
    may_show: Callable[[str], bool],
    start_of: Callable[[Path], bytes],
) -> NearMiss | None:
    """What would have matched in other letter case, in ignored files, in binary ones; None for nothing.

    Not told where it takes more than a moment, or where there is too much to look at: then it may be wrong.

    Args:
        globs: what those of the query mean.
        may_show: whether a file's name may be told.
        start_of: the beginning of a file; raises OSError.
    """
    short = replace(runner, deadline=min(runner.deadline, time.monotonic() + _SECONDS))
    loose = replace(query, ignore_case=True, include_ignored=True)
    narrowed = (*rg.narrowing(loose, globs), *rg.everywhere(loose))
    try:
        found = _names(short, "--files-with-matches", "--null", "--text", *narrowed, *rg.pattern(loose), "--", start)
        found = [name for name in found if may_show(name)]
        if not found or len(found) > _MAX_LOOKED_AT:
            return None
        plain = set(_names(short, "--files", "--null", *rg.everywhere(query), "--", start))
    except (OutOfTime, ToolError):
        return None  # the search itself went well
    binary = {name for name in found if _is_binary(runner.folder / name, start_of)}
    ignored = sorted({name for name in found if name not in plain} - binary)
    other_case = sorted(set(found) - binary - set(ignored))
    example = next((runner.folder / name for name in [*other_case, *ignored]), None)
    return NearMiss(len(other_case), len(ignored), len(binary), example)


def _names(runner: Runner, *arguments: str) -> Sequence[str]:
    return [name.decode(errors="surrogateescape") for name in b"".join(runner.run(*arguments)).split(b"\0")[:-1]]


def _is_binary(path: Path, start_of: Callable[[Path], bytes]) -> bool:
    try:
        return b"\0" in start_of(path)
    except OSError:
        return False
