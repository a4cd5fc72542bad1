"""Which rules mean a command: those about commands, and those about the paths and hosts that it is given.

It reads commands, which takes a while to load, so that it is imported with the first command.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from tools.approval.commands import classify_command
from tools.approval.harmless.proof import is_harmless
from tools.approval.rules.commands import covers_command, denies_command, may_rename
from tools.approval.rules.hosts import denies_host
from tools.approval.rules.named import hosts_named, paths_named, places_read
from tools.approval.rules.paths import denies_path
from tools.approval.rules.rule import Hit, PermissionRule, RuleKind
from tools.bash.read import read_command
from tools.bash.reading import Invocation, Reading

_ABOUT_COMMANDS: frozenset[RuleKind] = frozenset({"run", "host", "read", "write", "delete"})


def is_covered_by(rules: Sequence[PermissionRule], command: str, cwd: Path, roots: tuple[Path, ...]) -> bool:
    """Whether allowing rules of the kind `run` mean `command`, run in `cwd`.

    Args:
        roots: the session's directories with symbolic links resolved.
    """
    return covers_command(rules, command, read(command, cwd), roots)


def hit_of(command: str, cwd: Path, rules: Sequence[PermissionRule], roots: tuple[Path, ...]) -> Hit | None:
    """The first denying rule that means `command`, a sure one first; None where there is none.

    Args:
        roots: the session's directories with symbolic links resolved.
    """
    about = [rule for rule in rules if rule.kind in _ABOUT_COMMANDS]
    if not about:
        return None
    reading = read(command, cwd)
    for rule in about:
        if _is_denied(rule, command, reading, cwd, roots):
            return Hit(rule)
    runs = [rule for rule in about if rule.kind == "run"]
    # What runs unseen may be what is denied.
    if runs and reading.doubts:
        return Hit(runs[0], is_sure=False)
    renamed = (rule for rule in runs if any(may_rename(rule, each) for each in reading.invocations))
    found = next(renamed, None)
    return None if found is None else Hit(found, is_sure=False)


def looks_elsewhere(command: str, cwd: Path, roots: tuple[Path, ...]) -> bool:
    """Whether `command`, run in `cwd`, is given files that are not below `roots` to read, or works among some."""
    for invocation in read(command, cwd).invocations:
        place = Path(os.path.realpath(cwd if invocation.cwd is None else invocation.cwd))
        if _is_elsewhere(place, roots) and _holds_something(place):
            return True
        if any(_is_elsewhere(path, roots) for path in places_read(invocation, cwd)):
            return True
    return False


def _is_elsewhere(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether something is at the path that is not the session's. A lone slash is mostly no directory."""
    if any(path == root or root in path.parents for root in roots) or not path.name or path.parts[1:2] == ("dev",):
        return False
    return os.path.lexists(path)


def _holds_something(directory: Path) -> bool:
    try:
        return any(directory.iterdir())
    except OSError:
        return False


@functools.lru_cache(maxsize=256)
def read(command: str, cwd: Path) -> Reading:
    """As `read_command`; the latest readings are kept."""
    return read_command(command, cwd)


def _is_denied(rule: PermissionRule, command: str, reading: Reading, cwd: Path, roots: tuple[Path, ...]) -> bool:
    if rule.kind == "run":
        return denies_command(rule, command, reading)
    if rule.kind == "host":
        return any(denies_host(rule.pattern, host) for each in reading.invocations for host in hosts_named(each))
    return any(_touches(rule, each, cwd, roots) for each in reading.invocations)


def _touches(rule: PermissionRule, invocation: Invocation, cwd: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a program is given a path that it must not read, or not change."""
    only_reads = rule.kind != "read" and is_harmless(invocation, classify_command, tuple(map(str, roots)))
    return any(
        (is_written or not only_reads) and denies_path(rule, path, roots)
        for path, is_written in paths_named(invocation, cwd)
    )
