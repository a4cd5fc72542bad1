"""What a shell reports of itself at its end, and what of that is kept for the session's next command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tools.environments.export_listing import read_exports
from tools.light_dataclass import dataclass
from tools.shell.session import ShellState

_PIPES, _START, _MIDDLE, _END = b"\0pipes\0", b"\0shell\0", b"\0", b"\0end\0"
# Shell text that prints the report, to be used between single quotes. `command` passes over functions of these names.
# The statuses come first: any other command but `case` would take their place. Other shells than bash have none.
REPORTING = (
    r'case $BASH_VERSION in ?*) command printf "\000pipes\000%s" "${PIPESTATUS[*]}";; esac; '
    r'command printf "\000shell\000"; command pwd; command printf "\000"; command export -p; '
    r'command printf "\000end\000"'
)
MAX_REPORT_BYTES = 1_000_000

_MAX_KEPT_CHARS = 200_000
# Linux starts no program, not even the next shell, with a longer `NAME=value` (MAX_ARG_STRLEN, its end included).
_MAX_VARIABLE_BYTES = 131_071
# Each shell makes these for itself.
_OF_THE_SHELL = frozenset(
    {"_", "PWD", "SHLVL", "UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO", "BASHPID", "BASHOPTS"}
)
# What harmless programs would run, load or be led astray by: a later `ls` or `git log` must be what it looks like.
_RUNS_CODE = r"""
    BASH_ENV | ENV | SHELLOPTS | BASH_FUNC_.* | PS4 | PROMPT_COMMAND | IFS | CDPATH | GLOBIGNORE | BASH_XTRACEFD
  | LD_.* | DYLD_.* | GCONV_PATH | LOCPATH | MALLOC_.*
  | GIT_(?!AUTHOR_|COMMITTER_).* | HOME | XDG_CONFIG_.*
  | (?:.*_)?(?:PAGER|EDITOR) | VISUAL | BROWSER | LESSOPEN | LESSCLOSE | SSH_ASKPASS | SUDO_ASKPASS
  | PYTHONSTARTUP | PYTHONINSPECT | PERL5OPT | PERL5DB | RUBYOPT | RIPGREP_CONFIG_PATH | TAR_OPTIONS | GREP_OPTIONS
  | MAKEFLAGS | GNUMAKEFLAGS | MFLAGS
"""


@dataclass(frozen=True, slots=True)
class Left:
    """`state` is for the next command; `not_kept` names what was exported and is not in it."""

    state: ShellState
    not_kept: tuple[str, ...] = ()


def read_pipes(report: bytes) -> tuple[int, ...]:
    """The statuses of the last pipeline's parts; empty where the shell does not tell them, or it had one part."""
    head, began, _ = report.partition(_START)
    _, told, listing = head.partition(_PIPES)
    statuses = listing.split() if began and told else []
    return tuple(map(int, statuses)) if len(statuses) > 1 and all(map(bytes.isdigit, statuses)) else ()


def read_report(report: bytes, fresh: Mapping[str, str], given: Mapping[str, str]) -> Left | None:
    """What the shell left; None where the report is missing or not whole.

    Args:
        fresh: the variables of a fresh shell.
        given: those that this one was started with.
    """
    _, began, rest = report.partition(_START)
    body, ended, _ = rest.partition(_END)
    directory, middle, listing = body.partition(_MIDDLE)
    exported = read_exports(listing) if began and ended and middle else None
    cwd = os.fsdecode(directory.removesuffix(b"\n"))
    if exported is None or not cwd.startswith("/"):
        return None
    changed = _changes(fresh, exported)
    refused = {
        name
        for name, value in changed.items()
        if re.fullmatch(_RUNS_CODE, name, re.VERBOSE) or len(os.fsencode(f"{name}={value}")) > _MAX_VARIABLE_BYTES
    }
    kept = {name: value for name, value in changed.items() if name not in refused}
    told = tuple(sorted(name for name in refused if exported.get(name) != given.get(name)))
    size = sum(len(name) + len(value or "") for name, value in kept.items())
    if size > _MAX_KEPT_CHARS:
        return Left(ShellState(Path(cwd), _changes(fresh, given)), (*told, "all (together they are too long)"))
    return Left(ShellState(Path(cwd), kept), told)


def _changes(fresh: Mapping[str, str], exported: Mapping[str, str]) -> dict[str, str | None]:
    added = {name: value for name, value in exported.items() if fresh.get(name) != value}
    gone = {name: None for name in fresh if name not in exported and _is_a_name(name)}
    return {name: value for name, value in (added | gone).items() if name not in _OF_THE_SHELL}


def _is_a_name(name: str) -> bool:
    """Other variables pass through a shell unseen."""
    return name.isascii() and name.isidentifier()
